"""What every figure is made of: colours and labels, a drawer for each shape of picture, axes and legends, files.

A display is a recipe: which columns of its table, in which order, under which names. Bars and points without
intervals are matplotlib's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, TypeAlias

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from srdcr_lab.lib.groups import FEW
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.records.names import CATEGORY_LABELS as CATEGORY_LABELS
from srdcr_lab.records.names import colours as colours

Look: TypeAlias = dict[str, Any]  # keywords of a matplotlib function
_CATEGORIES = [category.value for category in KnowledgeCategory]  # from highly known to unknown
CATEGORY_COLOURS = dict(zip(_CATEGORIES, ("#0b3c5d", "#2a9d8f", "#e9a93c", "#c8553d"), strict=True))
CATEGORY_LOOKS: dict[str, Look] = {
    name: {"color": CATEGORY_COLOURS[name], "label": CATEGORY_LABELS[name]} for name in _CATEGORIES
}
NAVY, BLUE, ORANGE, VERMILION, INK, GREY = "#0b3c5d", "#0173b2", "#de8f05", "#d55e00", "#222222", "#999"
CONDITION_LOOKS: dict[str, Look] = {
    "standard": {"color": BLUE, "label": "true passages", "marker": "o"},
    "perturbed": {"color": ORANGE, "label": "false passages", "marker": "s"},
    "overall": {"color": INK, "label": "overall", "marker": "D"},
}

# A figure is at most 5.4 inches wide, legend and margins included: printed 12 cm wide, its text has 7 points or more.
SMALL = 8
WIDEST = 5.1
LARGE: Look = {"markersize": None, "elinewidth": None, "capsize": 2}  # points with intervals of matplotlib's own size
THIN: Look = {"elinewidth": None, "capsize": None}  # intervals without caps
SHARES = (-0.03, 1.03)  # limits of an axis of shares
TOP: Look = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}  # a legend above the axes
BELOW: Look = {"loc": "upper center", "borderaxespad": 0}  # under the axes, in as many columns as there is room for
INSIDE: Look = {}
_MARKERS = "osD^vPX"


@dataclass(frozen=True)
class Display:
    """A table that can be drawn. `from_…` computes it; `plot` draws it on the given Axes and returns them."""

    table: pd.DataFrame


# Shapes


def intervals(
    ax: Axes, at: ArrayLike, rows: pd.DataFrame, value: str = "share", *, across: bool = False, **look: Any
) -> None:
    """A point with its interval for each row, at these places on the x axis; with `across`, on the y axis.

    A line joins only points of `FEW` questions or more; those of fewer are grey, and `finish` says so.
    """
    default: Look = {"marker": "o", "linestyle": "none", "markersize": 4.5, "elinewidth": 1, "capsize": 1.5}
    look, at, few = default | look, np.asarray(at, float), is_few(rows)
    for here, changed in ((~few, look), (few, look | _OF_FEW)):
        if here.any() or changed is look:
            kept = here if changed["linestyle"] == "none" else np.ones(len(rows), bool)  # a line is broken at the grey
            values, ends = np.where(here, rows[value].to_numpy(float, na_value=np.nan), np.nan), distances(rows, value)
            if across:
                ax.errorbar(values[kept], at[kept], xerr=ends[:, kept], **changed)
            else:
                ax.errorbar(at[kept], values[kept], yerr=ends[:, kept], **changed)


def join(ax: Axes, rows: pd.DataFrame, value: str = "share", **look: Any) -> None:
    """A line through the points of rows with a column `at`, broken where a point is grey."""
    ax.plot(rows["at"], rows[value].astype(float).where(~is_few(rows)), **look)


_OF_FEW: Look = {"color": "0.75", "markerfacecolor": "white", "linestyle": "none", "label": None, "gid": "few"}


def is_few(rows: pd.DataFrame) -> Any:
    """Whether each row rests on fewer than `FEW` questions (on fewer items, where questions are not counted)."""
    counted = next((rows[name] for name in ("n_questions", "n") if name in rows), None)
    return np.zeros(len(rows), bool) if counted is None else counted.to_numpy(float) < FEW


def points(
    ax: Axes, at: ArrayLike, rows: pd.DataFrame, series: str, looks: Mapping[Any, Look], value: str = "share",
    *, step: float = 0.0, across: bool = False, n: Literal["max", "sum"] | None = None,
) -> dict[Any, pd.DataFrame]:  # fmt: skip
    """`intervals` of several series, `step` apart: those of the column `series` that have a look, each with a marker.

    Rows without a value are left out. `n` adds the largest n of the rows to each label. Returns the rows
    of each series, with their place `at`.
    """
    rows = rows.assign(at=at).dropna(subset=[value])
    drawn = {}
    for place, (shift, name) in enumerate(zip(shifts(len(looks), step), looks, strict=True)):
        look = {"marker": _MARKERS[place % len(_MARKERS)]} | looks[name]
        part = rows[rows[series] == name]
        part = part.assign(at=part["at"] + shift)
        if n:
            look["label"] += f" (n = {part['n'].agg(n) if len(part) else 0})"
        intervals(ax, part["at"], part, value, across=across, **look)
        drawn[name] = part
    return drawn


def shifts(n: int, step: float) -> Any:
    """Where n series lie side by side around 0: shape (n,)."""
    return step * (np.arange(n) - (n - 1) / 2)


def distances(rows: pd.DataFrame, value: str = "share") -> Any:
    """Distances of both ends of each interval from its value: shape (2, rows), NaN where there is no interval.

    The ends are `value`_low and `value`_high, or low and high. An end on the wrong side of the value is at the value.
    """
    prefix = f"{value}_" if f"{value}_low" in rows else ""
    values, low, high = rows[[value, f"{prefix}low", f"{prefix}high"]].to_numpy(float, na_value=np.nan).T
    return np.maximum([values - low, high - values], 0)


def curve(ax: Axes, rows: pd.DataFrame, x: str, y: str, band: float = 0.18, **look: Any) -> None:
    """A line, and the band of its intervals with this opacity."""
    ax.plot(rows[x], rows[y], **look)
    below, above = distances(rows, y)
    step: Any = {"steps-pre": "pre", "steps-post": "post"}.get(str(look.get("drawstyle")))
    ends = rows[y] - below, rows[y] + above
    ax.fill_between(rows[x], *ends, step=step, color=look["color"], alpha=band, linewidth=0)


def matrix(ax: Axes, cells: Iterable[tuple[int, int, str, Any]], columns: Sequence[str], rows: Sequence[str]) -> None:
    """Cells of column, row, text and colour; the first row is on top."""
    for x, y, text, colour in cells:
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5))
        ax.text(x, y, text, ha="center", va="center", fontsize=SMALL)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    long: dict[str, Any] = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if "\n" in "".join(columns) else {}
    )
    ax.set_xticks(range(len(columns)), [name.replace("\n", " ") for name in columns], fontsize=SMALL, **long)
    ax.set_yticks(range(len(rows)), rows, fontsize=SMALL)
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)


# Axes, legends, labels


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of this size in inches."""
    return ax if ax is not None else plt.subplots(figsize=(width, height))[1]


