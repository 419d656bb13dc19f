"""Confidence and target of unique questions, with what is missing counted: the input of every measure beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from srdcr_lab.measures.estimates import jeffreys_interval
from srdcr_lab.records import KnowledgeCategory


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions that have a target, those with a confidence first.

    `confidence` and `target` (0 or 1) have the shape (n,); `n_missing` questions have a target and no confidence,
    `n_unlabelled` have no target and are in no other number.
    """

    confidence: NDArray[np.float64]
    target: NDArray[np.float64]
    n_missing: int
    n_unlabelled: int

    @property
    def n(self) -> int:
        return self.confidence.size

    @property
    def n_target(self) -> int:
        return int(self.target.sum())

    @property
    def has_both_classes(self) -> bool:
        return 0 < self.n_target < self.n


def pairs(confidence: ArrayLike, target: ArrayLike, *, probabilities: bool = False) -> Pairs:
    """One confidence and one target per question, without those that lack either.

    Parameters
    ----------
    confidence : shape (q,); NaN or None where there is none. Any real number, unless `probabilities`: then in [0, 1].
    target : shape (q,), bool; missing (None, NaN, NA) where it is not known, as without knowledge draws.

    Raises
    ------
    ValueError
        The shapes differ, a target is neither true nor false, or a confidence is infinite or outside [0, 1].
    """
    values, labels = floats(confidence), floats(target)
    if values.shape != labels.shape or values.ndim != 1:
        raise ValueError(f"confidence and target are one value per question each, got {values.shape}, {labels.shape}")
    labelled = ~np.isnan(labels)
    known = labelled & ~np.isnan(values)
    kept, hits = values[known], labels[known]
    if not ((hits == 0) | (hits == 1)).all():
        raise ValueError("a target is true or false for each question")
    if np.isinf(kept).any() or (probabilities and ((kept < 0) | (kept > 1)).any()):
        raise ValueError(f"a confidence lies in [0, 1], got {kept.min()} to {kept.max()}")
    return Pairs(kept, hits, int(labelled.sum() - known.sum()), int(labels.size - labelled.sum()))


def floats(values: ArrayLike) -> NDArray[np.float64]:
    """Numbers or truth values as floats; None and NA become NaN."""
    array = np.asarray(values)
    if array.dtype.kind in "bfiu":
        return array.astype(float)
    return np.asarray(pd.array(array).to_numpy(float, na_value=np.nan), float)  # None, pd.NA


# -- a measured number with its interval and the counts behind it, and the bootstrap over questions

