"""What a run shows: tables in, one sentence out, for any model and any size.

A `Finding` claims that one number lies above or below a bound. The run *shows* it where the whole 95 % interval is on
the claimed side and *does not show* it where all of it is on the other; otherwise it *cannot be told*. `standing`
decides, here and for the claims of the paper. Where all of the interval is the bound, or no pair of a comparison
differs, *it is the same on every item*: an interval around 0 is then about items that were not asked. Rows of fewer
than ten are *too few to tell*, as they are grey in the figures, and of none *not measured*. A row with a `p_holm` is
one of a family of comparisons, and told only where that is below 0.05 too; every other row is by its own interval, of
which by chance one in twenty misses.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from enum import StrEnum
from importlib import resources
from typing import Any

import pandas as pd

from srdcr_lab import evidence
from srdcr_lab.finding_tables import TABLES, Rows
from srdcr_lab.lib.comparison import Comparison
from srdcr_lab.lib.groups import FEW, GOLDEN
from srdcr_lab.lib.page import Html, interval, number, render
from srdcr_lab.records import BadInput
from srdcr_lab.records.names import called, called_in


class Relation(StrEnum):
    ABOVE = "above"
    BELOW = "below"
    AT_MOST = "at most"
    WITHIN = "within ±"


class Standing(StrEnum):
    HOLDS = "holds"
    DOES_NOT = "does not hold"
    CANNOT_TELL = "cannot tell"
    NOT_MEASURED = "not measured"


def standing(low: float, high: float, relation: Relation, bound: float) -> Standing:
    """What a 95 % interval says of the claim that a number lies so to a bound; a NaN cannot tell."""
    if math.isnan(low) or math.isnan(high) or math.isnan(bound):
        return Standing.CANNOT_TELL
    holds, fails = {
        Relation.ABOVE: (low > bound, high < bound),
        Relation.BELOW: (high < bound, low > bound),
        Relation.AT_MOST: (high <= bound, low > bound),
        Relation.WITHIN: (-bound < low and high < bound, low > bound or high < -bound),
    }[relation]
    return Standing.HOLDS if holds else Standing.DOES_NOT if fails else Standing.CANNOT_TELL


FAMILY_WISE = 0.05
_MOST = 20  # rows whose numbers a sentence has; of more it has the names, and the table their numbers
_SAID = {
    Standing.HOLDS: "this run shows it",
    Standing.DOES_NOT: "it does not show it, but the opposite",
    Standing.CANNOT_TELL: "it cannot be told",
}
_SAME, _TOO_FEW = "it is the same on every item", "too few to tell"
_ALWAYS_NAMED = ("condition", "b", "name", "about")  # of what, and what is compared with, also where it is one alone


class Sentence(str):
    """A sentence; a notebook shows it as a paragraph, or where it says several things as a list of them.

    `parts`: its claim, what it says with which rows that is said of, and what holds for all rows.
    """

    parts: tuple[str, Sequence[tuple[str, str]], str] = ("", (), "")

    def _repr_html_(self) -> Html:
        return render("parts", "sentence", text=self.removeprefix("Here: "), parts=self.parts)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class _Names(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return {"a": "the first", "b": "the second"}.get(name, "…")  # what a table without rows does not name


@dataclass(frozen=True)
class Finding:
    """A claim, a row of findings.csv, and where a table has the number that it is about.

    `claim` may name columns in braces: the first row's value stands there. `value`: the column of the number; `ends`:
    what stands before `low` and `high` in theirs; `n` and `of`: the column of the count, and what is counted.
    `against`: the bound, or the column that has each row's. `by`: the columns that tell rows apart; `where`: the values
    of the rows that are meant. `measure` makes the table of what the finding is called with; without one that is a
    table, what another measure returns, or a list of that.
    """

    claim: str
    value: str
    ends: str
    relation: Relation
    against: float | str
    n: str
    of: str
    by: Sequence[str]
    where: Mapping[str, str]
    measure: Callable[..., Any] | None
    arguments: Sequence[str]

    def __call__(self, *given: Any, **named: Any) -> Sentence:
        """The sentence on these tables. Without a row nothing was measured, and it says so."""
        rows, reason = [], ""
        if not any(part is None or (isinstance(part, pd.DataFrame) and part.empty) for part in given):
            try:
                rows = self._rows(self.measure(*given, *self.arguments, **named) if self.measure else given[0])
            except evidence.NoEvidence as nothing:
                reason = f", {nothing}"
        differing = [name for name in ("run", "model", *self.by) if len({str(row.get(name)) for row in rows}) > 1]
        keys = differing + [name for name in self.by if name in _ALWAYS_NAMED and name not in differing]
        counts = [self._count(row) for row in rows]
        many, alike = len(rows) > _MOST, len(rows) > 1 and len(set(counts)) == 1
        parts: dict[str, list[str]] = {each: [] for each in (*_SAID.values(), _SAME, _TOO_FEW, Standing.NOT_MEASURED)}
        for row, count in zip(rows, counts, strict=True):
            name = " · ".join(_label(row[key], key) for key in keys if not _missing(row.get(key)))
            numbers = "" if many and name else f" ({self._numbers(row)}{'' if alike else f', {count}'})"
            parts[self._phrase(row)].append(f"{name}{numbers}".strip())
        link = " for " if keys else " "
        said = [(phrase, f"{link}{', '.join(texts)}") for phrase, texts in parts.items() if texts]
        said = said or [(Standing.NOT_MEASURED, f"{reason} (n = 0 {self.of})")]
        of_all = f"; {counts[0]} each" if alike else ""
        of_all += "; the table has the numbers and each n" if many and not alike else ""
        of_all += f"; told where Holm's p is below {FAMILY_WISE}" if any("p_holm" in row for row in rows) else ""
        labels = _Names({name: _label(value) for name, value in rows[0].items()} if rows else {})
        bound = "" if isinstance(self.against, str) else f" ({self.relation} {self.against:g})"
        claim = f"{self.claim.format_map(labels)}{bound}"
        sentence = Sentence(f"Here: {claim}: {'; '.join(phrase + of for phrase, of in said)}{of_all}.")
        sentence.parts = claim, said, of_all.removeprefix("; ")
        return sentence

    def _rows(self, table: Any) -> Rows:
        """The rows that are meant; without `golden`, which is told the truth, among those compared with."""
        if isinstance(table, pd.DataFrame):
            table = table.to_dict("records")
        parts = table if isinstance(table, list) else [table]  # of rows, dataclasses or named tuples
        parts = [part._asdict() if hasattr(part, "_asdict") else part for part in parts]
        rows = [asdict(part) if is_dataclass(part) and not isinstance(part, type) else part for part in parts]
        meant = [row for row in rows if all(str(row.get(name)) == value for name, value in self.where.items())]
        return [row for row in meant if row.get("b") != GOLDEN]

    def _ends(self, row: Mapping[str, Any]) -> tuple[float, float, float, float]:
        """Value, low, high and bound."""
        bound = row.get(self.against) if isinstance(self.against, str) else self.against
        numbers: tuple[Any, ...] = (row.get(self.value), row.get(f"{self.ends}low"), row.get(f"{self.ends}high"), bound)
        value, low, high, against = (math.nan if _missing(number) else float(number) for number in numbers)
        return value, low, high, against

    def _standing(self, row: Mapping[str, Any], digits: int = 15) -> Standing:
        """Where the claim stands by this row, if its interval is rounded."""
        if "p_holm" in row and not row["p_holm"] < FAMILY_WISE:
            return Standing.CANNOT_TELL
        _, low, high, bound = self._ends(row)
        relation = Relation(row.get("relation", self.relation))
        return standing(round(low, digits), round(high, digits), relation, bound)

    def _phrase(self, row: Mapping[str, Any]) -> str:
        """What a sentence says of a row."""
        _, low, high, bound = self._ends(row)
        held = self._standing(row)
        if any(row[name] < FEW for name in (self.n, "n_questions") if not _missing(row.get(name))):
            return Standing.NOT_MEASURED if row.get(self.n) == 0 else _TOO_FEW
        no_pair_differs = row.get("only_a") == row.get("only_b") == bound == 0
        same = no_pair_differs or low == high == bound
        return _SAME if held is Standing.CANNOT_TELL and same else _SAID[held]

    def _numbers(self, row: Mapping[str, Any]) -> str:
        """The number, its interval and n, with as many digits as show on which side of the bound the interval lies."""
        value, low, high, bound = self._ends(row)
        if self._phrase(row) == _SAME:
            return number(value, "+.2f" if bound == 0 else ".2f")  # of these items there is nothing uncertain
        digits = next(digits for digits in range(2, 16) if self._standing(row, digits) is self._standing(row))
        form = f"{'+' if bound == 0 else ''}.{digits}f"
        shown = number(value, form) if math.isnan(low) else interval(value, low, high, form)
        shown += f" against {bound:g}" if isinstance(self.against, str) else ""
        p = math.nan if _missing(row.get("p_holm")) else float(row["p_holm"])
        shown += "" if math.isnan(p) else ", p < 0.001" if p < 0.001 else f", p = {p:.3f}"
        return shown + ("" if _missing(row.get("note")) else f", {row['note']}")

    def _count(self, row: Mapping[str, Any]) -> str:
        n, questions, missing = (
            0 if _missing(row.get(name)) else int(row[name]) for name in (self.n, "n_questions", "n_missing")
        )
        asked = f" of {questions:,} questions" if questions and self.of != "questions" else ""
        return f"n = {n:,} {self.of}{asked}" + (f", {missing:,} missing" if missing else "")


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value != value or value == ""


def _label(value: Any, name: str = "") -> str:
    """A value as a sentence names it; a number with the name of its column."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{name.replace('_', ' ')} {value:g}".strip()
    return called_in(name, " ".join(str(value).split()))