def named_rows(
    ax: Axes | None, names: Sequence[str], size: tuple[float, float, float], *, least: int = 1, margin: float = 0.5,
    **text: Any,
) -> Axes:  # fmt: skip
    """Axes with a name for each row, the first on top. `size`: the width, the height without rows, and of a row."""
    width, frame, row = size
    ax = axes(ax, width, frame + row * max(len(names), least))
    ax.set_yticks(range(len(names)), names, **{"fontsize": SMALL} | text)
    ax.set_ylim(max(len(names), 1) - 1 + margin, -margin)
    return ax


def finish(ax: Axes, legend: Look | None = None, *, left: bool = True, of: str = "questions", **axis: Any) -> Axes:
    """Limits and labels of the axes, a legend if anything has a label, and no frame; without `left` no y axis.

    Where a point is grey because it rests on few, the label of the x axis says so, and `of` what.
    """
    ax.set(**axis)
    if any(line.get_gid() == "few" for line in ax.lines):
        ax.set_xlabel(f"{ax.get_xlabel()}\n({_GREY} {of})".strip())
    sns.despine(ax=ax, left=not left)
    if not left:
        ax.tick_params(axis="y", length=0)
    if legend is not None and ax.get_legend_handles_labels()[0]:
        if legend.items() >= BELOW.items():
            _legend_below(ax, legend)
        else:
            ax.legend(frameon=False, fontsize=SMALL, **legend)
    return ax


def _legend_below(ax: Axes, look: Look) -> None:
    """A legend under the axis' label, in as many columns as the figure has room for."""
    inside = ax.transAxes.inverted()
    left, bottom = inside.transform(np.asarray(ax.get_tightbbox()))[0]
    place = ((min(left, 0) + 1) / 2, min(bottom, 0) - 0.02)
    for columns in (4, 3, 2, 1):
        legend = ax.legend(frameon=False, fontsize=SMALL, ncols=columns, bbox_to_anchor=place, **look)
        if legend.get_window_extent().width <= ax.figure.bbox.width:
            return


