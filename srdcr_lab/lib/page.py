"""HTML: jinja2 templates (in `templates/`), the one table writer, and small SVG charts.

Every value is escaped unless it is `Html`. The policy of our pages lets a browser load nothing from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from srdcr_lab.records.names import OF_CONFIDENCES, called_in, heading

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")


class Html(str):
    """A string that is HTML: a notebook shows it as such, and a template does not escape it again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self

    def _repr_html_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("(HTML)")  # a notebook keeps both forms of an output: the markup need not be in it twice


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters["number"] = number
    return environment


def render(template: str, macro: str = "", **values: object) -> Html:
    """The text of a template, or of one of its macros, with these values. A value that is missing raises."""
    page = _environment().get_template(f"{template}.html.j2")
    return Html(getattr(page.module, macro)(**values) if macro else page.render(values))


def source(name: str) -> Html:
    """The text of a file in `templates/` as it is: the script of a page."""
    return Html((_TEMPLATES / name).read_text("utf-8"))


def number(value: float | None, form: str = ".2f") -> str:
    """The number in this format; NaN and None as a dash. Also a filter of the templates."""
    return "–" if value is None or value != value else format(value, form)


def interval(value: float, low: float, high: float, form: str = ".2f") -> str:
    """A number with its interval in brackets; a dash where there is no number."""
    return f"{value:{form}} [{low:{form}}, {high:{form}}]" if value == value else "–"


@dataclass(frozen=True, slots=True)
class Td:
    """A table cell with a look of its own. `head`: a row's name; `rows`: how many rows it spans; `css`: its class."""

    content: object
    style: str | None = None
    css: str | None = None
    head: bool = False
    rows: int | None = None


def html_table(
    header: Iterable[object], rows: Iterable[Iterable[object]], *, caption: str = "", row_classes: Sequence[str] = ()
) -> Html:
    """A table whose cells are escaped, unless they are `Html`; a `Td` brings its own look. No header: none is drawn."""
    body = [[cell if isinstance(cell, Td) else Td(cell) for cell in row] for row in rows]
    classes = row_classes or [""] * len(body)
    return render("parts", "table", header=list(header), rows=zip(classes, body, strict=True), caption=caption)


def frame_table(frame: pd.DataFrame) -> Html:
    """The rows of a DataFrame; column names lose their underscores, values are called as in figures."""
    frame = _called(frame)
    return html_table([name.replace("_", " ") for name in frame.columns], frame.itertuples(index=False))


def captioned(table: pd.DataFrame, label: str, *, digits: int = 2, index: bool = False) -> Html:
    """A DataFrame with its label (`Results.label`) as caption; shares to so many digits, what is missing as a dash,
    methods, designs, confidences and categories as they are called in figures."""
    known = _called(table.where(table.notna(), float("nan")))
    body = known.to_html(
        index=index, border=0, na_rep="–", float_format=lambda value: f"{value:.{digits}f}", escape=True
    )
    head, inside = body.split("\n", 1)
    if re.search(r"[^<>\s]{100}", inside):  # a reply that is one long word would widen the page
        head = head.replace("<table", '<table style="overflow-wrap: anywhere"', 1)
    return Html(f"{head}\n{render('parts', 'caption_below', label=label)}\n{inside}")


def shown(table: pd.DataFrame, caption: str = "", *, digits: int = 2) -> Html:
    """A table as a reader sees it.

    Columns have their headings (`srdcr_lab.records.names.heading`), methods, designs, categories and confidences their
    labels; shares have so many decimals. A number and its interval (`NAME_low` and `NAME_high`, or the columns `low`
    and `high` right behind it) share a column. What is missing is a dash.
    """
    table = table.reset_index() if table.index.name or table.index.nlevels > 1 else table
    names = [str(name) for name in table.columns]
    table = table.set_axis(names, axis=1).astype(object).where(table.set_axis(names, axis=1).notna(), None)
    header, columns, ends = [], [], set()
    for place, name in enumerate(names):
        if name in ends:
            continue
        pair = [f"{name}_low", f"{name}_high"]
        pair = (
            pair
            if set(pair) <= set(names)
            else ["low", "high"]
            if names[place + 1 : place + 3] == ["low", "high"]
            else []
        )
        ends |= set(pair)
        header.append(heading(name) + " [95 % interval]" * bool(pair))
        columns.append(
            [_cell(name, digits, *values) for values in zip(*(table[each] for each in (name, *pair)), strict=True)]
        )
    return html_table(header, zip(*columns, strict=True), caption=caption)


