"""Make a passage lie by a known amount: signed offsets for years.

The claim replaces the gold answer wherever the passage states it; a passage in which it is not found is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab import answers
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind

YEAR_OFFSETS = (20, 40, 60, 100, 200)  # paper, Figure 2
_YEAR_LEVELS = ((20, Level.SUBTLE), (40, Level.MILD), (60, Level.MODERATE))


def signed(offsets: Sequence[int]) -> tuple[int, ...]:
    """Each offset forwards and backwards in time."""
    return tuple(sign * offset for offset in offsets for sign in (1, -1))


def year_forms(item: Item, offsets: Sequence[int] = YEAR_OFFSETS, *, every_mention: bool = True) -> list[Item]:
    """A standard item whose answer is a year, and its false forms: one for each signed offset."""
    return [item, *(offset_year(item, offset, every_mention=every_mention) for offset in signed(offsets))]


def level_of_offset(offset: float) -> Level:
    """The level of a year offset: up to 20 subtle, 40 mild, 60 moderate, beyond that blatant (paper, Figure 2)."""
    return next((level for bound, level in _YEAR_LEVELS if abs(offset) <= bound), Level.BLATANT)


def offset_year(item: Item, offset: int, *, every_mention: bool = True) -> Item:
    """The standard item with `offset` years added to every mention of its answer, or to the first alone.

    Raises
    ------
    BadInput
        If the answer is no year, the passage does not state it, or the claim would leave the calendar (before year 1).
    """
    if item.answer_type is not AnswerType.YEAR or not item.is_standard or offset == 0:
        raise BadInput(f"{item.item_id}: only a standard item whose answer is a year can be offset, and not by 0")
    gold = answers.normalise(item.gold_answer, item.answer_type)  # also of "AD 1066" or "44 BC"
    if gold is None:
        raise BadInput(f"{item.item_id}: the gold answer {item.gold_answer!r} is no year")
    year = int(gold) + offset
    if year < 1:
        raise BadInput(f"{item.item_id}: {item.gold_answer} {offset:+d} lies before the year 1")
    claim = str(year)
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if not spans:
        raise BadInput(
            f"{item.item_id}: the passage does not state the answer {item.gold_answer}, so it cannot be made to lie"
        )
    context = item.context
    for span in reversed(spans if every_mention else spans[:1]):
        context = context[: span.start] + claim + context[span.end :]
    return replace(
        item,
        item_id=f"{item.question_id}@{offset:+d}",
        context=context,
        claimed_answer=claim,
        perturbation_kind=PerturbationKind.OFFSET,
        perturbation_value=float(offset),
        level=level_of_offset(offset),
    )
