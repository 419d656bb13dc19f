"""A results folder: run.json says what was run, the tables appear whole or not at all; and how they are read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from srdcr_lab import measures
from srdcr_lab.data.items import first_difference, thaw
from srdcr_lab.measures.groups import of_one_kind
from srdcr_lab.protocols.choices import DESIGNS, Choices, name_today
from srdcr_lab.records import SCHEMA_VERSION, BadInput, Item, Level, ModelIdentity, arrow_schema, check_schema, label
from srdcr_lab.records.files import LOCK, from_plain, read_json, whole_file, write_whole
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.study.rows import ItemRows, Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MANIFEST, ITEMS, SUMMARY = "run.json", "items.json", "summary.csv"
TABLES = ("records", "turns", "samples")
REPEAT = "repeat-"  # folders in a study's own, one for each further seed
_OURS = ("store.sqlite", MANIFEST + ".part", ITEMS, LOCK)  # what a run that was killed at its very start leaves
_ELSEWHERE = "run the same into another folder; with --store {}/store.sqlite nothing is asked twice"
_DERIVED = ("items_sha256", "n_items")  # named only where no argument differs
_ROWS_A_GROUP = 5000
_QUESTION_COLUMNS = [
    "question_id", "domain", "question", "gold_answer", "prior_answer", "prior_correct",
    "self_confidence", "confidence_kind", "sampled_accuracy", "n_samples", "knowledge_category",
]  # fmt: skip


@dataclass(frozen=True)
class _Asked:
    """What is read of a manifest's `asked`; the rest is only compared."""

    items: str
    methods: list[str]
    choices: dict[str, Any]
    seed: int
    models: dict[str, ModelIdentity]


@dataclass(frozen=True)
class _Manifest:
    """What is read of a manifest, which may hold more."""

    asked: _Asked = _Asked("", [], {}, 0, {})
    status: str = ""
    notes: list[str] = field(default_factory=list)
    logprobs: dict[str, bool] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)
    spent_usd: float = 0.0


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's run.json, or None where there is none; one that cannot be read, or of another schema, is bad input.

    The choices of an earlier version are in this one's words; `renamed` holds the names of designs that its tables have
    and what they are called today (`name_today`).
    """
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = read_json(path.read_bytes(), str(path))
        version = manifest["schema_version"]
    except (OSError, BadInput, KeyError, TypeError):
        raise BadInput(f"{path} is not the manifest of a run, or was edited; {_ELSEWHERE.format(folder)}") from None
    if version != SCHEMA_VERSION:
        raise BadInput(
            f"{path} is of schema version {version}, this srdcr_lab writes {SCHEMA_VERSION}; give another folder"
        )
    manifest = {**asdict(_Manifest()), **manifest}
    asked = manifest.get("asked")
    try:
        from_plain(_Manifest, _known(_Manifest, {**manifest, "asked": _known(_Asked, asked)}), str(path))
        choices = manifest["asked"]["choices"]
        manifest["asked"]["choices"], manifest["renamed"] = _choices_today(choices, f"{path}, choices")
        if "answerer" not in manifest["asked"]["models"]:
            raise BadInput(f"{path}, asked, models: there is no answerer")
    except BadInput as error:
        raise BadInput(f"{error}; srdcr run did not write it so: {_ELSEWHERE.format(folder)}") from None
    return manifest


def _choices_today(recorded: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Recorded choices in this version's words, and designs by their recorded names; a choice that the version of the
    run did not know was made as it is by default."""
    of_design = asdict(DESIGNS["own_answers"])  # before there was the choice, debaters were not told

    def whole(design: Any) -> Any:
        return {**of_design, **design} if isinstance(design, dict) else design

    plain = {**Choices().as_dict(), "design": None, **recorded}
    also = plain["also"]
    also = list(map(whole, also)) if isinstance(also, list | tuple) else also
    choices = from_plain(Choices, plain | {"design": whole(plain["design"]), "also": also}, where)
    names = {design.name: name_today(design) for design in choices.designs}
    design, *also = (replace(design, name=names[design.name]) for design in choices.designs)
    today = replace(choices, design=design, also=tuple(also)).as_dict()
    return json.loads(json.dumps(today)), {before: now for before, now in names.items() if before != now}


