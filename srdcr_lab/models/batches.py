"""A wave of requests at half price, through the batch APIs of OpenAI and Anthropic (`batch_apis.py`).

A batch goes through these steps, each of them in the store before the next: planned (its lines are noted) → its file is
uploaded (OpenAI) → the provider is told to make it → its id is here → its results come in, line by line → over. A
process that was killed finds its batches where they are. One step cannot be seen from here: a batch may have been made
whose id never arrived. So to make one is never simply tried again: it is looked for among the account's batches. At
OpenAI it is the one with our file. Anthropic tells nothing of ours before the results: there it is one of as many
requests, and the custom ids of its results show whether it is ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import asdict, replace
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

from srdcr_lab.models.api import ApiChat
from srdcr_lab.models.base import received
from srdcr_lab.models.batch_apis import APIS, DISCOUNT, MOST_BYTES, Batch, Look
from srdcr_lab.models.http import MOST_BYTES as LONGEST_LINE
from srdcr_lab.models.http import ReplyError, redact, tallied
from srdcr_lab.models.kept import Asked
from srdcr_lab.models.load import FREE, Price
from srdcr_lab.models.reasoning import room
from srdcr_lab.models.spending import Budget, StoredModel, worst_case_usd
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, CallFailed, Message, Request, SrdcrError, Stopped
from srdcr_lab.records.files import from_plain, parse_json

PAUSE_S = 60.0  # between two looks at the batches under way
_GRACE_S = 300.0  # for which a batch that the provider was told to make, and does not list, may still appear
_MOST_TRIES = 3  # of a line without an answer
_MOST_WAITS = 1440  # for room in the provider's queue; of PAUSE_S each, a day
_TOO_FEW = 0.1  # of what is missing: for less than this share, a budget makes no further batch
_AGAIN = (0, 408, 409, 429)  # statuses, beside those from 500 on, after which the same may be asked again
_QUEUE = re.compile(r"token_limit_exceeded|enqueued", re.IGNORECASE)
_QUEUE_HOLDS = re.compile(r"limit: ([\d,]+)", re.IGNORECASE)  # tokens, in OpenAI's words
_BYTES_A_TOKEN = 3  # fewer than texts have
_TOO_LARGE = re.compile(
    r"too[ _](?:large|many|big|long)|exceed\w* .*(?:limit|maximum|size)|maximum .*size", re.IGNORECASE
)
_ODD = (ValueError, LookupError, TypeError, AttributeError)  # what an answer that is none does to its reader
_MOST_CUTS = 10  # of downloads of results, in a row
_EVERYTHING = Request((Message("user", ""),), 1, 0.5, (".",), logprobs=True, stream="any", draws=(0, 1))
GO_ON = "the batches under way go on at the provider; run the same again to collect them"


def at_batch_price(price: Price) -> Price:
    """What tokens cost in a batch, of the price that they have live."""
    source = f"{price.source}, half in a batch"
    return replace(price, input_usd=price.input_usd * DISCOUNT, output_usd=price.output_usd * DISCOUNT, source=source)


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

    `wave` are requests with the draws that are missing. `price` is the live one; batches are booked at half of it
    (`at_batch_price`). Batches of this model that the store says are under way are waited for too, whatever they hold.
    Until the model has replied to this process, one request of each form goes live: what it refuses is learned in
    seconds and not in a day. One process at a time may do this with one store and model.

    Raises `BudgetExhausted` where some did not fit, after what fitted has come in; `Stopped` where the provider cannot
    be reached; `BadInput` where it has no batches, or does not know one that is under way.
    """
    with _alone(store, model.identity.key):
        return await _Wave(model, store, budget, price or FREE, tell, pause_s).all_of(wave)


def forget(store: Store, remote: str) -> int:
    """Give up a batch by its provider's id: what it was asked may be asked anew. Returns how many lines that are."""
    for model in {fact.model for fact in store.facts()}:
        for name, value in store.batches(model).items():
            if remote and json.loads(value)["remote"] == remote:
                with store.transaction():
                    store.close_asked(lines := store.open_in(name), answered=False)
                    store.note_batch(model, name, None)
                return len(lines)
    raise BadInput(f"no batch {remote!r:.60} is under way in the store {store.path}")


@contextmanager
def _alone(store: Store, key: str) -> Iterator[None]:
    """Two processes would send the same twice. The lock ends with the process that holds it."""
    if store.path == ":memory:":
        yield
        return
    lock = Path(f"{store.path}-batches-{hashlib.sha256(key.encode()).hexdigest()[:8]}")
    with closing(sqlite3.connect(lock, timeout=0, isolation_level=None)) as db:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            raise Stopped(
                f"another process waits for batches of the store {store.path}; run this when it ends"
            ) from None
        yield
        lock.unlink(missing_ok=True)


