"""How far confidence tells what is known or right, over unique questions.

`targets` says what it is held against, `pairs` what may be missing. `discrimination` asks whether more confident is
better; `reliability`, `error` and `brier` whether the number can be taken at its word; `steps` what lies above a
threshold, and `planning` how many questions it takes to know that; `selective` what answering only where confident
gains. `by_group` does any of it by domain.
"""

from srdcr_lab.measures.calibration.brier import Brier, IsotonicBrier, brier, isotonic_brier
from srdcr_lab.measures.calibration.by_group import by_group
from srdcr_lab.measures.calibration.discrimination import auprc, auroc
from srdcr_lab.measures.calibration.error import CalibrationError, ece
from srdcr_lab.measures.calibration.estimate import Estimate
from srdcr_lab.measures.calibration.planning import QuestionsNeeded, questions_for_width
from srdcr_lab.measures.calibration.reliability import Bins, reliability_curve
from srdcr_lab.measures.calibration.selective import AreaUnderRiskCoverage, aurc, risk_coverage
from srdcr_lab.measures.calibration.steps import Above, PrecisionSteps, precision_above, precision_steps
from srdcr_lab.measures.calibration.targets import question_targets

__all__ = [
    "Above",
    "AreaUnderRiskCoverage",
    "Bins",
    "Brier",
    "CalibrationError",
    "Estimate",
    "IsotonicBrier",
    "PrecisionSteps",
    "QuestionsNeeded",
    "auprc",
    "aurc",
    "auroc",
    "brier",
    "by_group",
    "ece",
    "isotonic_brier",
    "precision_above",
    "precision_steps",
    "question_targets",
    "questions_for_width",
    "reliability_curve",
    "risk_coverage",
]
