"""`srdcr store`: look into a store, carry it elsewhere, check it, and take in replies that were made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import is_zipfile

import click

from srdcr_lab.commands import BAD_INPUT, DONE, PATH, SOME_FAILED, echo
from srdcr_lab.records import SrdcrError
from srdcr_lab.records.vocabulary import n_of, visible

_FINDINGS, _ERRORS = 20, 3  # that are printed of a check, and of replies


@click.group()
def store() -> None:
    """Look into a store, carry it elsewhere, check it."""


@store.command()
@click.argument("file", type=PATH)
def info(file: Path) -> None:
    """What the store holds, by model."""
    with open_store(file) as opened:
        models = opened.models()
        echo(f"{file}: {opened.count():,} completions of {opened.count('requests'):,} requests")
        for identity, completions, prompt, completion in models:
            tokens = f"{prompt:,} prompt tokens, {completion:,} completion tokens"
            echo(f"  {identity}: {completions:,} completions, {tokens}")


@store.command()
@click.argument("file", type=PATH)
@click.argument("target", type=PATH)
def export(file: Path, target: Path) -> None:
    """Write the store as sorted JSON lines.

    The file is portable and can be compared by diff; it holds no keys and no times.
    """
    with open_store(file) as opened:
        echo(f"{opened.export(target):,} requests written to {target}")


@store.command()
@click.argument("file", type=PATH)
@click.argument("sources", nargs=-1, required=True, type=PATH)
def merge(file: Path, sources: tuple[Path, ...]) -> None:
    """Add stores, exports, bundles to FILE.

    A study that ships goes by its name. What FILE already holds stays. Where one row or line of a source is damaged,
    nothing is added.
    """
    with TemporaryDirectory(prefix="srdcr-") as place:
        stores = [_store_in(source, Path(place) / str(k)) for k, source in enumerate(sources)]
        with open_store(file, create=True) as opened, opened.transaction():
            merged = [opened.merge(each) for each in stores]
    for source, (added, new, known, differing) in zip(sources, merged, strict=True):
        echo(f"{added:,} completions added from {source} ({new:,} requests were not here), {known:,} were here already")
        if differing:
            echo(f"{differing:,} of these say something else in {source}; what {file} held stays")


def _store_in(source: Path, folder: Path) -> Path:
    """The export in a bundle, which is unpacked into this folder; any other source itself."""
    from srdcr_lab.study.bundle import shipped_studies, unpack

    bundle = shipped_studies().get(source.as_posix(), source)
    if not is_zipfile(bundle):
        return source
    unpack(bundle, folder)
    return folder / "store.jsonl"


@store.command("import")
@click.argument("file", type=PATH)
@click.argument("replies", type=PATH)
def take_replies(file: Path, replies: Path) -> int:
    """Add the replies to what srdcr requests wrote.

    FILE is the store, or the results folder with it; REPLIES holds lines as OpenAI's batch API and vllm run-batch write
    them. Where one line is no reply to these requests, nothing is added. Exit code 1 where some bring an error.
    """
    from srdcr_lab.study.run import wait_for
    from srdcr_lab.study.waves import import_replies

    with open_store(file / "store.sqlite" if file.is_dir() else file) as opened:
        taken = wait_for(import_replies(opened, replies))
    echo(f"{taken.added:,} completions added from {replies}, {taken.known:,} were here already")
    if taken.short:
        fewer = f"{n_of(taken.short, 'lines')} brought fewer draws than were asked for"
        echo(f"{fewer}; srdcr requests --draws 1 asks for one in each line")
    for note in (*taken.notes, *taken.failed[:_ERRORS]):
        echo(note)
    if taken.failed:
        echo(f"{n_of(len(taken.failed), 'lines')} brought an error and no reply; the next wave asks for them again")
    return SOME_FAILED if taken.failed else DONE


@store.command()
@click.argument("file", type=PATH)
def check(file: Path) -> int:
    """Look for damage.

    SQLite's own check, every row as a run reads it, and requests whose key does not fit their text.
    """
    with open_store(file) as opened:
        findings = opened.integrity()
        for finding in findings[:_FINDINGS]:
            echo(visible(finding, 380))
        if findings:
            more = f"{len(findings):,} findings; " if len(findings) > _FINDINGS else ""
            echo(f"{more}tools/recover_store.py of the repository saves what can be read")
        else:
            echo(f"{file}: {opened.count():,} completions, no damage found")
    return BAD_INPUT if findings else DONE


@store.command()
@click.argument("file", type=PATH)
@click.argument("batch")
def forget(file: Path, batch: str) -> None:
    """Give up a batch, by its provider's id.

    What it was asked may be asked anew. For a batch of an account that is gone, or whose results are.
    """
    with open_store(file) as opened:
        lines = opened.forget_batch(batch)
    echo(f"{batch} is forgotten; {lines:,} requests may be asked anew, which the provider may bill again")


@contextmanager
def open_store(file: Path, *, create: bool = False) -> Iterator[Any]:
    """The store; with `create` made where there is none, and taken back if nothing is put into it."""
    from srdcr_lab.models.store import Store, as_file

    with closing(Store(file if create and not file.is_dir() else as_file(file))) as opened:
        try:
            yield opened
        except SrdcrError:
            opened.withdraw()
            raise
