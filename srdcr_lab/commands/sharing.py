"""`srdcr share` and `srdcr replay`: a study in one file, and the same study again without a key."""

from __future__ import annotations

from pathlib import Path

import click

from srdcr_lab.commands.exits import DONE, SOME_FAILED


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--store", type=click.Path(path_type=Path), help="the run's store; default: store.sqlite in FOLDER")
@click.option("--notebooks", type=click.Path(path_type=Path), help="folder of executed notebooks to put in")
def share(folder: Path, target: Path, store: Path | None, notebooks: Path | None) -> None:
    """Bundle the results in FOLDER, the completions they were made of and executed notebooks into TARGET, a zip."""
    from srdcr_lab.study.sharing import share as bundled

    shared = bundled(folder, target, store=store, notebooks=notebooks)
    click.echo(f"{target}: {len(shared.files)} files, {shared.completions:,} completions; replayed, no difference")
    click.echo(f"sha256 {shared.sha256}")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/replay"), show_default=True)
def replay(source: Path, out: Path) -> int:
    """Make every table of the bundle SOURCE again, offline, and compare."""
    from srdcr_lab.study.sharing import replay as replayed

    found = replayed(source, out)
    click.echo("\n".join(found) or f"every table of {source} was made again, without a difference; see {out}")
    return SOME_FAILED if found else DONE
