"""Self-confidence in the prior answer, by five definitions [2.3, 3.2, C.1]. A value never travels without its kind."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from srdcr_lab import prompts
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
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


def answer_logprobs(answer: Answer, item: Item) -> tuple[float, ...] | None:
    """Log-probabilities of the tokens that overlap the answer in the reply; None where the provider gave none.

    Tokens before and after the answer (a sentence around it, a full stop) do not count, nor does the end marker.
    """
    completion = answer.completion
    if completion.tokens is None or completion.logprobs is None:
        return None
    read = completion.tokens, completion.logprobs, answer.value, item.answer_type, item.unit
    return answer_tokens(answer.text, *read)


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
    return SelfConfidence(FROM_LOGPROBS[kind](answer_logprobs(prior, item) or ()), kind)


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
