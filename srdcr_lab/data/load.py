"""Load items by name: the shipped facts, a published benchmark, or your own table.

`benchmarks.toml` lists the benchmarks, and `readers` turns their rows into those of a table; a new one needs a section
and a function. A benchmark is read from the user's own file, or downloaded once into a cache folder and checked by
checksum. `srdcr data check` reports everything that is wrong with a table. It reads rows in the same way as loading
does, so it reports every error at which loading would stop.
"""

import hashlib
import json
import os
import re
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.dates import YEAR_OFFSETS as YEAR_OFFSETS
from srdcr_lab.answers.name import NAME_WORDS
from srdcr_lab.answers.wording import tokens
from srdcr_lab.data import facts, readers, tables
from srdcr_lab.data.items import ItemSet, grouped, is_frozen, not_evaluated, standard_item, thaw, with_exemplars
from srdcr_lab.data.perturbing import Refusal, checked_offsets, traits_in
from srdcr_lab.data.rows import read_table
from srdcr_lab.data.tables import LISTS, WRITTEN, check_columns, checked_rows, items_from_rows, missing_columns
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item, Needs
from srdcr_lab.records.files import csv_text, folder, sha256_of, to_write, whole_file, write_whole
from srdcr_lab.records.vocabulary import did_you_mean, must_be

LARGEST = 500_000_000  # bytes; no published file comes near
_TIMEOUT_S = 30
_SHIPPED: Mapping[str, Callable[[int, tuple[int, ...]], ItemSet]] = {
    "facts": lambda seed, offsets: facts.standard(),
    "facts:testbed": facts.testbed,
    "facts:pairs": facts.pairs,
    "facts:second": facts.second,
    "facts:grid": lambda seed, offsets: facts.grid(offsets),
    "facts:options": lambda seed, offsets: facts.options(seed),
    "facts:claims": lambda seed, offsets: facts.claims(seed),
    "facts:rewrites": lambda seed, offsets: facts.rewrites(),
    "facts:documents": lambda seed, offsets: facts.documents(seed),
    "hops": lambda seed, offsets: items_from_rows(
        checked_rows(read_table(folder("hops") / "chains.jsonl"), "hops", is_ours=True)
    ),
}
SHIPPED = (*_SHIPPED, *(f"facts:{split}" for split in facts.SPLITS))
_UNFLAGGED = ":unflagged"  # behind the name of a shipped set
_OF_SPLIT = re.compile(rf"facts:(?P<split>{'|'.join(facts.SPLITS)})(?P<set>(?::.+)?)")  # facts:held, facts:held:grid
ITEM_ENDINGS = (".csv", ".jsonl", ".parquet")
_SHUFFLED = "documents stand in an order drawn from the question, since the published one follows their types"


