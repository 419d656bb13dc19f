"""What a server does with what a study asks of it: `examine` asks a few dozen short questions and reads the replies.

They go through the model's own adapter, since what counts is what a run will meet. What an adapter hides is seen beside
it: by `complete_counted` how many draws one reply brings, by `sent` what is left out. The other functions are pure.

Log-probabilities are the model's own in vLLM, llama.cpp and Ollama (github.com/ollama/ollama/issues/16196), and the
sampler's in SGLang (github.com/sgl-project/sglang/pull/2664), except at T = 0; gateways have either
(github.com/standardcompletions/rfcs/issues/11). A cache of prompts can change results, as llama.cpp's README says.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import fmean
from typing import Any

from srdcr_lab.models.base import ChatModel
from srdcr_lab.records import GREEDY, CallFailed, Completion, FinishReason, Message, Request

DOCTOR = "doctor"  # the stream of its draws, and the name under which findings are remembered
_OPEN = "Write one sentence about anything you like."
_GARDENER = "You are a gardener. Whatever you are asked, write about roses in winter, and about nothing else."
_SUM = "How many minutes are three hours and a quarter? Reply with the number alone."
_COUNT = "Count from 1 to 60, with a space after each number."
_DAY = (
    "Entry {} of a log book. The harbour was quiet. Two boats came in before noon and one left in the evening. The "
    "wind turned from west to north, and rain fell for an hour. The keeper counted nine gulls on the wall. "
)
_SENTENCE, _GULLS = "Write one sentence about this day.", "How many gulls were there?"
_FEW, _MORE, _TO_THINK = 12, 64, 128  # bounds on tokens
_CHANCE = 0.05  # what chance brings about more often is not claimed
_RARE, _SURE = -4.0, -0.1  # log-probabilities; a token between them has another one at another temperature
_STILL, _EXACT = 0.02, 1e-4  # log-probabilities no further apart are equal: of draws, of greedy replies
_COARSE = 0.1  # temperature may move a token no further: where repeats differ by more, nothing shows that it does not


class Told(StrEnum):
    """What the answer to a question was found to be."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    BEFORE = "before temperature"
    AFTER = "after temperature"
    UNTOLD = "cannot be told"


YES, PARTLY, NO, BEFORE, AFTER, UNTOLD = Told


@dataclass(frozen=True)
class Finding:
    """The answer to one question, and what was observed."""

    told: Told
    observed: str


@dataclass(frozen=True)
class Asked:
    """What came of a request: completions, how many of them each reply of a server brought, or why it failed."""

    request: Request
    completions: tuple[Completion, ...]
    sizes: tuple[int, ...] = ()
    seconds: float = 0.0
    failure: str = ""


Day = Sequence[Completion]  # replies to one greedy prompt: first, again, again, after one that begins like it, beside


async def examine(model: ChatModel, mark: str) -> tuple[dict[str, Finding], list[Asked]]:
    """The findings by question, and all that was asked. No earlier prompt may have begun with `mark`.

    Raises `CallFailed` or `BadInput` where not even the first question is answered.
    """
    asked: list[Asked] = []
    counted = getattr(model, "complete_counted", None)

    async def ask(*texts: str, t: float = 0.0, draws: Iterable[int] = (0,), most: int = _FEW, stop: str = "") -> Asked:
        at = t if model.capabilities.temperature else None
        messages = (*(Message("system", text) for text in texts[:-1]), Message("user", texts[-1]))
        stream, numbers = (GREEDY, (0,)) if at == 0 else (DOCTOR, tuple(draws))
        request = Request(messages, most, at, (stop,) if stop else (), stream=stream, draws=numbers, scored=True)
        arrived: list[Sequence[Completion]] = []
        failure, began = "", time.perf_counter()
        try:
            await counted(request, arrived.append) if counted else arrived.append(await model.complete(request))
        except CallFailed as error:
            failure = str(error)
        sizes, completions = tuple(map(len, arrived)) if counted else (), tuple(c for part in arrived for c in part)
        asked.append(Asked(request, completions, sizes, time.perf_counter() - began, failure))
        return asked[-1]

    plain = await ask(_OPEN)
    if plain.failure and (plain := await ask(_OPEN)).failure:  # a refused temperature is left out from now on
        raise CallFailed(plain.failure)
    gardener, counting = await ask(_GARDENER, _OPEN), await ask(_COUNT, most=_MORE, stop="\n\n\n")
    await ask(_SUM, most=_TO_THINK)
    reading = await ask(_DAY.format(mark) + _SENTENCE, most=1)
    pairs = [[await ask(_OPEN, t=1.0, draws=[draw]) for _ in range(2)] for draw in range(4)]
    pairs = [pair for pair in pairs if all(each.completions for each in pair)]
    many, _ = await ask(_OPEN, t=1.0, draws=range(4, 12)), await ask(_OPEN)
    days: list[Day] = []
    for number in "12" if model.capabilities.temperature else "":
        prompt = _DAY.format(f"{mark}-{number}")
        alike = [await ask(prompt + end) for end in (_SENTENCE, _SENTENCE, _SENTENCE, _GULLS, _SENTENCE)]
        others = (ask(_OPEN, t=1.0, draws=[draw]) for draw in range(12, 15))
        alike += [(await asyncio.gather(ask(prompt + _SENTENCE), *others))[0]]
        if all(each.completions for each in alike):
            days.append([each.completions[0] for each in alike if each is not alike[3]])
    scored = logprobs(asked)
    for t in (0.5, 2.0):  # the higher one last and only where it is needed: not every server takes it
        if scored.told is not NO and scale(seen_at(asked, _OPEN), (0.5,), 2).told is UNTOLD:
            await ask(_OPEN, t=t, draws=range(8))
    seen = seen_at(asked, _OPEN)
    sent: dict[str, Any] = getattr(model, "sent", dict)()
    out = ", ".join({**sent.get("dropped", {}), **sent.get("adapted", {})})
    window, nothing = getattr(model, "context_tokens", None), Finding(UNTOLD, "there were no replies to tell it from")
    return {
        "draws at once": draws_at_once(many, sent) if many.completions else nothing,
        "draws differ": draws_differ(many, [one for one, _ in pairs]) if many.completions else nothing,
        "seed": seed(pairs, sent) if pairs[1:] else nothing,
        "log-probabilities": scored,
        "those at T > 0": scale(seen, (0.5, 2.0), 2),
        "those at T = 0": scale(seen, (0.0,), 1),
        "greedy repeats": greedy_repeats(days) if days else nothing,
        "cache matters": cache_matters(days) if days else nothing,
        "thinking": thinking(asked),
        "system message": system_message(plain, gardener),
        "left out": Finding(YES, out) if out else Finding(NO, "nothing that a study sends is refused"),
        "speed": speed(reading, counting),
        "context": Finding(YES, f"{window:,} tokens") if window else Finding(UNTOLD, "the server does not say"),
    }, asked


