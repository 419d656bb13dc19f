"""The tables of a page of HTML as texts, so that two notebooks' tables can be compared cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

Row = tuple[str, ...]
Table = tuple[Row, ...]


def html_tables(html: str) -> list[Table]:
    """Every table of the page, those of pages framed inside it included, in order: rows of the texts of their cells.

    A caption is a row of its own. A table inside a cell is a table of its own.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return [tuple(tuple(row) for row in table if row) for table in reader.tables]


def without_columns(table: Table, names: Sequence[str]) -> Table:
    """The table without the columns whose name, in whichever row has it, is one of these."""
    dropped = {place for row in table for place, cell in enumerate(row) if cell in names}
    return tuple(tuple(cell for place, cell in enumerate(row) if place not in dropped) for row in table)


def table_difference(before: Table, after: Table) -> str | None:
    """The first cell in which two tables differ, in words (rows with the header, from 1); None if there is none."""
    for row, (one, other) in enumerate(zip(before, after, strict=False), start=1):
        for column, (left, right) in enumerate(zip(one, other, strict=False), start=1):
            if left != right:
                return f"row {row}, column {column}: {left!r} became {right!r}"
        if len(one) != len(other):
            return f"row {row}: {len(one)} cells became {len(other)}"
    return None if len(before) == len(after) else f"{len(before)} rows became {len(after)}"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._open: list[tuple[list[list[str]], bool]] = []  # tables not yet closed, and whether a cell of theirs is

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
            self._open.append((self.tables[-1], False))
        elif tag == "iframe":
            inside = _Reader()
            inside.feed(dict(attrs).get("srcdoc") or "")
            inside.close()
            self.tables += inside.tables
        elif self._open and tag in ("tr", "caption"):
            self._open[-1][0].append([])
        if self._open and tag in ("td", "th", "caption"):
            rows, _ = self._open[-1]
            if not rows:
                rows.append([])
            rows[-1].append("")
            self._open[-1] = rows, True

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == "table":
            self._open.pop()
        elif self._open and tag in ("td", "th", "caption"):
            self._open[-1] = self._open[-1][0], False

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][1]:
            self._open[-1][0][-1][-1] += data
