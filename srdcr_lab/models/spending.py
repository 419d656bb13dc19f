"""What a run spends: prices, a budget that holds, a model behind the store, and a meter of what each item takes.

A price comes from the user's own table, or from the package genai-prices; otherwise it is unknown.

`StoredModel` asks another model only for what nobody has asked before, and reserves the worst case of a call before it
is sent.
"""

from __future__ import annotations

import asyncio
import csv
import json
import logging
import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from srdcr_lab.models.base import API, ChatModel, Parameter, held, received, room
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, BudgetExhausted, CallFailed, NotInStore
from srdcr_lab.records.files import from_json
from srdcr_lab.records.types import Capabilities, Completion, ModelIdentity, Place, Request

_TOKENS_A_MESSAGE = 16  # a generous bound on what a chat template adds around one message
_ROUNDING = 1e-9  # US dollars: what sums of many amounts are off at most
# Lists of a model that the store remembers under the same name: their type, and how a sentence names them.
_LEARNED = {"refused": (list[Parameter], "what {} refuses"), "served": (list[str], "who answered as {}")}
_PRICE_COLUMNS = ("model", "input_usd_per_million", "output_usd_per_million")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, and the source of the figure."""

    input_usd: float
    output_usd: float
    source: str

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens * self.input_usd + completion_tokens * self.output_usd

    def cost_of(self, completions: Sequence[Completion]) -> float:
        return sum(self.cost(completion.prompt_tokens, completion.completion_tokens) for completion in completions)

    def in_a_batch(self) -> Price:
        """The price in a provider's batch: half, for prompts and for completions (`batches.Batches`)."""
        return Price(self.input_usd / 2, self.output_usd / 2, f"{self.source}, half in a batch")


FREE = Price(0.0, 0.0, "local model")


def price_of(model: ModelIdentity) -> Price | None:
    """The price of a model's tokens, or None if unknown.

    The environment variable SRDCR_PRICES may name a CSV with the columns ``model`` (as in ``--model``, or without the
    provider), ``input_usd_per_million`` and ``output_usd_per_million``, which takes precedence over genai-prices.
    """
    table = os.environ.get("SRDCR_PRICES")
    own = _price_table(Path(table)) if table else {}
    if price := own.get(model.spec) or own.get(model.name):
        return price
    if model.provider not in API:
        return FREE
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    one_token = Usage(input_tokens=1, output_tokens=1)  # prices that rise with a prompt's length are at their base
    try:
        priced = calc_price(one_token, model_ref=model.name, provider_id=model.provider)
    except LookupError:
        _say_once(f"{no_price(model)}; without it costs are unknown")
        return None
    return Price(float(priced.input_price), float(priced.output_price), f"genai-prices {version('genai-prices')}")


def no_price(model: ModelIdentity) -> str:
    """The beginning of a sentence: what is missing, and what to do."""
    columns, spec = ", ".join(_PRICE_COLUMNS), model.spec
    return f"no price is known for {spec}: put it into a CSV with the columns {columns} and name it in SRDCR_PRICES"


_say_once = cache(logging.getLogger(__name__).warning)


def _price_table(path: Path) -> dict[str, Price]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, rows = (reader := csv.DictReader(file)).fieldnames or (), [*reader]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the price table {path} ({error})") from None
    if absent := [column for column in _PRICE_COLUMNS if column not in header]:
        raise BadInput(f"{path}: the price table lacks the column {absent[0]}; it needs {', '.join(_PRICE_COLUMNS)}")
    prices = {}
    for number, row in enumerate(rows, start=1):
        try:
            prompt, completion = (float(row[column]) / 1e6 for column in _PRICE_COLUMNS[1:])
        except (TypeError, ValueError):
            prompt = completion = math.nan
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise BadInput(f"{path}, row {number}: prices are US dollars per million tokens, 0 or more")
        if row["model"] in prices:
            raise BadInput(f"{path}, row {number}: the model {row['model']!r:.80} has a price above; keep one of them")
        prices[row["model"]] = Price(prompt, completion, path.name)
    return prices


