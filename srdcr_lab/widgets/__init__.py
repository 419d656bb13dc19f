"""What a notebook shows beside figures. Nothing here calls a model."""

from srdcr_lab.widgets.categories import CategoryThresholds, category_sliders
from srdcr_lab.widgets.confidence import ConfidenceThreshold, confidence_slider
from srdcr_lab.widgets.decision import explain
from srdcr_lab.widgets.documents import documents_html, side_by_side
from srdcr_lab.widgets.domain_report import domain_report, framed
from srdcr_lab.widgets.evaluation import Evaluation, evaluation_controls
from srdcr_lab.widgets.explorer import explorer
from srdcr_lab.widgets.explorer_page import explorer_html
from srdcr_lab.widgets.html import Html, captioned
from srdcr_lab.widgets.sliders import Menu, Slide, with_sliders
from srdcr_lab.widgets.stances import options_html, stances_html
from srdcr_lab.widgets.thresholds import DomainThresholds, choices_html, threshold_controls
from srdcr_lab.widgets.transcript import debate_html, passage_html

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
