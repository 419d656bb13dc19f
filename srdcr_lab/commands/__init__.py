"""What the commands of `srdcr` share: exit codes, help under headings, and how they take a path, print and open a
store.
"""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.files import as_path, rows_beside, to_write
from srdcr_lab.records.names import CONTROLS, DESIGN_LABELS
from srdcr_lab.records.vocabulary import ConfidenceKind, visible_lines

DONE, SOME_FAILED, BAD_INPUT, RESUMABLE = 0, 1, 2, 3  # as docs/guide/models.md lists them
ERROR_OF_OURS = 70
_WIDE = 400  # characters of a line that is written into a file or a pipe


def path(value: str | Path) -> Path:
    """The type of an argument that is a path."""
    return as_path(value)


def text(value: str | Path) -> str | Path:
    """A path as it was typed, because it may also be a name (``facts``, ``ramdocs=FILE``)."""
    as_path(value)
    return value


PATH, SOURCE = path, text
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_TYPES: dict[str, Any] = {
    "int": int, "float": float, "count": click.IntRange(1), "share": _SHARE, "path": PATH, "source": SOURCE,
    **dict.fromkeys(("flag", "many", "")),
}  # fmt: skip
_LISTS = {  # that help shows
    "designs": ", ".join(name for name in DESIGN_LABELS if name not in CONTROLS),
    "controls": ", ".join(CONTROLS), "confidences": ", ".join(ConfidenceKind),
}  # fmt: skip


def _option(row: dict[str, str]) -> click.Option:
    kind, default = row["type"], row["default"]
    how: dict[str, Any] = {"metavar": row["metavar"] or None, "help": row["help"].format(**_LISTS) or None}
    how |= {"type": _TYPES[kind], "is_flag": kind == "flag" or None, "multiple": kind == "many"}
    how["required"] = default == "required"
    if default not in ("", "required"):
        how |= {"default": default, "show_default": True}
    return click.Option(row["option"].split(), **how)


_OPTIONS = [(_option(row), row) for row in rows_beside(__file__, "options.csv")]  # in the order of help
_HEADINGS = {str(option.name): row["heading"] for option, row in _OPTIONS}


class Command(click.Command):
    """A command with the options of its name in `options.csv`, which its help lists under headings."""

    def __init__(self, name: str, params: Iterable[click.Parameter] = (), **how: Any) -> None:
        own = [option for option, row in _OPTIONS if name in row["commands"].split()]
        super().__init__(name, params=[*params, *own], **how)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        under: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS.values()}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (line := parameter.get_help_record(ctx)):
                under[_HEADINGS.get(str(parameter.name), "Output")].append(line)
        for heading, lines in under.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print to the terminal, without invisible characters.

    A reader who stops (``srdcr plan | head -1``) does not end the command.
    """
    try:
        click.echo(visible_lines(str(text)), err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def note_all(notes: Iterable[str]) -> None:
    """Print what is to be known of items or results, a line each."""
    for note in notes:
        echo(f"note: {note}")


def as_text(table: Any) -> str:
    """A DataFrame as a table for a terminal, numbers with four digits, without its index; only long texts are broken.
    A table too wide for the terminal lacks its columns of zeros; still too wide, a row is a line of names and values.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    room = Console().width if sys.stdout.isatty() else _WIDE
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    texts = table.astype(object).where(table.notna(), "–")
    texts = texts.map(lambda cell: f"{cell:,.4g}" if isinstance(cell, float) else str(cell))
    for name, cells in texts.items():
        longest, numeric = max(map(len, cells), default=0), cells.str.match("[–0-9-]").all()
        head = str(name) if room == _WIDE else fill(str(name), max(longest, 9), break_long_words=False)
        drawn.add_column(Text(head), justify="right" if numeric else "left", min_width=min(longest, 30))
    for row in texts.itertuples(index=False):
        drawn.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=_WIDE, color_system=None)
    if console.measure(drawn).minimum <= room:
        console.width = room
    elif (zeros := (table == 0).all()).any():
        return as_text(table.loc[:, ~zeros])
    elif room < _WIDE:
        return "\n".join("; ".join(f"{name}: {cell}" for name, cell in row.items()) for row in texts.to_dict("records"))
    console.print(drawn)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def refuse_overwriting(written: Sequence[Path | None], read: Iterable[str | Path | None]) -> None:
    """Raise `BadInput` if a file that a command writes is one that it reads (perhaps ``NAME=FILE``), another that it
    writes, or in no folder."""
    taken = {Path(text).resolve() for each in read if each for text in (str(each), str(each).rpartition("=")[2])}
    for path in filter(None, written):
        if to_write(path).resolve() in taken:
            raise BadInput(f"{path} is also read here, or written twice; write to another file")
        taken.add(path.resolve())


@contextmanager
def open_store(file: Path, *, create: bool = False) -> Iterator[Any]:
    """The store; with `create` it is made if needed, and removed again if the block fails before anything is kept."""
    from srdcr_lab.models.store import Store, as_file

    with closing(Store(file if create and not file.is_dir() else as_file(file))) as opened:
        try:
            yield opened
        except SrdcrError:
            opened.withdraw()
            raise
