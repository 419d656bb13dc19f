"""Shares and means with intervals whose independent units are the questions.

Forms of one question resemble each other, so whole questions are resampled. A share of nothing is NaN, with n = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

N_BOOT = 2000
FEW = 10


def macro_mean(values: ArrayLike, strata: ArrayLike | None = None) -> float:
    """Mean over the strata of each stratum's mean; without strata the mean. NaN for no value."""
    series = pd.Series(np.asarray(values, float))
    return float(series.mean() if strata is None else series.groupby(np.asarray(strata)).mean().mean())


def clustered_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the `macro_mean` of 0/1 values whose clusters (questions) are the independent units.

    Jeffreys where every cluster has one value of the one stratum, and over the clusters where a bootstrap would see no
    spread; else the percentile bootstrap over clusters, seeded. NaN for no value.
    """
    scored = np.asarray(values, float)
    if scored.size == 0:
        return math.nan, math.nan
    sums, sizes = _by_cluster(scored, clusters, strata)
    if sizes.shape[1] > 1 or sizes.max() > 1:
        means = np.concatenate([block.mean(axis=1) for block in _resampled(sums, sizes, n_boot, seed)])
        low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
        if low < high:
            return float(low), float(high)
    low, high = jeffreys_interval(macro_mean(scored, strata) * len(sizes), len(sizes), level)
    return float(low), float(high)


def contrast_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike,
    weights: Mapping[Any, float],
    *,
    bounds: tuple[float, float] = (-1.0, 1.0),
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Σ wₛ · mean of stratum s, with its clustered interval: a difference, or a difference of differences.

    Percentile bootstrap over clusters, seeded. Where fewer than ten clusters depart from their stratum's commonest
    mean, a bootstrap is too sure: then the adjusted Wald interval of Bonett and Price (2012) over the clusters of each
    stratum, with one more cluster at either of the `bounds` of a value. NaN where a stratum of the weights is empty.
    """
    scored, labels = np.asarray(values, float), np.asarray(strata)
    keep = np.isin(labels, list(weights))
    names = list(weights)
    if not set(names) <= set(labels):
        return math.nan, math.nan, math.nan
    order = pd.Categorical(labels[keep], categories=names).codes
    sums, sizes = _by_cluster(scored[keep], np.asarray(clusters)[keep], order, len(names))
    factors = np.array([weights[name] for name in names])
    value = float(sums.sum(axis=0) / sizes.sum(axis=0) @ factors)
    means = [sums[held, s] / sizes[held, s] for s, held in enumerate((sizes > 0).T)]
    if sum(map(_departing, means)) < FEW:
        centre = sum(w * _adjusted(mean, bounds)[0] for w, mean in zip(factors, means, strict=True))
        variance = sum(w**2 * _adjusted(mean, bounds)[1] for w, mean in zip(factors, means, strict=True))
        half = float(ndtri((1 + level) / 2)) * math.sqrt(variance)
        edges = np.outer(bounds, factors)  # a contrast cannot leave what the bounds of its values allow
        least, most = float(edges.min(axis=0).sum()), float(edges.max(axis=0).sum())
        return value, max(least, min(value, centre - half)), min(most, max(value, centre + half))
    drawn = np.concatenate([block @ factors for block in _resampled(sums, sizes, n_boot, seed)])
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return value, float(low), float(high)


def _departing(means: NDArray[np.float64]) -> int:
    """How many cluster means are not the commonest one."""
    return int(means.size - np.unique(means, return_counts=True)[1].max())


def _adjusted(means: NDArray[np.float64], bounds: tuple[float, float]) -> tuple[float, float]:
    """Mean of the cluster means and its variance, with one more cluster at either bound."""
    more = np.append(means, bounds)
    return float(more.mean()), float(more.var() / more.size)


def mean_interval(
    values: ArrayLike, clusters: ArrayLike, *, level: float = 0.95, n_boot: int = N_BOOT, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap over clusters of a mean of any numbers; NaN for fewer than two clusters."""
    scored = np.asarray(values, float)
    if scored.size == 0 or len(set(np.asarray(clusters))) < 2:
        return math.nan, math.nan
    means = np.concatenate([block[:, 0] for block in _resampled(*_by_cluster(scored, clusters, None), n_boot, seed)])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _by_cluster(
    values: NDArray[Any], clusters: ArrayLike, strata: ArrayLike | None, n_strata: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of the values of each cluster × stratum."""
    codes = pd.factorize(np.asarray(clusters))[0]
    parts = np.zeros(values.size, int) if strata is None else np.asarray(strata)
    if n_strata is None:
        parts = pd.factorize(parts)[0]
        n_strata = int(parts.max()) + 1
    shape = int(codes.max()) + 1, n_strata
    sizes, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, (codes, parts), 1)
    np.add.at(sums, (codes, parts), values)
    return sums, sizes