def _cell(name: str, digits: int, value: Any, low: Any = None, high: Any = None) -> object:
    if isinstance(value, str):
        return Td(called_in(name, value) if name in _NAMING else value, "text-align: left; overflow-wrap: anywhere")
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if name == "p" or name.startswith("p_"):
        return p_value(value).removeprefix("= ")
    return interval(value, low, high, f".{digits}f") if low is not None else f"{value:,.{digits}f}"


def p_value(p: float) -> str:
    """A p-value with its sign of relation.

    >>> p_value(0.00002), p_value(0.0312)
    ('< 0.001', '= 0.031')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


# Columns (or an index, or the name of the columns) of methods and designs, of categories and of confidences
_NAMING = (
    *("model", "condition", "method", "methods", "design", "debate", "a", "b", "alone", "knowledge_category", "what"),
    *OF_CONFIDENCES,
)


def _called(table: pd.DataFrame) -> pd.DataFrame:
    def named(column: str) -> Callable[[object], object]:
        return lambda name: called_in(column, name) if isinstance(name, str) else name

    shown = table.assign(**{name: table[name].map(named(name)) for name in _NAMING if name in table})
    for axis, name in (("index", table.index.name), ("columns", table.columns.name)):
        shown = shown.rename(named(str(name)), axis=axis) if name in _NAMING else shown
    return shown


Point = tuple[float, float]


class Line(NamedTuple):
    points: Iterable[Point]
    colour: str
    width: float = 1.5
    dashed: bool = False


class Dot(NamedTuple):
    at: Point
    colour: str
    radius: float
    filled: bool = True
    title: str = ""  # shown where the pointer rests on it


class Area(NamedTuple):
    """A rectangle (two points: upper left, lower right) or a ribbon (four points of its upper curve, four back)."""

    points: Sequence[Point]
    colour: str
    title: str = ""


class Label(NamedTuple):
    """A text whose baseline begins (or ends: `anchor`) so many pixels right of and below `at`."""

    at: Point
    text: str
    shift: Point = (0, 0)
    anchor: str = "start"
    style: str | None = None


@dataclass(frozen=True)
class Chart:
    """A small picture in SVG, for what a slider moves.

    Positions are shares of the drawing area, (0, 0) at its lower left. `width` and `height` are its size in pixels; the
    margins (left, top, right, bottom) lie around it. `axes`: names of two axes from 0 to 1, across and up.
    """

    name: str
    width: float
    height: float
    margins: tuple[float, float, float, float]
    axes: tuple[str, str] | None = None

    def svg(
        self,
        areas: Iterable[Area] = (),
        lines: Iterable[Line] = (),
        dots: Iterable[Dot] = (),
        labels: Iterable[Label] = (),
    ) -> Html:
        """The picture as an element of a page; the first lie below the others."""
        return render("chart", "svg", chart=self, areas=areas, lines=lines, dots=dots, labels=labels)

    def places(self, points: Iterable[Point]) -> tuple[str, ...]:
        """The pixels of each point, "x y"."""
        return _places(self, tuple(points))


@lru_cache(maxsize=128)  # a slider draws the same curves at every move
def _places(chart: Chart, points: tuple[Point, ...]) -> tuple[str, ...]:
    left, top, _, _ = chart.margins
    return tuple(f"{left + x * chart.width:.1f} {top + (1 - y) * chart.height:.1f}" for x, y in points)
