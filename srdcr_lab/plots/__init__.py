"""Compute, hold, draw: each display holds its table and draws itself on a given Axes."""

from srdcr_lab.plots.accuracy import AccuracyDisplay
from srdcr_lab.plots.one_question import OneQuestionDisplay
from srdcr_lab.plots.saving import save_figure

__all__ = ["AccuracyDisplay", "OneQuestionDisplay", "save_figure"]
