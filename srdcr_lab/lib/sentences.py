"""One sentence on what a run shows of a claim: Supported, Contradicted or Inconclusive, with the numbers.

A claim says that a number lies above or below a bound. It is *supported* where the whole 95 % interval is on the
claimed side, and *contradicted* where all of it is on the other; otherwise the run is *inconclusive*. Intervals are
rounded to three decimals first, so that no claim hangs on the fourth. A claim that is one of a family also needs its
p-value, corrected by Holm, below 0.05. Fewer than ten questions decide nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from html import escape
from typing import Any

import pandas as pd

from srdcr_lab.lib.groups import FEW
from srdcr_lab.lib.page import Html, interval, number, p_value, render
from srdcr_lab.lib.statistics import Estimate, ends_of
from srdcr_lab.records import BadInput
from srdcr_lab.records.names import called_in
from srdcr_lab.records.vocabulary import did_you_mean

SIGNIFICANT = 0.05


class Relation(StrEnum):
    """How a number has to lie relative to a bound."""

    ABOVE = "above"
    BELOW = "below"
    AT_MOST = "at most"
    WITHIN = "within ±"


class Standing(StrEnum):
    """What a run shows of a claim."""

    SUPPORTED = "Supported"
    CONTRADICTED = "Contradicted"
    INCONCLUSIVE = "Inconclusive"
    SAME = "Identical on every item"
    TOO_FEW = f"Too few (n < {FEW})"
    NOT_MEASURED = "Not measured"
    NOT_TESTED = "Not tested"


_JUDGED = (Standing.SUPPORTED, Standing.CONTRADICTED, Standing.INCONCLUSIVE)
# How a claim goes on after its verdict, so that none stands there as if it were true.
_INTRODUCED = {Standing.SUPPORTED: "", Standing.SAME: "", Standing.CONTRADICTED: "the claim that "}


def standing(low: float, high: float, relation: Relation, bound: float) -> Standing:
    """Decide what a 95 % interval says about a claim.

    Parameters
    ----------
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    relation : Relation
        How the number has to lie relative to the bound.
    bound : float
        The bound.

    Returns
    -------
    Standing
        Supported, contradicted or inconclusive; NaN gives inconclusive.

    Examples
    --------
    >>> standing(0.05, 0.19, Relation.ABOVE, 0.0).value
    'Supported'
    """
    if math.isnan(low) or math.isnan(high) or math.isnan(bound):
        return Standing.INCONCLUSIVE
    low, high = round(low, 3), round(high, 3)
    holds, fails = {
        Relation.ABOVE: (low > bound, high < bound),
        Relation.BELOW: (high < bound, low > bound),
        Relation.AT_MOST: (high <= bound, low > bound),
        Relation.WITHIN: (-bound < low and high < bound, low > bound or high < -bound),
    }[relation]
    return Standing.SUPPORTED if holds else Standing.CONTRADICTED if fails else Standing.INCONCLUSIVE


class Sentence(str):
    """A sentence with its verdict, which a notebook shows in bold."""

    verdict: Standing | None = None

    def __new__(cls, text: str, verdict: Standing | None = None) -> Sentence:
        made = super().__new__(cls, text)
        made.verdict = verdict
        return made

    def __html__(self) -> Html:
        verdicts = "|".join(re.escape(escape(verdict)) for verdict in Standing)
        return Html(re.sub(verdicts, r"<b>\g<0></b>", escape(self)))

    def _repr_html_(self) -> Html:
        return Html(f"<p>{self.__html__()}</p>")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def sentence(
    claim: str, estimate: float, low: float = math.nan, high: float = math.nan, n: int = 0, *,
    above: float | None = None, below: float | None = None, p: float | None = None, of: str = "questions",
) -> Sentence:  # fmt: skip
    """Say in one sentence what an estimate shows of a claim.

    Parameters
    ----------
    claim : str
        The claim in words, without a full stop.
    estimate, low, high : float
        The number and the ends of its 95 % interval; NaN if there is none.
    n : int, default 0
        Number of independent units behind it; below ten there is no verdict.
    above, below : float, optional
        The bound that the claim sets; by default the claim is "above 0".
    p : float, optional
        Holm-corrected p-value if the claim is one of a family; it then has to be below 0.05 as well.
    of : str, default "questions"
        What the units are.

    Returns
    -------
    Sentence
        A string; its `verdict` is a `Standing`.

    Examples
    --------
    >>> sentence("knowing protects", 0.124, 0.05, 0.19, 480)
    'Supported: knowing protects (+0.12 [+0.05, +0.19], n = 480 questions).'
    """
    row = Estimate(estimate, low, high, n)._asdict() | ({} if p is None else {"p_holm": p})
    return sentences(claim.replace("{", "{{").replace("}", "}}"), row, above=above, below=below, of=of)


def sentences(
    claim: str, table: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, column: str = "value", *,
    above: float | str | None = None, below: float | str | None = None, by: Sequence[str] = (), before: str = "for",
    n: str = "n", of: str = "questions",
) -> Sentence:  # fmt: skip
    """Say in one sentence what each row of a table shows of a claim, verdicts first.

    Parameters
    ----------
    claim : str
        The claim in words; `{a}` stands for the label of the value of column `a` in the first row.
    table : DataFrame, mapping of str to object or sequence of mapping of str to object
        One row per estimate, with its interval in COLUMN_low and COLUMN_high, or in `low` and `high`; with a column
        `p_holm` the rows are of a family, of the size in `family`; several rows without it are said to be uncorrected.
        None, or no rows: not measured.
    column : str, default "value"
        Column of the estimate.
    above, below : float or str, optional
        The bound that the claim sets, or the column with each row's bound; by default the claim is "above 0".
    by : sequence of str, default ()
        Columns whose values name the rows.
    before : str, default "for"
        The word between the claim and these names, such as "than".
    n : str, default "n"
        Column of the count.
    of : str, default "questions"
        What is counted.

    Returns
    -------
    Sentence
        A string; its `verdict` is a `Standing` if all rows have the same.

    Raises
    ------
    TypeError
        Both `above` and `below` are given.
    """
    if above is not None and below is not None:
        raise TypeError("a claim has one bound: above or below")
    relation = Relation.BELOW if below is not None else Relation.ABOVE
    bound: float | str = below if below is not None else above if above is not None else 0.0
    given: Any = table.to_dict("records") if isinstance(table, pd.DataFrame) else table or ()
    rows: list[Mapping[str, Any]] = [given] if isinstance(given, Mapping) else list(given)
    if not rows:
        return Sentence(f"{Standing.NOT_MEASURED}: whether {claim} (n = 0 {of}).", Standing.NOT_MEASURED)
    claim = claim.format_map({name: _label(name, value) for name, value in rows[0].items()})
    by_verdict: dict[Standing, list[str]] = {}
    for row in rows:
        verdict, numbers = _judged(row, column, relation, bound, n, of)
        name = ", ".join(_label(key, row[key]) for key in by if not _missing(row.get(key)))
        by_verdict.setdefault(verdict, []).append(f"{name} ({numbers})" if name else f"({numbers})")
    ordered = [(verdict, by_verdict[verdict]) for verdict in Standing if verdict in by_verdict]
    family = max((int(row.get("family", 0)) for row in rows if "p_holm" in row), default=1)  # 0: not said
    note = f" (Holm-corrected over {family} comparisons)" if family > 1 else " (Holm-corrected)" if not family else ""
    if len(rows) == 1 and not by:
        ((verdict, (numbers,)),) = ordered
        return Sentence(f"{verdict}: {_INTRODUCED.get(verdict, 'whether ')}{claim}{note} {numbers}.", verdict)
    (first, names), *others = ordered
    link = ", for" if before == "for" else f" {before}"
    said = [
        f"{first}: {_INTRODUCED.get(first, 'whether ')}{claim}{note}{link} {and_list(names)}.",
        *(f"{verdict} {'for' if before == 'for' else 'against'} {and_list(names)}." for verdict, names in others),
    ]
    said += ["Uncorrected."] * (sum(len(by_verdict.get(verdict, ())) for verdict in _JUDGED) > 1 and not note)
    return Sentence(" ".join(said), first if not others else None)


def answer_box(*lines: str, label: str = "") -> Html:
    """Show the answer to a notebook's question in a box.

    Parameters
    ----------
    *lines : str
        At most three sentences.
    label : str, default ""
        The models behind the numbers, as `Results.label`.

    Returns
    -------
    Html
        The box.
    """
    return render("parts", "answer", lines=lines, label=label)


def _judged(
    row: Mapping[str, Any], column: str, relation: Relation, bound: float | str, n: str, of: str
) -> tuple[Standing, str]:
    """The verdict on one row, and its numbers as text."""
    if column not in row:
        raise BadInput(f"the table has no column {column!r}{did_you_mean(column, row)}")
    numbers: list[Any] = [row.get(name) for name in (column, *ends_of(row, column))]
    value, low, high = (math.nan if _missing(each) else float(each) for each in numbers)
    limit = float(row[bound]) if isinstance(bound, str) else bound
    counts = [int(row[name]) for name in (n, "n_questions") if not _missing(row.get(name))]
    p: Any = row.get("p_holm")
    verdict = standing(low, high, relation, limit)
    if not counts or not max(counts) or math.isnan(value):
        verdict = Standing.NOT_MEASURED
    elif min(counts) < FEW:
        verdict = Standing.TOO_FEW
    elif verdict is Standing.INCONCLUSIVE and low == high == limit == 0:
        verdict = Standing.SAME
    elif not _missing(p) and not p < SIGNIFICANT:
        verdict = Standing.INCONCLUSIVE
    sign = "+" if limit == 0 else ""
    digits = 3 if any(round(end, 2) == limit for end in (low, high)) else 2
    shown = number(value, f"{sign}.2f") if math.isnan(low) else interval(value, low, high, f"{sign}.{digits}f")
    if verdict is Standing.SAME:
        return verdict, f"n = {counts[0]:,} {of}"
    parts = [shown + (f" against {limit:g}" if limit else ""), "" if p is None or _missing(p) else f"p {p_value(p)}"]
    parts.append(f"n = {counts[0]:,} {of}" if counts else f"n = 0 {of}")
    return verdict, ", ".join(filter(None, parts))


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value != value or value == ""


def _label(name: str, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{name.replace('_', ' ')} {value:g}"
    return called_in(name, " ".join(str(value).split()))


def and_list(names: Iterable[str]) -> str:
    """Join names for a sentence.

    Parameters
    ----------
    names : iterable of str
        The names.

    Returns
    -------
    str
        Such as ``A, B and C``; ``none`` without any.
    """
    *first, last = [*names] or ["none"]
    return f"{', '.join(first)} and {last}" if first else last
