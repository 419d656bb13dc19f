"""Every figure is kept three ways: PNG to look at, SVG to print, CSV to check or redraw."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

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
