"""A model behind its store: asks only for what nobody has asked before, and counts what was asked and what was paid."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial

from srdcr_lab.models.base import ChatModel, Piecemeal, draws_per_request
from srdcr_lab.models.budget import Price
from srdcr_lab.models.store import Store
from srdcr_lab.records import CallFailed, Capabilities, Completion, NotInStore, Request


@dataclass
class Meter:
    """What one item × method took. A call is one completion: 32 draws are 32 calls.

    `calls_alone`, `cost_alone_usd` and the tokens are what the method takes by itself; `calls_paid` and `cost_usd`
    are what it had to send here, after sharing and the store. Costs are NaN where a price is unknown.
    """

    calls_alone: int = 0
    calls_paid: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_alone_usd: float = 0.0
    cost_usd: float = 0.0


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the calls made inside, also in tasks that are started inside."""
    meter = Meter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


class StoredModel:
    """A `ChatModel` that answers from the store, and from the inner model what the store lacks.

    Identical draws in flight are asked once. Each completion of the inner model is committed as it arrives, also where
    whoever asked for it has been cancelled meanwhile: it is paid for. With ``offline`` nothing is asked: a missing
    completion raises `NotInStore`.
    """

    def __init__(self, model: ChatModel, store: Store, *, price: Price | None = None, offline: bool = False) -> None:
        self.identity = model.identity
        self._model, self._store, self._price, self._offline = model, store, price, offline
        self.served = 0  # completions handed out, for a progress bar
        self.paid = 0  # completions that came from the inner model
        self._in_flight: dict[tuple[str, str, int], asyncio.Task[None]] = {}

    @property
    def capabilities(self) -> Capabilities:
        """The inner model's; it may learn in mid-run that a server gives no log-probabilities."""
        return self._model.capabilities

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        have = self._store.get(self.identity, request)
        if missing := tuple(draw for draw in request.draws if draw not in have):
            have |= await self._from_model(replace(request, draws=missing))
        answers = tuple(have[draw] for draw in request.draws)
        self._count(answers)
        return answers

    async def landed(self) -> None:
        """Wait until everything in flight has arrived or failed."""
        while flights := set(self._in_flight.values()):
            await asyncio.wait(flights)

    async def abandon(self) -> None:
        """Cancel what is in flight."""
        flights = set(self._in_flight.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    async def aclose(self) -> None:
        await self.abandon()
        await self._model.aclose()

    async def _from_model(self, request: Request) -> dict[int, Completion]:
        """The request's draws, asked for now or waited for where somebody asks for them already."""
        if self._offline:
            raise NotInStore(
                f"offline, and the store has no such completion of {self.identity}; run once without --offline"
            )
        flights = self._flights(request)
        await asyncio.wait(flights)  # and does not cancel them, should we be cancelled
        found = self._store.get(self.identity, request)
        if len(found) < len(request.draws):
            for flight in flights:  # whoever asked has failed: so do we, without asking again
                flight.result()
            raise CallFailed(f"{self.identity} gave {len(found)} of {len(request.draws)} completions")
        return found

    def _flights(self, request: Request) -> set[asyncio.Task[None]]:
        free = tuple(draw for draw in request.draws if (request.digest, request.stream, draw) not in self._in_flight)
        size = draws_per_request(self._model) or len(free)
        for start in range(0, len(free), max(size, 1)):
            part = replace(request, draws=free[start : start + size])
            keys = [(part.digest, part.stream, draw) for draw in part.draws]
            flight = asyncio.create_task(self._ask(part))
            self._in_flight |= dict.fromkeys(keys, flight)
            flight.add_done_callback(partial(self._ended, keys))
        return {self._in_flight[request.digest, request.stream, draw] for draw in request.draws}

    def _ended(self, keys: Sequence[tuple[str, str, int]], flight: asyncio.Task[None]) -> None:
        for key in keys:
            del self._in_flight[key]
        if not flight.cancelled():
            flight.exception()  # seen, also where nobody waits any more

    async def _ask(self, request: Request) -> None:
        def keep(completions: Sequence[Completion]) -> None:
            self._store.put(self.identity, request, completions)
            self._pay(completions)

        if isinstance(self._model, Piecemeal):  # hands on each reply of several as it comes
            await self._model.complete_counted(request, keep)
        else:
            keep(await self._model.complete(request))

    def _pay(self, completions: Sequence[Completion]) -> None:
        self.paid += len(completions)
        if (meter := _METER.get()) is not None:
            meter.calls_paid += len(completions)
            meter.cost_usd += self._cost(completions)

    def _count(self, answers: Sequence[Completion]) -> None:
        self.served += len(answers)
        if (meter := _METER.get()) is not None:
            meter.calls_alone += len(answers)
            meter.prompt_tokens += sum(answer.prompt_tokens for answer in answers)
            meter.completion_tokens += sum(answer.completion_tokens for answer in answers)
            meter.cost_alone_usd += self._cost(answers)

    def _cost(self, completions: Sequence[Completion]) -> float:
        if self._price is None:
            return float("nan") if completions else 0.0
        return sum(
            self._price.cost(completion.prompt_tokens, completion.completion_tokens) for completion in completions
        )