def nothing(ax: Axes, why: str) -> Axes:
    """Axes that say why nothing is drawn."""
    ax.text(0.5, 0.5, fill(why, 26), ha="center", transform=ax.transAxes)
    return ax


_OF_ONE_PANEL = re.compile(r" \((n = )?\d+(–\d+)?( questions)?\)|: \d+%$|\n.*", re.DOTALL)  # its counts, its coverage
_GREY = f"grey: fewer than {FEW}"


def small_multiples(displays: Mapping[str, Any], *, height: float = 2.0, columns: int = 2, **how: Any) -> Figure:
    """A panel for each display under its name, each `height` inches high, with shared axes and one legend below.

    A label that all panels have stands at the edge. What is of one panel alone, its counts and coverage, leaves labels
    and legend, and with it an upper axis that counts: the tables have them. `how` is given to each `plot`.
    """
    columns = min(columns, len(displays))
    n_rows = -(-len(displays) // columns)
    shape: Look = {"figsize": (WIDEST, height * n_rows + 0.4), "sharex": True, "sharey": True, "squeeze": False}
    figure, grid = plt.subplots(n_rows, columns, layout="constrained", **shape)
    panels, left_over = list(grid.flat)[: len(displays)], list(grid.flat)[len(displays) :]
    handles: dict[str, Any] = {}
    title, grey = "", ""
    for ax, (name, display) in zip(panels, displays.items(), strict=True):
        display.plot(ax, **how)
        above = any(text.get_window_extent().y1 > ax.bbox.y1 for text in ax.texts)
        lines = [fill(line, 64 // columns) for line in name.splitlines()]
        ax.set_title("\n".join(lines), fontsize=SMALL + 1, pad=16 if above else 6)
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(_OF_ONE_PANEL.sub("", label), handle)
        if legend := ax.get_legend():
            title = legend.get_title().get_text()
            legend.remove()
        for upper in ax.child_axes:
            upper.remove()
        grey = next((line for line in ax.get_xlabel().splitlines() if _GREY in line), grey)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_label_text(_OF_ONE_PANEL.sub("", axis.get_label_text()), fontsize=SMALL + 1)
        ax.tick_params(labelsize=SMALL)
    for ax in left_over:
        ax.set_axis_off()
    for ax in panels[-columns:]:
        ax.tick_params(labelbottom=True)
    below = [_common([ax.xaxis.label for ax in panels]), grey]
    if columns > 1:
        figure.supylabel(_common([ax.yaxis.label for ax in panels]), fontsize=SMALL + 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for text in chain(*(ax.texts for ax in panels)):
        text.set_in_layout(True)  # names that took no room from the panels belong to the figure
    centre = (panels[0].bbox.x0 + panels[:columns][-1].bbox.x1) / 2 / figure.bbox.width
    put: Look = {"ha": "center", "va": "top", "fontsize": SMALL + 1}
    figure.text(centre, _bottom(figure), "\n".join(filter(None, below)), **put)
    for n_columns in (4, 3, 2, 1) if handles else ():
        look = BELOW | {"frameon": False, "fontsize": SMALL, "title_fontsize": SMALL, "ncols": n_columns}
        place: Look = {"bbox_to_anchor": (0.5, _bottom(figure)), "title": title or None}
        legend = figure.legend(handles.values(), handles, **look, **place)
        if legend.get_window_extent().width <= figure.bbox.width or n_columns == 1:
            break
        legend.remove()
    return figure


def _common(labels: Sequence[Any]) -> str:
    """The text that all labels have which have any; it is taken from them. Nothing where they differ."""
    texts = {label.get_text() for label in labels} - {""}
    if len(texts) != 1:
        return ""
    for label in labels:
        label.set_text("")
    return str(texts.pop())


def _bottom(figure: Figure) -> float:
    """Just below what is drawn, as a share of the figure's height."""
    return float((figure.get_tightbbox().y0 - 0.06) / figure.get_size_inches()[1])


def by_category(table: pd.DataFrame, n: str = "") -> Iterator[tuple[pd.DataFrame, Look]]:
    """The rows of each knowledge category, and its colour and label, with the sum of the column `n`."""
    for category, look in CATEGORY_LOOKS.items():
        rows = table[table["knowledge_category"] == category]
        yield rows, look | {"label": look["label"] + (f" (n = {rows[n].sum()})" if n else "")}


def threshold(ax: Axes, tau: float | None, label: str = "") -> None:
    """A dashed line at τ; `label` has a place for the number."""
    if tau is not None:
        ax.axvline(tau, color="black", linewidth=1, linestyle="--", label=label.format(tau))


def upper_axis(ax: Axes, ticks: ArrayLike, numbers: Iterable[int], label: str) -> None:
    """A second x axis on top, with a number at each tick."""
    upper = ax.secondary_xaxis("top")
    upper.set_xticks(ticks, [str(number) for number in numbers], fontsize=SMALL, color="0.4")
    upper.set_xlabel(label, fontsize=SMALL, color="0.4")


def numbers_above(ax: Axes, at: str, rows: pd.DataFrame, **text: Any) -> None:
    """Above the interval of each row its number of questions (of items, where questions are not counted), grey as a
    point of few; the column `at` is its place."""
    look: Look = {"textcoords": "offset points", "ha": "center", "fontsize": SMALL, "xytext": (0, 2)} | text
    numbers = zip(rows[at], rows["high"], rows.get("n_questions", rows["n"]), is_few(rows), strict=True)
    for x, height, n, few in numbers:
        ax.annotate(str(n), (x, height), **look | ({"color": "0.45"} if few else {}))


def names_beside(ax: Axes, names: Mapping[tuple[float, float], str]) -> None:
    """A name beside each mark, on a side where no other mark is near, or above or below it; none where it would lie on
    another text or mark: the legend has it. Names cover lines. The limits of the axes are set before."""
    ax.apply_aspect()
    left, right = ax.bbox.x0, ax.bbox.x1 + 40 if len(ax.figure.axes) > 1 else ax.figure.bbox.x1
    names = dict(sorted(names.items(), key=lambda named: -named[0][1]))  # the upper of two has the upper name
    marks = ax.transData.transform([*names]) if names else np.empty((0, 2))
    taken = [mark + np.array([[-5], [5]]) for mark in marks]  # the lower left and the upper right corner of each
    taken += [np.asarray(text.get_window_extent()) for text in ax.texts]
    for mark, (at, name) in zip(marks, names.items(), strict=True):
        beside = marks[np.abs(marks[:, 1] - mark[1]) < 20][:, 0] - mark[0]
        near = [((side * beside > 0) & (side * beside < 40)).any() for side in (-1, 1)]
        sides = [6 * side for side, other in zip((-1, 1), near, strict=True) if not other]
        for y, x in [*product((5, -5, 13, -13, 21, -21), sides), (9, 0), (-9, 0)]:
            across = "center" if x == 0 else "right" if x < 0 else "left"
            look: Look = {"ha": across, "va": "bottom" if y > 0 else "top", "fontsize": SMALL, "linespacing": 1.0}
            look["bbox"] = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.3}
            look |= {"zorder": 2.5, "in_layout": len(ax.figure.axes) == 1}  # over lines, under marks
            text = ax.annotate(name, at, (x, y), textcoords="offset points", **look)
            low, high = corners = np.asarray(text.get_window_extent())
            free = all((low > upper).any() or (high < lower).any() for lower, upper in taken)
            if free and left < low[0] and high[0] < right:
                taken.append(corners)
                break
            text.remove()


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights of labels from the top down, moved to be at least `gap` apart, the lowest not below 0.

    >>> [round(height, 2) for height in apart([0.9, 0.88, 0.1], 0.1)]
    [0.9, 0.8, 0.1]
    """
    steps = gap * np.arange(len(heights))
    moved_down = np.minimum.accumulate(np.asarray(heights) + steps) - steps
    return [float(height) for height in np.maximum(moved_down, steps[::-1])]


# Files: PNG to look at, SVG to print, CSV to check or draw again

_METADATA = {"png": {"Software": None}, "svg": {"Date": None}}  # no versions, no times: equal figures are equal files


def save_figure(
    figure: Figure, data: pd.DataFrame, folder: str | Path, name: str, *, label: str | None = None
) -> list[Path]:
    """Write `name`.png, .svg and .csv into the folder, made if needed; return their paths.

    The label (`Results.label`: who answered, and whether that is a model organism) goes under the figure and into the
    table's first column.
    """
    folder = Path(folder)
    if label:
        figure.draw_without_rendering()  # a constrained layout is found in drawing
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # in inches
        x, y = drawn.x0 / width, (drawn.y0 - 0.08) / height
        figure.text(x, y, fill(label, 80), va="top", fontsize=SMALL, color="0.4")
        data = data.assign(label=label)[["label", *data.columns]]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in (*_METADATA, "csv")]
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for path, metadata in zip(paths, _METADATA.values(), strict=False):
            figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)
    write_whole(paths[-1], csv_text(data))
    return paths
