"""Selective prediction: answer where confident, and see the risk that is left at each coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration.estimate import bootstrapped, percentile_interval
from srdcr_lab.measures.calibration.pairs import pairs
from srdcr_lab.measures.calibration.steps import PrecisionSteps, precision_steps


def risk_coverage(
    confidence: ArrayLike | PrecisionSteps,
    correct: ArrayLike | None = None,
    level: float = 0.95,
    *,
    at_most: int | None = None,
) -> pd.DataFrame:
    """Risk = wrong / answered against coverage = answered / n, where Conf ≥ τ is answered, for every τ.

    Parameters
    ----------
    confidence : shape (q,), one per unique question; NaN is never answered. Or the `precision_steps` made before.
    correct : shape (q,), bool; a question whose value is missing is left out.
    at_most : draw so many points only.

    Returns
    -------
    DataFrame with one row per distinct confidence, descending: `tau`, `coverage`, `n_answered`, `n_wrong`, `risk`,
    `low`, `high` (Jeffreys), `n_missing`, `n_unlabelled`. Empty where no confidence is known.

    Source: El-Yaniv and Wiener 2010; Geifman and El-Yaniv 2017.
    """
    if isinstance(confidence, PrecisionSteps):
        steps = confidence
    elif correct is None:
        raise ValueError("risk_coverage takes confidence and correct, or steps made of them")
    else:
        steps = precision_steps(confidence, correct)
    above = steps.frame(level, at_most=at_most)
    return pd.DataFrame(
        {
            "tau": above["tau"],
            "coverage": above["coverage"],
            "n_answered": above["n_above"],
            "n_wrong": above["n_above"] - above["n_target"],
            "risk": 1 - above["precision"],
            "low": 1 - above["high"],
            "high": 1 - above["low"],
            "n_missing": above["n_missing"],
            "n_unlabelled": above["n_unlabelled"],
        }
    )


@dataclass(frozen=True, slots=True)
class AreaUnderRiskCoverage:
    """AURC and what of it is the confidence's fault: `value` = `optimal` + `excess`.

    `optimal` is that of an order that answers every right question first; a random order has the mean risk.
    """

    value: float
    low: float
    high: float
    excess: float
    excess_low: float
    excess_high: float
    optimal: float
    risk: float
    n: int
    n_missing: int
    n_unlabelled: int


def aurc(
    confidence: ArrayLike, correct: ArrayLike, level: float = 0.95, *, n_boot: int = 1000, seed: int = 0
) -> AreaUnderRiskCoverage:
    """AURC = (1/n) Σ_k (wrong among the k most confident) / k; excess AURC takes the optimal order's off.

    Equal confidences count as the mean over their orders. Questions without confidence are left out and counted.

    Parameters
    ----------
    confidence : shape (q,), one per unique question, of any kind.
    correct : shape (q,), bool or missing. All right: 0, 0 and 0. All wrong: 1 with excess 0. n = 0: NaN.

    Notes
    -----
    Intervals are percentile bootstraps over questions, seeded. A question drawn twice ties with itself.

    Source: Geifman and El-Yaniv 2017; excess: Geifman, Uziel and El-Yaniv 2019, with the finite sum for their integral.
    """
    given = pairs(confidence, correct)
    if given.n == 0:
        nan = math.nan
        return AreaUnderRiskCoverage(nan, nan, nan, nan, nan, nan, nan, nan, 0, given.n_missing, given.n_unlabelled)
    order = np.argsort(-given.confidence, kind="stable")
    values, wrong = given.confidence[order], 1 - given.target[order]
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))

    def areas(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value and excess side by side; shape (b, 2)."""
        upto, wrong_upto = (np.cumsum(part, axis=1)[:, last] for part in (weights, weights * wrong))
        n, n_wrong = upto[:, -1:], wrong_upto[:, -1:]
        value = _area(upto, wrong_upto)
        optimal = _area(np.hstack([n - n_wrong, n]), np.hstack([0 * n, n_wrong]))
        return np.column_stack([value, value - optimal])

    value, excess = areas(np.ones((1, given.n)))[0]
    resampled = bootstrapped(areas, given.n, n_boot=n_boot, seed=seed)
    (low, high), (excess_low, excess_high) = (percentile_interval(of, level) for of in resampled.T)
    return AreaUnderRiskCoverage(
        float(value),
        low,
        high,
        float(excess),
        excess_low,
        excess_high,
        float(value - excess),
        float(wrong.mean()),
        given.n,
        given.n_missing,
        given.n_unlabelled,
    )


def _area(upto: NDArray[np.float64], wrong_upto: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over k of the expected risk among the first k, from the counts up to the end of each tie; shape (b,).

    Within a tie of m questions, w of them wrong, after K questions with W wrong, the i-th risk is expected to be
    (W + i w/m) / (K + i); its sum over i = 1 … m is w + (W − K w/m) (H(K + m) − H(K)), H the harmonic numbers.
    """
    before, wrong_before = (np.hstack([np.zeros((len(c), 1)), c[:, :-1]]) for c in (upto, wrong_upto))
    size, wrong = upto - before, wrong_upto - wrong_before
    per_question = wrong / np.maximum(size, 1)
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, upto.max() + 1)))
    between = harmonic[upto.astype(int)] - harmonic[before.astype(int)]
    return np.asarray((wrong + (wrong_before - before * per_question) * between).sum(axis=1) / upto[:, -1])
