"""A budget that holds for the whole run: the worst case of a call is reserved before it is sent.

The worst case is every byte of the prompt a token, every draw as long as allowed, and every retry billed. A call waits
while others may still give back what they reserved; when nothing is left to wait for, the run stops and can be resumed.
"""

from __future__ import annotations

import asyncio

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.prices import Price
from srdcr_lab.records import BudgetExhausted, CallFailed, Completion, Request

_TOKENS_A_MESSAGE = 16  # a generous bound on what a chat template adds around one message


class Budget:
    """US dollars shared by every model of a run; `limit_usd` None counts without bounding."""

    def __init__(self, limit_usd: float | None = None) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = 0.0
        self._reserved = 0.0
        self._exhausted = False
        self._changed = asyncio.Condition()

    async def reserve(self, amount: float) -> None:
        """Set aside `amount`, waiting while calls in flight may still release theirs.

        Raises
        ------
        BudgetExhausted
            If it does not fit even when nothing is in flight; from then on every reservation fails, so that the run
            comes to its end.
        """
        if self.limit_usd is None:
            return
        async with self._changed:
            while not self._exhausted and self.spent_usd + self._reserved + amount > self.limit_usd + 1e-12:
                if self._reserved <= 1e-12:
                    self._exhausted = True
                    self._changed.notify_all()
                    break
                await self._changed.wait()
            if self._exhausted:
                raise BudgetExhausted(
                    f"the budget of ${self.limit_usd:g} does not cover the next call's worst case (${amount:.4f}; "
                    f"${self.spent_usd:.4f} spent); raise --budget-usd and run again to go on from here"
                )
            self._reserved += amount

    async def settle(self, reserved: float, spent: float) -> None:
        """Release a reservation and book what the call cost."""
        async with self._changed:
            self.spent_usd += spent
            if self.limit_usd is not None:
                self._reserved -= reserved
            self._changed.notify_all()


class BudgetedModel:
    """A `ChatModel` whose calls are paid from a `Budget`. Attempts that got no answer (time-out, cut connection)
    count as spent."""

    def __init__(self, model: ChatModel, budget: Budget, price: Price) -> None:
        self.identity, self.capabilities = model.identity, model.capabilities
        self._model, self._budget, self._price = model, budget, price

    @property
    def draws_per_request(self) -> int | None:
        return getattr(self._model, "draws_per_request", None)

    def worst_case_usd(self, request: Request) -> float:
        """Upper bound on the cost of one attempt."""
        prompt_tokens = sum(len(message.content.encode()) + _TOKENS_A_MESSAGE for message in request.messages)
        # A server that ignores n is asked once a draw, and bills the prompt each time.
        return len(request.draws) * self._price.cost(prompt_tokens, request.max_tokens)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        one_attempt = self.worst_case_usd(request)
        reserved = one_attempt * getattr(self._model, "max_attempts", 1)
        await self._budget.reserve(reserved)
        spent = reserved  # what is booked if we are interrupted: nobody knows better
        try:
            if hasattr(self._model, "complete_counted"):
                counted: tuple[tuple[Completion, ...], int] = await self._model.complete_counted(request)
                completions, unanswered = counted
            else:
                completions, unanswered = await self._model.complete(request), 0
            spent = unanswered * one_attempt + sum(
                self._price.cost(c.prompt_tokens, c.completion_tokens) for c in completions
            )
        except CallFailed as error:
            spent = getattr(error, "unanswered_attempts", 0) * one_attempt
            raise
        finally:
            await self._budget.settle(reserved, spent)
        return completions

    async def aclose(self) -> None:
        await self._model.aclose()
