"""Methods that hold no debate [4, A.2]: answers as they are, what the truth or confidence decides alone, self-ask, RCI,
and ClashEval's token probabilities.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from srdcr_lab.answers.token_confidence import mean_probability
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import (
    Outcome,
    SelfConfidence,
    answer_logprobs,
    answered,
    context_answer,
    prior_answer,
    self_confidence,
)
from srdcr_lab.protocols.speaking import Answer, Conversation, Setup, no_answer
from srdcr_lab.records import CallFailed, ConfidenceKind, Decision, Item, Missing, Role


async def few_shot(item: Item, setup: Setup) -> Outcome:
    """The context answer: four seeded random in-domain exemplars, question and passage [A.2]."""
    return answered(await context_answer(item, setup))


async def zero_shot(item: Item, setup: Setup) -> Outcome:
    """The same without exemplars."""
    talk = Conversation(item, setup, setup.choices.answer_tokens)
    return answered(talk.answer(await talk.ask(Role.AGENT, "answer_with_passage")))


async def golden(item: Item, setup: Setup) -> Outcome:
    """The context answer where the passage is true, else the prior answer."""
    if item.is_standard:
        return answered(await context_answer(item, setup), decision=Decision.USE_CONTEXT)
    return answered(await prior_answer(item, setup), decision=Decision.USE_PRIOR)


async def confidence_only(item: Item, setup: Setup) -> Outcome:
    """The prior answer where Conf ≥ τ, else the context answer."""
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    confidence = await self_confidence(item, prior, setup)
    if confidence.value >= setup.choices.tau:  # NaN is not
        return answered(prior, decision=Decision.USE_PRIOR, confidence=confidence)
    return answered(context, decision=Decision.USE_CONTEXT, confidence=confidence)


SELF_ASK_TOKENS, RCI_TOKENS = 400, 300  # of the one reply; of each step


async def self_ask(item: Item, setup: Setup) -> Outcome:
    """One reply of three lines: a question on the way, its answer, and ``Final answer: …``, which alone is read."""
    talk = _LastLine(item, setup, SELF_ASK_TOKENS)
    turn = await talk.ask(Role.AGENT, "self_ask")
    return answered(talk.answer(turn), talk.debate([turn]))


class _LastLine(Conversation):
    def part(self, reply: str) -> str:
        return readers.final_answer(reply) or ""


async def rci(item: Item, setup: Setup) -> Outcome:
    """Recursive criticism and improvement: answer, find fault with the answer, improve it."""
    talk = Conversation(item, setup, RCI_TOKENS)
    first = await talk.ask(Role.AGENT, "answer_with_passage")
    shown = {"answer": first.text}
    critique = await talk.ask(Role.AGENT, "rci_critique", round_=1, heard=[first], reads=no_answer, **shown)
    shown |= {"critique": critique.text}
    improved = await talk.ask(Role.AGENT, "rci_improve", round_=2, heard=[first, critique], **shown)
    return answered(talk.answer(improved), talk.debate([first, critique, improved]))


async def token_probability(item: Item, setup: Setup) -> Outcome:
    """The prior answer where its mean token probability is the higher one, else the context answer.

    An answer that could not be read is never the more probable one; with neither read the outcome is UNPARSED.

    Raises
    ------
    CallFailed
        If the model gives no log-probabilities.
    """
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    of_prior, of_context = _probability(prior, item, setup), _probability(context, item, setup)
    decision = more_probable(of_prior, of_context)
    chosen = {Decision.USE_PRIOR: prior, Decision.USE_CONTEXT: context}[decision] if decision else None
    return Outcome(
        answer=chosen,
        missing=None if chosen else Missing.UNPARSED,
        decision=decision,
        confidence=SelfConfidence(of_prior, ConfidenceKind.MEAN_PROBABILITY),
        context_confidence=of_context,
    )


def _probability(answer: Answer, item: Item, setup: Setup) -> float:
    """Mean probability of the answer's tokens; NaN where no answer could be read."""
    if answer.value is None:
        return math.nan
    logprobs = answer_logprobs(answer, item)
    if logprobs is None:
        raise CallFailed(f"{setup.cast.answerer.identity} gives no log-probabilities, which token_probability needs")
    return mean_probability(logprobs)


def more_probable(prior: float, context: float) -> Decision | None:
    """Which answer to use; equal values go to the passage, NaN is below everything, and None is for two NaN.

    >>> more_probable(0.9, 0.8)
    <Decision.USE_PRIOR: 'USE_PRIOR'>
    """
    if math.isnan(prior) and math.isnan(context):
        return None
    return Decision.USE_PRIOR if prior > context or math.isnan(context) else Decision.USE_CONTEXT


@dataclass(frozen=True, slots=True)
class Belief:
    """How far a model believes its two answers to an item; NaN or None where one could not be read."""

    question_id: str
    prior: float | None
    context: float | None


def by_percentile(beliefs: Sequence[Belief]) -> list[Decision | None]:
    """The same rule on percentile ranks: a prior answer's among the questions, a context answer's among the items.

    None where neither answer could be read.
    """
    values = [(_number(belief.prior), _number(belief.context)) for belief in beliefs]
    of_questions = {belief.question_id: prior for belief, (prior, _) in zip(beliefs, values, strict=True)}
    priors = sorted(prior for prior in of_questions.values() if not math.isnan(prior))
    contexts = sorted(context for _, context in values if not math.isnan(context))
    return [more_probable(percentile_rank(p, priors), percentile_rank(c, contexts)) for p, c in values]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def percentile_rank(value: float, among: Sequence[float]) -> float:
    """Share of `among` (ascending) below the value, those equal to it counted half; NaN for NaN.

    >>> percentile_rank(0.5, [0.1, 0.5, 0.5, 0.9])
    0.5
    """
    if math.isnan(value):
        return math.nan
    return (bisect_left(among, value) + bisect_right(among, value)) / (2 * len(among))
