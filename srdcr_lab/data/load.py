"""What can be loaded by name: items from every source, and the tables that the paper prints; items written to files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Traits, kind_of
from srdcr_lab.answers.year import YEAR_OFFSETS as YEAR_OFFSETS
from srdcr_lab.data import facts, rewrites, sources
from srdcr_lab.data.benchmarks import BENCHMARKS, benchmark, load_benchmark
from srdcr_lab.data.forms import read_traits
from srdcr_lab.data.items import ItemSet, is_frozen, standard_item, thaw
from srdcr_lab.data.perturbing import Refusal, checked_offsets
from srdcr_lab.data.rows import read_table
from srdcr_lab.data.tables import (
    LISTS,
    WRITTEN,
    checked_ending,
    checked_rows,
    items_from_frame,
    missing_columns,
)
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item
from srdcr_lab.records.files import csv_text, folder, whole_file
from srdcr_lab.records.vocabulary import did_you_mean, must_be

if TYPE_CHECKING:
    import pandas as pd

_SHIPPED: Mapping[str, Callable[[int, tuple[int, ...]], ItemSet]] = {
    "facts": lambda seed, offsets: facts.standard(),
    "facts:testbed": facts.testbed,
    "facts:pairs": facts.pairs,
    "facts:second": facts.second,
    "facts:grid": lambda seed, offsets: facts.grid(offsets),
    "facts:options": lambda seed, offsets: facts.options(seed),
    "facts:claims": lambda seed, offsets: facts.claims(seed),
    "facts:rewrites": lambda seed, offsets: rewrites.rewrites(),
    "facts:documents": lambda seed, offsets: sources.documents(seed),
}
SHIPPED = (*_SHIPPED, *(f"facts:{split}" for split in facts.SPLITS))
_OF_SPLIT = re.compile(rf"facts:(?P<split>{'|'.join(facts.SPLITS)})(?P<set>(?::.+)?)")  # facts:held, facts:held:grid
ITEM_ENDINGS = (".csv", ".jsonl", ".parquet")


def load_items(
    source: str | Path | pd.DataFrame | ItemSet = "facts",
    *,
    seed: int = 0,
    year_offsets: Sequence[int] = YEAR_OFFSETS,
    documents: bool = False,
    strict: bool = False,
) -> ItemSet:
    """Items to evaluate, with their exemplars; `notes` name file, row and column of what is left out.

    Parameters
    ----------
    source : ``facts``, ``facts:testbed``, ``facts:pairs``, ``facts:second``, ``facts:grid``, ``facts:rewrites``;
        ``facts:options``, ``facts:claims``, ``facts:documents``; of one split, ``facts:held``, ``facts:public:grid``
        and so on; a benchmark such as ``ramdocs`` (fetched before with ``srdcr data fetch``), or ``ramdocs=FILE`` (a
        file as published); the items.json of a results folder; a CSV, JSONL or Parquet file, or a DataFrame with the
        columns `question, gold_answer` and (unless it is closed-book) `context`, `options` or `documents`, and any of
        `claimed_answer, domain, answer_type, aliases, unit, question_id, item_id, perturbation_kind,
        perturbation_value, level, gold_answers, wrong_answers, accepted, is_exemplar, argued`.
    seed : of what is drawn from the shipped facts.
    year_offsets : by how many years, either way, the passages of the shipped testbed and grid lie.
    documents : whether a benchmark that has both forms is wanted with all documents of a question rather than as single
        passages; ``ramdocs:documents`` and ``ramdocs:passages`` ask for one of them whatever this is.
    strict : refuse a table or benchmark of which anything would be left out.
    """
    must_be("seed", seed, (Integral,), "a whole number")
    checked_offsets(year_offsets)
    if isinstance(source, ItemSet):
        return source
    if not isinstance(source, (str, Path)):
        import pandas as pd

        must_be("items", source, (pd.DataFrame,), "a source such as 'facts', a file, a DataFrame or an ItemSet")
        return items_from_frame(source, "table", facts.exemplars(), strict=strict)
    found = opened(source, seed=seed, year_offsets=year_offsets, documents=documents, strict=strict)
    if isinstance(found, ItemSet):
        return found
    return items_from_frame(found, Path(source).name, facts.exemplars(), strict=strict)


def opened(
    source: str | Path,
    *,
    seed: int = 0,
    year_offsets: Sequence[int] = YEAR_OFFSETS,
    documents: bool = False,
    strict: bool = False,
) -> ItemSet | pd.DataFrame:
    """What a source is: a known set's items, or a table of one's own, of which no row has been looked at."""
    split = _OF_SPLIT.fullmatch(str(source))
    if make := _SHIPPED.get(f"facts{split['set']}" if split else str(source)):
        made = make(seed, tuple(year_offsets))
        return facts.of_split(made, split["split"]) if split else made
    name, equals, file = str(source).partition("=")
    name, _, form = name.partition(":")
    if name in BENCHMARKS:
        form = form or ("documents" if documents and BENCHMARKS[name].read_documents else "passages")
        return load_benchmark(name, Path(file) if equals else None, form=form, strict=strict)
    path = Path(source)
    if equals and not path.exists():
        benchmark(name)  # which it is not
    if not path.suffix and not path.exists():
        near = did_you_mean(str(source), (*SHIPPED, *BENCHMARKS))
        raise BadInput(
            f"unknown items {str(source)!r}{near}; expected {', '.join(SHIPPED)}, a benchmark "
            f"({', '.join(BENCHMARKS)}; or NAME=FILE) or a file (.csv, .jsonl, .parquet)"
        )
    if is_frozen(path):
        return thaw(path)
    frame = read_table(path, strict=False)
    alike = [each for each in BENCHMARKS.values() if each.recognised and not missing_columns(frame, each.columns)]
    if alike and "gold_answer" not in frame.columns:
        closest = max(alike, key=lambda benchmark: len(benchmark.columns)).name
        raise BadInput(f"{path} has the columns of {closest} as published; write {closest}={path}")
    return frame


def read_source(source: str) -> tuple[ItemSet, list[Refusal]]:
    """A known set as `load_items` gives it; else a file's items and exemplars, and why its other rows are none."""
    path, found = Path(source), opened(source)
    if isinstance(found, ItemSet):
        return found, []
    rows = list(checked_rows(found, path.name))
    items = tuple(row for row in rows if isinstance(row, Item))
    evaluated = {item.question for item in items}
    exemplars = tuple(row for row in rows if isinstance(row, Exemplar) and row.question not in evaluated)
    refused = [Refusal("", "", "", str(row)) for row in rows if isinstance(row, BadInput)]
    return ItemSet(path.name, items, exemplars), refused


