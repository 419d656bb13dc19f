"""Learn-then-Test: a threshold whose risk is at most α with probability at least 1 − δ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr

from srdcr_lab.measures.calibration.steps import PrecisionSteps
from srdcr_lab.measures.thresholds.choice import (
    NOTHING,
    ThresholdChoice,
    ThresholdMethod,
    share,
    these_questions,
    threshold_choice,
)

# Fixed before any question is seen; fine where confidences crowd. 0 means to believe every prior answer.
_HUNDREDTHS = (0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 99, 99.5, 99.9)
TAUS = tuple(of / 100 for of in _HUNDREDTHS)
STARTS = (0.97, 0.9, 0.8)


class Procedure(StrEnum):
    """How several thresholds are tested so that the probability of any false acceptance is at most δ.

    FIXED_SEQUENCE goes from each start down the grid, with δ / number of starts each, until a test fails; HOLM and
    BONFERRONI test the whole grid.
    """

    FIXED_SEQUENCE = "fixed_sequence"
    HOLM = "holm"
    BONFERRONI = "bonferroni"


def risk_tests(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    procedure: Procedure | str = Procedure.FIXED_SEQUENCE,
    starts: Sequence[float] = STARTS,
) -> pd.DataFrame:
    """For each τ of a grid, the test of "its risk is above α".

    Parameters
    ----------
    steps : of questions drawn independently from one population, with the target "the prior answer is right".
    taus, starts : fixed before these questions were seen; each start is one of the taus.

    Returns
    -------
    DataFrame, τ descending: `tau`, `n_above`, `n_wrong`, `risk`, `p_value` = P(Bin(n_above, α) ≤ n_wrong), 1 where
    nothing is above; `accepted`: the hypothesis is rejected, so that τ may be used.
    """
    share("alpha", alpha)
    share("delta", delta)
    grid = np.array(sorted(set(taus), reverse=True))
    place = np.searchsorted(steps.tau, grid, side="left")
    n_above, n_target = steps.n_above[place], steps.n_target[place]
    n_wrong = n_above - n_target
    p_values = np.where(n_above > 0, bdtr(n_wrong, np.maximum(n_above, 1), alpha), 1.0)
    with np.errstate(invalid="ignore"):
        risk = n_wrong / np.where(n_above > 0, n_above, np.nan)
    return pd.DataFrame(
        {
            "tau": grid,
            "n_above": n_above,
            "n_wrong": n_wrong,
            "risk": risk,
            "p_value": p_values,
            "accepted": _accepted(p_values, delta, Procedure(procedure), _places(grid, starts)),
        }
    )


def learn_then_test(
    steps: PrecisionSteps,
    *,
    alpha: float = 0.1,
    delta: float = 0.1,
    taus: Sequence[float] = TAUS,
    procedure: Procedure | str = Procedure.FIXED_SEQUENCE,
    starts: Sequence[float] = STARTS,
    on: str | None = None,
) -> ThresholdChoice:
    """The smallest τ that the tests accept: P(risk(τ) ≤ α) ≥ 1 − δ over draws of the questions.

    Parameters
    ----------
    steps : of questions drawn independently from the population τ is for, target "the prior answer is right"; with
        another target read "without the target" for "wrong".
    taus, starts, procedure : chosen before these questions were seen.

    Notes
    -----
    Why it is valid. The risk P(wrong | Conf ≥ τ) is a ratio and not monotone in τ. Given how many of independent
    questions lie above a τ fixed beforehand, the number of wrong ones among them is binomial with exactly this risk;
    so p(τ) = P(Bin(n_above, α) ≤ n_wrong) is a p-value of "risk(τ) > α", given n_above and therefore without it. Each
    procedure keeps the probability of accepting any τ with risk(τ) > α at δ or below, whatever the dependence between
    the tests; so any accepted τ may be used. An order or a grid made of these questions' own confidences would not do
    for FIXED_SEQUENCE.

    Source: Angelopoulos, Bates, Candès, Jordan and Lei, Learn then Test, 2021 (their Hoeffding–Bentkus p-value
    replaced by the exact binomial); Holm 1979; several starts: ibid., fixed-sequence testing.
    """
    tests = risk_tests(steps, alpha=alpha, delta=delta, taus=taus, procedure=procedure, starts=starts)
    accepted = tests.loc[tests["accepted"], "tau"]
    tau = float(accepted.min()) if len(accepted) else None
    if tau is None:
        tested = len(starts) if Procedure(procedure) is Procedure.FIXED_SEQUENCE else len(tests)
        least = math.ceil(math.log(delta / tested) / math.log(1 - alpha))
        guarantee = f"{NOTHING}: risk ≤ {alpha:g} with probability ≥ {1 - delta:g} takes at least {least} questions "
        guarantee += "above τ, even if none of them is wrong"
    else:
        guarantee = f"with probability ≥ {1 - delta:g} over draws of the questions it was chosen on, the risk on "
        guarantee += f"further questions of the same population is at most {alpha:g}"
    return threshold_choice(
        ThresholdMethod.LEARN_THEN_TEST,
        tau,
        steps,
        guarantee,
        bound=alpha,
        chosen_on=these_questions(steps, on),
        alpha=alpha,
        delta=delta,
    )


def _places(grid: NDArray[np.float64], starts: Sequence[float]) -> list[int]:
    places = [int(i) for start in starts for i in np.flatnonzero(grid == start)]
    if len(places) != len(starts) or not places:
        raise ValueError(f"each start is one of the taus, got starts {tuple(starts)}")
    return places


def _accepted(
    p_values: NDArray[np.float64], delta: float, procedure: Procedure, starts: list[int]
) -> NDArray[np.bool_]:
    accepted = np.zeros(p_values.size, bool)
    if procedure is Procedure.BONFERRONI:
        return np.asarray(p_values <= delta / p_values.size)
    if procedure is Procedure.HOLM:
        order = np.argsort(p_values, kind="stable")
        held = p_values[order] <= delta / np.arange(p_values.size, 0, -1)
        accepted[order[: int(np.argmin(np.append(held, False)))]] = True
        return accepted
    for start in starts:
        held = p_values[start:] <= delta / len(starts)
        accepted[start : start + int(np.argmin(np.append(held, False)))] = True
    return accepted
