"""Hand a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`.

A bundle holds the tables, the items, the completions they were made of, the versions, and executed notebooks with the
tables of their figures. A replay makes all of these tables again from the completions alone and compares the files.
A bundle's notebook is read as data: it says parameters, which must be literals, and none of its code runs.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.items import freeze, thaw
from srdcr_lab.data.load import SHIPPED
from srdcr_lab.models import ChatModel, Store
from srdcr_lab.models.store import Fact
from srdcr_lab.prompts.messages import hashes
from srdcr_lab.records import BadInput, Completion, ModelIdentity, Request, SrdcrError
from srdcr_lab.records.files import LOCK, one_writer, write_whole
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.study.bundle import bundle_of, check_no_traces, pack
from srdcr_lab.study.notebooks import SEQUENCE, WORDS, executed, number_of, parameters_of, run_notebooks, split_source
from srdcr_lab.study.opening import REPLAYED, as_told
from srdcr_lab.study.results import (
    FILES,
    ITEMS,
    MANIFEST,
    SUMMARY,
    TABLES,
    Results,
    differing,
    load_run,
    unpack_run,
    write_manifest,
)
from srdcr_lab.study.study import Study

_LOCK = "requirements.lock"
_COSTS = {  # of the run itself, which a replay does not have
    "calls_paid", "calls_paid_per_item", "calls_saved", "share_saved", "cost_usd", "cost_usd_per_item",
    "wall_s", "wall_s_per_item",
}  # fmt: skip
_UNTIL_IT_FAILED = ["calls_alone", "prompt_tokens", "completion_tokens", "decoding"]
_OFFLINE = {"SRDCR_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}  # nothing is asked, no weights are fetched
_SOURCES = ("ITEMS", "CLAIMS", "DOCUMENTS", "BESIDE")  # parameters that name items
_PLACES = ("RUN", "RUNS", "OTHER_RUN", "REAL", "OUT", "STORE", "FIGURES")  # which a replay decides
_WORD = re.compile(r"(?!\.+$)[\w .,:;@#+&!?'()-]{1,300}")
_LARGEST_NUMBER = 100_000


@dataclass(frozen=True)
class Shared:
    """What a bundle holds: its SHA-256, its files, and the number of completions."""

    sha256: str
    files: tuple[str, ...]
    completions: int


@dataclass(frozen=True)
class Replayed:
    """Differences in words, notes, how many tables of the run and of its notebooks were compared; the run as shared."""

    differences: tuple[str, ...]
    notes: tuple[str, ...]
    tables: int
    notebook_tables: int
    shared: Results


def share(
    folder: Path, target: Path, *, store: Path | None = None, notebooks: Path | None = None, unfinished: bool = False
) -> Shared:
    """Bundle a finished run, and executed notebooks beside it, after replaying the run from its store.

    With `unfinished` a run that is not finished is bundled too, as one of those of its items that are done; its notes
    and labels say so.

    Without notebooks the bundle holds the completions that the run used; with them all completions of the run's
    models in the store, since notebooks may ask for more than the run did. What the store remembers of these models
    goes along.

    Raises
    ------
    BadInput
        If the run is not finished or cannot be replayed, or a file holds a key, a user name or a path of this machine.
    """
    before = load_run(folder)
    partial = before.manifest["status"] != "done"
    if partial and not unfinished:
        raise BadInput(f"{folder} is not finished; run the same again, put right what it complains of, then share it")
    source = store or folder / "store.sqlite"
    if not source.is_file():
        raise BadInput(f"there is no store {source}; name the file of the run's completions with --store")
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        work = Path(place)
        with closing(Store(source)) as whole, closing(_Copying(whole, work / "used.sqlite")) as used:
            if partial:
                folder = _finished_items(before, whole, work)
                before = load_run(folder)
            again = made_again(folder, used, work / "again")
            if differences := run_differences(before, again):
                lost = again.manifest["counts"]["failed"] - before.manifest["counts"].get("failed", 0)
                lack = f" ({lost} more rows lack completions: is this the store of the run?)" if lost > 0 else ""
                raise BadInput(
                    f"{folder} cannot be replayed from {source}: {differences[0]}{lack}; the same srdcr run "
                    "writes anew a file that was edited, then share"
                )
            if notebooks is not None:
                keys = {identity.key for identity in before.identities.values()}
                for model, request, completions in whole.contents():
                    if model.key in keys:
                        used.copy.put(model, request, completions)
            used.copy.export(work / "store.jsonl")
            count = used.copy.count()
        files = {f"run/{name}": folder / name for name in FILES} | {"store.jsonl": work / "store.jsonl"}
        files |= executed(notebooks, work) if notebooks is not None else {}
        lock = SEQUENCE.parent / _LOCK
        files |= {_LOCK: lock} if lock.is_file() else {}
        for name, path in files.items():
            check_no_traces(name, path.read_bytes())
        return Shared(pack(files, target), tuple(sorted(files)), count)


def _finished_items(run: Results, store: Store, work: Path) -> Path:
    """An unfinished run as one of those of its items whose every row the store makes: a results folder in `work`."""
    items = thaw(run.folder / ITEMS)
    records = made_again(run.folder, store, work / "tried").records
    left = set(records.loc[records["error"].notna(), "item_id"])
    if not (done := tuple(item for item in items if item.item_id not in left)):
        raise BadInput(f"{run.folder}: no item of this run is done yet; run the same again, then share it")
    note = f"unfinished: {len(done)} of its {len(items)} items were done when this was shared, and only these are here"
    (begun := work / "begun").mkdir()
    write_whole(begun / ITEMS, freeze(replace(items, items=done, notes=(*items.notes, note))))
    shutil.copyfile(run.folder / MANIFEST, begun / MANIFEST)
    made = made_again(begun, store, work / "so far")
    counts = {name: n for name, n in made.manifest["counts"].items() if name not in ("calls_paid", "wall_s")}
    earlier = (each for each in run.manifest["notes"] if not each.startswith("stopped: "))  # of rows that are not here
    notes = [*dict.fromkeys((*made.manifest["notes"], *earlier))]
    new = {"asked": made.manifest["asked"], "counts": counts, "notes": notes, "status": "stopped"}
    write_manifest(made.folder, run.manifest | new)  # all else says how and when the run itself was made
    return made.folder


class _Copying(Store):
    """A store that reads from another one and puts what is read into a copy."""

    def __init__(self, whole: Store, path: Path) -> None:
        super().__init__(":memory:")
        self._whole, self.copy = whole, Store(path)

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        completions = self._whole.get(model, request)
        if completions:
            self.copy.put(model, request, list(completions.values()))
        return completions

    def facts(self, model: str | None = None) -> list[Fact]:
        facts = self._whole.facts(model)
        for fact in facts:
            self.copy.remember(*astuple(fact))
        return facts

    def close(self) -> None:
        super().close()
        self.copy.close()


def replay(source: Path, out: Path) -> Replayed:
    """Make every table of a bundle again, offline, and compare; its files land in `out`/shared.

    `source` is a file, or the name of a study that ships. This clone's own notebooks are executed, with the bundle's
    parameters, and the tables of their figures compared; figures, printed lines and what was paid are not. A file that
    is no bundle or was changed, or an `out` in use, is bad input, after which `out` is as it was.
    """
    with one_writer(out):
        if {entry.name for entry in out.iterdir()} - {LOCK}:
            raise BadInput(f"{out} is not empty; give another --out")
        try:
            return _replayed(source, out)
        except BaseException:
            for entry in out.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry)
                elif entry.name != LOCK:
                    entry.unlink()
            raise


def _replayed(source: Path, out: Path) -> Replayed:
    shared, file = out / "shared", out / "store.sqlite"
    unpack_run(bundle_of(source) or source, shared)
    with closing(Store(file)) as store:
        store.merge(shared / "store.jsonl")
        again = made_again(shared / "run", store, out / "run")
    before = load_run(shared / "run")
    differences = run_differences(before, again) + _notebooks_again(shared, out, before.absent)
    tables = {path.name: path for path in sorted((shared / "figures").glob("*.csv"))}
    for name, path in tables.items():
        if difference := table_difference(path, out / "figures" / name):
            differences.append(f"{name}: {difference}")
    return Replayed(tuple(differences), tuple(surroundings(before, shared)), len(TABLES) + 1, len(tables), before)


def made_again(folder: Path, store: Store, out: Path) -> Results:
    """The run that a folder holds, made again from a store by models that are never asked."""
    with Study.of_run(load_run(folder), store=store, offline=True, out=out) as study:
        return study.run(progress=False)


def run_differences(before: Results, after: Results) -> list[str]:
    """A sentence for each table that differs, and for each thing that was asked differently.

    A row that failed may fail with another sentence and after other calls: a replay cannot know what a server said.
    """
    asked, counts = before.manifest["asked"], before.manifest["counts"]
    differences = [
        f"{MANIFEST}: {name} is not what was asked when the run was made again"
        for name in dict.fromkeys(name.partition(".")[0] for name in differing(asked, after.manifest["asked"]))
        if name not in ("limit", "prompts_sha256")  # the items that were left; what is made of prompts is compared
    ]
    differences += [
        f"{MANIFEST}: counts, {name}: {counts.get(name)} became {count}"
        for name, count in after.manifest["counts"].items()
        if name in (*TABLES, "failed") and count != counts.get(name)
    ]
    for table in TABLES:
        was, made = (_comparable(getattr(results, table)) for results in (before, after))
        if difference := _first_difference(was, made):
            differences.append(f"{table}.parquet: {difference}")
    if difference := table_difference(before.folder / SUMMARY, after.folder / SUMMARY):
        differences.append(f"{SUMMARY}: {difference}")
    return differences


def table_difference(before: Path, after: Path) -> str | None:
    """The first cell in which two CSV files differ, in words; what was paid is not compared."""
    if not after.is_file():
        return "it was not made again"
    try:
        was, made = (pd.read_csv(path) for path in (before, after))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        return "it cannot be read as CSV"
    return _first_difference(*(table.drop(columns=_COSTS & {*table}) for table in (was, made)))


def _comparable(table: pd.DataFrame) -> pd.DataFrame:
    if "error" not in table:
        return table
    table = table.drop(columns=_COSTS & {*table})
    table.loc[table["error"].notna(), _UNTIL_IT_FAILED] = pd.NA
    return table.assign(error=table["error"].where(table["error"].isna(), "failed"))


def _first_difference(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    if left.shape != right.shape:
        return f"{len(left)} rows of {left.shape[1]} columns became {len(right)} of {right.shape[1]}"
    if [*left.columns] != [*right.columns]:
        return f"the column {next(name for name in left.columns if name not in right)} is not there"
    for column in left.columns:
        for row, (before, after) in enumerate(zip(left[column], right[column], strict=True), start=1):
            if not _same(before, after):
                return f"row {row}, {column}: {before!r} became {after!r}"
    return None


def _same(before: Any, after: Any) -> bool:
    """Equal, or two floats that agree to nine digits: processors round the last digits differently."""
    floats = isinstance(before, float) and isinstance(after, float)
    return repr(before) == repr(after) or (floats and math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12))


def surroundings(run: Results, shared: Path) -> Iterator[str]:
    """A sentence on each thing that a run was made with and that is another one here: versions, model, prompts."""
    own, lock = SEQUENCE.parent / _LOCK, shared / _LOCK
    made_by = str((run.manifest.get("versions") or {}).get("srdcr-lab", "unknown"))
    if made_by != version("srdcr-lab"):
        yield f"made with srdcr-lab {made_by}, this is {version('srdcr-lab')}, which may compute otherwise"
    if lock.is_file() and own.is_file() and lock.read_bytes() != own.read_bytes():
        where = f"where a number differs in its last digits, install the versions of {lock}"
        yield f"{_LOCK} is not this clone's; {where}"
    for model in set(run.identities.values()):
        if (here := _fingerprint_here(model)) not in (None, model.fingerprint):
            yield f"its model {model} is not the one here: its SHA-256 is {model.fingerprint:.12}…, here {here:.12}…"
    today = hashes()
    others = {name for name, known in run.manifest["asked"]["prompts_sha256"].items() if known != today.get(name)}
    if others := others - set(run.manifest["prompts"]):  # its own, which it brings
        why = "if anything was asked with them, it cannot be made again here; the tables as they were shared hold it"
        yield f"its prompts {', '.join(sorted(others)):.250} are not this version's: {why}"


def _fingerprint_here(model: ModelIdentity) -> str | None:
    """Of a model that this installation brings; a file that a bundle names is not looked for."""
    if model.provider == "pocket":
        from srdcr_lab.models.checkpoint import fingerprint

        return fingerprint(shipped("pocket"))
    from srdcr_lab.models.gguf import PACKAGED, gguf_identity

    if (model.provider, model.name) == ("gguf", PACKAGED):
        with suppress(BadInput):  # it is not installed
            return gguf_identity(PACKAGED).fingerprint
    return None


def _notebooks_again(shared: Path, out: Path, cast: Mapping[str, ChatModel]) -> list[str]:
    """Execute this clone's notebooks with what the bundle may decide; a sentence on each that could not be."""
    differences = []
    for path in sorted((shared / "notebooks").glob("*.ipynb")):
        try:
            parameters = bundled_parameters(path, shared / "items", cast)
            if parameters_of(path).get("RUN"):
                parameters["RUN"] = str((out / "run").resolve())
            parameters |= {"STORE": str((out / "store.sqlite").resolve()), "FIGURES": str((out / "figures").resolve())}
            with patch.dict(os.environ, {**_OFFLINE, REPLAYED: as_told(cast.values())}):  # of the kernels
                run_notebooks(out / "notebooks", parameters, only=[number_of(path)])
        except SrdcrError as error:
            differences.append(f"{path.name}: {error}")
    return differences


