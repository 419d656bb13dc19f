"""Where the bars and ribbons of a flow stand: plain numbers in [0, 1], drawn by `srdcr_lab.plots.flow`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from srdcr_lab.measures.flow import STAGES
from srdcr_lab.plots.spacing import apart

GAP, BAR = 0.045, 0.022  # between the bars of a stage; their width
LABEL_GAP = 0.058  # least distance of two labels

_Way = tuple[tuple[int, ...], int]  # a position in every stage, and how many items went that way


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
    total = sum(n for _, n in ways)
    if not total:
        return [], []
    names = list(STAGES)
    most = max(len({way[stage] for way, _ in ways}) for stage in range(len(names)))
    unit = (1 - GAP * (most - 1)) / total
    lefts = [stage * (1 - BAR) / (len(names) - 1) for stage in range(len(names))]
    bars: list[Bar] = []
    tops: list[dict[tuple[int, ...], float]] = []  # per stage, where each way's strip begins
    for stage, name in enumerate(names):
        held, place = _stage(ways, stage, unit)
        tops.append(place)
        heights = apart([(bottom + upper) / 2 for _, _, bottom, upper in held], LABEL_GAP)
        bars += [
            Bar(stage, STAGES[name][value], n, lefts[stage], bottom, upper, at)
            for (value, n, bottom, upper), at in zip(held, heights, strict=True)
        ]
    ribbons = [
        Ribbon(
            lefts[stage] + BAR, tops[stage][way], lefts[stage + 1], tops[stage + 1][way], n * unit,
            STAGES["ending"][way[-1]], n,
        )
        for stage in range(len(names) - 1)
        for way, n in ways
    ]  # fmt: skip
    return bars, ribbons


def _ways(table: pd.DataFrame) -> list[_Way]:
    """Every way in the order in which its strips lie in a bar: by ending, then from the first stage on."""
    counts: dict[tuple[int, ...], int] = {}
    for row in table.to_dict("records"):
        way = tuple(values.index(row[name]) for name, values in STAGES.items())
        counts[way] = counts.get(way, 0) + int(row["n"])
    return sorted(counts.items(), key=lambda item: (item[0][-1], item[0]))


def _stage(
    ways: Sequence[_Way], stage: int, unit: float
) -> tuple[list[tuple[int, int, float, float]], dict[tuple[int, ...], float]]:
    """The bars of a stage from the top down (value, n, bottom, top), and where each way's strip begins."""
    top, bars, place = 1.0, [], {}
    for value in sorted({way[stage] for way, _ in ways}):
        start, n_here = top, 0
        for way, n in ways:
            if way[stage] == value:
                place[way] = top
                top -= n * unit
                n_here += n
        bars.append((value, n_here, top, start))
        top -= GAP
    return bars, place
