"""α, δ, confidence kind and domain on controls: the τ that follows, what it promises, what the rule then decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from srdcr_lab.measures.calibration import PrecisionSteps, precision_steps, reliability_curve, risk_coverage
from srdcr_lab.measures.gating import Gating
from srdcr_lab.measures.thresholds import PAPER_TAU, SCOPE, ThresholdChoice, every_choice, recommended
from srdcr_lab.plots.risk_coverage import METHOD_NAMES
from srdcr_lab.widgets.confidence import decisions_table
from srdcr_lab.widgets.html import Html
from srdcr_lab.widgets.sliders import Menu, Slide, with_sliders

if TYPE_CHECKING:
    from ipywidgets import VBox

ALL_DOMAINS = "all domains"
_SIDE, _PAD, _POINTS = 190, 34, 200  # of a square picture in pixels; of a drawn curve, at most
_COLOURS = ("#0173b2", "#949494", "#029e73", "#de8f05")
_COLUMNS = ("chosen", "τ", "above τ", "coverage", "wrong among them [95 %]", "what is guaranteed")


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
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
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


def _x(share: float) -> float:
    return _PAD + _SIDE * share


def _y(share: float) -> float:
    return 10 + _SIDE * (1 - share)


def _picture(across: str, up: str, inside: str) -> str:
    """Axes from 0 to 1 around what is drawn."""
    ticks = "".join(
        f'<text x="{_x(at):.0f}" y="{_y(0) + 13:.0f}" text-anchor="middle">{at:g}</text>'
        f'<text x="{_x(0) - 4:.0f}" y="{_y(at) + 4:.0f}" text-anchor="end">{at:g}</text>'
        for at in (0, 0.5, 1)
    )
    names = f'<text x="{_x(0.5)}" y="{_y(0) + 26}" text-anchor="middle">{across}</text>'
    names += f'<text x="{_x(0.02)}" y="{_y(1) - 1}">{up}</text>'
    axes = f'<path d="M{_x(0)},{_y(1)}V{_y(0)}H{_x(1)}" fill="none" stroke="#999"/>'
    size = f'width="{_SIDE + _PAD + 16}" height="{_SIDE + 42}"'
    return f'<svg {size} style="font: 11px sans-serif; fill: currentColor">{axes}{ticks}{names}{inside}</svg>'


def _curve(steps: PrecisionSteps) -> str:
    rows = risk_coverage(steps, at_most=_POINTS)
    points = " ".join(f"{_x(c):.1f},{_y(r):.1f}" for c, r in zip(rows["coverage"], rows["risk"], strict=True))
    return f'<polyline points="{points}" fill="none" stroke="#0b3c5d" stroke-width="1.5"/>'


def _points(choices: Sequence[ThresholdChoice], alpha: float) -> str:
    """The operating points, in the colours of the figure, filled where something is guaranteed; a line at α."""
    line = f'<path d="M{_x(0)},{_y(alpha):.1f}H{_x(1)}" stroke="#666" stroke-dasharray="4 3"/>'
    marks = []
    for choice, colour in zip(choices, _COLOURS, strict=True):
        if choice.n_above:
            where = f'cx="{_x(choice.coverage):.1f}" cy="{_y(choice.risk):.1f}"'
            fill = colour if choice.guaranteed else "none"
            said = f"<title>{METHOD_NAMES[choice.method]}: τ = {choice.tau:.4g}</title>"
            marks.append(f'<circle {where} r="5" fill="{fill}" stroke="{colour}" stroke-width="2">{said}</circle>')
    return line + "".join(marks)


def _reliability(questions: pd.DataFrame) -> str:
    """Share of right prior answers in ten bins of confidence, with 95 % intervals; the diagonal is calibration."""
    table = reliability_curve(questions["self_confidence"], questions["prior_correct"])
    parts = [f'<path d="M{_x(0)},{_y(0)}L{_x(1)},{_y(1)}" stroke="#999" stroke-dasharray="4 3"/>']
    for row in table[table["n"] > 0].to_dict("records"):
        x = _x(row["mean_confidence"])
        parts.append(f'<path d="M{x:.1f},{_y(row["low"]):.1f}V{_y(row["high"]):.1f}" stroke="#0b3c5d"/>')
        said = f"<title>{row['n']} questions</title>"
        parts.append(f'<circle cx="{x:.1f}" cy="{_y(row["frequency"]):.1f}" r="3.5" fill="#0b3c5d">{said}</circle>')
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
