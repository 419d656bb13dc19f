"""What a published benchmark is: its home, licence, file, checksum and columns, and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.itemset import ItemSet
    from srdcr_lab.records import Exemplar

Reader = Callable[["pd.DataFrame", str, "tuple[Exemplar, ...]"], "ItemSet"]
Joiner = Callable[["pd.DataFrame", str, Path], "pd.DataFrame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One published file and how it becomes items.

    `sha256` is empty where no checksum is known to us; then the first fetch records one, and later reads must agree.
    A column written ``"a|b"`` may have either name; `recognised` is False where the columns are too common to tell the
    benchmark by. `join` adds what a table of the user's holds to the published rows (``NAME=FILE+TABLE``).
    """

    name: str
    meaning: str
    home: str
    licence: str
    rows: int
    url: str
    file: str
    sha256: str
    columns: tuple[str, ...]
    read: Reader
    join: Joiner | None = None
    recognised: bool = True


def needed_columns(frame: pd.DataFrame, source: Benchmark, path: Path) -> None:
    """Raise `BadInput` where a published column is missing, or every row."""
    found = set(map(str, frame.columns))
    absent = [column for column in source.columns if not found & set(column.split("|"))]
    if absent:
        raise BadInput(
            f"{path}: the column {absent[0].replace('|', ' or ')} is missing; {source.name} as published has "
            f"{', '.join(column.replace('|', ' or ') for column in source.columns)}, found {', '.join(sorted(found))}"
        )
    if frame.empty:
        raise BadInput(f"{path} has no rows")


def has_columns_of(frame: pd.DataFrame, source: Benchmark) -> bool:
    """True where a table looks like this benchmark."""
    found = set(map(str, frame.columns))
    return source.recognised and all(found & set(column.split("|")) for column in source.columns)
