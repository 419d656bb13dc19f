"""Figures: a tidy table in, a seaborn specification drawn once, a matplotlib Figure out.

One theme, one colour for each method, design and category, and one mark for each method and design
(`srdcr_lab.records.names`). Intervals are the columns `low` and `high`, or `VALUE_low` and `VALUE_high`. A point of
fewer than `FEW` questions is grey, and the axis says so.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import seaborn.objects as so
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Polygon
from matplotlib.path import Path as Shape
from matplotlib.ticker import MaxNLocator

from srdcr_lab.lib.groups import FEW
from srdcr_lab.lib.statistics import ends_of
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.files import csv_text, whole_file, write_whole
from srdcr_lab.records.names import CATEGORY_LABELS, CONDITION_LABELS, called, colours, markers

NAVY, BLUE, ORANGE, VERMILION, GREEN = "#0b3c5d", "#0173b2", "#de8f05", "#d55e00", "#2a9d8f"
INK, GREY = "#222222", "#999"
# What became of an answer, in one colour everywhere; pale: the same end by the other of two ways.
RIGHT_COLOUR, WRONG_COLOUR, FOLLOWED_COLOUR, NO_ANSWER_COLOUR = BLUE, ORANGE, "#a11a2c", "#c4c4c4"
PALE_RIGHT, PALE_WRONG = "#8cbfe6", "#f5cd86"
CATEGORY_COLOURS = dict(zip((c.value for c in KnowledgeCategory), (NAVY, GREEN, "#e9a93c", "#a8321f"), strict=True))
WIDTH = 5.1  # inches: printed 12 cm wide, a text of 8 points has 7
ALL_SHARES = (-0.03, 1.03)  # limits of an axis of shares
_SIZES = (2.0, 9.0)  # points across a mark: the least and the greatest
_WIDE = 0.03  # of a plane of shares: nearer marks hide each other
_FEW, _PARTS = "0.58", "a divided disc (anticlockwise from its top): "
_THEME = {
    **{key: value for key, value in sns.axes_style("ticks").items() if not key.startswith("font")},  # the user's own
    "axes.titlesize": 9, "legend.title_fontsize": 8, "text.parse_math": False,  # a domain may be "$5k to $10k"
    **dict.fromkeys(["font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"], 8),
    **dict.fromkeys(["axes.linewidth", "xtick.major.width", "ytick.major.width"], 0.8),
    **dict.fromkeys(["axes.spines.right", "axes.spines.top", "legend.frameon"], False),
}  # fmt: skip

_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
if hasattr(_shell, "kernel"):  # a notebook, which shows 200 dots an inch
    importlib.import_module("IPython.core.pylabtools").select_figure_formats(_shell, {"retina"})


class _Close(so.Dodge):  # type: ignore[misc]
    """Several groups at one place: beside each other, and nearer to each other than to the next place."""

    room: float  # of the distance between two places

    def __init__(self, room: float) -> None:
        super().__init__(by=["group"])
        self.room = room

    def __call__(self, data: pd.DataFrame, groupby: Any, orient: str, scales: Any) -> pd.DataFrame:
        return pd.DataFrame(super().__call__(data.assign(width=data["width"] * self.room), groupby, orient, scales))


def figure(
    plot: so.Plot, height: float, *,
    width: float = WIDTH, few: str = "", note: str = "", palette: Mapping[str, Any] | None = None, line: str = "-",
    keys: Sequence[Any] = (), tilted: bool = False, tau: float | None = None,
) -> Figure:  # fmt: skip
    """Draw a specification, with one label for all panels, and below a note, which names intervals, and the legend.

    Parameters
    ----------
    plot : so.Plot
        The seaborn specification.
    height : float
        Height in inches.
    width : float, default WIDTH
        Width in inches.
    few : str, default ""
        What rests on fewer than ten and is grey; empty if nothing is.
    note : str, default ""
        A line below.
    palette : mapping of str to object, optional
        Name → colour, if the legend is to show names by colour and mark; the specification maps `color` and `marker`.
    line : str, default "-"
        Style of the lines through these marks; empty for none.
    keys : sequence of artists, optional
        Further entries of the legend, with their labels.
    tilted : bool, default False
        Tilt the names along the x axis.
    tau : float, optional
        Where a dashed vertical line is drawn, which the note names.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    note = "; ".join(filter(None, (note, f"dashed: τ = {tau:.2f}" if tau else "")))
    made = plt.figure(figsize=(width, height), layout="constrained")
    if palette:
        shapes = markers(palette)
        plot = plot.scale(color=scale(palette), marker=scale(shapes))
        keys = [*(key(name, colour=palette[name], marker=mark, linestyle=line) for name, mark in shapes.items()), *keys]
    with matplotlib.rc_context(_THEME):
        plot.theme(_THEME | matplotlib.rcParams.find_all(r"font\.(family|sans-serif)")).on(made).plot()
        old, made.legends = [] if palette else made.legends, []
        labels = {ax.get_xlabel() for ax in made.axes} - {""}
        for ax in made.axes:
            ax.tick_params(axis="x", labelrotation=45 if tilted else 0)
        if len(made.axes) > 1 and len(labels) == 1:
            plt.setp(made.axes, xlabel="")
            made.supxlabel(*labels, fontsize=8)
        made.draw_without_rendering()
        made.set_layout_engine("none")
        notes = [fill(note, 85, break_on_hyphens=False)] * bool(note) + [f"grey: fewer than {FEW} {few}"] * bool(few)
        drawn: dict[str, Any] = {"bars": LineCollection, "bands": Polygon}
        notes += [f"{name}: 95 % intervals" for name, kind in drawn.items() if made.findobj(kind)]
        if notes:
            text = ("; " if sum(map(len, notes)) < 80 else "\n").join(notes)
            made.text(0.5, _bottom(made), text, ha="center", va="top", color="0.4", fontsize=8)
        for below in made.texts:
            below.set_x(_middle(made, below))
        handles = [handle for legend in old for handle in legend.legend_handles if handle]
        names = [text.get_text() for legend in old for text in legend.get_texts()][: len(handles)]
        _legend_below(made, [*handles, *keys], [*names, *(key.get_label() for key in keys)])
    return line_at(made, x=tau)


