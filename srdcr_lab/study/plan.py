"""What a run would take, before anything is spent: its own protocols, on models that only note what they are asked.

The run is rehearsed twice, once as short as it can be (speakers agree, nobody is challenged) and once as long.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import pandas as pd

from srdcr_lab.lib.page import shown
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.base import API, room
from srdcr_lab.models.load import AbsentModel
from srdcr_lab.models.spending import Price
from srdcr_lab.prompts import Prompts, sources
from srdcr_lab.protocols import Cast, Method, Setup, knowledge_draws
from srdcr_lab.records import CallFailed, Completion, Item, Needs, Request
from srdcr_lab.study.run import Probe, asked_of_memory, each_setup, fill_probe
from srdcr_lab.study.waves import InWaves, Waves

_REHEARSED = 2_000  # completions of one rehearsal: half a second; a plan of thousands of items would take minutes
_FEW = 4  # items that tell how many an item takes
SPREAD = 0.32  # standard deviation over questions of right with SR-DCR minus right with few-shot: pocket's study
BESIDE, SHARED = "(answers and draws)", "the whole run"
_BYTES_A_TOKEN = 4  # English prose; a rule of thumb, nearer to other scripts than characters are
_ONE_BYTE = re.compile("[\x80-\u036f\u2000-\u20cf]")  # Latin letters with accents, dashes and the like count as one
_TOKENS_A_MESSAGE = 4  # what a chat template adds
_ARGUMENT, _ANSWER = 80, 4  # tokens of a short reply
_COUNTS = ["calls_alone", "calls", "prompt_tokens", "completion_tokens", "cost_usd"]
_TITLES = dict(zip(_COUNTS, ("calls alone", "shared", "prompt tokens", "completion tokens", "cost USD"), strict=True))
_KEY = ["model", "digest", "stream", "draw"]
_LEFT_OUT = re.compile(r"[0-9a-f]{64}\+(\d{5})")  # in a reply: how many more characters it would have
_DOCUMENT = re.compile(r'<document id="(\d+)">')
_JSON = re.compile('"(?:chain_of_thought|challenges)"')  # in the instructions of a role that replies in JSON
_AGAIN = "Reply again, with the JSON object alone."


@dataclass(frozen=True)
class Plan:
    """Calls, tokens and cost of a run, at least (`_from`) and at most (`_to`).

    A call is one completion: 32 draws are 32 calls. Tokens are estimates (four bytes of text a token; for thinking
    none, or all its room); a cost is NaN if a price is unknown.

    Attributes
    ----------
    table : DataFrame
        One row per method and design, one for what every row shows besides its method's answer (prior and context
        answers, confidence, knowledge draws), and one for the whole run. `calls_alone` counts every item by itself;
        `calls` counts identical requests of the row's items once (in the last row, of all rows). Tokens and costs are
        of these calls.
    rehearsed : int
        Number of items that were gone through; with more items everything is scaled up from these.
    waves : tuple of int, int, optional
        Fewest and most waves of a run in batches.
    """

    table: pd.DataFrame
    rehearsed: int
    waves: tuple[int, int] | None = None

    def _repr_html_(self) -> str:
        """What a notebook shows: each quantity from its least to its greatest value."""
        return shown(spans(self.table), "calls, tokens and cost, before anything is spent")


def spans(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a plan for a reader: one text per quantity, from–to where the two differ."""
    shortened = table[["methods"]].copy()
    for name, title in _TITLES.items():
        form = "{:,.2f}" if name == "cost_usd" else "{:,.0f}"
        least, most = (table[f"{name}_{end}"].map(form.format) for end in ("from", "to"))
        span = least.where(least == most, least + "–" + most)
        shortened[title] = span.mask(table[f"{name}_from"].isna(), "unknown")
    return shortened


