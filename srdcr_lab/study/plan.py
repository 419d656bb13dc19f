"""What a stand-in says in a dialectical debate when a run is planned: the shortest debate, or the longest."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache

import pandas as pd

from srdcr_lab.models import ChatModel
from srdcr_lab.models.base import draws_per_request
from srdcr_lab.models.budget import Price
from srdcr_lab.prompts import system_text
from srdcr_lab.protocols import Cast, Method, Setup, knowledge_draws
from srdcr_lab.records import CallFailed, Capabilities, Completion, Item, ModelIdentity, Needs, Request
from srdcr_lab.study.rows import Probe
from srdcr_lab.study.run import each_setup, fill_probe

_NUMBER = re.compile(r'<document id="(\d+)">')
_AGAIN = "Reply again, with the JSON object alone."


@cache
def _template_of(system: str) -> str | None:
    """The template of a structured reply that a request was made from."""
    names = ("proponent_thesis", "devils_advocate", "proponent_rebuttal")
    return next((name for name in names if system == system_text(name)), None)


def document_reply(request: Request, answer: str, *, longest: bool) -> str | None:
    """The reply to a request for a JSON object; None for any other request.

    In the shortest debate nobody is challenged. In the longest all are, and every object comes at the second asking.
    """
    template, user = _template_of(request.messages[0].content), request.messages[-1].content
    if template is None:
        return None
    if longest and _AGAIN not in user:
        return f"{answer}. {request.digest}"
    steps = [request.digest]  # another prompt, another reply: nothing is shared by chance
    match template:
        case "proponent_thesis":
            return json.dumps({"answer": answer, "chain_of_thought": steps})
        case "proponent_rebuttal":
            return json.dumps({"state": "concede", "answer": None, "chain_of_thought": steps})
    faulted = sorted({int(number) for number in _NUMBER.findall(user)}) if longest else []
    return json.dumps({"challenges": [{"document": number, "challenge": request.digest} for number in faulted]})


# -- what a run would take, before anything is spent: the run's own protocols, on models that only count

_CHARACTERS_A_TOKEN = 4  # English prose; a rule of thumb, as in every such plan
_TOKENS_A_MESSAGE = 4  # what a chat template adds
_ARGUMENT, _ANSWER = 80, 4  # tokens of a short reply
BESIDE, SHARED = "(beside every row)", "the whole run"
_COUNTS = ("calls_alone", "calls", "prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True)
class Plan:
    """Calls, tokens and cost of a run, at least (`_from`) and at most (`_to`).

    `table` has a row for each method (under each design), one for what every row shows beside its method's answer
    (prior and context answers, confidence, and the knowledge draws that make categories), and one for the whole run.
    A call is one completion: 32 draws are 32 calls. `calls_alone` counts every item by itself, as if nothing were
    shared: summed over the rows it is what one would pay without a store. `calls` is what reaches the model when equal
    requests of all the row's items are asked once; tokens and costs are of these. Of the whole run, the rows' own
    requests are shared too, so its calls are fewer than the sum of the rows'. Tokens are estimates (four characters a
    token); costs are NaN where a price is unknown.
    """

    table: pd.DataFrame


@dataclass
class Tally:
    """What some part of a run asks: calls counted one by one, and the distinct ones with what each of them takes."""

    calls_alone: int = 0
    distinct: dict[tuple[str, str, str, int], tuple[int, int, float]] = field(default_factory=dict)

    def counts(self) -> dict[str, float]:
        taken = [sum(each[place] for each in self.distinct.values()) for place in range(3)]
        return dict(zip(_COUNTS, (self.calls_alone, len(self.distinct), *taken), strict=True))


async def make_plan(
    setup: Setup, items: Sequence[Item], methods: Sequence[Method], prices: dict[str, Price | None]
) -> Plan:
    """The plan of a run; `prices` by the models' identity keys."""
    low, high = [await _count(setup, items, methods, prices, longest=longest) for longest in (False, True)]
    rows = []
    for name, tally in low.items():
        row: dict[str, object] = {"methods": name}
        least, most = tally.counts(), high[name].counts()
        for count in _COUNTS:
            row |= {f"{count}_from": least[count], f"{count}_to": most[count]}
        rows.append(row)
    return Plan(pd.DataFrame(rows))


