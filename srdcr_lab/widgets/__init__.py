"""What a notebook shows beside figures. Nothing here calls a model."""

from srdcr_lab.widgets.decision import explain
from srdcr_lab.widgets.transcript import Html, debate_html, passage_html

__all__ = ["Html", "debate_html", "explain", "passage_html"]
