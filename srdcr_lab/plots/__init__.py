"""Compute, hold, draw: each display holds its table and draws itself on a given Axes."""

from srdcr_lab.plots.accuracy import AccuracyDisplay
from srdcr_lab.plots.bias import BiasDisplay
from srdcr_lab.plots.categories import CategoriesDisplay, SampledAccuracyDisplay
from srdcr_lab.plots.confidence import ConfidenceHistogramDisplay, PrecisionDisplay, ReliabilityDisplay
from srdcr_lab.plots.cost import CostDisplay
from srdcr_lab.plots.counterfactual import DebateEndsDisplay, MethodsDisplay, NumberDisplay, OverconfidenceDisplay
from srdcr_lab.plots.differences import DifferencesDisplay
from srdcr_lab.plots.exposure import ExposureDisplay
from srdcr_lab.plots.flow import DecisionFlowDisplay
from srdcr_lab.plots.gating import Gated, Gating, GatingDisplay
from srdcr_lab.plots.one_question import OneQuestionDisplay
from srdcr_lab.plots.preference import ContextPreferenceDisplay, PriorPreferenceByRoundDisplay
from srdcr_lab.plots.saving import save_figure
from srdcr_lab.plots.stability import DrawsDisplay, RedrawDisplay
from srdcr_lab.plots.verdicts import VerdictDisplay

__all__ = [
    "AccuracyDisplay",
    "BiasDisplay",
    "CategoriesDisplay",
    "ConfidenceHistogramDisplay",
    "ContextPreferenceDisplay",
    "CostDisplay",
    "DebateEndsDisplay",
    "DecisionFlowDisplay",
    "DifferencesDisplay",
    "DrawsDisplay",
    "ExposureDisplay",
    "Gated",
    "Gating",
    "GatingDisplay",
    "MethodsDisplay",
    "NumberDisplay",
    "OneQuestionDisplay",
    "OverconfidenceDisplay",
    "PrecisionDisplay",
    "PriorPreferenceByRoundDisplay",
    "RedrawDisplay",
    "ReliabilityDisplay",
    "SampledAccuracyDisplay",
    "VerdictDisplay",
    "save_figure",
]
