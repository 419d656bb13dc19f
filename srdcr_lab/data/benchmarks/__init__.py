"""Published benchmarks as items: from the user's own file, or fetched once into a cache folder.

A benchmark is a declaration (`published.Benchmark`) and a reader of its published columns: `clasheval`, `conflictqa`
and `ramdocs` have passages, `question_sets` options, claims and open questions. `published` fetches a file and checks
it; `gathering` collects items and counts what is left out. A new benchmark is a file, its import and its place in
`_KNOWN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.clasheval import CLASHEVAL
from srdcr_lab.data.benchmarks.conflictqa import POPQA, STRATEGYQA
from srdcr_lab.data.benchmarks.published import Benchmark, cached
from srdcr_lab.data.benchmarks.question_sets import BOOLQ, COMMONSENSEQA, COSMOSQA, GSM8K, HOVER
from srdcr_lab.data.benchmarks.ramdocs import RAMDOCS
from srdcr_lab.data.rows import read_table, rows_of
from srdcr_lab.data.tables import check_columns
from srdcr_lab.records import BadInput
from srdcr_lab.records.vocabulary import did_you_mean

if TYPE_CHECKING:
    from srdcr_lab.data.items import ItemSet

__all__ = ["BENCHMARKS", "Benchmark", "benchmark", "load_benchmark"]

_KNOWN = (CLASHEVAL, STRATEGYQA, POPQA, RAMDOCS, COMMONSENSEQA, COSMOSQA, BOOLQ, HOVER, GSM8K)
BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({source.name: source for source in _KNOWN})


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; bad input where there is none."""
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise BadInput(f"there is no benchmark {name!r}{did_you_mean(name, BENCHMARKS)}; known are {known}")
    return BENCHMARKS[name]


def load_benchmark(name: str, path: Path | None, *, form: str = "passages", strict: bool = False) -> ItemSet:
    """Items of a benchmark from a file in its published columns, or (`path` None) from the cache folder.

    `form` is ``passages`` (one passage an item) or ``documents`` (all documents of a question, one item a question).
    Bad input: a file that is missing, changed since it was fetched, or without the published columns; an unknown form;
    with `strict`, anything left out.
    """
    source = benchmark(name)
    readers = {"passages": source.read, "documents": source.read_documents}
    if not (read := readers.get(form)):
        forms = " or ".join(f"{name}:{known}" for known, reader in readers.items() if reader)
        raise BadInput(f"{name} has no form {form!r}; write {forms}")
    file, table = (cached(source), None) if path is None else _with_table(path, source)
    frame = read_table(file, source.columns)
    columns = ", ".join(column.replace("|", " or ") for column in source.columns)
    check_columns(frame, source.columns, str(file), f"{name} as published has {columns}")
    rows = rows_of(frame, file.name)
    if source.join and table:
        source.join(rows, table)
    gathered = read(rows)
    if strict and gathered.left_out.total():
        raise BadInput(f"{file.name}: {gathered.left_out_sentence()}")
    return replace(gathered.result(file.name), name=f"{name}:documents" if form == "documents" else name)


def _with_table(path: Path, source: Benchmark) -> tuple[Path, Path | None]:
    """The published file, and the table of one's own that is named after a plus sign."""
    file, plus, table = str(path).rpartition("+")
    if not plus or path.exists():
        return path, None
    if source.join is None:
        raise BadInput(f"{source.name} takes no second file; write {source.name}={file}")
    return Path(file), Path(table)
