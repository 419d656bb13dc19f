"""Shares, means and paired differences with their intervals and tests; questions are the independent units.

A number travels with its interval and the count behind it, as an `Estimate`: tables, figures and sentences take all
three from it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.lib.page import interval

BLOCK = 2_000_000  # numbers held at a time, so that memory stays bounded
TAIL = (1 - 0.95) / 2  # on either side of a 95 % interval


class Estimate(NamedTuple):
    """A number with its interval and the count behind it; NaN if there is none.

    Attributes
    ----------
    value : float, default math.nan
        The number.
    low, high : float, default math.nan
        Ends of its interval, 95 % unless another level was asked for.
    n : int, default 0
        The independent units behind it: questions, unless the function that returns it says otherwise.

    Examples
    --------
    >>> print(Estimate(0.25, 0.125, 0.5, 40))
    0.25 [0.12, 0.50]
    >>> Estimate(0.25, 0.125, 0.5, 40).columns("risk")
    {'risk': 0.25, 'risk_low': 0.125, 'risk_high': 0.5}
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0

    def __str__(self) -> str:
        return interval(*self[:3])

    def columns(self, name: str, *, alone: bool = False) -> dict[str, float]:
        """Name the number and its interval as columns.

        Parameters
        ----------
        name : str
            Name of the column.
        alone : bool, default False
            No other number of the table has an interval, so the ends are named `low` and `high`.

        Returns
        -------
        dict of str to float
            The columns NAME, NAME_low and NAME_high.
        """
        prefix = "" if alone else f"{name}_"
        return {name: self.value, f"{prefix}low": self.low, f"{prefix}high": self.high}

    def scaled(self, factor: float, plus: float = 0.0) -> Estimate:
        """Compute factor · value + plus, with its interval.

        Parameters
        ----------
        factor : float
            The factor; a negative one exchanges the ends.
        plus : float, default 0.0
            What is added.

        Returns
        -------
        Estimate
            The new number, from the same count.
        """
        value, *ends = (factor * each + plus for each in self[:3])
        low, high = ends if factor > 0 else reversed(ends)
        return Estimate(value, low, high, self.n)


def ends_of(names: Container[Any], value: str) -> tuple[str, str]:
    """Name the columns that hold the interval of a value.

    Parameters
    ----------
    names : container of str
        The columns of a table, or a row of it.
    value : str
        Column of the value.

    Returns
    -------
    tuple of str, str
        VALUE_low and VALUE_high if the table has them, otherwise `low` and `high`.
    """
    prefix = f"{value}_" if f"{value}_low" in names else ""
    return f"{prefix}low", f"{prefix}high"


