"""All that is wrong with a folder of facts: `python tools/check_facts.py [data/facts]`; exit code 2 where something is.

Who adds or changes a shipped fact runs it. Rows are read as loading reads them; facts keep further rules, and so do
second passages. Then what the folder promises as a whole is checked.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Traits, kind_of
from srdcr_lab.answers.name import likeness
from srdcr_lab.answers.wording import Span, tokens
from srdcr_lab.commands.data import echo_counts, tell
from srdcr_lab.data.facts import SPLITS, exemplars, traits
from srdcr_lab.data.load import Report, check_table
from srdcr_lab.data.perturbing import contradictions, perturb, pools_of
from srdcr_lab.data.rows import Row, read_table, rows_of
from srdcr_lab.data.tables import check_columns, checked_rows, items_from_rows
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind

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
    "answer once in the passage", "answer asserted",
    "answer not in the question", "passage and question agree", "unit", "no second year",
    "two to four sentences", "provenance",
)  # fmt: skip
_OF_FACTS = ("question_id", "domain", "fame_band", "popularity", "register", "region", "split")
_FAME = ["obscure", "known", "famous"]
_THIRDS = ("first third", "middle third", "last third")
_HELD = 100
_KINDS = {  # in a domain, questions of one kind: at most half
    "news": {"tolls": r"(?i)kill|die|dead|death|drown|perish|lost|victim|surviv|injured"},
    "drugs": {"defined daily doses": r"defined daily dose"},
}
_AGEING = re.compile(r"(?i)\b(still|today|now|nowadays|currently|recently|at present|to this day|these days|so far)\b")
_DATED = ("letter", "news report")  # of their own day
_SENTENCE_END = re.compile(r"[.!?][\"'’”)]*(?=\s+[\"'‘“(]?\S|\s*\Z)")
_ABBREVIATION = re.compile(r"(?<!\w)(?:[A-Z]|Dr|Mr|Mrs|St|Mt|No|Jr|Sr|vs|v|c)\.\Z")
_MASK = "▮"  # stands for the answer
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bMr\.)\s+(?=[A-Z0-9▮\"'‘“])")
_CLAUSE = re.compile(r"[;:]\s|,\s(?=(?:and|but|so)\s)")
_ANYTHING = re.compile("")
_LABEL = 6  # words of a heading, a dateline, "Sculptor: …"
_REFERS = re.compile(  # back to what was named before
    r"(?i)\A\W*(?:(?:at|by|from|in|of|on|to) )?(?:he|her|his|it|its|our|she|their|these|they|this)\b"
    r"|\b(?:here|its|there|where|whose|this(?! (?:morning|afternoon|evening|night|day|week|month|year)))\b"
)
_ASKING = frozenset("what which when where who whose did does many date day year first long high".split())
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


@dataclass
class Checks(Report):
    """A report that is made check by check; `counts` are headings with pairs of labels."""

    counts: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)

    def look(self, check: str, where: str, complaints: Iterable[str]) -> None:
        """Record that a check was made, and what it found."""
        self.checked[check] = self.checked.get(check, 0) + 1
        if found := [f"{where}: {what}" if where else what for what in complaints]:
            self.findings.setdefault(check, []).extend(found)

    def tell(self) -> int:
        """Print counts and report; return the exit code."""
        for heading, pairs in self.counts:
            echo_counts(heading, pairs)
        return tell(self)


def check_facts(folder: Path) -> Checks:
    """Every rule on every fact and exemplar of a folder, uniqueness over both files, and a look-up for each."""
    report = Checks(str(folder))
    facts: list[Row] = []
    for file, columns in (("facts.csv", COLUMNS), ("exemplars.csv", EXEMPLAR_COLUMNS)):
        frame = read_table(folder / file, columns)
        check_columns(frame, columns, str(folder / file), f"{file} has {', '.join(columns)}")
        rows = []
        for row, loaded in checked_rows(frame, file):
            report.look("row", row.text("question_id", file), [str(loaded)] if isinstance(loaded, BadInput) else [])
            if row.text("answer_type") in list(AnswerType):
                rows.append(row)
        report.counts.append((f"{file}: domain, band", [(row.text("domain"), row.text("fame_band")) for row in rows]))
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
    for span in () if kind_of(answer_type).is_value else spans[:1]:
        for why in unasserted(question, f"{fact.text('subject')} {fact.text('source_title')}", passage, gold, span):
            yield "answer asserted", why
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
    if (answer_type is AnswerType.NUMBER) is not bool(unit):
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


@cache
def _relations() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """What questions ask for, and the words of which one has to stand beside the answer, from relations.csv."""
    rows = read_table(Path(__file__).with_name("relations.csv"), ("asked", "asserted")).itertuples()
    return [(re.compile(row.asked, re.IGNORECASE), re.compile(row.asserted, re.IGNORECASE)) for row in rows]


def unasserted(question: str, subject: str, passage: str, answer: str, span: Span) -> Iterator[str]:
    """Why a passage may only mention its answer, and not assert that it is the answer to the question.

    The clause with the answer has to name something of the question or the subject, to refer back to it ("It stands
    in", "Its author,") or to be a label or a heading; and its sentence needs a word for what is asked ("wrote":
    "by", "author", …). Words are all that is looked at: who changes a passage reads it.
    """
    masked = f"{passage[: span.start]}{_MASK}{passage[span.end :]}"
    sentences = [each for each in _SENTENCE.split(masked) if each.strip()]
    place = next(i for i, each in enumerate(sentences) if _MASK in each)
    sentence = sentences[place]
    is_label = len(tokens(sentence)) <= _LABEL
    if is_label:  # a dateline belongs to what follows it, a date at the end to what it follows
        sentence = " ".join(sentences[max(0, place - 1) : place + 2])
    clause = next(each for each in _CLAUSE.split(sentences[place]) if _MASK in each)
    own = {word[:4] for word in tokens(f"{question} {subject}") if len(word) > 2 and word not in _COMMON | _ASKING}
    is_label = is_label or len(tokens(clause)) <= _LABEL
    relations = ((match[0], asserted) for asked, asserted in _relations() if (match := asked.search(question)))
    asked, asserted = next(relations, ("", _ANYTHING))
    if not asserted.search(sentence):
        yield f"nothing beside {answer!r} says {asked!r}: {sentence.replace(_MASK, answer)!r}"
    elif not (asked or is_label or own & {word[:4] for word in tokens(clause)} or _REFERS.search(clause)):
        yield f"the words beside {answer!r} do not say what it answers: {clause.replace(_MASK, answer).strip()!r}"


def _names(text: str, word: str) -> bool:
    """Whether a text has the word, in this or another form ("Ottoman", "Ottomans"; "Bannock Burn")."""
    words = tokens(text)
    return any(other[:5] == word[:5] for other in words) or (len(word) > 5 and word in "".join(words))


def check_promises(folder: Path) -> Checks:
    """What the facts of a folder promise as a whole.

    Where the answers stand, how much of a domain is from Europe or of one kind, which words age, how many questions
    are held and have a second passage, and whether false names are ever less like the true one from level to level.
    """
    table, second = read_table(folder / "facts.csv"), read_table(folder / "second.csv", ("question_id", "context"))
    check_columns(table, _OF_FACTS, str(folder / "facts.csv"), f"facts have {', '.join(_OF_FACTS)}")
    as_a_table = check_table(table, folder / "facts.csv")
    report = Checks(**{each.name: getattr(as_a_table, each.name) for each in fields(as_a_table)})
    items = items_from_rows(checked_rows(table, str(folder)), exemplars()).items
    real = table[table["fame_band"] != "invented"]
    held = real[real["split"] == "held"]
    for heading, rows, column in (
        ("domain, band", table, "fame_band"),
        ("domain, band of those held", held, "fame_band"),
        ("domain, register", table, "register"),
        ("domain, region", real, "region"),
    ):
        report.counts.append((heading, [*zip(rows["domain"], rows[column], strict=True)]))
    thirds = [(item.domain, _third(item)) for item in items]
    report.counts.append(("domain, place of the answer in its passage", thirds))
    places = Counter(thirds)

    def at_most(most: float, what: str, part: int, whole: int) -> None:
        told = f"{part} of {whole} {what}, at most {most:.0%} were promised"
        report.look("shares", "", [told] if part > most * whole else [])

    for domain, members in table.groupby("domain", sort=False):
        for third in _THIRDS:
            at_most(0.4, f"answers of {domain} stand in the {third}", places[domain, third], len(members))
        true = members[members["fame_band"] != "invented"]
        at_most(2 / 3, f"{domain} are from Europe", sum(true["region"] == "Europe"), len(true))
        for kind, words in _KINDS.get(domain, {}).items():
            n = sum(true["question"].str.contains(words))
            at_most(0.5, f"{domain} are {kind}", n, len(true))
            report.notes.append(f"{n} of {len(true)} {domain} are {kind}")
    both = sum(real["question_id"].isin(second["question_id"]))
    report.notes.append(f"{both} of {len(real)} real questions have a second passage, {len(held)} are held")
    measured = real[real["popularity"] != ""]
    if len(measured):
        popularity = measured["popularity"].astype(float).rank()
        ρ = measured["fame_band"].map(_FAME.index).rank().corr(popularity)
        report.notes.append(f"rank correlation of band and popularity: {ρ:.2f}, n = {len(measured)}")
    at_most(0.75, "real questions have one passage alone", len(real) - both, len(real))
    report.look("held", "", [f"{len(held)}, {_HELD} at least were promised"] if len(held) < _HELD else [])
    public = _public_texts(folder, set(table.loc[table["split"] == "held", "question_id"]))
    for row in held.itertuples():
        report.look("told elsewhere", row.question_id, told_elsewhere(row, public))
    for row in table[~table["register"].isin(_DATED)].itertuples():
        report.look("no word that ages", row.question_id, map(repr, _AGEING.findall(row.context)))
    _look_at_forms(report, items, traits(folder))
    return report


def told_elsewhere(row: Any, texts: Mapping[str, str]) -> Iterator[str]:
    """The texts that tell a held answer: they state it and name the subject, by two of its names or by all of them.

    A day is as telling as a name, so one name is enough beside it. `texts` are those of public questions, by their id.
    """
    kind, aliases = AnswerType(row.answer_type), [alias for alias in row.aliases.split("|") if alias]
    own = {word for answer in (row.gold_answer, *aliases) for word in tokens(answer)} | _COMMON
    capitals = re.findall(r"(?<!\A)\b[A-ZÀ-Ž][\w'’-]+", f"{row.question} {row.subject} {row.source_title}")
    names = {name for word in capitals for name in tokens(word) if len(name) > 2} - own
    enough = 1 if kind is AnswerType.DATE else min(2, len(names))
    for name, text in texts.items():
        if enough and len(names.intersection(tokens(text))) >= enough:
            for span in answers.find(text, row.gold_answer, kind, row.unit, aliases)[:1]:
                yield f"{name} names the subject and {span.surface!r}"


def _public_texts(folder: Path, held: set[str]) -> dict[str, str]:
    """Every text of questions and exemplars that are not held, with its answer, by question_id and file."""
    texts: dict[str, str] = {}
    for path in (folder / f"{name}.csv" for name in ("facts", "second", "rewrites", "exemplars")):
        for row in read_table(path).to_dict("records") if path.is_file() else ():
            if row["question_id"] not in held:
                name = f"{row['question_id']} ({path.name})"
                own = (row.get(column, "") for column in ("question", "context", "gold_answer", "unit"))
                texts[name] = " ".join([texts.get(name, ""), *own])
    return texts


def _third(item: Item) -> str:
    """The third of the passage in which the middle of the answer lies."""
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return _THIRDS[3 * (spans[0].start + spans[0].end) // (2 * len(item.context))]


def _look_at_forms(report: Checks, items: Sequence[Item], traits: Mapping[str, Traits]) -> None:
    """Whether false names are ever less like the true one from level to level, and what contradicts a false passage."""
    false = [item for item in perturb(items, traits=traits).items if not item.is_standard]
    means, pools = similarity(false), pools_of(items, traits)
    told = ", ".join(f"{level} {mean:.2f} (of {n})" for level, (mean, n) in means.items())
    report.notes.append(f"mean similarity of false names to the true ones: {told}")
    falling = sorted(means.values(), reverse=True) == list(means.values())
    report.look("false names ever less alike", "", [] if falling else [told])
    for item in false:
        pool = pools.get((item.domain, item.answer_type))
        found = contradictions(item, traits.get(item.question_id), pool)
        report.look("contradictions in false passages", item.item_id, found)


def similarity(items: Iterable[Item]) -> dict[Level, tuple[float, int]]:
    """Level → the mean likeness of substituted answers to the true ones, in [0, 1], and of how many; by level."""
    of: dict[Level, list[float]] = {level: [] for level in Level}
    for item in items:
        if item.perturbation_kind is PerturbationKind.SUBSTITUTION:
            of[item.level].append(likeness(item.gold_answer, item.claimed_answer))
    return {level: (fmean(each), len(each)) for level, each in of.items() if each}


if __name__ == "__main__":
    try:
        place = Path(*(sys.argv[1:] or ["data/facts"]))
        raise SystemExit(max(check_facts(place).tell(), check_promises(place).tell()))
    except BadInput as error:
        raise SystemExit(f"{error}") from None
