"""A model that runs here, through transformers: requests in, completions out.

`LocalChat` prepares requests and makes completions of the samples that come back. Its `Worker` is a thread that decodes
many calls together, in one loop without barriers: take in what has arrived; let waiting calls join what is being
decoded, as far as the memory bound allows; advance every batch by one token; deliver what is finished.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from bisect import bisect, insort
from collections.abc import Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch

from srdcr_lab.models.base import first_stop
from srdcr_lab.models.checkpoint import ChatFormat, identity_of, load, number_type
from srdcr_lab.models.decoding import Decoder, DecodingBatch, Draw, Sample, pack_linear
from srdcr_lab.records import BadInput, CallFailed, Capabilities, Completion, FinishReason, ModelIdentity, Request
from srdcr_lab.records.types import cut

_CPU_CACHE_BYTES = 1 << 30
_UNKNOWN_MEMORY = 8 << 30
_NO_WINDOW = 1 << 40  # for a model that names no bound

_GATHER_S = 0.005  # how long a worker that was idle waits for further calls
_EVERY = 4  # steps after which newcomers join a running batch: taking them in copies the whole cache


class LocalChat:
    """Chat with local weights: a folder with safetensors, a tokenizer and a chat template, or a hub name.

    Greedy text is the arg max of every step; sampled text is keyed by request, stream and draw. Both are the same
    whatever else is being decoded, up to ties within rounding (`decoding`), which are rare in float32 and not rare in
    bfloat16. Log-probabilities are the model's own, at T = 1. `completion_tokens` counts generated tokens, including
    the end marker and what a stop string cut off; `prompt_tokens` is counted on a request's first draw, shared
    beginnings included. A reply that reaches the end of the model's window ends with reason ``length``. One model may
    serve several event loops.

    Parameters
    ----------
    identity : who it is, where that is known; default: `checkpoint.identity_of`.
    device : ``auto``: a GPU where there is one.
    dtype : ``auto``: the type in which the weights are stored where the device has instructions for it, else float32
        (`checkpoint.number_type`). Another type than float32 is part of the identity.
    max_batch_tokens : bound on the tokens in the key/value caches of what is decoded at once (a larger request runs
        alone); default: what fits into 1 GiB, or into half of a GPU's free memory.
    threads : CPU threads of torch in the worker; default: torch's own choice.
    kept_bytes : bound on the key/value states of earlier prompts, which later prompts that begin alike start from; they
        are written as they are needed. Default: an eighth of what the weights leave of the memory. 0: none are kept.

    Raises
    ------
    BadInput
        Nothing usable there (`checkpoint.load`), or a model without a key/value cache.
    """

    def __init__(
        self, folder_or_name: str, *, identity: ModelIdentity | None = None, device: str = "auto", dtype: str = "auto",
        max_batch_tokens: int | None = None, threads: int | None = None, kept_bytes: int | None = None,
    ) -> None:  # fmt: skip
        chosen = number_type(folder_or_name, device=device, dtype=dtype)
        tokenizer, model = load(folder_or_name, device=device, dtype=chosen)
        self.identity = identity or identity_of(folder_or_name, dtype=chosen)
        self._format = ChatFormat(tokenizer, model.generation_config)
        on_gpu = model.device.type == "cuda"
        weights = sum(each.nbytes for each in model.parameters())
        memory = torch.cuda.mem_get_info(model.device)[0] if on_gpu else max(0, machine_bytes() - weights)
        kept = memory // 8 if kept_bytes is None else kept_bytes
        pack_linear(model)
        try:
            self.decoder = Decoder(model, self._format.end_ids, self._format.decode, kept)
        except Exception as error:
            raise BadInput(f"{folder_or_name} cannot be decoded step by step here ({type(error).__name__})") from error
        self.capabilities = Capabilities(logprobs=True)
        self._token_texts = lru_cache(maxsize=1 << 12)(self._format.token_texts)  # many draws say the same
        self.context_tokens: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        cache_bytes = memory // 2 if on_gpu else _CPU_CACHE_BYTES
        self.max_batch_tokens = max_batch_tokens or max(1, cache_bytes // self.decoder.bytes_per_token)
        self.threads = threads
        self._computing = {"dtype": chosen, "device": str(model.device)}
        self._worker: Worker | None = None
        self._lock = threading.Lock()

    def sent(self) -> dict[str, Any]:
        """For ``run.json``: how it computes, and what was computed since the model was loaded."""
        sent: dict[str, Any] = {**self._computing, "kept_gb_at_most": self.decoder.kept_bytes / 1e9}
        moves = "what is decoded at the same time moves log-probabilities of this type by about 0.01"
        changes = "changes a reply where two tokens are nearly tied; with dtype='float32' it is 0.00001"
        note = f"{self.identity}: {moves}, and {changes}"
        return sent | self.decoder.stats | ({} if sent["dtype"] == "float32" else {"notes": [note]})

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """See `ChatModel.complete`. A prompt longer than the model's window is a failed call."""
        call = Call(request)
        with self._lock:
            self._worker = self._worker or Worker(self)
            self._worker.inbox.put(call)
        return await asyncio.wrap_future(call.future)

    async def aclose(self) -> None:
        """Stop the worker; calls that still wait fail. A later call starts a new one."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.inbox.put(None)
            await asyncio.to_thread(worker.thread.join)

    def prepare(self, call: Call) -> None:
        """Set the prompt and the draws of a call."""
        request = call.request
        call.prompt = self._format.prompt_ids(request.messages)
        room = (self.context_tokens or _NO_WINDOW) - len(call.prompt)
        if room < 1:
            window = f"the window of {self.identity} holds {self.context_tokens}, the reply included"
            remedy = "use fewer exemplars, shorter passages or a model with a larger window"
            raise CallFailed(f"the prompt has {len(call.prompt)} tokens and {window}; {remedy}")
        most, stop = min(request.max_tokens, room), tuple(filter(None, request.stop))
        temperature = 1.0 if request.temperature is None else request.temperature  # None: its own distribution
        seeds = {draw: request.draw_seed(draw, bits=63) for draw in request.draws}
        call.draws = [Draw(seed, temperature, most, stop, call, draw) for draw, seed in seeds.items()]

    def completion(self, call: Call, draw: Draw, sample: Sample) -> Completion:
        """The completion of a finished draw."""
        ids = tuple(pick.token for pick in sample.picks)
        text = self._format.decode(ids)
        end = first_stop(text, draw.stop)
        tokens = logprobs = margins = None
        if call.request.wants_logprobs:
            tokens, picks = self._token_texts(ids), sample.picks
            if end is not None:
                tokens, picks = cut(tokens, picks, 0, end)
            logprobs = tuple(pick.logprob for pick in picks)
            if call.request.temperature == 0:
                margins = tuple(round(pick.margin, 4) for pick in picks)
        finish = FinishReason.STOP if sample.ended else FinishReason.LENGTH
        counts = len(call.prompt) if draw.index == call.request.draws[0] else 0, sample.generated
        return Completion(text[:end], draw.index, tokens, logprobs, finish, *counts, margins=margins)


def machine_bytes() -> int:
    """Memory of this machine or, where that is less, of the container that this process runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        total = _UNKNOWN_MEMORY
    with suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total


