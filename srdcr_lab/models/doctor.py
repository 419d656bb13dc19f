"""What a server does with what a study asks of it: `examine` asks a few dozen short questions and reads the replies.

They go through the model's own adapter, as those of a run. Two of its members show what it hides: `complete_counted`
how many draws one reply brings, and `sent` what is left out of requests. All other functions are pure.

Log-probabilities are the model's own in vLLM, llama.cpp and Ollama (github.com/ollama/ollama/issues/16196), and the
sampler's in SGLang (github.com/sgl-project/sglang/pull/2664), except at T = 0; gateways have either
(github.com/standardcompletions/rfcs/issues/11). A cache of prompts can change results, as llama.cpp's README says.
"""

import asyncio
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from srdcr_lab.models.base import ChatModel
from srdcr_lab.records import GREEDY, CallFailed, Completion, FinishReason, Message, Request, Told
from srdcr_lab.records.files import rows_beside
from srdcr_lab.records.vocabulary import NEED_DRAWS, NEED_LOGPROBS

DOCTOR = "doctor"  # the stream of its draws, and the name under which a store remembers the findings
_OPEN = "Write one sentence about anything you like."
_GARDENER = "You are a gardener. Whatever you are asked, write about roses in winter, and about nothing else."
_DAY = "Entry {} of a log book. Two boats came in before noon, the wind turned to north, nine gulls sat on the wall. "
_SENTENCE, _GULLS = "Write one sentence about this day.", "How many gulls were there?"
_CHANCE = 0.05  # what chance brings about more often is not claimed
_RARE, _SURE = -4.0, -0.1  # log-probabilities; a token between them has another one at another temperature
_STILL, _EXACT = 0.02, 1e-4  # log-probabilities no further apart are equal: of draws, of greedy replies
YES, PARTLY, NO, BEFORE, AFTER, UNTOLD = Told
Observed = tuple[Told, str]  # and what was observed


@dataclass(frozen=True)
class Trial:
    """What came of a request: completions, how many of them each reply of a server brought, or why it failed."""

    request: Request
    completions: tuple[Completion, ...]
    sizes: tuple[int, ...] = ()
    failure: str = ""

    @property
    def text(self) -> str:
        return self.completions[0].text if self.completions else ""


async def examine(model: ChatModel) -> tuple[dict[str, Observed], list[Trial]]:
    """The findings by question, and all that was asked. Raises what the first question raises if it is not answered."""
    asked: list[Trial] = []
    counted, mark = getattr(model, "complete_counted", None), secrets.token_hex(4)  # in prompts that are new to a cache

    async def ask(*texts: str, t: float = 0.0, draws: Iterable[int] = (0,)) -> Trial:
        at = t if model.capabilities.temperature else None
        messages = (*(Message("system", text) for text in texts[:-1]), Message("user", texts[-1]))
        stream, numbers = (GREEDY, (0,)) if at == 0 else (DOCTOR, tuple(draws))
        request = Request(messages, 12, at, stream=stream, draws=numbers, scored=True)
        arrived: list[Sequence[Completion]] = []
        failure = ""
        try:
            await counted(request, arrived.append) if counted else arrived.append(await model.complete(request))
        except CallFailed as error:
            failure = str(error)
        sizes, completions = tuple(map(len, arrived)) if counted else (), tuple(c for part in arrived for c in part)
        asked.append(Trial(request, completions, sizes, failure))
        return asked[-1]

    if check := getattr(model, "check", None):
        await check()
    plain = await ask(_OPEN)
    if plain.failure and (plain := await ask(_OPEN)).failure:  # a refused temperature is left out from now on
        raise CallFailed(plain.failure)
    gardener = await ask(_GARDENER, _OPEN)
    pairs = [[await ask(_OPEN, t=1.0, draws=[draw]) for _ in range(2)] for draw in range(4)]
    many, _ = await ask(_OPEN, t=1.0, draws=range(4, 12)), await ask(_OPEN)
    days = []
    for number in (1, 2) if model.capabilities.temperature else ():
        prompt = _DAY.format(f"{mark}-{number}") * 4
        day = [await ask(prompt + end) for end in (_SENTENCE, _SENTENCE, _SENTENCE, _GULLS, _SENTENCE)]
        beside = (ask(_OPEN, t=1.0, draws=[draw]) for draw in range(12, 15))
        day += (await asyncio.gather(ask(prompt + _SENTENCE), *beside))[:1]
        days += [[each.completions[0] for each in day]] if all(each.text for each in day) else []
    # The higher one last and only where it is needed: not every server takes it.
    for t in (0.5, 2.0) if model.capabilities.temperature else ():
        if logprobs(asked)[0] is not NO and score_scale(asked, [0.5], 2)[0] is UNTOLD:
            await ask(_OPEN, t=t, draws=range(8))
    sent, window = getattr(model, "sent", dict[str, Any])(), getattr(model, "context_tokens", None)
    out = {**sent.get("dropped", {}), **sent.get("adapted", {})}
    nothing = UNTOLD, "there are no replies to tell it from"
    repeats, matters = greedy(days) if days else (nothing, nothing)
    return {
        "draws at once (n)": draws_at_once(many, sent) if many.completions else nothing,
        "draws differ": draws_differ(many, [one for one, _ in pairs]) if many.completions else nothing,
        "seed": seed([[one.text, again.text] for one, again in pairs if one.text and again.text], sent),
        "log-probabilities": logprobs(asked),
        "log-probabilities at T > 0": score_scale(asked, [0.5, 2.0], 2),
        "log-probabilities at T = 0": score_scale(asked, [0.0], 1),
        "greedy repeats": repeats,
        "prompt cache matters": matters,
        "thinking in replies": thinking(asked),
        "system message arrives": system_message(plain, gardener),
        "left out of requests": (YES, ", ".join(out)) if out else (NO, "nothing that a study sends is refused"),
        "context length": (YES, f"{window:,} tokens") if window else (UNTOLD, "unknown"),
    }, asked


