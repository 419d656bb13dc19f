"""Published benchmarks as single-passage items: from the user's own file, or fetched once into a cache folder.

A map: one module per benchmark reads its published columns; `published` says what a benchmark is and where it comes
from; `fetching` brings it here and minds its checksum; `gathering` collects items and counts what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks import clasheval, conflictqa, fetching, ramdocs
from srdcr_lab.data.benchmarks.published import Benchmark, needed_columns
from srdcr_lab.data.tables import read_table
from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    from srdcr_lab.data.itemset import ItemSet
    from srdcr_lab.records import Exemplar

__all__ = ["BENCHMARKS", "Benchmark", "benchmark", "load_benchmark"]

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {each.name: each for each in (clasheval.CLASHEVAL, conflictqa.STRATEGYQA, conflictqa.POPQA, ramdocs.RAMDOCS)}
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


def load_benchmark(name: str, path: Path | None, exemplar_pool: tuple[Exemplar, ...] = ()) -> ItemSet:
    """Items of a benchmark from a file in its published columns, or (`path` None) from the cache folder.

    Raises
    ------
    BadInput
        If the file is missing, was changed since it was fetched, or does not have the published columns.
    """
    source = benchmark(name)
    own = path if path is not None else fetching.cached(source)
    frame = read_table(own, source.columns)
    needed_columns(frame, source, own)
    return replace(source.read(frame, own.name, exemplar_pool), name=source.name)
