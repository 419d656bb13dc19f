"""`srdcr store`: look into a store, carry it elsewhere, check it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands import BAD_INPUT, DONE, SOME_FAILED
from srdcr_lab.records import BadInput


@click.group()
def store() -> None:
    """Look into a store, carry it elsewhere, check it."""


def _store_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("file", type=click.Path(path_type=Path))(command)


@store.command()
@_store_argument
def info(file: Path) -> None:
    """What the store holds, by model."""
    with _open(file) as opened:
        click.echo(f"{file}: {opened.count():,} completions of {opened.count('requests'):,} requests")
        for identity, completions, prompt, completion in opened.models():
            click.echo(
                f"  {identity}: {completions:,} completions, {prompt:,} prompt tokens, {completion:,} completion tokens"
            )


@store.command()
@_store_argument
@click.argument("target", type=click.Path(path_type=Path))
def export(file: Path, target: Path) -> None:
    """Write the store as sorted JSON lines.

    The file is portable and can be compared by diff; it holds no keys and no times.
    """
    with _open(file) as opened:
        click.echo(f"{opened.export(target):,} requests written to {target}")


@store.command()
@_store_argument
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(file: Path, sources: tuple[Path, ...]) -> None:
    """Add other stores or exports to FILE.

    What FILE already holds stays.
    """
    with _open(file, create=True) as opened:
        try:
            for source in sources:
                click.echo(f"{opened.merge(source):,} completions added from {source}")
        except BadInput:
            opened.withdraw()
            raise


@store.command()
@_store_argument
def check(file: Path) -> int:
    """Look for damage.

    SQLite's own check, and requests whose key does not fit their text.
    """
    with _open(file) as opened:
        findings = opened.integrity()
        click.echo("\n".join(findings) or f"{file}: {opened.count():,} completions, no damage found")
    return BAD_INPUT if findings else DONE


def _open(file: Path, *, create: bool = False) -> Any:
    from contextlib import closing

    from srdcr_lab.models import Store

    if not create and not file.is_file():
        raise BadInput(f"there is no store {file}")
    return closing(Store(file))


# -- `srdcr share` and `srdcr replay`: a study in one file, and the same study again without a key


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--store", type=click.Path(path_type=Path), help="the run's store; default: store.sqlite in FOLDER")
@click.option(
    "--notebooks",
    type=click.Path(path_type=Path),
    help="folder of executed notebooks to put in, with your own tables that they read, "
    "and all that the store holds of the run's models",
)
def share(folder: Path, target: Path, store: Path | None, notebooks: Path | None) -> None:
    """Bundle a run into one file, TARGET (.zip).

    It holds the results in FOLDER, the completions they were made of, and executed notebooks where given; no key.
    """
    from srdcr_lab.study.share import share as bundled

    shared = bundled(folder, target, store=store, notebooks=notebooks)
    click.echo(f"{target}: {len(shared.files)} files, {shared.completions:,} completions; replayed, no difference")
    click.echo(f"sha256 {shared.sha256}")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/replay"), show_default=True)
def replay(source: Path, out: Path) -> int:
    """Make every table of a bundle again, offline, and compare.

    SOURCE is what srdcr share wrote. Exit code 1 where something differs.
    """
    from srdcr_lab.study.share import replay as replayed

    made = replayed(source, out)
    click.echo(f"{made.tables} tables of the run and {made.notebook_tables} of its notebooks compared; see {out}")
    for note in made.notes:
        click.echo(f"note: {note}")
    click.echo("\n".join(made.differences) or "no difference")
    return SOME_FAILED if made.differences else DONE
