"""Strings that a notebook shows as HTML, and tables that carry their label."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd


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