async def make_plan(
    setup: Setup, methods: Sequence[Method], prices: Mapping[str, Price | None], *, batch: bool = False
) -> Plan:
    """The plan of a run over the items of `setup`: of many estimated from some, drawn as `limit` draws whole questions.
    `prices` by the models' identity keys; with `batch` API models cost what they cost in a batch."""
    if batch:
        api = {model.identity.key for model in vars(setup.cast).values() if model.identity.provider in API}
        prices = {key: price.in_a_batch() if price and key in api else price for key, price in prices.items()}
    few = replace(setup, items=setup.items.limit(_FEW, setup.seed, whole=True))
    an_item = (await _rehearsed(few, methods, prices, longest=True)).loc[SHARED, "calls_alone"] / len(few.items)
    enough = max(_FEW, int(_REHEARSED / max(an_item, 1)))
    some = replace(setup, items=setup.items.limit(enough, setup.seed, whole=True))
    least, most = [await _rehearsed(some, methods, prices, longest=longest) for longest in (False, True)]
    least, most = least.where(least <= most, most), most.where(most >= least, least)  # the short rehearsal may ask more
    both = pd.concat([least.add_suffix("_from"), most.add_suffix("_to")], axis=1)
    both = both[[f"{count}_{end}" for count in _COUNTS for end in ("from", "to")]]
    both *= len(setup.items) / len(some.items)
    whole = [name for name in both if "cost" not in name]
    table = both.round(dict.fromkeys(whole, 0)).astype(dict.fromkeys(whole, int)).rename_axis("methods").reset_index()
    ends = [await _waves(few, methods, longest=longest) for longest in (False, True)] if batch else None
    return Plan(table, len(some.items), (min(ends), max(ends)) if ends else None)


async def _waves(setup: Setup, methods: Sequence[Method], *, longest: bool) -> int:
    """How many waves the item takes that takes most: as in a run in batches, with stand-ins that answer each wave."""
    most, stage = 0, Stage(setup.prompts, longest)
    stand_ins = {model.identity.key: StandIn(model, None, stage) for model in vars(setup.cast).values()}
    for item in setup.items:
        stage.answer, n = item.gold_answer, 0
        with closing(Store(":memory:")) as store:
            stored = {key: InWaves(stand_in, store) for key, stand_in in stand_ins.items()}
            waves = Waves(stored.values(), methods, [(item, _played_by(setup, stored))])
            while wave := await waves.missing():
                for model, requests in wave.items():
                    for request in requests:
                        store.put(model.identity, request, await stand_ins[model.identity.key].complete(request))
                n += 1
        most = max(most, n)
    return most


def _played_by(setup: Setup, stand_ins: Mapping[str, ChatModel]) -> Setup:
    """The setup with what stands in for each model, by identity key."""
    return replace(setup, cast=Cast(*(stand_ins[model.identity.key] for model in vars(setup.cast).values())))


async def _rehearsed(
    setup: Setup, methods: Sequence[Method], prices: Mapping[str, Price | None], *, longest: bool
) -> pd.DataFrame:
    """One rehearsal: the counts of every row of the plan."""
    stage = Stage(setup.prompts, longest)
    models = {model.identity.key: model for model in vars(setup.cast).values()}
    setup = _played_by(setup, {key: StandIn(model, prices[key], stage) for key, model in models.items()})
    runs = {
        f"{method.name} ({under.choices.design.name})" if method.designed else method.name: (method, under)
        for method, under in each_setup(methods, setup)
    }
    for item in setup.items:
        stage.answer = item.gold_answer
        for name, (method, under) in runs.items():
            for part in _parts(item, method, name if longest else None) if method.takes(item) else ():
                stage.row = name
                try:
                    await method.run(part, under)
                except* CallFailed:  # a method may not cope with a stand-in's reply; its calls are noted
                    pass
        stage.row = BESIDE
        if asked_of_memory(item, methods):
            await knowledge_draws(item, setup)
        await fill_probe(Probe(), item, setup, methods)
    names = pd.Index([*runs, BESIDE])
    asked = pd.DataFrame(stage.asked, columns=["methods", *_KEY, *_COUNTS[2:]]).astype({"methods": object})
    asked = asked.iloc[names.get_indexer(asked["methods"]).argsort(kind="stable")]
    every = pd.concat([asked, asked.assign(methods=SHARED)])
    once = every.drop_duplicates(["methods", *_KEY], keep="last").groupby("methods")
    counts = once[_COUNTS[2:]].sum(skipna=False).assign(calls=once.size(), calls_alone=every.groupby("methods").size())
    counts = counts.reindex([*names, SHARED])[_COUNTS]
    counts[counts["calls"].isna()] = 0  # nothing was asked; a cost that is unknown stays NaN
    return counts.astype(dict.fromkeys(_COUNTS[:-1], int))


