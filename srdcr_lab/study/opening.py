"""Open models for a study: adapter, price, budget, store, in that order from the inside out."""

from __future__ import annotations

from typing import Any

from srdcr_lab import prompts
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models import load as adapters
from srdcr_lab.models.budget import Budget, BudgetedModel
from srdcr_lab.models.prices import Price, price_of
from srdcr_lab.models.stored import StoredModel
from srdcr_lab.records import BadInput, ModelIdentity


def load_model(spec: str = "pocket", **options: Any) -> ChatModel:
    """The model behind a specification; see `srdcr_lab.models.load.load_model`.

    The pocket model is checked first: its files against their manifest, and its training prompts against the prompts
    of this version.
    """
    if spec == "pocket":
        from srdcr_lab.models.pocket import check_manifest, pocket_folder

        check_manifest(pocket_folder(), prompts.hashes())
    return adapters.load_model(spec, **options)


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
