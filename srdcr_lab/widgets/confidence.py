"""τ on a slider: how many questions lie above it, how many of those are known, and what the rule would decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from srdcr_lab.measures import highly_known, precision_steps
from srdcr_lab.measures.calibration import Above, PrecisionSteps
from srdcr_lab.measures.gating import Gated, Gating
from srdcr_lab.widgets.sliders import Slide, with_sliders

if TYPE_CHECKING:
    from ipywidgets import VBox

_WIDTH, _HEIGHT, _PAD = 420, 150, 24
_POINTS = 200  # of a drawn curve, at most
_COLUMNS = ("passages", "n", "USE_CONTEXT", "USE_PRIOR", "ABSTAIN", "coverage", "accuracy", "selective accuracy")


@dataclass(frozen=True)
class ConfidenceThreshold:
    """Precision of Conf ≥ τ over questions, the rule over items, and both curves, drawn once."""

    steps: PrecisionSteps
    gating: Gating
    curves: str

    @classmethod
    def from_tables(cls, questions: pd.DataFrame, records: pd.DataFrame) -> ConfidenceThreshold:
        """From `Results.questions` and `Results.records`, which holds rows of the method sr_dcr."""
        steps = precision_steps(questions["self_confidence"], highly_known(questions))
        return cls(steps, Gating.from_records(records), _curves(steps))

    def html(self, tau: float) -> str:
        """A sentence, the curves with τ in them, and the decisions by condition."""
        return _sentence(self.steps.at(tau)) + self._picture(tau) + decisions_table(self.gating.at(tau))

    def _picture(self, tau: float) -> str:
        x = _x(tau)
        line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(1):.1f}" y2="{_y(0):.1f}" stroke="currentColor"/>'
        style = "font: 11px sans-serif; fill: currentColor"
        return (
            f'<svg width="{_WIDTH + 2 * _PAD}" height="{_HEIGHT + 2 * _PAD}" style="{style}">{self.curves}{line}</svg>'
        )


def _sentence(above: Above) -> str:
    count = f'<b class="srdcr-above">{above.n_above}</b> of {above.n_questions} questions'
    if not above.n_above:
        return f"<p>Conf ≥ {above.tau:.2f}: {count}; the rule never answers from memory.</p>"
    return (
        f"<p>Conf ≥ {above.tau:.2f}: {count} (coverage {above.coverage:.2f}); {above.n_target} of them are "
        f'Highly-Known: precision <b class="srdcr-precision">{above.precision:.2f}</b> '
        f"[{above.low:.2f}, {above.high:.2f}].</p>"
    )


def decisions_table(gated: tuple[Gated, ...]) -> str:
    """What `Gating.at` found, as an HTML table with a row per condition."""
    names = {"standard": "true", "perturbed": "false", "overall": "both (mean of the shares)"}
    rows = []
    for part in gated:
        shares = (part.coverage, part.accuracy, part.selective_accuracy)
        cells = (names[part.condition], part.n, part.use_context, part.use_prior, part.abstain, *map(_share, shares))
        rows.append(f'<tr class="srdcr-{part.condition}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    failed = gated[-1].n_error
    note = f"<p>{failed} items failed: they take no decision, and accuracy counts them as wrong.</p>" if failed else ""
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{note}"


def _share(value: float) -> str:
    return f"{value:.3f}" if value == value else "–"


def _x(share: float) -> float:
    return _PAD + _WIDTH * share


def _y(share: float) -> float:
    return _PAD + _HEIGHT * (1 - share)


def _curves(steps: PrecisionSteps) -> str:
    """Axes, precision and coverage against τ as SVG, thinned to what can be seen."""
    table = steps.frame(at_most=_POINTS).sort_values("tau")
    parts = [
        f'<path d="M{_x(0)},{_y(1)}V{_y(0)}H{_x(1)}" fill="none" stroke="#999"/>',
        *(f'<text x="{_x(at):.0f}" y="{_y(0) + 15:.0f}" text-anchor="middle">{at:g}</text>' for at in (0, 0.5, 1)),
        *(f'<text x="{_x(0) - 4:.0f}" y="{_y(at) + 4:.0f}" text-anchor="end">{at:g}</text>' for at in (0, 0.5, 1)),
        f'<text x="{_x(0.02):.0f}" y="14"><tspan fill="#0b3c5d">■ P(Highly-Known | Conf ≥ τ)</tspan>'
        '<tspan dx="14" fill="#999">■ coverage</tspan></text>',
    ]
    for column, colour in (("coverage", "#999"), ("precision", "#0b3c5d")):
        parts.append(
            f'<path d="{_steps(table["tau"], table[column])}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
    return "".join(parts)


def _steps(tau: pd.Series, value: pd.Series) -> str:
    """A step line: value i holds for τ from the one before up to and including its own."""
    points, left = [], 0.0
    for right, height in zip(np.asarray(tau, float), np.asarray(value, float), strict=True):
        points.append(f"{_x(left):.1f},{_y(height):.1f} {_x(right):.1f},{_y(height):.1f}")
        left = right
    return "M" + " ".join(points) if points else ""


def confidence_slider(questions: pd.DataFrame, records: pd.DataFrame, tau: float = 0.90, label: str = "") -> VBox:
    """A slider for τ, over `Results.questions` and `Results.records`."""
    view = ConfidenceThreshold.from_tables(questions, records)
    return with_sliders(view.html, {"tau": Slide("τ", tau)}, label)
