"""HTML: jinja2 templates (in `templates/`), and functions that write tables.

Every value is escaped unless it is `Html`. The policy of our pages keeps a browser from loading anything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab.records.names import NAMING, called, called_in, category_called, heading, kind_called

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

_LEFT, _RIGHT = "text-align: left; overflow-wrap: break-word", "text-align: right"
_TEMPLATES = Path(__file__).with_name("templates")
_ANSWER = "srdcr-answer"  # the class of an answer box


class Html(str):
    """A string that is HTML: a notebook shows it as such, and a template does not escape it again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self

    _repr_html_ = __html__

    @property
    def text(self) -> str:
        """The words alone, each paragraph on its line."""
        words = re.sub(r"<[^<>]*>", "", re.sub(r"</(?:p|li|div|tr|caption)>", "\n", self))
        return html.unescape("\n".join(filter(None, map(str.strip, words.splitlines()))))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text if _ANSWER in self[:80] else "(HTML)")  # a notebook keeps both forms of an output


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    for each in (number, called, category_called, kind_called):
        environment.filters[each.__name__] = each
    return environment


def render(template: str, macro: str = "", **values: object) -> Html:
    """Render a template, or one of its macros, with these values. A missing value raises."""
    page = _environment().get_template(f"{template}.html.j2")
    return Html(getattr(page.module, macro)(**values) if macro else page.render(values))


def source(name: str) -> Html:
    """The text of a file in `templates/`, unchanged: the script of a page."""
    return Html((_TEMPLATES / name).read_text("utf-8"))


def number(value: float | None, form: str = ".2f") -> str:
    """Format a number; NaN and None give a dash. Also a filter of the templates."""
    if value is None or value != value:
        return "–"
    text = format(value, form)
    return text.replace("-", "−") if re.search("[1-9]", text) else text.replace("-", "")  # no negative zero


def interval(value: float, low: float, high: float, form: str = ".2f") -> str:
    """Format a number with its interval in brackets, if it has one; a dash without a number."""
    text, *ends = (number(each, form) for each in (value, low, high))
    return text if value != value or low != low else f"{text} [{', '.join(ends)}]"


@dataclass(frozen=True, slots=True)
class Td:
    """A table cell with its own look. `head`: a row's name; `rows`: how many rows it spans; `css`: its class."""

    content: object
    style: str | None = None
    css: str | None = None
    head: bool = False
    rows: int | None = None


def html_table(header: Iterable[object], rows: Iterable[Iterable[object]], *, caption: str = "") -> Html:
    """Make a table whose cells are escaped unless they are `Html`; a `Td` has its own look. Without a header none is
    drawn.
    """
    body = [[cell if isinstance(cell, Td) else Td(cell) for cell in row] for row in rows]
    return render("parts", "table", header=list(header), rows=body, caption=caption)


def shown(table: pd.DataFrame, caption: str = "") -> Html:
    """Show a table to a reader.

    Columns get their headings (`srdcr_lab.records.names.heading`); methods, designs, categories and confidences their
    labels; small numbers two decimals. A number and its interval (`NAME_low` and `NAME_high`, or the columns `low` and
    `high` right after it) share a column. A missing value is a dash. Texts are left, numbers right.
    """
    table = table.reset_index() if table.index.name or table.index.nlevels > 1 else table
    table = table.astype(object).where(table.notna(), None)
    names = list(table.columns)
    header, columns, ends = [], [], set[str]()
    for place, name in enumerate(names):
        if name in ends:
            continue
        interval_of = [f"{name}_low", f"{name}_high"] if f"{name}_low" in names else names[place + 1 : place + 3]
        pair = interval_of if interval_of in (["low", "high"], [f"{name}_low", f"{name}_high"]) else []
        ends.update(pair)
        header.append(f"{heading(name)} [95 % interval]" if pair else heading(name))
        text = any(isinstance(each, str | bool) for each in table[name])
        cells = zip(*(table[each] for each in (name, *pair)), strict=True)
        columns.append([Td(_cell(name, _form(table[name]), *of_row), _LEFT if text else _RIGHT) for of_row in cells])
    return html_table(header, zip(*columns, strict=True), caption=caption)


def _form(values: Iterable[Any]) -> str:
    """Numbers of a column: without decimals if all are whole or one has three digits, with one decimal from 10 on."""
    numbers = [abs(each) for each in values if isinstance(each, float)] or [0.0]
    whole = max(numbers) > 1 and all(each % 1 == 0 for each in numbers)
    return ",.0f" if whole or max(numbers) >= 100 else ",.1f" if max(numbers) >= 10 else ",.2f"


def _cell(name: str, form: str, value: Any, low: Any = None, high: Any = None) -> str:
    if isinstance(value, str):
        return called_in(name, value) if name in NAMING else value
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if name in ("p", "p_value", "p_holm"):
        return p_value(value).removeprefix("= ")
    return interval(value, low, high, form) if low is not None else number(value, form)


def p_value(p: float) -> str:
    """Format a p-value with its relation sign.

    >>> p_value(0.00002), p_value(0.0312)
    ('< 0.001', '= 0.031')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
