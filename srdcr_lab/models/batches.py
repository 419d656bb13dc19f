"""A wave of requests at half price, through the batches of its provider (`Batches`).

A batch goes through these steps, each of them in the store before the next: planned (its lines are noted) → its file is
uploaded, and the provider is told to make it → its id is here → its results come in, line by line → over. A process
that was killed finds its batches where they are. One step cannot be seen from here: a batch may have been made whose id
never arrived. So to make one is never simply tried again: it is looked for among the account's batches. At OpenAI it is
the one with our file; at Anthropic one of as many requests, until the custom ids of its results show whose it is.
"""

import asyncio
import hashlib
import json
import re
import time
from bisect import bisect
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast
from uuid import uuid4

import httpx2

from srdcr_lab.models.api import MOST_BYTES, ApiChat, ReplyError, tallied
from srdcr_lab.models.base import received, redact, room
from srdcr_lab.models.spending import FREE, StoredModel, worst_case_usd
from srdcr_lab.models.store import Asked
from srdcr_lab.records import BadInput, CallFailed, Request, SrdcrError, Stopped, TemperatureRefused
from srdcr_lab.records.files import from_json, one_writer, parse_json
from srdcr_lab.records.types import Place

# OpenAI takes files of 200 MB, Anthropic batches of 256 MB. A process holds what it sends several times over.
MOST_BATCH_BYTES = 2**25
PAUSE_S = 60.0  # between two looks at the batches under way
_GRACE_S = 300.0  # for which a batch that the provider was told to make, and does not list, may still appear
_MOST_TRIES = 3  # of a line without an answer
_MOST_SILENCES = 10  # looks in a row at a provider that does not answer, or not sensibly
_MOST_WAITS = 1440  # for room in the provider's queue; of PAUSE_S each, a day
_TOO_FEW = 0.1  # a batch is made only if the budget covers at least this share of what is missing
_AGAIN = (0, 408, 409, 429)  # statuses, beside those from 500 on, after which the same may be asked again
_QUEUE = re.compile(r"token_limit_exceeded|enqueued", re.IGNORECASE)  # in OpenAI's words
_TOO_LARGE = re.compile(r"too[ _](?:large|many|big|long)|(?:exceed|maximum).*(?:limit|maximum|size)", re.IGNORECASE)
_GO_ON = "batches under way go on at the provider; run the same command again to collect them"


@dataclass
class Batch:
    """A batch as the store knows it; what is empty has not been done yet."""

    keeps_defaults = True  # a store written before a field was added takes the field's default
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
    most_lines: int  # of one batch; fewer once the provider takes fewer

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


async def ask_batch(live: StoredModel, wave: Sequence[Request], *, tell: Callable[[str], None]) -> dict[Place, str]:
    """Put the completions of a wave into the store; return a sentence for each draw that failed.

    `wave` are requests with the draws that are missing, each draw once. `live` is the model behind the store; a batch
    is booked at half of its price. Batches of this model that the store says are under way are waited for too, whatever
    they hold. Until the model has replied to this process, one request of each form goes live: what it refuses is
    learned in seconds and not in a day. One process at a time may do this with one store and model.

    Raises `BudgetExhausted` where some did not fit, after what fitted has come in; `Stopped` where the provider cannot
    be reached; `BadInput` where it has no batches, or does not know one that is under way.
    """
    path, key = live.store.path, hashlib.sha256(live.identity.key.encode()).hexdigest()[:8]
    # Two processes would send the same twice. The lock ends with the process that holds it.
    with nullcontext() if path == ":memory:" else one_writer(Path(f"{path}-batches-{key}")):
        return await _Wave(live, tell).all_of(wave)


