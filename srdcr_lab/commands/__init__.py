"""The commands of `srdcr`; `srdcr_lab.cli` puts them together. Here: what several of them share."""

from pathlib import Path
from typing import Any

import click

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # exit codes, as README.md lists them
ERROR_OF_OURS = 70
PATH = click.Path(path_type=Path)


def as_text(table: Any) -> str:
    """A DataFrame as aligned text for a terminal, numbers with four digits, without its index."""
    return str(table.to_string(index=False, float_format=lambda value: f"{value:,.4g}"))