@dataclass(eq=False)
class Call:
    """One request on its way. Its future is done once it is answered, failed, or cancelled by whoever awaited it."""

    request: Request
    future: Future[tuple[Completion, ...]] = field(default_factory=Future)
    prompt: tuple[int, ...] = ()
    rest: int = 0  # tokens of the prompt that were not kept when it arrived
    draws: list[Draw] = field(default_factory=list)
    arrived: dict[int, Completion] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Most tokens that the key/value cache holds for it."""
        return len(self.draws) * (len(self.prompt) + max(draw.max_new for draw in self.draws))


class Worker:
    """A thread that decodes the calls put into its `inbox`; None ends it after its current step.

    Its `chat` sets a call's prompt and draws, where an error fails the call, and makes the completion of a finished
    draw. The chat's `max_batch_tokens` bounds the sum of `Call.size` over what is decoded at once.
    """

    def __init__(self, chat: LocalChat) -> None:
        self._chat, self._decoder = chat, chat.decoder
        self._waiting: list[Call] = []
        self._active: list[Call] = []
        self._batches: list[DecodingBatch] = []
        self._step = 0
        self.inbox: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="local model", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        if self._chat.threads:
            torch.set_num_threads(self._chat.threads)
        with self._decoder.in_use:  # an earlier worker may be at its last step
            while self._take_in():
                try:
                    self._decode()
                except Exception as error:  # a fault of this loop: nobody may be left waiting
                    _fail([*self._waiting, *self._active], error)
                    self._waiting, self._active, self._batches = [], [], []
        _fail([*self._waiting, *self._active], CallFailed("the model was closed while this call waited"))

    def _take_in(self) -> bool:
        """Prepare what has arrived and line it up. False once the worker is being closed.

        What has least to compute goes first: so a debate goes on while the states of its earlier prompts are kept.
        An idle worker sleeps until a call comes, and then waits a moment for others: coroutines that the last answers
        released are best decoded together.
        """
        arrived = []
        if not self._batches and not self._waiting:
            arrived = [self.inbox.get()]
            time.sleep(_GATHER_S)
        while not self.inbox.empty():  # nobody else takes calls out of it
            arrived.append(self.inbox.get())
        for call in arrived:
            if call is None:
                return False
            try:
                self._chat.prepare(call)
            except Exception as error:
                _fail([call], error)
            else:
                call.rest = self._decoder.begun(call.prompt).rest
                insort(self._waiting, call, key=attrgetter("rest"))
        return True

    def _decode(self) -> None:
        """Let newcomers join, every few steps, and advance every batch by one token."""
        self._waiting = [call for call in self._waiting if not call.future.done()]
        self._active = [call for call in self._active if not call.future.done()]
        if not self._batches or self._step % _EVERY == 0:
            self._admit()
        self._batches = [batch for batch in self._batches if self._advance(batch)]
        self._step += 1

    def _admit(self) -> None:
        """Prefill what fits beside the active calls; at least one if nothing else runs."""
        held = [*accumulate((call.size for call in self._waiting), initial=sum(call.size for call in self._active))][1:]
        fitting = bisect(held, self._chat.max_batch_tokens) or int(not self._active)
        newcomers, self._waiting = self._waiting[:fitting], self._waiting[fitting:]
        if not newcomers:
            return
        try:
            batches = self._decoder.start([(call.prompt, call.draws) for call in newcomers])
        except Exception as error:
            _fail(newcomers, error)
            return
        self._active += newcomers
        self._batches = self._decoder.join([*self._batches, *batches])

    def _advance(self, batch: DecodingBatch) -> bool:
        """One step of a batch, and delivery of what it finished; whether it goes on."""
        calls: set[Call] = {draw.owner for row in batch.rows for draw in row.draws}
        try:
            if any(call.future.done() for call in calls):
                batch.drop(lambda draw: draw.owner.future.done())
            for draw, sample in self._decoder.advance(batch) if batch.rows else ():
                call: Call = draw.owner
                call.arrived[draw.index] = self._chat.completion(call, draw, sample)
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
        failure = CallFailed("the device ran out of memory; load the model with smaller max_batch_tokens or kept_bytes")
    else:
        first = str(error).strip().split("\n")[0]
        failure = CallFailed(f"the local model failed ({type(error).__name__}: {first[:200]})")
        failure.__cause__ = error
    for call in calls:
        with suppress(InvalidStateError):  # already over
            call.future.set_exception(failure)
