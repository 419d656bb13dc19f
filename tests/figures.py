"""What a figure shows, read back from its Axes. For tests alone."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text


def drawn(ax: Axes, axis: int = 1) -> list[float]:
    """Heights of all points with intervals, or with axis 0 their places along the x axis; sorted."""
    lines = [container.lines[0] for container in ax.containers]
    return sorted(float(value) for line in lines for value in np.atleast_1d(line.get_data()[axis]))


def tick_labels(ax: Axes, axis: str = "x") -> list[str]:
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def legend_labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def no_text_overlaps(ax: Axes) -> bool:
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]  # without the lines to the points
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
