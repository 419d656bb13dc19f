"""Compute, hold, draw: each display holds its table and draws itself on a given Axes."""

from srdcr_lab.plots.confidence import (
    ConfidenceHistogramDisplay,
    ConfidenceKindsDisplay,
    ConsistencyByDrawsDisplay,
    GatingDisplay,
    PrecisionDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    TransferDisplay,
)
from srdcr_lab.plots.debates import (
    DebateEndsDisplay,
    MethodsDisplay,
    MisinformationDisplay,
    NumberDisplay,
    OverconfidenceDisplay,
    RecoveryDisplay,
    SourcesDisplay,
)
from srdcr_lab.plots.drawers import save_figure
from srdcr_lab.plots.evaluation import AccuracyDisplay, CostDisplay, DifferencesDisplay
from srdcr_lab.plots.flow import DecisionFlowDisplay
from srdcr_lab.plots.knowledge import (
    CategoriesDisplay,
    DrawsDisplay,
    ExposureDisplay,
    RedrawDisplay,
    SampledAccuracyDisplay,
)
from srdcr_lab.plots.preference import (
    BiasDisplay,
    ContextPreferenceDisplay,
    OneQuestionDisplay,
    PriorPreferenceByRoundDisplay,
)
from srdcr_lab.plots.verdicts import EffectsDisplay, RatesDisplay, VerdictDisplay

__all__ = [
    "AccuracyDisplay",
    "BiasDisplay",
    "CategoriesDisplay",
    "ConfidenceHistogramDisplay",
    "ConfidenceKindsDisplay",
    "ConsistencyByDrawsDisplay",
    "ContextPreferenceDisplay",
    "CostDisplay",
    "DebateEndsDisplay",
    "DecisionFlowDisplay",
    "DifferencesDisplay",
    "DrawsDisplay",
    "EffectsDisplay",
    "ExposureDisplay",
    "GatingDisplay",
    "MethodsDisplay",
    "MisinformationDisplay",
    "NumberDisplay",
    "OneQuestionDisplay",
    "OverconfidenceDisplay",
    "PrecisionDisplay",
    "PriorPreferenceByRoundDisplay",
    "RatesDisplay",
    "RecoveryDisplay",
    "RedrawDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SampledAccuracyDisplay",
    "SourcesDisplay",
    "TransferDisplay",
    "VerdictDisplay",
    "save_figure",
]
