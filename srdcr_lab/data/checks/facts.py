"""A folder of facts: `facts.csv`, `exemplars.csv` and `lookups.csv`, each row by itself and all against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.data.checks.report import Report
from srdcr_lab.data.checks.rules import RULES, Fact
from srdcr_lab.data.table_files import read_table
from srdcr_lab.data.tables import checked_rows
from srdcr_lab.records import AnswerType, BadInput

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = tuple(Fact.__dataclass_fields__)
FILES = ("facts.csv", "exemplars.csv")


def check_facts(folder: Path) -> Report:
    """Every rule on every fact and exemplar, uniqueness over both files, and a look-up for each.

    Raises
    ------
    BadInput
        If a file or a column is missing.
    """
    report = Report(str(folder))
    everything: list[tuple[str, Fact]] = []
    for file in FILES:
        frame = read_table(folder / file, COLUMNS)
        absent = [column for column in COLUMNS if column not in frame.columns]
        if absent:
            raise BadInput(f"{folder / file}: the column {absent[0]} is missing; a facts file has {', '.join(COLUMNS)}")
        facts = list(_facts(report, file, frame))
        everything += [(file, fact) for fact in facts]
        report.counts.append((f"{file}: domain, band", Counter((fact.domain, fact.fame_band) for fact in facts)))
    for _, fact in everything:
        for name, rule in RULES.items():
            report.look(name, fact.question_id, rule(fact))
    _distinct(report, "unique ids", everything, lambda fact: fact.question_id)
    _distinct(report, "no two share a subject", everything, lambda fact: fact.subject.casefold())
    _distinct(report, "no two share a question", everything, lambda fact: fact.question.casefold())
    looked_up = set(read_table(folder / "lookups.csv", ("question_id",))["question_id"])
    for _, fact in everything:
        report.look("looked up", fact.question_id, [] if fact.question_id in looked_up else ["not in lookups.csv"])
    return report


def _facts(report: Report, file: str, frame: pd.DataFrame) -> Iterator[Fact]:
    """The rows that can be read; the others are findings."""
    for record, row in zip(frame.to_dict("records"), checked_rows(frame, file), strict=True):
        where = str(record["question_id"]) or file
        report.look("row", where, [str(row)] if isinstance(row, BadInput) else [])
        if record["answer_type"] not in set(AnswerType):
            continue
        yield Fact(
            **{column: str(record[column]) for column in COLUMNS if column not in ("aliases", "answer_type")},
            aliases=tuple(alias.strip() for alias in str(record["aliases"]).split("|") if alias.strip()),
            answer_type=AnswerType(record["answer_type"]),
        )


def _distinct(report: Report, check: str, everything: Iterable[tuple[str, Fact]], key: Callable[[Fact], str]) -> None:
    """No two facts, exemplars included, have the same key: evaluated questions and exemplars are disjoint."""
    places: dict[str, int] = {}
    seen = list(everything)
    for i, (_, fact) in enumerate(seen):
        first = places.setdefault(key(fact), i)
        file, other = seen[first]
        taken = [f"{key(fact)!r} stands in {file} already ({other.question_id})"] if first != i else []
        report.look(check, fact.question_id, taken)
