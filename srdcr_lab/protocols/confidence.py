"""Self-confidence in the prior answer, by five definitions [2.3, 3.2, C.1]. A value never travels without its kind."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from srdcr_lab import answers, prompts
from srdcr_lab.prompts import parse
from srdcr_lab.protocols.answering import Answer, consistency_draws, same_answer
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import ConfidenceKind, Item, Request

Redraw = Callable[[], Awaitable[tuple[Answer, ...]]]


@dataclass(frozen=True, slots=True)
class SelfConfidence:
    """Belief in the prior answer, in [0, 1]; NaN where it could not be had. `draws` are those it was estimated from."""

    value: float
    kind: ConfidenceKind
    draws: tuple[Answer, ...] = ()


def mean_logprob(logprobs: Sequence[float]) -> float:
    """exp((1/L) Σ log p(tᵢ)): the geometric mean of the answer tokens' probabilities [2.3]. NaN for no token.

    >>> round(mean_logprob([math.log(0.9), math.log(0.4)]), 3)
    0.6
    """
    return math.exp(math.fsum(logprobs) / len(logprobs)) if logprobs else math.nan


def sequence(logprobs: Sequence[float]) -> float:
    """exp(Σ log p(tᵢ)): the probability of the whole answer. NaN for no token."""
    return math.exp(math.fsum(logprobs)) if logprobs else math.nan


def mean_probability(logprobs: Sequence[float]) -> float:
    """(1/L) Σ p(tᵢ): ClashEval's arithmetic mean. NaN for no token."""
    return math.fsum(map(math.exp, logprobs)) / len(logprobs) if logprobs else math.nan


_FROM_LOGPROBS = {
    ConfidenceKind.MEAN_LOGPROB: mean_logprob,
    ConfidenceKind.SEQUENCE: sequence,
    ConfidenceKind.MEAN_PROBABILITY: mean_probability,
}


def answer_logprobs(answer: Answer, item: Item) -> tuple[float, ...] | None:
    """Log-probabilities of the tokens that overlap the answer in the reply; None where the provider gave none.

    Tokens before and after the answer (a sentence around it, a full stop) do not count, nor does the end marker.
    """
    completion = answer.completion
    if completion.tokens is None or completion.logprobs is None:
        return None
    start, end = _answer_span(answer, item)
    kept, position = [], 0
    for token, logprob in zip(completion.tokens, completion.logprobs, strict=True):
        if position < end and position + len(token) > start:
            kept.append(logprob)
        position += len(token)
    return tuple(kept)


def _answer_span(answer: Answer, item: Item) -> tuple[int, int]:
    text = answer.text
    spans = answers.find(text, answer.value, item.answer_type, item.unit) if answer.value is not None else []
    if spans:
        first = next((span for span in spans if not span.partial), spans[0])
        return first.start, first.end
    return len(text) - len(text.lstrip()), len(text.rstrip())


async def self_confidence(item: Item, prior: Answer, setup: Setup, draw_again: Redraw | None = None) -> SelfConfidence:
    """Confidence in the prior answer by the chosen kind; `draw_again` draws its prompt anew where it has another one.

    ``auto`` takes `mean_logprob` where the reply came with log-probabilities, else `self_consistency`. A prior answer
    that could not be read is none to believe in: NaN, whatever the kind, and nothing more is asked. An explicit
    log-probability kind without log-probabilities, and a verbalized reply that cannot be read, give NaN too: such an
    item is never above τ.
    """
    kind = setup.choices.confidence
    if kind == "auto":
        given = setup.cast.answerer.capabilities.logprobs and prior.completion.logprobs is not None
        kind = ConfidenceKind.MEAN_LOGPROB if given else ConfidenceKind.SELF_CONSISTENCY
    if prior.value is None:
        return SelfConfidence(math.nan, kind)
    if kind is ConfidenceKind.SELF_CONSISTENCY:
        return _agreement(item, prior, await (draw_again() if draw_again else consistency_draws(item, setup)))
    if kind is ConfidenceKind.VERBALIZED:
        return SelfConfidence(await _verbalized(item, prior, setup), kind)
    return SelfConfidence(_FROM_LOGPROBS[kind](answer_logprobs(prior, item) or ()), kind)


def _agreement(item: Item, prior: Answer, draws: tuple[Answer, ...]) -> SelfConfidence:
    """Share of draws that equal the greedy answer; unread draws count as unequal [C.1]."""
    agree = sum(same_answer(draw.value, prior.value, item) for draw in draws)
    return SelfConfidence(agree / len(draws) if draws else math.nan, ConfidenceKind.SELF_CONSISTENCY, draws)


async def _verbalized(item: Item, prior: Answer, setup: Setup) -> float:
    messages = prompts.render("verbalized_confidence", question=item.question, answer=prior.text)
    request = Request(messages=messages, max_tokens=setup.choices.answer_tokens, seed=setup.seed)
    (completion,) = await setup.cast.answerer.complete(request)
    stated = parse.confidence(completion.text)
    return math.nan if stated is None else stated
