"""HoVer (Jiang et al. 2020): claims whose support takes two to four hops over pages of an encyclopedia.

The published file names the supporting sentences by page title and place, without their text. Text comes from a table
of one's own: ``hover=FILE+TABLE`` joins a CSV, JSONL or Parquet file with the columns `title, text`, and `sentence`
(from 0) where a row is a sentence and not a whole page. Without it the claim stands alone.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.gathering import PublishedRow, Questions, rows_of, with_options
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.sets import TRUE_OR_FALSE
from srdcr_lab.data.tables import read_table
from srdcr_lab.records import BadInput, Exemplar

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet

EVIDENCE = "evidence"  # the column that `join` adds
_LABELS = {"SUPPORTED": "true", "NOT_SUPPORTED": "false"}
_WHOLE_PAGE = -1


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows; `domain` tells the hops apart, as the CFMAD paper's tables do."""
    questions = Questions("hover", file)
    joined = EVIDENCE in frame.columns
    for row in rows_of(frame, file):
        label = row.text("label")
        if label not in _LABELS:
            raise row.bad("label", f"{label!r} is none of {', '.join(_LABELS)}")
        if not (claim := row.text("claim")):
            raise row.bad("claim", "is empty")
        if not (hops := row.text("num_hops")).isdigit():
            raise row.bad("num_hops", f"{hops!r} is not a whole number")
        if joined and not row.text(EVIDENCE):
            questions.leave_out("its evidence is not in the table")
            continue
        item = with_options(
            f"hover-{row.number}",
            f"Is this claim true or false? {claim}",
            TRUE_OR_FALSE,
            _LABELS[label],
            context=row.text(EVIDENCE) if joined else "",
            domain=f"hover {hops}-hop",
        )
        questions.take(item, row, "claim")
    alone = "hover: no evidence was given, so every claim stands alone; hover=FILE+TABLE joins it"
    return questions.result(exemplar_pool, *([] if joined else [alone]))


def join(frame: pd.DataFrame, file: str, table: Path) -> pd.DataFrame:
    """The published rows with the text of their supporting sentences; empty where one of them is not in the table.

    Raises
    ------
    BadInput
        If the table lacks a column or has a sentence number that is none.
    """
    pages = _pages(table)
    return frame.assign(**{EVIDENCE: [_evidence(row, pages) for row in rows_of(frame, file)]})


def _pages(table: Path) -> dict[str, dict[int, str]]:
    """Title → place → text; a whole page has the place −1."""
    frame = read_table(table, ("title", "text"))
    absent = [column for column in ("title", "text") if column not in frame.columns]
    if absent:
        raise BadInput(f"{table}: the column {absent[0]} is missing; evidence has title, text and perhaps sentence")
    pages: dict[str, dict[int, str]] = defaultdict(dict)
    for row in rows_of(frame, table.name):
        place = row.text("sentence")
        if place and not place.isdigit():
            raise row.bad("sentence", f"{place!r} is not a whole number from 0")
        pages[row.text("title")][int(place) if place else _WHOLE_PAGE] = row.text("text")
    return pages


def _evidence(row: PublishedRow, pages: dict[str, dict[int, str]]) -> str:
    texts: dict[tuple[str, int], str] = {}
    for title, place in _supporting(row):
        page = pages.get(title, {})
        found = place if place in page else _WHOLE_PAGE
        if not page.get(found):
            return ""
        texts[title, found] = page[found]
    return "\n".join(f"{title}: {text}" for (title, _), text in texts.items())


def _supporting(row: PublishedRow) -> list[tuple[str, int]]:
    facts = row.cells.get("supporting_facts")
    try:
        return [(str(title), int(place)) for title, place in facts]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise row.bad("supporting_facts", f"a list of [title, sentence] was expected, found {facts!r:.40}") from None


HOVER = Benchmark(
    name="hover",
    meaning="claims over two to four pages, supported or not (Jiang et al. 2020): the development split",
    home="https://hover-nlp.github.io",
    licence="MIT (its repository)",
    rows=4_000,
    url="https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover/hover_dev_release_v1.1.json",
    file="hover_dev_release_v1.1.json",
    sha256="",
    columns=("claim", "label", "num_hops", "supporting_facts"),
    read=read,
    join=join,
)
