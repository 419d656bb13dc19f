"""`srdcr data check`: all that is wrong with a table or a folder of facts, and counts of what is in it.

Rows are read as loading reads them, so that every sentence at which loading would stop is found; facts must keep some
further rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from srdcr_lab import answers
from srdcr_lab.answers.text import tokens
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.load import SHIPPED, load_items
from srdcr_lab.data.rows import Row, rows_of
from srdcr_lab.data.tables import check_columns, checked_rows, read_table
from srdcr_lab.records import AnswerType, BadInput, Item


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: by which check, where, and what."""

    check: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclass(slots=True)
class Report:
    """Findings, and how often each check was made.

    `counts` are tables to print: a heading with the names of the labels, and how many items have each.
    """

    name: str
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    counts: list[tuple[str, Counter[tuple[str, ...]]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, check: str, where: str, complaints: Iterable[str]) -> None:
        """Note that a check was made there, and what it found."""
        self.checked[check] += 1
        self.findings += [Finding(check, where, what) for what in complaints]

    def found(self, check: str) -> int:
        """Number of findings of one check."""
        return sum(finding.check == check for finding in self.findings)

    def count(self, items: Sequence[Item]) -> None:
        """Count items by domain and level, and by answer type."""
        self.counts.append(("domain, level", Counter((item.domain, item.level.value) for item in items)))
        self.counts.append(("answer type", Counter((item.answer_type.value,) for item in items)))


def check_source(source: str | Path) -> Report:
    """A table of items row by row, a folder of facts, a shipped set, or a benchmark (NAME or NAME=FILE).

    Raises
    ------
    BadInput
        If the source cannot be read at all.
    """
    if Path(source).is_dir():
        return check_facts(Path(source))
    if str(source).partition("=")[0] not in BENCHMARKS and str(source) not in SHIPPED:
        return check_table(Path(source))
    items = load_items(source)
    report = Report(items.name, checked=Counter(row=len(items)), notes=[*items.notes])
    report.count(items.items)
    return report


def check_table(path: Path) -> Report:
    """Every row of a table of one's own; whether it loads as a whole is the last check.

    Raises
    ------
    BadInput
        If the file cannot be read as a table of items at all.
    """
    report = Report(str(path))
    rows = list(checked_rows(read_table(path), path.name))
    for row in rows:
        report.look("row", "", [str(row)] if isinstance(row, BadInput) else [])
    if not report.findings:
        try:
            report.notes += load_items(path).notes
            report.look("whole table", "", [])
        except BadInput as error:
            report.look("whole table", "", [str(error)])
    report.count([row for row in rows if isinstance(row, Item)])
    return report


# A folder of facts

FILES = ("facts.csv", "exemplars.csv")
COLUMNS = (
    "question_id", "domain", "question", "gold_answer", "aliases", "answer_type", "unit", "context", "subject",
    "source_title", "fame_band", "checked_by",
)  # fmt: skip


def check_facts(folder: Path) -> Report:
    """Every rule on every fact and exemplar, uniqueness over both files, and a look-up for each.

    Raises
    ------
    BadInput
        If a file or a column is missing.
    """
    report = Report(str(folder))
    facts: list[Row] = []
    for file in FILES:
        frame = read_table(folder / file, COLUMNS)
        check_columns(frame, COLUMNS, str(folder / file), f"a facts file has {', '.join(COLUMNS)}")
        rows = rows_of(frame, file)
        for row, loaded in zip(rows, checked_rows(frame, file), strict=True):
            report.look("row", row.text("question_id", file), [str(loaded)] if isinstance(loaded, BadInput) else [])
        rows = [row for row in rows if row.text("answer_type") in list(AnswerType)]
        bands = [(row.text("domain"), row.text("fame_band")) for row in rows]
        report.counts.append((f"{file}: domain, band", Counter(bands)))
        facts += rows
    for fact in facts:
        for name, rule in RULES.items():
            report.look(name, fact.text("question_id"), rule(fact))
    for check, column in (
        ("unique ids", "question_id"), ("no two share a subject", "subject"), ("no two share a question", "question")
    ):  # fmt: skip
        _check_distinct(report, check, facts, column)
    looked_up = set(read_table(folder / "lookups.csv", ("question_id",))["question_id"])
    for fact in facts:
        name = fact.text("question_id")
        report.look("looked up", name, [] if name in looked_up else ["not in lookups.csv"])
    return report


def _check_distinct(report: Report, check: str, facts: Iterable[Row], column: str) -> None:
    """No two facts, exemplars included, share what is in the column: exemplars are never evaluated."""
    first: dict[str, Row] = {}
    for fact in facts:
        text = fact.text(column)
        other = first.setdefault(text.casefold(), fact)
        where = f"{other.file} already ({other.text('question_id')})"
        report.look(check, fact.text("question_id"), [] if other is fact else [f"{text!r} stands in {where}"])


# What a fact promises: each rule yields what is wrong, in words

BANDS = ("famous", "known", "obscure", "invented")
_SENTENCE_END = re.compile(r"[.!?][\"'’”)]*(?=\s+[\"'‘“(]?\S|\s*\Z)")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[A-Z]|Dr|Mr|Mrs|St|Mt|No|Jr|Sr|vs|c)\.\Z")
_FOUR_DIGITS = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d,]|\.\d)")
_COMMON = frozenset(
    "a an and at by for from in into of on or over the to under with after before first last new old great was were is"
    " airlines architect authority bank battle bell birthplace bridge bronze building bus captain cave centre church"
    " capital city composition construction country court crash creation creator death defined daily design development"
    " disaster discovery dose flight foundation founding grave invention inventor leader made main man members museum"
    " number office opening organization painter painting people person programme publication record sculptor seat"
    " sinking site span square station statue tomb tower treaty winner woman world writer year years".split()
)


