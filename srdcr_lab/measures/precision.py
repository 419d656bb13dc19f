"""P(target | Conf ≥ τ) as a step function of τ [4.2]: made once in O(n log n), looked up in O(log n)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration import pairs
from srdcr_lab.measures.estimates import jeffreys_interval


@dataclass(frozen=True, slots=True)
class Above:
    """The questions with Conf ≥ τ, |C(τ)| = `n_above` of `n_questions`.

    `precision` = `n_target` / `n_above` with its Jeffreys interval, NaN where none is above; `coverage` = `n_above` /
    `n_questions`, NaN where there are none.
    """

    tau: float
    n_above: int
    n_target: int
    n_questions: int
    precision: float
    low: float
    high: float

    @property
    def coverage(self) -> float:
        return self.n_above / self.n_questions if self.n_questions else np.nan

    @property
    def risk(self) -> float:
        """1 − precision: with the target "the prior answer is right", wrong priors among Conf ≥ τ."""
        return 1 - self.precision


@dataclass(frozen=True, slots=True)
class PrecisionSteps:
    """Counts above every distinct confidence, ascending. Make it with `precision_steps`.

    `n_above[i]` questions have Conf ≥ `tau[i]`, of which `n_target[i]` have the target; both end with a 0, for any τ
    above all confidences. `n_questions` counts those with a target, the `n_missing` without confidence included;
    `n_unlabelled` are in no other number.
    """

    tau: NDArray[np.float64]
    n_above: NDArray[np.int64]
    n_target: NDArray[np.int64]
    n_questions: int
    n_missing: int
    n_unlabelled: int

    def at(self, tau: float, level: float = 0.95) -> Above:
        """What lies above any τ, a distinct confidence or not."""
        i = int(np.searchsorted(self.tau, tau, side="left"))
        above, hits = int(self.n_above[i]), int(self.n_target[i])
        low, high = (float(end) for end in jeffreys_interval(hits, above, level))
        return Above(tau, above, hits, self.n_questions, hits / above if above else np.nan, low, high)

    def frame(self, level: float = 0.95, *, at_most: int | None = None) -> pd.DataFrame:
        """One row per distinct confidence, descending; the columns are those of `precision_above`.

        With `at_most`, so many of them, evenly spaced in coverage, first and last included: enough to draw.
        """
        rows = self._rows(at_most)
        n_above, n_target = self.n_above[rows], self.n_target[rows]
        low, high = jeffreys_interval(n_target, n_above, level)
        return pd.DataFrame(
            {
                "tau": self.tau[rows],
                "n_above": n_above,
                "n_target": n_target,
                "precision": n_target / n_above,
                "low": low,
                "high": high,
                "coverage": n_above / max(self.n_questions, 1),
                "n_missing": self.n_missing,
                "n_unlabelled": self.n_unlabelled,
            }
        )

    def _rows(self, at_most: int | None) -> NDArray[Any]:
        every = np.arange(self.tau.size)[::-1]
        if at_most is None or every.size <= at_most:
            return every
        wanted = np.linspace(self.n_above[-2], self.n_above[0], at_most)
        picked = np.searchsorted(self.n_above[:-1][::-1], wanted)  # ascending counts: descending τ
        return every[np.unique(picked)]


def precision_steps(confidence: ArrayLike, target: ArrayLike) -> PrecisionSteps:
    """Counts above every τ, in O(n log n).

    Parameters
    ----------
    confidence : shape (q,), one value per *unique question*, of any kind; NaN is never ≥ τ.
    target : shape (q,), bool: Highly-Known (the paper's), right, prior better than context …; a question whose target
        is missing is left out.
    """
    given = pairs(confidence, target)
    order = np.argsort(given.confidence, kind="stable")
    values = given.confidence[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if values.size else np.array([], dtype=int)
    hits_above = np.append(np.cumsum(given.target[order][::-1])[::-1], 0).astype(int)
    return PrecisionSteps(
        tau=values[first],
        n_above=np.append(values.size - first, 0),
        n_target=hits_above[np.append(first, values.size)],
        n_questions=given.n + given.n_missing,
        n_missing=given.n_missing,
        n_unlabelled=given.n_unlabelled,
    )


def precision_above(confidence: ArrayLike, target: ArrayLike, level: float = 0.95) -> pd.DataFrame:
    """P(target | Conf ≥ τ) = |target ∩ C(τ)| / |C(τ)| for every τ at which it can change.

    Parameters
    ----------
    confidence : shape (q,), one value per *unique question*, of any kind; NaN is never ≥ τ, and those questions are
        counted in `n_missing`.
    target : shape (q,), bool; with `knowledge_category == HIGHLY_KNOWN` this is the paper's curve. Questions whose
        target is missing are left out and counted in `n_unlabelled`.

    Returns
    -------
    DataFrame with one row per distinct confidence, descending: `tau`, `n_above` = |C(τ)|, `n_target`, `precision`,
    `low`, `high` (Jeffreys), `coverage` = |C(τ)| / questions with a target, `n_missing`, `n_unlabelled`. Empty where
    no confidence is known.
    """
    return precision_steps(confidence, target).frame(level)


# -- selective prediction: answer where confident, and see the risk that is left at each coverage


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
