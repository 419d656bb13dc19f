"""What a notebook shows beside figures. Nothing here calls a model."""

from srdcr_lab.widgets.categories import CategoryThresholds, category_sliders
from srdcr_lab.widgets.confidence import ConfidenceThreshold, confidence_slider
from srdcr_lab.widgets.decision import explain
from srdcr_lab.widgets.evaluation import Evaluation, evaluation_controls
from srdcr_lab.widgets.explorer import explorer
from srdcr_lab.widgets.explorer_page import explorer_html
from srdcr_lab.widgets.html import Html, captioned
from srdcr_lab.widgets.sliders import Slide, with_sliders
from srdcr_lab.widgets.stances import options_html, stances_html
from srdcr_lab.widgets.transcript import debate_html, passage_html

__all__ = [
    "CategoryThresholds",
    "ConfidenceThreshold",
    "Evaluation",
    "Html",
    "Slide",
    "captioned",
    "category_sliders",
    "confidence_slider",
    "debate_html",
    "evaluation_controls",
    "explain",
    "explorer",
    "explorer_html",
    "options_html",
    "passage_html",
    "stances_html",
    "with_sliders",
]
