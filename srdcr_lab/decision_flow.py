"""The decision as a flow: from both answers, over verdict and confidence, to how each item ends [3.2].

`layout` places bars and ribbons, as numbers in [0, 1]; the display draws them with matplotlib or as SVG for a slider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from srdcr_lab.lib import draw
from srdcr_lab.lib.gating import STAGES, decision_flow
from srdcr_lab.lib.page import Area, Chart, Html, Label

GAP, BAR = 0.045, 0.022  # between the bars of a stage; their width
LABEL_GAP = 0.058  # least distance of two labels
_AT = (0, 0.31, 0.67, 1)  # of each stage; a verdict has the longest label


@dataclass(frozen=True, slots=True)
class Bar:
    """A value of a stage: `bottom` and `top`, and the height `label_at` at which its label does not meet another."""

    stage: int
    value: str
    n: int
    left: float
    bottom: float
    top: float
    label_at: float


@dataclass(frozen=True, slots=True)
class Ribbon:
    """The items of one way between two stages, from (`x0`, `y0`) to (`x1`, `y1`), `height` thick."""

    x0: float
    y0: float
    x1: float
    y1: float
    height: float
    ending: str
    n: int


def layout(table: pd.DataFrame) -> tuple[list[Bar], list[Ribbon]]:
    """Bars and ribbons of a `decision_flow` table of one condition, first values on top. Empty for no item."""
    ways = _ways(table)
    total = sum(ways.values())
    if not total:
        return [], []
    present = [sorted({way[stage] for way in ways}) for stage in range(len(STAGES))]
    unit = (1 - GAP * (max(map(len, present)) - 1)) / total
    bars: list[Bar] = []
    ribbons: list[Ribbon] = []
    before: dict[tuple[int, ...], tuple[float, float]] = {}  # where each way leaves the stage before
    for stage, names in enumerate(STAGES.values()):
        left, top = _AT[stage] * (1 - BAR), 1.0
        spans, enters = [], {}
        for value in present[stage]:
            start, here = top, [way for way in ways if way[stage] == value]
            for way in here:
                enters[way] = top
                top -= ways[way] * unit
            spans.append((names[value], sum(ways[way] for way in here), left, top, start))
            top -= GAP
        heights = draw.apart([(bottom + upper) / 2 for *_, bottom, upper in spans], LABEL_GAP)
        bars += [Bar(stage, *span, height) for span, height in zip(spans, heights, strict=True)]
        for way, leaves in before.items():
            ribbons.append(Ribbon(*leaves, left, enters[way], ways[way] * unit, STAGES["ending"][way[-1]], ways[way]))
        before = {way: (left + BAR, enters[way]) for way in ways}
    return bars, ribbons


def _ways(table: pd.DataFrame) -> dict[tuple[int, ...], int]:
    """The items that went each way, a position in every stage; in the order of the strips: by ending, then by stage."""
    counts: dict[tuple[int, ...], int] = {}
    for row in table.to_dict("records"):
        way = tuple(values.index(row[name]) for name, values in STAGES.items())
        counts[way] = counts.get(way, 0) + int(row["n"])
    return dict(sorted(counts.items(), key=lambda item: (item[0][-1], item[0])))


ENDING_COLOURS = {
    "right": "#0173b2", "wrong": "#d55e00", "abstained": "#949494", "unparsed": "#c9c9c9", "error": "#3f3f3f",
}  # fmt: skip
_HEADS = ("answers", "verdict V*", "self-confidence", "final answer")
_SIZE = (720, 300, (0, 34, 144, 8))  # of the SVG in pixels, with its margins


class DecisionFlowDisplay(draw.Display):
    """The table of `srdcr_lab.lib.gating.decision_flow` of one run, model and design."""

    @classmethod
    def from_records(cls, records: pd.DataFrame, method: str = "sr_dcr") -> Self:
        return cls(decision_flow(records, method))

    def plot(self, ax: Axes | None = None, condition: str = "perturbed") -> Axes:
        """Bars per stage and ribbons between them, as thick as the items are many; the colour says how an item ends."""
        ax = draw.axes(ax, 6.4, 3.2)
        part = self.table[self.table["condition"] == condition]
        bars, ribbons = layout(part)
        for ribbon in ribbons:
            ax.add_patch(PathPatch(_path(ribbon), color=ENDING_COLOURS[ribbon.ending], alpha=0.45, linewidth=0))
        for bar in bars:
            height = bar.top - bar.bottom
            ax.add_patch(Rectangle((bar.left, bar.bottom), BAR, height, color=_colour(bar), linewidth=0))
            ax.text(bar.left + BAR + 0.008, bar.label_at, f"{bar.value} {bar.n}", va="center", fontsize=draw.SMALL)
        for stage, head in enumerate(_HEADS):
            left = next((bar.left for bar in bars if bar.stage == stage), _AT[stage])
            ax.text(left, 1.06, head, fontsize=draw.SMALL, fontweight="bold", ha="left")
        passages = "true" if condition == "standard" else "false"
        ax.set_title(f"{passages} passages (n = {int(part['n'].sum())})", fontsize="medium", loc="left", pad=18)
        ax.set(xlim=(-0.01, 1.2), ylim=(-0.03, 1.05))
        ax.axis("off")
        return ax

    def svg(self, condition: str = "perturbed") -> Html:
        """The same picture as an SVG element, for a widget: drawn without matplotlib, in a millisecond."""
        bars, ribbons = layout(self.table[self.table["condition"] == condition])
        areas = [
            Area(_corners(ribbon), ENDING_COLOURS[ribbon.ending], f"{ribbon.n} {ribbon.ending}") for ribbon in ribbons
        ]
        areas += [Area([(bar.left, bar.top), (bar.left + BAR, bar.bottom)], _colour(bar)) for bar in bars]
        labels = [Label((bar.left + BAR + 0.008, bar.label_at), f"{bar.value}\N{NBSP} {bar.n}", (0, 3)) for bar in bars]
        labels += [
            Label((left, 1), _HEADS[stage], (0, -18), style="font-size: 12px; font-weight: bold")
            for stage, left in {bar.stage: bar.left for bar in bars}.items()
        ]
        return Chart(f"decision flow on {condition} passages", *_SIZE).svg(areas, labels=labels)


def _colour(bar: Bar) -> str:
    return ENDING_COLOURS.get(bar.value, "#333333")


def _corners(ribbon: Ribbon) -> list[tuple[float, float]]:
    """Upper edge from left to right as a cubic curve, lower edge back."""
    middle = (ribbon.x0 + ribbon.x1) / 2
    low0, low1 = ribbon.y0 - ribbon.height, ribbon.y1 - ribbon.height
    return [
        (ribbon.x0, ribbon.y0), (middle, ribbon.y0), (middle, ribbon.y1), (ribbon.x1, ribbon.y1),
        (ribbon.x1, low1), (middle, low1), (middle, low0), (ribbon.x0, low0),
    ]  # fmt: skip


def _path(ribbon: Ribbon) -> Path:
    corners = _corners(ribbon)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    return Path([*corners, corners[0]], codes)
