"""The paper's measures as pure functions: arrays or DataFrames in and out, never a model call."""

from srdcr_lab.measures.calibration import precision_above
from srdcr_lab.measures.evaluation import accuracy, clustered_interval, summary
from srdcr_lab.measures.knowledge import (
    CATEGORIES,
    jeffreys_interval,
    knowledge_category,
    redraw_stability,
    sampled_accuracy,
    subset_stability,
)

__all__ = [
    "CATEGORIES",
    "accuracy",
    "clustered_interval",
    "jeffreys_interval",
    "knowledge_category",
    "precision_above",
    "redraw_stability",
    "sampled_accuracy",
    "subset_stability",
    "summary",
]