def draws_at_once(many: Trial, sent: Mapping[str, Any]) -> Observed:
    """Whether one request returns several draws (n)."""
    wanted, most = len(many.request.draws), max(many.sizes, default=0)
    if most == 0:
        return YES, "the model runs here"
    finding = YES if most == wanted else PARTLY if most > 1 else NO
    ignored = sent.get("dropped", {}).get("n", "ignored")
    taken = "taken" if most > 1 else "refused" if "n" in sent.get("adapted", {}) else ignored
    return finding, f"one request brought {most} of {wanted} draws (n is {taken})"


def draws_differ(many: Trial, singles: Sequence[Trial]) -> Observed:
    """Whether draws differ, asked for at once and one by one; if they do not, whether chance explains it."""
    at_once, alone = [completion.text for completion in many.completions], [each.text for each in singles if each.text]
    n, different = len(at_once + alone), len(set(at_once))
    if different > 1:
        return YES, f"{different} of {len(at_once)} draws asked for at once are different"
    if len(set(alone)) > 1:
        return NO, f"{len(at_once)} draws asked for at once are copies; asked for one by one they differ"
    p = min((math.exp(sum(c.logprobs)) for c in many.completions if c.logprobs), default=1.0)
    if p ** (n - 1) < _CHANCE:
        return NO, f"{n} draws are equal, though the probability of such a reply is {p:.2g}"
    return UNTOLD, f"{n} draws are equal, and the model may be sure of them"


def seed(pairs: Sequence[Sequence[str]], sent: Mapping[str, Any]) -> Observed:
    """Whether one seed gives one draw, if draws with other seeds differ often enough to show it."""
    if never := sent.get("dropped", {}).get("seed"):
        return NO, never
    same, others = sum(one == again for one, again in pairs), [a[0] == b[0] for a, b in combinations(pairs, 2)]
    observed = f"{same} of {len(pairs)} draws came again with their seed"
    if not others or (same and (sum(others) / len(others)) ** len(pairs) > _CHANCE):
        return UNTOLD, f"{observed}, which chance explains as well"
    return YES if same == len(pairs) else PARTLY if same else NO, observed


def logprobs(asked: Sequence[Trial]) -> Observed:
    """Whether replies have log-probabilities for all their tokens; the adapter drops those that spell another text."""
    replies = [completion for each in asked for completion in each.completions if completion.text]
    have = sum(reply.logprobs is not None for reply in replies)
    finding = NO if not have else PARTLY if have < len(replies) else YES
    return finding, f"{have} of {len(replies)} replies came with one for each token that they show"


def score_scale(asked: Sequence[Trial], temperatures: Sequence[float], least: int) -> Observed:
    """Whether log-probabilities at these temperatures are the model's own, as they are at T = 1, or the sampler's.

    At least so many tokens have to be seen there and at T = 1 after the same tokens: the likeliest, as of a greedy
    reply, moves with temperature; another may stay by chance. The median distance decides if it is nothing, or far
    above the variation at one temperature (which a cache of prompts may cause).
    """
    seen: dict[tuple[str, ...], dict[float | None, list[float]]] = {}
    for each in asked:
        for reply in each.completions if each.request.messages == (Message("user", _OPEN),) else ():
            for place, value in enumerate(reply.logprobs or (), start=1):
                seen.setdefault((reply.tokens or ())[:place], {}).setdefault(each.request.temperature, []).append(value)
    noise = max([_STILL, *(3 * (max(values) - min(values)) for by_t in seen.values() for values in by_t.values())])
    pairs = [(by_t[t][0], by_t[1.0][0]) for by_t in seen.values() for t in temperatures if {t, 1.0} <= by_t.keys()]
    apart = [abs(there - own) for there, own in pairs if _RARE < own < _SURE]
    middle = median(apart) if len(apart) >= least else math.nan
    finding = BEFORE if middle <= _STILL else AFTER if middle > noise else UNTOLD
    half = f"; half of them differ by at most {middle:.2g}" if len(apart) >= least else ""
    return finding, f"{len(apart)} tokens were seen there and at T = 1{half}"


