"""`srdcr data check`: all that is wrong with a table, or with a folder of facts, and counts of what is in it.

Rows are read as loading reads them, so every sentence at which loading would stop is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Traits
from srdcr_lab.answers.wording import ENGLISH, tokens
from srdcr_lab.data.facts import exemplars, shipped_traits
from srdcr_lab.data.forms import contradictions, similarity
from srdcr_lab.data.items import ItemSet, grouped
from srdcr_lab.data.load import opened
from srdcr_lab.data.perturbing import perturb, pools_of
from srdcr_lab.data.rows import read_table
from srdcr_lab.data.tables import check_columns, checked_rows, items_from_frame
from srdcr_lab.records import AnswerType, BadInput, Item

if TYPE_CHECKING:
    import pandas as pd

_ENOUGH = 4  # numbers that are all years by chance no more
_OF_FACTS = ("question_id", "domain", "fame_band", "popularity", "register", "region", "split")
_BANDS = ["obscure", "known", "famous"]
_THIRDS = ("first third", "middle third", "last third")
_HELD = 100
_KINDS = {  # in a domain, questions of one kind: at most half
    "news": {"tolls": r"(?i)kill|die|dead|death|drown|perish|lost|victim|surviv|injured"},
    "drugs": {"defined daily doses": r"defined daily dose"},
}
_AGEING = re.compile(r"(?i)\b(still|today|now|nowadays|currently|recently|at present|to this day|these days|so far)\b")
_DATED = ("letter", "news report")  # of their own day
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
    if (Path(source) / "facts.csv").is_file():
        return check_folder(Path(source))
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


def check_folder(folder: Path) -> Report:
    """What the facts of a folder promise as a whole; `tools/check_facts.py` adds the rules for whoever writes a row.

    Where the answers stand, how much of a domain is from Europe or of one kind, which words age, how many questions
    are held and have a second passage, and whether false names are ever less like the true one from level to level.
    """
    table, second = read_table(folder / "facts.csv"), read_table(folder / "second.csv", ("question_id", "context"))
    check_columns(table, _OF_FACTS, str(folder / "facts.csv"), f"facts have {', '.join(_OF_FACTS)}")
    report = check_table(table, folder / "facts.csv")
    items = items_from_frame(table.assign(item_id=table["question_id"]), str(folder), exemplars()).items
    real = table[table["fame_band"] != "invented"]
    held = real[real["split"] == "held"]
    for heading, rows, column in (
        ("domain, band", table, "fame_band"),
        ("domain, band of those held", held, "fame_band"),
        ("domain, register", table, "register"),
        ("domain, region", real, "region"),
    ):
        pairs = [tuple(pair) for pair in rows[["domain", column]].to_numpy()]
        report.counts.append((heading, Counter(pairs)))
    places = Counter((item.domain, _third(item)) for item in items)
    report.counts.append(("domain, place of the answer in its passage", Counter(places)))

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
        ρ = measured["fame_band"].map(_BANDS.index).rank().corr(popularity)
        report.notes.append(f"rank correlation of band and popularity: {ρ:.2f}, n = {len(measured)}")
    at_most(0.75, "real questions have one passage alone", len(real) - both, len(real))
    report.look("held", "", [f"{len(held)}, {_HELD} at least were promised"] if len(held) < _HELD else [])
    for row in table[~table["register"].isin(_DATED)].itertuples():
        report.look("no word that ages", row.question_id, map(repr, _AGEING.findall(row.context)))
    _look_at_forms(report, items, shipped_traits(folder))
    return report


def _third(item: Item) -> str:
    """The third of the passage in which the middle of the answer lies."""
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return _THIRDS[3 * (spans[0].start + spans[0].end) // (2 * len(item.context))]


def _look_at_forms(report: Report, items: Sequence[Item], traits: Mapping[str, Traits]) -> None:
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
