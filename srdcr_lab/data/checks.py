"""What a check leaves: findings, and how much was looked at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.wording import tokens
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.load import SHIPPED, load_items
from srdcr_lab.data.tables import checked_rows, read_table
from srdcr_lab.records import AnswerType, BadInput, Item

if TYPE_CHECKING:
    import pandas as pd


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
    """Findings so far, how often each check was made, and counts of what was checked.

    `counts` are tables to print: a heading, its column names, and rows of label and numbers.
    """

    name: str
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    counts: list[tuple[str, Counter[tuple[str, ...]]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, check: str, where: str, complaints: Iterable[str]) -> None:
        """Note that a check was made there, and what it found."""
        self.checked[check] += 1
        self.findings += [Finding(check, where, what) for what in complaints if what]

    def found(self, check: str) -> int:
        """Number of findings of one check."""
        return sum(finding.check == check for finding in self.findings)


# -- what one shipped fact promises. Each rule takes a fact and yields what is wrong with it, in words

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row of a facts file: what every item has, and where it comes from."""

    question_id: str
    domain: str
    question: str
    gold_answer: str
    aliases: tuple[str, ...]
    answer_type: AnswerType
    unit: str
    context: str
    subject: str
    source_title: str
    fame_band: str
    checked_by: str

    def stated_in(self, text: str) -> list[answers.Span]:
        return answers.find(text, self.gold_answer, self.answer_type, self.unit, self.aliases)


def answer_stands_once(fact: Fact) -> Iterator[str]:
    spans = fact.stated_in(fact.context)
    if len(spans) != 1:
        places = ", ".join(repr(span.surface) for span in spans) or "nowhere"
        yield f"the passage states the answer {fact.gold_answer!r} {len(spans)} times ({places}); it must once"


def question_keeps_the_answer(fact: Fact) -> Iterator[str]:
    for span in fact.stated_in(fact.question):
        yield f"the question contains the answer ({span.surface!r})"


def subject_words(fact: Fact) -> list[str]:
    """Words that tell this subject from others: of subject and source title, without common ones and the answer's."""
    given_away = {word for text in (fact.gold_answer, *fact.aliases) for word in tokens(text)}
    words = dict.fromkeys(tokens(f"{fact.subject} {fact.source_title}"))
    return [word for word in words if len(word) > 2 and word not in _COMMON and word not in given_away]


def names(text: str, word: str) -> bool:
    """True where a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(each[:5] == word[:5] for each in words) or (len(word) > 5 and word in "".join(words))


def passage_and_question_agree(fact: Fact) -> Iterator[str]:
    """Question and passage each name the subject, so that the passage alone tells what its answer answers."""
    words = subject_words(fact)
    for text, which in ((fact.question, "question"), (fact.context, "passage")):
        if not any(names(text, word) for word in words):
            yield f"the {which} does not name the subject {fact.subject!r} (looked for {', '.join(words) or 'no word'})"


def unit_fits(fact: Fact) -> Iterator[str]:
    if kind_of(fact.answer_type).has_unit is not bool(fact.unit):
        yield f"the answer is a {fact.answer_type}, its unit {fact.unit!r}; a number has one, nothing else has"
    elif fact.unit and any(span.partial for span in fact.stated_in(fact.context)):
        yield f"the passage states {fact.gold_answer} without its unit {fact.unit!r} right behind it"


def no_second_year(fact: Fact) -> Iterator[str]:
    """Another year in the passage would give away an altered one."""
    if fact.answer_type is AnswerType.YEAR:
        own = answers.normalise(fact.gold_answer, AnswerType.YEAR)
        for found in _FOUR_DIGITS.findall(fact.context):
            if found != own:
                yield f"the passage holds another four-digit number, {found}"


def two_to_four_sentences(fact: Fact) -> Iterator[str]:
    ends = [end for end in _SENTENCE_END.finditer(fact.context) if not _ABBREVIATION.search(fact.context[: end.end()])]
    if not 2 <= len(ends) <= 4:
        yield f"the passage has {len(ends)} sentences, 2 to 4 were asked for"


def provenance_is_given(fact: Fact) -> Iterator[str]:
    if fact.fame_band not in BANDS:
        yield f"the fame band {fact.fame_band!r} is none of {', '.join(BANDS)}"
    if (fact.fame_band == "invented") is not (fact.source_title == "invented"):
        yield f"band {fact.fame_band!r} and source title {fact.source_title!r} disagree on whether it is invented"
    for column in ("subject", "source_title", "checked_by"):
        if not getattr(fact, column):
            yield f"the column {column} is empty"


RULES: MappingProxyType[str, Callable[[Fact], Iterator[str]]] = MappingProxyType(
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


# -- a folder of facts: `facts.csv`, `exemplars.csv` and `lookups.csv`

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


# -- any items table, row by row: the sentences that loading would stop at, all of them


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


# -- one door to the checks, whatever is to be looked over


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
