"""A wave of requests at half price, through the batches of its provider (`Batches`).

A batch goes through these steps, each of them in the store before the next: planned (its lines are noted) → its file is
uploaded, and the provider is told to make it → its id is here → its results come in, line by line → over. A process
that was killed finds its batches where they are. One step cannot be seen from here: a batch may have been made whose id
never arrived. So to make one is never simply tried again: it is looked for among the account's batches. At OpenAI it is
the one with our file; at Anthropic one of as many requests, until the custom ids of its results show whose it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import httpx2

from srdcr_lab.models.api import MOST_BYTES, ApiChat, ReplyError, tallied
from srdcr_lab.models.base import received, redact, room
from srdcr_lab.models.spending import FREE, Budget, Price, StoredModel, worst_case_usd
from srdcr_lab.models.store import Asked, Store
from srdcr_lab.records import BadInput, CallFailed, Request, SrdcrError, Stopped, TemperatureRefused
from srdcr_lab.records.files import from_plain, one_writer, parse_json

# OpenAI takes files of 200 MB, Anthropic batches of 256 MB. A process holds what it sends several times over.
MOST_BATCH_BYTES = 2**25
PAUSE_S = 60.0  # between two looks at the batches under way
_GRACE_S = 300.0  # for which a batch that the provider was told to make, and does not list, may still appear
_MOST_TRIES = 3  # of a line without an answer
_MOST_SILENCES = 10  # looks in a row at a provider that does not answer, or not sensibly
_MOST_WAITS = 1440  # for room in the provider's queue; of PAUSE_S each, a day
_TOO_FEW = 0.1  # of what is missing: for less than this share, a budget makes no further batch
_AGAIN = (0, 408, 409, 429)  # statuses, beside those from 500 on, after which the same may be asked again
_QUEUE = re.compile(r"token_limit_exceeded|enqueued", re.IGNORECASE)  # in OpenAI's words
_TOO_LARGE = re.compile(r"too[ _](?:large|many|big|long)|(?:exceed|maximum).*(?:limit|maximum|size)", re.IGNORECASE)
_GO_ON = "batches under way go on at the provider; run the same command again to collect them"


@dataclass
class Batch:
    """A batch as the store knows it; what is empty has not been done yet."""

    name: str  # ours
    lines: int
    file: str = ""  # OpenAI's id of its lines
    newest: str = ""  # Anthropic's newest batch of the account before this one
    told_at: float = 0.0  # when the provider was told to make it, seconds since 1970
    remote: str = ""  # the provider's id
    not_ours: list[str] = field(default_factory=list)  # batches whose results held none of its lines


class BatchStatus(NamedTuple):
    """A batch as its provider shows it."""

    is_over: bool
    progress: str
    fault: str  # why it failed as a whole
    places: tuple[str, ...]  # where its results are


class Batches(Protocol):
    """A provider's batches: `lines` (custom id → body of a request) are uploaded, a batch is made of them, looked for
    and looked at, and its results are read. A batch ends after 24 hours; what was completed costs half."""

    model: ApiChat
    most_lines: int

    def __init__(self, model: ApiChat) -> None:
        self.model = model

    async def upload(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> None:
        """Whatever has to be done before a batch is made; noted in the batch."""

    async def make(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> str:
        """Make the batch, in one attempt; the provider's id."""

    def made_since(self, batch: Batch) -> AsyncIterator[str]:
        """Ids of batches of the account that may be this one."""

    async def status(self, remote: str) -> BatchStatus:
        """How the batch of this id is."""

    def results(self, place: str) -> Any:
        """A streamed response of the lines in one of `BatchStatus.places`."""

    def outcome(self, line: Any) -> tuple[str, int, Any]:
        """Custom id, HTTP status (0: not answered) and reply of a line of results."""


async def ask_batch(
    model: ApiChat,
    store: Store,
    wave: Sequence[Request],
    *,
    budget: Budget,
    price: Price | None,
    tell: Callable[[str], None],
    pause_s: float = PAUSE_S,
) -> list[tuple[Request, str]]:
    """Put the completions of a wave into the store; return what failed, each with a sentence.

    `wave` are requests with the draws that are missing. `price` is the live one; a batch is booked at half of it.
    Batches of this model that the store says are under way are waited for too, whatever they hold. Until the model has
    replied to this process, one request of each form goes live: what it refuses is learned in seconds and not in a day.
    One process at a time may do this with one store and model.

    Raises `BudgetExhausted` where some did not fit, after what fitted has come in; `Stopped` where the provider cannot
    be reached; `BadInput` where it has no batches, or does not know one that is under way.
    """
    with _alone(store, model.identity.key):
        return await _Wave(model, store, budget, price or FREE, tell, pause_s).all_of(wave)


