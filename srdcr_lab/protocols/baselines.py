"""The answer to question and passage as it is: with four exemplars [4, baseline 1], and without any."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from srdcr_lab import prompts
from srdcr_lab.answers.token_confidence import mean_probability
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import (
    Answer,
    SelfConfidence,
    answer_logprobs,
    context_answer,
    prior_answer,
    read,
    self_confidence,
    with_passage,
    zero_shot_answer,
)
from srdcr_lab.protocols.method import Belief, Method, Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import Reading, answer_of, speak
from srdcr_lab.records import CallFailed, ConfidenceKind, Debate, Decision, Item, Message, Missing, Role, Turn


async def few_shot(item: Item, setup: Setup) -> Outcome:
    """The context answer: four seeded random in-domain exemplars, question and passage [A.2]."""
    return given(await context_answer(item, setup))


async def zero_shot(item: Item, setup: Setup) -> Outcome:
    """The same without exemplars."""
    return given(await zero_shot_answer(item, setup))


FEW_SHOT = Method("few_shot", few_shot)
ZERO_SHOT = Method("zero_shot", zero_shot)


# -- what one signal does alone: the truth itself, self-confidence. (The verdict alone is `sr_dcr.debate_only`.)


async def golden(item: Item, setup: Setup) -> Outcome:
    """The context answer where the passage is true, else the prior answer."""
    if item.is_standard:
        return given(await context_answer(item, setup), decision=Decision.USE_CONTEXT)
    return given(await prior_answer(item, setup), decision=Decision.USE_PRIOR)


async def confidence_only(item: Item, setup: Setup) -> Outcome:
    """The prior answer where Conf ≥ τ, else the context answer."""
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    confidence = await self_confidence(item, prior, setup)
    if confidence.value >= setup.choices.tau:  # NaN is not
        return replace(given(prior, decision=Decision.USE_PRIOR), confidence=confidence)
    return replace(given(context, decision=Decision.USE_CONTEXT), confidence=confidence)


GOLDEN = Method("golden", golden)
CONFIDENCE_ONLY = Method("confidence_only", confidence_only, uses_confidence=True)


# -- self-Ask [A.2]: a question on the way, its answer, the final answer, in one reply of three lines

SELF_ASK_TOKENS = 400


async def self_ask(item: Item, setup: Setup) -> Outcome:
    """One call; the answer is read from the last line, `Final answer: …`, and from nothing else."""

    def final(text: str) -> str | None:
        said = readers.final_answer(text)
        return None if said is None else read(said, item, setup.choices.match)

    messages = prompts.render("self_ask", question=item.question, passage=item.context)
    (turn,) = await speak(Role.AGENT, messages, setup, round_=0, max_tokens=SELF_ASK_TOKENS, states=final)
    return given(answer_of(turn, readers.final_answer(turn.text)), Debate(turns=(turn,), verdict_path=()))


SELF_ASK = Method("self_ask", self_ask)


# -- RCI, recursive criticism and improvement [A.2]: answer, find fault with it, improve it

RCI_TOKENS = 300  # of each step


async def rci(item: Item, setup: Setup) -> Outcome:
    """Three calls, each shown question and passage, and what the ones before it said."""

    def stated(text: str) -> str | None:
        return read(text, item, setup.choices.match)

    async def step(messages: Sequence[Message], *saw: int, states: Reading | None = None) -> Turn:
        (turn,) = await speak(
            Role.AGENT, messages, setup, round_=len(saw), max_tokens=RCI_TOKENS, saw_turns=saw, states=states
        )
        return turn

    shown = partial(prompts.render, question=item.question, passage=item.context)
    first = await step(with_passage(item), states=stated)
    critique = await step(shown("rci_critique", answer=first.text), 0)
    improved = await step(shown("rci_improve", answer=first.text, critique=critique.text), 0, 1, states=stated)
    return given(answer_of(improved, None), Debate(turns=(first, critique, improved), verdict_path=()))


RCI = Method("rci", rci)


# -- ClashEval's rules: believe the answer with the more probable tokens, as it is or by percentile rank


async def token_probability(item: Item, setup: Setup) -> Outcome:
    """The prior answer where its mean token probability is the higher one, else the context answer.

    An answer that could not be read is never the more probable one; with neither read the outcome is UNPARSED.

    Raises
    ------
    CallFailed
        If the model gives no log-probabilities.
    """
    prior, context = await asyncio.gather(prior_answer(item, setup), context_answer(item, setup))
    believed = _probability(prior, item, setup), _probability(context, item, setup)
    decision = more_probable(*believed)
    chosen = {Decision.USE_PRIOR: prior, Decision.USE_CONTEXT: context}.get(decision) if decision else None
    return Outcome(
        answer=chosen,
        missing=None if chosen else Missing.UNPARSED,
        decision=decision,
        confidence=SelfConfidence(believed[0], ConfidenceKind.MEAN_PROBABILITY),
        context_confidence=believed[1],
    )


def more_probable(prior: float, context: float) -> Decision | None:
    """Which answer to use; equal values go to the passage, and NaN is below everything.

    >>> more_probable(0.9, 0.8)
    <Decision.USE_PRIOR: 'USE_PRIOR'>
    """
    if math.isnan(prior) and math.isnan(context):
        return None
    return Decision.USE_PRIOR if prior > context or math.isnan(context) else Decision.USE_CONTEXT


def by_percentile(beliefs: Sequence[Belief]) -> list[Decision | None]:
    """The same rule on percentile ranks: a prior answer's among the questions, a context answer's among the items.

    None where neither answer could be read.
    """
    values = [(_number(belief.prior), _number(belief.context)) for belief in beliefs]
    of_questions = {belief.question_id: prior for belief, (prior, _) in zip(beliefs, values, strict=True)}
    priors = sorted(value for value in of_questions.values() if not math.isnan(value))
    contexts = sorted(context for _, context in values if not math.isnan(context))
    return [more_probable(percentile_rank(p, priors), percentile_rank(c, contexts)) for p, c in values]


def percentile_rank(value: float, among: Sequence[float]) -> float:
    """Share of `among` (ascending) below the value, those equal to it counted half; NaN for NaN.

    >>> percentile_rank(0.5, [0.1, 0.5, 0.5, 0.9])
    0.5
    """
    if math.isnan(value):
        return math.nan
    return (bisect_left(among, value) + bisect_right(among, value)) / (2 * len(among))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _probability(answer: Answer, item: Item, setup: Setup) -> float:
    """Mean probability of the answer's tokens; NaN where no answer could be read."""
    if answer.value is None:
        return math.nan
    logprobs = answer_logprobs(answer, item)
    if logprobs is None:
        raise CallFailed(f"{setup.cast.answerer.identity} gives no log-probabilities, which token_probability needs")
    return mean_probability(logprobs)


TOKEN_PROBABILITY = Method("token_probability", token_probability, uses_logprobs=True)
CALIBRATED_TOKEN_PROBABILITY = Method(
    "calibrated_token_probability", token_probability, uses_logprobs=True, settle=by_percentile
)
