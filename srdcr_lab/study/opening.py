"""Open models for a study: adapter, price, budget, store, in that order from the inside out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srdcr_lab import prompts
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models import load as adapters
from srdcr_lab.models.budget import Budget, BudgetedModel
from srdcr_lab.models.prices import Price, price_of
from srdcr_lab.models.stored import StoredModel
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, NotInStore, Request

_API = ("openai", "anthropic")


def load_model(spec: str = "pocket", *, offline: bool = False, **options: Any) -> ChatModel:
    """The model behind a specification; see `srdcr_lab.models.load.load_model`.

    The pocket model is checked first: its files against their manifest, and its training prompts against the prompts
    of this version. With `offline`, an API model is only looked up in the store, and needs no key.
    """
    if spec == "pocket":
        from srdcr_lab.models.pocket import check_manifest, pocket_folder

        check_manifest(pocket_folder(), prompts.hashes())
    provider, _, rest = spec.partition(":")
    name, _, label = rest.partition("#")
    if offline and provider in _API and name:
        one_by_one = provider == "anthropic"
        return AbsentModel(
            ModelIdentity(provider, name, label), Capabilities(logprobs=not one_by_one), 1 if one_by_one else None
        )
    return adapters.load_model(spec, **options)


def open_all(
    specs: Sequence[str | ChatModel | None],
    *,
    opened: Mapping[str, ChatModel] | None = None,
    offline: bool = False,
    **api_options: Any,
) -> tuple[ChatModel, ...]:
    """Answerer, defender, critic, judge, and who else is named; one specification is opened once, unless it is among
    `opened`, and None is the answerer."""
    opened = dict(opened or {})
    chosen: list[ChatModel] = []
    for spec in specs:
        if spec is None:
            chosen.append(chosen[0])
        elif isinstance(spec, str):
            if spec not in opened:
                options = api_options if spec.partition(":")[0] in _API else {}
                opened[spec] = load_model(spec, offline=offline, **options)
            chosen.append(opened[spec])
        else:
            chosen.append(spec)
    return tuple(chosen)


@dataclass
class AbsentModel:
    """An API model that nobody asks: its completions come from a store."""

    identity: ModelIdentity
    capabilities: Capabilities
    draws_per_request: int | None = None

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        raise NotInStore(f"offline, {self.identity} is not asked")

    async def aclose(self) -> None:
        """Nothing to let go of."""


def price_for(identity: ModelIdentity, budget_usd: float | None) -> Price | None:
    """The price of a model's tokens; None where unknown, which a budget cannot work with."""
    price = price_of(identity)
    if price is None and budget_usd is not None:
        raise BadInput(
            f"no price is known for {identity}, so a budget cannot hold; put it into a CSV with the columns model, "
            "input_usd_per_million, output_usd_per_million and name it in SRDCR_PRICES, or leave --budget-usd out"
        )
    return price


def wrap(model: ChatModel, store: Store, budget: Budget, *, offline: bool = False) -> StoredModel:
    """A model behind budget and store."""
    price = price_for(model.identity, budget.limit_usd)
    paid = BudgetedModel(model, budget, price) if price is not None else model
    return StoredModel(paid, store, price=price, offline=offline)