def _alone(store: Store, key: str) -> AbstractContextManager[object]:
    """Two processes would send the same twice. The lock ends with the process that holds it."""
    place = f"{store.path}-batches-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return nullcontext() if store.path == ":memory:" else one_writer(Path(place))


class _Wave:
    """What one call of `ask_batch` knows: its batches under way, and what it learned of each line."""

    def __init__(
        self, model: ApiChat, store: Store, budget: Budget, price: Price, tell: Callable[[str], None], pause_s: float
    ) -> None:
        self.model, self.store, self.budget, self.pause_s = model, store, budget, pause_s
        self.key, self.price = model.identity.key, price.in_a_batch()
        self.live = StoredModel(model, store, price=price, budget=budget)
        if model.batches is None:
            raise BadInput(f"{model.identity}: {model.provider} has no batches; run without --batch")
        self.api: Batches = model.batches(model)
        self.most_lines = self.api.most_lines  # of one batch; fewer where the provider takes fewer
        self.tries: Counter[str] = Counter()  # of each line, by custom id
        self.failed: list[tuple[Request, str]] = []
        self.stop: Stopped | None = None
        self.reserved = 0.0  # US dollars
        self.waits = self.silences = 0
        self.is_full = False  # the provider's queue
        where = f"{store.path}: a batch of {model.identity}"
        known = [from_plain(Batch, json.loads(value), where) for value in store.batches(self.key).values()]
        self.batches = {batch.name: batch for batch in known}
        self.tell: Callable[[str], None] = lambda sentence: tell(f"{model.identity}: {sentence}")

    async def all_of(self, wave: Sequence[Request]) -> list[tuple[Request, str]]:
        try:
            for batch in [*self.batches.values()]:
                self._reserve(self.store.open_in(batch.name))
                if not batch.told_at:  # the provider never heard of it
                    self._over(batch)
            while True:
                missing = self._missing(wave)
                if missing and not self.model.has_replied:
                    await self._go_first(missing)
                elif missing or self.batches:
                    await self._send(missing)
                    await self._collect()
                else:
                    return self.failed
        finally:
            self.budget.settle(self.reserved, 0.0)

    def _missing(self, wave: Sequence[Request]) -> list[Asked]:
        """The lines that are still to be asked."""
        elsewhere = self.store.draws_in_batches(self.key)
        elsewhere |= {(failed.digest, failed.stream, draw) for failed, _ in self.failed for draw in failed.draws}
        lines, size = [], self.model.draws_per_request
        for request in wave:
            have = self.store.get(self.model.identity, request)
            address = request.digest, request.stream
            free = [draw for draw in request.draws if draw not in have and (*address, draw) not in elsewhere]
            elsewhere |= {(*address, draw) for draw in free}
            parts = [replace(request, draws=tuple(free[at : at + size])) for at in range(0, len(free), size)]
            if request.temperature is None or self.model.capabilities.temperature:
                lines += [Asked(self.key, part) for part in parts]
            else:
                self.failed += [(part, f"{self.model.identity} refuses temperature.") for part in parts]
        return lines

    async def _go_first(self, missing: Sequence[Asked]) -> None:
        """Ask live, one request of each form."""
        forms: dict[frozenset[str], Request] = {}
        for line in missing:
            forms.setdefault(frozenset(self._body(line)), line.request)
        for request in forms.values():
            try:
                await self.live.complete(request)
            except CallFailed as failure:
                self.failed.append((request, str(failure)))
                if not (self.model.has_replied or isinstance(failure, TemperatureRefused)):
                    raise Stopped(f"{failure} No batch was sent.") from None

    # Sending ---------------------------------------------------------------------------------------------------------

    async def _send(self, missing: Sequence[Asked]) -> None:
        """Make batches of what the budget covers."""
        worst = [*accumulate(map(self._worst, missing))]
        fitting = sum(1 for _ in takewhile(self.budget.left_usd().__ge__, worst))
        if fitting < _TOO_FEW * len(missing):
            if not self.batches:
                await self.budget.reserve(worst[-1])  # raises, unless others freed enough meanwhile
                self.budget.settle(worst[-1], 0.0)
            return
        asked: list[Asked] = []
        size = 0
        for line in missing[:fitting]:
            length = len(json.dumps(self._body(line))) + 200  # of what is around it
            if asked and (size + length > MOST_BATCH_BYTES or len(asked) >= self.most_lines):
                await self._make(asked)
                asked, size = [], 0
            if self.is_full:
                return
            asked.append(line)
            size += length
        if asked:
            await self._make(asked)

    def _body(self, line: Asked) -> dict[str, Any]:
        return self.model.worded(line.request, line.request.draws)

    async def _make(self, asked: Sequence[Asked]) -> None:
        batch, lines = Batch(f"srdcr-{uuid4().hex}", len(asked)), {line.custom_id: self._body(line) for line in asked}
        self.batches[batch.name] = batch
        with self.store.transaction():
            self.store.note_asked(replace(line, batch=batch.name) for line in asked)
            self._keep(batch)
        self._reserve(asked)
        try:
            with tallied():
                await self.api.upload(batch, lines)
            batch.told_at = time.time()
            self._keep(batch)
            batch.remote = await self.api.make(batch, lines)  # once: not tallied, so that no outage is waited out
            self._keep(batch)
            self.tell(f"{len(lines)} requests are in the batch {batch.remote}.")
        except self.model.sdk.APIStatusError as error:
            if not batch.told_at or (error.status_code < 500 and error.status_code not in (408, 409)):
                self._not_taken(batch, self.model.translated(error), error.status_code)
        except (self.model.sdk.APIConnectionError, *_ODD) as error:
            if not batch.told_at:
                raise self._out_of_reach(error) from None

    def _not_taken(self, batch: Batch, failure: SrdcrError, status: int = 0) -> None:
        """The provider does not take a batch as a whole: its queue is full, or the batch is too large, or else."""
        fault = str(failure).rstrip(".")
        is_full = status == 429 or _QUEUE.search(fault) is not None
        is_large = batch.lines > 1 and (status == 413 or _TOO_LARGE.search(fault) is not None)
        if isinstance(failure, CallFailed) and not is_full and not is_large and status in (0, 400, 413, 422):
            self._over(batch, f"the provider refuses the batch ({fault})")
            return
        self._over(batch)
        if status in (404, 405):
            where = f"{self.model.address} has no batches ({status})"
            raise BadInput(f"{self.model.identity}: {where}; run without --batch, or use srdcr requests")
        if not isinstance(failure, CallFailed):  # the account is used up, the key is refused
            raise failure
        self.waits += is_full
        if self.waits > _MOST_WAITS or not (is_full or is_large):
            raise Stopped(f"{fault}; {_GO_ON}")
        if is_large or (status != 429 and not self.batches):  # it may be larger than the whole queue
            self.most_lines = max(1, batch.lines // 2)
        self.is_full = is_full
        self.tell(f"{batch.lines} requests {'wait' if is_full else 'are split'}: {fault}.")

    # Waiting ---------------------------------------------------------------------------------------------------------

    async def _collect(self) -> None:
        """Wait until every batch is over; what comes in is kept."""
        shown: dict[str, str] = {}
        while self.batches:
            for batch in [*self.batches.values()]:
                try:
                    with tallied():
                        look = await self._look(batch)
                        if look and look.is_over:
                            await self._take(batch, look)
                except (self.model.sdk.APIStatusError, self.model.sdk.APIConnectionError, *_ODD) as error:
                    self._missed(batch, error)
                    continue
                self.silences = 0
                if look and shown.get(batch.name) != look.progress:
                    self.tell(f"the batch {batch.remote} is {look.progress}.")
                    shown[batch.name] = look.progress
            if self.batches:
                await asyncio.sleep(self.pause_s)
        if self.stop:
            raise self.stop
        if self.is_full:
            self.is_full = False
            await asyncio.sleep(self.pause_s)

    async def _look(self, batch: Batch) -> BatchStatus | None:
        """How a batch is; None where it was made, perhaps, and is not found."""
        if not batch.remote:
            batch.remote = await anext(self.api.made_since(batch), "")
            if not batch.remote:
                if time.time() > batch.told_at + _GRACE_S:
                    self._over(batch, "the provider did not make its batch")
                return None
            self._keep(batch)
        return await self.api.status(batch.remote)

    async def _take(self, batch: Batch, look: BatchStatus) -> None:
        """Keep what the results of a batch hold; its other lines are asked again."""
        if look.fault and not look.places:
            self._not_taken(batch, CallFailed(look.fault))
            return
        is_ours = not look.places
        for place in look.places:
            async with aclosing(self._results(place)) as results:
                async for result in results:
                    try:
                        custom_id, status, reply = self.api.outcome(parse_json(result))
                        line = self.store.asked(str(custom_id))
                    except _ODD:
                        continue  # a line that nobody understands costs its own request, which is asked again
                    if line and line.batch == batch.name:
                        is_ours = True
                        if line.is_open:
                            self._took(line, status, reply)
        if is_ours:
            self._over(batch, f"no answer came ({batch.remote} is {look.progress})")
        else:
            batch.not_ours.append(batch.remote)
            batch.remote = ""
            self._keep(batch)

    async def _results(self, place: str) -> AsyncGenerator[bytes]:
        """The lines of a file of results; one that is longer than any reply is cut, and so no JSON."""
        line = bytearray()
        async with self.api.results(place) as response:
            async for part in response.iter_bytes():
                first, *others = part.split(b"\n")
                line += first
                for other in others:
                    yield bytes(line)
                    line = bytearray(other)
                del line[MOST_BYTES:]
        yield bytes(line)

    def _took(self, line: Asked, status: int, reply: Any) -> None:
        """What one line brought. Its completions, its end and what it cost are committed together."""
        request, completions = line.request, None
        cost = self._worst(line) if status == 200 else 0.0  # until it is known
        with self.store.transaction():
            try:
                if status in _AGAIN or status >= 500:
                    raise ReplyError(f"{status or 'no answer'} ({redact(str(reply))[:200]})")
                if completions := self.model.understood(status, reply, request, self._body(line)):
                    self.store.put(self.model.identity, request, [*map(received, completions)])
                    cost = self.price.cost_of(completions)
                    if len(completions) < len(request.draws):
                        self.model.draws_per_request = min(self.model.draws_per_request, len(completions))
            except Stopped as stop:
                self.stop = stop
            except SrdcrError as failure:
                self.failed.append((request, str(failure)))
            except Exception as fault:  # whatever one reply does to its reader, it costs its own row alone
                self._again(line, str(fault))
            self._close([line], cost, answered=bool(completions))

    def _missed(self, batch: Batch, error: Any) -> None:
        """A look at a batch brought nothing. The next may; not where the provider denies it."""
        self.silences += 1
        if getattr(error, "status_code", 0) in (403, 404) and batch.remote:
            raise BadInput(
                f"{self.model.identity}: {self.model.address} does not give the batch {batch.remote} to this key "
                f"({error.status_code}); use the key of the account that sent it, or ask anew with --store NEW.sqlite: "
                f"srdcr store merge NEW.sqlite {self.store.path} leaves batches behind"
            ) from None
        failure = self._out_of_reach(error)
        if self.silences > _MOST_SILENCES or not isinstance(failure, Stopped):
            raise failure from None

    # Keeping the books -----------------------------------------------------------------------------------------------

    def _again(self, line: Asked, why: str) -> None:
        self.tries[line.custom_id] += 1
        if self.tries[line.custom_id] == _MOST_TRIES:
            self.failed.append((line.request, f"{self.model.identity}: {why}; asked {_MOST_TRIES} times."))

    def _over(self, batch: Batch, why: str = "") -> None:
        """Nothing more comes from a batch. What it did not answer is asked anew; with a `why`, not for ever."""
        asked = self.store.open_in(batch.name)
        for line in asked if why else ():
            self._again(line, why)
        with self.store.transaction():
            self._close(asked, 0.0, answered=False)
            self.store.note_batch(self.key, batch.name, None)
        del self.batches[batch.name]

    def _close(self, asked: Sequence[Asked], cost: float, *, answered: bool) -> None:
        self.store.close_asked(asked, answered=answered)
        worst = sum(map(self._worst, asked))
        self.reserved -= worst
        self.budget.settle(worst, cost)

    def _reserve(self, asked: Sequence[Asked]) -> None:
        worst = sum(map(self._worst, asked))
        self.reserved += worst
        self.budget.hold(worst)

    def _worst(self, line: Asked) -> float:
        return worst_case_usd(line.request, self.price, room(self.model.identity))

    def _keep(self, batch: Batch) -> None:
        self.store.note_batch(self.key, batch.name, json.dumps(asdict(batch)))

    def _out_of_reach(self, error: Any) -> SrdcrError:
        """The provider cannot be asked now; what it was asked goes on."""
        if not isinstance(error, self.model.sdk.APIError):
            fault = redact(f"{type(error).__name__}: {error}")
            return Stopped(f"{self.model.identity}: {self.model.address} gave no batch ({fault}); {_GO_ON}")
        failure = self.model.translated(error)
        return Stopped(f"{str(failure).rstrip('.')}; {_GO_ON}") if isinstance(failure, CallFailed) else failure


_ODD = (ValueError, LookupError, TypeError, AttributeError, httpx2.TransportError)  # what no answer does to its reader
