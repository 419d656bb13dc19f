"""What a notebook shows beside figures. Nothing here calls a model."""

from srdcr_lab.pages import Html, captioned
from srdcr_lab.widgets.cases import explorer_html
from srdcr_lab.widgets.domain_report import domain_report, framed
from srdcr_lab.widgets.evaluation import Evaluation, evaluation_controls
from srdcr_lab.widgets.explorer import explorer
from srdcr_lab.widgets.sliders import CategoryThresholds, Menu, Slide, category_sliders, with_sliders
from srdcr_lab.widgets.thresholds import (
    ConfidenceThreshold,
    DomainThresholds,
    choices_html,
    confidence_slider,
    threshold_controls,
)
from srdcr_lab.widgets.transcript import (
    debate_html,
    documents_html,
    explain,
    options_html,
    passage_html,
    side_by_side,
    stances_html,
)

__all__ = [
    "CategoryThresholds",
    "ConfidenceThreshold",
    "DomainThresholds",
    "Evaluation",
    "Html",
    "Menu",
    "Slide",
    "captioned",
    "category_sliders",
    "choices_html",
    "confidence_slider",
    "debate_html",
    "documents_html",
    "domain_report",
    "evaluation_controls",
    "explain",
    "explorer",
    "explorer_html",
    "framed",
    "options_html",
    "passage_html",
    "side_by_side",
    "stances_html",
    "threshold_controls",
    "with_sliders",
]
