"""A threshold with what it promises: the result of every way to choose τ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from srdcr_lab.measures.calibration.steps import PrecisionSteps
from srdcr_lab.measures.knowledge import jeffreys_interval

SCOPE = (
    "Risk is the share of wrong prior answers among questions with Conf ≥ τ, whatever their verdict: τ bounds errors "
    "of USE_PRIOR alone, not wrong passages that were believed (USE_CONTEXT)."
)
NOTHING = "no threshold attains this"


class ThresholdMethod(StrEnum):
    FIXED = "fixed"
    TARGET_PRECISION = "target_precision"
    LEARN_THEN_TEST = "learn_then_test"
    CONFORMAL_RISK_CONTROL = "conformal_risk_control"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """τ, what is guaranteed of it in a sentence, on which questions, and what it buys.

    `tau` is None where no threshold attains what was asked; `n_above` and `coverage` are then 0 and `risk` NaN.
    `guaranteed` is False where the sentence begins with "no guarantee" or "no threshold"; `bound` is the number that
    the sentence guarantees, None without one. `coverage` = n_above / n and
    `risk` = n_wrong / n_above are of the `n` questions τ is shown on; after a choice on these very questions the risk,
    with its Jeffreys interval `low` to `high`, describes them and tends to be too good. `scope` is always the same:
    τ bounds USE_PRIOR errors alone.
    """

    method: ThresholdMethod
    tau: float | None
    guarantee: str
    guaranteed: bool
    bound: float | None
    chosen_on: str
    alpha: float | None
    delta: float | None
    n: int
    n_above: int
    n_wrong: int
    coverage: float
    risk: float
    low: float
    high: float
    scope: str = SCOPE

    def __str__(self) -> str:
        if self.tau is None:
            return f"{self.method.value}, on {self.chosen_on}: {self.guarantee}. {self.scope}"
        risk = "" if math.isnan(self.risk) else f", {self.n_wrong} wrong (risk {self.risk:.3f})"
        above = f"{self.n_above} of {self.n} questions above it{risk}"
        return f"{self.method.value}, on {self.chosen_on}: τ = {self.tau:.4g}; {above}; {self.guarantee}. {self.scope}"


def threshold_choice(
    method: ThresholdMethod,
    tau: float | None,
    steps: PrecisionSteps,
    guarantee: str,
    *,
    chosen_on: str,
    bound: float | None = None,
    alpha: float | None = None,
    delta: float | None = None,
) -> ThresholdChoice:
    """The choice, with what lies above τ on the given questions; without a `bound` it has no guarantee."""
    above = steps.at(math.inf if tau is None else tau)
    wrong = above.n_above - above.n_target
    low, high = (float(end) for end in jeffreys_interval(wrong, above.n_above))
    return ThresholdChoice(
        method=method,
        tau=tau,
        guarantee=guarantee,
        guaranteed=bound is not None and tau is not None,
        bound=None if tau is None else bound,
        chosen_on=chosen_on,
        alpha=alpha,
        delta=delta,
        n=steps.n_questions,
        n_above=above.n_above,
        n_wrong=wrong,
        coverage=above.coverage,
        risk=above.risk,
        low=low,
        high=high,
    )


def these_questions(steps: PrecisionSteps, named: str | None) -> str:
    """In words: the questions a choice was made on."""
    return f"{steps.n_questions} questions" + (f" of {named}" if named else "")


def share(name: str, value: float) -> float:
    """α or δ, if it lies between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} lies between 0 and 1, got {value}")
    return value


def transferred(choice: ThresholdChoice, steps: PrecisionSteps, to: str) -> ThresholdChoice:
    """A τ chosen elsewhere, shown on other questions: no guarantee, whatever it had where it was chosen.

    The risk and its interval are those of the questions of `to`, which took no part in the choice.
    """
    return threshold_choice(
        ThresholdMethod.TRANSFERRED,
        choice.tau,
        steps,
        f"no guarantee: τ was chosen on {choice.chosen_on} and is used on {to}, whose questions may differ"
        if choice.tau is not None
        else choice.guarantee,
        chosen_on=choice.chosen_on,
        alpha=choice.alpha,
        delta=choice.delta,
    )
