"""Numbers, with or without a unit.

The canonical form is the plain decimal ("1250", "-0.5"), followed by the stated unit only where that is a known unit
other than the one asked for ("5 g" when mg was asked): a unit that disagrees makes it another answer. Values are never
converted between units. Words that merely say what is counted ("people") are dropped. Where no unit is asked for, a
known unit is kept ("5 mg"), and a missing one agrees with any.
"""

from __future__ import annotations

import re

from srdcr_lab.answers.quantities import Quantity, quantities
from srdcr_lab.answers.text import Span, fold_digits
from srdcr_lab.answers.units import agrees, counted, meanings, shown

LONGEST_BARE = 300  # characters; a longer text is no bare answer
_HEDGE = re.compile(
    r"[\s(\[\"']*(?:(?:it is|about|around|approximately|approx\.?|circa|ca?\.?|roughly|nearly|almost|some"
    r"|an estimated|estimated|exactly|just|only|a total of|[~≈+=])\s*)*"
    r"(?:(?:US)?[$€£¥₹]|(?:USD|EUR|GBP|JPY|INR)\b)?\s*",
    re.IGNORECASE,
)
_REST = re.compile(r"[\s-]*(?:[^\s\d]{1,24}(?:[\s-]+[^\s\d]{1,24}){0,3})?[\s.!)\]\"']*")


def _shown(quantity: Quantity, unit: str) -> str:
    """Canonical form of one quantity under the unit that is asked for."""
    value, wanted = quantity.readings[0], meanings(unit)
    if not quantity.unit or (wanted and agrees(quantity.unit, wanted)):
        return value
    if unit and not wanted and any(counted(unit) == counted(phrase) for phrase in quantity.phrases):
        return value
    return f"{value} {shown(quantity.unit)}"


def states_unit(quantity: Quantity, unit: str) -> bool:
    """True where the text says the unit beside the number."""
    wanted = meanings(unit)
    if wanted:
        return agrees(quantity.unit, wanted)
    return any(counted(unit) == counted(phrase) for phrase in quantity.phrases)


def bare(text: str) -> Quantity | None:
    """The quantity that a text is: hedges before it and at most four words after it are allowed."""
    found = quantities(text) if len(text) <= LONGEST_BARE else ()
    if len(found) != 1:
        return None
    folded = fold_digits(text)
    before, after = folded[: found[0].start], folded[found[0].end :]
    return found[0] if _HEDGE.fullmatch(before) and _REST.fullmatch(after) else None


def canonical(text: str, unit: str = "") -> str | None:
    quantity = bare(text)
    return None if quantity is None else _shown(quantity, unit)


def in_sentence(text: str, unit: str = "") -> str | None:
    """The one number of a sentence; among several, the one that is stated in the unit asked for; else None."""
    found = quantities(text)
    if unit and len({_shown(q, unit) for q in found}) > 1:
        found = tuple(q for q in found if states_unit(q, unit))
    distinct = {_shown(q, unit) for q in found}
    return distinct.pop() if len(distinct) == 1 else None


def same(a: str, b: str, unit: str = "") -> bool:
    """Equality of canonical forms; where no unit is asked for, a unit on one side alone does not disagree."""
    if unit:
        return a == b
    (value_a, _, unit_a), (value_b, _, unit_b) = a.partition(" "), b.partition(" ")
    return value_a == value_b and (not unit_a or not unit_b or bool(meanings(unit_a) & meanings(unit_b)))


def occurrences(passage: str, answer: str, unit: str = "") -> list[Span]:
    """Where a canonical number stands in a text; `partial` where the unit asked for is not beside it."""
    value, _, own_unit = answer.partition(" ")
    wanted = meanings(own_unit or unit)
    spans = []
    for q in quantities(passage):
        if value not in q.readings or (wanted and q.unit and not agrees(q.unit, wanted)):
            continue
        weak = bool(own_unit or unit) and not states_unit(q, own_unit or unit)
        spans.append(Span(q.start, q.end, passage[q.start : q.end], weak))
    return spans


def infer_unit(text: str) -> tuple[str, str] | None:
    """Value and unit of a bare number, the unit as the table of units or the text calls it; None for no number."""
    quantity = bare(text)
    if quantity is None:
        return None
    if quantity.unit:
        return quantity.readings[0], shown(quantity.unit)
    return quantity.readings[0], quantity.phrases[0] if quantity.phrases else ""
