"""One sentence on what a run shows of a claim: Supported, Contradicted or Inconclusive, with the numbers.

A claim says that a number lies above or below a bound. It is *supported* where the whole 95 % interval is on the
claimed side and *contradicted* where all of it is on the other; otherwise the run is *inconclusive*. Intervals are
rounded to three decimals first, so that no claim hangs on the fourth. A row with a `p_holm` is one of a family of
comparisons, and decided only where that is below 0.05 too; any other row is by its own interval, uncorrected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import pandas as pd

from srdcr_lab.lib.groups import FEW, GOLDEN
from srdcr_lab.lib.page import Html, interval, number, render
from srdcr_lab.lib.sentences import Relation, Standing, standing
from srdcr_lab.records.names import called_in

FAMILY_WISE = 0.05
_MOST = 20  # rows whose numbers a sentence has; of more it has the names, and the table their numbers
_ALWAYS_NAMED = ("condition", "b", "name", "about")  # named also where one row alone has them


class Sentence(str):
    """A sentence; a notebook shows it as a paragraph, or where it says several things as a list of them.

    `parts`: its claim, what it says with the rows that it says that of, and what holds for all rows.
    """

    parts: tuple[str, Sequence[tuple[str, str]], str] = ("", (), "")

    def _repr_html_(self) -> Html:
        return render("parts", "sentence", text=str(self), parts=self.parts)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def sentence(
    claim: str,
    table: Any,
    value: str = "share",
    *,
    above: float | str | None = None,
    below: float | str | None = None,
    where: Mapping[str, Any] | None = None,
    by: Sequence[str] = (),
    n: str = "n",
    of: str = "questions",
) -> Sentence:
    """What a table of estimates shows of a claim.

    Parameters
    ----------
    claim : the claim in words; ``{a}`` and ``{b}`` are what the columns `a` and `b` of the first row are called.
    table : a DataFrame with a row per estimate, or one row as a dict, dataclass or named tuple, or a list of those;
        None or without rows: not measured.
    value : its column; the interval is in `VALUE_low` and `VALUE_high`, else in `low` and `high`.
    above, below : one of them: the bound that the claim sets, or the column that has each row's.
    where : the values of the rows that are meant.
    by : columns that tell the rows apart.
    n, of : the column of the count, and what is counted.
    """
    relation, bound = (Relation.BELOW, below) if above is None else (Relation.ABOVE, above)
    if (above is None) == (below is None):
        raise TypeError("a claim needs one bound: above or below")
    rows = [row for row in _rows(table) if all(str(row.get(k)) == str(v) for k, v in (where or {}).items())]
    rows = [row for row in rows if row.get("b") != GOLDEN]  # golden knows the truth
    differing = [name for name in ("run", "model", *by) if len({str(row.get(name)) for row in rows}) > 1]
    keys = differing + [name for name in by if name in _ALWAYS_NAMED and name not in differing]
    counts, many = [_count(row, n, of) for row in rows], len(rows) > _MOST
    alike = len(rows) > 1 and len(set(counts)) == 1
    of_each: dict[Standing, list[str]] = {}
    for row, count in zip(rows, counts, strict=True):
        held = _standing(row, value, relation, bound, n)
        name = " · ".join(_label(row[key], key) for key in keys if not _missing(row.get(key)))
        numbers = _numbers(row, value, bound, held) + ("" if alike else f", {count}")
        of_each.setdefault(held, []).append(name if many and name else f"{name} ({numbers})".strip())
    said = [(str(held), ", ".join(of_each[held])) for held in Standing if held in of_each]
    said = said or [(str(Standing.NOT_MEASURED), f"(n = 0 {of})")]
    notes = [f"{counts[0]} each" if alike else "the table has the numbers" if many else ""]
    notes.append(f"decided where Holm's p < {FAMILY_WISE}" if any("p_holm" in row for row in rows) else "")
    if rows:
        claim = claim.format_map({name: _label(row) for name, row in rows[0].items()})
    claim += "" if isinstance(bound, str) else f" ({relation} {bound:g})"
    shown = Sentence(f"{claim}: {'; '.join(f'{held}: {names}' for held, names in said)}{_listed(notes)}.")
    shown.parts = claim, said, _listed(notes).removeprefix("; ")
    return shown


def _listed(notes: Sequence[str]) -> str:
    return "".join(f"; {note}" for note in notes if note)


def _rows(table: Any) -> list[Mapping[str, Any]]:
    if table is None:
        return []
    if isinstance(table, pd.DataFrame):
        return list(table.to_dict("records"))
    parts = table if isinstance(table, list) else [table]
    parts = [part._asdict() if hasattr(part, "_asdict") else part for part in parts]
    return [asdict(part) if is_dataclass(part) and not isinstance(part, type) else part for part in parts]


def _ends(row: Mapping[str, Any], value: str) -> tuple[float, float, float]:
    prefix = f"{value}_" if f"{value}_low" in row else ""
    numbers: tuple[Any, ...] = (row.get(value), row.get(f"{prefix}low"), row.get(f"{prefix}high"))
    middle, low, high = (math.nan if _missing(each) else float(each) for each in numbers)
    return middle, low, high


def _against(row: Mapping[str, Any], bound: float | str | None) -> float:
    return float(row[bound]) if isinstance(bound, str) else float(bound or 0)


def _standing(row: Mapping[str, Any], value: str, relation: Relation, bound: Any, n: str) -> Standing:
    _, low, high = _ends(row, value)
    against = _against(row, bound)
    if any(row[name] < FEW for name in (n, "n_questions") if not _missing(row.get(name))):
        return Standing.TOO_FEW if row[n] else Standing.NOT_MEASURED
    held = standing(low, high, relation, against)
    if "p_holm" in row and not row["p_holm"] < FAMILY_WISE:
        held = Standing.INCONCLUSIVE
    same = low == high == against or row.get("only_a") == row.get("only_b") == against == 0
    return Standing.SAME if held is Standing.INCONCLUSIVE and same else held


def _numbers(row: Mapping[str, Any], value: str, bound: Any, held: Standing) -> str:
    """The number with its interval, to three decimals where two would not show on which side of the bound it lies."""
    middle, low, high = _ends(row, value)
    against = _against(row, bound)
    sign = "+" if against == 0 else ""
    if held is Standing.SAME or math.isnan(low):
        return number(middle, f"{sign}.2f")
    near = any(round(end, 2) == against for end in (low, high))
    shown = interval(middle, low, high, f"{sign}.{3 if near else 2}f")
    shown += f" against {against:g}" if isinstance(bound, str) else ""
    p = math.nan if _missing(row.get("p_holm")) else float(row["p_holm"])
    shown += "" if math.isnan(p) else ", p < 0.001" if p < 0.001 else f", p = {p:.3f}"
    return shown + ("" if _missing(row.get("note")) else f", {row['note']}")


def _count(row: Mapping[str, Any], n: str, of: str) -> str:
    counted, questions, missing = (
        0 if _missing(row.get(name)) else int(row[name]) for name in (n, "n_questions", "n_missing")
    )
    asked = f" of {questions:,} questions" if questions and of != "questions" else ""
    return f"n = {counted:,} {of}{asked}" + (f", {missing:,} missing" if missing else "")


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value != value or value == ""


def _label(value: Any, name: str = "") -> str:
    """A value as a sentence names it; a number with the name of its column."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{name.replace('_', ' ')} {value:g}".strip()
    return called_in(name, " ".join(str(value).split()))
