"""What a model knows, from draws without a passage [2.2, Table 3]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from srdcr_lab.records import KnowledgeCategory

HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM = 0.85, 0.30
CATEGORIES = tuple(KnowledgeCategory)  # from highly known to unknown


def sampled_accuracy(correct: Sequence[bool]) -> float:
    """Acc = (1/N) Σ 1[âᵢ = a] over N draws; an unread draw is not correct. NaN for no draw.

    >>> sampled_accuracy([True] * 28 + [False] * 4)
    0.875
    """
    return float(np.mean(np.asarray(correct, dtype=float))) if len(correct) else math.nan


def knowledge_category(
    accuracy: float, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> KnowledgeCategory | None:
    """The category of a sampled accuracy in [0, 1]; None for NaN (no draws).

    Highly ≥ 0.85; Maybe [0.30, 0.85); Weakly (0, 0.30); Unknown = 0, which depends on N: with more draws fewer
    questions are Unknown.

    >>> knowledge_category(6 / 32).value
    'WEAKLY_KNOWN'
    """
    if math.isnan(accuracy):
        return None
    if not 0 <= accuracy <= 1:
        raise ValueError(f"a sampled accuracy lies in [0, 1], got {accuracy}")
    if accuracy >= highly_from:
        return KnowledgeCategory.HIGHLY_KNOWN
    if accuracy >= maybe_from:
        return KnowledgeCategory.MAYBE_KNOWN
    return KnowledgeCategory.WEAKLY_KNOWN if accuracy > 0 else KnowledgeCategory.UNKNOWN


def categorise(
    accuracy: ArrayLike, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.intp]:
    """`knowledge_category` of many: the position in `CATEGORIES` of each sampled accuracy in [0, 1], −1 for NaN.

    >>> categorise([0.875, 0.19, 0.0]).tolist()
    [0, 2, 3]
    """
    if not 0 < maybe_from <= highly_from <= 1:
        raise ValueError(f"categories need 0 < maybe ≤ highly ≤ 1, got {maybe_from} and {highly_from}")
    values = np.asarray(accuracy, float)
    passed = np.searchsorted([np.nextafter(0, 1), maybe_from, highly_from], values, side="right")
    return np.where(np.isnan(values), -1, len(CATEGORIES) - 1 - passed)


def category_counts(
    n_draws: int, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.intp]:
    """For each number of correct draws 0 … n, the position of its category in `CATEGORIES`. Shape (n_draws + 1,)."""
    labels = [
        knowledge_category(k / n_draws, highly_from=highly_from, maybe_from=maybe_from) for k in range(n_draws + 1)
    ]
    return np.array([CATEGORIES.index(label) for label in labels if label is not None])


def jeffreys_interval(
    successes: ArrayLike, n: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Equal-tailed Beta(k + ½, n − k + ½) interval of a share; its end is 0 or 1 where k is 0 or n; NaN for n = 0.

    Source: Brown, Cai and DasGupta 2001.
    """
    k, n = np.asarray(successes, float), np.asarray(n, float)
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k == 0, 0.0, betaincinv(k + 0.5, n - k + 0.5, tail))
        high = np.where(k == n, 1.0, betaincinv(k + 0.5, n - k + 0.5, 1 - tail))
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def redraw_stability(
    successes: int, n: int, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> float:
    """P(the same category on a fresh set of n draws | k of n correct), by the posterior predictive.

    k′ ~ BetaBinomial(n, k + ½, n − k + ½). In [0, 1]; NaN for n = 0. Source: ours.
    """
    from scipy.stats import betabinom  # takes a second to import, which the command line would pay at every start

    if n == 0:
        return math.nan
    labels = category_counts(n, highly_from=highly_from, maybe_from=maybe_from)
    probabilities = betabinom.pmf(np.arange(n + 1), n, successes + 0.5, n - successes + 0.5)
    return float(probabilities[labels == labels[successes]].sum())


def subset_categories(
    n: int, size: int, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.float64]:
    """P(category c | k of n correct) of a subset of `size` draws, at [k, c]; shape (n + 1, 4)."""
    from scipy.stats import hypergeom

    if not 0 < size <= n:
        raise ValueError(f"a subset has 1 to {n} draws, got {size}")
    labels = category_counts(size, highly_from=highly_from, maybe_from=maybe_from)
    probabilities = hypergeom.pmf(np.arange(size + 1), n, np.arange(n + 1)[:, None], size)
    return np.stack([probabilities[:, labels == c].sum(axis=1) for c in range(len(CATEGORIES))], axis=1)
