"""Hand a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`.

A bundle holds the tables, the items, the completions they were made of, the versions, and the executed notebooks. A
replay makes everything again from the completions alone and compares.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srdcr_lab.data import load_items
from srdcr_lab.models import Store, exchange
from srdcr_lab.protocols import Choices
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, Request
from srdcr_lab.records.plain import from_plain
from srdcr_lab.study import bundle, notebook_replay
from srdcr_lab.study.comparing import TABLES, run_differences
from srdcr_lab.study.folder import ITEMS, MANIFEST
from srdcr_lab.study.notebooks import SEQUENCE
from srdcr_lab.study.opening import AbsentModel
from srdcr_lab.study.results import Results, load_run
from srdcr_lab.study.study import Study
from srdcr_lab.study.traces import check_no_traces

_FILES = (MANIFEST, ITEMS, "summary.csv", *(f"{table}.parquet" for table in TABLES))
_LOCK = "requirements.lock"


@dataclass(frozen=True)
class Shared:
    """What a bundle holds: its SHA-256, its files, and the number of completions."""

    sha256: str
    files: tuple[str, ...]
    completions: int


@dataclass(frozen=True)
class Replayed:
    """What a replay found: the differences, in words, and how many tables of the run and of its notebooks were made
    again and compared. Notes are no differences."""

    differences: tuple[str, ...]
    notes: tuple[str, ...]
    tables: int
    notebook_tables: int


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
            if found := run_differences(before, _again(folder, used, work / "again")):
                raise BadInput(f"{folder} cannot be replayed from {source}: {found[0]}")
            if notebooks is not None:
                _copy_models(whole, used.copy, before.manifest)
            exchange.export(used.copy, work / "store.jsonl")
            completions = used.copy.count()
        files = {f"run/{name}": folder / name for name in _FILES} | {"store.jsonl": work / "store.jsonl"}
        files |= notebook_replay.executed(notebooks, work) if notebooks is not None else {}
        lock = SEQUENCE.parent / _LOCK
        files |= {_LOCK: lock} if lock.is_file() else {}
        for name, path in files.items():
            check_no_traces(name, path.read_bytes())
        digest = bundle.pack(files, target)
    return Shared(digest, tuple(sorted(files)), completions)


def replay(source: Path, out: Path) -> Replayed:
    """Make every table of a bundle again, offline, below `out`, and compare.

    The bundle's files land in `out`/shared, the tables that are made anew in `out`/run and `out`/notebooks. Of the
    notebooks, this clone's own are executed, with the bundle's parameters; where the bundle's differ in code, that is
    a difference, and nothing of theirs is run. Every table they show is compared, cell by cell; figures and printed
    lines are not, nor what was paid, since a replay asks for nothing.

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
    file = out / "store.sqlite"
    with closing(Store(file)) as store:
        exchange.merge(store, shared / "store.jsonl")
        again = _again(shared / "run", store, out / "run")
    before = load_run(shared / "run")
    found, compared = run_differences(before, again), 0
    if (shared / "notebooks").is_dir():
        models = {ModelIdentity(**said).fingerprint for said in before.manifest["asked"]["models"].values()}
        differing, compared = notebook_replay.replayed(shared, file, out, models)
        found += differing
    return Replayed(tuple(found), tuple(_other_versions(shared / _LOCK)), len(TABLES) + 1, compared)


def _other_versions(lock: Path) -> list[str]:
    own = SEQUENCE.parent / _LOCK
    if not lock.is_file() or not own.is_file() or lock.read_bytes() == own.read_bytes():
        return []
    return [f"{_LOCK} is not this clone's; where a number differs in its last digits, install the versions of {lock}"]


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
