"""Expected calibration error: the distance between confidence and frequency, with what its bins hide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from srdcr_lab.measures.calibration.estimate import BLOCK, bootstrapped
from srdcr_lab.measures.calibration.pairs import pairs
from srdcr_lab.measures.calibration.reliability import Bins, bin_edges, bin_of, reliability_curve


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
