"""Compute, hold, draw: each display holds its table and draws itself on a given Axes."""

from srdcr_lab.plots.accuracy import AccuracyDisplay
from srdcr_lab.plots.bias import BiasDisplay
from srdcr_lab.plots.categories import CategoriesDisplay, SampledAccuracyDisplay
from srdcr_lab.plots.confidence import ConfidenceHistogramDisplay, PrecisionDisplay, ReliabilityDisplay
from srdcr_lab.plots.confidence_kinds import ConfidenceKindsDisplay, ConsistencyByDrawsDisplay
from srdcr_lab.plots.cost import CostDisplay
from srdcr_lab.plots.counterfactual import DebateEndsDisplay, MethodsDisplay, NumberDisplay, OverconfidenceDisplay
from srdcr_lab.plots.differences import DifferencesDisplay
from srdcr_lab.plots.documents import MisinformationDisplay, RecoveryDisplay, SourcesDisplay
from srdcr_lab.plots.effects import EffectsDisplay
from srdcr_lab.plots.exposure import ExposureDisplay
from srdcr_lab.plots.flow import DecisionFlowDisplay
from srdcr_lab.plots.gating import GatingDisplay
from srdcr_lab.plots.one_question import OneQuestionDisplay
from srdcr_lab.plots.preference import ContextPreferenceDisplay, PriorPreferenceByRoundDisplay
from srdcr_lab.plots.rates import RatesDisplay
from srdcr_lab.plots.risk_coverage import RiskCoverageDisplay
from srdcr_lab.plots.saving import save_figure
from srdcr_lab.plots.stability import DrawsDisplay, RedrawDisplay
from srdcr_lab.plots.transfer import TransferDisplay
from srdcr_lab.plots.verdicts import VerdictDisplay

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