def _known(kind: type, value: Any) -> Any:
    """Of an object, the entries that `kind` has; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {each.name: value[each.name] for each in fields(kind) if each.name in value}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    content = {"schema_version": SCHEMA_VERSION, **manifest}
    write_whole(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n")


def together(earlier: Any, now: Any) -> Any:
    """What two parts of one run recorded: counts are added, lists joined; of anything else the later one."""
    match earlier, now:
        case dict(), dict():
            return earlier | {name: together(earlier.get(name), value) for name, value in now.items()}
        case list(), list():
            return earlier + [each for each in now if each not in earlier]
        case int(), int() if not isinstance(now, bool):
            return earlier + now
    return now


def check(folder: Path, asked: Mapping[str, Any], items: Iterable[Item] = ()) -> dict[str, Any] | None:
    """The manifest of the run that the folder holds, None for a new folder. A folder that holds something else, or a
    run with other arguments or `items`, is bad input."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; --out names a folder")
    manifest = read_manifest(folder)
    if manifest is None:
        if folder.is_dir() and not all(entry.name.startswith(_OURS) for entry in folder.iterdir()):
            raise BadInput(f"{folder} exists and is not a results folder; give another --out")
        return None
    for name, (before, now) in differing(manifest["asked"], json.loads(json.dumps(dict(asked), default=str))).items():
        other, what = "arguments", f"{name.removeprefix('choices.')} was {_short(before)}, is now {_short(now)}"
        if name in _DERIVED:
            with suppress(BadInput):  # of a run that was killed at its very start, the items are not known
                other, what = "items", first_difference(thaw(folder / ITEMS), items) or what
        raise BadInput(
            f"{folder} holds a run with other {other} ({what}); repeat those to resume it, or give another --out"
        )
    return manifest


