"""The paper's fixed threshold, and the threshold that looks best."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from srdcr_lab.measures.calibration.steps import PrecisionSteps
from srdcr_lab.measures.thresholds.choice import (
    NOTHING,
    ThresholdChoice,
    ThresholdMethod,
    share,
    these_questions,
    threshold_choice,
)

PAPER_TAU = 0.90


def fixed_threshold(
    steps: PrecisionSteps, tau: float = PAPER_TAU, *, delta: float = 0.1, on: str | None = None
) -> ThresholdChoice:
    """τ as it was fixed beforehand, with an upper bound of its risk.

    Guaranteed, as τ does not depend on these questions: with probability ≥ 1 − δ the risk is at most the one-sided
    Clopper–Pearson bound, the p with P(Bin(n_above, p) ≤ n_wrong) = δ. Nothing where no question lies above τ.

    Source: τ = 0.90: paper 3.2 and 4.2; Clopper and Pearson 1934.
    """
    share("delta", delta)
    above = steps.at(tau)
    wrong = above.n_above - above.n_target
    if above.n_above == 0:
        upper, guarantee = None, f"no guarantee: no question lies above τ = {tau:g}"
    else:
        upper = 1.0 if wrong == above.n_above else float(betaincinv(wrong + 1, above.n_above - wrong, 1 - delta))
        guarantee = f"as τ was fixed beforehand, its risk is at most {upper:.3f} with probability ≥ {1 - delta:g}"
    return threshold_choice(
        ThresholdMethod.FIXED,
        tau,
        steps,
        guarantee,
        bound=upper,
        chosen_on=these_questions(steps, on),
        delta=delta,
    )


def target_precision(steps: PrecisionSteps, *, alpha: float = 0.1, on: str | None = None) -> ThresholdChoice:
    """The smallest τ whose risk on these very questions is at most α: the usual choice, without a guarantee.

    Of many thresholds the one that looks good enough is picked, so its true risk is above α about as often as not.
    """
    share("alpha", alpha)
    n_above, n_target = steps.n_above[:-1], steps.n_target[:-1]
    good = np.flatnonzero(n_above - n_target <= alpha * n_above + 1e-9)
    return threshold_choice(
        ThresholdMethod.TARGET_PRECISION,
        float(steps.tau[good[0]]) if good.size else None,
        steps,
        f"no guarantee: τ was picked where the risk on the same questions is at most {alpha:g}"
        if good.size
        else f"{NOTHING}: the risk is above {alpha:g} at every τ",
        chosen_on=these_questions(steps, on),
        alpha=alpha,
    )
