"""Figures: a tidy table in, a seaborn specification drawn once, a matplotlib Figure out.

One theme, and one colour for each method, design and category (`srdcr_lab.records.names`). Intervals are the columns
`low` and `high`, or `VALUE_low` and `VALUE_high`. A point of fewer than `FEW` questions is grey, and the axis says so.
"""

from __future__ import annotations

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
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from srdcr_lab.lib.groups import FEW
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.records.files import csv_text, write_whole
from srdcr_lab.records.names import CATEGORY_LABELS, called, colours
from srdcr_lab.records.names import CONDITION_LABELS as CONDITION_LABELS

NAVY, BLUE, ORANGE, VERMILION, INK, GREY = "#0b3c5d", "#0173b2", "#de8f05", "#d55e00", "#222222", "#999"
CATEGORY_COLOURS = dict(zip((c.value for c in KnowledgeCategory), (NAVY, "#2a9d8f", "#e9a93c", "#c8553d"), strict=True))
WIDTH = 5.1  # inches: printed 12 cm wide, a text of 8 points has 7
ALL_SHARES = (-0.03, 1.03)  # limits of an axis of shares
_FEW = "0.75"
_THEME = {
    **sns.axes_style("ticks"),
    **dict.fromkeys(["font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"], 8),
    "axes.titlesize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.linewidth": 0.8,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
}

_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
if hasattr(_shell, "kernel"):  # a notebook, which shows 200 dots an inch
    importlib.import_module("IPython.core.pylabtools").select_figure_formats(_shell, {"retina"})


def figure(plot: so.Plot, height: float, *, width: float = WIDTH, few: str = "", tilted: bool = False) -> Figure:
    """Draw a specification, with one label for all panels and the legend below.

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
    tilted : bool, default False
        Tilt the names along the x axis.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    made = plt.figure(figsize=(width, height), layout="constrained")
    plot.theme(_THEME).on(made).plot()
    old, made.legends = made.legends, []
    labels = {ax.get_xlabel() for ax in made.axes} - {""}
    with matplotlib.rc_context(_THEME):
        for ax in made.axes:
            ax.tick_params(axis="x", labelrotation=45 if tilted else 0)
            if len(made.axes) > 1 and len(labels) == 1:
                ax.set_xlabel("")
        if len(made.axes) > 1 and len(labels) == 1:
            made.supxlabel(*labels, fontsize=8)
        made.draw_without_rendering()
        made.set_layout_engine("none")
        if few:
            made.text(0.5, _bottom(made), f"grey: fewer than {FEW} {few}", ha="center", va="top", color="0.4")
        if old:
            _legend_at(made, old[0], _bottom(made))
    return made


def _bottom(made: Figure) -> float:
    """Just below what is drawn, as a share of the figure's height."""
    drawn: Any = made.get_tightbbox()  # in inches
    return float(drawn.y0 - 0.05) / float(made.get_size_inches()[1])


def _legend_at(made: Figure, old: Any, height: float) -> None:
    """A legend below this height, in as many columns as the figure has room for."""
    handles = [handle for handle in old.legend_handles if handle]
    names = [text.get_text() for text in old.get_texts()]
    look: dict[str, Any] = {"loc": "upper center", "title": old.get_title().get_text() or None}
    for columns in (4, 3, 2, 1):
        legend = made.legend(handles, names, bbox_to_anchor=(0.5, height), ncols=columns, **look)
        if legend.get_window_extent().width <= made.bbox.width or columns == 1:
            return
        legend.remove()


