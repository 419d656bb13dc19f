"""The commands of `srdcr`; `srdcr_lab.cli` puts them together. Here: their exit codes, and how they take a path."""

from pathlib import Path

import click

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # as README.md lists them
ERROR_OF_OURS = 70
PATH = click.Path(path_type=Path)
