"""How far confidence tells what is known or right, over unique questions.

`targets` says what it is held against, `pairs` what may be missing. `discrimination` asks whether more confident is
better; `reliability`, `error` and `brier` whether the number can be taken at its word; `steps` what lies above a
threshold, and `planning` how many questions it takes to know that; `selective` what answering only where confident
gains.
"""

from srdcr_lab.measures.calibration.brier import Brier, brier
from srdcr_lab.measures.calibration.discrimination import auroc
from srdcr_lab.measures.calibration.error import CalibrationError, ece
from srdcr_lab.measures.calibration.estimate import Estimate
from srdcr_lab.measures.calibration.planning import QuestionsNeeded, questions_for_width
from srdcr_lab.measures.calibration.reliability import Bins, reliability_curve
from srdcr_lab.measures.calibration.selective import risk_coverage
from srdcr_lab.measures.calibration.steps import Above, PrecisionSteps, precision_above, precision_steps
from srdcr_lab.measures.calibration.targets import question_targets

__all__ = [
    "Above",
    "Bins",
    "Brier",
    "CalibrationError",
    "Estimate",
    "PrecisionSteps",
    "QuestionsNeeded",
    "auroc",
    "brier",
    "ece",
    "precision_above",
    "precision_steps",
    "question_targets",
    "questions_for_width",
    "reliability_curve",
    "risk_coverage",
]
