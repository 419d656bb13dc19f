"""Statements that hang on the gold answer and give it away after it was exchanged.

They are flagged, for a reader to judge; refused is only what states the answer itself: a decade of the gold year,
"'74", the same quantity in another unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from srdcr_lab import answers
from srdcr_lab.answers.spans import fold_letters
from srdcr_lab.answers.wording import tokens
from srdcr_lab.data.perturbing.beside_numbers import beside_the_number, in_another_unit
from srdcr_lab.data.perturbing.beside_years import beside_the_claim, beside_the_year, given_away
from srdcr_lab.records import AnswerType, Item


def dependents(item: Item) -> tuple[list[str], list[str]]:
    """Refusals and flags that hold for every claim about this item."""
    match item.answer_type:
        case AnswerType.YEAR:
            return list(given_away(item)), list(beside_the_year(item))
        case AnswerType.NUMBER:
            return list(in_another_unit(item)), list(beside_the_number(item))
        case _:
            return [], list(_beside_a_name(item))


def flags_of_claim(item: Item, canonical: str) -> list[str]:
    """Flags that depend on what is claimed."""
    return list(beside_the_claim(item, int(canonical))) if item.answer_type is AnswerType.YEAR else []


def _beside_a_name(item: Item) -> Iterator[str]:
    folded = fold_letters(item.context)[0]
    words = tokens(item.gold_answer)
    if item.answer_type is AnswerType.NAME and len(words) > 1:
        mentions = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
        without = folded
        for surface in sorted({fold_letters(span.surface)[0] for span in mentions}, key=len, reverse=True):
            without = without.replace(surface, " ")
        if len(words[0]) > 2 and re.search(rf"(?<!\w){re.escape(words[0])}(?!\w)", without):
            yield f"the given name stands by itself: {words[0]!r}"
    stems = "|".join(re.escape(word) for word in words if len(word) > 4)
    derived = re.search(rf"(?<!\w)(?:{stems})[^\W\d_]{{1,6}}(?!\w)", folded) if stems else None
    if derived:
        yield f"a word derived from the answer stands in the passage: {derived[0]!r}"
