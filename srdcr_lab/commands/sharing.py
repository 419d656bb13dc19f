"""`srdcr share` and `srdcr replay`: a study in one file, and the same study again without a key."""

from __future__ import annotations

from pathlib import Path

import click

from srdcr_lab.commands.exits import DONE, SOME_FAILED


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
    from srdcr_lab.study.sharing import share as bundled

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
    from srdcr_lab.study.sharing import replay as replayed

    made = replayed(source, out)
    click.echo(f"{made.tables} tables of the run and {made.notebook_tables} of its notebooks compared; see {out}")
    for note in made.notes:
        click.echo(f"note: {note}")
    click.echo("\n".join(made.differences) or "no difference")
    return SOME_FAILED if made.differences else DONE