async def _count(
    setup: Setup, items: Sequence[Item], methods: Sequence[Method], prices: dict[str, Price | None], *, longest: bool
) -> dict[str, Tally]:
    rehearsal = Rehearsal(longest)
    models = {model.identity.key: model for model in (*vars(setup.cast).values(), *setup.players.values())}
    stand_ins = {key: CountingModel(model, prices[key], rehearsal) for key, model in models.items()}
    dry = replace(
        setup,
        cast=Cast(*(stand_ins[model.identity.key] for model in vars(setup.cast).values())),
        players={spec: stand_ins[model.identity.key] for spec, model in setup.players.items()},
    )
    runs = [(row_name(method, under), method, under) for method, under in each_setup(methods, dry)]
    tallies = {name: Tally() for name, _, _ in runs} | {BESIDE: Tally()}
    for item in items:
        for name, method, under in runs:
            if item.has(method.needs):
                with rehearsal.of(item, tallies[name]):
                    await _rehearse(method.run(item, under))
        with rehearsal.of(item, tallies[BESIDE]):
            if item.has(Needs.PASSAGE):
                await knowledge_draws(item, dry)
            await fill_probe(Probe(), item, dry, methods)
    whole = Tally(sum(tally.calls_alone for tally in tallies.values()))
    for tally in tallies.values():
        whole.distinct |= tally.distinct
    return tallies | {SHARED: whole}


def row_name(method: Method, setup: Setup) -> str:
    """The method, and its design where it follows one."""
    return f"{method.name} ({setup.choices.design.name})" if method.designed else method.name


async def _rehearse(run: Awaitable[object]) -> None:
    with suppress(CallFailed):  # what a method does not make of the stand-in's reply; its calls are counted
        await run


class Rehearsal:
    """Whose calls are being counted, and what a stand-in says about the item at hand."""

    def __init__(self, longest: bool) -> None:
        self.longest = longest
        self.tally = Tally()
        self._answer = ""
        self._asked: dict[str, int] = {}
        self._ruling = system_text("judge")

    @contextmanager
    def of(self, item: Item, tally: Tally) -> Iterator[None]:
        self.tally, self._answer = tally, item.gold_answer
        yield

    def reply(self, request: Request, draw: int) -> tuple[str, int]:
        """Text and tokens of a reply. The short ones agree and find the passage reasonable; of the longest ones no two
        give the same answer, and no ruling can be read, so that nothing is settled early."""
        debating = request.max_tokens > 100
        tokens = request.max_tokens if self.longest else _ARGUMENT if debating else _ANSWER
        if request.messages[0].content == self._ruling and not self.longest:
            return "final decision: REASONABLE", tokens
        answer = self._answer
        if self.longest:
            answer = str(1000 + self._asked.setdefault(f"{request.digest} {draw}", len(self._asked)) % 1000)
        if not debating:
            return answer, tokens
        if (told := document_reply(request, answer, longest=self.longest)) is not None:
            return told.ljust(tokens * _CHARACTERS_A_TOKEN), tokens
        # Another prompt, another argument: nothing is shared by chance.
        last_line = f"\nanswer: {answer}"
        argument = f"{answer}. {request.digest} ".ljust(tokens * _CHARACTERS_A_TOKEN - len(last_line), "x")
        return argument + last_line, tokens


class CountingModel:
    """Stands in for a model: answers nothing of use, and counts what it would have taken."""

    def __init__(self, model: ChatModel, price: Price | None, rehearsal: Rehearsal) -> None:
        self.identity: ModelIdentity = model.identity
        self.capabilities: Capabilities = model.capabilities
        self._a_request = draws_per_request(model)
        self._price, self._rehearsal = price, rehearsal

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        scored = request.logprobs and self.capabilities.logprobs
        sure = -9.0 if self._rehearsal.longest else 0.0  # who is unsure asks on
        replies = [(draw, *self._rehearsal.reply(request, draw)) for draw in request.draws]
        self._note(request, replies[0][2])
        return tuple(
            Completion(text, draw, (text,) if scored else None, (sure,) if scored else None)
            for draw, text, _ in replies
        )

    def _note(self, request: Request, tokens: int) -> None:
        tally = self._rehearsal.tally
        tally.calls_alone += len(request.draws)
        once = sum(len(m.content) // _CHARACTERS_A_TOKEN + _TOKENS_A_MESSAGE for m in request.messages)
        for place, draw in enumerate(request.draws):
            prompt = once if place % (self._a_request or len(request.draws)) == 0 else 0
            cost = self._price.cost(prompt, tokens) if self._price else float("nan")
            tally.distinct[self.identity.key, request.digest, request.stream, draw] = (prompt, tokens, cost)

    async def aclose(self) -> None:
        """Nothing to let go of."""
