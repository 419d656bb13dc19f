"""Tests and intervals of paired values, such as the outcomes of two methods on the same items, and Holm's correction.

The independent units are the questions: what differs within one is exchanged, or varies, together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.estimates import BLOCK, TAIL, Z, contrast_interval

N_FLIPS = 9999
_MOST_PARTS = 60  # of a difference, when a common step of all is looked for
_MOST_TERMS = 20_000_000  # of an exact distribution of sums, so that a test takes a tenth of a second


def paired_interval(
    differences: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike,
    weights: Mapping[Any, float],
    *,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """`contrast_interval` of paired differences, with 0 in it unless `sign_flip_test` rejects 0 as well, so that the
    interval and the p value of a comparison say one thing."""
    value, low, high = contrast_interval(differences, clusters, strata, weights, level=level)
    if (low > 0 or high < 0) and len(set(weights.values())) == 1:
        rows = pd.DataFrame({"d": np.asarray(differences, float), "cluster": clusters, "stratum": strata})
        rows = rows[rows["stratum"].isin(weights)]  # a contrast may be of some of the strata
        if sign_flip_test(rows["d"], rows["cluster"], rows["stratum"]) > 1 - level:
            return value, min(low, 0.0), max(high, 0.0)
    return value, low, high


def sign_flip_test(
    differences: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    n_flips: int = N_FLIPS,
    seed: int = 0,
) -> float:
    """Two-sided p of the mean difference (macro over the strata), all signs of a cluster flipped together.

    The null hypothesis is that A and B can be exchanged within a question. Exact where the differences are multiples of
    one step, as those of right and wrong answers are; else from `n_flips` random patterns, or from all where these are
    fewer. 1 where nothing differs; NaN for no value.
    """
    d = np.asarray(differences, float)
    if d.size == 0:
        return math.nan
    totals = _flipped(d, clusters, strata)
    if totals.size < 2:
        return 1.0
    steps = _in_steps(totals, d, strata)
    if steps is not None:
        return _exact_p(steps)
    from scipy.stats import permutation_test

    test = permutation_test(
        (totals,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_flips,
        batch=max(1, BLOCK // totals.size),
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)


def _in_steps(
    totals: NDArray[np.float64], d: NDArray[np.float64], strata: ArrayLike | None
) -> NDArray[np.int64] | None:
    """The totals as multiples of one step; None where there is none, or sums of so many would take long."""
    sizes = np.array([d.size]) if strata is None else np.unique(np.asarray(strata), return_counts=True)[1]
    for parts in range(1, _MOST_PARTS + 1):  # of a difference: means over pairs of designs are thirds, quarters, …
        steps = totals * parts * sizes.size * int(np.lcm.reduce(sizes))
        if np.allclose(steps, steps.round(), rtol=0, atol=1e-6):
            whole = np.abs(steps.round()).astype(np.int64) * np.sign(totals).astype(np.int64)
            whole //= np.gcd.reduce(whole)
            return whole if np.abs(whole).sum() * whole.size <= _MOST_TERMS else None
    return None


def _exact_p(steps: NDArray[np.int64]) -> float:
    """P(|sum| is at least as great) over all patterns of signs, by the distribution of the sum, a term at a time."""
    reach = int(np.abs(steps).sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for step in np.abs(steps):
        chance = (np.roll(chance, step) + np.roll(chance, -step)) / 2  # what would come round is 0 until the last
    least = abs(int(steps.sum()))
    return float(min(1.0, chance[: reach - least + 1].sum() + chance[reach + least :].sum()))


def _flipped(d: NDArray[np.float64], clusters: ArrayLike, strata: ArrayLike | None) -> NDArray[np.float64]:
    """Each cluster's part of the (macro) mean, without ties, which no flip changes.

    A tie is 0, or what unequal numbers of items in the strata leave of differences that cancel: less than half an item.
    """
    stratum = np.zeros(d.size, int) if strata is None else pd.factorize(np.asarray(strata))[0]
    parts = d / np.bincount(stratum)[stratum] / (stratum.max() + 1)
    totals = np.bincount(pd.factorize(np.asarray(clusters))[0], weights=parts)
    least = np.abs(parts[parts != 0]).min(initial=np.inf) / 2
    return np.asarray(totals[np.abs(totals) >= least])


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar test of the discordant pairs; 1 where there is none."""
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, only_a], [only_b, 0]], exact=True).pvalue)


def matched_odds_ratio(a: ArrayLike, b: ArrayLike, clusters: ArrayLike) -> tuple[float, float, float]:
    """Discordant pairs for A over those for B, and its 95 % interval.

    With one pair per cluster exact (Clopper-Pearson on the share of discordant pairs); else the log odds ± z times
    their cluster-robust standard error, NaN where one side has no pair. NaN where nothing differs.
    """
    from statsmodels.stats.proportion import proportion_confint

    a, b = np.asarray(a, float), np.asarray(b, float)
    unlike = a != b
    n, k = int(unlike.sum()), int((a > b).sum())
    if n == 0:
        return math.nan, math.nan, math.nan
    ratio = k / (n - k) if k < n else math.inf
    if len(set(np.asarray(clusters))) == a.size:
        low, high = proportion_confint(k, n, 2 * TAIL, method="beta")
        return ratio, low / (1 - low) if low < 1 else math.inf, high / (1 - high) if high < 1 else math.inf
    if k in (0, n):
        return ratio, math.nan, math.nan
    share = k / n
    scatter = np.bincount(pd.factorize(np.asarray(clusters)[unlike])[0], weights=(a > b)[unlike] - share)
    error = math.sqrt(float(scatter @ scatter)) / (n * share * (1 - share))
    return ratio, ratio * math.exp(-Z * error), ratio * math.exp(Z * error)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm-adjusted p values of a family; missing ones stay missing and are not counted in it."""
    # statsmodels' `multipletests` collects garbage at each call, which takes a tenth of a second.
    p = np.asarray(p_values, float)
    order = np.argsort(p)[: (~np.isnan(p)).sum()]  # missing ones are last
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(order.size, 0, -1)), 1)
    return adjusted
