"""Ways to choose τ, each with a statement of what it guarantees.

All take the `precision_steps` of unique questions with the target "the prior answer is right" and return a
`ThresholdChoice`. `plain` has the paper's fixed 0.90 and the threshold that looks best, `tested` Learn-then-Test,
`conformal` conformal risk control, `side_by_side` all of them, `domains` what becomes of them across domains.
"""

from srdcr_lab.measures.thresholds.choice import SCOPE, ThresholdChoice, ThresholdMethod, transferred
from srdcr_lab.measures.thresholds.conformal import conformal_risk_control
from srdcr_lab.measures.thresholds.domains import (
    leave_one_domain_out,
    steps_by_domain,
    transfer_matrix,
)
from srdcr_lab.measures.thresholds.plain import PAPER_TAU, fixed_threshold, target_precision
from srdcr_lab.measures.thresholds.side_by_side import every_choice, recommended
from srdcr_lab.measures.thresholds.tested import STARTS, TAUS, Procedure, learn_then_test, risk_tests

__all__ = [
    "PAPER_TAU",
    "SCOPE",
    "STARTS",
    "TAUS",
    "Procedure",
    "ThresholdChoice",
    "ThresholdMethod",
    "conformal_risk_control",
    "every_choice",
    "fixed_threshold",
    "learn_then_test",
    "leave_one_domain_out",
    "recommended",
    "risk_tests",
    "steps_by_domain",
    "target_precision",
    "transfer_matrix",
    "transferred",
]
