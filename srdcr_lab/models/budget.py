"""What a token costs: the user's own table first, then the package genai-prices, else unknown."""

from __future__ import annotations

import asyncio
import csv
import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from srdcr_lab.models.base import Arrived, ChatModel, Piecemeal, draws_per_request, max_attempts
from srdcr_lab.records import (
    BadInput,
    BudgetExhausted,
    CallFailed,
    Capabilities,
    Completion,
    ModelIdentity,
    Request,
    Stopped,
)

PRICES_VARIABLE = "SRDCR_PRICES"
_COLUMNS = ("model", "input_usd_per_million", "output_usd_per_million")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token, and where the figure comes from."""

    input_usd: float
    output_usd: float
    source: str

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens * self.input_usd + completion_tokens * self.output_usd


FREE = Price(0.0, 0.0, "local model")


def price_of(model: ModelIdentity, table: str | Path | None = None) -> Price | None:
    """The price of a model's tokens, or None where nobody knows it.

    Parameters
    ----------
    table : CSV with the columns ``model`` (as in ``--model``), ``input_usd_per_million`` and
        ``output_usd_per_million``; default: the file that the environment variable SRDCR_PRICES names. It goes before
        the package's prices.
    """
    table = table or os.environ.get(PRICES_VARIABLE)
    if table and (own := _read(Path(table)).get(str(model))):
        return own
    if model.provider in ("pocket", "hf"):
        return FREE
    return _package_price(model)


def _package_price(model: ModelIdentity) -> Price | None:
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    def cost(usage: Usage) -> float:
        return float(calc_price(usage, model_ref=model.name, provider_id=model.provider).total_price)

    try:
        # Priced at one token, where prices that rise with the length of the prompt are at their base.
        prompt, completion = cost(Usage(input_tokens=1, output_tokens=0)), cost(Usage(input_tokens=0, output_tokens=1))
    except LookupError:
        return None
    return Price(prompt, completion, f"genai-prices {version('genai-prices')}")


def _read(path: Path) -> dict[str, Price]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the price table {path} ({error})") from None
    if rows and (absent := [column for column in _COLUMNS if column not in rows[0]]):
        raise BadInput(f"{path}: the price table lacks the column {absent[0]}; it needs {', '.join(_COLUMNS)}")
    prices = {}
    for number, row in enumerate(rows, start=1):
        try:
            values = [float(row[column]) / 1e6 for column in _COLUMNS[1:]]
        except (TypeError, ValueError):
            values = [math.nan]
        if not all(0 <= value < math.inf for value in values):
            raise BadInput(f"{path}, row {number}: prices are US dollars per million tokens, 0 or more")
        prices[row["model"]] = Price(values[0], values[1], path.name)
    return prices


# -- a budget that holds for the whole run: the worst case of a call is reserved before it is sent

_TOKENS_A_MESSAGE = 16  # a generous bound on what a chat template adds around one message
_ROUNDING = 1e-12


class Budget:
    """US dollars shared by every model of a run; `limit_usd` None counts without bounding.

    `on_spent` is told the new sum after each call that cost something.
    """

    on_spent: Callable[[float], object] | None = None

    def __init__(self, limit_usd: float | None = None) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = 0.0
        self._reserved = 0.0
        self._exhausted: str | None = None  # the first refusal, which later ones repeat
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def reserve(self, amount: float) -> None:
        """Set aside `amount`, waiting in line while calls in flight may still release theirs.

        Raises
        ------
        BudgetExhausted
            If it does not fit even when nothing is in flight; from then on every reservation fails, so that the run
            comes to its end.
        """
        if self.limit_usd is None:
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((amount, turn))
        self._advance()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # our turn came at the same moment
                self.settle(amount, 0.0)
            raise

    def settle(self, reserved: float, spent: float) -> None:
        """Release a reservation and book what the call cost."""
        self.spent_usd += spent
        if spent and self.on_spent is not None:
            self.on_spent(self.spent_usd)
        if self.limit_usd is not None:
            self._reserved -= reserved
            self._advance()

    def _advance(self) -> None:
        """Serve the line from its head, as far as the money goes."""
        while self._waiting:
            amount, turn = self._waiting[0]
            if not turn.done():  # a cancelled one has left the line
                if self._fits(amount):
                    self._reserved += amount
                    turn.set_result(None)
                elif self._reserved > _ROUNDING and not self._exhausted:
                    return
                else:
                    self._exhausted = self._exhausted or self._refusal(amount)
                    turn.set_exception(BudgetExhausted(self._exhausted))
            self._waiting.popleft()

    def _fits(self, amount: float) -> bool:
        limit = self.limit_usd
        return not self._exhausted and (limit is None or self.spent_usd + self._reserved + amount <= limit + _ROUNDING)

    def _refusal(self, amount: float) -> str:
        return (
            f"the budget of ${self.limit_usd:g} does not cover the next call's worst case (${amount:.4f}; "
            f"${self.spent_usd:.4f} spent); raise --budget-usd and run again to go on from here"
        )


class BudgetedModel:
    """A `ChatModel` whose calls are paid from a `Budget`. Attempts that got no answer (time-out, cut connection) count
    as spent."""

    def __init__(self, model: ChatModel, budget: Budget, price: Price) -> None:
        self.identity = model.identity
        self._model, self._budget, self._price = model, budget, price

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities

    @property
    def draws_per_request(self) -> int | None:
        return draws_per_request(self._model)

    def worst_case_usd(self, request: Request) -> float:
        """Upper bound on the cost of one attempt."""
        prompt_tokens = sum(len(message.content.encode()) + _TOKENS_A_MESSAGE for message in request.messages)
        # A server that ignores n is asked once a draw, and bills the prompt each time.
        return len(request.draws) * self._price.cost(prompt_tokens, request.max_tokens)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        return (await self.complete_counted(request))[0]

    async def complete_counted(
        self, request: Request, arrived: Arrived | None = None
    ) -> tuple[tuple[Completion, ...], int]:
        """The completions, and how many attempts were sent in vain; `arrived` is told of completions as they come."""
        one_attempt = self.worst_case_usd(request)
        reserved = one_attempt * max_attempts(self._model)
        billed = 0.0

        def on_arrival(completions: Sequence[Completion]) -> None:
            nonlocal billed
            billed += sum(self._price.cost(c.prompt_tokens, c.completion_tokens) for c in completions)
            if arrived:
                arrived(completions)

        def spent_with(unanswered: int) -> float:
            return max(billed, min(billed + unanswered * one_attempt, reserved))

        await self._budget.reserve(reserved)
        spent = reserved  # what is booked if we are interrupted: nobody knows better
        try:
            if isinstance(self._model, Piecemeal):
                completions, unanswered = await self._model.complete_counted(request, on_arrival)
            else:
                completions, unanswered = await self._model.complete(request), 0
                on_arrival(completions)
            spent = spent_with(unanswered)
        except CallFailed as error:
            spent = spent_with(error.unanswered_attempts)
            raise
        except (BadInput, Stopped):  # the provider refused the request
            spent = billed
            raise
        finally:
            self._budget.settle(reserved, spent)
        return completions, unanswered

    async def aclose(self) -> None:
        await self._model.aclose()
