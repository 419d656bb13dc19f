"""The commands of `srdcr`; `srdcr_lab.cli` puts them together. Here: their exit codes, how they take a path, print."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import click

from srdcr_lab.records.files import as_path
from srdcr_lab.records.vocabulary import visible_lines

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # as README.md lists them
ERROR_OF_OURS = 70
_WIDE = 400  # characters of a line that is written into a file or a pipe


def path(value: str | Path) -> Path:
    """The type of an argument that is a path."""
    return as_path(value)


def text(value: str | Path) -> str | Path:
    """A path as it was typed, since it may also be a name (``facts``, ``ramdocs=FILE``)."""
    as_path(value)
    return value


PATH, SOURCE = path, text


def echo(text: object = "", *, err: bool = False) -> None:
    """The one way to the terminal: without what cannot be seen.

    Whoever stops reading (``srdcr plan | head -1``) does not end the command.
    """
    try:
        click.echo(visible_lines(str(text)), err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def as_text(table: Any) -> str:
    """A DataFrame as a table for a terminal, numbers with four digits, without its index. Where nobody watches, no line
    is broken."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in table:
        numeric = table[name].dtype.kind in "iuf" or str(name).endswith("%")
        drawn.add_column(Text(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in table.itertuples(index=False):
        cells = (f"{cell:,.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        drawn.add_row(*(Text("–" if cell in ("nan", "None", "<NA>") else cell) for cell in cells))
    console = Console(file=io.StringIO(), width=None if sys.stdout.isatty() else _WIDE, color_system=None)
    console.print(drawn)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]