def load_items(
    source: str | Path | pd.DataFrame | ItemSet = "facts", *, seed: int = 0,
    year_offsets: Sequence[int] = YEAR_OFFSETS, documents: bool = False, strict: bool = False,
) -> ItemSet:  # fmt: skip
    """Load items to evaluate, with their exemplars.

    Parameters
    ----------
    source : str, Path, DataFrame or ItemSet, default "facts"
        One of `facts`, `facts:testbed`, `facts:pairs`, `facts:second`, `facts:grid`, `facts:rewrites`, `facts:options`,
        `facts:claims`, `facts:documents`, or one split of these (`facts:held`, `facts:public:grid`), with `:unflagged`
        behind it without false passages that may give themselves away (`facts:grid:unflagged`); `hops`, chains of two
        or three questions; a benchmark such as
        `ramdocs` (fetched before with ``srdcr data fetch``), or `ramdocs=FILE`; the items.json of a results folder; a
        CSV, JSONL or Parquet file, or a DataFrame, with the columns `question`, `gold_answer` and, unless it is
        closed-book, `context`, `options`, `documents` or `hops`. The guide lists the optional columns.
    seed : int, default 0
        Seed of what is drawn from the shipped facts.
    year_offsets : sequence of int, default YEAR_OFFSETS
        Years, of either sign, by which passages of the shipped testbed and grid are false.
    documents : bool, default False
        Load all documents of a question instead of single passages, from a benchmark that has both; `ramdocs:documents`
        and `ramdocs:passages` ask for one of them.
    strict : bool, default False
        Refuse a table or benchmark of which anything would be left out.

    Returns
    -------
    ItemSet
        The items. Their `notes` name file, row and column of what was left out.

    Raises
    ------
    BadInput
        The source is unknown, or a table cannot be used.

    Examples
    --------
    >>> len(load_items("facts:testbed"))
    600
    """
    must_be("seed", seed, (Integral,), "a whole number")
    checked_offsets(year_offsets)
    found, name = source, "table"
    if isinstance(source, (str, Path)):
        found = opened(source, seed=seed, year_offsets=year_offsets, documents=documents, strict=strict)
        name = Path(source).name
    if isinstance(found, ItemSet):
        return found
    must_be("items", found, (pd.DataFrame,), "a source such as 'facts', a file, a DataFrame or an ItemSet")
    items = items_from_rows(checked_rows(found, name), facts.exemplars(), strict=strict)
    return replace(items, traits=traits_in(found, name))


def opened(
    source: str | Path, *, seed: int = 0, year_offsets: Sequence[int] = YEAR_OFFSETS, documents: bool = False,
    strict: bool = False,
) -> ItemSet | pd.DataFrame:  # fmt: skip
    """Return a known set's items, or the unread rows of the user's own table."""
    if str(source).startswith("facts:") and str(source).endswith(_UNFLAGGED):
        return load_items(str(source).removesuffix(_UNFLAGGED), seed=seed, year_offsets=year_offsets).unflagged()
    split = _OF_SPLIT.fullmatch(str(source))
    if make := _SHIPPED.get(f"facts{split['set']}" if split else str(source)):
        made = replace(make(seed, tuple(year_offsets)), traits=facts.traits)
        return facts.of_split(made, split["split"]) if split else made
    name, equals, file = str(source).partition("=")
    name, _, form = name.partition(":")
    if name in BENCHMARKS:
        form = form or ("documents" if documents and BENCHMARKS[name].read("documents") else "passages")
        return load_benchmark(name, Path(file) if equals else None, form=form, strict=strict)
    path = Path(source)
    if equals and not path.exists():
        benchmark(name)  # which it is not
    if not path.suffix and not path.exists():
        near, shipped = did_you_mean(str(source), (*SHIPPED, *BENCHMARKS)), ", ".join(SHIPPED)
        others = f"a benchmark ({', '.join(BENCHMARKS)}; or NAME=FILE) or a file (.csv, .jsonl, .parquet)"
        raise BadInput(f"unknown items {str(source)!r}{near}; expected {shipped}, {others}")
    if is_frozen(path):
        return thaw(path)
    frame = read_table(path, strict=False)
    alike = [each for each in BENCHMARKS.values() if each.recognised and not missing_columns(frame, each.columns)]
    if alike and "gold_answer" not in frame.columns:
        closest = max(alike, key=lambda each: len(each.columns)).name
        own = "or, if the table is your own, call its columns question, gold_answer and context"
        raise BadInput(f"{path} has the columns of {closest} as published; write {closest}={path}, {own}")
    return frame


def read_source(source: str) -> tuple[ItemSet, list[Refusal]]:
    """Items of a source (a known set as `load_items` returns it), and for a file why rows were left out."""
    path, found = Path(source), opened(source)
    if isinstance(found, ItemSet):
        return found, []
    rows = [entry for _, entry in checked_rows(found, path.name)]
    items = tuple(row for row in rows if isinstance(row, Item))
    exemplars = not_evaluated([row for row in rows if isinstance(row, Exemplar)], items)
    refused = [Refusal("", "", "", str(row)) for row in rows if isinstance(row, BadInput)]
    return ItemSet(path.name, items, exemplars, traits=traits_in(found, path.name)), refused


