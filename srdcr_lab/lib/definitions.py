"""What the paper defines for one question or item [2.2, 3.1, 3.2]: category, verdict, decision, ending."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.records import Decision, KnowledgeCategory, Missing, Verdict

HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM, PAPER_TAU = 0.85, 0.30, 0.90
CATEGORIES = tuple(KnowledgeCategory)  # from highly known to unknown


def sampled_accuracy(correct: Sequence[bool]) -> float:
    """Acc = (1/N) Σ 1[âᵢ = a] over N draws; an unread draw is not correct. NaN for no draw.

    >>> sampled_accuracy([True] * 28 + [False] * 4)
    0.875
    """
    return float(np.mean(np.asarray(correct, dtype=float))) if len(correct) else math.nan


def categorise(
    accuracy: ArrayLike, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.intp]:
    """The position in `CATEGORIES` of each sampled accuracy in [0, 1]; −1 for NaN.

    Highly ≥ 0.85; Maybe [0.30, 0.85); Weakly (0, 0.30); Unknown = 0, so with more draws fewer questions are Unknown.

    >>> categorise([0.875, 0.19, 0.0]).tolist()
    [0, 2, 3]
    """
    if not 0 < maybe_from <= highly_from <= 1:
        raise ValueError(f"categories need 0 < maybe ≤ highly ≤ 1, got {maybe_from} and {highly_from}")
    values = np.asarray(accuracy, float)
    passed = np.searchsorted([np.nextafter(0, 1), maybe_from, highly_from], values, side="right")
    return np.where(np.isnan(values), -1, len(CATEGORIES) - 1 - passed)


def knowledge_category(accuracy: float, **bounds: float) -> KnowledgeCategory | None:
    """The category of one sampled accuracy; None for NaN (no draws)."""
    if math.isnan(accuracy):
        return None
    if not 0 <= accuracy <= 1:
        raise ValueError(f"a sampled accuracy lies in [0, 1], got {accuracy}")
    return CATEGORIES[int(categorise(accuracy, **bounds))]


def category_counts(n_draws: int, **bounds: float) -> NDArray[np.intp]:
    """The position in `CATEGORIES` for each number of correct draws 0 … n; shape (n_draws + 1,)."""
    return categorise(np.arange(n_draws + 1) / n_draws, **bounds)


def redraw_stability(successes: int, n: int, **bounds: float) -> float:
    """P(same category on n new draws | k of n correct), k′ ~ BetaBinomial(n, k + ½, n − k + ½); NaN for n = 0. Ours."""
    from scipy.stats import betabinom  # takes a second to import, which the command line would pay at every start

    if n == 0:
        return math.nan
    labels = category_counts(n, **bounds)
    probabilities = betabinom.pmf(np.arange(n + 1), n, successes + 0.5, n - successes + 0.5)
    return float(probabilities[labels == labels[successes]].sum())


def highly_known(questions: pd.DataFrame) -> pd.Series:
    """Whether each question is Highly-Known; missing without draws: the target of P(Highly-Known | Conf ≥ τ) [4.2]."""
    category = questions["knowledge_category"]
    return (category == CATEGORIES[0]).astype("boolean").mask(category.isna())


@dataclass(frozen=True, slots=True)
class Ruling:
    """V*, r*, and whether V* holds for more than the last round.

    r* and `stabilised` are None where only the last verdict was asked for; of an UNPARSED V*, r* alone is None.
    """

    verdict: Verdict
    r_star: int | None
    stabilised: bool | None


def stabilised_verdict(path: Sequence[Verdict], first_round: int = 0) -> Ruling:
    """The earliest stabilised verdict: V(r*) with V(r*) = … = V(R−1) [3.1].

    UNPARSED breaks a run of equal verdicts. If the last verdict is UNPARSED, so is V*, and r* is None.

    >>> stabilised_verdict([Verdict.UNREASONABLE, Verdict.REASONABLE, Verdict.REASONABLE]).r_star
    1
    """
    last = path[-1] if path else Verdict.UNPARSED
    if last is Verdict.UNPARSED:
        return Ruling(Verdict.UNPARSED, None, stabilised=False)
    start = len(path) - 1
    while start > 0 and path[start - 1] is last:
        start -= 1
    return Ruling(last, first_round + start, stabilised=start < len(path) - 1)


def majority_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of more than half of the draws of one ruling; UNPARSED where there is no such majority."""
    most = max(verdicts, key=verdicts.count, default=Verdict.UNPARSED)
    return most if 2 * verdicts.count(most) > len(verdicts) else Verdict.UNPARSED


def decide(
    verdict: Verdict | None,
    confidence: float,
    tau: float = PAPER_TAU,
    *,
    gate: bool = True,
    unreasonable: Decision = Decision.USE_PRIOR,
    unparsed: Decision = Decision.ABSTAIN,
) -> Decision:
    """The gated decision [3.2]: Reasonable → context; Unreasonable and Conf ≥ τ → prior; else abstain.

    A NaN confidence is not ≥ τ. Without `gate`, Unreasonable means prior whatever the confidence (released code). A
    verdict of None means that no debate was needed because both answers are equal: context. `unreasonable` and
    `unparsed` are what such a verdict leads to, the paper's by default; the prior answer always takes Conf ≥ τ.

    >>> decide(Verdict.UNREASONABLE, 0.95)
    <Decision.USE_PRIOR: 'USE_PRIOR'>
    """
    if verdict is Verdict.REASONABLE or verdict is None:
        return Decision.USE_CONTEXT
    decision = unreasonable if verdict is Verdict.UNREASONABLE else unparsed
    if decision is Decision.USE_PRIOR and gate and not confidence >= tau:
        return Decision.ABSTAIN
    return decision