def _findings() -> Iterator[tuple[str, Finding]]:
    text = (resources.files("srdcr_lab") / "findings.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        measure, *arguments = row["measure"].split() or [""]
        against = row["against"]
        yield row["name"], Finding(
            **{name: row[name] for name in ("claim", "value", "ends", "n", "of")},
            relation=Relation(row["relation"]),
            against=float(against) if against[0].isdigit() else against,
            by=row["by"].split(),
            where=dict([row["where"].split("=")]) if row["where"] else {},
            measure=TABLES[measure] if measure else None,
            arguments=arguments,
        )  # fmt: skip


FINDINGS = dict(_findings())


def can_be_told(
    found: Comparison, a: str, b: str, what: str = "right answers", *, difference: float = 0.10
) -> Sentence:
    """Whether these questions tell which of A and B has more of `what`, by the `compare` of them.

    They do where its 95 % interval leaves out 0, or lies within ± `difference`. Where it does neither, the sentence
    says how many such questions would tell a true difference of that size in four studies of five: an interval narrows
    with the root of their number, and 80 % power wants its half to be 1.96 / (1.96 + 0.84) of the difference. From
    fewer than ten questions that is not said.
    """
    names, n = f"{called(a)} and {called(b)}", found.n_questions
    if not found.high > found.low:
        return Sentence(f"Here: which of {names} has more {what} cannot be told: no item has both (n = 0).")
    numbers = f"{interval(found.difference, found.low, found.high, '+.3f')}, n = {found.n:,} items of {n:,} questions"
    if found.low > 0 or found.high < 0:
        ahead = called(a if found.low > 0 else b)
        return Sentence(f"Here: these questions tell which of {names} has more {what}: {ahead} ({numbers}).")
    if standing(found.low, found.high, Relation.WITHIN, difference) is Standing.HOLDS:
        return Sentence(
            f"Here: these questions tell that {names} differ by less than {difference:.2f} in {what} ({numbers})."
        )
    needed = n * ((found.high - found.low) / 2 * (1.96 + 0.84) / 1.96 / difference) ** 2
    step = 10 ** max(0, len(str(math.ceil(needed))) - 2)
    many = f"About {math.ceil(needed / step) * step:,} such questions would tell one of {difference:.2f}"
    enough = f"{many} in four studies of five."
    if needed <= n:
        enough = f"So many would tell a true one of {difference:.2f} in four studies of five: here it lies in between."
    return Sentence(
        f"Here: these questions cannot tell which of {names} has more {what} ({numbers}): neither 0 nor a difference "
        f"of {difference:.2f} is ruled out. {enough if n >= FEW else 'From so few it cannot be said how many would.'}"
    )


def finding(name: str, *given: Any, against: float | None = None, **named: Any) -> Sentence:
    """The sentence of a row of findings.csv on what this run measured; `against`: another bound."""
    if name not in FINDINGS:
        raise BadInput(f"unknown finding {name!r}; known are {', '.join(FINDINGS)}")
    chosen = FINDINGS[name]
    return (chosen if against is None else replace(chosen, against=against))(*given, **named)