class _Wave:
    """What one call of `ask_batch` knows: its batches under way, and what it learned of each line."""

    def __init__(self, live: StoredModel, tell: Callable[[str], None]) -> None:
        self.live, self.model, self.store, self.budget = live, cast(ApiChat, live.model), live.store, live.budget
        self.key, self.price = live.identity.key, (live.price or FREE).in_a_batch()
        if self.model.batches is None:
            raise BadInput(f"{live.identity}: {self.model.provider} has no batches; run without --batch")
        self.api: Batches = self.model.batches(self.model)
        of_a_reader = (ValueError, LookupError, TypeError, AttributeError, httpx2.TransportError)
        self.errors = (self.model.sdk.APIError, *of_a_reader)  # what no answer does to the code that reads it
        self.batches: dict[str, Batch] = {}  # under way, by name
        self.reserved: dict[str, float] = {}  # US dollars for each of them
        self.tries: Counter[str] = Counter()  # of each line, by custom id
        self.failed: dict[Place, str] = {}
        self.stop: Stopped | None = None
        self.waits = self.silences = 0
        self.is_full = False  # the provider's queue
        self.tell: Callable[[str], None] = lambda sentence: tell(f"{live.identity}: {sentence}")
        self.tell_once = cache(self.tell)

    async def all_of(self, wave: Sequence[Request]) -> dict[Place, str]:
        try:
            for known in self.store.batches(self.key).values():
                batch = from_json(Batch, known, f"{self.store.path}: a batch of {self.live.identity}")
                self._enter(batch, self.store.open_in(batch.name))
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
            self.budget.settle(sum(self.reserved.values()), 0.0)
            self.live.remember_model()

    def _missing(self, wave: Sequence[Request]) -> list[Asked]:
        """The lines that are still to be asked."""
        under_way = (line.request for name in self.batches for line in self.store.open_in(name))
        elsewhere = {place for request in under_way for place in request.places.values()} | self.failed.keys()
        lines, size = [], self.model.draws_per_request
        for request in wave:
            have = self.store.get(self.live.identity, request)
            free = [draw for draw, place in request.places.items() if draw not in have and place not in elsewhere]
            parts = [replace(request, draws=tuple(free[at : at + size])) for at in range(0, len(free), size)]
            if request.temperature is None or self.model.capabilities.temperature:
                lines += [Asked(self.key, part) for part in parts]
            else:
                self._fail(parts, f"{self.live.identity} refuses temperature.")
        return lines

    async def _go_first(self, missing: Sequence[Asked]) -> None:
        """Ask live, one request of each form."""
        forms: dict[frozenset[str], Request] = {}
        for line in missing:
            forms.setdefault(frozenset(self._body(line)), line.request)
        for request in forms.values():
            self.live.bought |= dict.fromkeys(request.places.values(), self.live.price)
            try:
                await self.live.complete(request)
            except CallFailed as failure:
                self._fail([request], str(failure))
                if not (self.model.has_replied or isinstance(failure, TemperatureRefused)):
                    raise Stopped(f"{failure} No batch was sent.") from None

    # Sending ---------------------------------------------------------------------------------------------------------

    async def _send(self, missing: Sequence[Asked]) -> None:
        """Make batches of what the budget covers."""
        worst = [*accumulate(map(self._worst, missing))]
        fitting = bisect(worst, self.budget.left_usd())
        if fitting < _TOO_FEW * len(missing):
            if not self.batches:
                await self.budget.reserve(worst[-1])  # raises, unless others freed enough meanwhile
                self.budget.settle(worst[-1], 0.0)
            return
        asked: list[Asked] = []
        size = 0
        for line in missing[:fitting]:
            length = len(json.dumps(self._body(line))) + 200  # of what is around it
            if asked and (size + length > MOST_BATCH_BYTES or len(asked) >= self.api.most_lines):
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
        self._enter(batch, asked)
        with self.store.transaction():
            self.store.note_asked(replace(line, batch=batch.name) for line in asked)
            self._keep(batch)
        try:
            with tallied():
                await self.api.upload(batch, lines)
            batch.told_at = time.time()
            self._keep(batch)
            batch.remote = await self.api.make(batch, lines)  # once: not tallied, so that no outage is waited out
            self._keep(batch)
            self.tell(f"{len(lines)} requests are in the batch {batch.remote}.")
        except self.errors as error:
            status = getattr(error, "status_code", 0)
            if not batch.told_at or (0 < status < 500 and status not in (408, 409)):  # else it may have been made
                self._not_taken(batch, self._read(error), status)

    def _not_taken(self, batch: Batch, failure: SrdcrError, status: int) -> None:
        """The provider does not take a batch as a whole: its queue is full, or the batch is too large, or else."""
        fault = str(failure).rstrip(".")
        is_full = status == 429 or _QUEUE.search(fault) is not None
        is_large = batch.lines > 1 and (status == 413 or _TOO_LARGE.search(fault) is not None)
        is_refused = not (is_full or is_large) and status in (400, 413, 422) and isinstance(failure, CallFailed)
        self._over(batch, f"the provider refuses the batch ({fault})" if is_refused else "")
        if is_refused:
            return
        if status in (404, 405):
            where = f"{self.model.address} has no batches ({status})"
            raise BadInput(f"{self.live.identity}: {where}; run without --batch, or use srdcr requests")
        self.waits += is_full
        if not (is_full or is_large) or self.waits > _MOST_WAITS or not isinstance(failure, CallFailed):
            raise self._ending(failure)
        if is_large or (status != 429 and not self.batches):  # it may be larger than the whole queue
            self.api.most_lines = max(1, batch.lines // 2)
        self.is_full = is_full
        self.tell(f"{batch.lines} requests {'wait' if is_full else 'are split'}: {fault}.")

    # Waiting ---------------------------------------------------------------------------------------------------------

    async def _collect(self) -> None:
        """Wait until every batch is over; what comes in is kept."""
        while self.batches:
            for batch in [*self.batches.values()]:
                try:
                    with tallied():
                        await self._look(batch)
                    self.silences = 0
                except self.errors as error:
                    self._missed(batch, error)
            if self.batches:
                await asyncio.sleep(PAUSE_S)
        if self.stop:
            raise self.stop
        if self.is_full:
            self.is_full = False
            await asyncio.sleep(PAUSE_S)

    async def _look(self, batch: Batch) -> None:
        """Find a batch whose id never arrived; keep what has come of one that is over."""
        if not batch.remote:
            batch.remote = await anext(self.api.made_since(batch), "")
            if not batch.remote:
                if time.time() > batch.told_at + _GRACE_S:
                    self._over(batch, "the provider did not make its batch")
                return
            self._keep(batch)
        seen = await self.api.status(batch.remote)
        self.tell_once(f"the batch {batch.remote} is {seen.progress}.")
        if seen.is_over and seen.fault and not seen.places:
            self._not_taken(batch, CallFailed(seen.fault), 400)
        elif seen.is_over:
            await self._take(batch, seen)

    async def _take(self, batch: Batch, seen: BatchStatus) -> None:
        """Keep what the results of a batch hold; its other lines are asked again."""
        is_ours = not seen.places
        for place in seen.places:
            async with aclosing(self._results(place)) as results:
                async for result in results:
                    try:
                        custom_id, status, reply = self.api.outcome(parse_json(result))
                        line = self.store.asked(str(custom_id))
                    except self.errors:
                        continue  # a line that nobody understands costs its own request, which is asked again
                    if line and line.batch == batch.name:
                        is_ours = True
                        if line.is_open:
                            self._took(line, status, reply)
        if is_ours:
            self._over(batch, f"no answer came ({batch.remote} is {seen.progress})")
        else:
            batch.not_ours.append(batch.remote)
            batch.remote = ""
            self._keep(batch)

    async def _results(self, place: str) -> AsyncGenerator[bytes]:
        """The lines of a file of results; one that is longer than any reply is cut, and so no JSON."""
        rest = b""
        async with self.api.results(place) as response:
            async for part in response.iter_bytes():
                *lines, rest = (rest[:MOST_BYTES] + part).split(b"\n")
                for line in lines:
                    yield line
        yield rest

    def _took(self, line: Asked, status: int, reply: Any) -> None:
        """What one line brought. Its completions, its end and what it cost are committed together."""
        request, completions = line.request, None
        cost = self._worst(line) if status == 200 else 0.0  # until it is known
        with self.store.transaction():
            try:
                if status in _AGAIN or status >= 500:
                    raise ReplyError(f"{status or 'no answer'} ({redact(str(reply))[:200]})")
                if completions := self.model.understood(status, reply, request, self._body(line)):
                    self.store.put(self.live.identity, request, [*map(received, completions)])
                    cost = self.price.cost_of(completions)
                    if len(completions) < len(request.draws):
                        self.model.draws_per_request = min(self.model.draws_per_request, len(completions))
            except Stopped as stop:
                self.stop = stop
            except SrdcrError as failure:
                self._fail([request], str(failure))
            except Exception as fault:  # whatever one reply does to its reader, it costs its own row alone
                self._again(line, str(fault))
            self.store.close_asked([line], answered=bool(completions))
            self.budget.settle(0.0, cost)  # what is reserved for it, until the batch is over

    def _missed(self, batch: Batch, error: Any) -> None:
        """A look at a batch brought nothing. The next may; not where the provider denies it."""
        self.silences += 1
        if getattr(error, "status_code", 0) in (403, 404) and batch.remote:
            fault = f"{self.model.address} does not give the batch {batch.remote} to this key ({error.status_code})"
            remedy = "use the key of the account that sent it, or ask anew with --store NEW.sqlite"
            without = f"srdcr store merge NEW.sqlite {self.store.path} leaves batches behind"
            raise BadInput(f"{self.live.identity}: {fault}; {remedy}: {without}") from None
        failure = self._read(error)
        if self.silences > _MOST_SILENCES or isinstance(failure, BadInput):
            raise self._ending(failure) from None

    # Keeping the books -----------------------------------------------------------------------------------------------

    def _enter(self, batch: Batch, asked: Sequence[Asked]) -> None:
        """A batch is under way; the worst case of what it is still asked is reserved until it is over."""
        self.batches[batch.name], self.reserved[batch.name] = batch, sum(map(self._worst, asked))
        self.budget.hold(self.reserved[batch.name])

    def _over(self, batch: Batch, why: str = "") -> None:
        """Nothing more comes from a batch. What it did not answer is asked anew; with a `why`, not for ever."""
        asked = self.store.open_in(batch.name)
        for line in asked if why else ():
            self._again(line, why)
        with self.store.transaction():
            self.store.close_asked(asked, answered=False)
            self.store.note_batch(self.key, batch.name, None)
        self.budget.settle(self.reserved.pop(batch.name), 0.0)
        del self.batches[batch.name]

    def _again(self, line: Asked, why: str) -> None:
        self.tries[line.custom_id] += 1
        if self.tries[line.custom_id] == _MOST_TRIES:
            self._fail([line.request], f"{self.live.identity}: {why}; asked {_MOST_TRIES} times.")

    def _fail(self, requests: Sequence[Request], why: str) -> None:
        self.failed |= {place: why for request in requests for place in request.places.values()}

    def _worst(self, line: Asked) -> float:
        return worst_case_usd(line.request, self.price, room(self.live.identity))

    def _keep(self, batch: Batch) -> None:
        self.store.note_batch(self.key, batch.name, json.dumps(asdict(batch)))

    def _read(self, error: Any) -> SrdcrError:
        """One of `errors` as one of ours."""
        if isinstance(error, self.model.sdk.APIError):
            return self.model.translated(error)
        fault = redact(f"{type(error).__name__}: {error}")
        return CallFailed(f"{self.live.identity}: {self.model.address} gave no batch ({fault})")

    @staticmethod
    def _ending(failure: SrdcrError) -> SrdcrError:
        """The provider cannot be asked now; what it was asked goes on."""
        return Stopped(f"{str(failure).rstrip('.')}; {_GO_ON}") if isinstance(failure, CallFailed) else failure
