"""The commands of `srdcr`; `srdcr_lab.cli` puts them together. Here: their exit codes, how they take a path, print."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from srdcr_lab.records.files import as_path
from srdcr_lab.records.vocabulary import visible_lines

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # as README.md lists them
ERROR_OF_OURS = 70


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