def jeffreys_interval(successes: ArrayLike, n: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the equal-tailed 95 % interval of a share from Beta(k + ½, n − k + ½).

    Parameters
    ----------
    successes : array-like
        Numbers of successes k.
    n : array-like
        Numbers of trials.

    Returns
    -------
    tuple of ndarray of float, ndarray of float
        Lower and upper ends. An end is 0 for k = 0 and 1 for k = n; NaN for n = 0.

    References
    ----------
    Brown, Cai and DasGupta 2001.

    Examples
    --------
    >>> [round(float(end), 2) for end in jeffreys_interval(9, 10)]
    [0.62, 0.99]
    """
    from scipy.special import betaincinv  # not above: every start of the command line would pay for it

    k, n = np.asarray(successes, float), np.asarray(n, float)
    with np.errstate(invalid="ignore"):
        low = np.where(k == 0, 0.0, betaincinv(k + 0.5, n - k + 0.5, TAIL))
        high = np.where(k == n, 1.0, betaincinv(k + 0.5, n - k + 0.5, 1 - TAIL))
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def jeffreys_share(successes: float, n: int) -> Estimate:
    """Compute a share with its `jeffreys_interval`.

    Parameters
    ----------
    successes : float
        Number of successes.
    n : int
        Number of trials.

    Returns
    -------
    Estimate
        The share of the trials; NaN for n = 0.
    """
    low, high = jeffreys_interval(successes, n)
    return Estimate(successes / n if n else math.nan, float(low), float(high), n)


def macro_mean(values: ArrayLike, strata: ArrayLike | None = None) -> float:
    """Average the means of the strata.

    Parameters
    ----------
    values : array-like
        The values.
    strata : array-like, optional
        Stratum of each value; None for the plain mean.

    Returns
    -------
    float
        The mean; NaN without values.
    """
    series = pd.Series(np.asarray(values, float))
    return float(series.mean() if strata is None else series.groupby(np.asarray(strata)).mean().mean())


def clustered_interval(
    values: ArrayLike, clusters: ArrayLike, strata: ArrayLike | None = None, *, ends: bool = True
) -> Estimate:
    """Compute the `macro_mean` of values within 0 and 1 whose clusters are the independent units, with its interval.

    The interval is Jeffreys over the clusters if each cluster has one value, 0 or 1, throughout, and all clusters and
    strata have equally many values. Otherwise it is that of `contrast_interval`, within 0 and 1.

    Parameters
    ----------
    values : array-like
        The values, within 0 and 1.
    clusters : array-like
        Question of each value.
    strata : array-like, optional
        Stratum of each value; None for one stratum.
    ends : bool, default True
        Compute the ends of the 95 % interval.

    Returns
    -------
    Estimate
        The mean and the number of clusters; NaN without values.
    """
    scored = np.asarray(values, float)
    mean = Estimate(macro_mean(scored, strata), n=len(pd.unique(np.asarray(clusters))))
    if scored.size == 0 or not ends:
        return mean
    sums, sizes = _by_cluster(scored, clusters, strata)
    outcomes = sums.sum(axis=1) / sizes.sum(axis=1)
    if len(np.unique(sizes)) == 1 and np.isin(outcomes, (0.0, 1.0)).all():
        found = jeffreys_share(outcomes.sum(), len(outcomes))
    else:
        found = contrast_of_sums(sums, sizes, np.full(sizes.shape[1], 1 / sizes.shape[1]), (0.0, 1.0), 0.95)
    return found._replace(value=mean.value)


def mean_interval(values: ArrayLike, clusters: ArrayLike) -> Estimate:
    """Compute a mean over clusters with its 95 % t interval.

    Parameters
    ----------
    values : array-like
        The values.
    clusters : array-like
        Question of each value.

    Returns
    -------
    Estimate
        The mean and the number of clusters; fewer than two give no interval.
    """
    mean = Estimate(macro_mean(values), n=len(pd.unique(np.asarray(clusters))))
    if mean.n < 2:
        return mean
    found = contrast_of_sums(*_by_cluster(np.asarray(values, float), clusters), np.ones(1), None, 0.95)
    return found._replace(value=mean.value)


def contrast_interval(
    values: ArrayLike, clusters: ArrayLike, strata: ArrayLike, weights: Mapping[Any, float], *,
    bounds: tuple[float, float] = (-1.0, 1.0), level: float = 0.95, groups: ArrayLike | None = None,
) -> Estimate:  # fmt: skip
    """Compute a weighted sum of stratum means with its interval: a difference, or a difference of differences.

    This is a t interval over clusters. The strata of one cluster are taken together, so they may be correlated in
    either direction. `make guarantees` prints the coverage of these intervals.

    Parameters
    ----------
    values : array-like
        The values.
    clusters : array-like
        Question of each value.
    strata : array-like
        Stratum of each value.
    weights : mapping of object to float
        Weight of each stratum.
    bounds : tuple of float, float, default (-1.0, 1.0)
        Smallest and largest possible value. Few values, or equal ones, are not certain: each of S strata gets a
        pseudo-value at either bound, which weighs 2 / S of a cluster for shares (bounds 0 and 1) and 1 / (S + 1) for
        differences.
    level : float, default 0.95
        Level of the interval.
    groups : array-like, optional
        Group of each value, if each cluster was drawn from one of several groups; the variances of the groups add up,
        with Satterthwaite's degrees of freedom.

    Returns
    -------
    Estimate
        The contrast, and the number of clusters in the strata of the weights; NaN if one of these strata is empty.

    References
    ----------
    Clusters: Liang and Zeger 1986. Added values: Price and Bonett 2004 for shares, after Bonett and Price 2012 for
    differences. Groups: Cochran 1977, section 5.4, and Satterthwaite 1946.
    """
    labels = np.asarray(strata)
    keep = np.isin(labels, list(weights))
    cluster = np.asarray(clusters)[keep]
    if not set(weights) <= set(labels):
        return Estimate(n=len(pd.unique(cluster)))
    sums, sizes = _by_cluster(np.asarray(values, float)[keep], cluster, labels[keep])
    factors = np.array([weights[name] for name in pd.unique(labels[keep])])
    first = ~pd.Series(cluster).duplicated().to_numpy()
    group = None if groups is None else pd.factorize(np.asarray(groups)[keep][first])[0]
    return contrast_of_sums(sums, sizes, factors, bounds, level, group)


def ratio_interval(
    part: NDArray[np.float64], whole: NDArray[np.float64], clusters: ArrayLike, strata: ArrayLike,
    weights: Mapping[Any, float],
) -> Estimate:  # fmt: skip
    """Compute the ratio of two weighted sums of stratum means with its 95 % interval.

    The ratio r is linearised: its interval is the `contrast_interval` of part − r · whole, divided by the mean of
    whole.

    Parameters
    ----------
    part : ndarray of float
        Values in [0, 1], at most `whole`.
    whole : ndarray of float
        Values in [0, 1].
    clusters : array-like
        Question of each value.
    strata : array-like
        Stratum of each value.
    weights : mapping of object to float
        Weight of each stratum; they sum to 1.

    Returns
    -------
    Estimate
        The ratio and the number of clusters; NaN if `whole` is 0.
    """
    value, mean = (contrast_interval(side, clusters, strata, weights, bounds=(0, 1)).value for side in (part, whole))
    if not mean > 0:
        return Estimate()
    ratio = value / mean
    _, low, high, n = contrast_interval(part - ratio * whole + ratio, clusters, strata, weights, bounds=(0, 1))
    return Estimate(ratio, max(0.0, ratio + (low - ratio) / mean), min(1.0, ratio + (high - ratio) / mean), n)


def contrast_of_sums(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], factors: NDArray[np.float64],
    bounds: tuple[float, float] | None, level: float, group: NDArray[np.intp] | None = None,
) -> Estimate:  # fmt: skip
    """Compute a contrast from the sums and sizes of clusters by stratum.

    Parameters
    ----------
    sums : ndarray of float
        Sum of the values of each cluster in each stratum.
    sizes : ndarray of float
        Number of these values.
    factors : ndarray of float
        Weight of each stratum.
    bounds : tuple of float, float
        Smallest and largest possible value; None to add nothing.
    level : float
        Level of the interval.
    group : ndarray of int, optional
        Group of each cluster; None for one group.

    Returns
    -------
    Estimate
        The contrast and the number of clusters.
    """
    from scipy.special import stdtrit

    n_clusters, n_strata = sizes.shape
    n, usual = sizes.sum(axis=0), sizes.sum(axis=0) / (sizes > 0).sum(axis=0)
    value = float(sums.sum(axis=0) / n @ factors)
    ends, more = np.zeros(2) if bounds is None else np.array(bounds), 0.0
    if bounds is not None:
        more = 1 / (n_strata + 1) if bounds[0] else 2 / n_strata  # of shares, whose lower bound is 0
    n = n + 2 * more * usual
    means = (sums.sum(axis=0) + more * usual * ends.sum()) / n
    parts = ((sums - sizes * means) * factors / n).sum(axis=1)  # of each cluster, in the contrast's error
    added = more * (((ends[:, None] - means) * usual * factors / n) ** 2).sum(axis=0)
    group = np.zeros(n_clusters, int) if group is None else group
    df = np.bincount(group) - 1 + 2 * more
    variances = np.bincount(group, parts**2) + np.bincount(group[(sizes > 0).argmax(axis=0)], added)
    if bounds is None or df.size > 1:
        variances *= (df + 1) / df
    variance = variances.sum()
    freedom = variance**2 / (variances**2 / df).sum() if variance else df.sum()
    half = float(stdtrit(freedom, (1 + level) / 2) * math.sqrt(variance))
    centre = float(means @ factors)
    if bounds is None:
        return Estimate(value, centre - half, centre + half, n_clusters)
    edges = np.outer(ends, factors)  # a contrast stays within what the bounds of its values allow
    least, most = float(edges.min(axis=0).sum()), float(edges.max(axis=0).sum())
    return Estimate(value, max(least, min(value, centre - half)), min(most, max(value, centre + half)), n_clusters)


def _by_cluster(
    values: NDArray[Any], clusters: ArrayLike, strata: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of the values of each cluster × stratum, both in order of appearance."""
    cluster = pd.factorize(np.asarray(clusters))[0]
    stratum = np.zeros(values.size, int) if strata is None else pd.factorize(np.asarray(strata))[0]
    shape = int(cluster.max()) + 1, int(stratum.max()) + 1
    sums, sizes = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (cluster, stratum), values)
    np.add.at(sizes, (cluster, stratum), 1)
    return sums, sizes