def write_items(items: ItemSet, path: Path) -> None:
    """Write items as CSV, JSON lines or Parquet, chosen by the file ending; `load_items` reads them back.

    Columns that hold lists are left out if all are empty. The shipped exemplars are not repeated.
    """
    shipped = set(facts.exemplars())
    own = [exemplar for exemplar in items.exemplars if exemplar not in shipped]
    exemplars = [_as_item(f"exemplar-{number}", exemplar, items) for number, exemplar in enumerate(own, start=1)]
    frame = replace(items, items=(*items, *exemplars), exemplars=()).frame()
    frame = frame.rename(columns={"other_gold_answers": "gold_answers"})
    for lists in LISTS:
        frame[lists] = frame[lists].map(_in_a_cell)
    frame["is_control"] = frame["is_control"].map({True: "true", False: ""})
    frame["is_exemplar"] = [*[""] * len(items), *["true"] * len(exemplars)]
    frame.loc[frame["is_exemplar"] == "true", ["perturbation_kind", "level"]] = ""
    frame["argued"] = ["true" if item.context and tables.lacks_its_claim(item) else "" for item in (*items, *exemplars)]
    frame = frame[[*WRITTEN, "argued"]].astype(dict.fromkeys(WRITTEN, str) | {"perturbation_value": "Float64"})
    rare = [name for name in (*LISTS, "argued") if name not in ("aliases", "flags")]
    frame = frame.drop(columns=[name for name in rare if not frame[name].any()])
    ending = to_write(path, ITEM_ENDINGS).suffix.lower()
    with whole_file(path) as part:
        if ending == ".csv":
            part.write_text(csv_text(frame), "utf-8", newline="")
        elif ending == ".jsonl":
            frame.to_json(part, orient="records", lines=True, force_ascii=False)
        else:
            frame.to_parquet(part, index=False)


def _in_a_cell(texts: Sequence[str]) -> str:
    """Texts with bars between them, or as JSON if one of them holds a bar."""
    return json.dumps(texts, ensure_ascii=False) if "|" in "".join(texts) else "|".join(texts)


