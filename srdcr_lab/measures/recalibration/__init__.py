"""Recalibration of confidence, as scikit-learn estimators: `fit`, `predict_proba`, `get_params`.

`curves` has those with few parameters (Platt, beta), `steps` those without a form (isotonic, histogram binning);
`cross_fitted` recalibrates every question from the others. Import from here: scikit-learn is not loaded by
`srdcr_lab.measures`.
"""

from srdcr_lab.measures.recalibration.base import Recalibration
from srdcr_lab.measures.recalibration.cross_fitting import cross_fitted
from srdcr_lab.measures.recalibration.curves import BetaCalibration, PlattScaling, Scale
from srdcr_lab.measures.recalibration.steps import HistogramBinning, IsotonicRecalibration

__all__ = [
    "BetaCalibration",
    "HistogramBinning",
    "IsotonicRecalibration",
    "PlattScaling",
    "Recalibration",
    "Scale",
    "cross_fitted",
]
