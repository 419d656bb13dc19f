"""A page of HTML that needs nothing else: no script, no font, no address. Its policy lets a browser load nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import pandas as pd

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: {width}; margin: 2em auto; padding: 0 1em; color: #1b1f24; }}
table {{ border-collapse: collapse; margin: .6em 0 1.3em; }}
th, td {{ border: 1px solid #d0d7de; padding: .25em .6em; text-align: start; vertical-align: top; }}
th {{ background: #f6f8fa; }} img {{ max-width: 100%; }}
{style}</style></head><body>
<h1>{title}</h1>
"""


def html_page(title: str, parts: Iterable[str], *, style: str = "", width: str = "62em") -> str:
    """The parts, which are HTML, under their title, which is text; `style` is CSS beside that of every page."""
    return _HEAD.format(title=escape(title), width=width, style=style) + "\n".join([*parts, "</body></html>", ""])


def html_table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table of texts, escaped, each set in its own direction; column names lose their underscores."""
    head = "".join(f"<th>{escape(str(cell).replace('_', ' '))}</th>" for cell in header)
    cells = ("".join(f"<td dir='auto'>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><tr>{head}</tr>{body}</table>"


# -- strings that a notebook shows as HTML, and tables that carry their label


class Html(str):
    """A string that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("(HTML)")  # a notebook keeps both forms of an output: the markup need not be in it twice


def captioned(table: pd.DataFrame, label: str, *, digits: int = 2, index: bool = False) -> Html:
    """A table with its label (`Results.label`) as caption; shares to so many digits, what is missing as a dash."""
    known = table.where(table.notna(), float("nan"))
    body = known.to_html(
        index=index, border=0, na_rep="–", float_format=lambda value: f"{value:.{digits}f}", escape=True
    )
    caption = f'<caption style="caption-side: bottom; text-align: left; color: #666">{escape(label)}</caption>'
    head, inside = body.split("\n", 1)
    return Html(f"{head}\n{caption}\n{inside}")
