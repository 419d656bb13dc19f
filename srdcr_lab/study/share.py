"""Hand a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`.

A bundle holds the tables, the items, the completions they were made of, the versions, and executed notebooks. A replay
makes everything again from the completions alone and compares. Studies that ship are such bundles.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from srdcr_lab.data.items import freeze, thaw
from srdcr_lab.models import Store
from srdcr_lab.models.kept import Fact
from srdcr_lab.records import BadInput, Completion, ModelIdentity, Request
from srdcr_lab.records.files import LOCK, one_writer, write_whole
from srdcr_lab.records.tables import LATER
from srdcr_lab.study.bundle import bundle_of, check_no_traces, pack
from srdcr_lab.study.folder import Results, load_run, unpack_run
from srdcr_lab.study.manifest import FILES, ITEMS, MANIFEST, SUMMARY, TABLES, differing, write_manifest
from srdcr_lab.study.notebooks import SEQUENCE, executed
from srdcr_lab.study.replaying import replayed, surroundings
from srdcr_lab.study.study import Study

_LOCK = "requirements.lock"
_OF_THE_RUN = ["calls_paid", "cost_usd"]  # a replay asks for nothing
_UNTIL_IT_FAILED = ["calls_alone", "prompt_tokens", "completion_tokens", "decoding"]


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
                folder = _so_far(before, whole, work)
                before = load_run(folder)
            again = _again(folder, used, work / "again")
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


def _so_far(run: Results, store: Store, work: Path) -> Path:
    """An unfinished run as one of those of its items whose every row the store makes: a results folder in `work`."""
    items = thaw(run.folder / ITEMS)
    records = _again(run.folder, store, work / "tried").records
    left = set(records.loc[records["error"].notna(), "item_id"])
    if not (done := tuple(item for item in items if item.item_id not in left)):
        raise BadInput(f"{run.folder}: no item of this run is done yet; run the same again, then share it")
    note = f"unfinished: {len(done)} of its {len(items)} items were done when this was shared, and only these are here"
    (begun := work / "begun").mkdir()
    write_whole(begun / ITEMS, freeze(replace(items, items=done, notes=(*items.notes, note))))
    shutil.copyfile(run.folder / MANIFEST, begun / MANIFEST)
    made = _again(begun, store, work / "so far")
    counts = {name: n for name, n in made.manifest["counts"].items() if name not in ("calls_paid", "wall_s")}
    said = (each for each in run.manifest["notes"] if not each.startswith("stopped: "))  # of rows that are not here
    notes = [*dict.fromkeys((*made.manifest["notes"], *said))]
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
    parameters; where the bundle's differ in code, that is a difference, and none of their code runs. Every table they
    show is compared, cell by cell; figures, printed lines and what was paid are not. A file that is no bundle or was
    changed, or an `out` in use, is bad input, after which `out` is as it was.
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
        again = _again(shared / "run", store, out / "run")
    before = load_run(shared / "run")
    differences, compared = run_differences(before, again), 0
    if (shared / "notebooks").is_dir():
        differing, compared = replayed(shared, file, out, before.absent)
        differences += differing
    own, lock = SEQUENCE.parent / _LOCK, shared / _LOCK
    notes: tuple[str, ...] = ()
    if (made_by := _of_another_version(before)) and _other_summary(before, again):
        notes = (f"{SUMMARY} differs: srdcr-lab {made_by} computed it from the same records in another way",)
    if lock.is_file() and own.is_file() and lock.read_bytes() != own.read_bytes():
        where = f"where a number differs in its last digits, install the versions of {lock}"
        notes += (f"{_LOCK} is not this clone's; {where}",)
    return Replayed(tuple(differences), (*notes, *surroundings(before)), len(TABLES) + 1, compared, before)


def _again(folder: Path, store: Store, out: Path) -> Results:
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
        unknown = [name for name in LATER if name in was and was[name].isna().all()]  # to the version of the run
        if difference := _difference(was.drop(columns=unknown), made.drop(columns=unknown)):
            differences.append(f"{table}.parquet: {difference}")
    if not _of_another_version(before) and (difference := _other_summary(before, after)):
        differences.append(f"{SUMMARY}: {difference}")
    return differences


def _of_another_version(run: Results) -> str:
    """The version of this package that made the run, if it is another one; measures may be computed otherwise there."""
    versions = run.manifest.get("versions")
    made_by = str(versions.get("srdcr-lab", "unknown")) if isinstance(versions, dict) else "unknown"
    return made_by if made_by != version("srdcr-lab") else ""


def _other_summary(before: Results, after: Results) -> str | None:
    """The first cell in which the saved summaries differ, in words."""
    try:
        was, made = (pd.read_csv(run.folder / SUMMARY) for run in (before, after))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        return "it cannot be read as CSV"
    return _difference(was, made.drop(columns={"n_questions"} - {*was}))  # which earlier runs lack


def _comparable(table: pd.DataFrame) -> pd.DataFrame:
    if "error" not in table:
        return table
    table = table.drop(columns=_OF_THE_RUN)
    table.loc[table["error"].notna(), _UNTIL_IT_FAILED] = pd.NA
    return table.assign(error=table["error"].where(table["error"].isna(), "failed"))


def _difference(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    if left.shape != right.shape:
        return f"{len(left)} rows of {left.shape[1]} columns became {len(right)} of {right.shape[1]}"
    for column in left.columns:
        for row, (before, after) in enumerate(zip(left[column], right[column], strict=True), start=1):
            if not _same(before, after):
                return f"row {row}, {column}: {before!r} became {after!r}"
    return None


def _same(before: Any, after: Any) -> bool:
    """Equal, or two floats that agree to nine digits: processors round the last digits differently."""
    floats = isinstance(before, float) and isinstance(after, float)
    return repr(before) == repr(after) or (floats and math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12))
