"""`srdcr data check`: all that is wrong with a table or a folder of facts, and counts of what is in it.

Rows are read as loading reads them, so every sentence at which loading would stop is found. Facts keep further rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.wording import ENGLISH, tokens
from srdcr_lab.data.facts import exemplars
from srdcr_lab.data.items import ItemSet, grouped
from srdcr_lab.data.load import opened
from srdcr_lab.data.rows import Row, rows_of
from srdcr_lab.data.tables import check_columns, checked_rows, items_from_frame, read_table
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
    """A table of items row by row, a folder of facts, or whatever else `load_items` takes.

    Bad input only where the source cannot be read at all. What a benchmark leaves out is a note, with `strict` a
    finding.
    """
    if Path(source).is_dir():
        return check_facts(Path(source))
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


BANDS = ("famous", "known", "obscure", "invented")
COLUMNS = (
    "question_id", "domain", "question", "gold_answer", "aliases", "answer_type", "unit", "context", "subject",
    "source_title", "fame_band", "checked_by",
)  # fmt: skip
DISTINCT = {"question_id": "unique ids", "subject": "no two share a subject", "question": "no two share a question"}
RULES = (
    "answer once in the passage", "answer not in the question", "passage and question agree", "unit", "no second year",
    "two to four sentences", "provenance",
)  # fmt: skip
_SENTENCE_END = re.compile(r"[.!?][\"'’”)]*(?=\s+[\"'‘“(]?\S|\s*\Z)")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[A-Z]|Dr|Mr|Mrs|St|Mt|No|Jr|Sr|vs|c)\.\Z")
_FOUR_DIGITS = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d,]|\.\d)")
_COMMON = frozenset(ENGLISH["facts"]["common"].split())


def check_facts(folder: Path) -> Report:
    """Every rule on every fact and exemplar of a folder, uniqueness over both files, and a look-up for each."""
    report = Report(str(folder))
    facts: list[Row] = []
    for file in ("facts.csv", "exemplars.csv"):
        frame = read_table(folder / file, COLUMNS)
        check_columns(frame, COLUMNS, str(folder / file), f"a facts file has {', '.join(COLUMNS)}")
        rows = []
        for row, loaded in zip(rows_of(frame, file), checked_rows(frame, file), strict=True):
            report.look("row", row.text("question_id", file), [str(loaded)] if isinstance(loaded, BadInput) else [])
            if row.text("answer_type") in list(AnswerType):
                rows.append(row)
        bands: Counter[tuple[str, ...]] = Counter((row.text("domain"), row.text("fame_band")) for row in rows)
        report.counts.append((f"{file}: domain, band", bands))
        facts += rows
    looked_up = set(read_table(folder / "lookups.csv", ("question_id",))["question_id"])
    first: dict[tuple[str, str], Row] = {}
    for fact in facts:
        name = fact.text("question_id")
        complaints = list(_complaints(fact))
        for rule in RULES:
            report.look(rule, name, [what for broken, what in complaints if broken == rule])
        for column, check in DISTINCT.items():
            other = first.setdefault((column, fact.text(column).casefold()), fact)
            taken = f"{fact.text(column)!r} stands in {other.file} already ({other.text('question_id')})"
            report.look(check, name, [] if other is fact else [taken])
        report.look("looked up", name, [] if name in looked_up else ["not in lookups.csv"])
    return report


def _complaints(fact: Row) -> Iterator[tuple[str, str]]:
    """The rules that a fact breaks, each with what is wrong in words."""
    answer_type, unit, gold = AnswerType(fact.text("answer_type")), fact.text("unit"), fact.text("gold_answer")
    question, passage, aliases = fact.text("question"), fact.text("context"), fact.between_bars("aliases")
    spans = answers.find(passage, gold, answer_type, unit, aliases)
    if len(spans) != 1:
        places = ", ".join(repr(span.surface) for span in spans) or "nowhere"
        times = f"the passage states the answer {gold!r} {len(spans)} times ({places}); it must once"
        yield "answer once in the passage", times
    for span in answers.find(question, gold, answer_type, unit, aliases):
        yield "answer not in the question", f"the question contains the answer ({span.surface!r})"
    # Question and passage each name the subject, so that the passage alone tells what its answer answers.
    subject, title = fact.text("subject"), fact.text("source_title")
    ours = {word for text in (gold, *aliases) for word in tokens(text)} | _COMMON
    words = [word for word in dict.fromkeys(tokens(f"{subject} {title}")) if len(word) > 2 and word not in ours]
    for text, name in ((question, "question"), (passage, "passage")):
        if not any(_names(text, word) for word in words):
            looked_for = f"(looked for {', '.join(words) or 'no word'})"
            yield "passage and question agree", f"the {name} does not name the subject {subject!r} {looked_for}"
    if kind_of(answer_type).has_unit is not bool(unit):
        yield "unit", f"the answer is a {answer_type}, its unit {unit!r}; a number has one, nothing else has"
    elif unit and any(span.partial for span in spans):
        yield "unit", f"the passage states {gold} without its unit {unit!r} right behind it"
    if answer_type is AnswerType.YEAR:  # another year would give away an altered one
        for year in _FOUR_DIGITS.findall(passage):
            if year != answers.normalise(gold, AnswerType.YEAR):
                yield "no second year", f"the passage holds another four-digit number, {year}"
    ends = [end for end in _SENTENCE_END.finditer(passage) if not _ABBREVIATION.search(passage[: end.end()])]
    if not 2 <= len(ends) <= 4:
        yield "two to four sentences", f"the passage has {len(ends)} sentences, 2 to 4 were asked for"
    band = fact.text("fame_band")
    if band not in BANDS:
        yield "provenance", f"the fame band {band!r} is none of {', '.join(BANDS)}"
    if (band == "invented") is not (title == "invented"):
        yield "provenance", f"band {band!r} and source title {title!r} disagree on whether it is invented"
    for column in ("subject", "source_title", "checked_by"):
        if not fact.text(column):
            yield "provenance", f"the column {column} is empty"


def _names(text: str, word: str) -> bool:
    """Whether a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(other[:5] == word[:5] for other in words) or (len(word) > 5 and word in "".join(words))
