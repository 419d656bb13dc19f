"""Brier score and what it is made of: reliability, resolution, uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from srdcr_lab.measures.calibration.estimate import bootstrapped, percentile_interval
from srdcr_lab.measures.calibration.pairs import Pairs, pairs
from srdcr_lab.measures.calibration.reliability import Bins, bin_edges, bin_of


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
