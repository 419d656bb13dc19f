"""Open models for a study: adapter, price, budget, store, in that order from the inside out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models import load as adapters
from srdcr_lab.models.budget import Budget, BudgetedModel, Price, price_of
from srdcr_lab.models.stored import StoredModel
from srdcr_lab.protocols import Method
from srdcr_lab.records import (
    BadInput,
    Capabilities,
    Completion,
    Missing,
    ModelIdentity,
    Needs,
    NotInStore,
    Request,
    Verdict,
)

if TYPE_CHECKING:
    import pandas as pd


_API = ("openai", "anthropic")


def load_model(spec: str = "pocket", *, offline: bool = False, **options: Any) -> ChatModel:
    """The model behind a specification; see `srdcr_lab.models.load.load_model`.

    The pocket model is checked first: its files against their manifest, and its training prompts against the prompts
    of this version. With `offline`, an API model is only looked up in the store, and needs no key.
    """
    if spec == "pocket":
        from srdcr_lab.models.local.checkpoint import check_manifest, pocket_folder

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


# -- which methods these items and this model can do, and what a finished run should say of one that could not


def fitting(
    methods: Sequence[Method], items: ItemSet, answerer: ChatModel, *, every: bool
) -> tuple[tuple[Method, ...], tuple[str, ...]]:
    """The methods that can be run, and sentences on what was left out.

    With `every` (``--methods all``) these are the methods made for such items: beside a passage or documents, those
    that look at the question alone are not compared unless they are named.

    Raises
    ------
    BadInput
        If a method that was named cannot be run, or none can.
    """
    if every:
        shown = {need for need in Needs if any(item.has(need) for item in items)}
        passed_by = {Needs.QUESTION} if shown & {Needs.PASSAGE, Needs.DOCUMENTS} else set()
        methods = [method for method in methods if method.needs in shown - passed_by]
    unfit = {method.name: reason for method in methods if (reason := _unfit(method, items, answerer))}
    if unfit and not (every and len(unfit) < len(methods)):
        raise BadInput(next(iter(unfit.values())))
    fit = tuple(method for method in methods if method.name not in unfit)
    return fit, (*unfit.values(), *_without_sources(fit, items))


def _without_sources(methods: Sequence[Method], items: ItemSet) -> list[str]:
    """A sentence on methods that weigh sources where no document names its own."""
    named = any(document.source for item in items for document in item.documents)
    return [
        f"{method.name}: no document of {items.name} names its source, so reliabilities cannot be estimated and every "
        "document has one vote"
        for method in methods
        if method.weighs_sources and not named
    ]


def _unfit(method: Method, items: ItemSet, answerer: ChatModel) -> str | None:
    if not any(item.has(method.needs) for item in items):
        return f"{method.name} needs items with {method.needs}, and {items.name} has none"
    if method.uses_logprobs and not answerer.capabilities.logprobs:
        return f"{method.name} needs log-probabilities, and {answerer.identity} gives none"
    return None


def unread(records: pd.DataFrame) -> list[str]:
    """A sentence on each judge or method of which not one verdict or answer could be read."""
    said = []
    for (method, design), rows in records.groupby(["method", "design"], sort=False, dropna=False):
        held = rows[rows["verdict"].notna()]
        where = f"{method} ({design})" if isinstance(design, str) else str(method)
        if len(held) and (held["verdict"] == Verdict.UNPARSED).all():
            said.append(
                f"{where}: the judge's last ruling could be read in none of {len(held)} debates; it has to end with "
                'the line "final decision: REASONABLE" or "final decision: UNREASONABLE"'
            )
        elif (rows["missing"] == Missing.UNPARSED).all():
            said.append(f"{where}: no answer could be read in any of {len(rows)} items")
    return said
