"""What a run shows: tables in, one sentence out, for any model and any size.

A `Finding` claims that one number lies above or below a bound. The run *shows* it where the whole 95 % interval is on
the claimed side and *does not show* it where all of it is on the other; otherwise it *cannot be told*. `standing`
decides, here and for the claims of the paper. Where all of the interval is the bound, *it is the same*. Rows of fewer
than ten are *too few to tell*, as they are grey in the figures, and of none *not measured*. A row with a `p_holm` is
one of a family of comparisons, and told only where that is below 0.05 too; every other row is by its own interval, of
which by chance one in twenty misses.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from enum import StrEnum
from html import escape
from importlib import resources
from typing import Any

import pandas as pd

from srdcr_lab.measures import evidence
from srdcr_lab.measures.comparison import Comparison, condition_rows, outcome
from srdcr_lab.measures.estimates import clustered_interval, contrast_interval, macro_mean, mean_interval, shares
from srdcr_lab.measures.evaluation import CONDITIONS
from srdcr_lab.measures.groups import FEW, GOLDEN, groups, is_standard
from srdcr_lab.measures.knowledge import categorise
from srdcr_lab.measures.precision import PrecisionSteps
from srdcr_lab.measures.verdicts import DESIGN_KEYS, debates
from srdcr_lab.pages import interval, number
from srdcr_lab.records import BadInput, Decision, Missing, Verdict
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
_SAME, _TOO_FEW, NOT_MEASURED = "it is the same", "too few to tell", "not measured"
_ALWAYS_NAMED = ("condition", "b", "name")  # on which passages, and what is compared with, also where it is one alone
Rows = list[dict[str, Any]]


class Sentence(str):
    """A sentence; a notebook shows it as a paragraph, in which whatever came from a run or a table is escaped."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self)}</p>".replace("Here:", "<b>Here:</b>", 1)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class _Names(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "…"  # what the first row of a table without rows would have named


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
        """The sentence on these tables. Without a row nothing can be told, and it says so."""
        rows, reason = [], "nothing was measured"
        if not any(part is None or (isinstance(part, pd.DataFrame) and part.empty) for part in given):
            try:
                rows = self._rows(self.measure(*given, *self.arguments, **named) if self.measure else given[0])
            except evidence.NoEvidence as nothing:
                reason = str(nothing)
        differing = [name for name in ("run", "model", *self.by) if len({str(row.get(name)) for row in rows}) > 1]
        keys = differing + [name for name in self.by if name in _ALWAYS_NAMED and name not in differing]
        counts = [self._count(row) for row in rows]
        many, alike = len(rows) > _MOST, len(rows) > 1 and len(set(counts)) == 1
        parts: dict[str, list[str]] = {each: [] for each in (*_SAID.values(), _SAME, _TOO_FEW, NOT_MEASURED)}
        for row, count in zip(rows, counts, strict=True):
            name = " · ".join(_label(row[key], key) for key in keys if not _missing(row.get(key)))
            numbers = "" if many and name else f" ({self._numbers(row)}{'' if alike else f', {count}'})"
            parts[self._phrase(row)].append(f"{name}{numbers}".strip())
        link = " for " if keys else " "
        said = "; ".join(f"{phrase}{link}{', '.join(texts)}" for phrase, texts in parts.items() if texts)
        said = said or f"it cannot be told, {reason} (n = 0 {self.of})"
        said += f"; {counts[0]} each" if alike else ""
        said += "; the table has the numbers and each n" if many and not alike else ""
        said += f"; told where Holm's p is below {FAMILY_WISE}" if any("p_holm" in row for row in rows) else ""
        labels = _Names({name: _label(value) for name, value in rows[0].items()} if rows else {})
        bound = "" if isinstance(self.against, str) else f" ({self.relation} {self.against:g})"
        return Sentence(f"Here: {self.claim.format_map(labels)}{bound}: {said}.")

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
            return NOT_MEASURED if row.get(self.n) == 0 else _TOO_FEW
        return _SAME if held is Standing.CANNOT_TELL and low == high == bound else _SAID[held]

    def _numbers(self, row: Mapping[str, Any]) -> str:
        """The number, its interval and n, with as many digits as show on which side of the bound the interval lies."""
        value, low, high, bound = self._ends(row)
        digits = next(digits for digits in range(2, 16) if self._standing(row, digits) is self._standing(row))
        form = f"{'+' if bound == 0 else ''}.{digits}f"
        shown = number(value, form) if math.isnan(low) else interval(value, low, high, form)
        shown += f" against {bound:g}" if isinstance(self.against, str) else ""
        shown += "" if _missing(row.get("p_holm")) else f", p = {row['p_holm']:.3f}"
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


# The tables that no other measure makes


def rows_with(table: pd.DataFrame, column: str, *values: str) -> pd.DataFrame:
    """Share of the rows that have one of these values, of those that have any."""
    hits = table[column].astype(str).isin(values).astype("boolean")
    return shares(table, hits.mask(table[column].isna()))


def within_category(questions: pd.DataFrame) -> pd.DataFrame:
    low, high = (categorise(questions[f"accuracy_{end}"]).clip(max=2) for end in ("low", "high"))
    within = pd.Series(low == high, questions.index, "boolean")
    return shares(questions, within.mask(questions["sampled_accuracy"].isna()))


def redrawn(questions: pd.DataFrame) -> dict[str, float]:
    known = questions.dropna(subset="redraw_stability")
    return mean_of(known["redraw_stability"], known["question_id"])


def mean_of(values: pd.Series, clusters: pd.Series) -> dict[str, float]:
    low, high = mean_interval(values, clusters)
    return {"value": values.mean(), "low": low, "high": high, "n": len(values)}


def at_papers_tau(steps: PrecisionSteps | Mapping[str, PrecisionSteps]) -> Rows:
    """What the paper reports of P(Highly-Known | Conf ≥ τ) [4.2]; of one model, or of several by their names."""
    return [
        {"model": model, "reported": reported} | asdict(each.at(tau))
        for model, each in (steps.items() if isinstance(steps, Mapping) else [("", steps)])
        for tau, reported in ((0.90, 0.88), (0.95, 0.95))
    ]


def risk_above(steps: PrecisionSteps, tau: float) -> dict[str, float]:
    above = steps.at(tau)
    return {"risk": above.risk, "low": 1 - above.high, "high": 1 - above.low, "n": above.n_above}


def each(a: str, b: str, name: str, values: Iterable[str], measured: Callable[[str], evidence.Evidence]) -> Rows:
    """The evidence on A against B for each of the values that has any."""
    rows = []
    for value in values:
        with suppress(evidence.NoEvidence):
            rows.append({"a": a, "b": b, name: value} | asdict(measured(value)))
    return rows


def leads(records: pd.DataFrame, denominator: str = "all", a: str = "sr_dcr", b: str = "few_shot") -> Rows:
    """Accuracy of A less that of B on true and on false passages, and the mean of the two; of ``all`` or ``answered``
    items."""
    of = evidence.Denominator(f"{denominator} items")
    return each(a, b, "condition", CONDITIONS, lambda condition: evidence.difference(records, a, b, condition, of))


def bias_change(records: pd.DataFrame, a: str = "sr_dcr", b: str = "few_shot") -> Rows:
    return each(a, b, "bias", ("context", "prior"), lambda bias: evidence.bias_contrast(records, a, b, 1.0, bias))


def dearer(records: pd.DataFrame, a: str = "sr_dcr") -> Rows:
    rivals = [b for b in records["method"].unique() if b != a]
    return each(a, "", "b", rivals, lambda b: evidence.more_calls(records, a, b))


def judged(records: pd.DataFrame) -> Rows:
    """Share of right verdicts of each design by condition, overall the mean of the two halves; UNPARSED is wrong."""
    rows = []
    for names, part in groups(debates(records), DESIGN_KEYS):
        for condition in CONDITIONS:
            held = condition_rows(part, condition)
            right, halves = outcome(held, "verdict_right"), is_standard(held)
            low, high = clustered_interval(right, held["question_id"], halves)
            ends = {"share": macro_mean(right, halves), "low": low, "high": high}
            sizes = {"n": len(held), "n_questions": held["question_id"].nunique()}
            rows.append(names | {"condition": condition} | ends | sizes)
    return rows


def decided(records: pd.DataFrame) -> pd.DataFrame:
    """Share of right answers of each decision of SR-DCR that answers, on true and on false passages."""
    rows = records[records["method"] == "sr_dcr"]
    rows = rows.assign(condition=is_standard(rows).map({True: "standard", False: "perturbed"}))
    cells = {"decision": [Decision.USE_CONTEXT, Decision.USE_PRIOR], "condition": CONDITIONS[:2]}
    return shares(rows, rows["correct"].astype("boolean"), cells)


def held_back(records: pd.DataFrame, tau: float) -> pd.DataFrame:
    """Share of right prior answers that SR-DCR does not give: the Judge rejected the passage, and Conf < τ."""
    rows = records[(records["method"] == "sr_dcr") & (records["verdict"] == Verdict.UNREASONABLE)]
    rows = rows[~(rows["self_confidence"].astype(float) >= tau)]
    return shares(rows, rows["prior_correct"].astype("boolean").fillna(False))


def repeated(turns: pd.DataFrame) -> pd.DataFrame:
    """Of each model and role, the share of turns after a speaker's first that say, word for word, an earlier one."""
    ordered = turns.sort_values("position", kind="stable")
    who = ["model", "item_id", "method", "design", "role", "speaker"]
    later = ordered.assign(again=ordered.duplicated([*who, "text"]))[ordered.duplicated(who)]
    return shares(later, later["again"], {name: later[name].unique() for name in ("model", "role")})


def beside_printed(measured: pd.DataFrame, printed: pd.DataFrame, method: str = "sr_dcr") -> pd.DataFrame:
    """A `summary` on false passages beside each model that the paper prints."""
    own = measured[(measured["method"] == method) & (measured["condition"] == "perturbed")]
    rows = printed[(printed["method"] == method) & (printed["column"] == "perturbed")]
    columns = rows[["method"]].assign(printed_for=rows["model"], printed=rows["accuracy"])
    return columns.merge(own, on="method")


def gave_way(stands: pd.DataFrame) -> pd.DataFrame:
    """Of `documents.stands`: how often proponents who were right, or wrong, revised or conceded."""
    return shares(stands, stands["state"] != "defend", {"held_right": [True, False]}).assign(held=["right", "wrong"])


def misled(outcomes: pd.DataFrame) -> Rows:
    """Of `documents.answer_outcomes`: each method's matches where most documents mislead, less those elsewhere."""
    rows = []
    for method, part in outcomes.dropna(subset="share_misinforming").groupby("method", sort=False):
        most, matched = part["share_misinforming"] > 0.5, part["exact_match"].astype(float)
        ends = contrast_interval(matched, part["question_id"], most, {True: 1.0, False: -1.0}, bounds=(0.0, 1.0))
        found = dict(zip(("difference", "low", "high"), ends, strict=True))
        rows.append({"method": method, **found, "n": min(int(most.sum()), int((~most).sum()))})
    return rows


def spared(records: pd.DataFrame, turns: pd.DataFrame, method: str = "cfmad_when_unsure") -> pd.DataFrame:
    """Share of the items that this method answers without a debate: nobody defends a preset stance."""
    rows = records[records["method"] == method]
    debated = turns.loc[(turns["method"] == method) & turns["stance"].notna(), "item_id"]
    return shares(
        rows, (~rows["item_id"].isin(debated)).astype("boolean").where(rows["missing"].fillna("") != Missing.ERROR)
    )


def promised(guarantee: Any) -> Rows:
    """Risk of the rule that a `FinalAnswerGuarantee` chose, on the questions that chose it."""
    if guarantee.rule_ is None:
        raise evidence.NoEvidence("no rule passes the test")
    ends = dict(zip(("risk", "low", "high"), guarantee.risk_, strict=True))
    passed = guarantee.tests_[guarantee.tests_["accepted"]]
    n = int(passed["n_answered"][passed["coverage"].idxmax()])
    return [ends | {"n": n, "n_questions": guarantee.sizes_["n_questions"]}]


def recovered(recovery: pd.DataFrame) -> Rows:
    """The mean over the seeds of each world's rank correlation."""
    worlds = recovery.dropna(subset="rank_correlation").groupby("world", sort=False)
    return [{"world": world} | mean_of(part["rank_correlation"], part["seed"]) for world, part in worlds]


_MEASURES = {
    measure.__name__: measure
    for measure in (
        *(rows_with, within_category, redrawn, at_papers_tau, risk_above, leads, bias_change, dearer, judged, decided),
        *(held_back, repeated, beside_printed, gave_way, misled, spared, promised, recovered),
    )
}


def _findings() -> Iterator[tuple[str, Finding]]:
    text = (resources.files("srdcr_lab.measures") / "findings.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        measure, *arguments = row["measure"].split() or [""]
        against = row["against"]
        yield row["name"], Finding(
            **{name: row[name] for name in ("claim", "value", "ends", "n", "of")},
            relation=Relation(row["relation"]),
            against=float(against) if against[0].isdigit() else against,
            by=row["by"].split(),
            where=dict([row["where"].split("=")]) if row["where"] else {},
            measure=_MEASURES[measure] if measure else None,
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
    many = "As many questions as these" if needed <= n else f"About {math.ceil(needed / step) * step:,} such questions"
    enough = f"{many} would tell one of {difference:.2f} in four studies of five."
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