def rows(
    table: pd.DataFrame, value: str, by: str, label: str, *,
    panel: str = "", hue: str = "", palette: Mapping[str, Any] | None = None, hollow: str = "", few: str = "questions",
    limits: tuple[float | None, float | None] | None = ALL_SHARES, reference: float | None = None, apart: bool = True,
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
        Column shown by colour; it puts several points into a row.
    palette : mapping of str to object, optional
        Value of `hue` → colour.
    hollow : str, default ""
        Column of a second value, drawn hollow.
    few : str, default "questions"
        What is counted, for the note on grey points.
    limits : tuple of float, float, default ALL_SHARES
        Limits of the axis.
    reference : float, optional
        Position of a dashed line.
    apart : bool, default True
        Draw the points of one row side by side.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    if table.empty:
        return nothing("nothing to show")
    names, per_row = table[by].unique(), table[hue].nunique() if hue else 1
    plot = so.Plot(table, y=by, x=value, **({"color": hue} if hue else {}))
    several = apart and table.duplicated([by, *([panel] if panel else [])]).any()
    side_by_side = [so.Dodge(gap=0.3)] if several else []
    low, high = _ends(table, value)
    for look, layer in _of_few(table, {} if hue else {"color": INK}, x=value, y=by, **({"group": hue} if hue else {})):
        plot = plot.add(so.Range(linewidth=1, **look), *side_by_side, xmin=low, xmax=high, **layer)
        plot = plot.add(so.Dot(pointsize=4, **look), *side_by_side, **layer)
    if hollow:
        plot = plot.add(so.Dot(pointsize=4, fill=False, color="0.4"), x=hollow)
    plot = plot.facet(panel or None).limit(x=limits).label(x=label, y="", color="", title=str if panel else "")
    plot = plot.scale(
        y=so.Nominal(order=list(names)), **({"color": scale(palette or colours(table[hue]))} if hue else {})
    )
    height = 0.75 + (0.14 + 0.08 * per_row) * max(len(names), 3) + (0.2 if panel else 0)
    made = figure(plot, height, few=few if is_few(table).any() else "")
    return line_at(made, x=reference)


def lines(
    table: pd.DataFrame, x: str, y: str, labels: tuple[str, str], *,
    hue: str = "", palette: Mapping[str, Any] | None = None, panel: str = "",
    band: bool = True, points: bool = False, steps: bool = False, height: float = 2.6,
    limits: tuple[float | None, float | None] | None = ALL_SHARES, reference: float | None = None,
    tau: float | None = None,
) -> Figure:  # fmt: skip
    """Draw a line for each value of `hue`, with a band or with points and their intervals.

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
        Column shown by colour.
    palette : mapping of str to object, optional
        Value of `hue` → colour.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    band : bool, default True
        Draw the intervals as a band.
    points : bool, default False
        Draw points with their intervals instead of a band.
    steps : bool, default False
        Let a value hold from the x before up to and including its own.
    height : float, default 2.6
        Height in inches of each row of at most two panels.
    limits : tuple of float, float, default ALL_SHARES
        Limits of the y axis.
    reference : float, optional
        Position of a dashed horizontal line.
    tau : float, optional
        Position of a dashed vertical line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    rows = as_steps(table, x, [name for name in (hue, panel) if name]) if steps else table
    plot = so.Plot(rows, x=x, y=y, **({"color": hue} if hue else {}))
    look: dict[str, Any] = {} if hue else {"color": NAVY}
    low, high = _ends(table, y)
    if points:
        for own, layer in _of_few(table, look, x=x, y=y):
            if layer.get("legend", True):  # a line joins no grey point
                plot = plot.add(so.Path(linewidth=1.2, **own), **layer)
            if low in table:
                plot = plot.add(so.Range(linewidth=1, **own), ymin=low, ymax=high, **layer)
            plot = plot.add(so.Dot(pointsize=4, **own), **layer)
    else:
        if band and low in rows:
            plot = plot.add(so.Band(alpha=0.15, **look), ymin=low, ymax=high, legend=False)
        plot = plot.add(so.Path(linewidth=1.4, **look))
    if panel:
        plot = plot.facet(panel, wrap=2)
    plot = (plot.limit(y=limits) if limits else plot).label(
        x=labels[0], y=labels[1], color="", title=str if panel else ""
    )
    if hue:
        plot = plot.scale(color=scale(palette or colours(table[hue])))
    height *= -(-table[panel].nunique() // 2) if panel else 1
    tilted = table[x].dtype == object and table[x].nunique() > 6
    made = figure(plot, height, few="questions" if points and is_few(table).any() else "", tilted=tilted)
    return line_at(line_at(made, y=reference), x=tau)


def stacked(
    table: pd.DataFrame, x: str, y: str, hue: str, labels: tuple[str, str], palette: Mapping[str, Any], *,
    across: bool = False, panel: str = "", width: float = 0.9, height: float = 2.4, tau: float | None = None,
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
    width : float, default 0.9
        Width of a bar.
    height : float, default 2.4
        Height in inches.
    tau : float, optional
        Position of a dashed vertical line.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    table = table[table[y] > 0]
    if table.empty:
        return nothing("nothing to show")
    order = [name for name in palette if name in set(table[hue])]
    rows = table.assign(**{hue: pd.Categorical(table[hue], order)}).sort_values(hue, kind="stable")
    at = {"y": x, "x": y} if across else {"x": x, "y": y}
    bar = (so.Bar if across else so.Bars)(width=width, edgewidth=0.3, edgecolor="w", alpha=1)
    plot = so.Plot(rows, **at, color=hue).add(bar, so.Stack())
    if panel:
        plot = plot.facet(row=panel)
    scales: dict[str, Any] = {"color": scale({name: palette[name] for name in order})}
    if across:
        scales["y"] = so.Nominal(order=list(table[x].unique()))
    names = {"x": labels[0], "y": labels[1]} if not across else {"x": labels[1], "y": labels[0]}
    return line_at(figure(plot.scale(**scales).label(**names, color="", title=str if panel else ""), height), x=tau)


def plane(
    table: pd.DataFrame, x: str, y: str, hue: str, labels: tuple[str, str], palette: Mapping[str, Any], *,
    panel: str = "", size: str = "", guessing: bool = False,
) -> Figure:  # fmt: skip
    """Draw a point per row with the intervals of both of its shares.

    Parameters
    ----------
    table : DataFrame
        One row per point, with the intervals in X_low, X_high, Y_low and Y_high.
    x : str
        Column of the first share.
    y : str
        Column of the second share.
    hue : str
        Column shown by colour.
    labels : tuple of str, str
        Labels of the two axes.
    palette : mapping of str to object
        Value of `hue` → colour.
    panel : str, default ""
        Column with one panel per value; empty for a single panel.
    size : str, default ""
        Column shown by the size of the points.
    guessing : bool, default False
        Draw the falling diagonal, on which verdicts are guesses.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    plot = so.Plot(table, x=x, y=y, color=hue)
    plot = plot.add(so.Range(linewidth=0.6, alpha=0.6), xmin=f"{x}_low", xmax=f"{x}_high", orient="y", legend=False)
    plot = plot.add(so.Range(linewidth=0.6, alpha=0.6), ymin=f"{y}_low", ymax=f"{y}_high", orient="x", legend=False)
    plot = plot.add(so.Dot(pointsize=6), **({"pointsize": size} if size else {}))
    scales: dict[str, Any] = {"color": scale(palette)} | ({"pointsize": (3, 9)} if size else {})
    plot = plot.facet(panel or None, wrap=2 if panel else None).scale(**scales)
    plot = plot.limit(x=(-0.05, 1.05), y=(-0.05, 1.05)).label(
        x=labels[0], y=labels[1], color="", pointsize="", title=str if panel else ""
    )
    n_panels = table[panel].nunique() if panel else 1
    made = figure(plot, 2.6 * -(-n_panels // 2) if panel else 3.8, width=WIDTH if panel else 4.2)
    for ax in made.axes if guessing else ():
        ax.plot([0, 1], [1, 0], color="0.7", linewidth=1, linestyle="--", zorder=0)
    return made


def heatmap(values: pd.DataFrame, texts: pd.DataFrame, colour: str, *, title: str = "") -> Figure:
    """Draw a heatmap of shares in [0, 1] with a text in each cell; missing cells are grey.

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
        size = min(0.75, 4.2 / n_columns)
        made, ax = plt.subplots(
            figsize=(max(4.2, 1 + size * n_columns), max(2.2, 0.6 + size * n_rows)), layout="constrained"
        )
        look: dict[str, Any] = {"vmin": 0, "vmax": 1.4, "cbar": False, "linewidths": 1.5, "annot_kws": {"fontsize": 8}}
        sns.heatmap(values.astype(float).fillna(-1), ax=ax, annot=texts, fmt="", cmap=_with_grey(colour), **look)
        ax.set(xlabel="", ylabel="")
        ax.set_title(title, loc="left")
        ax.tick_params(length=0)
        ax.set_xticklabels(ax.get_xticklabels(), rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticklabels(ax.get_yticklabels(), rotation=0)
    return made


def _with_grey(name: str) -> Any:
    return sns.color_palette(name, as_cmap=True).with_extremes(under="0.93")


def differences(table: pd.DataFrame, label: str, *, panel: str = "condition", below: bool = False) -> Figure:
    """Draw differences with their intervals, a row per `name`.

    Filled marks have a Holm-corrected p below 0.05, hollow ones do not; without `p_holm` they show whether the interval
    excludes 0.

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

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    known = table["p_holm"] < 0.05 if "p_holm" in table else (table["low"] > 0) | (table["high"] < 0)
    rule = "Holm's p < 0.05" if "p_holm" in table else "interval leaves out 0"
    other = "Holm's p ≥ 0.05" if "p_holm" in table else "interval contains 0"
    rows = table.assign(sign=np.where(known, rule, other))
    if panel in rows:
        rows[panel] = [CONDITION_LABELS.get(name, name) for name in rows[panel]]
    plot = so.Plot(rows, x="difference", y="name").add(so.Range(linewidth=1, color=INK), xmin="low", xmax="high")
    plot = plot.add(so.Dot(pointsize=4.5, color=INK), fill="sign")
    n_panels = rows[panel].nunique() if panel in rows else 1
    if n_panels > 1:
        plot = plot.facet(**{"row" if below else "col": panel})
    marks = so.Nominal({rule: True, other: False})
    plot = plot.scale(fill=marks, y=so.Nominal(order=list(rows["name"].unique())))
    plot = plot.label(x=label, y="", fill="", title=str if n_panels > 1 else "")
    lines = max((name.count("\n") for name in rows["name"]), default=0) + 1
    height = 0.9 + 0.19 * lines * max(rows["name"].nunique(), 3)
    made = figure(plot, 0.4 + (height - 0.3) * n_panels if below else height)
    for ax in made.axes:
        ax.xaxis.set_major_locator(MaxNLocator(6 if below else {1: 6, 2: 4}.get(n_panels, 3)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
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
                drawn(at, color="0.4", linewidth=0.8, linestyle="--", zorder=0)
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


def names_of(table: pd.DataFrame) -> list[str]:
    """Name the method of each row, with its design if the table has one.

    Parameters
    ----------
    table : DataFrame
        Rows with `method` and, optionally, `design`.

    Returns
    -------
    list of str
        The names.
    """
    designs = table["design"] if "design" in table else [None] * len(table)
    return [called(method, design) for method, design in zip(table["method"], designs, strict=True)]


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


def scale(palette: Mapping[str, Any]) -> so.Nominal:
    """Make a colour scale in the order of a palette.

    Parameters
    ----------
    palette : mapping of str to object
        Name → colour.

    Returns
    -------
    so.Nominal
        The scale.
    """
    return so.Nominal(dict(palette), order=list(palette))


def _ends(table: pd.DataFrame, value: str) -> tuple[str, str]:
    prefix = f"{value}_" if f"{value}_low" in table else ""
    return f"{prefix}low", f"{prefix}high"


def _of_few(table: pd.DataFrame, look: Mapping[str, Any], **place: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Look and layer of the rows that rest on enough, and of those that do not: grey, not in the legend.

    A layer says where its points lie (`place`), since it inherits that from all rows otherwise.
    """
    few = is_few(table)
    layers: list[tuple[dict[str, Any], dict[str, Any]]] = [(dict(look), {"data": table[~few], **place})]
    grey = {"data": table[few], "color": None, "legend": False, **place}
    return layers + ([({"color": _FEW}, grey)] if few.any() else [])


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
        The models behind the numbers, as `Results.label`; it is put under the figure and into the first column of the
        table.

    Returns
    -------
    list of Path
        The paths of the three files.
    """
    folder = Path(folder)
    if label:
        figure.draw_without_rendering()  # a constrained layout is found in drawing
        drawn: Any = figure.get_tightbbox()  # in inches
        width, height = figure.get_size_inches()
        x, y = drawn.x0 / width, (drawn.y0 - 0.08) / height
        figure.text(x, y, fill(label, 80), va="top", fontsize=8, color="0.4")
        data = data.assign(label=label)[["label", *data.columns]]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in (*_METADATA, "csv")]
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for path, metadata in zip(paths, _METADATA.values(), strict=False):
            figure.savefig(path, dpi=200, bbox_inches="tight", metadata=metadata)
    write_whole(paths[-1], csv_text(data))
    return paths