def traits_of(source: str) -> Mapping[str, Traits]:
    """What a source says of its answers, by question_id: the facts' tables, or columns of its own."""
    if source.partition(":")[0] == "facts":
        return facts.traits()
    found = opened(source)
    return {} if isinstance(found, ItemSet) else read_traits(found, Path(source).name)


def write_items(items: ItemSet, path: Path) -> None:
    """Items as CSV, JSON lines or Parquet, by the ending; `load_items` reads them back.

    Columns that are empty throughout are left out where they hold lists; the shipped exemplars are not repeated.
    """
    frame = _frame(items)
    ending = checked_ending(path, ITEM_ENDINGS).suffix.lower()
    with whole_file(path) as part:
        match ending:
            case ".csv":
                part.write_text(csv_text(frame), "utf-8", newline="")
            case ".jsonl":
                frame.to_json(part, orient="records", lines=True, force_ascii=False)
            case _:
                frame.to_parquet(part, index=False)


def _frame(items: ItemSet) -> pd.DataFrame:
    shipped = set(facts.exemplars())
    own = [exemplar for exemplar in items.exemplars if exemplar not in shipped]
    exemplars = [_as_item(f"exemplar-{number}", exemplar, items) for number, exemplar in enumerate(own, start=1)]
    frame = replace(items, items=(*items, *exemplars), exemplars=()).frame()
    frame = frame.rename(columns={"other_gold_answers": "gold_answers"})
    for lists in LISTS:
        frame[lists] = frame[lists].map("|".join)
    frame["is_exemplar"] = [*[""] * len(items), *["true"] * len(exemplars)]
    frame.loc[frame["is_exemplar"] == "true", ["perturbation_kind", "level"]] = ""
    frame["argued"] = ["true" if _is_argued(item) else "" for item in (*items, *exemplars)]
    text = [name for name in WRITTEN if name != "perturbation_value"]
    frame = frame[[*WRITTEN, "argued"]].astype({"perturbation_value": "Float64"} | dict.fromkeys(text, str))
    rare = [name for name in (*LISTS, "argued") if name != "aliases"]
    return frame.drop(columns=[name for name in rare if not frame[name].any()])


def _is_argued(item: Item) -> bool:
    """Whether a passage claims its answer in other words."""
    aliases = item.aliases if item.is_standard else ()
    claim = item.claimed_answer, item.answer_type, item.unit, aliases
    return kind_of(item.answer_type).is_stated and bool(item.context) and not answers.find(item.context, *claim)


def _as_item(item_id: str, exemplar: Exemplar, items: ItemSet) -> Item:
    """An exemplar as an item, of the first type of its domain's items by which its passage states its answer."""
    question, answer, context, domain = exemplar.question, exemplar.answer, exemplar.context, exemplar.domain
    types = dict.fromkeys(item.answer_type for item in items if item.domain == domain)
    fitting = (kind for kind in (*types, *AnswerType) if answers.find(context, answer, kind))
    answer_type = next(fitting, answers.guess_type([answer]))
    return standard_item(item_id, question, answer, context, domain=domain, answer_type=answer_type)


def printed_tables(table: str | None = None) -> pd.DataFrame:
    """Every number of the paper's Tables 1 and 2 (`table`: "Table 1" or "Table 2" for one of them).

    Columns `table`, `model`, `printed_method`, `method`, `column`, `percent`, `caution`, and `accuracy`, which is
    `percent` / 100. `caution` says what to keep in mind about a number (some of SR-DCR's leave items out of the
    denominator) and is empty for most. Source: arXiv 2506.06020, section 4 (`data/reference`, with its datasheet).
    """
    import pandas as pd

    printed = pd.read_csv(folder("reference") / "sr_dcr_tables.csv", keep_default_na=False)
    printed["accuracy"] = printed["percent"] / 100
    return printed if table is None else printed[printed["table"] == table].reset_index(drop=True)
