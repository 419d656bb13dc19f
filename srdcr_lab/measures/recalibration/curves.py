"""Recalibration along a curve of two or three parameters: Platt scaling and beta calibration."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from srdcr_lab.measures.recalibration.base import Recalibration

EDGE = 1e-6  # confidences of exactly 0 and 1 have no log-odds


class Scale(StrEnum):
    """What a Platt curve is a logistic function of: the confidence as it is, or its log-odds."""

    RAW = "raw"
    LOGIT = "logit"


class PlattScaling(Recalibration):
    """p = 1 / (1 + exp(−(a s + b))), s the confidence (Platt's) or its log-odds.

    Targets are smoothed as in his paper: (N₊ + 1)/(N₊ + 2) for 1, 1/(N₋ + 2) for 0; so separated classes have a
    finite curve. With scale="logit" confidences lie in [0, 1].

    Source: Platt 1999.
    """

    def __init__(self, scale: str = "raw", column: int = 0) -> None:
        super().__init__(column)
        self.scale = scale

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.slope_,), self.intercept_ = _logistic_fit(self._feature(confidence)[:, None], target, nonnegative=False)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(self.slope_ * self._feature(confidence) + self.intercept_))

    def _feature(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return confidence if Scale(self.scale) is Scale.RAW else np.asarray(logit(_inside(confidence)))


class BetaCalibration(Recalibration):
    """log-odds of p = a ln c − b ln(1 − c) + m with a, b ≥ 0, for confidences c in [0, 1].

    a = b = 1, m = 0 leaves them as they are. Fitted by the greatest likelihood under the constraint, with Platt's
    smoothed targets.

    Source: Kull, Silva Filho and Flach 2017.
    """

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.a_, self.b_), self.m_ = _logistic_fit(_log_parts(confidence), target, nonnegative=True)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(_log_parts(confidence) @ [self.a_, self.b_] + self.m_))


def _log_parts(confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = _inside(confidence)
    return np.column_stack([np.log(inside), -np.log1p(-inside)])


def _inside(confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    if ((confidence < 0) | (confidence > 1)).any():
        raise ValueError(f"a confidence lies in [0, 1], got {confidence.min()} to {confidence.max()}")
    return np.clip(confidence, EDGE, 1 - EDGE)


def _logistic_fit(
    features: NDArray[np.float64], target: NDArray[np.float64], *, nonnegative: bool
) -> tuple[NDArray[np.float64], float]:
    """Coefficients (k,) and intercept of the logistic curve with the least cross-entropy to the smoothed targets."""
    n_target = target.sum()
    smoothed = np.where(target == 1, (n_target + 1) / (n_target + 2), 1 / (target.size - n_target + 2))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    design = np.column_stack([(features - centre) / spread, np.ones(target.size)])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = design @ weights
        entropy = np.logaddexp(0, odds) - smoothed * odds
        return float(entropy.mean()), np.asarray(design.T @ (expit(odds) - smoothed) / target.size)

    least = 0.0 if nonnegative else None
    bounds = [(least, None)] * features.shape[1] + [(None, None)]
    weights = minimize(
        loss, np.zeros(design.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0}
    ).x
    coefficients = weights[:-1] / spread
    return coefficients, float(weights[-1] - coefficients @ centre)