def draws_at_once(many: Asked, sent: Mapping[str, Any]) -> Finding:
    """Whether one request brings several draws (n)."""
    wanted, most = len(many.request.draws), max(many.sizes, default=0)
    if most == 0:
        return Finding(YES, "the model runs here")
    if most > 1:
        return Finding(YES if most == wanted else PARTLY, f"one request brought {most} of {wanted} draws")
    why = sent["dropped"].get("n") or ("n is refused" if "n" in sent["adapted"] else "n is ignored without a word")
    return Finding(NO, f"{why}; each draw takes a request, which reads the prompt anew")


def draws_differ(many: Asked, singles: Sequence[Asked]) -> Finding:
    """Whether draws differ: those asked for at once, and those of requests with seeds of their own.

    Where all are equal, their probability says whether sampling can have brought that about.
    """
    at_once, alone = ([c.text for each in some for c in each.completions] for some in ([many], singles))
    if (different := len(set(at_once))) > 1:
        return Finding(YES, f"{different} of {len(at_once)} draws asked for at once are different")
    if len(set(alone)) > 1:
        return Finding(NO, f"{len(at_once)} draws asked for at once are copies; asked for one by one they differ")
    n, p = len(at_once + alone), min((math.exp(sum(c.logprobs)) for c in many.completions if c.logprobs), default=1.0)
    if p ** (n - 1) < _CHANCE:
        return Finding(NO, f"{n} draws are equal, though the probability of such a reply is {p:.2g}")
    return Finding(UNTOLD, f"{n} draws are equal, and the model may be sure of them")


def seed(pairs: Sequence[Sequence[Asked]], sent: Mapping[str, Any]) -> Finding:
    """Whether one seed brings one draw, where draws with other seeds differ often enough to tell."""
    if never := sent.get("dropped", {}).get("seed"):
        return Finding(NO, never)
    texts = [[each.completions[0].text for each in pair] for pair in pairs]
    same = sum(one == other for one, other in texts)
    equal_anyhow = fmean(one[0] == other[0] for one, other in combinations(texts, 2))
    observed = f"{same} of {len(texts)} draws came again with their seed"
    if same and equal_anyhow ** len(texts) > _CHANCE:
        return Finding(UNTOLD, f"{observed}, and draws with other seeds are equal too")
    return Finding(YES if same == len(texts) else PARTLY if same else NO, observed)


def logprobs(asked: Sequence[Asked]) -> Finding:
    """Whether replies come with log-probabilities of all their tokens; the adapter drops those that spell others."""
    replies = [completion for each in asked for completion in each.completions if completion.text]
    have = sum(reply.logprobs is not None for reply in replies)
    told = NO if not have else PARTLY if have < len(replies) else YES
    return Finding(told, f"{have} of {len(replies)} replies came with one for each token that they show")


Seen = Mapping[tuple[str, ...], Mapping[float | None, Sequence[float]]]


