"""Before a run: which models answer and how they are asked, what their tokens cost, which methods suit the items.

`Session` holds the models behind the store while a study is open.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any

from srdcr_lab import prompts
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.base import API, PATIENCE_S, settings_of
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.models.spending import Budget, StoredModel, no_price, price_of
from srdcr_lab.protocols import METHODS, Cast, Method
from srdcr_lab.protocols.choices import check_ranges
from srdcr_lab.records import BadInput, Capabilities, ModelIdentity, Needs
from srdcr_lab.records.files import folder
from srdcr_lab.records.vocabulary import must_be

if TYPE_CHECKING:
    from srdcr_lab.data import ItemSet


def load_model(spec: str = "pocket", *, offline: bool = False, **options: Any) -> ChatModel:
    """Open the model behind a specification.

    The files of the pocket model are checked against their manifest, and the prompts it was trained on against this
    version's.

    Parameters
    ----------
    spec : str, default "pocket"
        "pocket", "openai:NAME", "anthropic:NAME", "hf:PATH" or "gguf:FILE", optionally with a label
        (``openai:llama#desk``).
    offline : bool, default False
        Only look completions of an API model up in the store, which needs no key.
    **options : object
        `base_url`, `concurrency`, `patience_s`, `reasoning` and `extra_body`, as in `Asking`; for local weights also
        `device` (``"pocket"`` takes the CPU by default), `dtype`, `max_batch_tokens`, `threads` and `kept_bytes`.

    Returns
    -------
    ChatModel
        The model.

    Raises
    ------
    BadInput
        The specification is unknown, or the model cannot be opened; the sentence says what to change.

    Examples
    --------
    >>> load_model("pocket").identity.provider
    'pocket'
    """
    must_be("a model", spec, (str,), "a specification such as 'pocket' or 'openai:NAME'")
    if spec == "pocket":
        from srdcr_lab.models.checkpoint import check_manifest

        check_manifest(folder("pocket"), prompts.hashes())
    return model_of_spec(spec, offline=offline, **options)


NEEDED = {Needs.PASSAGE: "a passage and no options", Needs.OPTIONS: "options", Needs.DOCUMENTS: "several documents",
          Needs.HOPS: "hops"}  # fmt: skip
_SHOWN = 8  # names of methods that a message lists
A_MODEL = "a specification such as 'pocket', or a ChatModel (with identity, capabilities, complete and aclose)"
ROLES = ("defender", "critic", "judge")  # beside the answerer
_OFF = ("", "0", "false", "no")  # values of SRDCR_OFFLINE
_ROLES = ("answerer", *ROLES)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How the models of a study are asked, and how much they may cost.

    Attributes
    ----------
    defender, critic, judge : str or ChatModel, optional
        Models of these roles, as specification or `ChatModel`; None for the study's model.
    base_url : str, optional
        Address of an OpenAI- or Anthropic-compatible server.
    concurrency : int, default 64
        API requests in flight at once.
    patience_s : float, default PATIENCE_S
        Seconds to wait for a server that is down, before rows fail; 0 for not at all.
    reasoning : str, mapping of str to str or tuple of str, optional
        How much a model thinks before it replies (none, low, medium, high), or a level for some roles (``{"judge":
        "low"}``); None for its default.
    extra_body : str, mapping of str to object or tuple of str, optional
        Further fields of every request (``{"top_k": 20}``), or such an object for some roles.
    budget_usd : float, optional
        Most US dollars to spend; None for no limit.
    batch : bool, default False
        Ask OpenAI and Anthropic models in batches, at half price.
    offline : bool, optional
        Take every completion from the store and ask nothing; None for whether SRDCR_OFFLINE is set.
    """

    defender: str | ChatModel | None = None
    critic: str | ChatModel | None = None
    judge: str | ChatModel | None = None
    base_url: str | None = None
    concurrency: int = 64
    patience_s: float = PATIENCE_S
    reasoning: str | Mapping[str, str] | tuple[str, ...] | None = None
    extra_body: str | Mapping[str, Any] | tuple[str, ...] | None = None
    budget_usd: float | None = None
    batch: bool = False
    offline: bool | None = None

    def __post_init__(self) -> None:
        kinds: dict[str, tuple[tuple[Any, ...], str]] = {
            **dict.fromkeys(ROLES, ((str, ChatModel, None), A_MODEL)),
            "base_url": ((str, None), "an address such as http://localhost:8000/v1"),
            "reasoning": ((str, Mapping, tuple, None), "a level such as 'low', or a mapping of role to level"),
            "budget_usd": ((Real, None), "a number of US dollars"),
            "batch": ((bool,), "True or False"),
            "offline": ((bool, None), "True or False"),
        }
        for name, (kind, expected) in kinds.items():
            must_be(name, getattr(self, name), kind, expected)
        check_ranges(concurrency=self.concurrency, patience_s=self.patience_s)
        if self.budget_usd is not None and not 0 < self.budget_usd < math.inf:
            raise BadInput(f"a budget is more than 0 US dollars, got {self.budget_usd}; leave it out for none")
        if self.offline is None:
            object.__setattr__(self, "offline", os.environ.get("SRDCR_OFFLINE", "").lower() not in _OFF)

    def opened(self, model: str | ChatModel) -> Cast:
        """Open the models of the four roles.

        Parameters
        ----------
        model : str or ChatModel
            The study's model.

        Returns
        -------
        Cast
            The roles.
        """
        specs = [model if given is None else given for given in (model, self.defender, self.critic, self.judge)]
        if self.base_url and len({str(spec).partition(":")[0] for spec in specs} & {*API}) > 1:
            remedy = "set OPENAI_BASE_URL or ANTHROPIC_BASE_URL instead, for the provider that it belongs to"
            raise BadInput(f"one --base-url cannot serve two providers, whose keys would both be sent there; {remedy}")
        how: dict[str, Any] = {name: vars(self)[name] for name in ("base_url", "concurrency", "patience_s", "offline")}
        open_once = cache(lambda spec, settings: load_model(spec, **how, **json.loads(settings or "{}")))
        opened: list[ChatModel] = []
        for spec, level, extra in zip(specs, _by_role(self.reasoning), _by_role(self.extra_body), strict=True):
            settings = settings_of(level, extra)
            if settings and not isinstance(spec, str):
                raise BadInput(f"{spec.identity} is open already: give its reasoning or extra_body to load_model")
            opened.append(open_once(spec, settings) if isinstance(spec, str) else spec)
        for each in opened:
            must_be("the identity of a model", each.identity, (ModelIdentity,), "a ModelIdentity(provider, name)")
            must_be("what a model can give", each.capabilities, (Capabilities,), "Capabilities(logprobs=…)")
            if price_of(each.identity) is None and self.budget_usd is not None:
                without = "or leave --budget-usd out, which cannot hold without a price"
                raise BadInput(f"{no_price(each.identity)}, {without}")
        return Cast(*opened)


def _by_role(given: Any) -> list[Any]:
    """What each of the four roles is given. `given` is one value for all, an object by role, or texts as in a shell,
    each ``[ROLE=]VALUE``; a text with a role goes before one without."""
    if isinstance(given, tuple):
        texts = {role if role in _ROLES else "": text for text in given for role in [text.partition("=")[0]]}
        if len(texts) < len(given):
            raise BadInput(f"{' and '.join(given):.250}: two of these are for the same roles; give one value for each")
        given = {role: texts[role].partition("=")[2] if role in texts else texts.get("") for role in _ROLES}
    by_name = isinstance(given, Mapping) and given and set(given) <= set(_ROLES)
    return [given.get(role) if by_name else given for role in _ROLES]


class Session:
    """The models of an open study behind one store (`stored`) and one budget."""

    def __init__(
        self, cast: Cast, store: Store, budget: Budget, *,
        offline: bool = False, stored: type[StoredModel] = StoredModel,
    ) -> None:  # fmt: skip
        how: dict[str, Any] = {"budget": budget, "offline": offline}
        by_id = {id(each): stored(each, store, price=price_of(each.identity), **how) for each in vars(cast).values()}
        self.store, self.budget, self.models, self.is_closed = store, budget, tuple(by_id.values()), False
        self.cast = Cast(*(by_id[id(model)] for model in vars(cast).values()))

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
        self.is_closed = True


def fitting(
    methods: Sequence[Method], items: ItemSet, answerer: ChatModel, *, every: bool
) -> tuple[tuple[Method, ...], tuple[str, ...]]:
    """The methods that can run on these items with this model, and a sentence on each one left out.

    With `every` (``--methods all``) only methods made for such items are taken: where items have a passage or
    documents, methods that read the question alone run only when they are named. A method that was named and cannot
    run, or none that can, is bad input.
    """
    if every:
        bare = not any(item.has(need) for item in items for need in (Needs.PASSAGE, Needs.DOCUMENTS))
        methods = [m for m in methods if any(map(m.takes, items)) and (bare or m.needs is not Needs.QUESTION)]
    unfit = {method.name: reason for method in methods if (reason := _unfit(method, items, answerer))}
    if unfit and not (every and len(unfit) < len(methods)):
        raise BadInput(next(iter(unfit.values())))
    fit = tuple(method for method in methods if method.name not in unfit)
    known = any(document.source for item in items for document in item.documents)
    unknown = f"no document of {items.name} names its source, so reliabilities cannot be estimated"
    weighing = [method.name for method in fit if method.weighs_sources and not known]
    return fit, (*unfit.values(), *(f"{name}: {unknown} and every document has one vote" for name in weighing))


def _unfit(method: Method, items: ItemSet, answerer: ChatModel) -> str | None:
    if not any(map(method.takes, items)):
        fit = [each.name for each in METHODS.values() if any(map(each.takes, items))]
        names = f"{', '.join(fit[:_SHOWN])}{' … (docs/guide/methods.md lists all)' if len(fit) > _SHOWN else ''}"
        return f"{method.name} needs items with {NEEDED[method.needs]}; methods that fit {items.name}: {names}"
    if method.uses_logprobs and not answerer.capabilities.logprobs:
        return f"{method.name} needs log-probabilities, and {answerer.identity} gives none"
    return None
