"""Conformal risk control: bounds an expectation of a monotone loss, which is less than Learn-then-Test promises."""

from __future__ import annotations

import numpy as np

from srdcr_lab.measures.calibration.steps import PrecisionSteps
from srdcr_lab.measures.thresholds.choice import (
    NOTHING,
    ThresholdChoice,
    ThresholdMethod,
    share,
    these_questions,
    threshold_choice,
)


def conformal_risk_control(steps: PrecisionSteps, *, alpha: float = 0.1, on: str | None = None) -> ThresholdChoice:
    """The smallest observed τ with (wrong above τ + 1) / (n + 1) ≤ α.

    The loss 1[Conf ≥ τ and prior wrong] falls with τ, so E[loss of the next question] ≤ α, the expectation being over
    the calibration questions as well: the share of *all* questions that are above τ and wrong, not the risk among
    those above, and no statement about the τ at hand. Questions need to be exchangeable.

    Source: Angelopoulos, Bates, Fisch, Lei and Schuster, Conformal Risk Control, 2024, theorem 1.
    """
    share("alpha", alpha)
    wrong = (steps.n_above - steps.n_target)[:-1]
    good = np.flatnonzero(wrong + 1 <= alpha * (steps.n_questions + 1) + 1e-9)
    return threshold_choice(
        ThresholdMethod.CONFORMAL_RISK_CONTROL,
        float(steps.tau[good[0]]) if good.size else None,
        steps,
        f"in expectation only: at most {alpha:g} of all questions are above τ and wrong, on average over the questions "
        "it was chosen on; the risk among those above τ is not bounded"
        if good.size
        else f"{NOTHING}: it takes more questions, or fewer wrong ones at high confidence",
        bound=alpha,
        chosen_on=these_questions(steps, on),
        alpha=alpha,
    )
