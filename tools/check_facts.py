"""All that is wrong with each row of a folder of facts: `python tools/check_facts.py [data/facts]`; exit code 2 where
something is.

Who adds or changes a shipped fact runs it. Rows are read as loading reads them; facts keep further rules, and so do
second passages. What the folder promises as a whole, `srdcr data check data/facts` says.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.wording import tokens
from srdcr_lab.commands.data import tell
from srdcr_lab.data.checks import Report
from srdcr_lab.data.facts import SPLITS
from srdcr_lab.data.rows import Row, read_table, rows_of
from srdcr_lab.data.tables import check_columns, checked_rows
from srdcr_lab.records import AnswerType, BadInput

BANDS = ("famous", "known", "obscure", "invented")
REGISTERS = ("encyclopaedia", "news report", "catalogue entry", "letter", "plaque")
EXEMPLAR_COLUMNS = (
    "question_id", "domain", "question", "gold_answer", "aliases", "answer_type", "unit", "context", "subject",
    "source_title", "fame_band", "checked_by",
)  # fmt: skip
COLUMNS = (
    *EXEMPLAR_COLUMNS[:11], "popularity", "register", "region", "accepted", "accepted_because", "valid_as_of", "split",
    "checked_by",
)  # fmt: skip
DISTINCT = {"question_id": "unique ids", "subject": "no two share a subject", "question": "no two share a question"}
RULES = (
    "answer once in the passage", "answer not in the question", "passage and question agree", "unit", "no second year",
    "two to four sentences", "provenance",
)  # fmt: skip
_SENTENCE_END = re.compile(r"[.!?][\"'’”)]*(?=\s+[\"'‘“(]?\S|\s*\Z)")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[A-Z]|Dr|Mr|Mrs|St|Mt|No|Jr|Sr|vs|v|c)\.\Z")
_FOUR_DIGITS = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d,]|\.\d)")
# by which a passage does not yet name its subject
_COMMON = frozenset("""
a an and at by for from in into of on or over the to under with after before first last new old great was were is
airlines architect authority bank battle bell birthplace bridge bronze building bus captain cave centre church capital
city composition construction country court crash creation creator death defined daily design development disaster
discovery dose flight foundation founding grave invention inventor leader made main man members museum number office
opening organization painter painting people person programme publication record sculptor seat sinking site span
square station statue tomb tower treaty winner woman world writer year years
""".split())  # fmt: skip


def check_facts(folder: Path) -> Report:
    """Every rule on every fact and exemplar of a folder, uniqueness over both files, and a look-up for each."""
    report = Report(str(folder))
    facts: list[Row] = []
    for file, columns in (("facts.csv", COLUMNS), ("exemplars.csv", EXEMPLAR_COLUMNS)):
        frame = read_table(folder / file, columns)
        check_columns(frame, columns, str(folder / file), f"{file} has {', '.join(columns)}")
        rows = []
        for row, loaded in zip(rows_of(frame, file), checked_rows(frame, file), strict=True):
            report.look("row", row.text("question_id", file), [str(loaded)] if isinstance(loaded, BadInput) else [])
            if row.text("answer_type") in list(AnswerType):
                rows.append(row)
        bands: Counter[tuple[str, ...]] = Counter((row.text("domain"), row.text("fame_band")) for row in rows)
        report.counts.append((f"{file}: domain, band", bands))
        facts += rows
    dropped = set(read_table(folder / "dropped.csv", ("question_id",))["question_id"])
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
        report.look("never dropped", name, ["the id is in dropped.csv; take another"] if name in dropped else [])
    by_name = {fact.text("question_id"): fact for fact in facts}
    for row in rows_of(read_table(folder / "second.csv", ("question_id", "context")), "second.csv"):
        name = row.text("question_id")
        report.look("second passage", name, _of_second(row, by_name[name]) if name in by_name else ["no such question"])
    return report


def _of_second(row: Row, fact: Row) -> Iterator[str]:
    """What is wrong with a second passage: the rules of the first hold for it, and its register is another."""
    if row.text("register") == fact.text("register") or row.text("register") not in REGISTERS:
        yield f"its register {row.text('register')!r} is the first passage's, or none of {', '.join(REGISTERS)}"
    second = Row(row.file, row.number, {**fact.cells, "context": row.text("context")})
    yield from (what for _, what in _complaints(second))


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
    if "register" in fact.cells:
        if fact.text("register") not in REGISTERS:
            yield "provenance", f"the register {fact.text('register')!r} is none of {', '.join(REGISTERS)}"
        if fact.text("split") not in SPLITS or (band, fact.text("split")) == ("invented", "held"):
            yield "provenance", f"the split {fact.text('split')!r} is not public, and not held of a real question"
        if bool(fact.text("accepted")) is not bool(fact.text("accepted_because")):
            yield "provenance", "accepted and accepted_because are both filled or both empty"
    if (band == "invented") is not (title == "invented"):
        yield "provenance", f"band {band!r} and source title {title!r} disagree on whether it is invented"
    for column in ("subject", "source_title", "checked_by"):
        if not fact.text(column):
            yield "provenance", f"the column {column} is empty"


def _names(text: str, word: str) -> bool:
    """Whether a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(other[:5] == word[:5] for other in words) or (len(word) > 5 and word in "".join(words))


if __name__ == "__main__":
    try:
        raise SystemExit(tell(check_facts(Path(*(sys.argv[1:] or ["data/facts"])))))
    except BadInput as error:
        raise SystemExit(f"{error}") from None
