"""What a model knows, from draws without a passage [2.2, Table 3]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration import auroc
from srdcr_lab.measures.estimates import jeffreys_interval
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


# -- knowledge over many questions: categories by domain, by the number of draws

ALL_DOMAINS, ALL_CATEGORIES = "all domains", "all"
SIZES = (4, 8, 12, 16, 20, 24, 28, 32)


def categories_by_domain(
    questions: pd.DataFrame,
    *,
    highly_from: float = HIGHLY_KNOWN_FROM,
    maybe_from: float = MAYBE_KNOWN_FROM,
    level: float = 0.95,
) -> pd.DataFrame:
    """Share of the questions of a domain in each category.

    Parameters
    ----------
    questions : one row per question, with `domain` and `sampled_accuracy` (missing without draws).

    Returns
    -------
    DataFrame with one row per domain, in order of appearance, then "all domains" where there are several, × category:
    `n_category` questions of the `n` with draws, `share`, `low`, `high` (Jeffreys, NaN for n = 0), and `n_missing`
    questions without draws.
    """
    accuracy = questions["sampled_accuracy"].to_numpy(float, na_value=np.nan)
    place = categorise(accuracy, highly_from=highly_from, maybe_from=maybe_from)
    codes, names = pd.factorize(questions["domain"])
    counts = count_categories(codes, place, len(names))
    missing = np.bincount(codes[place < 0], minlength=len(names))
    domains = list(names)
    if len(domains) != 1:
        counts, missing = np.vstack([counts, counts.sum(axis=0)]), np.append(missing, missing.sum())
        domains.append(ALL_DOMAINS)
    n = counts.sum(axis=1).repeat(len(CATEGORIES))
    low, high = jeffreys_interval(counts.ravel(), n, level)
    return pd.DataFrame(
        {
            "domain": np.repeat(domains, len(CATEGORIES)),
            "knowledge_category": [category.value for category in CATEGORIES] * len(domains),
            "n_category": counts.ravel(),
            "n": n,
            "n_missing": missing.repeat(len(CATEGORIES)),
            "share": counts.ravel() / np.where(n > 0, n, np.nan),
            "low": low,
            "high": high,
        }
    )


def count_categories(groups: NDArray[np.intp], place: NDArray[np.intp], n_groups: int) -> NDArray[np.intp]:
    """Questions of each group in each category, shape (n_groups, 4); those without a category (−1) are in none."""
    here = place >= 0
    cells = np.bincount(groups[here] * len(CATEGORIES) + place[here], minlength=n_groups * len(CATEGORIES))
    return cells.reshape(n_groups, len(CATEGORIES))


def categories_by_draws(
    questions: pd.DataFrame,
    sizes: Sequence[int] = SIZES,
    *,
    highly_from: float = HIGHLY_KNOWN_FROM,
    maybe_from: float = MAYBE_KNOWN_FROM,
) -> pd.DataFrame:
    """What fewer draws would have said: expected over the subsets, without replacement, of the draws at hand.

    Parameters
    ----------
    questions : one row per question, with `sampled_accuracy` and `n_samples`; those without draws are left out.
    sizes : numbers of draws; a question counts at the sizes it has draws for.

    Returns
    -------
    DataFrame with one row per size × category of all draws, "all" included: `n` questions of that category,
    `agreement` = share of subsets that give them the same category (NaN for n = 0), `share` = share of all questions
    that a subset of this size would put into the category.

    Source: `subset_categories`, averaged; the paper names N = 32 without a reason for it.
    """
    n = questions["n_samples"].to_numpy(float, na_value=0).astype(int)
    right = np.rint(questions["sampled_accuracy"].to_numpy(float, na_value=0) * n).astype(int)
    rows = []
    for size in sizes:
        enough = n >= size
        whole, parts = [np.array([], int)], [np.empty((0, len(CATEGORIES)))]
        for of in np.unique(n[enough]):
            k = right[n == of]
            whole.append(categorise(k / of, highly_from=highly_from, maybe_from=maybe_from))
            parts.append(subset_categories(of, size, highly_from=highly_from, maybe_from=maybe_from)[k])
        label, probability = np.concatenate(whole), np.concatenate(parts)
        same = probability[np.arange(label.size), label]
        for c, category in enumerate(CATEGORIES):
            rows.append((size, category.value, *_mean(same[label == c]), _mean(probability[:, c])[1]))
        rows.append((size, ALL_CATEGORIES, *_mean(same), 1.0 if same.size else np.nan))
    return pd.DataFrame(rows, columns=["size", "knowledge_category", "n", "agreement", "share"])


def _mean(values: NDArray[np.float64]) -> tuple[int, float]:
    return values.size, float(values.mean()) if values.size else np.nan


def highly_known(questions: pd.DataFrame) -> pd.Series:
    """Whether each question is Highly-Known; missing without draws: the target of P(Highly-Known | Conf ≥ τ) [4.2]."""
    category = questions["knowledge_category"]
    return (category == CATEGORIES[0]).astype("boolean").mask(category.isna())


def discrimination(questions: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """AUROC of self-confidence for two targets: the question is Highly-Known; its prior answer is right.

    Parameters
    ----------
    questions : one row per question, with `self_confidence`, `confidence_kind`, `knowledge_category`, `prior_correct`.

    Returns
    -------
    DataFrame with one row per confidence kind × target: `auroc`, `low`, `high`, `n`, `n_target`, `n_missing` (see
    `srdcr_lab.measures.auroc`).
    """
    rows = []
    for kind, part in questions.groupby("confidence_kind", sort=False):
        for target, hits in (("Highly-Known", highly_known(part)), ("prior answer right", part["prior_correct"])):
            found = auroc(part["self_confidence"], hits, level)
            counts = {"n": found.n, "n_target": found.n_target, "n_missing": found.n_missing}
            ends = {"auroc": found.value, "low": found.low, "high": found.high}
            rows.append({"confidence_kind": kind, "target": target, **ends, **counts})
    return pd.DataFrame(
        rows, columns=["confidence_kind", "target", "auroc", "low", "high", "n", "n_target", "n_missing"]
    )


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation in [−1, 1] with its interval over `n` pairs."""

    value: float
    low: float
    high: float
    n: int


def rank_correlation(
    x: ArrayLike, y: ArrayLike, *, level: float = 0.95, n_boot: int = 2000, seed: int = 0
) -> Correlation:
    """Spearman's ρ of pairs, ties at their mean rank; interval by the percentile bootstrap over pairs, seeded.

    A pair with a NaN is left out. NaN where one side does not vary.
    """
    first, second = np.asarray(x, float), np.asarray(y, float)
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    if first.size < 2:
        return Correlation(np.nan, np.nan, np.nan, first.size)
    drawn = np.random.default_rng(seed).integers(0, first.size, (n_boot, first.size))
    resampled = _spearman(first[drawn], second[drawn])
    value = float(_spearman(first[None], second[None])[0])
    if np.isnan(value):
        return Correlation(np.nan, np.nan, np.nan, first.size)
    low, high = np.nanquantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Correlation(value, float(low), float(high), first.size)


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's correlation of the ranks, row by row."""
    from scipy.stats import rankdata

    a, b = (rankdata(side, axis=1) for side in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))