def shares(
    frame: pd.DataFrame, hits: pd.Series, by: Mapping[str, Sequence[Any]] | None = None, *, intervals: bool = True,
    questions_alike: bool = False, counts: Sequence[str] = (),
) -> pd.DataFrame:  # fmt: skip
    """Compute the share of hits in every cell of a table, empty cells included.

    Parameters
    ----------
    frame : DataFrame
        One row per observation, with `question_id`.
    hits : Series
        Whether each row is a hit; a missing one is outside the share and counted in `n_missing`.
    by : mapping of str to sequence of object, optional
        Columns that define the cells, each with its values in order; rows with another value are in no cell.
    intervals : bool, default True
        Compute 95 % intervals, clustered on the question.
    questions_alike : bool, default False
        Count each question once in a cell, by the share of its rows.
    counts : sequence of str, default ()
        Columns of true and false, whose true rows are counted.

    Returns
    -------
    DataFrame
        One row per cell: the columns of `by`, `n` (rows in the share), `n_questions`, `n_missing`, `share`, `low` and
        `high`; `n_NAME` for each name of `counts`.
    """
    if questions_alike and len(frame):
        keys = ["question_id", *(by or {})]
        means = frame[keys].assign(hit=hits.astype("Float64")).groupby(keys, observed=True)["hit"].mean().reset_index()
        of_rows = shares(frame, hits, by, intervals=False, counts=counts)
        of_questions = shares(means, means["hit"], by, intervals=intervals)
        return of_rows.assign(share=of_questions["share"], low=of_questions["low"], high=of_questions["high"])
    by = by or {}
    grid = pd.DataFrame(list(product(*by.values())), columns=list(by))
    places = [pd.Index([*values]).get_indexer(frame[name]) for name, values in by.items()]
    codes = np.array([np.zeros(len(frame), int), *places])
    inside = (codes >= 0).all(axis=0)
    cell = np.ravel_multi_index(tuple(codes[:, inside]), (1, *map(len, by.values())))
    hit = hits.astype("Float64").to_numpy(float, na_value=np.nan)[inside]
    question = pd.factorize(frame["question_id"].to_numpy())[0][inside]
    known = ~np.isnan(hit)
    asked = np.unique(np.column_stack([cell[known], question[known]]), axis=0)[:, 0]
    n, n_questions, n_missing = (np.bincount(part, minlength=len(grid)) for part in (cell[known], asked, cell[~known]))
    with np.errstate(invalid="ignore"):
        share = np.bincount(cell[known], hit[known], len(grid)) / n
    ends = np.full((len(grid), 2), np.nan)
    for i in np.flatnonzero(n) if intervals else ():
        here = known & (cell == i)
        ends[i] = clustered_interval(hit[here], question[here])[1:3]
    table = grid.assign(n=n, n_questions=n_questions, n_missing=n_missing, share=share, low=ends[:, 0], high=ends[:, 1])
    marked = {f"n_{name}": frame[name].to_numpy(float)[inside] for name in counts}
    return table.assign(**{name: np.bincount(cell, mark, len(grid)).astype(int) for name, mark in marked.items()})


