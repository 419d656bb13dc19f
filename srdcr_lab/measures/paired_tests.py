"""Tests of paired values: cluster sign flips, exact McNemar, the matched odds ratio, and Holm's correction."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

N_FLIPS = 9999
EXACT_UP_TO = 12  # questions that differ: 2¹² sign patterns are enumerated


def sign_flip_test(
    differences: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    n_flips: int = N_FLIPS,
    seed: int = 0,
) -> float:
    """Two-sided p of the mean difference (macro over the strata), all signs of a cluster flipped together.

    Under the null hypothesis A and B can be exchanged within a question. Exact where at most twelve questions differ,
    else from `n_flips` random patterns. 1 where nothing differs; NaN for no value.
    """
    from scipy.stats import permutation_test

    d = np.asarray(differences, float)
    if d.size == 0:
        return math.nan
    parts = np.zeros(d.size, int) if strata is None else pd.factorize(np.asarray(strata))[0]
    shares = d / np.bincount(parts)[parts] / (parts.max() + 1)  # they sum to the (macro) mean
    totals = np.bincount(pd.factorize(np.asarray(clusters))[0], weights=shares)
    totals = totals[~np.isclose(totals, 0, atol=1e-12)]  # flipping them changes nothing
    if totals.size < 2:
        return 1.0
    exact = totals.size <= EXACT_UP_TO
    found = permutation_test(
        (totals,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**totals.size if exact else n_flips,
        batch=max(1, 2_000_000 // totals.size),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar test of the discordant pairs; 1 where there is none."""
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, only_a], [only_b, 0]], exact=True).pvalue)


def matched_odds_ratio(
    a: ArrayLike, b: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
    """Discordant pairs for A over those for B, and its interval.

    With one pair per cluster exact (Clopper-Pearson on the share of discordant pairs); else the log odds ± z times
    their cluster-robust standard error, NaN where one side has no pair. NaN where nothing differs.
    """
    from scipy.stats import norm
    from statsmodels.stats.proportion import proportion_confint

    a, b = np.asarray(a, float), np.asarray(b, float)
    unlike = a != b
    wins, codes = (a > b)[unlike], pd.factorize(np.asarray(clusters)[unlike])[0]
    n, k = wins.size, int(wins.sum())
    if n == 0:
        return math.nan, math.nan, math.nan
    ratio = k / (n - k) if k < n else math.inf
    if len(set(np.asarray(clusters))) == a.size:
        low, high = proportion_confint(k, n, 1 - level, method="beta")
        return ratio, low / (1 - low) if low < 1 else math.inf, high / (1 - high) if high < 1 else math.inf
    if k in (0, n):
        return ratio, math.nan, math.nan
    share = k / n
    scatter = np.bincount(codes, weights=wins - share)
    error = math.sqrt(float(scatter @ scatter)) / (n * share * (1 - share))
    z = float(norm.ppf((1 + level) / 2))
    return ratio, ratio * math.exp(-z * error), ratio * math.exp(z * error)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm-adjusted p values of a family; missing ones stay missing and are not counted in it."""
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p_values, float)
    adjusted, known = np.full(p.shape, np.nan), ~np.isnan(p)
    if known.any():
        adjusted[known] = multipletests(p[known], method="holm")[1]
    return adjusted
