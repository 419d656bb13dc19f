"""`srdcr data check`: all that is wrong with a table, and counts of what is in it.

Rows are read as loading reads them, so every sentence at which loading would stop is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.wording import ENGLISH, tokens
from srdcr_lab.data.facts import exemplars
from srdcr_lab.data.items import ItemSet, grouped
from srdcr_lab.data.load import opened
from srdcr_lab.data.tables import checked_rows, items_from_frame
from srdcr_lab.records import AnswerType, BadInput, Item

if TYPE_CHECKING:
    import pandas as pd

_ENOUGH = 4  # numbers that are all years by chance no more
_ORGANISATIONS = frozenset(ENGLISH["names"]["organisations"].split())


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, by which check."""

    check: str
    what: str

    def __str__(self) -> str:
        return self.what


@dataclass(slots=True)
class Report:
    """Findings, how often each check was made, and `counts`: tables to print, each a heading and label → number."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    counts: list[tuple[str, Counter[tuple[str, ...]]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, check: str, where: str, complaints: Iterable[str]) -> None:
        """Note that a check was made there, and what it found."""
        self.checked[check] += 1
        self.findings += [Finding(check, f"{where}: {what}" if where else what) for what in complaints]

    def found(self, check: str) -> int:
        return sum(finding.check == check for finding in self.findings)

    def count(self, items: Sequence[Item]) -> None:
        self.counts.append(("domain, level", Counter((item.domain, item.level.value) for item in items)))
        self.counts.append(("answer type", Counter((item.answer_type.value,) for item in items)))


def check_source(source: str | Path, *, strict: bool = False) -> Report:
    """A table of items row by row, or whatever else `load_items` takes.

    Bad input only where the source cannot be read at all. What a benchmark leaves out is a note, with `strict` a
    finding.
    """
    found = opened(source)
    if not isinstance(found, ItemSet):
        return check_table(found, Path(source))
    report = Report(found.name, checked=Counter(row=len(found)), notes=[*found.notes])
    if strict:
        report.look("nothing left out", "", _refusal(partial(opened, source, strict=True)))
    report.count(found.items)
    return report


def check_table(frame: pd.DataFrame, path: Path) -> Report:
    """Every row of a user's table, what its answers are said to be, and whether it loads as a whole."""
    report = Report(str(path))
    rows = list(checked_rows(frame, path.name))
    for row in rows:
        report.look("row", "", [str(row)] if isinstance(row, BadInput) else [])
    items = [row for row in rows if isinstance(row, Item)]
    for (domain, answer_type), members in grouped(items, lambda item: (item.domain, item.answer_type)).items():
        report.look("answer type", f"{path.name}, domain {domain}", _misnamed(answer_type, members))
    if report.found("row") < len(rows):
        load = partial(items_from_frame, frame, path.name, exemplars())
        report.look("whole table", "", _refusal(lambda: report.notes.extend(load().notes)))
    known = set(map(str, report.findings))
    report.notes = [note for note in report.notes if note not in known]
    report.count(items)
    return report


def _refusal(load: Callable[[], object]) -> list[str]:
    try:
        load()
    except BadInput as error:
        return [str(error)]
    return []


def _misnamed(answer_type: AnswerType, items: Sequence[Item]) -> Iterator[str]:
    """Why answers of a domain are not of the type that they are said to be."""
    for item in items if answer_type in (AnswerType.NAME, AnswerType.CITY) else ():
        kind, words = answers.guess_type([item.gold_answer]), tokens(item.gold_answer)
        organised = len(words) > 1 and bool(_ORGANISATIONS & {words[-1], words[0] if words[1] == "of" else ""})
        if kind is not AnswerType.TEXT or organised:
            looks = "an organisation" if organised else f"a {kind}"
            yield f"{item.item_id}: {item.gold_answer!r:.60} is said to be a {answer_type} and looks like {looks}"
    bare = [item.gold_answer for item in items if answer_type is AnswerType.NUMBER and not item.unit]
    if len(bare) >= _ENOUGH and answers.guess_type(bare) is AnswerType.YEAR:
        yield f"its {len(bare)} numbers without a unit are all such as {bare[0]}; if they are years, say so"
