"""Opened models behind one store and one budget: what costs money while a study runs, and is let go of after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.budget import Budget
from srdcr_lab.protocols import Cast
from srdcr_lab.study.opening import wrap


class Session:
    """Answerer, defender, critic and judge (often one model), each asked through the store and paid from the budget;
    so are the `players` that designs name."""

    def __init__(
        self,
        models: Sequence[ChatModel],
        players: Mapping[str, ChatModel],
        store: Store,
        budget: Budget,
        *,
        offline: bool = False,
    ) -> None:
        self.store, self.budget = store, budget
        wrapped = {id(model): wrap(model, store, budget, offline=offline) for model in (*models, *players.values())}
        self.models = tuple(wrapped.values())
        self.cast = Cast(*(wrapped[id(model)] for model in models))
        self.players = {spec: wrapped[id(model)] for spec, model in players.items()}

    @property
    def paid(self) -> int:
        """Completions that were asked of a model so far."""
        return sum(model.paid for model in self.models)

    @property
    def served(self) -> int:
        """Completions that were handed out so far, from wherever."""
        return sum(model.served for model in self.models)

    async def landed(self) -> None:
        """Wait for what is in flight though nobody needs it any more: it is paid for."""
        for model in self.models:
            await model.landed()

    async def abandon(self) -> None:
        """Cancel what is in flight."""
        for model in self.models:
            await model.abandon()

    async def aclose(self, *, close_store: bool = True) -> None:
        """Close the models; a model opens again when it is next asked. Then the store, unless it is somebody else's."""
        for model in self.models:
            with suppress(Exception):  # of one model, which must not keep the others open
                await model.aclose()
        if close_store:
            self.store.close()
