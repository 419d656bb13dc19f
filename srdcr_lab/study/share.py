"""Give a study to a colleague who replays it without a key: `srdcr share` and `srdcr replay`.

A bundle holds the results folder, whose run.json names the versions, and the completions behind it. A replay computes
the tables again from the completions alone and compares them.
"""

import math
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from srdcr_lab.models import Store
from srdcr_lab.models.store import Fact, Kept
from srdcr_lab.prompts.messages import hashes
from srdcr_lab.records import BadInput, Completion, ModelIdentity, Request
from srdcr_lab.records.files import LOCK, one_writer
from srdcr_lab.records.tables import TABLES
from srdcr_lab.study.bundle import bundle_of, check_no_traces, pack
from srdcr_lab.study.opening import study_of
from srdcr_lab.study.results import FILES, SUMMARY, Results, asked_differently, load_run, stored_table, unpack_run

_COSTS = ("calls_paid", "cost_usd")  # of the run itself, which a replay does not have
_UNTIL_IT_FAILED = ["calls_alone", "prompt_tokens", "completion_tokens", "decoding"]


@dataclass(frozen=True)
class Replayed:
    """Differences in words, notes, the number of tables compared, and the run as it was shared."""

    differences: tuple[str, ...]
    notes: tuple[str, ...]
    tables: int
    shared: Results


def share(folder: Path, target: Path, *, store: Path | None = None, unfinished: bool = False) -> int:
    """Bundle a finished run with the completions that it used, after replaying it from its store; how many these are.

    With `unfinished` a stopped run is bundled as it is; its labels say so.

    Raises
    ------
    BadInput
        The run is not finished or cannot be replayed, or a file holds a key, a user name or a path of this machine.
    """
    before = load_run(folder)
    if before.manifest["status"] != "done" and not unfinished:
        raise BadInput(f"{folder} is not finished; run the same command again, fix what it reports, then share it")
    source = store or (before.store if folder.is_dir() else None) or folder / "store.sqlite"
    if not source.is_file():
        raise BadInput(f"there is no store {source}; name the file of the run's completions with --store")
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        work = Path(place)
        with closing(_Used(source)) as used:
            again = made_again(folder, used, work / "again")
            if differences := run_differences(before, again):
                remedy = "if a file was edited, the same srdcr run writes it anew; else name the run's own --store"
                raise BadInput(f"{folder} cannot be replayed from {source}: {differences[0]}; {remedy}")
            used.export(work / "store.jsonl")
        files = {f"run/{name}": folder / name for name in FILES} | {"store.jsonl": work / "store.jsonl"}
        for name, path in files.items():
            check_no_traces(name, path.read_bytes())
        pack(files, target)
        return sum(map(len, used.draws.values()))


