"""Any items table, row by row: the sentences that loading would stop at, all of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from srdcr_lab.data.checks.report import Report
from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.data.load import load_items
from srdcr_lab.data.table_files import read_table
from srdcr_lab.data.tables import checked_rows
from srdcr_lab.records import BadInput, Item


def check_table(path: Path) -> Report:
    """Every row of a table of one's own; whether it loads as a whole is the last check.

    Raises
    ------
    BadInput
        If the file cannot be read as a table of items at all.
    """
    report = Report(str(path))
    items = []
    for found in checked_rows(read_table(path), path.name):
        report.look("row", "", [str(found)] if isinstance(found, BadInput) else [])
        if isinstance(found, Item):
            items.append(found)
    if not report.findings:
        try:
            report.notes += load_items(path).notes
            report.look("whole table", "", [])
        except BadInput as error:
            report.look("whole table", "", [str(error)])
    _count(report, items)
    return report


def check_items(items: ItemSet) -> Report:
    """Counts and notes of a set that loads: a benchmark, the shipped facts and what is made of them."""
    report = Report(items.name)
    report.checked["row"] = len(items)
    report.notes += items.notes
    _count(report, list(items))
    return report


def _count(report: Report, items: list[Item]) -> None:
    report.counts.append(("domain, level", Counter((item.domain, item.level.value) for item in items)))
    report.counts.append(("answer type", Counter((item.answer_type.value,) for item in items)))
