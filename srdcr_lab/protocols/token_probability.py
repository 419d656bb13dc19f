"""ClashEval's rules: believe the answer with the more probable tokens, as it is or by percentile rank.

Probability is the arithmetic mean over the answer's tokens, (1/L) Σ p(tᵢ). The prior answer's is conditional on the
question, the context answer's on question and passage, where nearly every answer is probable: so the calibrated rule
compares ranks, each among its own kind over all items of the run.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from srdcr_lab.answers.token_confidence import mean_probability
from srdcr_lab.protocols.answering import Answer, context_answer, prior_answer
from srdcr_lab.protocols.confidence import SelfConfidence, answer_logprobs
from srdcr_lab.protocols.method import Belief, Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import CallFailed, ConfidenceKind, Decision, Item, Missing


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