N_FLIPS = 9999
_MOST_PARTS = 60  # of a difference, when a common step of all is looked for
_MOST_TERMS = 20_000_000  # of an exact distribution of sums, so that a test takes a tenth of a second


def paired_interval(
    differences: ArrayLike, clusters: ArrayLike, strata: ArrayLike, weights: Mapping[Any, float], *, level: float = 0.95
) -> Estimate:
    """Compute the interval of paired differences so that it agrees with the sign-flip test.

    This is the `contrast_interval`; where all weights are equal, it is extended to contain 0 unless `sign_flip_test`
    rejects 0 as well.

    Parameters
    ----------
    differences : array-like
        The paired differences.
    clusters : array-like
        Question of each difference.
    strata : array-like
        Stratum of each difference.
    weights : mapping of object to float
        Weight of each stratum.
    level : float, default 0.95
        Level of the interval.

    Returns
    -------
    Estimate
        The mean difference and the number of clusters.
    """
    found = contrast_interval(differences, clusters, strata, weights, level=level)
    if (found.low > 0 or found.high < 0) and len(set(weights.values())) == 1:
        rows = pd.DataFrame({"d": np.asarray(differences, float), "cluster": clusters, "stratum": strata})
        rows = rows[rows["stratum"].isin(weights)]  # a contrast may be of some of the strata
        if sign_flip_test(rows["d"], rows["cluster"], rows["stratum"]) > 1 - level:
            return found._replace(low=min(found.low, 0.0), high=max(found.high, 0.0))
    return found


