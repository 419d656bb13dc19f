"""Knowledge over many questions: categories by domain, by the number of draws, and beside what is known of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration import auroc
from srdcr_lab.measures.knowledge import (
    CATEGORIES,
    HIGHLY_KNOWN_FROM,
    MAYBE_KNOWN_FROM,
    categorise,
    jeffreys_interval,
    subset_categories,
)

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