def _bottom(made: Figure) -> float:
    """Just below what is drawn, as a share of the figure's height."""
    drawn: Any = made.get_tightbbox()  # in inches
    return float(drawn.y0 - 0.05) / float(made.get_size_inches()[1])


def _middle(made: Figure, part: Any) -> float:
    """The middle of the panels or, for a part that would reach beyond the figure, nearer to the figure's middle."""
    panels = [ax.get_position() for ax in made.axes]
    half = part.get_window_extent().width / made.bbox.width / 2
    return float(min((min(box.x0 for box in panels) + max(box.x1 for box in panels)) / 2, max(1 - half, 0.5)))


def _legend_below(made: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """A legend below all else, in as many columns as the figure has room for."""
    height = _bottom(made)
    for columns in (4, 3, 2, 1) if handles else ():
        legend = made.legend(handles, names, bbox_to_anchor=(0.5, height), ncols=columns, loc="upper center")
        if legend.get_window_extent().width <= made.bbox.width or columns == 1:
            legend.set_bbox_to_anchor((_middle(made, legend), height), made.transFigure)
            break
        legend.remove()


def key(label: str, *, colour: str = INK, filled: bool = True, size: float = 4.5, **look: Any) -> Line2D:
    """Make a mark for a legend.

    Parameters
    ----------
    label : str
        Its label.
    colour : str, default INK
        Its colour.
    filled : bool, default True
        Fill the mark.
    size : float, default 4.5
        Its size in points.
    **look : object
        Other properties: its `marker`, by default a disc, and the `linestyle` of a line through it.

    Returns
    -------
    Line2D
        The mark.
    """
    look = {"marker": "o", "linestyle": "", "markerfacecolor": colour if filled else "none"} | look
    return Line2D([], [], markersize=size, color=colour, label=label, **look)


def share_ticks(*, short: bool = False) -> so.Continuous:
    """Make an axis of shares with a tick at every quarter.

    Parameters
    ----------
    short : bool, default False
        Leave out the 0 before the decimal point.

    Returns
    -------
    so.Continuous
        The axis.
    """
    ticks = so.Continuous().tick(at=[0, 0.25, 0.5, 0.75, 1])
    return ticks.label(like=lambda value, _: f"{value:g}".lstrip("0") or "0") if short else ticks.label(like="{x:g}")


def rows(
    table: pd.DataFrame, value: str, by: str, label: str, *,
    panel: str = "", hue: str = "", palette: Mapping[str, Any] | None = None, hollow: str = "", few: str = "questions",
    limits: tuple[float | None, float | None] | None = ALL_SHARES,
    keys: Sequence[Any] = (), note: str = "",
) -> Figure:  # fmt: skip
    """Draw a name per row, its value as a point with its interval.

    Parameters
    ----------
    table : DataFrame
        One row per point, with the interval in `low` and `high`, or in VALUE_low and VALUE_high.
    value : str
        Column of the values.
    by : str
        Column of the names.
    label : str
        Label of the axis.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    hue : str, default ""
        Column shown by colour and mark; it puts several points into a row.
    palette : mapping of str to object, optional
        Value of `hue` → colour.
    hollow : str, default ""
        Column of a second value, drawn as a ring.
    few : str, default "questions"
        What is counted, for the note on grey points.
    limits : tuple of float, float, default ALL_SHARES
        Limits of the axis.
    keys : sequence of artists, optional
        Entries of the legend, such as what is hollow.
    note : str, default ""
        A line below.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return nothing("nothing to show")
    names = table[by].unique()
    per_row = table.groupby([by, panel] if panel else by, observed=True).size().max()
    palette = dict(palette or colours(table[hue])) if hue else {}
    table = table.assign(**{hue: pd.Categorical(table[hue], [*palette])}) if hue else table
    plot = so.Plot(table, y=by, x=value, color=hue or None)
    plot = _with_intervals(plot, table, {"y": by, "x": value}, hue, INK, room=0.75 if per_row > 1 else 0)
    if hollow:
        ring = so.Dot(pointsize=6, fill=False, **({} if hue else {"color": INK}))
        plot = plot.add(ring, _Close(0.75), x=hollow, group=hue or None, legend=False)
    plot = plot.facet(panel or None).limit(x=limits).label(x=label, y="", title=str if panel else "")
    scales: dict[str, Any] = {"y": so.Nominal(order=list(names))}
    scales |= {"x": share_ticks(short=bool(panel))} if limits == ALL_SHARES else {}
    height = 0.75 + (0.06 + 0.1 * max(per_row, 1 + bool(hollow))) * max(len(names), 3) + (0.2 if panel else 0)
    few = few if is_few(table).any() else ""
    made = figure(plot.scale(**scales), height, few=few, palette=palette, keys=keys, note=note)
    for ax in made.axes:
        ax.grid(axis="x", color="0.92", linewidth=0.6)
    return made


def lines(
    table: pd.DataFrame, x: str, y: str, labels: tuple[str, str], *,
    hue: str = "", palette: Mapping[str, Any] | None = None, panel: str = "", size: str = "",
    points: bool = False, steps: bool = False, height: float = 2.6,
    limits: tuple[float | None, float | None] | None = ALL_SHARES, reference: float | None = None,
    tau: float | None = None, note: str = "", keys: Sequence[Any] = (),
) -> Figure:  # fmt: skip
    """Draw a line for each value of `hue`, with a band or with points and their intervals.

    Points of one x lie side by side; a line breaks where it has no point.

    Parameters
    ----------
    table : DataFrame
        One row per point, with the interval in `low` and `high`, or in Y_low and Y_high.
    x : str
        Column along the axis.
    y : str
        Column of the values.
    labels : tuple of str, str
        Labels of the two axes.
    hue : str, default ""
        Column shown by colour and mark.
    palette : mapping of str to object, optional
        Value of `hue` → colour.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    size : str, default ""
        Column of counts, shown by the size of the points.
    points : bool, default False
        Draw points with their intervals instead of a band.
    steps : bool, default False
        Draw each value as a step, from the x before it to its own.
    height : float, default 2.6
        Height in inches of each row of panels.
    limits : tuple of float, float, default ALL_SHARES
        Limits of the y axis.
    reference : float, optional
        Position of a dashed horizontal line.
    tau : float, optional
        Position of a dashed vertical line.
    note : str, default ""
        A line below.
    keys : sequence of artists, optional
        Entries of the legend.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return nothing("nothing to show")
    by, size = [name for name in (hue, panel) if name], size if size and table[size].nunique() > 1 else ""
    rows = as_steps(table, x, by) if steps else table
    named = not pd.api.types.is_numeric_dtype(rows[x])
    if points and named and by:  # a row without a value at each x that a line has none for
        every = rows[[*by]].drop_duplicates().merge(rows[[x]].drop_duplicates(), how="cross")
        rows = every.merge(rows, how="left", on=[*by, x])
    palette = dict(palette or colours(table[hue])) if hue else {}
    rows = rows.assign(**{hue: pd.Categorical(rows[hue], [*palette])}) if hue else rows
    plot = so.Plot(rows, x=x, y=y, color=hue or None)
    scales: dict[str, Any] = {"pointsize": _SIZES}
    if points:
        room = 0.3 if hue and rows[hue].nunique() > 1 else 0
        plot = _with_intervals(plot, rows, {"x": x, "y": y}, hue, NAVY, room=room, size=size, joined=True)
    else:
        look = {} if hue else {"color": NAVY}
        low, high = ends_of(table, y)
        if low in rows:
            plot = plot.add(so.Band(alpha=0.12, **look), ymin=low, ymax=high, legend=False)
        plot = plot.add(so.Path(linewidth=1.4, pointsize=4.5, **look), marker=hue or None)
    n_panels = table[panel].nunique() if panel else 1
    wrap = 3 if n_panels in (3, 5) else 2
    if limits == ALL_SHARES:
        scales["y"] = share_ticks()
    if not named and points and table[x].nunique() <= 8 and (table[x] % 1 == 0).all():
        scales["x"] = so.Continuous().tick(at=sorted(table[x].unique()))
    plot = plot.facet(panel, wrap=wrap) if panel else plot
    plot = (plot.limit(y=limits) if limits else plot).label(x=labels[0], y=labels[1], title=str if panel else "")
    few, tilted = "questions" if points and is_few(table).any() else "", named and table[x].nunique() > 6
    keys = [*keys, *(count_keys(rows[size]) if points and size else ())]
    below: dict[str, Any] = {"palette": palette, "keys": keys, "note": note, "few": few, "tilted": tilted, "tau": tau}
    made = figure(plot.scale(**scales), height * -(-n_panels // wrap), **below)
    for ax in () if points else made.axes:
        for place, line in enumerate(each for each in ax.lines if np.isfinite(each.get_xydata()).all(1).any()):
            line.set_markevery((0.04 * place, 0.25))  # not at the same places where lines coincide
    return line_at(made, y=reference)


def _with_intervals(
    plot: so.Plot, table: pd.DataFrame, place: Mapping[str, str], hue: str, colour: str, *,
    room: float, size: str = "", joined: bool = False,
) -> so.Plot:  # fmt: skip
    """Marks with their intervals along the last axis of `place`; groups side by side if they have `room`.

    Marks that rest on few questions are grey, and no line joins them. Each layer names its own rows and axes; it would
    take those of the plot otherwise.
    """
    axis, value = [*place.items()][-1]
    low, high = ends_of(table, value)
    few, beside, by = is_few(table), [_Close(room)] if room else [], hue or None
    for grey in (False, True) if few.any() else (False,):
        look = {"color": _FEW} if grey else {} if hue else {"color": colour}
        layer = {"data": table[few == grey], **place, "group": by, "color": None if grey else by, "legend": False}
        if joined and not grey:
            plot = plot.add(so.Path(linewidth=1, **look), *beside, **layer)
        if low in table:
            plot = plot.add(so.Range(linewidth=1, **look), *beside, **{f"{axis}min": low, f"{axis}max": high}, **layer)
        mark = so.Dot(**look) if size else so.Dot(pointsize=4, **look)
        plot = plot.add(mark, *beside, **layer, marker=by, pointsize=size or None)
    return plot


def count_keys(numbers: pd.Series, sizes: tuple[float, float] = _SIZES) -> list[Line2D]:
    """Make entries of a legend for marks that are as large as a number.

    Parameters
    ----------
    numbers : Series
        The numbers of the marks.
    sizes : tuple of float, default _SIZES
        Points across the smallest and the largest mark.

    Returns
    -------
    list of Line2D
        One entry per number shown.
    """
    least, greatest = float(numbers.min()), float(numbers.max())
    shown = [n for n in MaxNLocator(3, integer=True).tick_values(least, greatest) if least <= n <= greatest]
    across = np.interp(shown, (least, greatest), np.square(sizes)) ** 0.5
    return [key(f"n = {n:g}", filled=False, size=size) for n, size in zip(shown, across, strict=True)]


def stacked(
    table: pd.DataFrame, x: str, y: str, hue: str, labels: tuple[str, str], palette: Mapping[str, Any], *,
    across: bool = False, panel: str = "", n: str = "", height: float | None = None, tau: float | None = None,
    empty: str = "",
) -> Figure:  # fmt: skip
    """Draw bars whose parts are the values of `hue`.

    Parameters
    ----------
    table : DataFrame
        One row per part.
    x : str
        Column with one bar per value.
    y : str
        Column of the sizes.
    hue : str
        Column of the parts.
    labels : tuple of str, str
        Labels of the axis of bars and of the axis of sizes.
    palette : mapping of str to object
        Part → colour, in the order of the parts.
    across : bool, default False
        Draw the bars horizontally.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    n : str, default ""
        Column of counts, which are added to the names.
    height : float, optional
        Height in inches; by default so that bars across have room, otherwise 2.4.
    tau : float, optional
        Position of a dashed vertical line.
    empty : str, default ""
        What a row without a bar says.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if n:
        table = table.assign(**{x: [f"{name} (n = {count})" for name, count in zip(table[x], table[n], strict=True)]})
    names, table = list(table[x].unique()), table[table[y] > 0]
    # A lower panel has no room for its bars.
    height = max(height or (0.9 + 0.28 * len(names) if across else 2.4), 0.7 * table[panel].nunique() if panel else 0.0)
    if table.empty:
        return nothing("nothing to show")
    order = [name for name in palette if name in set(table[hue])]
    rows = table.assign(**{hue: pd.Categorical(table[hue], order)}).sort_values(hue, kind="stable")
    at = {"y": x, "x": y} if across else {"x": x, "y": y}
    bar = (so.Bar if across else so.Bars)(width=0.9, edgewidth=0.3, edgecolor="w", alpha=1)
    plot = so.Plot(rows, **at, color=hue).add(bar, so.Stack()).facet(row=panel or None)
    scales: dict[str, Any] = {"color": scale({name: palette[name] for name in order})}
    scales |= {"y": so.Nominal(order=names)} if across else {}
    titles = dict(zip(at, labels, strict=True))
    made = figure(plot.scale(**scales).label(**titles, title=str if panel else ""), height, tau=tau)
    if empty:
        _in_empty_rows(made, rows, x, names, panel, empty)
    return made


def _in_empty_rows(made: Figure, table: pd.DataFrame, by: str, names: Sequence[str], panel: str, text: str) -> None:
    """This text where a panel has nothing in a row."""
    for ax in made.axes:
        here = set(table.loc[table[panel] == ax.get_title(), by] if panel in table else table[by])
        look: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "color": "0.4", "fontsize": 8}
        for place, name in enumerate(names):
            if name not in here:
                ax.text(0.02, place, text, **look)


def plane(
    table: pd.DataFrame, x: str, y: str, hue: str, labels: tuple[str, str], palette: Mapping[str, Any], *,
    panel: str = "", guessing: bool = False,
) -> Figure:  # fmt: skip
    """Draw a point per row with the intervals of both of its shares, as large as its coverage.

    Points of nearly one place are parts of one disc, named below. What never answers has no point and is named below.

    Parameters
    ----------
    table : DataFrame
        One row per point: `coverage`, and the intervals in X_low, X_high, Y_low and Y_high.
    x : str
        Column of the first share.
    y : str
        Column of the second share.
    hue : str
        Column shown by colour and mark.
    labels : tuple of str, str
        Labels of the two axes.
    palette : mapping of str to object
        Value of `hue` → colour.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    guessing : bool, default False
        Draw the falling diagonal, on which verdicts are guesses.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    silent = table[table["coverage"] == 0]
    names = [f"{row[hue]} ({row[panel]})" if panel else row[hue] for row in silent.to_dict("records")]
    panels = list(table[panel].unique()) if panel else None
    n_panels = len(panels or [panel])
    table = table[table["coverage"] > 0].sort_values("coverage", ascending=False, kind="stable")
    if table.empty:
        return nothing("nothing here gives an answer")
    places, inside = table[[x, y]].to_numpy(), table[panel].to_numpy() if panel else np.zeros(len(table))
    near = (np.abs(places[:, None] - places).max(axis=2) <= _WIDE) & (inside[:, None] == inside)
    plot = so.Plot(table, x=x, y=y, color=hue)
    bars = so.Range(artist_kws={"zorder": 0.9}, linewidth=0.7, alpha=0.5)
    plot = plot.add(bars, xmin=f"{x}_low", xmax=f"{x}_high", orient="y", legend=False)
    plot = plot.add(bars, ymin=f"{y}_low", ymax=f"{y}_high", orient="x", legend=False)
    layer = {"x": x, "y": y, "color": hue, "pointsize": "coverage", "legend": False}
    notes = [f"no answers: {', '.join(names)}"] if names else []
    for _, disc in table.assign(disc=near.argmax(axis=1)).sort_values(x, kind="stable").groupby("disc"):
        ends = np.linspace(90, 450, len(disc) + 1)
        for k, wedge in enumerate(map(Shape.wedge, ends, ends[1:])):
            look = {"marker": MarkerStyle(wedge)} if len(disc) > 1 else {}  # else by name: a set mark comes before it
            dot = so.Dot(edgecolor="w", edgewidth=0.7, **look)
            plot = plot.add(dot, data=disc.iloc[[k]], **layer, marker=hue)
        where = f" ({disc[panel].iloc[0]})" if panel else ""
        notes += [f"{_PARTS}{', '.join(disc[hue])}{where}"] if len(disc) > 1 else []
    wrap, ticks = 3 if n_panels == 3 else 2, share_ticks(short=n_panels > 1)
    palette = {name: colour for name, colour in palette.items() if name in set(table[hue])}
    sizes = (2.0, 9.0 if n_panels == 1 else 6.5)
    plot = plot.facet(panel or None, order=panels, wrap=wrap if panel else None)
    plot = plot.scale(pointsize=so.Continuous(sizes, norm=(0, 1)), x=ticks, y=ticks)
    plot = plot.limit(x=(-0.05, 1.05), y=(-0.05, 1.05)).label(x=labels[0], y=labels[1], title=str if panel else "")
    across = {share: float(np.interp(share, (0, 1), np.square(sizes)) ** 0.5) for share in (0.25, 0.5, 1.0)}
    keys = [key(f"answers {share:.0%}", filled=False, size=size) for share, size in across.items()]
    height, width = (4.0, 4.2) if not panel else (2.4 if wrap == 3 else 2.9 * -(-n_panels // 2), WIDTH)
    made = figure(plot, height, width=width, palette=palette, line="", keys=keys, note="; ".join(notes))
    for ax in made.axes if guessing else ():
        ax.plot([0, 1], [1, 0], color="0.7", linewidth=1, linestyle="--", zorder=0)
    return made


def heatmap(values: pd.DataFrame, texts: pd.DataFrame, colour: str, *, title: str = "") -> Figure:
    """Draw a heatmap of shares in [0, 1] with a text in each cell; missing cells are grey, negative ones as 0.

    Parameters
    ----------
    values : DataFrame
        The shares.
    texts : DataFrame
        The texts.
    colour : str
        Name of a colour map.
    title : str, default ""
        Title of the figure.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    with matplotlib.rc_context(_THEME):
        n_rows, n_columns = values.shape
        cell = min(0.75, 4.2 / n_columns)
        size = max(4.2, 1 + cell * n_columns), max(2.2, 0.6 + cell * n_rows)
        made, ax = plt.subplots(figsize=size, layout="constrained")
        look: dict[str, Any] = {"vmin": 0, "vmax": 1.4, "cbar": False, "linewidths": 1.5, "annot_kws": {"fontsize": 8}}
        with_grey = sns.color_palette(colour, as_cmap=True).with_extremes(under="0.93")
        sns.heatmap(values.astype(float).clip(lower=0).fillna(-1), ax=ax, annot=texts, fmt="", cmap=with_grey, **look)
        ax.set(xlabel="", ylabel="")
        ax.set_title(title, loc="left")
        ax.tick_params(length=0)
        ax.set_xticklabels(ax.get_xticklabels(), rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticklabels(ax.get_yticklabels(), rotation=0)
    return made


def differences(
    table: pd.DataFrame, label: str, *, panel: str = "condition", below: bool = False, note: str = ""
) -> Figure:
    """Draw differences with their intervals, a row per `name`.

    Filled marks have a Holm-corrected p below 0.05, hollow ones do not; without `p_holm` they show whether the interval
    excludes 0. A panel that lacks a row says "not tested" there.

    Parameters
    ----------
    table : DataFrame
        One row per difference: `name`, `difference`, `low`, `high` and, optionally, `p_holm`.
    label : str
        Label of the axis.
    panel : str, default "condition"
        Column with one panel per value; empty for a single panel.
    below : bool, default False
        Put the panels below each other.
    note : str, default ""
        A line below.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table["difference"].isna().all():
        return nothing("nothing to compare")
    corrected = "p_holm" in table
    shown = table["p_holm"] < 0.05 if corrected else (table["low"] > 0) | (table["high"] < 0)
    rules = ("Holm's p < 0.05", "Holm's p ≥ 0.05") if corrected else ("interval leaves out 0", "interval contains 0")
    rows = table.assign(sign=np.where(shown, *rules))
    if panel in rows:
        rows[panel] = [CONDITION_LABELS.get(name, name) for name in rows[panel]]
    n_panels = rows[panel].nunique() if panel in rows else 1
    if n_panels > 2 and not below:
        rows["name"] = [fill(name, 30) for name in rows["name"]]  # which leaves the panels room
    names = list(rows["name"].unique())
    rows = rows.dropna(subset="difference")
    plot = so.Plot(rows, x="difference", y="name").add(so.Range(linewidth=1, color=INK), xmin="low", xmax="high")
    plot = plot.add(so.Dot(pointsize=4.5, color=INK), fill="sign", legend=False)
    plot = plot.facet(**({"row" if below else "col": panel} if n_panels > 1 else {}))
    plot = plot.scale(fill=so.Nominal(dict(zip(rules, (True, False), strict=True))), y=so.Nominal(order=names))
    plot = plot.label(x=label, y="", title=str if n_panels > 1 else "")
    lines = max((name.count("\n") for name in names), default=0) + 1
    height = 0.9 + (0.05 + 0.14 * lines) * max(len(names), 3)
    keys = [key(rule, filled=filled) for rule, filled in zip(rules, (True, False), strict=True)]
    made = figure(plot, 0.4 + (height - 0.3) * n_panels if below else height, keys=keys, note=note)
    bins, zero = (4, ".") if n_panels > 1 and not below else (6, "0.")
    for ax in made.axes:
        ax.xaxis.set_major_locator(MaxNLocator(bins, steps=[1, 2, 5, 10], min_n_ticks=3))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−").replace("0.", zero, 1))
    _in_empty_rows(made, rows, "name", names, panel if n_panels > 1 else "", "not tested")
    return line_at(made, x=0.0)


def line_at(made: Figure, *, x: float | None = None, y: float | None = None) -> Figure:
    """Draw a dashed line in every panel.

    Parameters
    ----------
    made : Figure
        The figure.
    x : float, optional
        Position of a vertical line.
    y : float, optional
        Position of a horizontal line.

    Returns
    -------
    Figure
        The same figure.
    """
    for ax in made.axes:
        for at, drawn in ((x, ax.axvline), (y, ax.axhline)):
            if at is not None:
                drawn(at, color="0.4", linewidth=0.8, linestyle="--", zorder=0.9)
    return made


def nothing(why: str) -> Figure:
    """Make a figure that says why nothing is drawn.

    Parameters
    ----------
    why : str
        The reason.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    made, ax = plt.subplots(figsize=(WIDTH, 1.2))
    ax.set_axis_off()
    ax.text(0.5, 0.5, fill(why, 60), ha="center", va="center", fontsize=9)
    return made


def as_steps(table: pd.DataFrame, x: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Turn the rows of a step function into the corners of a line.

    Parameters
    ----------
    table : DataFrame
        Rows whose value holds from the x before up to and including their own.
    x : str
        Column along the axis.
    by : sequence of str, default ()
        Columns that tell several lines apart.

    Returns
    -------
    DataFrame
        The corners.
    """
    parts = []
    for _, part in table.groupby([*by], sort=False) if by else [((), table)]:
        part = part.sort_values(x, kind="stable")
        corners = part.loc[part.index.repeat(2)].reset_index(drop=True)
        corners[x] = np.repeat(part[x].to_numpy(float), 2)[[0, *range(len(corners) - 1)]] if len(part) else []
        parts.append(corners)
    return pd.concat(parts, ignore_index=True) if parts else table


def is_few(table: pd.DataFrame) -> Any:
    """Find the rows that rest on fewer than `FEW` questions (on fewer items, if questions are not counted).

    Parameters
    ----------
    table : DataFrame
        Rows with `n_questions` or `n`.

    Returns
    -------
    object
        True for each such row.
    """
    counted = next((table[name] for name in ("n_questions", "n") if name in table), None)
    return np.zeros(len(table), bool) if counted is None else counted.to_numpy(float) < FEW


def by_name(table: pd.DataFrame, column: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Rename methods or designs for a reader, and choose their colours.

    Parameters
    ----------
    table : DataFrame
        The table.
    column : str
        Column of methods or designs.

    Returns
    -------
    tuple of DataFrame, dict of str to str
        The renamed table, and name → colour.
    """
    palette = {called(name): colour for name, colour in colours(table[column]).items()}
    return table.assign(**{column: table[column].map(called)}), palette


def by_category(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add the column `category` for a legend, and choose its colours.

    Parameters
    ----------
    table : DataFrame
        Rows with `knowledge_category`.

    Returns
    -------
    tuple of DataFrame, dict of str to str
        The table, and category → colour.
    """
    rows = table[table["knowledge_category"].isin(CATEGORY_COLOURS)]
    names = rows["knowledge_category"].astype(object).map(CATEGORY_LABELS)
    return rows.assign(category=names), {CATEGORY_LABELS[name]: colour for name, colour in CATEGORY_COLOURS.items()}


def melted(table: pd.DataFrame, labels: Mapping[str, str], *keys: str) -> pd.DataFrame:
    """Put several columns of values below each other, with the ends of their intervals.

    Parameters
    ----------
    table : DataFrame
        Columns of values, NAME, and of their intervals, NAME_low and NAME_high, where there are any.
    labels : mapping of str to str
        Columns of values → their labels for a reader.
    *keys : str
        Columns that stay.

    Returns
    -------
    DataFrame
        One row per row and column of values: the keys, the label in `quantity`, `value`, `low` and `high`.
    """
    whole = table.reindex(columns=[*keys, *(f"{name}{end}" for name in labels for end in ("", "_low", "_high"))])
    parts = [
        whole[[*keys]].assign(quantity=label, value=whole[name], low=whole[f"{name}_low"], high=whole[f"{name}_high"])
        for name, label in labels.items()
    ]
    return pd.concat(parts, ignore_index=True)


def scale(palette: Mapping[str, Any]) -> so.Nominal:
    """Make a scale in the order of a palette.

    Parameters
    ----------
    palette : mapping of str to object
        Name → colour or mark.

    Returns
    -------
    so.Nominal
        The scale.
    """
    return so.Nominal(dict(palette), order=list(palette))


_METADATA = {"png": {"Software": None}, "svg": {"Date": None}}  # no versions, no times: equal figures are equal files


def save_figure(
    figure: Figure, data: pd.DataFrame, folder: str | Path, name: str, *, label: str | None = None
) -> list[Path]:
    """Save a figure as PNG and SVG, with its data as CSV.

    Parameters
    ----------
    figure : Figure
        The figure.
    data : DataFrame
        The table behind it.
    folder : str or Path
        The folder, made if needed.
    name : str
        Name of the files, without an ending.
    label : str, optional
        The models behind the numbers, as `Results.label`; it is put under the figure, with the number of questions if
        the table has it, and into the first column of the table.

    Returns
    -------
    list of Path
        The paths of the three files.
    """
    folder = Path(folder)
    counts = [n for n in data["n_questions"].dropna() if n] if "n_questions" in data else []
    ends = dict.fromkeys(f"{n:,.0f}" for n in (min(counts), max(counts))) if counts else ()
    below = fill(f"{label}; n = {' to '.join(ends)} questions" if ends else str(label), 80)
    if label and below not in (text.get_text() for text in figure.texts):
        figure.draw_without_rendering()  # a constrained layout is found in drawing
        drawn: Any = figure.get_tightbbox()  # in inches
        width, height = figure.get_size_inches()
        x, y = drawn.x0 / width, (drawn.y0 - 0.08) / height
        figure.text(x, y, below, va="top", fontsize=8, color="0.4")
    if label:
        data = data.assign(label=label)[["label", *data.columns]]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in (*_METADATA, "csv")]
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for path, (kind, metadata) in zip(paths, _METADATA.items(), strict=False):
            with whole_file(path) as part:
                figure.savefig(part, format=kind, dpi=200, bbox_inches="tight", metadata=metadata)
    write_whole(paths[-1], csv_text(data))
    return paths