def sign_flip_test(differences: ArrayLike, clusters: ArrayLike, strata: ArrayLike | None = None) -> float:
    """Test whether a mean difference is 0 by flipping all signs of a cluster together.

    The null hypothesis is that A and B can be exchanged within a question. The test is exact if the differences are
    multiples of one step, as those of right and wrong answers are, and not too many. Otherwise it uses `N_FLIPS` random
    patterns of signs, or all patterns if these are fewer.

    Parameters
    ----------
    differences : array-like
        The differences.
    clusters : array-like
        Question of each difference.
    strata : array-like, optional
        Stratum of each difference; the mean is macro over the strata.

    Returns
    -------
    float
        The two-sided p; 1 if nothing differs, NaN without values.
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

    how = {"n_resamples": N_FLIPS, "batch": max(1, BLOCK // totals.size), "rng": np.random.default_rng(0)}
    return float(permutation_test((totals,), np.sum, permutation_type="samples", vectorized=True, **how).pvalue)


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

    A tie is a total of 0, or of less than half an item: so much differences that cancel leave if strata differ in size.
    """
    stratum = np.zeros(d.size, int) if strata is None else pd.factorize(np.asarray(strata))[0]
    parts = d / np.bincount(stratum)[stratum] / (stratum.max() + 1)
    totals = np.bincount(pd.factorize(np.asarray(clusters))[0], weights=parts)
    return np.asarray(totals[np.abs(totals) >= np.abs(parts[parts != 0]).min(initial=np.inf) / 2])


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust the p-values of a family by Holm's method.

    Parameters
    ----------
    p_values : array-like
        The p-values; NaN stays NaN and is not part of the family.

    Returns
    -------
    ndarray of float
        The adjusted p-values.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    # statsmodels' `multipletests` collects garbage at each call, which takes a tenth of a second.
    p = np.asarray(p_values, float)
    order = np.argsort(p)[: (~np.isnan(p)).sum()]  # missing ones are last
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(order.size, 0, -1)), 1)
    return adjusted


def rank_correlation(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Compute Spearman's ρ, with ties at their mean rank, and its interval on the scale of Fisher's z.

    Parameters
    ----------
    x : array-like
        First values.
    y : array-like
        Second values; a pair with a NaN is left out.

    Returns
    -------
    Estimate
        The correlation, in [−1, 1], and the number of pairs; NaN if one side does not vary. The interval is Student's t
        with n − 2 degrees of freedom, NaN for fewer than four pairs. For equal orders it is that of half a step less
        than 1, a step being the change when two neighbours change places.

    References
    ----------
    Bonett and Wright 2000.
    """
    from scipy.special import stdtrit

    both = pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float)}).dropna().rank()
    n = len(both)
    value = float(both["x"].corr(both["y"]))
    if n < 4 or math.isnan(value):
        return Estimate(value, n=n)
    most = 1 - 6 / (n**3 - n)
    half = float(stdtrit(n - 2, 1 - TAIL)) * math.sqrt((1 + value**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(np.clip(value, -most, most)) + np.array([-half, half]))
    return Estimate(value, float(min(low, value)), float(max(high, value)), n)


def share_with(table: pd.DataFrame, column: str, *values: Any) -> pd.DataFrame:
    """Compute the share of rows that have one of several values in a column.

    Parameters
    ----------
    table : DataFrame
        One row per observation, with `question_id`.
    column : str
        The column; rows without a value are in `n_missing`.
    *values : object
        The values.

    Returns
    -------
    DataFrame
        One row, as `shares` returns it.
    """
    return shares(table, table[column].isin(values).astype("boolean").mask(table[column].isna()))
