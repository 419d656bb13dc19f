"""Where two runs that should be one differ, in words."""

from __future__ import annotations

import hashlib
import io
import re
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.data import load_items
from srdcr_lab.models import Store, exchange
from srdcr_lab.protocols import Choices
from srdcr_lab.records import BadInput, Capabilities, Completion, ModelIdentity, Request
from srdcr_lab.records.files import from_plain
from srdcr_lab.study.folder import ITEMS, MANIFEST
from srdcr_lab.study.notebooks import SEQUENCE, executed, replayed
from srdcr_lab.study.opening import AbsentModel
from srdcr_lab.study.results import Results, load_run
from srdcr_lab.study.study import Study
from srdcr_lab.study.traces import check_no_traces

TABLES = ("records", "turns", "samples")
OF_THE_RUN = ("calls_paid", "cost_usd")  # what this run had to ask for: a replay asks for nothing
_COUNTED = ("calls_alone", "prompt_tokens", "completion_tokens")  # until a row failed
_NOT_ASKED_AGAIN = "limit"  # a replay takes the items that were left


def run_differences(before: Results, after: Results) -> list[str]:
    """A sentence a table, and one for each thing that was asked differently.

    A row that failed may have failed with another sentence, and after other calls: a replay cannot know what a server
    said, nor when.
    """
    found = [
        f"{MANIFEST}: {name} is not what was asked when the run was made again"
        for name, said in before.manifest["asked"].items()
        if name != _NOT_ASKED_AGAIN and said != after.manifest["asked"].get(name)
    ]
    counted = before.manifest.get("counts") or {}
    found += [
        f"{MANIFEST}: counts, {name}: {counted.get(name)} became {count}"
        for name, count in after.manifest["counts"].items()
        if name in (*TABLES, "failed") and count != counted.get(name)
    ]
    for table in TABLES:
        left, right = getattr(before, table), getattr(after, table)
        if table == "records":
            left, right = _comparable(left), _comparable(right)
        if difference := _difference(left, right):
            found.append(f"{table}.parquet: {difference}")
    if (before.folder / "summary.csv").read_bytes() != (after.folder / "summary.csv").read_bytes():
        found.append("summary.csv: its bytes differ")
    return found


def _comparable(records: pd.DataFrame) -> pd.DataFrame:
    records = records.drop(columns=list(OF_THE_RUN))
    records.loc[records["error"].notna(), [*_COUNTED]] = pd.NA
    return records.assign(error=records["error"].where(records["error"].isna(), "failed"))


def _difference(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    if left.shape != right.shape:
        return f"{len(left)} rows of {left.shape[1]} columns became {len(right)} of {right.shape[1]}"
    for column in left.columns:
        for row, (one, other) in enumerate(zip(left[column], right[column], strict=True), start=1):
            if repr(one) != repr(other):
                return f"row {row}, {column}: {one!r} became {other!r}"
    return None


# -- the file that `srdcr share` writes: a zip of a study that ends in the SHA-256 of all its bytes before that

VERSION = b"srdcr bundle 1, sha256 "
_DIGITS = 64
_NAME = re.compile(
    r"run/(run\.json|items\.json|summary\.csv|(records|turns|samples)\.parquet)"
    r"|store\.jsonl|requirements\.lock|notebooks/[0-9]{2}_[a-z0-9_]{1,60}\.ipynb"
    r"|items/\w[\w .()-]{0,100}\.(?i:csv|json|jsonl|ndjson|parquet|pqt)"
)
_LARGEST_ZIP, _LARGEST_FILE, _LARGEST_IN_ALL, _MOST_FILES = 1 << 30, 1 << 30, 2 << 30, 64
_WRITTEN = (1980, 1, 1, 0, 0, 0)  # no times: equal content is an equal file
_CHUNK = 1 << 20


def pack(files: Mapping[str, Path], target: Path) -> str:
    """Write the files under their names; return the digest that the bundle ends in.

    Raises
    ------
    BadInput
        If a name is none that `unpack` takes, or the target cannot be written.
    """
    if strange := [name for name in files if not _NAME.fullmatch(name)]:
        raise BadInput(f"{strange[0]} is no name for a file in a bundle; call it by letters, digits, - and _")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _WRITTEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
        archive.comment = VERSION + b"0" * _DIGITS
    sealed, digest = seal(buffer.getvalue())
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(sealed)
        part.replace(target)
    except OSError as error:
        raise BadInput(f"cannot write {target} ({error.strerror}); give another file") from None
    finally:
        part.unlink(missing_ok=True)
    return digest


def seal(content: bytes) -> tuple[bytes, str]:
    """The zip with the digest of its bytes in the place that its comment keeps for it, and the digest."""
    digest = hashlib.sha256(content[:-_DIGITS]).hexdigest()
    return content[:-_DIGITS] + digest.encode(), digest


def unpack(source: Path, folder: Path) -> list[str]:
    """Write a bundle's files below the folder and return their names.

    Raises
    ------
    BadInput
        If it is no bundle, was changed, or holds what no bundle holds; nothing was written then.
    """
    try:
        if source.stat().st_size > _LARGEST_ZIP:
            raise BadInput(f"{source} has more than {_LARGEST_ZIP >> 30} GiB, too much for a bundle")
        content = source.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {source} ({error.strerror})") from None
    if content[-_DIGITS - len(VERSION) : -_DIGITS] != VERSION:
        raise BadInput(f"{source} is no bundle of this version's srdcr share, or was changed")
    if seal(content)[0] != content:
        raise BadInput(f"{source} was changed after it was shared; ask for it again")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = _contents(archive, source)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
        raise BadInput(f"{source} is no bundle of srdcr share ({error})") from None
    for name, file in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file)
    return list(found)


def _contents(archive: zipfile.ZipFile, source: Path) -> dict[str, bytes]:
    names = archive.namelist()
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadInput(f"{source} holds {name!r}, which is no part of a bundle; do not use it")
    if len(names) != len(set(names)) or len(names) > _MOST_FILES:
        raise BadInput(f"{source} holds a file twice, or too many; do not use it")
    found: dict[str, bytes] = {}
    for name in names:
        found[name] = _read(archive, name, source, min(_LARGEST_FILE, _LARGEST_IN_ALL - sum(map(len, found.values()))))
    return found


def _read(archive: zipfile.ZipFile, name: str, source: Path, largest: int) -> bytes:
    """A file's bytes, counted as they are unpacked: what a zip says of its sizes may be a lie."""
    parts, size = [], 0
    with archive.open(name) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > largest:
                raise BadInput(f"{source}: {name} unpacks to more than {largest:,} bytes; do not use it")
            parts.append(chunk)
    return b"".join(parts)


# -- hand a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`

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
        files |= executed(notebooks, work) if notebooks is not None else {}
        lock = SEQUENCE.parent / _LOCK
        files |= {_LOCK: lock} if lock.is_file() else {}
        for name, path in files.items():
            check_no_traces(name, path.read_bytes())
        digest = pack(files, target)
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
    names = unpack(source, shared)
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
        differing, compared = replayed(shared, file, out, models)
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