def _as_item(item_id: str, exemplar: Exemplar, items: ItemSet) -> Item:
    """An exemplar as an item, with the first answer type of its domain by which its passage states its answer."""
    answer, types = exemplar.answer, dict.fromkeys(item.answer_type for item in items if item.domain == exemplar.domain)
    fitting = (kind for kind in (*types, *AnswerType) if answers.states(exemplar.context, answer, kind))
    others = {"domain": exemplar.domain, "answer_type": next(fitting, answers.guess_type([answer]))}
    return standard_item(item_id, exemplar.question, answer, exemplar.context, **others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A published file: one section of `benchmarks.toml`."""

    name: str
    meaning: str
    home: str
    licence: str
    rows: int
    url: str
    columns: Sequence[str]
    reader: str = ""
    note: str = ""
    sha256: str = ""
    recognised: bool = True

    def read(self, form: str) -> readers.Reader | None:
        """The reader of its rows, for ``passages`` or ``documents``; None if it lacks that form."""
        endings = {"passages": "", "documents": "_documents"}
        return getattr(readers, f"read_{self.reader or self.name}{endings[form]}", None) if form in endings else None


_ROWS = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
BENCHMARKS = MappingProxyType({name: Benchmark(name=name, **row) for name, row in _ROWS.items()})


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; raises `BadInput` for an unknown one."""
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise BadInput(f"there is no benchmark {name!r}{did_you_mean(name, BENCHMARKS)}; known are {known}")
    return BENCHMARKS[name]


def load_benchmark(name: str, path: Path | None, *, form: str = "passages", strict: bool = False) -> ItemSet:
    """Load the items of a benchmark.

    Parameters
    ----------
    name : str
        Name of the benchmark.
    path : Path or None
        A file in its published columns; None for the file that was fetched.
    form : str, default "passages"
        ``passages`` (one passage per item) or ``documents`` (one item per question, with all its documents).
    strict : bool, default False
        Refuse a file of which anything would be left out.

    Returns
    -------
    ItemSet
        The items. Their `notes` name what was left out.

    Raises
    ------
    BadInput
        The file is missing, has changed since it was fetched or lacks columns, or the form is unknown.
    """
    source = benchmark(name)
    if not (read := source.read(form)):
        forms = " or ".join(f"{name}:{known}" for known in ("passages", "documents") if source.read(known))
        raise BadInput(f"{name} has no form {form!r}; write {forms}")
    file = _fetched(source) if path is None else path
    frame = read_table(file, source.columns)
    check_columns(frame, source.columns, str(file), f"{name} as published has {described(source.columns)}")
    made = readers.in_our_columns(frame, file.name, read, source.reader or name)
    name, note = (f"{name}:documents", _SHUFFLED) if form == "documents" else (name, source.note)
    pairs, _, faults = tables.sorted_out(list(checked_rows(made, file.name)), name, strict=strict)
    items = [item for _, item in pairs]
    if any(item.has(Needs.PASSAGE) for item in items):
        whole = with_exemplars(name, items, (), facts.exemplars())
    else:
        whole = ItemSet(name, tuple(items), not_evaluated(facts.exemplars(), items))
    notes = [f"{name}: {note}"] if note else []
    notes += [*tables.shortened(pairs, name), *tables.left_out_by_reason(faults, name)]
    if n := sum(not item.is_standard and _mentions_gold(item) for item in whole):
        notes.append(f"{name}: {n} false passages mention the gold answer beside their claim")
    return replace(whole, notes=(*notes, *whole.notes))


def _mentions_gold(item: Item) -> bool:
    """Whether the passage has the gold answer as written; other spellings are too slow to look for here."""
    if not any(form.lower() in item.context.lower() for form in (item.gold_answer, *item.aliases)):
        return False
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return any(not span.partial for span in spans)


def described(columns: Sequence[str]) -> str:
    """Column names, as listed in a message."""
    return ", ".join(column.replace("|", " or ") for column in columns)


def benchmark_file(source: Benchmark) -> Path:
    """The path of a benchmark's file once it has been downloaded."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "srdcr_lab"
    return Path(os.environ.get("SRDCR_DATA") or shared) / source.name / source.url.rpartition("/")[2]


def _fetched(source: Benchmark) -> Path:
    """The file in the cache folder; raises `BadInput` if it is missing or its checksum is wrong."""
    path = benchmark_file(source)
    if not path.is_file():
        raise BadInput(f"{source.name} is not fetched yet; run srdcr data fetch {source.name}, or {_by_hand(source)}")
    if source.sha256 and (digest := sha256_of(path)) != source.sha256:
        told = f"{path} has the sha256 {digest}, expected {source.sha256}; delete it and run srdcr data fetch"
        raise BadInput(f"{told} {source.name}, or name a copy you trust with --items {source.name}=FILE")
    return path


def download(source: Benchmark) -> tuple[Path, str]:
    """Download the file into the cache folder; returns its path and the message to print.

    The file gets its name only when it is complete and its checksum is right; otherwise `BadInput` says why.
    """
    if urlsplit(source.url).scheme not in ("https", "http"):
        raise BadInput(f"{source.name}: {source.url} is not a web address")
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (scheme checked above)
            expected, content = answer.headers.get("Content-Length") or "", answer.read(LARGEST + 1)
    except (HTTPException, OSError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise BadInput(f"cannot download {source.name} ({reason}); {_by_hand(source)}") from None
    if len(content) > LARGEST:
        raise BadInput(f"{source.url} is larger than {LARGEST:,} bytes; {_by_hand(source)}")
    if expected.isdigit() and len(content) != int(expected):
        raise BadInput(f"fetching {source.name} was interrupted; run the same command again, or {_by_hand(source)}")
    digest, target = hashlib.sha256(content).hexdigest(), benchmark_file(source)
    if source.sha256 and digest != source.sha256:
        told = f"{source.url} has the sha256 {digest}, expected {source.sha256}; nothing was kept: the file has changed"
        copy = f"a copy you trust with --items {source.name}=FILE"
        raise BadInput(f"{told} since, so look at {source.home}, and use {copy}")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, content)
    agrees = "as published" if source.sha256 else f"{digest}; none is published to compare it with"
    return target, f"{source.name}: {target}, sha256 {agrees}"


def _by_hand(source: Benchmark) -> str:
    """How to get the file without a network."""
    by_hand = f"download {source.url} by hand (home: {source.home}) and put it at {benchmark_file(source)}"
    return f"{by_hand}, or name your copy with --items {source.name}=FILE"


_ENOUGH = 4  # numbers that are all years by chance no more


@dataclass(slots=True)
class Report:
    """What is wrong with a table, by check, and how often each check was made."""

    name: str
    items: Sequence[Item] = ()
    checked: dict[str, int] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """Everything that is wrong, one sentence each."""
        return [sentence for found in self.findings.values() for sentence in found]


def check_source(source: str | Path, *, strict: bool = False) -> Report:
    """Check a table row by row, or anything else that `load_items` takes.

    Raises `BadInput` only if the source cannot be read at all. What a benchmark leaves out is a note, or with `strict`
    a finding.
    """
    found = opened(source)
    if not isinstance(found, ItemSet):
        return check_table(found, Path(source))
    report = Report(found.name, found.items, {"row": len(found)}, notes=[*found.notes])
    if strict:
        report.checked["nothing left out"] = 1
        try:
            opened(source, strict=True)
        except BadInput as error:
            report.findings["nothing left out"] = [str(error)]
    return report


def check_table(frame: pd.DataFrame, path: Path) -> Report:
    """Check every row of a user's table, its answer types, and whether the table loads as a whole."""
    rows = list(checked_rows(frame, path.name))
    items = [entry for _, entry in rows if isinstance(entry, Item)]
    kinds = grouped(items, lambda item: (item.domain, item.answer_type)).items()
    report = Report(str(path), items, {"row": len(rows), "answer type": len(kinds)})
    wrong = [str(entry) for _, entry in rows if isinstance(entry, BadInput)]
    misnamed = [f"{path.name}, domain {of[0]}: {what}" for of, members in kinds for what in _misnamed(of[1], members)]
    report.findings = {check: found for check, found in (("row", wrong), ("answer type", misnamed)) if found}
    if len(wrong) < len(rows):
        report.checked["whole table"] = 1
        try:
            notes = items_from_rows(rows, facts.exemplars()).notes
            report.notes = [note for note in notes if note not in wrong]
        except BadInput as error:
            report.findings["whole table"] = [str(error)]
    return report


def _misnamed(answer_type: AnswerType, items: Sequence[Item]) -> Iterator[str]:
    """Why the answers of a domain do not have the answer type that the table gives them."""
    for item in items if answer_type in (AnswerType.NAME, AnswerType.CITY) else ():
        kind, words = answers.guess_type([item.gold_answer]), tokens(item.gold_answer)
        organised = len(words) > 1 and words[0 if words[1] == "of" else -1] in NAME_WORDS["organisations"]
        if kind is not AnswerType.TEXT or organised:
            looks = "an organisation" if organised else f"a {kind}"
            yield f"{item.item_id}: {item.gold_answer!r:.60} is said to be a {answer_type} and looks like {looks}"
    bare = [item.gold_answer for item in items if answer_type is AnswerType.NUMBER and not item.unit]
    if len(bare) >= _ENOUGH and answers.guess_type(bare) is AnswerType.YEAR:
        yield f"its {len(bare)} numbers without a unit are all such as {bare[0]}; if they are years, say so"