def _parts(item: Item, method: Method, row: str | None) -> list[Item]:
    """The item or, for a method that goes from hop to hop, each hop by itself: an unreadable reply would end the chain.
    With a `row`, no two rows and no two forms of a chain ask the same of a later hop."""
    if method.needs is not Needs.HOPS:
        return [item]
    previous = f"{row} {item.item_id}" if row else None
    return [replace(item, hops=(item.hop(number, previous),)) for number in range(1, len(item.hops) + 1)]


class Stage:
    """What is being rehearsed, what a stand-in says about it, and every completion it was asked for."""

    def __init__(self, prompts: Prompts, longest: bool) -> None:
        self.longest, self.row, self.answer = longest, "", ""
        self.asked: list[tuple[object, ...]] = []
        self._numbers: dict[tuple[str, int], int] = {}
        debating = [name for name in sources() if name.startswith(("defender", "critic"))]
        self._debaters = {prompts.system_text(name).casefold(): name.partition("_")[0] for name in debating}

    def reply(self, request: Request, draw: int) -> tuple[str, int]:
        """Text and tokens of a reply. Short replies agree and find the passage reasonable; of the longest no two give
        the same answer, no ruling can be read, so that nothing ends early, and a debater says always the same."""
        instructions = request.messages[0].content.casefold()
        debating = request.max_tokens > 100
        tokens = request.max_tokens if self.longest else _ARGUMENT if debating else _ANSWER
        if "final decision:" in instructions and not self.longest:
            return "final decision: REASONABLE", tokens
        answer = self.answer
        if self.longest:
            answer = str(1000 + self._numbers.setdefault((request.digest, draw), len(self._numbers)) % 1000)
        if not debating:
            return answer, tokens
        length = tokens * _BYTES_A_TOKEN
        if self.longest and (role := self._debaters.get(instructions)):
            if said := re.search(rf"<{role} round=.*?>\n(.*?)\n</", request.messages[-1].content, re.DOTALL):
                return said[1], tokens
        elif _JSON.search(instructions):
            return self._structured(instructions, request, answer).ljust(length), tokens
        # the digest: another prompt, another reply; nothing is shared by chance
        text = f"{answer}. {request.digest}+{length:05}\nanswer: {answer}"
        return text.replace(f"+{length:05}", f"+{length - len(text):05}"), tokens

    def _structured(self, instructions: str, request: Request, answer: str) -> str:
        """The JSON object of a dialectical debate. In the shortest nobody is challenged. In the longest all are, and
        every object comes at the second asking."""
        user, steps = request.messages[-1].content, [request.digest]
        if self.longest and _AGAIN not in user:
            return f"{answer}. {request.digest}"
        if '"state"' in instructions:
            return json.dumps({"state": "concede", "answer": None, "chain_of_thought": steps})
        if '"chain_of_thought"' in instructions:
            return json.dumps({"answer": answer, "chain_of_thought": steps})
        faulted = sorted({int(number) for number in _DOCUMENT.findall(user)}) if self.longest else []
        return json.dumps({"challenges": [{"document": number, "challenge": request.digest} for number in faulted]})


class StandIn(AbsentModel):
    """Takes a model's place: says what the stage says, and notes what it would have taken."""

    def __init__(self, model: ChatModel, price: Price | None, stage: Stage) -> None:
        super().__init__(model.identity, model.capabilities, getattr(model, "draws_per_request", None))
        self._price, self._stage = price, stage
        self._thinking = room(model.identity) if stage.longest else 0  # a model may think not at all

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        scored = request.logprobs and self.capabilities.logprobs
        logprobs = (-9.0 if self._stage.longest else 0.0,)  # who is unsure asks on
        texts = [_ONE_BYTE.sub("x", message.content) for message in request.messages]
        lengths = (len(text.encode()) + sum(map(int, _LEFT_OUT.findall(text))) for text in texts)
        once = sum(length // _BYTES_A_TOKEN + _TOKENS_A_MESSAGE for length in lengths)
        completions = []
        for place, draw in enumerate(request.draws):
            text, tokens = self._stage.reply(request, draw)
            completions.append(Completion(text, draw, (text,) if scored else None, logprobs if scored else None))
            prompt = once if place % (self.draws_per_request or len(request.draws)) == 0 else 0
            tokens += self._thinking
            cost = self._price.cost(prompt, tokens) if self._price else float("nan")
            key = (self.identity.key, request.digest, request.stream, draw)
            self._stage.asked.append((self._stage.row, *key, prompt, tokens, cost))
        return tuple(completions)