def seen_at(asked: Sequence[Asked], prompt: str) -> Seen:
    """Of replies to a prompt: tokens up to some place → temperature → log-probabilities of the last of them."""
    seen: dict[tuple[str, ...], dict[float | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in asked:
        for reply in each.completions if [m.content for m in each.request.messages] == [prompt] else ():
            for place, value in enumerate(reply.logprobs or (), start=1):
                seen[(reply.tokens or ())[:place]][each.request.temperature].append(value)
    return seen


def scale(seen: Seen, temperatures: Sequence[float], least: int) -> Finding:
    """Whether log-probabilities at these temperatures are the model's own, as they are at T = 1, or the sampler's.

    Two of one token are equal if they are no further apart than three times what is found at one temperature. `least`
    tokens are needed: one of a greedy reply, the likeliest, moves with any temperature; another may stay by chance.
    """
    noise = max((max(values) - min(values) for by_t in seen.values() for values in by_t.values()), default=0.0)
    tolerance = max(_STILL, 3 * noise)
    apart = [
        abs(fmean(by_t[t]) - fmean(by_t[1.0]))
        for by_t in seen.values()
        for t in temperatures
        if t in by_t and 1.0 in by_t and _RARE < fmean(by_t[1.0]) < _SURE
    ]
    moved = sum(distance > tolerance for distance in apart)
    shown = len(apart) >= least and (2 * moved > len(apart) or (not moved and tolerance <= _COARSE))
    told = UNTOLD if not shown else AFTER if moved else BEFORE
    return Finding(told, f"of {len(apart)} tokens seen there and at T = 1, {moved} are more than {tolerance:.2g} apart")


def greedy_repeats(days: Sequence[Day]) -> Finding:
    """Whether a greedy prompt brings its reply again, alone and beside other requests in flight."""
    alone, beside = _apart(days, (1, 2)), _apart(days, (2, 4))
    told = NO if alone == math.inf else PARTLY if beside == math.inf else YES
    return Finding(told, f"asked again alone, a reply differs {_words(alone)}; beside other requests {_words(beside)}")


def cache_matters(days: Sequence[Day]) -> Finding:
    """Whether a reply changes once the prompt, or one that begins like it, was seen: by more than it does anyhow."""
    anyhow, fresh = _apart(days, (1, 2)), _apart(days, (0, 1), (2, 3))
    told = UNTOLD if anyhow == math.inf else YES if fresh > max(3 * anyhow, _EXACT) else NO
    return Finding(told, f"where its beginning was seen, a reply differs {_words(fresh)}; asked again {_words(anyhow)}")


def _apart(days: Sequence[Day], *places: tuple[int, int]) -> float:
    """How far two replies to one prompt are apart at most: infinitely in words, else in log-probability."""

    def distance(one: Completion, other: Completion) -> float:
        moved = [abs(a - b) for a, b in zip(one.logprobs or (), other.logprobs or (), strict=False)]
        return max(moved, default=0.0) if one.text == other.text else math.inf

    return max(distance(day[a], day[b]) for day in days for a, b in places)


def _words(apart: float) -> str:
    by = f"by {apart:.2g} in log-probability" if apart > _EXACT else "in nothing"
    return "in words" if apart == math.inf else by


def thinking(asked: Sequence[Asked]) -> Finding:
    """Whether thinking stands in replies, leaves them empty, or is only counted (but for one token, the end marker)."""
    replies = [completion for each in asked for completion in each.completions]
    alone = [each.completions[0] for each in asked if len(each.completions) == 1 and not each.request.stop]
    leaking = sum(reply.text.lstrip().startswith("<think") for reply in replies)
    starved = sum(not reply.text.strip() and reply.finish_reason is FinishReason.LENGTH for reply in replies)
    hidden = sum(c.completion_tokens > 1 + len(c.text if c.tokens is None else c.tokens) for c in alone)
    observed = f"of {len(replies)} replies {leaking} begin with <think>, {starved} are empty with max_tokens used up"
    told = YES if leaking or starved else PARTLY if hidden else NO
    return Finding(told, f"{observed}, {hidden} count more tokens than they show")


def system_message(plain: Asked, gardener: Asked) -> Finding:
    """Whether a system message reaches the model: the prompt has other tokens with it, or the reply is another."""
    if gardener.failure:
        return Finding(NO, gardener.failure)
    before, after = plain.completions[0], gardener.completions[0]
    reply = "the same" if before.text == after.text else "another"
    told = NO if before.prompt_tokens else UNTOLD
    told = told if (before.prompt_tokens, before.text) == (after.prompt_tokens, after.text) else YES
    lengths = f"the prompt has {after.prompt_tokens} tokens with one and {before.prompt_tokens} without"
    return Finding(told, f"{lengths}; the reply is {reply}")


def speed(reading: Asked, counting: Asked) -> Finding:
    """Tokens a second, with the network and whatever else the server does in them."""
    read = sum(completion.prompt_tokens for completion in reading.completions)
    said = sum(completion.completion_tokens for completion in counting.completions)
    if not (read and said):
        return Finding(UNTOLD, "the server counts no tokens")
    rates = f"{read / reading.seconds:,.0f} tokens of a prompt and {said / counting.seconds:,.0f} of a reply"
    return Finding(YES, f"roughly {rates} a second, one request at a time")
