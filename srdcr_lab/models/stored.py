"""A model behind its store: asks only for what nobody has asked before, and counts what was asked and what was paid."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.prices import Price
from srdcr_lab.models.store import Store
from srdcr_lab.records import Completion, NotInStore, Request


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

    Identical draws in flight are asked once. Each answer of the inner model is committed before it is handed on. With
    ``offline`` nothing is asked: a missing completion raises `NotInStore`.
    """

    def __init__(self, model: ChatModel, store: Store, *, price: Price | None = None, offline: bool = False) -> None:
        self.identity, self.capabilities = model.identity, model.capabilities
        self._model, self._store, self._price, self._offline = model, store, price, offline
        self.served = 0  # completions handed out, for a progress bar
        self._in_flight: dict[tuple[str, str, int], asyncio.Future[None]] = {}

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        have = self._store.get(self.identity, request)
        paid: list[Completion] = []
        while missing := tuple(draw for draw in request.draws if draw not in have):
            free = tuple(draw for draw in missing if self._flight(request, draw) not in self._in_flight)
            if free:
                paid += await self._ask(replace(request, draws=free))
            else:
                waited_for = {self._in_flight[self._flight(request, draw)] for draw in missing}
                await asyncio.wait(waited_for)
                for flight in waited_for:  # whoever asked has failed: so do we, without asking again
                    flight.result()
            have |= self._store.get(self.identity, replace(request, draws=missing))
        answers = tuple(have[draw] for draw in request.draws)
        self._count(answers, paid)
        return answers

    def _flight(self, request: Request, draw: int) -> tuple[str, str, int]:
        return request.digest, request.stream, draw

    async def _ask(self, request: Request) -> list[Completion]:
        if self._offline:
            raise NotInStore(
                f"offline, and the store has no such completion of {self.identity}; run once without --offline"
            )
        size = getattr(self._model, "draws_per_request", None) or len(request.draws)
        parts = [replace(request, draws=request.draws[i : i + size]) for i in range(0, len(request.draws), size)]
        if len(parts) == 1:
            return list(await self._ask_part(request))
        results = await asyncio.gather(*map(self._ask_part, parts), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [completion for result in results for completion in result]  # type: ignore[union-attr]

    async def _ask_part(self, request: Request) -> tuple[Completion, ...]:
        flights = {self._flight(request, draw): asyncio.get_running_loop().create_future() for draw in request.draws}
        self._in_flight |= flights
        try:
            completions = await self._model.complete(request)
            self._store.put(self.identity, request, completions)
        except Exception as error:
            for flight in flights.values():
                flight.set_exception(error)
                flight.exception()  # seen, also where nobody waits
            raise
        finally:
            for key, flight in flights.items():
                del self._in_flight[key]
                if not flight.done():
                    flight.set_result(None)
        return completions

    def _count(self, answers: tuple[Completion, ...], paid: list[Completion]) -> None:
        self.served += len(answers)
        if (meter := _METER.get()) is None:
            return
        meter.calls_alone += len(answers)
        meter.prompt_tokens += sum(answer.prompt_tokens for answer in answers)
        meter.completion_tokens += sum(answer.completion_tokens for answer in answers)
        meter.cost_alone_usd += self._cost(answers)
        meter.calls_paid += len(paid)
        meter.cost_usd += self._cost(paid)

    def _cost(self, completions: Sequence[Completion]) -> float:
        if self._price is None:
            return float("nan") if completions else 0.0
        return sum(
            self._price.cost(completion.prompt_tokens, completion.completion_tokens) for completion in completions
        )

    async def aclose(self) -> None:
        await self._model.aclose()