def differing(asked: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs were asked differently, by its dotted name; a template that the first did not have was not used."""
    before, now = dict(_leaves(asked)), dict(_leaves(again))
    names = [name for name in {**before, **now} if name in before or not name.startswith("prompts_sha256.")]
    pairs = {name: (before.get(name), now.get(name)) for name in sorted(names, key=lambda name: name in _DERIVED)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested arguments, with its dotted path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def withdraw(folder: Path) -> None:
    """Remove what a run wrote whose input turned out to be bad."""
    for name in (MANIFEST, ITEMS, SUMMARY, *(f"{table}.parquet" for table in TABLES)):
        (folder / name).unlink(missing_ok=True)


# Writing ----------------------------------------------------------------------------------------------------------


@contextmanager
def table_writer(folder: Path) -> Iterator[TableWriter]:
    """A writer of the folder's tables. They appear, or replace earlier ones, when the block ends without an error."""
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        parts = {table: stack.enter_context(whole_file(folder / f"{table}.parquet")) for table in TABLES}
        opened = {}
        for table, part in parts.items():
            file = stack.enter_context(part.open("wb"))  # of a path, Arrow may think that it is a URI
            opened[table] = stack.enter_context(pq.ParquetWriter(file, arrow_schema(table), compression="zstd"))
        writer = TableWriter(opened)
        yield writer
        writer.write()


class TableWriter:
    """Writes the tables in groups of rows."""

    def __init__(self, writers: Mapping[str, pq.ParquetWriter]) -> None:
        self._writers = writers
        self._buffers: dict[str, list[Row]] = {table: [] for table in TABLES}
        self._sampled: set[tuple[str, str]] = set()

    def add(self, rows: ItemRows) -> None:
        """Add an item's rows; each stream of a question's samples is taken from the first of its items that has it."""
        new = [row for row in rows.samples if (row["question_id"], row["stream"]) not in self._sampled]
        self._sampled |= {(row["question_id"], row["stream"]) for row in new}
        for table, added in zip(TABLES, (rows.records, rows.turns, new), strict=True):
            self._buffers[table] += added
        self.write(_ROWS_A_GROUP)

    def add_records(self, rows: list[Row]) -> None:
        """Add rows of methods that waited for every item to end."""
        self._buffers["records"] += rows

    def write(self, least: int = 1) -> None:
        """Write the rows in memory of each table that has at least so many there."""
        import pyarrow as pa

        for table, rows in self._buffers.items():
            if len(rows) >= least:
                self._writers[table].write_table(pa.Table.from_pylist(rows, schema=arrow_schema(table)))
                rows.clear()


@dataclass(frozen=True)
class Results:
    """The tables of one results folder, read when first asked for (columns: `srdcr_lab.records.tables`)."""

    folder: Path
    _keep: Any = field(default=None, repr=False, compare=False)  # a temporary folder lives as long as its results

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """run.json: versions, arguments, seeds, prompt hashes, model identities, counts."""
        if (manifest := read_manifest(self.folder)) is None:
            raise BadInput(f"{self.folder} holds no run (there is no run.json in it)")
        return manifest

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row per item × method."""
        return self._read("records")

    @cached_property
    def turns(self) -> pd.DataFrame:
        """Every utterance, with what its speaker saw."""
        return self._read("turns")

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Every answer drawn without a passage."""
        return self._read("samples")

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Table 1: see `srdcr_lab.measures.summary`."""
        return measures.summary(self.records)

    @property
    def questions(self) -> pd.DataFrame:
        """One row per question: prior answer, confidence of the kind asked for, sampled accuracy with its
        Jeffreys interval, and `redraw_stability`, the probability of the same category on a fresh set of draws."""
        by_level = of_one_kind(self.records).sort_values(
            "level", key=lambda level: level != Level.STANDARD, kind="stable"
        )
        table = by_level.drop_duplicates("question_id")[_QUESTION_COLUMNS].reset_index(drop=True)
        n = table["n_samples"].fillna(0).astype(int)
        right = (table["sampled_accuracy"].fillna(0) * n).round().astype(int)
        table["accuracy_low"], table["accuracy_high"] = measures.jeffreys_interval(right, n)
        table["redraw_stability"] = [measures.redraw_stability(k, of) for k, of in zip(right, n, strict=True)]
        return table

    @property
    def label(self) -> str:
        """Who made these numbers: the models, and that pocket is a model organism."""
        return label(map(str, self.identities.values()))

    @property
    def exposures(self) -> pd.DataFrame | None:
        """How often the training texts told the shipped pocket model each question of this run, and how often truly;
        None for any other model, and where they told none (data/pocket/exposures.csv)."""
        from srdcr_lab.models.local.checkpoint import fingerprint

        answerer = self.identities["answerer"]
        if answerer.provider != "pocket" or answerer.fingerprint != fingerprint(shipped("pocket")):
            return None
        exposures = pd.read_csv(shipped("pocket") / "exposures.csv")
        exposures = exposures[exposures["question_id"].isin(self.records["question_id"])]
        return exposures.reset_index(drop=True) if len(exposures) else None

    @property
    def identities(self) -> dict[str, ModelIdentity]:
        """Who plays each role."""
        return {role: ModelIdentity(**named) for role, named in self.manifest["asked"]["models"].items()}

    def n_rows(self, table: str) -> int:
        """Number of rows of a table, without reading it."""
        import pyarrow.parquet as pq

        return int(pq.read_metadata((self.folder / f"{table}.parquet").absolute()).num_rows)

    def _read(self, table: str) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        renamed = self.manifest["renamed"]
        path = (self.folder / f"{table}.parquet").absolute()  # a relative one may be a URI
        if not path.is_file():
            raise BadInput(
                f"{self.folder} has no {table}.parquet; the run has not finished, run it again with the same arguments"
            )
        try:
            with pq.ParquetFile(path) as file:
                check_schema(table, file.schema_arrow, str(path))
                content = file.read()
            for place, field in enumerate(arrow_schema(table)):
                if field.name not in content.column_names:
                    content = content.add_column(place, field, pa.nulls(len(content), field.type))
            nullable = {pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
            frame = content.to_pandas(types_mapper=nullable.get)
            return frame.assign(design=frame["design"].replace(renamed)) if renamed and "design" in frame else frame
        except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: bytes that are no text
            raise BadInput(f"cannot read {path} ({error}); the same srdcr run writes it anew") from None


def load_run(folder: str | Path) -> Results:
    """The results in a folder that `srdcr run --out` wrote."""
    results = Results(Path(folder))
    results.manifest  # noqa: B018 (says at once if there is none)
    return results


def load_runs(*folders: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """The records of several runs in one table, with the column `run` (the folder's name)."""
    paths = [Path(path) for entry in folders for path in ([entry] if isinstance(entry, str | Path) else entry)]
    return pd.concat([load_run(path).records.assign(run=path.name) for path in paths], ignore_index=True)


def load_repeats(folder: str | Path, *others: str | Path) -> pd.DataFrame:
    """The records of a study's repeats in one table, with the column `repeat` (1, 2, …): those that
    ``srdcr run --repeats`` wrote into a folder and its repeat-2, repeat-3 …, or those of several folders.

    Folders of different studies, of one seed, or unfinished are bad input.
    """
    inside = [path for path in Path(folder).glob(f"{REPEAT}*") if path.name.removeprefix(REPEAT).isdecimal()]
    inside.sort(key=lambda path: int(path.name.removeprefix(REPEAT)))
    runs = [load_run(path) for path in (folder, *(others or inside))]
    first, seeds = runs[0], set()
    for run in runs:
        if run.manifest["status"] != "done":
            raise BadInput(f"{run.folder} is not finished; run it again with the same arguments")
        asked = run.manifest["asked"]
        for name, (here, there) in differing(first.manifest["asked"] | {"seed": asked["seed"]}, asked).items():
            raise BadInput(
                f"{first.folder} and {run.folder} are not repeats of one study: {name.removeprefix('choices.')} is "
                f"{_short(here)} in the one, {_short(there)} in the other; srdcr run --repeats changes the seed alone"
            )
        if asked["seed"] in seeds:
            raise BadInput(f"{run.folder} has the seed {asked['seed']} of another repeat; give each seed once")
        seeds.add(asked["seed"])
    return pd.concat([run.records.assign(repeat=k) for k, run in enumerate(runs, start=1)], ignore_index=True)
