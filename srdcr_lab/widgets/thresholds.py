"""τ on a slider: how many questions lie above it, how many of those are known, and what the rule would decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from srdcr_lab.measures import highly_known
from srdcr_lab.measures.calibration import reliability_curve
from srdcr_lab.measures.gating import Gated, Gating
from srdcr_lab.measures.precision import Above, PrecisionSteps, precision_steps, risk_coverage
from srdcr_lab.measures.thresholds import PAPER_TAU, SCOPE, ThresholdChoice, every_choice, recommended
from srdcr_lab.pages import Html
from srdcr_lab.plots.confidence import METHOD_NAMES
from srdcr_lab.widgets.sliders import Menu, Slide, with_sliders

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


# -- α, δ, confidence kind and domain on controls: the τ that follows, what it promises, what the rule then decides

ALL_DOMAINS = "all domains"
_SIDE, _MARGIN, _MOST_POINTS = 190, 34, 200  # of a square picture in pixels; of a drawn curve, at most
_COLOURS = ("#0173b2", "#949494", "#029e73", "#de8f05")
_COLUMNS_thresholds = ("chosen", "τ", "above τ", "coverage", "wrong among them [95 %]", "what is guaranteed")


@dataclass(frozen=True)
class Calibrated:
    """One confidence kind on the questions of one domain, and the rule on the items that were debated."""

    steps: PrecisionSteps
    gating: Gating
    curve: str
    reliability: str

    @classmethod
    def from_tables(cls, questions: pd.DataFrame, debated: pd.DataFrame) -> Calibrated:
        """Of the debated items, the confidence is that of `questions`, whatever they were run with."""
        steps = precision_steps(questions["self_confidence"], questions["prior_correct"])
        believed = questions.set_index("question_id")["self_confidence"].astype(float)
        rows = debated.assign(self_confidence=debated["question_id"].map(believed).astype(float))
        return cls(steps, Gating.from_records(rows), _curve(steps), _reliability(questions))

    def html(self, alpha: float, delta: float, tau: float = PAPER_TAU) -> str:
        """The choices in a table, both pictures, and the decisions at the recommended τ (without one, at `tau`)."""
        choices = every_choice(self.steps, alpha=alpha, delta=delta, tau=tau)
        chosen = recommended(choices)
        used = tau if chosen.tau is None else chosen.tau
        why = "no threshold attains this; at the fixed" if chosen.tau is None else "recommended:"
        return (
            f'<p class="srdcr-chosen">{why} <b class="srdcr-tau">τ = {used:.4g}</b></p>{choices_html(choices)}'
            + _picture("coverage", "risk", self.curve + _points(choices, alpha))
            + _picture("self-confidence", "share right", self.reliability)
            + f"<p>SR-DCR at τ = {used:.4g}:</p>{decisions_table(self.gating.at(used))}"
        )


@dataclass(frozen=True)
class DomainThresholds:
    """`Calibrated` for each kind and each domain; all of it in memory."""

    views: Mapping[tuple[str, str], Calibrated]
    kinds: tuple[str, ...]
    domains: tuple[str, ...]

    @classmethod
    def from_tables(cls, kinds: Mapping[str, pd.DataFrame], debated: pd.DataFrame) -> DomainThresholds:
        """From the questions table of each kind (`Results.questions`), and records with rows of sr_dcr."""
        first = next(iter(kinds.values()))
        named = tuple(map(str, dict.fromkeys(first["domain"])))
        domains = (ALL_DOMAINS, *named) if len(named) != 1 else named
        rows = debated[debated["method"] == "sr_dcr"]
        views = {
            (kind, domain): Calibrated.from_tables(_of(questions, domain), _of(rows, domain))
            for kind, questions in kinds.items()
            for domain in domains
        }
        return cls(views, tuple(kinds), domains)

    def html(self, alpha: float, delta: float, kind: str, domain: str) -> str:
        """What the controls show."""
        return self.views[kind, domain].html(alpha, delta)


def _of(table: pd.DataFrame, domain: str) -> pd.DataFrame:
    return table if domain == ALL_DOMAINS else table[table["domain"] == domain]


def choices_html(choices: Sequence[ThresholdChoice], label: str = "", *, scope: bool = True) -> Html:
    """Thresholds with their whole guarantee, one a row; below them what τ bounds at all, and the label."""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS_thresholds)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(choice))}</tr>" for choice in choices)
    below = f"<p><small>{escape(SCOPE)}</small></p>" if scope else ""
    return Html(
        f"<table><tr>{head}</tr>{rows}</table>{below}" + (f"<p><small>{escape(label)}</small></p>" if label else "")
    )


def _cells(choice: ThresholdChoice) -> tuple[str, ...]:
    known = choice.n_above > 0
    return (
        METHOD_NAMES[choice.method],
        "–" if choice.tau is None else f"{choice.tau:.4g}",
        f"{choice.n_above} of {choice.n}",
        f"{choice.coverage:.2f}" if choice.n else "–",
        f"{choice.risk:.2f} [{choice.low:.2f}, {choice.high:.2f}]" if known else "–",
        choice.guarantee,
    )


def _left(share: float) -> float:
    return _MARGIN + _SIDE * share


def _top(share: float) -> float:
    return 10 + _SIDE * (1 - share)


def _picture(across: str, up: str, inside: str) -> str:
    """Axes from 0 to 1 around what is drawn."""
    ticks = "".join(
        f'<text x="{_left(at):.0f}" y="{_top(0) + 13:.0f}" text-anchor="middle">{at:g}</text>'
        f'<text x="{_left(0) - 4:.0f}" y="{_top(at) + 4:.0f}" text-anchor="end">{at:g}</text>'
        for at in (0, 0.5, 1)
    )
    names = f'<text x="{_left(0.5)}" y="{_top(0) + 26}" text-anchor="middle">{across}</text>'
    names += f'<text x="{_left(0.02)}" y="{_top(1) - 1}">{up}</text>'
    axes = f'<path d="M{_left(0)},{_top(1)}V{_top(0)}H{_left(1)}" fill="none" stroke="#999"/>'
    size = f'width="{_SIDE + _MARGIN + 16}" height="{_SIDE + 42}"'
    return f'<svg {size} style="font: 11px sans-serif; fill: currentColor">{axes}{ticks}{names}{inside}</svg>'


def _curve(steps: PrecisionSteps) -> str:
    rows = risk_coverage(steps, at_most=_MOST_POINTS)
    points = " ".join(f"{_left(c):.1f},{_top(r):.1f}" for c, r in zip(rows["coverage"], rows["risk"], strict=True))
    return f'<polyline points="{points}" fill="none" stroke="#0b3c5d" stroke-width="1.5"/>'


def _points(choices: Sequence[ThresholdChoice], alpha: float) -> str:
    """The operating points, in the colours of the figure, filled where something is guaranteed; a line at α."""
    line = f'<path d="M{_left(0)},{_top(alpha):.1f}H{_left(1)}" stroke="#666" stroke-dasharray="4 3"/>'
    marks = []
    for choice, colour in zip(choices, _COLOURS, strict=True):
        if choice.n_above:
            where = f'cx="{_left(choice.coverage):.1f}" cy="{_top(choice.risk):.1f}"'
            fill = colour if choice.guaranteed else "none"
            said = f"<title>{METHOD_NAMES[choice.method]}: τ = {choice.tau:.4g}</title>"
            marks.append(f'<circle {where} r="5" fill="{fill}" stroke="{colour}" stroke-width="2">{said}</circle>')
    return line + "".join(marks)


def _reliability(questions: pd.DataFrame) -> str:
    """Share of right prior answers in ten bins of confidence, with 95 % intervals; the diagonal is calibration."""
    table = reliability_curve(questions["self_confidence"], questions["prior_correct"])
    parts = [f'<path d="M{_left(0)},{_top(0)}L{_left(1)},{_top(1)}" stroke="#999" stroke-dasharray="4 3"/>']
    for row in table[table["n"] > 0].to_dict("records"):
        x = _left(row["mean_confidence"])
        parts.append(f'<path d="M{x:.1f},{_top(row["low"]):.1f}V{_top(row["high"]):.1f}" stroke="#0b3c5d"/>')
        said = f"<title>{row['n']} questions</title>"
        parts.append(f'<circle cx="{x:.1f}" cy="{_top(row["frequency"]):.1f}" r="3.5" fill="#0b3c5d">{said}</circle>')
    return "".join(parts)


def threshold_controls(
    kinds: Mapping[str, pd.DataFrame],
    debated: pd.DataFrame,
    *,
    alpha: float = 0.10,
    delta: float = 0.10,
    label: str = "",
) -> VBox:
    """Controls over the questions of each confidence kind, and the records of the debates; nothing is asked."""
    view = DomainThresholds.from_tables(kinds, debated)
    slides: dict[str, Slide | Menu] = {
        "alpha": Slide("α: risk at most", alpha, low=0.01, high=0.60),
        "delta": Slide("δ: may fail in a share of", delta, low=0.01, high=0.50),
        "kind": Menu("confidence", view.kinds),
        "domain": Menu("questions of", view.domains),
    }
    return with_sliders(view.html, slides, label)