def missing_reason(verdict: Verdict | None, decision: Decision | None, *, readable: bool) -> Missing | None:
    """Why the item has no answer; None where it has one. `readable`: the chosen answer could be read.

    A decision of None means that nothing was read to decide from.
    """
    if decision is Decision.ABSTAIN:
        return Missing.UNPARSED if verdict is Verdict.UNPARSED else Missing.ABSTAINED
    return None if readable else Missing.UNPARSED


@dataclass(frozen=True, slots=True)
class Belief:
    """How far a model believes its two answers to an item; NaN or None where one could not be read.

    `weight` is what the item counts where questions were chosen from more.
    """

    question_id: str
    prior: float | None
    context: float | None
    weight: float = 1.0


def more_probable(prior: float, context: float) -> Decision | None:
    """Which answer to use; equal values go to the passage, NaN is below everything, and None is for two NaN."""
    if math.isnan(prior) and math.isnan(context):
        return None
    return Decision.USE_PRIOR if prior > context or math.isnan(context) else Decision.USE_CONTEXT


def by_percentile(beliefs: Sequence[Belief]) -> list[Decision | None]:
    """`more_probable` of percentile ranks: a prior answer's among the questions, a context answer's among the items.

    The rule is transductive: each decision depends on the confidences of all the items given, so it holds for these
    and for others like them. Where some were chosen more often than others, `weight` makes the ranks those of the
    population they were chosen from. None where neither answer could be read.

    References
    ----------
    Wu, Wu and Zou 2024, ClashEval (arXiv 2404.10198); the weights are ours.
    """
    questions = {belief.question_id: (belief.prior, belief.weight) for belief in beliefs}
    priors, contexts = _ascending(questions.values()), _ascending((belief.context, belief.weight) for belief in beliefs)
    return [
        more_probable(percentile_rank(belief.prior, *priors), percentile_rank(belief.context, *contexts))
        for belief in beliefs
    ]


def _ascending(weighed: Iterable[tuple[float | None, float]]) -> tuple[list[float], list[float]]:
    """The known values in order; and the weight of all before each, ending in that of all."""
    known = sorted((value, weight) for value, weight in weighed if value is not None and not math.isnan(value))
    return [value for value, _ in known], [*accumulate((weight for _, weight in known), initial=0.0)]


def percentile_rank(value: float | None, among: Sequence[float], below: Sequence[float] | None = None) -> float:
    """Share of `among` (ascending) below the value, those equal to it counted half; NaN for NaN and None.

    `below`: the weight of all before each of `among`, ending in that of all; default: each weighs 1.

    >>> percentile_rank(0.5, [0.1, 0.5, 0.5, 0.9])
    0.5
    """
    if value is None or math.isnan(value):
        return math.nan
    below = range(len(among) + 1) if below is None else below
    return (below[bisect_left(among, value)] + below[bisect_right(among, value)]) / (2 * below[-1])


HARD = 0.5  # the κ of the paper: the word that was said

# The same over arrays, which hold positions in these tuples. That a row failed ("error") is for its table to say.

VERDICTS = (Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED, None)
DECISIONS = (Decision.USE_CONTEXT, Decision.USE_PRIOR, Decision.ABSTAIN)
ENDINGS = ("right", "wrong", *(why.value for why in Missing))
CORRECT = (True, False, None)  # of an answer; None: it could not be read


def graded(verdict: NDArray[np.intp], p_unreasonable: NDArray[np.float64], kappa: float = HARD) -> NDArray[np.intp]:
    """Positions in `VERDICTS` of verdicts that are UNREASONABLE where P(UNREASONABLE) ≥ κ, else REASONABLE. Ours.

    At κ = ½, the paper's rule, and where there is no probability (NaN), the word that was said stands; UNPARSED and
    None always do.
    """
    import numpy as np

    words = [VERDICTS.index(Verdict.REASONABLE), VERDICTS.index(Verdict.UNREASONABLE)]
    moved = np.isin(verdict, words) & ~np.isnan(p_unreasonable) & (kappa != HARD)
    return np.where(moved, np.array(words)[(p_unreasonable >= kappa).astype(np.intp)], verdict)


def decisions(verdict: NDArray[np.intp], confident: NDArray[np.bool_], **options: Any) -> NDArray[np.intp]:
    """Positions in `DECISIONS` for positions in `VERDICTS` and whether Conf ≥ τ; `options` are those of `decide`."""
    import numpy as np

    # Against τ = 1, confidences of 0 and 1 are below and not below.
    table = [[decide(one, confidence, 1.0, **options) for confidence in (0.0, 1.0)] for one in VERDICTS]
    places = np.array([[DECISIONS.index(decision) for decision in row] for row in table])
    return np.asarray(places[verdict, confident.astype(np.intp)], np.intp)


def endings(
    verdict: NDArray[np.intp], decision: NDArray[np.intp], context: NDArray[np.intp], prior: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Positions in `ENDINGS`; `context` and `prior` are the positions in `CORRECT` of the two answers."""
    import numpy as np

    places = np.array([[[_ending(v, d, correct) for correct in CORRECT] for d in DECISIONS] for v in VERDICTS])
    chosen = np.where(decision == DECISIONS.index(Decision.USE_CONTEXT), context, prior)
    return np.asarray(places[verdict, decision, chosen], np.intp)


def _ending(verdict: Verdict | None, decision: Decision, correct: bool | None) -> int:
    missing = missing_reason(verdict, decision, readable=correct is not None)
    return ENDINGS.index(missing.value if missing else "right" if correct else "wrong")
