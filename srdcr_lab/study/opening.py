"""Before a run: which models answer, what their tokens cost, and which methods suit the items.

`Session` holds the models behind the store while a study is open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from srdcr_lab import prompts
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.base import API, settings_of
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.models.spending import Budget, Price, StoredModel, no_price, price_of
from srdcr_lab.protocols import METHODS, Cast, Method
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, Needs, NotInStore, Request
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import must_be

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet


REPLAYED = "SRDCR_REPLAYED"  # environment variable: the models of the bundle whose notebooks are executed


def load_model(spec: str = "pocket", *, offline: bool = False, **options: Any) -> ChatModel:
    """The model behind a specification; see `srdcr_lab.models.load.model_of_spec`.

    The pocket model's files are checked against their manifest, and the prompts it was trained on against this
    version's. With `offline`, an API model, and in a replay any model of the bundle, is only looked up in the store: it
    needs no key and no weights.
    """
    must_be("a model", spec, (str,), "a specification such as 'pocket' or 'openai:NAME'")
    if spec == "pocket":
        from srdcr_lab.models.checkpoint import check_manifest

        check_manifest(folder("pocket"), prompts.hashes())
    provider, _, rest = spec.partition(":")
    name, _, label = rest.partition("#")
    told = json.loads(os.environ.get(REPLAYED, "{}")) if offline else {}
    settings = settings_of(options.get("reasoning"), options.get("extra_body"))
    identity = ModelIdentity(provider, name, label, settings=settings)
    called = str(identity) if identity.settings else spec
    if called in told or (offline and provider in API and name):
        named, logprobs = told.get(called) or (astuple(identity), provider == "openai")
        once = None if provider != "anthropic" else 1
        return AbsentModel(ModelIdentity(*named), Capabilities(logprobs=logprobs), draws_per_request=once)
    return model_of_spec(spec, **options)


NEEDED = {Needs.PASSAGE: "a passage and no options", Needs.OPTIONS: "options", Needs.DOCUMENTS: "several documents"}
_SHOWN = 8  # names of methods that a message lists


@dataclass
class AbsentModel:
    """A model that is not there: who it is and what it can give. Its completions come from a store."""

    identity: ModelIdentity
    capabilities: Capabilities
    draws_per_request: int | None = None

    def leave_out(self, parameter: str) -> None:
        """An earlier run learned that the model refuses this parameter."""
        if parameter == "temperature":
            self.capabilities = replace(self.capabilities, temperature=False)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        raise NotInStore(f"offline, {self.identity} is not asked")

    async def aclose(self) -> None:
        """There is nothing to close."""


def as_told(models: Iterable[ChatModel]) -> str:
    """Value of `REPLAYED` under which `load_model` takes these models, except pocket, for absent ones.

    Where nobody has its whole name, by its specification: the type that a local model computes in is not asked for.
    """
    cast = [(model.identity, (astuple(model.identity), model.capabilities.logprobs)) for model in models]
    told = {each.spec: known for each, known in cast} | {str(each): known for each, known in cast}
    told.pop("pocket", None)
    return json.dumps(told)


ROLES = ("defender", "critic", "judge")  # beside the answerer
_ROLES = ("answerer", *ROLES)


def _by_role(given: Any, n: int) -> list[Any]:
    """What n models are given, of which the first play the four roles: one value for all roles; an object by their
    names; or texts as in a shell, each ``[ROLE=]VALUE``, of which one for a role goes before one for all."""
    if isinstance(given, tuple):
        texts = {role if role in _ROLES else "": text for text in given for role in [text.partition("=")[0]]}
        given = {role: texts[role].partition("=")[2] if role in texts else texts.get("") for role in _ROLES}
    by_name = isinstance(given, Mapping) and given and set(given) <= set(_ROLES)
    return [given.get(role) if by_name else given for role in _ROLES] + [None] * n


def open_all(
    specs: Sequence[str | ChatModel],
    *,
    offline: bool = False,
    reasoning: Any = None,
    extra_body: Any = None,
    **api_options: Any,
) -> tuple[ChatModel, ...]:
    """One model per specification; equal ones with equal settings (`_by_role`) are opened once."""
    opened: dict[tuple[Any, str], ChatModel] = {}
    keys = []
    levels, fields = (_by_role(given, len(specs)) for given in (reasoning, extra_body))
    for spec, level, extra in zip(specs, levels, fields, strict=False):
        keys.append((spec if isinstance(spec, str) else id(spec), settings_of(level, extra)))
        if not isinstance(spec, str):
            if keys[-1][1]:
                raise BadInput(f"{spec.identity} is open already: give its reasoning or extra_body to load_model")
            opened[keys[-1]] = spec
        elif keys[-1] not in opened:
            options = api_options if spec.partition(":")[0] in API else {}
            opened[keys[-1]] = load_model(spec, offline=offline, reasoning=level, extra_body=extra, **options)
    return tuple(opened[key] for key in keys)


def price_for(identity: ModelIdentity, budget_usd: float | None) -> Price | None:
    """The price of a model's tokens, or None where it is unknown. A budget needs a price."""
    price = price_of(identity)
    if price is None and budget_usd is not None:
        raise BadInput(f"{no_price(identity)}, or leave --budget-usd out, which cannot hold without a price")
    return price


