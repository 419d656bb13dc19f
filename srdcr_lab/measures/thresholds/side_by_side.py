"""Every way to choose τ on the same questions, so that what each promises can be compared."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab.measures.calibration.steps import PrecisionSteps
from srdcr_lab.measures.thresholds.choice import ThresholdChoice, ThresholdMethod
from srdcr_lab.measures.thresholds.conformal import conformal_risk_control
from srdcr_lab.measures.thresholds.plain import PAPER_TAU, fixed_threshold, target_precision
from srdcr_lab.measures.thresholds.tested import learn_then_test


def every_choice(
    steps: PrecisionSteps, *, alpha: float = 0.1, delta: float = 0.1, tau: float = PAPER_TAU, on: str | None = None
) -> tuple[ThresholdChoice, ...]:
    """Fixed at `tau`, target precision, Learn-then-Test, conformal risk control, in this order, at the same α and δ."""
    return (
        fixed_threshold(steps, tau, delta=delta, on=on),
        target_precision(steps, alpha=alpha, on=on),
        learn_then_test(steps, alpha=alpha, delta=delta, on=on),
        conformal_risk_control(steps, alpha=alpha, on=on),
    )


def recommended(choices: Sequence[ThresholdChoice]) -> ThresholdChoice:
    """The choice by Learn-then-Test, the only one whose guarantee is of the risk that was asked for; its `tau` is None
    where no threshold attains it."""
    return next(choice for choice in choices if choice.method is ThresholdMethod.LEARN_THEN_TEST)
