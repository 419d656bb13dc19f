"""One colour and one spelling for each category and each decision, in every figure and widget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.records import KnowledgeCategory

CATEGORY_COLOURS = {
    KnowledgeCategory.HIGHLY_KNOWN.value: "#0b3c5d",
    KnowledgeCategory.MAYBE_KNOWN.value: "#2a9d8f",
    KnowledgeCategory.WEAKLY_KNOWN.value: "#e9a93c",
    KnowledgeCategory.UNKNOWN.value: "#c8553d",
}
CATEGORY_LABELS = {name: name.replace("_", "-").title() for name in CATEGORY_COLOURS} | {
    KnowledgeCategory.UNKNOWN.value: "Unknown"
}


# -- heights of labels that must not overlap


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights from the top down, moved so that neighbours are at least `gap` apart and the lowest is not below 0.

    >>> [round(height, 2) for height in apart([0.9, 0.88, 0.1], 0.1)]
    [0.9, 0.8, 0.1]
    """
    moved: list[float] = []
    for height in heights:
        moved.append(min(height, moved[-1] - gap) if moved else height)
    floor = 0.0
    for i in reversed(range(len(moved))):
        if moved[i] >= floor:
            break
        moved[i] = floor
        floor += gap
    return moved


# -- every figure is kept three ways: PNG to look at, SVG to print, CSV to check or redraw

_METADATA = {"png": {"Software": None}, "svg": {"Date": None}}  # no versions, no times: equal figures are equal files


def save_figure(
    figure: Figure, data: pd.DataFrame, folder: str | Path, name: str, *, label: str | None = None
) -> list[Path]:
    """Write `name`.png, .svg and .csv into the folder, made if needed; return their paths.

    The label (`Results.label`: who answered, and whether that is a model organism) stands under the figure and in the
    table's first column.
    """
    import matplotlib

    folder = Path(folder)
    if label:
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # in inches
        figure.text(
            max(drawn.x0, 0) / width, (drawn.y0 - 0.08) / height, label, va="top", fontsize="x-small", color="0.4"
        )
        data = data.assign(label=label)[["label", *data.columns]]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for kind, metadata in _METADATA.items():
            paths.append(folder / f"{name}.{kind}")
            figure.savefig(paths[-1], dpi=150, bbox_inches="tight", metadata=metadata)
    paths.append(folder / f"{name}.csv")
    data.to_csv(paths[-1], index=False)
    return paths