class Budget:
    """US dollars shared by every model of a run; with `limit_usd` None they are only counted."""

    on_spent: Callable[[float], object] | None = None  # called with the new sum after each call that cost something

    def __init__(self, limit_usd: float | None = None) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = 0.0
        self._reserved = 0.0
        self._exhausted = ""  # the first refusal, which later ones repeat
        self._line, self._freed = asyncio.Lock(), asyncio.Event()

    async def reserve(self, amount: float) -> None:
        """Reserve `amount`, waiting in line while calls in flight may still release theirs.

        Raises `BudgetExhausted` if it does not fit even when nothing is in flight; from then on every reservation
        fails, so that the run comes to its end.
        """
        async with self._line:  # first come, first served
            while self._exhausted or amount > self.left_usd():
                if self._exhausted or self._reserved <= _ROUNDING:
                    given = f"{self.limit_usd:.6f}".rstrip("0").rstrip(".")
                    worst = f"the next call's worst case (${amount:.6f}; ${self.spent_usd:.6f} spent)"
                    remedy = "raise --budget-usd and run again to go on from here"
                    self._exhausted = self._exhausted or f"the budget of ${given} does not cover {worst}; {remedy}"
                    raise BudgetExhausted(self._exhausted)
                self._freed.clear()
                await self._freed.wait()
            self._reserved += amount

    def left_usd(self) -> float:
        """The amount that can be reserved at once."""
        if self._exhausted:
            return 0.0
        return math.inf if self.limit_usd is None else self.limit_usd - self.spent_usd - self._reserved + _ROUNDING

    def hold(self, amount: float) -> None:
        """Reserve `amount` for what is sent already, or known to fit."""
        self._reserved += amount

    def settle(self, reserved: float, spent: float) -> None:
        """Release a reservation and book what the call cost."""
        self.spent_usd += spent
        self._reserved -= reserved
        self._freed.set()
        if spent and self.on_spent is not None:
            self.on_spent(self.spent_usd)  # last: it fails where the disk is full, and nobody may wait for ever


def worst_case_usd(request: Request, price: Price, thinking: int = 0) -> float:
    """Upper bound on the cost of one attempt at a request, with this many tokens of thinking per draw."""
    prompt_tokens = sum(len(message.content.encode()) + _TOKENS_A_MESSAGE for message in request.messages)
    # A server that ignores n is asked once a draw, and bills the prompt each time.
    return len(request.draws) * price.cost(prompt_tokens, request.max_tokens + thinking)


@dataclass
class Meter:
    """What one item × method takes. A call is one completion: 32 draws are 32 calls.

    `calls_alone` and the tokens are what the method takes by itself; `calls_paid` and `cost_usd` are what it had to
    send here, after sharing and the store. Costs are NaN if a price is unknown. `decodings` are the ways in which the
    completions were drawn (`Request.decoding`).
    """

    calls_alone: int = 0
    calls_paid: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    decodings: set[str] = field(default_factory=set)


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


def metered() -> AbstractContextManager[Meter]:
    """Count the calls made inside, also in tasks that are started inside."""
    return held(_METER, Meter())


