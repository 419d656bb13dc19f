"""One door to the checks, whatever is to be looked over."""

from __future__ import annotations

from pathlib import Path

from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.checks.facts import check_facts
from srdcr_lab.data.checks.report import Report
from srdcr_lab.data.checks.table import check_items, check_table
from srdcr_lab.data.load import SHIPPED, load_items


def check_source(source: str | Path) -> Report:
    """A table of items row by row, a folder of facts, a shipped set, or a benchmark (NAME or NAME=FILE).

    Raises
    ------
    BadInput
        If the source cannot be read at all.
    """
    if Path(source).is_dir():
        return check_facts(Path(source))
    if str(source).partition("=")[0] in BENCHMARKS or str(source) in SHIPPED:
        return check_items(load_items(source))
    return check_table(Path(source))
