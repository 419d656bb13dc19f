"""Published benchmarks as items: from the user's own file, or fetched once into a cache folder.

A map: one module per benchmark reads its published columns, as single-passage items or as questions with options;
`documents` reads those that come with several documents; `published` says what a benchmark is and where it comes from;
`fetching` brings it here and minds its checksum; `gathering` (passages) and `questions` (options, claims, open ones)
collect items and count what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.clasheval import CLASHEVAL
from srdcr_lab.data.benchmarks.conflictqa import POPQA, STRATEGYQA
from srdcr_lab.data.benchmarks.documents import DOCUMENT_READERS
from srdcr_lab.data.benchmarks.hover import HOVER
from srdcr_lab.data.benchmarks.published import Benchmark, cached, needed_columns
from srdcr_lab.data.benchmarks.question_sets import BOOLQ, COMMONSENSEQA, COSMOSQA, GSM8K
from srdcr_lab.data.benchmarks.ramdocs import RAMDOCS
from srdcr_lab.data.tables import read_table
from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    from srdcr_lab.data.items import ItemSet
    from srdcr_lab.records import Exemplar

__all__ = ["BENCHMARKS", "Benchmark", "benchmark", "load_benchmark"]

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        each.name: each
        for each in (
            CLASHEVAL,
            STRATEGYQA,
            POPQA,
            RAMDOCS,
            COMMONSENSEQA,
            COSMOSQA,
            BOOLQ,
            HOVER,
            GSM8K,
        )
    }
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name.

    Raises
    ------
    BadInput
        If there is none.
    """
    if name not in BENCHMARKS:
        raise BadInput(f"there is no benchmark {name!r}; known are {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]


def load_benchmark(
    name: str, path: Path | None, exemplar_pool: tuple[Exemplar, ...] = (), *, form: str = "passages"
) -> ItemSet:
    """Items of a benchmark from a file in its published columns, or (`path` None) from the cache folder.

    `form` is ``passages`` (one passage an item) or ``documents`` (all documents of a question, one item a question).

    Raises
    ------
    BadInput
        If the file is missing, was changed since it was fetched, or does not have the published columns; if the
        benchmark does not come in that form.
    """
    source = benchmark(name)
    forms = ("passages", "documents") if name in DOCUMENT_READERS else ("passages",)
    if form not in forms:
        raise BadInput(f"{name} has no form {form!r}; write {' or '.join(f'{name}:{each}' for each in forms)}")
    own, beside = _with_table(path, source) if path is not None else (cached(source), None)
    frame = read_table(own, source.columns)
    needed_columns(frame, source, own)
    if source.join and beside:
        frame = source.join(frame, own.name, beside)
    if form == "documents":
        return replace(DOCUMENT_READERS[name](frame, own.name, exemplar_pool), name=f"{name}:documents")
    return replace(source.read(frame, own.name, exemplar_pool), name=source.name)


def _with_table(path: Path, source: Benchmark) -> tuple[Path, Path | None]:
    """The published file, and the table of one's own that is named after a plus sign."""
    file, plus, table = str(path).rpartition("+")
    if not plus or path.exists():
        return path, None
    if source.join is None:
        raise BadInput(f"{source.name} takes no second file; write {source.name}={file}")
    return Path(file), Path(table)
