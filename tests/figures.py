"""What a figure shows, read back from it. For tests alone."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text


def points(ax: Axes) -> list[tuple[float, float]]:
    """Places of all points, in order."""
    marks = [mark.get_offsets() for mark in ax.collections if isinstance(mark, PathCollection)]
    return sorted((float(x), float(y)) for offsets in marks for x, y in np.asarray(offsets, float) if x == x)


def values(ax: Axes, axis: int = 0) -> list[float]:
    """What the points say, sorted: along the x axis, or with axis 1 along the y axis."""
    return sorted(round(place[axis], 6) for place in points(ax))


def spans(ax: Axes, axis: int = 0) -> list[tuple[float, float]]:
    """Both ends of each interval, sorted."""
    lines = [np.asarray(line) for c in ax.collections if isinstance(c, LineCollection) for line in c.get_segments()]
    return sorted((float(line[0][axis]), float(line[-1][axis])) for line in lines if len(line))


def point_colours(ax: Axes) -> set[str]:
    marks = [mark for mark in ax.collections if isinstance(mark, PathCollection) and len(mark.get_offsets())]
    return {to_hex(colour) for mark in marks for colour in mark.get_facecolor()}


def tick_labels(ax: Axes, axis: str = "x") -> list[str]:
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def legend_labels(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def said(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def printed_points(figure: Figure) -> float:
    """The size of the smallest text where the figure is printed 12 cm wide."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    width = max(figure.get_tightbbox().width + 0.2, 12 / 2.54)  # with the margins of a saved figure
    return min(text.get_fontsize() for text in texts) * 12 / 2.54 / width


def nothing_overlaps(figure: Figure) -> bool:
    """Neither panels nor the legend nor notes lie upon each other."""
    figure.canvas.draw()
    parts = [*figure.axes, *figure.legends, *figure.texts]
    boxes = [box for part in parts if (box := part.get_tightbbox()) and box.width]
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