def greedy(days: Sequence[Sequence[Completion]]) -> tuple[Observed, Observed]:
    """Whether a greedy reply comes again, and whether it changes by more than that once its prompt's start is cached.

    Of a day: 0 to a new prompt, 1 and 2 to it again, 4 after another that begins like it, 5 beside others in flight.
    """

    def apart(*places: tuple[int, int]) -> tuple[float, str]:
        most = 0.0  # infinitely in words, else in log-probability
        for one, other in ((day[a], day[b]) for day in days for a, b in places):
            moved = (abs(a - b) for a, b in zip(one.logprobs or (), other.logprobs or (), strict=False))
            most = max([most, *moved]) if one.text == other.text else math.inf
        by = f"by {most:.2g} in log-probability" if most > _EXACT else "in nothing seen"
        return most, "in words" if most == math.inf else by

    (alone, so), (beside, otherwise), (fresh, anew) = apart((1, 2)), apart((2, 5)), apart((0, 1), (2, 4))
    repeats = NO if alone == math.inf else PARTLY if beside == math.inf else YES
    matters = UNTOLD if alone == math.inf else YES if fresh > max(3 * alone, _EXACT) else NO
    again = f"asked again alone, a reply differs {so}; beside other requests {otherwise}"
    cached = f"once its beginning was seen, a reply differs {anew}; asked again as it is {so}"
    return (repeats, again), (matters, cached)


def thinking(asked: Sequence[Trial]) -> Observed:
    """Whether thinking stands in replies, leaves them empty, or is only counted (but for one token, the end marker)."""
    replies = [completion for each in asked for completion in each.completions]
    alone = [each.completions[0] for each in asked if len(each.completions) == 1]
    leaking = sum(reply.text.lstrip().startswith("<think") for reply in replies)
    # a reply may also be of tokens that have no text
    unseen = [c for c in replies if not c.text.strip() and len(c.tokens or ()) < max(1, c.completion_tokens)]
    starved = sum(reply.finish_reason is FinishReason.LENGTH for reply in unseen)
    hidden = sum(c.completion_tokens > 1 + len(c.text.encode() if c.tokens is None else c.tokens) for c in alone)
    kinds = f"{leaking} begin with <think>, {starved} are empty and cut, {hidden} count more tokens than they show"
    return YES if leaking or starved else PARTLY if hidden else NO, f"of {len(replies)} replies {kinds}"


def system_message(plain: Trial, gardener: Trial) -> Observed:
    """Whether a system message reaches the model: the prompt has other tokens with it, or the reply changes."""
    if gardener.failure:
        return NO, "a request with one fails"
    before, after = (each.completions[0].prompt_tokens for each in (plain, gardener))
    finding = YES if (before, plain.text) != (after, gardener.text) else NO if before else UNTOLD
    reply = "the same" if plain.text == gardener.text else "another"
    return finding, f"the prompt has {after} tokens with one and {before} without; the reply is {reply}"


_TOKENS = f"{', '.join(NEED_LOGPROBS)}, token_probability and calibrated_token_probability"
_DRAWS = f"{', '.join(NEED_DRAWS)} and knowledge categories"
_SCORES, *_SCALES = (f"log-probabilities{at}" for at in ("", " at T = 0", " at T > 0"))
MEANS = {(row["about"], Told(row["finding"])): row["means"] for row in rows_beside(__file__, "doctor.csv")}


def conclusions(findings: Mapping[str, Observed], *, is_fit: bool = True) -> Iterator[str]:
    """What findings mean for a study, in sentences. Incomplete log-probabilities allow no conclusion."""
    for (about, finding), sentence in MEANS.items():
        if findings[about][0] is finding and (findings[_SCORES][0] is YES or about not in _SCALES):
            yield sentence.format(tokens=_TOKENS, draws=_DRAWS)
    if "temperature" in findings["left out of requests"][1]:
        yield "answers are the most frequent of several draws, and every row says so: temperature is refused"
    yield "verbalized needs words alone, and is valid" if is_fit else "this server is not fit for a study as it is"
