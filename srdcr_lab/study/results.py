"""A results folder: run.json, which says what was asked, and the tables, which appear whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from srdcr_lab.data.items import first_difference, thaw
from srdcr_lab.lib.definitions import redraw_stability
from srdcr_lab.lib.gating import redecided
from srdcr_lab.lib.groups import CATEGORY_NAMES, of_one_kind
from srdcr_lab.lib.page import shown
from srdcr_lab.lib.statistics import jeffreys_interval
from srdcr_lab.lib.summary import summary
from srdcr_lab.models import Store
from srdcr_lab.protocols import METHODS
from srdcr_lab.protocols.choices import Choices, check_ranges, choices
from srdcr_lab.records import SCHEMA_VERSION, BadInput, Item, Level, ModelIdentity, arrow_schema, check_schema, label
from srdcr_lab.records.files import LOCK, as_path, from_plain, read_json, whole_file, write_whole
from srdcr_lab.records.names import called_in, model_called
from srdcr_lab.records.tables import COLUMNS_OF, TABLES
from srdcr_lab.records.vocabulary import must_be
from srdcr_lab.study.bundle import PARTS, bundle_of, unpack
from srdcr_lab.study.run import ItemRows, TableRow

STORE = "store.sqlite"  # the completions, in a results folder or beside several that share it
REPEAT = "repeat-"  # folders in a study's own, one for each further seed
_ROWS_A_GROUP = 5000


@contextmanager
def table_writer(folder: Path) -> Iterator[Callable[[ItemRows], None]]:
    """A function that adds an item's rows to the folder's tables, which appear, or replace earlier ones, when the block
    ends without an error. Items of one question share its samples, so each stream is taken from the first.
    """
    for left in folder.glob("*.parquet.part*"):  # of a run that was killed; this one has the folder to itself
        left.unlink()
    waiting: dict[str, list[TableRow]] = {table: [] for table in TABLES}
    sampled: defaultdict[str, set[str]] = defaultdict(set)  # question_id → streams
    with ExitStack() as stack:
        parts = {table: stack.enter_context(whole_file(folder / f"{table}.parquet")) for table in TABLES}
        opened = {}
        for table, part in parts.items():
            file = stack.enter_context(part.open("wb"))  # of a path, Arrow may think that it is a URI
            opened[table] = stack.enter_context(pq.ParquetWriter(file, arrow_schema(table), compression="zstd"))

        def write(least: int) -> None:
            for table, rows in waiting.items():
                if len(rows) >= least:
                    opened[table].write_table(pa.Table.from_pylist(rows, schema=arrow_schema(table)))
                    rows.clear()

        def add(rows: ItemRows) -> None:
            taken = sampled[rows.item.question_id]
            new = [row for row in rows.samples if row["stream"] not in taken]
            taken |= {row["stream"] for row in new}
            for table, added in zip(TABLES, (rows.records, rows.turns, new), strict=True):
                waiting[table] += added
            write(_ROWS_A_GROUP)

        yield add
        write(1)


WEIGHTS = "weights.csv"  # of the questions that a study chose
_ENDS = {name: called_in("knowledge_category", name) for name in ("HIGHLY_KNOWN", "UNKNOWN")}  # of what is known


@dataclass(frozen=True)
class Results:
    """The tables of one results folder, read when first asked for; `lab.columns` explains their columns.

    Attributes
    ----------
    folder : Path
        The folder.
    bundle : Path, optional
        The bundle that was unpacked there, if any.
    """

    folder: Path
    _keep: Any = field(default=None, repr=False, compare=False)  # a temporary folder lives as long as its results
    bundle: Path | None = field(default=None, compare=False)  # which was unpacked there
    _study: Any = field(default=None, repr=False, compare=False)  # which made them, and is still open
    _parts: dict[str, Results | None] = field(default_factory=dict, repr=False, compare=False)  # that were opened

    def __getstate__(self) -> dict[str, Any]:
        if self._keep:
            raise BadInput("these results are in a temporary folder, which ends with this process: save(FOLDER) first")
        return vars(self) | {"_study": None}

    def save(self, folder: str | Path) -> Path:
        """Copy the run to a folder, which `load_run` opens; without `out`, a run is gone with its `Results`.

        The tables are those that the run wrote, also where these results are at another threshold or have scores of
        your own.

        Parameters
        ----------
        folder : str or Path
            A folder that does not exist yet.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        BadInput
            The folder exists.
        """
        if (target := as_path(folder)).exists():
            raise BadInput(f"{target} exists; give a new folder")
        return Path(shutil.copytree(self.folder, target))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return run.json: versions, arguments, seeds, prompt hashes, model identities, counts.

        Returns
        -------
        dict of str to object
            The manifest.

        Raises
        ------
        BadInput
            The folder holds no run.
        """
        if (manifest := read_manifest(self.folder)) is None:
            raise BadInput(f"{self.folder} holds no run (there is no run.json in it)")
        return manifest

    @cached_property
    def store(self) -> Path | None:
        """Return the file of the completions.

        Returns
        -------
        Path or None
            The file in the folder, or beside it (as after `make study`); None if there is none.
        """
        own, beside, exported = (self.folder / STORE, self.folder.parent / STORE, self.folder.parent / "store.jsonl")
        if self.bundle and exported.is_file() and not own.is_file():
            with closing(Store(own)) as store:
                store.merge(exported)
        return next((file for file in (own, beside) if file.is_file()), None)

    def finished(self) -> Results:
        """Return these results, if the run has ended: in a stopped one, rows that were not reached count as wrong.

        Returns
        -------
        Results
            These results.

        Raises
        ------
        BadInput
            The run has not ended.
        """
        if self.manifest["status"] != "done":
            raise BadInput(f"{self.folder} is not finished; run it again with the same arguments, or leave it out")
        return self

    def close(self) -> None:
        """Close the study that made these results, if it is still open; its store is then a single file."""
        if self._study:
            self._study.close()

    def with_confidence(self, kind: str, scores: Mapping[str, float] | None = None) -> Results:
        """Return the same study with another kind of self-confidence, asking the models for what the store lacks.

        Parameters
        ----------
        kind : str
            Kind of confidence; or, with `scores`, a name for a confidence of your own.
        scores : mapping of str to float, optional
            `question_id` → confidence in the answer from memory, from 0 to 1, such as a Series. A question without one
            has no confidence, and is never above τ. No model is asked and no file is written; `known` changes alike.

        Returns
        -------
        Results
            The results.

        Raises
        ------
        BadInput
            The run is finished and measured another kind; or a score is below 0 or above 1, a question has two, or none
            has one.
        """
        if scores is not None:
            first = self.part("known")
            return self._with_scores(kind, scores, first and first._with_scores(kind, scores))
        choices(confidence=kind)  # refuses a kind that there is not
        measured = [*of_one_kind(self.records)["confidence_kind"].dropna().unique()]
        found = self.part(kind) or (self if kind in measured else None)
        if not (found or self._study):
            alone = called_in("confidence", measured[0]) if measured else "no confidence"
            stored = f"if its store has what that takes, srdcr_lab.study.study_of(results, confidence={kind!r}).run()"
            raise BadInput(f"this run measured {alone} alone; for another kind: {stored}, else srdcr run --confidence")
        found = found or self._study.with_confidence(kind).run(progress=False)
        own, tau = (each.manifest["asked"]["choices"]["tau"] for each in (found, self))
        return found if own == tau else found.at(tau)

    def _with_scores(self, kind: str, scores: Mapping[str, float], known: Results | None = None) -> Results:
        records, asked, remarks = self.records.copy(), self.manifest["asked"], self.manifest["remarks"]
        given = dict(scores.items())  # a Series may give one question several
        own = records["question_id"].map(given).astype(float).where(records["prior_answer"].notna())
        if len(given) < len(scores) or not own.count() or not own.dropna().between(0, 1).all():
            raise BadInput("scores give a question_id one confidence from 0 to 1, and at least one of this run")
        shared = of_one_kind(records).index  # the rows of the methods that share the run's confidence
        records.loc[shared, "self_confidence"], records.loc[shared, "confidence_kind"] = own, kind
        changed = {"choices": asked["choices"] | {"confidence": kind}}
        other = replace(self, _parts={**self._parts, "known": known})
        manifest = self.manifest | {"asked": asked | changed, "remarks": [*remarks, f"confidence: {kind}"]}
        vars(other).update(records=records, manifest=manifest)
        return other.at(asked["choices"]["tau"])

    @property
    def known(self) -> Results:
        """Return the part of the study that asked every question first, without passages.

        Returns
        -------
        Results
            That part, or these results if there is none.
        """
        return self.part("known") or self

    def part(self, name: str) -> Results | None:
        """Return another part of the study that this run is a part of.

        Parameters
        ----------
        name : str
            Name of the part, such as "known" or "symmetric".

        Returns
        -------
        Results or None
            The part, if it was run with the same models; otherwise None.
        """
        if name not in self._parts:
            imported = name in self.manifest["parts"]
            beside = self._beside(name + (self.bundle or self.folder).suffix) if name in PARTS else None
            other = load_run(self.folder / name) if imported else load_run(beside) if beside else None
            self._parts[name] = other if other and other.identities == self.identities else None
        return self._parts[name]

    def _beside(self, name: str) -> Path | None:
        """What has this name beside a part of a study."""
        here = self.bundle or self.folder
        beside = here.with_name(name)
        return beside if here.stem in PARTS and beside.exists() else None

    @cached_property
    def items(self) -> dict[str, Item]:
        """Return the items.

        Returns
        -------
        dict of str to Item
            `item_id` → item.
        """
        return {item.item_id: item for item in thaw(self.folder / ITEMS)}

    @cached_property
    def records(self) -> pd.DataFrame:
        """Return one row per item × method.

        Returns
        -------
        DataFrame
            The table; its column `right` averages to the accuracy of a condition.
        """
        return self._read("records")

    def at(self, tau: float) -> Results:
        """Return these results at another confidence threshold, without asking a model or writing a file.

        `records`, `summary` and the threshold in `manifest` change, for `sr_dcr` and `confidence_only`; turns and
        samples do not depend on τ.

        Parameters
        ----------
        tau : float
            Confidence threshold τ in [0, 1].

        Returns
        -------
        Results
            The results.

        Raises
        ------
        BadInput
            The run has other methods that use the confidence. Their records do not say what they would answer;
            `srdcr_lab.study.study_of(results, tau=…).run()` takes it from the store.
        """
        check_ranges(tau=tau)
        asked = self.manifest["asked"]
        unknown = bool(asked.get("prompts_sha256"))  # whether a method of one's own may use it; an import asks nothing
        again = {name for name in asked["methods"] if getattr(METHODS.get(name), "uses_confidence", unknown)}
        if others := again - {"sr_dcr", "confidence_only"}:
            told = f"the records of {min(others)} do not say what it would answer at another tau; take its completions"
            raise BadInput(f"{told} from the store: srdcr_lab.study.study_of(results, tau={tau}).run()")
        of_memory = [name for name, item in self.items.items() if not (item.context or item.documents)]
        other = replace(self)
        changed = redecided(self.records, tau, gate=asked["choices"]["gate"], from_memory=of_memory)
        asked = asked | {"choices": asked["choices"] | {"tau": tau}}
        vars(other).update(records=changed, manifest=self.manifest | {"asked": asked})
        return other

    @cached_property
    def turns(self) -> pd.DataFrame:
        """Return every utterance, with what its speaker saw.

        Returns
        -------
        DataFrame
            One row per utterance.
        """
        return self._read("turns")

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Return every answer drawn without a passage.

        Returns
        -------
        DataFrame
            One row per draw.
        """
        return self._read("samples")

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Return Table 1: accuracy, coverage and missing answers by method and condition.

        Returns
        -------
        DataFrame
            One row per model × method × design × condition.
        """
        return summary(self.records)

    @property
    def bounds(self) -> dict[str, float]:
        """Return the bounds of this run's knowledge categories.

        Returns
        -------
        dict of str to float
            `highly_from` and `maybe_from`.
        """
        chosen = self.manifest["asked"]["choices"]
        return {"highly_from": chosen["highly_known_from"], "maybe_from": chosen["maybe_known_from"]}

    @property
    def questions(self) -> pd.DataFrame:
        """Return what is known of each question from memory.

        Returns
        -------
        DataFrame
            One row per question: prior answer, confidence of the kind asked for, `sampled_accuracy` with its 95 %
            Jeffreys interval (`accuracy_low`, `accuracy_high`), and `redraw_stability`, the probability of the same
            category on a fresh set of draws.
        """
        rows = of_one_kind(self.records).sort_values("level", key=lambda level: level != Level.STANDARD, kind="stable")
        shared = [column.name for column in COLUMNS_OF["questions"] if column.name in rows]  # the others are made here
        table = rows.drop_duplicates("question_id")[shared].reset_index(drop=True)
        n = table["n_samples"].fillna(0).astype(int)
        right = (table["sampled_accuracy"].fillna(0) * n).round().astype(int)
        table["accuracy_low"], table["accuracy_high"] = jeffreys_interval(right, n)
        table["redraw_stability"] = [redraw_stability(k, of, **self.bounds) for k, of in zip(right, n, strict=True)]
        return table

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary, with the items and the models behind it."""
        left_out = ["n_answered", "risk", "n_questions", "accuracy_micro"]
        table = self.summary.drop(columns=[*left_out, *self.summary.filter(like="verdict_")])
        return shown(table, f"{self.manifest['asked']['items']}, by {self.label}")

    @property
    def model(self) -> str:
        """Return the name of the answering model, for an axis or a column.

        Returns
        -------
        str
            The short name; empty for a run without rows.
        """
        return model_called(self.records["model"].iloc[0] if len(self.records) else "")

    @property
    def label(self) -> str:
        """Return who made the numbers, for captions.

        Returns
        -------
        str
            The models, with a note for those without temperature, for pocket (a model organism), and for a run that has
            not ended.
        """
        takes, default = self.manifest["temperature"], " (drawn at the provider's default temperature)"
        models = (f"{model}{'' if takes.get(str(model), True) else default}" for model in self.identities.values())
        remarks = ["unfinished"] * (self.manifest["status"] != "done") + self.manifest["remarks"]
        return "; ".join([label(models), *remarks])

    @cached_property
    def first_pass(self) -> pd.DataFrame | None:
        """Return the questions that the study asked first, if those of this run were chosen from them.

        Returns
        -------
        DataFrame or None
            One row per question; None otherwise.
        """
        first = self.part("known")
        return first.questions if first and len(first.questions) > self.records["question_id"].nunique() else None

    @cached_property
    def weights(self) -> pd.DataFrame | None:
        """Return the weights of chosen questions, for `evaluation.weighted_back`.

        Returns
        -------
        DataFrame or None
            The file weights.csv beside this part, if it has exactly its questions; otherwise None.
        """
        if (file := self._beside(WEIGHTS)) is None:
            return None
        try:
            table = pd.read_csv(file).astype({"weight": float})
            return table if set(table["question_id"]) == set(self.records["question_id"]) else None
        except (KeyError, ValueError):  # no text, or other columns
            raise BadInput(f"{file} is no table of weights; it has the columns question_id and weight") from None

    @property
    def chosen(self) -> str:
        """Describe chosen questions, for the end of a label.

        Returns
        -------
        str
            The shares of known and unknown questions here and among those asked first; empty if nothing was chosen.
        """
        if self.first_pass is None:
            return ""
        here, first = (
            " and ".join(f"{(table['knowledge_category'] == name).mean():.0%} {label}" for name, label in _ENDS.items())
            for table in (self.questions, self.first_pass)
        )
        return f"; chosen questions: {here} (all {len(self.first_pass)} asked: {first})"

    @property
    def identities(self) -> dict[str, ModelIdentity]:
        """Return who plays each role.

        Returns
        -------
        dict of str to ModelIdentity
            Role → model.
        """
        models, where = self.manifest["asked"]["models"], str(self.folder / MANIFEST)
        return {role: from_plain(ModelIdentity, named, where, extra="ignore") for role, named in models.items()}

    def n_rows(self, table: str) -> int:
        """Count the rows of a table without reading it.

        Parameters
        ----------
        table : str
            Name of the table.

        Returns
        -------
        int
            The number.
        """
        return int(pq.read_metadata((self.folder / f"{table}.parquet").absolute()).num_rows)

    def _read(self, table: str) -> pd.DataFrame:
        nullable = {pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
        frame = stored_table(self.folder, table).to_pandas(types_mapper=nullable.get)
        if table == "records":  # categories that can be compared and sorted
            known = pd.CategoricalDtype(CATEGORY_NAMES[::-1], ordered=True)
            frame["knowledge_category"] = frame["knowledge_category"].astype(known)
        return frame


_FILLED = ("item_id", "question_id", "domain", "answer_type", "method", "gold_answers", "final_answers", "tau",
           "round", "role", "saw_turns")  # fmt: skip


def stored_table(folder: Path, table: str) -> pa.Table:
    """A table of a results folder. One that is missing, damaged or of another schema is bad input."""
    path = (folder / f"{table}.parquet").absolute()  # a relative one may be a URI
    if not path.is_file():
        raise BadInput(f"{folder} has no {path.name}; the run has not finished, run it again with the same arguments")
    try:
        with pq.ParquetFile(path) as file:
            check_schema(table, file.schema_arrow, str(path))
            content = file.read().replace_schema_metadata()
        content.validate(full=True)  # there may be bytes that are no text
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"cannot read {path} ({error}); the same srdcr run writes it again") from None
    if empty := [name for name in _FILLED if name in content.column_names and content[name].null_count]:
        raise BadInput(f"{path} has rows without {empty[0]}, so it was changed; the same srdcr run writes it again")
    return content


def unpack_run(bundle: Path, place: Path) -> Path:
    """Unpack a bundle into a new folder, and return the results folder in it; see `unpack`."""
    if missing := {f"run/{name}" for name in FILES} - set(unpack(bundle, place)):
        shutil.rmtree(place)
        raise BadInput(f"{bundle} lacks {sorted(missing)[0]}; ask for it again")
    return place / "run"


def load_run(run: str | Path) -> Results:
    """Load the results of a run; `Results.finished` refuses one that was stopped.

    Parameters
    ----------
    run : str or Path
        A folder of ``srdcr run --out``; a bundle of ``srdcr share``, which is unpacked into a temporary folder; or the
        name of a shipped study, which opens its debates (NAME/known opens another part).

    Returns
    -------
    Results
        The results.

    Raises
    ------
    BadInput
        There is no run.

    Examples
    --------
    >>> len(load_run("pocket").items)
    120
    """
    if (bundle := bundle_of(run)) is None:
        results = Results(as_path(run).absolute())  # so that a later change of the working directory moves nothing
    else:
        place = tempfile.TemporaryDirectory(prefix="srdcr-")
        results = Results(unpack_run(bundle, Path(place.name) / "shared"), place, bundle)
    results.manifest  # noqa: B018 (says at once if there is none)
    return results


def load_runs(*folders: str | Path | Sequence[str | Path]) -> pd.DataFrame:
    """Load the records of several runs into one table.

    Parameters
    ----------
    *folders : str, Path or sequence of str or Path
        Folders, bundles or names, or lists of these.

    Returns
    -------
    DataFrame
        The records, with the column `run` (the last part of the name; all of it where several end alike).

    Raises
    ------
    BadInput
        No run is named, one is named twice or not finished, or there is none.
    """
    for entry in folders:
        must_be("a run", entry, (str, Path, Sequence), "a folder, a bundle, a name, or a list of these")
    paths = [as_path(path) for entry in folders for path in ([entry] if isinstance(entry, str | Path) else entry)]
    if not paths:
        raise BadInput("name at least one run")
    if twice := [path for path, n in Counter(paths).items() if n > 1]:
        raise BadInput(f"the run {twice[0]} is named twice; name each once")
    n_named = Counter(path.name for path in paths)
    runs = {path: path.name if n_named[path.name] == 1 else path.as_posix() for path in paths}
    tables = (load_run(path).finished().records.assign(run=name) for path, name in runs.items())
    return pd.concat(tables, ignore_index=True)


def load_repeats(folder: str | Path, *others: str | Path) -> pd.DataFrame:
    """Load the records of a study's repeats into one table.

    Parameters
    ----------
    folder : str or Path
        Folder of ``srdcr run --repeats``, with repeat-2, repeat-3, … inside; or the first of several folders.
    *others : str or Path
        The other folders.

    Returns
    -------
    DataFrame
        The records, with the column `repeat` (1, 2, …).

    Raises
    ------
    BadInput
        The folders are of different studies, have the same seed, or are unfinished.
    """
    inside = [path for path in as_path(folder).glob(f"{REPEAT}*") if path.name.removeprefix(REPEAT).isdecimal()]
    inside.sort(key=lambda path: int(path.name.removeprefix(REPEAT)))
    runs = [load_run(path).finished() for path in (folder, *(others or inside))]
    first, seeds = runs[0], set()
    for run in runs:
        asked = run.manifest["asked"]
        for name, (here, there) in asked_differently(first.manifest["asked"] | {"seed": asked["seed"]}, asked).items():
            folders, what = f"{first.folder} and {run.folder}", name.removeprefix("choices.")
            told = f"{what} is {short(here)} in the one, {short(there)} in the other; --repeats changes the seed alone"
            raise BadInput(f"{folders} are not repeats of one study: {told}")
        if asked["seed"] in seeds:
            raise BadInput(f"{run.folder} has the seed {asked['seed']} of another repeat; give each seed once")
        seeds.add(asked["seed"])
    return pd.concat([run.records.assign(repeat=k) for k, run in enumerate(runs, start=1)], ignore_index=True)


MANIFEST, ITEMS, SUMMARY = "run.json", "items.json", "summary.csv"
FILES = (MANIFEST, ITEMS, SUMMARY, *(f"{table}.parquet" for table in TABLES))  # of a finished run
_OURS = ("store.sqlite", MANIFEST + ".part", ITEMS, LOCK)  # what a run that was killed at its very start leaves
_DERIVED = ("items_sha256", "n_items")  # named only where no argument differs


@dataclass(frozen=True)
class _Asked:
    """What is read of a manifest's `asked`; the rest is only compared."""

    keeps_defaults = True
    items: str
    methods: list[str]
    choices: Choices
    seed: int
    models: dict[str, ModelIdentity]
    prompts_sha256: dict[str, str] = field(default_factory=dict)  # an import has none