def _stated(fact: Row, column: str) -> list[answers.Span]:
    """Where a text states the gold answer."""
    answer_type = AnswerType(fact.text("answer_type"))
    aliases = fact.between_bars("aliases")
    return answers.find(fact.text(column), fact.text("gold_answer"), answer_type, fact.text("unit"), aliases)


def answer_stands_once(fact: Row) -> Iterator[str]:
    spans = _stated(fact, "context")
    if len(spans) != 1:
        places = ", ".join(repr(span.surface) for span in spans) or "nowhere"
        gold = fact.text("gold_answer")
        yield f"the passage states the answer {gold!r} {len(spans)} times ({places}); it must once"


def question_keeps_the_answer(fact: Row) -> Iterator[str]:
    for span in _stated(fact, "question"):
        yield f"the question contains the answer ({span.surface!r})"


def passage_and_question_agree(fact: Row) -> Iterator[str]:
    """Question and passage each name the subject, so that the passage alone tells what its answer answers."""
    gold = {word for text in (fact.text("gold_answer"), *fact.between_bars("aliases")) for word in tokens(text)}
    subject = dict.fromkeys(tokens(f"{fact.text('subject')} {fact.text('source_title')}"))
    words = [word for word in subject if len(word) > 2 and word not in _COMMON and word not in gold]
    for column, name in (("question", "question"), ("context", "passage")):
        if not any(_names(fact.text(column), word) for word in words):
            looked_for = ", ".join(words) or "no word"
            yield f"the {name} does not name the subject {fact.text('subject')!r} (looked for {looked_for})"


def _names(text: str, word: str) -> bool:
    """True where a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(other[:5] == word[:5] for other in words) or (len(word) > 5 and word in "".join(words))


def unit_fits(fact: Row) -> Iterator[str]:
    answer_type, unit = fact.text("answer_type"), fact.text("unit")
    if (answer_type == AnswerType.NUMBER) is not bool(unit):
        yield f"the answer is a {answer_type}, its unit {unit!r}; a number has one, nothing else has"
    elif unit and any(span.partial for span in _stated(fact, "context")):
        yield f"the passage states {fact.text('gold_answer')} without its unit {unit!r} right behind it"


def no_second_year(fact: Row) -> Iterator[str]:
    """Another year in the passage would give away an altered one."""
    if fact.text("answer_type") == AnswerType.YEAR:
        gold = answers.normalise(fact.text("gold_answer"), AnswerType.YEAR)
        for year in _FOUR_DIGITS.findall(fact.text("context")):
            if year != gold:
                yield f"the passage holds another four-digit number, {year}"


def two_to_four_sentences(fact: Row) -> Iterator[str]:
    passage = fact.text("context")
    ends = [end for end in _SENTENCE_END.finditer(passage) if not _ABBREVIATION.search(passage[: end.end()])]
    if not 2 <= len(ends) <= 4:
        yield f"the passage has {len(ends)} sentences, 2 to 4 were asked for"


def provenance_is_given(fact: Row) -> Iterator[str]:
    band, title = fact.text("fame_band"), fact.text("source_title")
    if band not in BANDS:
        yield f"the fame band {band!r} is none of {', '.join(BANDS)}"
    if (band == "invented") is not (title == "invented"):
        yield f"band {band!r} and source title {title!r} disagree on whether it is invented"
    for column in ("subject", "source_title", "checked_by"):
        if not fact.text(column):
            yield f"the column {column} is empty"


RULES: MappingProxyType[str, Callable[[Row], Iterator[str]]] = MappingProxyType(
    {
        "answer once in the passage": answer_stands_once,
        "answer not in the question": question_keeps_the_answer,
        "passage and question agree": passage_and_question_agree,
        "unit": unit_fits,
        "no second year": no_second_year,
        "two to four sentences": two_to_four_sentences,
        "provenance": provenance_is_given,
    }
)