class Session:
    """The models of an open study behind one store (`stored`) and one budget: those of the roles, and the `players` of
    designs."""

    def __init__(
        self,
        cast: Cast,
        players: Mapping[str, ChatModel],
        store: Store,
        budget: Budget,
        *,
        offline: bool = False,
        stored: type[StoredModel] = StoredModel,
    ) -> None:
        def wrapped(model: ChatModel) -> StoredModel:
            price = price_for(model.identity, budget.limit_usd)
            return stored(model, store, price=price, budget=budget, offline=offline)

        by_id = {id(model): wrapped(model) for model in (*vars(cast).values(), *players.values())}
        self.store, self.budget, self.models = store, budget, tuple(by_id.values())
        self.cast = Cast(*(by_id[id(model)] for model in vars(cast).values()))
        self.players = {spec: by_id[id(model)] for spec, model in players.items()}

    @property
    def paid(self) -> int:
        """Completions asked of a model so far."""
        return sum(model.paid for model in self.models)

    @property
    def served(self) -> int:
        """Completions handed out so far, from the store or from a model."""
        return sum(model.served for model in self.models)

    async def landed(self) -> None:
        """Wait for the requests in flight, which are paid for."""
        for model in self.models:
            await model.landed()

    async def abandon(self) -> None:
        """Cancel the requests in flight."""
        for model in self.models:
            await model.abandon()

    async def aclose(self, *, close_store: bool = True) -> None:
        """Close models and store. A model opens again when it is next asked."""
        for model in self.models:
            with suppress(Exception):  # one model must not keep the others open
                await model.aclose()
        if close_store:
            self.store.close()


def fitting(
    methods: Sequence[Method], items: ItemSet, answerer: ChatModel, *, every: bool
) -> tuple[tuple[Method, ...], tuple[str, ...]]:
    """The methods that can run on these items with this model, and a sentence on each one left out.

    With `every` (``--methods all``) only methods made for such items are taken: where items have a passage or
    documents, methods that read the question alone run only when they are named. A method that was named and cannot
    run, or none that can, is bad input.
    """
    if every:
        shown = {need for need in Needs if any(item.has(need) for item in items)}
        if shown & {Needs.PASSAGE, Needs.DOCUMENTS}:
            shown.discard(Needs.QUESTION)
        methods = [method for method in methods if method.needs in shown]
    unfit = {method.name: reason for method in methods if (reason := _unfit(method, items, answerer))}
    if unfit and not (every and len(unfit) < len(methods)):
        raise BadInput(next(iter(unfit.values())))
    fit = tuple(method for method in methods if method.name not in unfit)
    notes = list(unfit.values())
    if not any(document.source for item in items for document in item.documents):
        notes += [
            f"{method.name}: no document of {items.name} names its source, so reliabilities cannot be estimated and "
            "every document has one vote"
            for method in fit
            if method.weighs_sources
        ]
    return fit, tuple(notes)


def _unfit(method: Method, items: ItemSet, answerer: ChatModel) -> str | None:
    if not any(map(method.takes, items)):
        fit = [each.name for each in METHODS.values() if any(map(each.takes, items))]
        names = f"{', '.join(fit[:_SHOWN])}{' … (README.md lists all)' if len(fit) > _SHOWN else ''}"
        shown = {"a passage": "context", "options": "options", "several documents": "documents"}
        there = [what for what, field in shown.items() if any(getattr(item, field) for item in items)]
        have = " and ".join(there) or "the question alone"
        needed = f"{method.name} needs items with {NEEDED[method.needs]}"
        return f"{needed}; those of {items.name} have {have}; methods that fit: {names}"
    if method.uses_logprobs and not answerer.capabilities.logprobs:
        return f"{method.name} needs log-probabilities, and {answerer.identity} gives none"
    return None
