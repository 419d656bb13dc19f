"""One door to every source of items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.data import facts, sets
from srdcr_lab.data.benchmarks import BENCHMARKS, load_benchmark
from srdcr_lab.data.benchmarks.documents import DOCUMENT_READERS
from srdcr_lab.data.benchmarks.published import has_columns_of
from srdcr_lab.data.items import ItemSet, is_frozen, thaw
from srdcr_lab.data.perturbing import YEAR_OFFSETS
from srdcr_lab.data.tables import items_from_frame, read_table
from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = ("facts", "facts:testbed", "facts:grid", "facts:options", "facts:claims", "facts:documents")


def load_items(
    source: str | Path | pd.DataFrame | ItemSet = "facts",
    *,
    seed: int = 0,
    year_offsets: Sequence[int] = YEAR_OFFSETS,
    documents: bool = False,
) -> ItemSet:
    """Items to evaluate, with their exemplars.

    Parameters
    ----------
    source : ``facts``, ``facts:testbed``, ``facts:grid``; ``facts:options``, ``facts:claims``, ``facts:documents``; a
        benchmark such as ``ramdocs`` (fetched before with ``srdcr data fetch``), or ``ramdocs=FILE`` (a file as
        published); the items.json of a results folder; a CSV, JSONL or Parquet file, or a DataFrame with the columns
        `question, gold_answer` and `context`, `options` or `documents`, and any of `claimed_answer, domain,
        answer_type, aliases, unit, question_id, item_id, perturbation_kind, perturbation_value, level, gold_answers,
        wrong_answers, is_exemplar`.
    seed : of the testbed's draw of questions and perturbations.
    year_offsets : by how many years, either way, the passages of the shipped testbed and grid lie.
    documents : whether a benchmark that has both forms is wanted with all documents of a question rather than as single
        passages; ``ramdocs:documents`` and ``ramdocs:passages`` say so whatever stands here.

    Raises
    ------
    BadInput
        One sentence that names file, row and column.
    """
    if isinstance(source, ItemSet):
        return source
    if not isinstance(source, (str, Path)):
        return items_from_frame(source, "table", facts.exemplars())
    match str(source):
        case "facts":
            return facts.standard()
        case "facts:testbed":
            return facts.testbed(seed, tuple(year_offsets))
        case "facts:grid":
            return facts.grid(tuple(year_offsets))
        case "facts:options":
            return sets.options(seed)
        case "facts:claims":
            return sets.claims(seed)
        case "facts:documents":
            return sets.documents(seed)
    name, given, file = str(source).partition("=")
    name, _, form = name.partition(":")
    if name in BENCHMARKS:
        form = form or ("documents" if documents and name in DOCUMENT_READERS else "passages")
        return load_benchmark(name, Path(file) if given else None, facts.exemplars(), form=form)
    path = Path(source)
    if not path.suffix and not path.exists():
        raise BadInput(
            f"unknown items {str(source)!r}; expected {', '.join(SHIPPED)}, a benchmark ({', '.join(BENCHMARKS)}; "
            "or NAME=FILE) or a file (.csv, .jsonl, .parquet)"
        )
    if is_frozen(path):
        return thaw(path)
    frame = read_table(path)
    alike = [each for each in BENCHMARKS.values() if has_columns_of(frame, each)]
    look_alikes = [each.name for each in sorted(alike, key=lambda each: -len(each.columns))]
    if look_alikes and "gold_answer" not in frame.columns:
        raise BadInput(f"{path} has the columns of {look_alikes[0]} as published; write {look_alikes[0]}={path}")
    return items_from_frame(frame, path.name, facts.exemplars())
