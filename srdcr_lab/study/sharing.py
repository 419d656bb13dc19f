"""Hand a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`.

A bundle holds the tables, the items, the completions they were made of, the versions, and the executed notebooks. A
replay makes everything again from the completions alone and compares.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.data import load_items
from srdcr_lab.models import Store, exchange
from srdcr_lab.protocols import Choices
from srdcr_lab.records import (
    BadInput,
    Capabilities,
    Completion,
    ModelIdentity,
    Request,
    SrdcrError,
)
from srdcr_lab.records.plain import from_plain
from srdcr_lab.study import bundle
from srdcr_lab.study.folder import ITEMS, MANIFEST
from srdcr_lab.study.notebook_files import parameters_of, same_code, shared_form, tables_of
from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks
from srdcr_lab.study.opening import AbsentModel
from srdcr_lab.study.results import Results, load_run
from srdcr_lab.study.study import Study
from srdcr_lab.study.traces import check_no_traces

_TABLES = ("records", "turns", "samples")
_OF_THE_RUN = ["calls_paid", "cost_usd"]  # what this run had to ask for: a replay asks for nothing
_FILES = (MANIFEST, ITEMS, "summary.csv", *(f"{table}.parquet" for table in _TABLES))
_LOCK = "requirements.lock"


@dataclass(frozen=True)
class Shared:
    """What a bundle holds: its SHA-256, its files, and the number of completions."""

    sha256: str
    files: tuple[str, ...]
    completions: int


def share(folder: Path, target: Path, *, store: Path | None = None, notebooks: Path | None = None) -> Shared:
    """Bundle a finished run, and executed notebooks beside it, after replaying the run from its store.

    Without notebooks the bundle holds the completions that the run used; with them, all that the store holds of the
    run's models, since notebooks may ask for more than the run did.

    Raises
    ------
    BadInput
        If the run is not finished or cannot be replayed, or a file holds a key, a user name or a path of this machine.
    """
    before = load_run(folder)
    if before.manifest["status"] != "done":
        raise BadInput(f"{folder} is not finished; run it again with the same arguments, then share it")
    source = store or folder / "store.sqlite"
    if not source.is_file():
        raise BadInput(f"there is no store {source}; name the file of the run's completions with --store")
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        work = Path(place)
        with closing(Store(source)) as whole, closing(_Copying(whole, work / "used.sqlite")) as used:
            if found := _differences(before, _again(folder, used, work / "again")):
                raise BadInput(f"{folder} cannot be replayed from {source}: {found[0]}")
            if notebooks is not None:
                _copy_models(whole, used.copy, before.manifest)
            exchange.export(used.copy, work / "store.jsonl")
            completions = used.copy.count()
        files = {f"run/{name}": folder / name for name in _FILES} | {"store.jsonl": work / "store.jsonl"}
        files |= _executed(notebooks, work) if notebooks is not None else {}
        lock = SEQUENCE.parent / _LOCK
        files |= {_LOCK: lock} if lock.is_file() else {}
        for name, path in files.items():
            check_no_traces(name, path.read_bytes())
        digest = bundle.pack(files, target)
    return Shared(digest, tuple(sorted(files)), completions)


def replay(source: Path, out: Path) -> list[str]:
    """Make every table of a bundle again, offline, below `out`; return the differences, in words.

    The bundle's files land in `out`/shared, the tables that are made anew in `out`/run and `out`/notebooks. Of the
    notebooks, this clone's own are executed, with the bundle's parameters; where the bundle's differ in code, that is
    a difference, and nothing of theirs is run.

    Raises
    ------
    BadInput
        If the file is no bundle, was changed, or `out` is in use.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{out} is not empty; give another --out")
    shared = out / "shared"
    names = bundle.unpack(source, shared)
    if missing := {f"run/{name}" for name in _FILES} - set(names):
        raise BadInput(f"{source} lacks {sorted(missing)[0]}; ask for it again")
    with closing(Store(out / "store.sqlite")) as store:
        exchange.merge(store, shared / "store.jsonl")
        again = _again(shared / "run", store, out / "run")
    found = _differences(load_run(shared / "run"), again)
    return found + (_notebook_differences(shared, out) if (shared / "notebooks").is_dir() else [])


