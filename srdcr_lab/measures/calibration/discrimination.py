"""Does higher confidence go with the target? AUROC and AUPRC: of ranks alone, so for any confidence kind."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from srdcr_lab.measures.calibration.estimate import Estimate, estimate
from srdcr_lab.measures.calibration.pairs import Pairs, pairs


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
