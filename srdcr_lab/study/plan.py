"""What a run would take, before anything is spent: the run's own protocols, on models that only count.

So the plan cannot drift from what a run does. They run twice over the items, once with short replies and once with
the longest allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.prices import Price
from srdcr_lab.models.stored import Meter, StoredModel, metered
from srdcr_lab.prompts import system_text
from srdcr_lab.protocols import Cast, Method, Setup, knowledge_draws
from srdcr_lab.records import Capabilities, Completion, Item, ModelIdentity, Needs, Request
from srdcr_lab.study.item import fill_probe
from srdcr_lab.study.rows import Probe

_CHARACTERS_A_TOKEN = 4  # English prose; a rule of thumb, as in every such plan
_TOKENS_A_MESSAGE = 4  # what a chat template adds
_ARGUMENT, _ANSWER = 80, 4  # tokens of a short reply
KNOWLEDGE, SHARED = "(knowledge and answers)", "all, shared"


@dataclass
class CountingModel:
    """A stand-in that answers nothing of use and reports the tokens it would have taken."""

    identity: ModelIdentity
    capabilities: Capabilities
    longest: bool
    draws_per_request: int | None = None
    _ruling: str = field(default_factory=lambda: system_text("judge"))

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        prompt_tokens = sum(len(m.content) // _CHARACTERS_A_TOKEN + _TOKENS_A_MESSAGE for m in request.messages)
        debating = request.max_tokens > 100
        tokens = request.max_tokens if self.longest else _ARGUMENT if debating else _ANSWER
        text = self._text(request, tokens * _CHARACTERS_A_TOKEN) if debating else "1900"
        scored = request.logprobs and self.capabilities.logprobs
        completion = Completion(
            text, 0, (text,) if scored else None, (0.0,) if scored else None, completion_tokens=tokens
        )
        return tuple(
            replace(completion, draw=draw, prompt_tokens=prompt_tokens if i == 0 else 0)
            for i, draw in enumerate(request.draws)
        )

    def _text(self, request: Request, length: int) -> str:
        if request.messages[0].content == self._ruling:
            return "final decision: REASONABLE"
        argument = f"1900. {request.digest} "  # another prompt, another argument: nothing is shared by chance
        return argument.ljust(length, "x")

    async def aclose(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True)
class Plan:
    """Calls, tokens and cost of a run.

    `table` has a row per method alone, one for what a run asks beside the methods, and one for all of it with
    completions shared. A call is one completion. Tokens are estimates (four characters a token), `_from` with short
    replies, `_to` with the longest allowed; costs are NaN where a price is unknown.
    """

    table: pd.DataFrame


async def make_plan(
    setup: Setup, items: Sequence[Item], methods: Sequence[Method], prices: dict[str, Price | None]
) -> Plan:
    """The plan of a run; `prices` by the models' identity keys."""
    low, high = [await _count(setup, items, methods, prices, longest=longest) for longest in (False, True)]
    rows = []
    for name, meter in low.items():
        row: dict[str, object] = {"methods": name, "calls": meter.calls_alone}
        for column in ("prompt_tokens", "completion_tokens", "cost_alone_usd"):
            label = column.replace("_alone", "")
            row |= {f"{label}_from": getattr(meter, column), f"{label}_to": getattr(high[name], column)}
        rows.append(row)
    return Plan(pd.DataFrame(rows))


async def _count(
    setup: Setup, items: Sequence[Item], methods: Sequence[Method], prices: dict[str, Price | None], *, longest: bool
) -> dict[str, Meter]:
    store = Store(":memory:")
    asked: dict[str, CountingModel] = {}
    shared = Meter()

    def stand_in(model: ChatModel) -> StoredModel:
        key = model.identity.key
        per_request = getattr(model, "draws_per_request", None)
        asked.setdefault(key, CountingModel(model.identity, model.capabilities, longest, per_request))
        return StoredModel(_Tally(asked[key], shared, prices[key]), store, price=prices[key])

    cast = Cast(*(stand_in(model) for model in vars(setup.cast).values()))
    dry = replace(setup, cast=cast)
    meters = {method.name: Meter() for method in methods} | {KNOWLEDGE: Meter()}
    for item in items:
        for method in (method for method in methods if item.has(method.needs)):
            with metered() as meter:
                await method.run(item, dry)
            _add(meters[method.name], meter)
        with metered() as meter:
            if item.has(Needs.PASSAGE):
                await knowledge_draws(item, dry)
            await fill_probe(Probe(), item, dry, methods)
        _add(meters[KNOWLEDGE], meter)
    store.close()
    return meters | {SHARED: shared}


@dataclass
class _Tally:
    """Counts what reaches the model behind the store: the calls that would be paid."""

    model: CountingModel
    shared: Meter
    price: Price | None

    def __post_init__(self) -> None:
        self.identity, self.capabilities = self.model.identity, self.model.capabilities
        self.draws_per_request = self.model.draws_per_request

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        completions = await self.model.complete(request)
        prompt, completion = sum(c.prompt_tokens for c in completions), sum(c.completion_tokens for c in completions)
        cost = self.price.cost(prompt, completion) if self.price else float("nan")
        _add(self.shared, Meter(len(completions), len(completions), prompt, completion, cost, cost))
        return completions

    async def aclose(self) -> None:
        """Nothing to let go of."""


def _add(total: Meter, part: Meter) -> None:
    for name, value in vars(part).items():
        setattr(total, name, getattr(total, name) + value)
