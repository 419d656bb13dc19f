"""The worker thread of a local model: takes calls in, decodes them together and hands each its completions.

One loop without barriers: take in what has arrived; let waiting calls join what is being decoded, as far as the memory
bound allows; advance every batch by one token; deliver what is finished. An idle worker sleeps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from srdcr_lab.models.local.cache import Batch
from srdcr_lab.models.local.decoder import Decoder, Sample
from srdcr_lab.models.local.sampling import Draw
from srdcr_lab.records import CallFailed, Completion, Request

_GATHER_S, _GATHER_MOST_S = 0.002, 0.03  # how long an idle worker waits for one more call, and in all
_MANY = 4  # rows per newcomer that make an interruption worthwhile: taking newcomers in copies the whole cache
_PATIENCE = 4  # steps after which even a few newcomers interrupt a running batch, if all that wait can join


@dataclass(eq=False)
class Call:
    """One request on its way: its prompt and draws once prepared, and the completions that have arrived.

    Its future is done once it is answered, failed, or cancelled by whoever awaited it.
    """

    request: Request
    future: Future[tuple[Completion, ...]] = field(default_factory=Future)
    prompt: tuple[int, ...] = ()
    draws: list[Draw] = field(default_factory=list)
    arrived: dict[int, Completion] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Most tokens that the key/value cache holds for it."""
        return len(self.draws) * (len(self.prompt) + max(draw.max_new for draw in self.draws))


class Worker:
    """A thread that decodes the calls put into its `inbox`; None ends it after its current step.

    Parameters
    ----------
    prepare : sets a call's prompt and draws; what it raises fails the call.
    complete : makes the completion of a finished draw.
    max_batch_tokens : bound on the sum of `Call.size` over what is decoded at once; a larger call runs alone.
    threads : CPU threads of torch in this thread; None: torch's own choice.
    after : an earlier worker on the same decoder that is being closed; this one starts once it has ended.
    """

    def __init__(
        self,
        decoder: Decoder,
        prepare: Callable[[Call], None],
        complete: Callable[[Call, Draw, Sample], Completion],
        max_batch_tokens: int,
        threads: int | None = None,
        after: Worker | None = None,
    ) -> None:
        self._decoder, self._prepare, self._complete = decoder, prepare, complete
        self._max_batch_tokens = max_batch_tokens
        self._waiting: deque[Call] = deque()
        self._active: list[Call] = []
        self._batches: list[Batch] = []
        self._steps_since_admission = 0
        self.inbox: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, args=(threads, after), name="local model", daemon=True)
        self.thread.start()

    def _run(self, threads: int | None, after: Worker | None) -> None:
        if after is not None:
            after.thread.join()
        if threads:
            torch.set_num_threads(threads)
        while self._take_in():
            try:
                self._step()
            except Exception as error:  # a fault of this loop: nobody may be left waiting
                _fail([*self._waiting, *self._active], error)
                self._waiting.clear()
                self._batches = []
        _fail([*self._waiting, *self._active], CallFailed("the model was closed while this call waited"))

    def _take_in(self) -> bool:
        """Prepare what has arrived and line it up. False once the worker is being closed.

        An idle worker sleeps until a call comes, and then waits a moment for others: coroutines that the last answers
        released are best decoded together.
        """
        idle = not self._batches and not self._waiting
        wait: float | None = None
        latest = 0.0
        while True:
            try:
                call = self.inbox.get(timeout=wait) if idle else self.inbox.get_nowait()
            except queue.Empty:
                return True
            if call is None:
                return False
            latest = latest or time.monotonic() + _GATHER_MOST_S
            wait = min(_GATHER_S, max(0.0, latest - time.monotonic()))
            try:
                self._prepare(call)
            except Exception as error:
                _fail([call], error)
            else:
                self._waiting.append(call)

    def _step(self) -> None:
        self._active = [call for call in self._active if not call.future.done()]
        fitting, everybody = self._fitting()
        rows = sum(len(batch.rows) for batch in self._batches)
        waited = everybody and self._steps_since_admission >= _PATIENCE
        if fitting and (_MANY * len(fitting) >= rows or waited):
            self._admit(fitting)
            self._steps_since_admission = 0
        self._batches = [batch for batch in self._batches if self._advance(batch)]
        self._steps_since_admission += 1

    def _fitting(self) -> tuple[list[Call], bool]:
        """The calls that can join now, first come first served, and whether these are all that wait.

        As many as the memory bound allows; at least one if nothing else runs.
        """
        while self._waiting and self._waiting[0].future.done():
            self._waiting.popleft()
        held = sum(call.size for call in self._active)
        fitting: list[Call] = []
        for call in self._waiting:
            if call.future.done():
                continue
            if held and held + call.size > self._max_batch_tokens:
                return fitting, False
            fitting.append(call)
            held += call.size
        return fitting, True

    def _admit(self, newcomers: list[Call]) -> None:
        """Prefill these calls, and decode them with the others."""
        inside = set(newcomers)
        self._waiting = deque(call for call in self._waiting if call not in inside and not call.future.done())
        try:
            batches = self._decoder.start([(call.prompt, call.draws) for call in newcomers])
        except Exception as error:
            _fail(newcomers, error)
            return
        self._active += newcomers
        self._batches = self._decoder.join([*self._batches, *batches])

    def _advance(self, batch: Batch) -> bool:
        """One step of a batch, and delivery of what it finished; whether it goes on."""
        calls: set[Call] = {draw.owner for row in batch.rows for draw in row.draws}
        try:
            over = {call for call in calls if call.future.done()}
            if over:
                batch.drop(lambda draw: draw.owner in over)
            for draw, sample in self._decoder.advance(batch) if batch.rows else ():
                call: Call = draw.owner
                call.arrived[draw.index] = self._complete(call, draw, sample)
                if len(call.arrived) == len(call.draws):
                    with suppress(InvalidStateError):  # cancelled meanwhile
                        call.future.set_result(tuple(call.arrived[index] for index in call.request.draws))
        except Exception as error:
            _fail(calls, error)
            return False
        return bool(batch.rows)


def _fail(calls: Iterable[Call], error: Exception) -> None:
    """Fail the calls that still wait, with one sentence for the row of an item."""
    if isinstance(error, CallFailed):
        failure = error
    elif isinstance(error, torch.OutOfMemoryError):
        failure = CallFailed("the device ran out of memory; load the model with a smaller max_batch_tokens")
    else:
        first = str(error).strip().split("\n")[0]
        failure = CallFailed(f"the local model failed ({type(error).__name__}: {first[:200]})")
        failure.__cause__ = error
    for call in calls:
        with suppress(InvalidStateError):  # already over
            call.future.set_exception(failure)
