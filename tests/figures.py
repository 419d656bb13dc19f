"""What a figure shows, read back from its Axes. For tests alone."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text


def drawn(ax: Axes, axis: int = 1) -> list[float]:
    """Heights of all points with intervals, or with axis 0 their places along the x axis; sorted."""
    lines = [np.asarray(container.lines[0].get_data(), float) for container in ax.containers]
    return sorted(float(place) for line in lines for place in line[axis][~np.isnan(line).any(axis=0)])


def tick_labels(ax: Axes, axis: str = "x") -> list[str]:
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def legend_labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def printed_points(figure: Figure) -> float:
    """The size of the smallest text where the figure is printed 12 cm wide."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    width = max(figure.get_tightbbox().width + 0.2, 12 / 2.54)  # with the margins of a saved figure
    return min(text.get_fontsize() for text in texts) * 12 / 2.54 / width


def no_text_overlaps(ax: Axes) -> bool:
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]  # without the lines to the points
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