class StoredModel:
    """A `ChatModel` that answers from the store, and asks the inner model for what the store lacks.

    Identical draws in flight are asked once. Each completion of the inner model is committed as it arrives, even if its
    caller has been cancelled: it is paid for. With ``offline`` nothing is asked: a missing completion raises
    `NotInStore`. A `price` of None is unknown, and costs are NaN. What a model without temperature refuses is recorded
    in the store, so that no later run is refused, and a replay asks for the same requests.
    """

    def __init__(
        self, model: ChatModel, store: Store, *,
        price: Price | None = None, budget: Budget | None = None, offline: bool = False,
    ) -> None:  # fmt: skip
        self.identity = model.identity
        self.model, self.store, self.price, self._offline = model, store, price, offline
        self.budget = budget or Budget()
        self.served = 0  # completions handed out, for a progress bar
        self.paid = 0  # completions that came from the inner model
        # Completions that this run paid for in a batch or on a cluster, each with its price: the row that first uses
        # one is charged for it.
        self.bought: dict[Place, Price | None] = {}
        self._in_flight: dict[Place, asyncio.Task[None]] = {}
        self._remembered: dict[str, list[str]] = {}
        for name, (kind, what) in _LEARNED.items():
            known, where = store.recall(model.identity.key, name), f"{store.path}: {what.format(model.identity)}"
            self._remembered[name] = from_json(kind, known, where) if known else []
        leave_out: Callable[[str], None] = getattr(model, "leave_out", lambda _: None)
        for parameter in self._remembered["refused"]:
            leave_out(parameter)
        getattr(model, "has_served", lambda *_: None)(*self._remembered["served"])

    @property
    def capabilities(self) -> Capabilities:
        return self.model.capabilities

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        have = self.store.get(self.identity, request)
        for draw, place in request.places.items() if self.bought else ():
            if draw in have and place in self.bought:
                self._charge([have[draw]], self.bought.pop(place))
        if missing := tuple(draw for draw in request.draws if draw not in have):
            have |= await self._from_model(replace(request, draws=missing))
        answers = tuple(have[draw] for draw in request.draws)
        self.served += len(answers)
        if (meter := _METER.get()) is not None:
            meter.calls_alone += len(answers)
            meter.prompt_tokens += sum(answer.prompt_tokens for answer in answers)
            meter.completion_tokens += sum(answer.completion_tokens for answer in answers)
            meter.decodings.add(request.decoding)
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
        await self.model.aclose()

    async def _from_model(self, request: Request) -> dict[int, Completion]:
        """The request's draws, asked for now, or waited for if they are in flight already."""
        if self._offline:
            raise NotInStore(f"offline, and the store has no such completion of {self.identity}; run without --offline")
        flights = self._flights(request)
        await asyncio.wait(flights)  # and does not cancel them, should we be cancelled
        arrived = self.store.get(self.identity, request)
        if len(arrived) < len(request.draws):
            for flight in flights:  # whoever asked has failed: so do we, without asking again
                flight.result()
            raise CallFailed(f"{self.identity} gave {len(arrived)} of {len(request.draws)} completions")
        return arrived

    def _flights(self, request: Request) -> set[asyncio.Task[None]]:
        places = request.places
        free = tuple(draw for draw, place in places.items() if place not in self._in_flight)
        size = getattr(self.model, "draws_per_request", None) or len(free)
        for start in range(0, len(free), max(size, 1)):
            part = replace(request, draws=free[start : start + size])
            flight = asyncio.create_task(self._ask(part))
            self._in_flight |= dict.fromkeys(part.places.values(), flight)
            flight.add_done_callback(partial(self._ended, part))
        return {self._in_flight[place] for place in places.values()}

    def _ended(self, request: Request, flight: asyncio.Task[None]) -> None:
        for place in request.places.values():
            del self._in_flight[place]
        if not flight.cancelled():
            flight.exception()  # seen, also where nobody waits any more

    async def _ask(self, request: Request) -> None:
        """Let the model answer. The worst case is reserved first; unanswered attempts (time-out, cut connection,
        interrupt) count as spent, and so does the worst case of replies without token counts.
        """
        price, attempts, billed = self.price or FREE, getattr(self.model, "max_attempts", 1), 0.0
        one_attempt = worst_case_usd(request, price, room(self.identity))
        one_draw = one_attempt / len(request.draws)

        def keep(completions: Sequence[Completion]) -> None:
            nonlocal billed
            is_metered = any(each.prompt_tokens or not each.text for each in completions)
            billed += price.cost_of(completions) if is_metered else one_draw * len(completions)
            self.store.put(self.identity, request, [*map(received, completions)])
            self.paid += len(completions)
            self._charge(completions, self.price)

        await self.budget.reserve(reserved := one_attempt * attempts)
        try:
            if counted := getattr(self.model, "complete_counted", None):
                _, unanswered = await counted(request, keep)
            else:
                keep(await self.model.complete(request))
                unanswered = 0
        except BaseException as error:  # also where the provider refused the request, after a time-out, say
            unanswered = getattr(error, "unanswered_attempts", attempts)
            raise
        finally:
            self.budget.settle(reserved, max(billed, min(billed + unanswered * one_attempt, reserved)))
            self.remember_model()

    def _charge(self, completions: Sequence[Completion], price: Price | None) -> None:
        if completions and (meter := _METER.get()) is not None:
            meter.calls_paid += len(completions)
            meter.cost_usd += math.nan if price is None else price.cost_of(completions)

    def remember_model(self) -> None:
        """Record in the store what the model refused, if it takes no temperature, and the models that answered."""
        for name, known in self._remembered.items():
            now = getattr(self.model, name, [])
            if len(now) > len(known) and (name == "served" or "temperature" in now):
                known[:] = now
                self.store.remember(self.identity.key, name, json.dumps(now))