def _resampled(sums: NDArray[Any], sizes: NDArray[Any], n_boot: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Mean per stratum of each bootstrap sample of clusters, shape (samples, strata), block by block.

    Blocks keep memory bounded. A sample without any value of a stratum has NaN there.
    """
    n = len(sizes)
    few = n * n_boot <= _KEPT
    for weights in (_times_drawn(n, n_boot, seed),) if few else _blocks(n, n_boot, seed):
        with np.errstate(invalid="ignore"):
            yield (weights @ sums) / (weights @ sizes)


_KEPT = 2_000_000  # numbers in a block of weights: 16 MB


def _blocks(n: int, n_boot: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each sample draws each of n clusters, some samples at a time."""
    rng = np.random.default_rng(seed)
    size = max(1, _KEPT // n)
    for start in range(0, n_boot, size):
        samples = min(size, n_boot - start)
        places = rng.integers(0, n, (samples, n)) + n * np.arange(samples)[:, None]
        yield np.bincount(places.ravel(), minlength=samples * n).reshape(samples, n).astype(float)


@lru_cache(maxsize=4)  # the cells of a table have the same number of questions, as a rule
def _times_drawn(n: int, n_boot: int, seed: int) -> NDArray[np.float64]:
    return next(_blocks(n, n_boot, seed))


def positions(column: pd.Series, values: Sequence[Any]) -> NDArray[np.intp]:
    """Place of each entry among the values; −1 for any other."""
    places = pd.Index(list(values))
    if isinstance(column.dtype, pd.CategoricalDtype):
        of_category = np.append(places.get_indexer(column.cat.categories), -1)
        return np.asarray(of_category[column.cat.codes.to_numpy()], np.intp)
    return np.asarray(places.get_indexer(column), np.intp)


def shares(
    frame: pd.DataFrame, hits: pd.Series, by: Mapping[str, Sequence[Any]] | None = None, *, intervals: bool = True
) -> pd.DataFrame:
    """Share of hits in every cell of the table, cells without rows included.

    Parameters
    ----------
    frame : has `question_id`, which clusters the rows, and the columns of `by`.
    hits : bool per row, aligned with the frame; missing leaves the row out of the share, and counts it in `n_missing`.
    by : the cells: each column with its values in order. Rows with another value are in no cell.
    intervals : False leaves `low` and `high` NaN, for a slider.

    Returns
    -------
    DataFrame : the columns of `by`, then `n` (rows in the share), `n_questions`, `n_missing`, `share`, `low`, `high`.
    """
    by = by or {}
    shape = tuple(len(values) for values in by.values())
    codes = [positions(frame[name], values) for name, values in by.items()]
    inside = np.all([code >= 0 for code in codes], axis=0) if codes else np.ones(len(frame), bool)
    cell = np.ravel_multi_index([code[inside] for code in codes], shape) if codes else np.zeros(len(frame), np.intp)
    n_cells = math.prod(shape)
    values = hits.astype("Float64").to_numpy(float, na_value=np.nan)[inside]
    known = ~np.isnan(values)
    questions = pd.factorize(frame["question_id"].to_numpy())[0][inside]
    n = np.bincount(cell[known], minlength=n_cells)
    right = np.bincount(cell[known], weights=values[known], minlength=n_cells)
    distinct = np.unique(cell[known] * (questions.max(initial=0) + 1) + questions[known])
    grid = pd.MultiIndex.from_product(by.values(), names=list(by)).to_frame(index=False) if by else pd.DataFrame([{}])
    with np.errstate(invalid="ignore"):
        share = right / n
    ends = np.full((n_cells, 2), np.nan)
    for i in np.flatnonzero(n) if intervals else ():
        here = known & (cell == i)
        ends[i] = clustered_interval(values[here], questions[here])
    return grid.assign(
        n=n,
        n_questions=np.bincount(distinct // (questions.max(initial=0) + 1), minlength=n_cells),
        n_missing=np.bincount(cell[~known], minlength=n_cells),
        share=share,
        low=ends[:, 0],
        high=ends[:, 1],
    )


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


# -- tests of paired values: cluster sign flips, exact McNemar, the matched odds ratio, and Holm's correction

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
