"""Short names for the perturbations of a year, as the notebooks use them; every kind is in `data.perturbing`."""

from __future__ import annotations

from srdcr_lab import answers
from srdcr_lab.data.levels import level_of_offset
from srdcr_lab.data.perturbing.claims import SIGNED_YEAR_OFFSETS, YEAR_OFFSETS, offsets
from srdcr_lab.data.perturbing.forms import forms
from srdcr_lab.records import AnswerType, BadInput, Item

__all__ = ["SIGNED_YEAR_OFFSETS", "YEAR_OFFSETS", "level_of_offset", "offset_year", "year_forms"]

_FAR_AHEAD = 9999  # no claim is flagged as future: these functions return items, not an account


def year_forms(item: Item) -> list[Item]:
    """A standard item whose answer is a year, and its false forms: every signed offset that its passage allows."""
    _refuse_all_but_years(item)
    made = forms(item, offsets(item, SIGNED_YEAR_OFFSETS, _FAR_AHEAD))
    return [item, *(form.item for form in made if form.item is not None)]


def offset_year(item: Item, offset: int) -> Item:
    """The standard item with `offset` years added to every mention of its answer.

    Raises
    ------
    BadInput
        If the answer is no year or the passage cannot be made to lie by that much: the sentence says why.
    """
    _refuse_all_but_years(item)
    if offset == 0:
        raise BadInput(f"{item.item_id}: a year can be offset, but not by 0")
    (form,) = forms(item, offsets(item, (offset,), _FAR_AHEAD))
    if form.item is None:
        raise BadInput(f"{item.item_id}: {'; '.join(form.why)}")
    return form.item


def _refuse_all_but_years(item: Item) -> None:
    if item.answer_type is not AnswerType.YEAR or not item.is_standard:
        raise BadInput(f"{item.item_id}: only a standard item whose answer is a year can be offset")
    if answers.normalise(item.gold_answer, item.answer_type) is None:
        raise BadInput(f"{item.item_id}: the gold answer {item.gold_answer!r} is no year")