class _Used(Store):
    """A store that notes what a study reads; an export holds that alone."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.draws: dict[tuple[str, str, str], set[int]] = {}
        self._recalled: set[str] = set()

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        completions = super().get(model, request)
        self.draws.setdefault((model.key, request.digest, request.stream), set()).update(completions)
        return completions

    def facts(self, model: str | None = None) -> list[Fact]:
        self._recalled.update([model] if model else [])
        return [fact for fact in super().facts(model) if fact.model in self._recalled]

    def contents(self, digests: Collection[str] | None = None) -> Iterator[Kept]:
        for model, request, completions in super().contents({digest for _, digest, _ in self.draws}):
            draws = self.draws.get((model.key, request.digest, request.stream), ())
            if used := [each for each in completions if each.draw in draws]:
                yield model, request, used


def replay(source: Path, out: Path) -> Replayed:
    """Compute every table of a bundle again, offline, and compare; its files are written to `out`/shared.

    `source` is a file or the name of a shipped study. What was paid is not compared. A file that is not a bundle or was
    changed, or an `out` in use, is bad input, and leaves `out` unchanged.
    """
    with one_writer(out):
        if {entry.name for entry in out.iterdir()} - {LOCK}:
            raise BadInput(f"{out} is not empty; give another --out")
        shared = out / "shared"
        try:
            unpack_run(bundle_of(source) or source, shared)
            with closing(Store(out / "store.sqlite")) as store:
                store.merge(shared / "store.jsonl")
                again = made_again(shared / "run", store, out / "run")
            before = load_run(shared / "run")
            differences, notes = tuple(run_differences(before, again)), tuple(surroundings(before))
            return Replayed(differences, notes, len(TABLES) + 1, before)
        except BaseException:
            for entry in out.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry)
                elif entry.name != LOCK:
                    entry.unlink()
            raise


def made_again(folder: Path, store: Store, out: Path) -> Results:
    """The run in a folder, computed again from a store by models that are never asked."""
    with study_of(load_run(folder), store=store, offline=True, out=out) as study:
        return study.run(progress=False)


def run_differences(before: Results, after: Results) -> list[str]:
    """One sentence for each argument and each table that differs, and for rows whose completions are missing.

    A row that failed may fail with another sentence and after other calls: a replay cannot know what a server said.
    """
    others = asked_differently(before.manifest["asked"], after.manifest["asked"])
    names = dict.fromkeys(name.partition(".")[0] for name in others)
    told = "is not what was asked when the run was made again"
    # A limit is what was left of the items, and what was made of prompts is compared itself.
    lost = after.manifest["counts"]["failed"] - before.manifest["counts"].get("failed", 0)
    differences = [f"{lost} more rows lack completions (is this the store of the run?)"] if lost > 0 else []
    differences += [f"run.json: {name} {told}" for name in names if name not in ("limit", "prompts_sha256")]
    folders = before.folder, after.folder
    tables = {f"{table}.parquet": [stored_table(folder, table) for folder in folders] for table in TABLES}
    tables[SUMMARY] = [_summary(folder / SUMMARY) for folder in folders]
    for name, (was, made) in tables.items():
        if difference := _first_difference(_comparable(was), _comparable(made)):
            differences.append(f"{name}: {difference}")
    return differences


def _summary(path: Path) -> pa.Table:
    try:
        return pa.Table.from_pandas(pd.read_csv(path))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        raise BadInput(f"{path} cannot be read as CSV; the same srdcr run writes it again") from None


def _comparable(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Columns without what was paid, and without what a row that failed says of its calls."""
    columns = {name: table[name] for name in table.column_names if name not in _COSTS}
    if "error" in columns:
        failed = columns["error"].is_valid()
        columns |= {name: pc.if_else(failed, None, columns[name]) for name in _UNTIL_IT_FAILED}
        columns["error"] = failed
    return columns


def _first_difference(left: dict[str, pa.ChunkedArray], right: dict[str, pa.ChunkedArray]) -> str | None:
    if [*left] != [*right]:
        return "its columns are others"
    for column, was in left.items():
        made = right[column]
        if len(was) != len(made):
            return f"{len(was)} rows became {len(made)}"
        pairs = () if was.equals(made) else zip(was.to_pylist(), made.to_pylist(), strict=True)
        for row, (before, after) in enumerate(pairs, start=1):
            floats = isinstance(before, float) and isinstance(after, float)  # whose last digits processors round
            near = floats and math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12)
            if not near and repr(before) != repr(after):
                return f"row {row}, {column}: {before!r} became {after!r}"
    return None


def surroundings(run: Results) -> Iterator[str]:
    """One sentence for each version or prompt that differs between the run and this installation. Models are not asked,
    so they need not be here.
    """
    made_by = str(run.manifest["versions"].get("srdcr-lab", "unknown"))
    if made_by != version("srdcr-lab"):
        yield f"made with srdcr-lab {made_by}, this is {version('srdcr-lab')}, which may compute otherwise"
    today = hashes()
    asked = run.manifest["asked"].get("prompts_sha256", {})
    others = {name for name, known in asked.items() if known != today.get(name)}
    if others := others - set(run.manifest["prompts"]):  # its own, which it brings
        why = "if anything was asked with them, it cannot be made again here; the tables as they were shared hold it"
        yield f"its prompts {', '.join(sorted(others)):.250} are not this version's: {why}"