def _again(folder: Path, store: Store, out: Path) -> Results:
    """The run that a folder holds, made again from a store, by models that nobody can ask."""
    manifest = load_run(folder).manifest
    asked, where = manifest["asked"], str(folder / MANIFEST)
    try:
        identities = {role: from_plain(ModelIdentity, said, where) for role, said in asked["models"].items()}
        absent = {
            identity: AbsentModel(identity, Capabilities(logprobs=bool(manifest["logprobs"][str(identity)])))
            for identity in identities.values()
        }
        choices = from_plain(Choices, asked["choices"], f"{where}, choices")
        cast = {role: absent[identity] for role, identity in identities.items()}
        methods, seed = list(map(str, asked["methods"])), int(asked["seed"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where}: {error} is not as srdcr run writes it") from None
    items = load_items(folder / ITEMS)
    with Study(
        cast["answerer"],
        items,
        methods,
        defender=cast["defender"],
        critic=cast["critic"],
        judge=cast["judge"],
        preset=choices,
        players=cast,
        seed=seed,
        store=store,
        offline=True,
        out=out,
    ) as study:
        return study.run(progress=False)


def _differences(before: Results, after: Results) -> list[str]:
    """Where two runs' tables differ, a sentence a table."""
    found = []
    for table in _TABLES:
        left, right = getattr(before, table), getattr(after, table)
        if table == "records":
            left, right = left.drop(columns=_OF_THE_RUN), right.drop(columns=_OF_THE_RUN)
        if difference := _difference(left, right):
            found.append(f"{table}.parquet: {difference}")
    if (before.folder / "summary.csv").read_bytes() != (after.folder / "summary.csv").read_bytes():
        found.append("summary.csv: its bytes differ")
    return found


def _difference(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    if left.shape != right.shape:
        return f"{len(left)} rows of {left.shape[1]} columns became {len(right)} of {right.shape[1]}"
    for column in left.columns:
        for row, (one, other) in enumerate(zip(left[column], right[column], strict=True), start=1):
            if repr(one) != repr(other):
                return f"row {row}, {column}: {one!r} became {other!r}"
    return None


def _executed(folder: Path, work: Path) -> dict[str, Path]:
    """Executed notebooks without what ties them to this machine."""
    found = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not found:
        raise BadInput(f"{folder} holds no notebook of the sequence; execute them with srdcr notebooks --out {folder}")
    files = {}
    for path in found:
        files[f"notebooks/{path.name}"] = work / path.name
        (work / path.name).write_text(shared_form(path), "utf-8")
    return files


def _notebook_differences(shared: Path, out: Path) -> list[str]:
    """Execute this clone's notebooks with the parameters of the bundle's, and compare their tables."""
    found: list[str] = []
    for path in sorted((shared / "notebooks").glob("*.ipynb")):
        own = SEQUENCE / path.name
        if not own.is_file() or not same_code(path, own):
            found.append(f"{path.name}: its code is not this clone's, so it was not executed")
            continue
        parameters: dict[str, Any] = parameters_of(path) | {
            "STORE": str((out / "store.sqlite").resolve()),
            "FIGURES": str((out / "figures").resolve()),
        }
        if str(parameters.get("ITEMS", "")).endswith(ITEMS):
            parameters["ITEMS"] = str((shared / "run" / ITEMS).resolve())
        try:
            with _offline():
                (made,) = run_notebooks(out / "notebooks", parameters, only=own)
        except SrdcrError as error:
            found.append(f"{path.name}: {error}")
            continue
        before, after = tables_of(path), tables_of(made)
        if before != after:
            place = next((n for n, pair in enumerate(zip(before, after, strict=False), 1) if pair[0] != pair[1]), None)
            found.append(
                f"{path.name}: table {place} differs"
                if place
                else f"{path.name}: {len(before)} tables became {len(after)}"
            )
    return found


@contextmanager
def _offline() -> Iterator[None]:
    """Studies in notebooks ask nothing meanwhile."""
    before = os.environ.get("SRDCR_OFFLINE")
    os.environ["SRDCR_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["SRDCR_OFFLINE"]
        else:
            os.environ["SRDCR_OFFLINE"] = before


class _Copying(Store):
    """A store that also puts what is read from another one into a copy."""

    def __init__(self, whole: Store, path: Path) -> None:
        super().__init__(":memory:")
        self._whole, self.copy = whole, Store(path)

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        found = self._whole.get(model, request)
        if found:
            self.copy.put(model, request, list(found.values()))
        return found

    def close(self) -> None:
        super().close()
        self.copy.close()


def _copy_models(whole: Store, copy: Store, manifest: Mapping[str, Any]) -> None:
    used = [ModelIdentity(**said).key for said in manifest["asked"]["models"].values()]
    for model, request, completions in exchange.contents(whole):
        if model.key in used:
            copy.put(model, request, completions)
