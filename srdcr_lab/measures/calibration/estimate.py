"""A measured number with its interval and the counts behind it, and the bootstrap over questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srdcr_lab.measures.calibration.pairs import Pairs

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