def bundled_parameters(path: Path, items: Path, cast: Mapping[str, ChatModel]) -> dict[str, Any]:
    """What a bundle's notebook decides of a replay: parameters that are neither a place nor a model of one's own.

    Each is of its kind and within bounds: a known set, or a table by its name in `items`; a model of the `cast`; a
    number; words. Raises `BadInput` for any other value, and where its pocket model is not this clone's.
    """
    from srdcr_lab.models.checkpoint import fingerprint

    if not (SEQUENCE / path.name).is_file():
        raise BadInput("this clone has no such notebook, so it was not executed")
    known = {model.identity.spec: model.identity for model in cast.values()}
    chosen: dict[str, Any] = {}
    for name, value in parameters_of(path).items():
        if value is None or name in _PLACES:
            continue
        if name in _SOURCES:
            chosen[name] = _in_bundle(value, items)
        elif name in WORDS:
            chosen[name] = value if isinstance(value, str) and _WORD.fullmatch(value) else None
        elif name == "MODEL":
            chosen[name] = value if isinstance(value, str) and value in known else None
        else:
            chosen[name] = value if type(value) in (int, float) and abs(value) <= _LARGEST_NUMBER else None
        if chosen[name] is None:
            raise BadInput(f"its parameter {name} is nothing that a bundle may say, so it was not executed")
    if chosen.get("MODEL") == "pocket" and known["pocket"].fingerprint != fingerprint(shipped("pocket")):
        raise BadInput("it was made with another pocket model than this clone's, so it was not executed")
    return chosen


def _in_bundle(value: Any, items: Path) -> str | None:
    """A known set of items as it is; a table of the bundle by its place; None for anything else."""
    prefix, rest = split_source(value)
    benchmark, _, form = rest.partition(":")
    if rest and not prefix and (rest in SHIPPED or (benchmark in BENCHMARKS and form in ("", "passages", "documents"))):
        return rest
    there = {file.name: file for file in items.glob("*") if file.is_file()}
    if rest not in there or (prefix and prefix.rstrip("=").partition(":")[0] not in BENCHMARKS):
        return None
    return f"{prefix}{there[rest].resolve()}"
