"""Selective prediction: answer where confident, and see the risk that is left at each coverage."""

from __future__ import annotations

import pandas as pd
from numpy.typing import ArrayLike

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