BLOCK = 2_000_000  # weights held at a time, so that memory stays bounded


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval over `n` questions, `n_target` of them with the target.

    `n_missing` had no confidence and `n_unlabelled` no target: they are left out.
    """

    value: float
    low: float
    high: float
    n: int
    n_target: int
    n_missing: int
    n_unlabelled: int


def estimate(value: float, low: float, high: float, given: Pairs) -> Estimate:
    return Estimate(float(value), float(low), float(high), given.n, given.n_target, given.n_missing, given.n_unlabelled)


def bootstrapped(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], n: int, *, n_boot: int, seed: int
) -> NDArray[np.float64]:
    """The statistic on `n_boot` resamples of n questions, seeded; shape (n_boot,), or (n_boot, k) for k statistics.

    `statistic` maps weights, how often each question was drawn, of the shape (b, n) to b values or rows.
    """
    rng = np.random.default_rng(seed)
    values = []
    block = max(1, BLOCK // max(n, 1))
    for start in range(0, n_boot, block):
        size = min(block, n_boot - start)
        drawn = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        values.append(statistic(weights.astype(float)))
    return np.concatenate(values)


def percentile_interval(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """The middle `level` of bootstrap values; resamples without a value (NaN) are left out; NaN if none has one."""
    if np.isnan(values).all():
        return np.nan, np.nan
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# -- what confidence is held against, one row per unique question


def question_targets(records: pd.DataFrame) -> pd.DataFrame:
    """Confidence and the three targets of each question in a records table.

    Parameters
    ----------
    records : rows of one model, item × method; leave in the levels whose passages are to count.

    Returns
    -------
    DataFrame, one row per `question_id` in order of first appearance, with `domain`, `self_confidence`,
    `confidence_kind` and three targets, each True, False or missing:

    - `highly_known`: `knowledge_category` is HIGHLY_KNOWN; missing without knowledge draws.
    - `prior_correct`: the prior answer is right; one that could not be read is not, one whose call failed is missing.
    - `prior_better`: the prior answer is right and the context answer is wrong (or unread) on at least one of the
      question's passages: on these the prior answer is right more often than the context answer.
    """
    items = records.drop_duplicates("item_id")
    for column in ("model", "confidence_kind"):
        if items[column].nunique() > 1:
            raise ValueError(f"the records hold several values of {column}; choose one of them first")
    first = items.drop_duplicates("question_id").set_index("question_id")
    category = first["knowledge_category"]
    highly = (category == KnowledgeCategory.HIGHLY_KNOWN).astype("boolean").mask(category.isna())
    prior, context = (_right(items, answer) for answer in ("prior", "context"))
    fooled = (~context).groupby(items["question_id"]).max()  # passages without an answer do not count
    prior_right = prior.groupby(items["question_id"]).first().reindex(first.index)
    table = pd.DataFrame(
        {
            "domain": first["domain"],
            "self_confidence": first["self_confidence"].astype(float),
            "confidence_kind": first["confidence_kind"],
            "highly_known": highly,
            "prior_correct": prior_right,
            "prior_better": prior_right & fooled.reindex(first.index),
        }
    )
    return table.reset_index()


def _right(items: pd.DataFrame, answer: str) -> pd.Series:
    """Whether the answer is right; False where it was given and could not be read, missing where its call failed."""
    right = items[f"{answer}_correct"].astype("boolean")
    unread = right.isna() & items["error"].isna()
    return right.mask(unread, False)


# -- reliability curves: how often the target holds among questions of about the same confidence


class Bins(StrEnum):
    """How [0, 1] is cut: into bins of equal width, or of about equally many questions."""

    WIDTH = "width"
    MASS = "mass"


def bin_edges(confidence: NDArray[np.float64], n_bins: int, bins: Bins | str = Bins.WIDTH) -> NDArray[np.float64]:
    """Edges from 0 to 1, ascending, at most n_bins + 1: equal confidences are never parted, so MASS may give fewer."""
    if n_bins < 1:
        raise ValueError(f"a curve has at least one bin, got {n_bins}")
    if Bins(bins) is Bins.WIDTH or not confidence.size:
        return np.arange(n_bins + 1) / n_bins
    inner = mass_cuts(confidence, n_bins)
    return np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])


def mass_cuts(confidence: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """The confidences that open the second, third … of n_bins bins of about equally many questions, without repeats."""
    first = -(-confidence.size * np.arange(1, n_bins) // n_bins)  # rounded up
    return np.unique(np.sort(confidence)[first[first < confidence.size]])


def bin_of(confidence: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each confidence: from its lower edge, inclusive like Conf ≥ τ, to below the next; the last holds 1."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, edges.size - 2)


def reliability_curve(
    confidence: ArrayLike,
    target: ArrayLike,
    *,
    n_bins: int = 10,
    bins: Bins | str = Bins.WIDTH,
    level: float = 0.95,
) -> pd.DataFrame:
    """Share of the target in each bin of confidence.

    Parameters
    ----------
    confidence : shape (q,), in [0, 1], one per unique question; missing ones are left out and counted.
    target : shape (q,), bool or missing.

    Returns
    -------
    DataFrame with one row per bin, ascending, empty ones included: `left` ≤ Conf < `right` (the last bin holds 1),
    `n`, `n_target`, `mean_confidence`, `frequency` = n_target / n, `low`, `high` (Jeffreys); NaN where n = 0; and the
    `n_missing`, `n_unlabelled` of all.
    """
    given = pairs(confidence, target, probabilities=True)
    edges = bin_edges(given.confidence, n_bins, bins)
    place = bin_of(given.confidence, edges)
    n, hits, total = (
        np.bincount(place, weights, minlength=edges.size - 1) for weights in (None, given.target, given.confidence)
    )
    low, high = jeffreys_interval(hits, n, level)
    filled = np.where(n > 0, n, np.nan)
    return pd.DataFrame(
        {
            "left": edges[:-1],
            "right": edges[1:],
            "n": n,
            "n_target": hits.astype(int),
            "mean_confidence": total / filled,
            "frequency": hits / filled,
            "low": low,
            "high": high,
            "n_missing": given.n_missing,
            "n_unlabelled": given.n_unlabelled,
        }
    )


# -- expected calibration error: the distance between confidence and frequency, with what its bins hide


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """ECE over `n` questions, and the reliability curve it is made of, whose counts say what each bin rests on.

    `value` is the plug-in estimate, which is above the truth for few questions a bin: a calibrated confidence has a
    positive one. `debiased` takes part of that off, in [0, 1]; `low` and `high` belong to it. `p_calibrated` is the
    probability of a plug-in value at least as large if the confidence were calibrated.
    """

    value: float
    debiased: float
    p_calibrated: float
    low: float
    high: float
    n: int
    n_missing: int
    n_unlabelled: int
    bins: Bins
    curve: pd.DataFrame


def ece(
    confidence: ArrayLike,
    target: ArrayLike,
    *,
    n_bins: int = 10,
    bins: Bins | str = Bins.WIDTH,
    level: float = 0.95,
    n_boot: int = 1000,
    seed: int = 0,
) -> CalibrationError:
    """ECE = Σ (n_b / n) |frequency_b − mean confidence_b| over bins b; empty bins weigh nothing.

    Parameters
    ----------
    confidence : shape (q,), in [0, 1], one per unique question; missing ones are left out and counted.
    target : shape (q,), bool or missing. One class only is no hindrance; with n = 0 all is NaN.

    Notes
    -----
    Debiased: 2 ECE − E[ECE*], where ECE* has each frequency redrawn from the normal N(frequency, its variance
    f(1 − f)/n_b); the expectation of a folded normal is known in closed form. The interval is the basic bootstrap over
    questions, around the debiased value, with the edges of the whole sample: the percentile one would repeat the bias.
    It begins at 0 where `p_calibrated` (targets redrawn as Bernoulli(Conf)) exceeds (1 − level)/2: 0 is the edge of
    the range, where a bootstrap alone covers far too seldom.

    Source: Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017; debiased as in Kumar, Liang and Ma 2019 (their
    resampling done in closed form); redrawn targets: Bröcker and Smith 2007.
    """
    given = pairs(confidence, target, probabilities=True)
    curve = reliability_curve(confidence, target, n_bins=n_bins, bins=bins, level=level)
    if given.n == 0:
        nan = math.nan
        return CalibrationError(nan, nan, nan, nan, nan, 0, given.n_missing, given.n_unlabelled, Bins(bins), curve)
    filled = curve[curve["n"] > 0]
    n, frequency = filled["n"].to_numpy(float), filled["frequency"].to_numpy(float)
    gap = frequency - filled["mean_confidence"].to_numpy(float)
    value = float(n @ np.abs(gap) / n.sum())
    redrawn = float(n @ _folded_normal_mean(gap, np.sqrt(frequency * (1 - frequency) / n)) / n.sum())
    debiased = float(np.clip(2 * value - redrawn, 0, 1))

    place = bin_of(given.confidence, bin_edges(given.confidence, n_bins, bins))
    in_bin = (place[:, None] == np.unique(place)).astype(float)

    def plug_in(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.abs(gaps @ in_bin).sum(axis=1) / given.n)

    own = given.target - given.confidence
    resampled = bootstrapped(lambda weights: plug_in(weights * own), given.n, n_boot=n_boot, seed=seed)
    reach = np.quantile(resampled, [(1 + level) / 2, (1 - level) / 2]) - resampled.mean()
    low, high = np.clip(debiased - reach, 0, 1)
    calibrated = np.concatenate([plug_in(gaps) for gaps in _if_calibrated(given.confidence, n_boot, seed)])
    p_calibrated = float((1 + np.sum(calibrated >= value - 1e-12)) / (1 + n_boot))
    return CalibrationError(
        value,
        debiased,
        p_calibrated,
        0.0 if p_calibrated > (1 - level) / 2 else float(low),
        float(high),
        given.n,
        given.n_missing,
        given.n_unlabelled,
        Bins(bins),
        curve,
    )


def _if_calibrated(confidence: NDArray[np.float64], n_draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Target − confidence with targets drawn as Bernoulli(Conf), seeded, some draws at a time; shape (b, n)."""
    rng = np.random.default_rng((seed, 1))  # another stream than the bootstrap's
    block = max(1, BLOCK // confidence.size)
    for start in range(0, n_draws, block):
        yield (rng.random((min(block, n_draws - start), confidence.size)) < confidence) - confidence


def _folded_normal_mean(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """E|X| for X ~ N(mean, deviation²); |mean| where the deviation is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / deviation
    spread = deviation * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + mean * (1 - 2 * ndtr(-ratio))
    return np.asarray(np.where(deviation > 0, spread, np.abs(mean)))


# -- brier score and what it is made of: reliability, resolution, uncertainty


@dataclass(frozen=True, slots=True)
class Brier:
    """value = reliability − resolution + uncertainty + within_bin, exactly.

    `reliability` (0 is best) is how far the bins' frequencies are from their mean confidence, `resolution` how far
    they are from each other, `uncertainty` = p(1 − p) with p the share of the target, and `within_bin` what binning
    different confidences together leaves over: 0 where each bin holds a single confidence.
    """

    value: float
    low: float
    high: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin: float
    n: int
    n_target: int
    n_missing: int
    n_unlabelled: int


def brier(
    confidence: ArrayLike,
    target: ArrayLike,
    *,
    n_bins: int | None = 10,
    bins: Bins | str = Bins.MASS,
    level: float = 0.95,
    n_boot: int = 1000,
    seed: int = 0,
) -> Brier:
    """Brier score = (1/n) Σ (Conf − target)², in [0, 1], 0 is best.

    Parameters
    ----------
    confidence : shape (q,), in [0, 1], one per unique question; missing ones are left out and counted.
    target : shape (q,), bool or missing. One class only has no uncertainty and no resolution; n = 0 gives NaN.
    n_bins : None makes a bin of each distinct confidence, right for self-consistency with its 17 values.

    Notes
    -----
    The interval of the value is the percentile bootstrap over questions, seeded; the parts are plug-in values, of
    which reliability and resolution are both too large for few questions a bin.

    Source: Brier 1950; Murphy 1973; the rest within bins after Stephenson, Coelho and Jolliffe 2008.
    """
    given = pairs(confidence, target, probabilities=True)
    if given.n == 0:
        nan = math.nan
        return Brier(nan, nan, nan, nan, nan, nan, nan, 0, 0, given.n_missing, given.n_unlabelled)
    loss = (given.confidence - given.target) ** 2
    resampled = bootstrapped(lambda weights: weights @ loss / given.n, given.n, n_boot=n_boot, seed=seed)
    low, high = percentile_interval(resampled, level)
    reliability, resolution, within = _parts(given, n_bins, bins)
    share = given.n_target / given.n
    return Brier(
        float(loss.mean()),
        low,
        high,
        reliability,
        resolution,
        share * (1 - share),
        within,
        given.n,
        given.n_target,
        given.n_missing,
        given.n_unlabelled,
    )


def _parts(given: Pairs, n_bins: int | None, bins: Bins | str) -> tuple[float, float, float]:
    if n_bins is None:
        place = np.unique(given.confidence, return_inverse=True)[1]
    else:
        place = np.unique(bin_of(given.confidence, bin_edges(given.confidence, n_bins, bins)), return_inverse=True)[1]
    n = np.bincount(place)
    confidence, frequency = (np.bincount(place, of) / n for of in (given.confidence, given.target))
    reliability = n @ (confidence - frequency) ** 2 / given.n
    resolution = n @ (frequency - given.target.mean()) ** 2 / given.n
    off = given.confidence - confidence[place]
    within = np.mean(off**2) - 2 * np.mean(off * (given.target - frequency[place]))
    return float(reliability), float(resolution), float(within)


# -- does higher confidence go with the target? AUROC and AUPRC: of ranks alone, so for any confidence kind


def auroc(confidence: ArrayLike, target: ArrayLike, level: float = 0.95) -> Estimate:
    """P(Conf of a question with the target > Conf of one without) + ½ P(equal), over all such pairs.

    Parameters
    ----------
    confidence, target : shape (q,), one per unique question; missing ones are left out and counted.

    Returns
    -------
    Estimate in [0, 1]. Its interval is DeLong's on the logit scale; where DeLong's variance is zero or undefined
    (the classes are separated, or one has a single question) it is Newcombe's. NaN where one class is empty.

    Source: DeLong, DeLong and Clarke-Pearson 1988, by midranks as in Sun and Xu 2014; Newcombe 2006, method 5.
    """
    given = pairs(confidence, target)
    if not given.has_both_classes:
        return estimate(math.nan, math.nan, math.nan, given)
    of_targets, of_others = _placements(given)
    area = float(of_targets.mean())
    spread = sum(part.var(ddof=1) / part.size if part.size > 1 else math.nan for part in (of_targets, of_others))
    z = float(ndtri((1 + level) / 2))
    if spread > 0 and 0 < area < 1:
        half = z * math.sqrt(spread) / (area * (1 - area))
        return estimate(area, expit(logit(area) - half), expit(logit(area) + half), given)
    return estimate(area, *_newcombe(area, of_targets.size, of_others.size, z), given)


def _placements(given: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each question the share of the other class it is ranked rightly against; their means are both the AUROC."""
    hit = given.target == 1
    targets, others = np.sort(given.confidence[hit]), np.sort(given.confidence[~hit])
    below = np.searchsorted(others, targets, side="left") + np.searchsorted(others, targets, side="right")
    above = 2 * targets.size - np.searchsorted(targets, others, "left") - np.searchsorted(targets, others, "right")
    return below / (2 * others.size), above / (2 * targets.size)


def _newcombe(area: float, m: int, n: int, z: float) -> tuple[float, float]:
    """The areas θ with |area − θ| ≤ z √Var(θ), Var after Hanley and McNeil with (m + n)/2 − 1 for m − 1 and n − 1."""
    pooled = (m + n) / 2 - 1

    def excess(theta: float) -> float:
        variance = theta * (1 - theta) * (1 + pooled * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / (m * n)
        return (area - theta) ** 2 - z**2 * variance

    low = brentq(excess, 0.0, area) if excess(0.0) > 0 else 0.0
    high = brentq(excess, area, 1.0) if excess(1.0) > 0 else 1.0
    return float(low), float(high)