@dataclass(frozen=True)
class _Manifest:
    """What is read of a manifest, which may hold more."""

    asked: _Asked = _Asked("", [], Choices(), 0, {})
    status: str = ""
    written: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    versions: dict[str, Any] = field(default_factory=dict)
    logprobs: dict[str, bool] = field(default_factory=dict)
    temperature: dict[str, bool] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)
    spent_usd: float = 0.0


def _elsewhere(folder: Path, remedy: str = "run the same into another folder") -> str:
    """A remedy, and how no question is asked twice if the folder has the store."""
    return f"{remedy}; with --store {folder / STORE} nothing is asked twice" if (folder / STORE).exists() else remedy


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's run.json, or None where there is none; one that cannot be read, or of another schema, is bad
    input."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = read_json(path.read_bytes(), str(path))
        schema = manifest["schema_version"]
    except (OSError, BadInput, KeyError, TypeError):
        raise BadInput(f"{path} is not the manifest of a run, or was edited; {_elsewhere(folder)}") from None
    if schema != SCHEMA_VERSION:
        raise BadInput(f"{path} is of schema version {schema}, and not {SCHEMA_VERSION}; {_elsewhere(folder)}")
    manifest = {**asdict(_Manifest()), **manifest}
    try:
        # Fields that `Choices` no longer has are passed over: designs once named models for roles.
        asked = from_plain(_Manifest, manifest, str(path), extra="ignore").asked
        manifest["asked"]["choices"] = json.loads(json.dumps(asdict(asked.choices)))  # with defaults of what it lacks
        if "answerer" not in manifest["asked"]["models"]:
            raise BadInput(f"{path}, asked, models: there is no answerer")
    except BadInput as error:
        raise BadInput(f"{error}; this version of srdcr_lab does not write it so: {_elsewhere(folder)}") from None
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    content = {"schema_version": SCHEMA_VERSION, **manifest}
    write_whole(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n")


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those of these packages that are installed."""
    installed = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def sent_together(earlier: Any, now: Any, sign: int = 1) -> Any:
    """What two parts of one run recorded: counts are added (with a sign), lists joined; else the later one counts."""
    match earlier, now:
        case dict(), dict():
            both = {name: (earlier.get(name, type(value)()), value) for name, value in now.items()}
            return earlier | {name: sent_together(*pair, sign) for name, pair in both.items()}
        case list(), list():
            return earlier + [each for each in now if each not in earlier]
        case int(), int() if not isinstance(now, bool):
            return earlier + sign * now
    return now


def check_same_study(folder: Path, asked: Mapping[str, Any], items: Iterable[Item] = ()) -> dict[str, Any] | None:
    """The manifest of the run that the folder holds, None for a new folder. A folder that holds something else, or a
    run with other arguments or `items`, is bad input."""
    if (manifest := read_manifest(folder)) is None:
        if folder.exists() and not (folder.is_dir() and all(path.name.startswith(_OURS) for path in folder.iterdir())):
            raise BadInput(f"{folder} exists and is not a results folder; give another --out")
        return None
    again = json.loads(json.dumps(dict(asked), default=str))
    for name, (before, now) in asked_differently(manifest["asked"], again).items():
        other, what = "arguments", f"{name.removeprefix('choices.')} was {short(before)}, is now {short(now)}"
        if name in _DERIVED:
            with suppress(BadInput):  # of a run that was killed at its very start, the items are not known
                other, what = "items", first_difference(thaw(folder / ITEMS), items) or what
        way = _elsewhere(folder, "repeat those, or give another --out")
        raise BadInput(f"{folder} holds a run with other {other} ({what}); {way}")
    return manifest


def asked_differently(asked: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs were asked differently, by dotted name. Templates that only the second has do not count, since the
    first cannot have used them."""
    before, now = (pd.json_normalize(dict(each)).to_dict("records")[0] for each in (asked, again))
    names = [name for name in {**before, **now} if name in before or not name.startswith("prompts_sha256.")]
    pairs = {name: (before.get(name), now.get(name)) for name in sorted(names, key=lambda name: name in _DERIVED)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