class _Wave:
    """What one call of `ask_batch` knows: its batches under way, and what it learned of each line."""

    def __init__(
        self,
        model: ApiChat,
        store: Store,
        budget: Budget,
        price: Price,
        tell: Callable[[str], None],
        pause_s: float,
    ) -> None:
        self.model, self.store, self.budget, self.tell, self.pause_s = model, store, budget, tell, pause_s
        self.key, self.price = model.identity.key, at_batch_price(price)
        self.live = StoredModel(model, store, price=price, budget=budget)
        self.api = APIS[model.provider](model)
        self.most_lines = self.api.most_lines  # of one batch; fewer where the provider takes fewer
        self.tries: Counter[str] = Counter()
        self.failed: list[tuple[Request, str]] = []
        self.given_up: set[tuple[str, str, int]] = set()  # digest, stream, draw
        self.stop: Stopped | None = None
        self.reserved = 0.0
        self.silences = self.waits = self.cuts = 0
        self.is_full = False  # the provider's queue
        where = f"{store.path}: a batch of {model.identity}"
        known = [from_plain(Batch, json.loads(value), where) for value in store.batches(self.key).values()]
        self.batches = {batch.name: batch for batch in known}

    async def all_of(self, wave: Sequence[Request]) -> list[tuple[Request, str]]:
        try:
            for batch in [*self.batches.values()]:
                if batch.told_at:
                    self._reserve(self.store.open_in(batch.name))
                else:  # the provider never heard of it
                    self._over(batch, [])
            while True:
                missing = self._missing(wave)
                if missing and not self.model.has_replied:
                    await self._go_first(missing)
                    continue
                if missing:
                    await self._send(missing)
                if not (missing or self.batches):
                    return self.failed
                await self._collect()
        finally:
            self.budget.settle(self.reserved, 0.0)

    def _missing(self, wave: Sequence[Request]) -> list[Asked]:
        """The lines that are still to be asked."""
        elsewhere = self.store.draws_in_batches(self.key) | self.given_up
        takes_temperature = self.model.capabilities.temperature
        lines = []
        for request in wave:
            have = self.store.get(self.model.identity, request)
            address = request.digest, request.stream
            free = [draw for draw in request.draws if draw not in have and (*address, draw) not in elsewhere]
            elsewhere |= {(*address, draw) for draw in free}
            size = self.model.draws_per_request
            parts = [replace(request, draws=tuple(free[at : at + size])) for at in range(0, len(free), size)]
            asked = [Asked(self.key, part) for part in parts]
            if takes_temperature or request.temperature is None:
                lines += asked
                continue
            for line in asked:
                self._give_up(line, f"{self.model.identity} refuses temperature.")
        return lines

    async def _go_first(self, missing: Sequence[Asked]) -> None:
        """Ask live, one request of each form."""
        forms: dict[frozenset[str], Asked] = {}
        for line in missing:
            forms.setdefault(frozenset(self.model.worded(line.request, line.request.draws)), line)
        for line in forms.values():
            try:
                await self.live.complete(line.request)
            except CallFailed as failure:
                self._give_up(line, str(failure))
                self.silences += 1
                if not self.model.has_replied and self.silences >= _MOST_TRIES:
                    raise Stopped(f"{failure}; no batch was sent") from None

    # Sending ---------------------------------------------------------------------------------------------------------

    async def _send(self, missing: Sequence[Asked]) -> None:
        """Make batches of what the budget covers."""
        sums = accumulate(map(self._worst, missing))
        fitting = sum(1 for _ in takewhile(self.budget.left_usd().__ge__, sums))
        if fitting < max(1, _TOO_FEW * len(missing)):
            if not self.batches:
                most = sum(map(self._worst, missing))
                await self.budget.reserve(most)  # raises, if others do not free enough
                self.budget.settle(most, 0.0)
            return
        if fitting < len(missing):
            self.tell(f"{self.model.identity}: the budget covers {fitting} of {len(missing)} requests for now.")
        lines: dict[str, dict[str, Any]] = {}
        asked: list[Asked] = []
        size = 0
        for line in missing[:fitting]:
            body = self.model.worded(line.request, line.request.draws)
            length = len(json.dumps(body)) + 200  # of what is around it
            if lines and (size + length > MOST_BYTES or len(lines) >= self.most_lines):
                await self._make(asked, lines)
                lines, asked, size = {}, [], 0
                if self.is_full:
                    return
            lines[line.custom_id] = body
            asked.append(line)
            size += length
        await self._make(asked, lines)

    async def _make(self, asked: Sequence[Asked], lines: dict[str, dict[str, Any]]) -> None:
        batch = Batch(f"srdcr-{uuid4().hex}", self._words(), len(lines))
        asked = [replace(line, batch=batch.name) for line in asked]
        with self.store.transaction():
            self.store.note_asked(asked)
            self._keep(batch)
        self.batches[batch.name] = batch
        self._reserve(asked)
        try:
            with tallied():
                batch.file, batch.newest = await self.api.upload(batch.name, lines), await self.api.newest()
            self._keep(batch)
            batch.told_at = time.time()
            self._keep(batch)
            batch.remote = await self.api.make(batch, lines)  # once: not tallied, so that no outage is waited out
        except self.model.sdk.APIStatusError as error:
            if error.status_code < 500 and error.status_code not in (408, 409):
                self._not_taken(batch, asked, "", error)
                return
            if not batch.told_at:
                raise self._out_of_reach(error) from None
        except (self.model.sdk.APIConnectionError, ValueError, LookupError) as error:
            if not batch.told_at:
                raise self._out_of_reach(error) from None
        if batch.remote:
            self._keep(batch)
            self.tell(f"{self.model.identity}: {len(lines)} requests are in the batch {batch.remote}.")

    def _not_taken(self, batch: Batch, asked: Sequence[Asked], fault: str, error: Any = None) -> None:
        """The provider does not take a batch as a whole: there is no room in its queue, or it is too large, or else."""
        self._over(batch, asked)
        fault = fault or str(self.model.translated(error)).rstrip(".")
        status, each = getattr(error, "status_code", 0), f"{len(asked)} requests ({fault})"
        if status in (404, 405):
            where = f"{self.model.address} has no batches ({status})"
            raise BadInput(f"{self.model.identity}: {where}; run without --batch, or use srdcr requests")
        if status == 429 or _QUEUE.search(fault):
            self.waits, self.is_full = self.waits + 1, True
            room_for = _QUEUE_HOLDS.search(fault)
            size = sum(len(line.request.canonical) for line in asked) / _BYTES_A_TOKEN
            if size > int(room_for[1].replace(",", "")) if room_for else not self.batches:
                self.most_lines = max(1, len(asked) // 2)
            if self.waits > _MOST_WAITS:
                raise Stopped(f"{self.model.identity}: the provider's queue had no room for {each}; {GO_ON}")
            self.tell(f"{self.model.identity}: the provider's queue has no room for {each}; they wait.")
        elif len(asked) > 1 and (status == 413 or _TOO_LARGE.search(fault)):
            self.most_lines = max(1, len(asked) // 2)
            self.tell(f"{self.model.identity}: too large a batch, {each}; it is split.")
        elif error is None or status in (400, 413, 422):
            for line in asked:
                self._again(line, f"the provider refused its batch ({fault})")
        else:
            raise self._out_of_reach(error)

    # Waiting ---------------------------------------------------------------------------------------------------------

    async def _collect(self) -> None:
        """Wait until every batch is over; what comes in is kept."""
        shown: dict[str, str] = {}
        while self.batches:
            for batch in [*self.batches.values()]:
                if not (batch.remote or await self._find(batch)):
                    self._unanswered(batch, "the provider did not make its batch")
                    continue
                with self._reaching(batch):
                    look = await self.api.look(batch.remote)
                if shown.get(batch.name) != look.progress:
                    self.tell(f"{self.model.identity}: the batch {batch.remote} is {look.progress}.")
                    shown[batch.name] = look.progress
                if look.is_over:
                    await self._take(batch, look)
            if self.batches:
                await asyncio.sleep(self.pause_s)
        if self.is_full:
            self.is_full = False
            await asyncio.sleep(self.pause_s)
        if self.stop:
            raise self.stop

    async def _find(self, batch: Batch) -> bool:
        """Look for a batch that was made, perhaps, and whose id never arrived; wait as long as it may still appear."""
        while True:
            with self._reaching(batch):
                async for remote in self.api.made_since(batch):
                    batch.remote, batch.is_guess = remote, not self.api.knows_ours
                    self._keep(batch)
                    return True
            left = batch.told_at + _GRACE_S - time.time()
            if left <= 0:
                return False
            await asyncio.sleep(min(left, self.pause_s or 1.0))

    async def _take(self, batch: Batch, look: Look) -> None:
        """Keep what the results of a batch hold; its other lines are asked again."""
        asked = self.store.open_in(batch.name)
        if look.fault and not look.places:
            self._not_taken(batch, asked, look.fault)
            return
        lines, is_ours = {line.custom_id: line for line in asked}, not (batch.is_guess and look.places)
        try:
            for place in look.places:
                async with aclosing(self._lines(place)) as results:
                    async for result in results:
                        try:
                            custom_id, status, reply = self.api.outcome(parse_json(result))
                            is_ours = is_ours or self.store.asked(custom_id) is not None
                        except _ODD:
                            continue  # a line that nobody understands costs its own request, which is asked again
                        if line := lines.pop(custom_id, None):
                            self._took(line, status, reply, batch.words)
        except (self.model.sdk.APIConnectionError, httpx2.TransportError) as error:
            self.cuts += 1  # the next look waits for the server
            if self.cuts > _MOST_CUTS:
                raise self._out_of_reach(error) from None
            return
        except self.model.sdk.APIStatusError as error:
            if error.status_code not in (404, 410):  # its results were deleted
                raise self._out_of_reach(error) from None
        self.cuts = 0
        if is_ours:
            self._unanswered(batch, f"its batch {batch.remote} is over ({look.progress})")
        else:
            batch.not_ours.append(batch.remote)
            batch.remote = ""
            self._keep(batch)

    async def _lines(self, place: str) -> AsyncGenerator[bytes]:
        """The lines of a file of results; one that is longer than any reply is cut, and so no JSON."""
        line = bytearray()
        async with self.api.results(place) as response:
            async for part in response.iter_bytes():
                first, *others = part.split(b"\n")
                line += first
                for other in others:
                    yield bytes(line)
                    line = bytearray(other)
                del line[LONGEST_LINE:]
        yield bytes(line)

    def _took(self, line: Asked, status: int, reply: Any, words: str) -> None:
        """What one line brought. Its completions, its end and what it cost are committed together."""
        request, cost, completions = line.request, 0.0, None
        with self.store.transaction():
            try:
                if status in _AGAIN or status >= 500:
                    raise ReplyError(f"{status or 'no answer'}: {redact(str(reply))[:200]}")
                body = self.model.worded(request, request.draws)
                is_learned = status != 200 and words != self._words()  # from another line, what this one said too much
                if not is_learned and (completions := self.model.understood(status, reply, request, body)):
                    cost = self.price.cost_of(completions)
                    self.store.put(self.model.identity, request, [*map(received, completions)])
                    if len(completions) < len(request.draws):
                        self.model.draws_per_request = min(self.model.draws_per_request, len(completions))
            except Stopped as stop:
                self.stop = stop
            except SrdcrError as failure:
                self._give_up(line, str(failure))
            except Exception as fault:  # whatever one reply does to its reader, it costs its own row alone
                cost = self._worst(line) if status == 200 else 0.0
                self._again(line, f"{self.model.identity}: {fault}")
            self._close([line], cost, answered=bool(completions))

    # Keeping the books -----------------------------------------------------------------------------------------------

    def _again(self, line: Asked, why: str) -> None:
        self.tries[line.custom_id] += 1
        if self.tries[line.custom_id] >= _MOST_TRIES:
            self._give_up(line, f"{why}; asked {_MOST_TRIES} times.")

    def _give_up(self, line: Asked, sentence: str) -> None:
        self.failed.append((line.request, sentence))
        self.given_up |= {(line.request.digest, line.request.stream, draw) for draw in line.request.draws}

    def _unanswered(self, batch: Batch, why: str) -> None:
        asked = self.store.open_in(batch.name)
        for line in asked:
            self._again(line, f"{self.model.identity}: {why}")
        self._over(batch, asked)

    def _over(self, batch: Batch, asked: Sequence[Asked]) -> None:
        """Nothing more comes from this batch; what it was asked and did not answer may be asked anew."""
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

    def _words(self) -> str:
        """How requests are said now; what is refused changes it."""
        return json.dumps([self.model.refused, self.model.worded(_EVERYTHING, _EVERYTHING.draws)])

    @contextmanager
    def _reaching(self, batch: Batch) -> Iterator[None]:
        """A question about a batch, which may be asked again and waits for a server that is away."""
        try:
            with tallied():
                yield
        except (self.model.sdk.APIStatusError, self.model.sdk.APIConnectionError, *_ODD) as error:
            if getattr(error, "status_code", 0) in (403, 404) and batch.remote:
                raise BadInput(
                    f"{self.model.identity}: {self.model.address} does not know the batch {batch.remote} or keeps it "
                    f"from this key ({error.status_code}); use the key of the account that sent it, or give it up and "
                    f"ask anew: srdcr store forget {self.store.path} {batch.remote}"
                ) from None
            raise self._out_of_reach(error) from None

    def _out_of_reach(self, error: Any) -> SrdcrError:
        """The provider cannot be asked now; what it was asked goes on."""
        if not isinstance(error, self.model.sdk.APIError):
            return Stopped(
                f"{self.model.identity}: {self.model.address} gave no batch ({redact(repr(error))}); {GO_ON}"
            )
        failure = self.model.translated(error)
        return Stopped(f"{str(failure).rstrip('.')}; {GO_ON}") if isinstance(failure, CallFailed) else failure
