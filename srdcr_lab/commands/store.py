"""`srdcr store`: look into a store, carry it elsewhere, check it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from srdcr_lab.commands.exits import BAD_INPUT, DONE
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
    from srdcr_lab.models import exchange

    with _open(file) as opened:
        click.echo(f"{exchange.export(opened, target):,} requests written to {target}")


@store.command()
@_store_argument
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(file: Path, sources: tuple[Path, ...]) -> None:
    """Add other stores or exports to FILE.

    What FILE already holds stays.
    """
    from srdcr_lab.models import exchange

    with _open(file, create=True) as opened:
        try:
            for source in sources:
                click.echo(f"{exchange.merge(opened, source):,} completions added from {source}")
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
