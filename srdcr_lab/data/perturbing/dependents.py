"""Statements that hang on the gold answer and give it away after it was exchanged.

They are flagged, for a reader to judge; refused is only what states the answer itself: a decade of the gold year,
"'74", the same quantity in another unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from srdcr_lab import answers
from srdcr_lab.answers.quantities import quantities
from srdcr_lab.answers.spans import fold_digits, fold_letters
from srdcr_lab.answers.units import meanings
from srdcr_lab.answers.wording import tokens
from srdcr_lab.answers.year import years
from srdcr_lab.records import AnswerType, Item

_COUNT = (
    r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|several|a few|many|half an?"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?)"
)
_TENS = r"(?:twen|thir|for|fif|six|seven|eigh|nine)ties"
_AGE = (
    rf"aged[ ]\w+|(?:at the )?age of|{_COUNT}[ -]years?[ -]old|in (?:his|her|their) (?:early |late )?(?:teens|{_TENS})"
)
_RELATIVE = r"the|that|this|in the"
_SEASON = r"(?:year|spring|summer|autumn|winter)"
_YEAR_DEPENDENTS = tuple(
    (what, re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE))
    for what, pattern in (
        ("an age", _AGE),
        ("a duration", rf"{_COUNT}[ \u00a0-](?:years?|decades?|centur(?:y|ies))(?![ -]old)"),
        ("an anniversary", r"\w*centena(?:ry|ries)|\w*centennial|anniversar(?:y|ies)|jubilee"),
        ("a relative date", rf"(?:{_RELATIVE}) (?:following|next|previous|preceding|same) {_SEASON}"),
        ("a weekday", r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"),
    )
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"
).split()
_CENTURY = re.compile(
    rf"(?<!\w)(?:(\d{{1,2}})(?:st|nd|rd|th)|({'|'.join(_ORDINALS)}))[ \u00a0-]centur(?:y|ies)(?P<bc>[ ]BC)?",
    re.IGNORECASE,
)
_DECADE = re.compile(r"(?<![\w.,])(\d{3}0)['’]?s(?!\w)")
_SHORT_YEAR = re.compile(r"(?<!\w)['’‘](\d\d)(s?)(?!\w)")
_LEAP_DAY = re.compile(r"29(?:th)?[ ](?:of )?February|February[ ]29", re.I)
_NUMBER_DEPENDENTS = re.compile(
    r"(?<!\w)(?:half|halves|twice|thrice|double[ds]?|triple[ds]?|quadrupled?|a (?:third|quarter|fifth|tenth) of"
    r"|(?:two|three|four|five|ten) times)(?!\w)",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\d[\d.,]*[ \u00a0]?(?:%|per ?cent)(?!\w)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_BRACKET = re.compile(r"[ \u00a0]?[^\W\d_]{0,24}[ \u00a0]?[(\[][^()\[\]]{0,40}\d[^()\[\]]{0,40}[)\]]")
_IN_BASE = {
    "mm": ("m", "0.001"), "cm": ("m", "0.01"), "m": ("m", "1"), "km": ("m", "1000"), "ft": ("m", "0.3048"),
    "inch": ("m", "0.0254"), "yd": ("m", "0.9144"), "mi": ("m", "1609.344"), "mcg": ("g", "0.000001"),
    "mg": ("g", "0.001"), "g": ("g", "1"), "kg": ("g", "1000"), "t": ("g", "1000000"), "lb": ("g", "453.592"),
    "oz": ("g", "28.3495"), "ml": ("l", "0.001"), "cl": ("l", "0.01"), "dl": ("l", "0.1"), "l": ("l", "1"),
    "m²": ("m²", "1"), "km²": ("m²", "1000000"), "mi²": ("m²", "2589988"), "ha": ("m²", "10000"),
    "acre": ("m²", "4046.86"), "s": ("s", "1"), "min": ("s", "60"), "h": ("s", "3600"), "km/h": ("km/h", "1"),
    "mph": ("km/h", "1.609344"),
}  # fmt: skip
_CLOSE = Decimal("0.02")  # share by which a conversion or a rounded restatement may differ
_NEIGHBOUR = 2  # years


def dependents(item: Item) -> tuple[list[str], list[str]]:
    """Refusals and flags that hold for every claim about this item."""
    match item.answer_type:
        case AnswerType.YEAR:
            return list(_given_away(item)), list(_beside_a_year(item))
        case AnswerType.NUMBER:
            return list(_in_another_unit(item)), list(_beside_a_number(item))
        case _:
            return [], list(_beside_a_name(item))


def _gold_year(item: Item) -> int:
    return int(answers.normalise(item.gold_answer, item.answer_type) or 0)


def _given_away(item: Item) -> Iterator[str]:
    gold, folded = _gold_year(item), fold_digits(item.context)
    for found in _DECADE.finditer(folded):
        if gold // 10 == int(found[1]) // 10:
            yield f"the passage names the decade: {found[0]!r}"
    for found in _SHORT_YEAR.finditer(folded):
        if int(found[1]) == gold % 100 or (found[2] and int(found[1]) // 10 == gold % 100 // 10):
            yield f"the passage has the year in short: {found[0]!r}"


def _beside_a_year(item: Item) -> Iterator[str]:
    for what, pattern in _YEAR_DEPENDENTS:
        if found := pattern.search(item.context):
            yield f"{what} may give the year away: {found[0]!r}"


def beside_the_claim(item: Item, new: int) -> Iterator[str]:
    """What gives this claim away: a year it is moved past, its own neighbour, a century, a leap day."""
    gold = _gold_year(item)
    others = {year.value for year in years(item.context) if year.certain and not year.short} - {gold}
    if passed := sorted(other for other in others if min(gold, new) <= other <= max(gold, new)):
        yield f"the claim is moved past another year of the passage: {passed[0]}"
    elif near := sorted(other for other in others if abs(other - gold) <= _NEIGHBOUR):
        yield f"another year of the passage is close to the truth: {near[0]}"
    for found in _CENTURY.finditer(fold_digits(item.context)):
        number = int(found[1]) if found[1] else _ORDINALS.index(found[2].lower()) + 1
        era = -1 if found["bc"] else 1
        if _century(gold) == era * number != _century(new):
            yield f"the passage names the century: {found[0]!r}"
    if _LEAP_DAY.search(item.context) and new > 0 and (new % 4 or (new > 1582 and not new % 100 and new % 400)):
        yield f"29 February does not exist in {new}"


def _century(year: int) -> int:
    return (year + 99) // 100 if year > 0 else -((-year + 99) // 100)


def _size(value: str, unit: str) -> tuple[str, Decimal] | None:
    """A quantity in its base unit; None where the table of units has none."""
    try:
        base, factor = _IN_BASE[unit]
        return base, abs(Decimal(value) * Decimal(factor))
    except (KeyError, InvalidOperation):
        return None


def _gold_number(item: Item) -> tuple[str, frozenset[str]]:
    value, _, stated = (answers.normalise(item.gold_answer, item.answer_type, item.unit) or "").partition(" ")
    return value, meanings(stated or item.unit)


def _in_another_unit(item: Item) -> Iterator[str]:
    value, wanted = _gold_number(item)
    gold = next((size for unit in sorted(wanted) if (size := _size(value, unit))), None)
    if gold is None or not gold[1]:
        return
    for quantity in quantities(item.context):
        for unit in sorted(quantity.unit - wanted):
            other = _size(quantity.readings[0], unit)
            if other and other[0] == gold[0] and abs(other[1] / gold[1] - 1) <= _CLOSE:
                stated = item.context[quantity.start : quantity.end]
                yield f"the passage states the same quantity in another unit: {stated} {unit}"


def _beside_a_number(item: Item) -> Iterator[str]:
    if found := _NUMBER_DEPENDENTS.search(item.context):
        yield f"a share or a multiple may give the number away: {found[0]!r}"
    value, wanted = _gold_number(item)
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    for span in spans:
        if wanted != meanings("%") and (share := _SHARE.search(_sentence_of(item.context, span.start))):
            yield f"a share in the same sentence may give the number away: {share[0]!r}"
            break
    for span in spans:
        if bracket := _BRACKET.match(item.context, span.end):
            yield f"a second figure stands in brackets behind it: {bracket[0].strip()!r}"
            break
    try:
        gold = Decimal(value)
    except InvalidOperation:
        return
    for quantity in quantities(item.context):
        stated = item.context[quantity.start : quantity.end]
        if ":" in quantity.readings[0] or value in quantity.readings or (quantity.unit and not quantity.unit & wanted):
            continue
        looks_a_year = len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199
        if gold and not looks_a_year and abs(Decimal(quantity.readings[0]) / gold - 1) <= _CLOSE:
            yield f"a number close to it stands in the passage: {stated}"
            return


def _sentence_of(passage: str, place: int) -> str:
    ends = [0, *(found.end() for found in _SENTENCE.finditer(passage)), len(passage)]
    return next(passage[start:end] for start, end in pairwise(ends) if place < end)


def _beside_a_name(item: Item) -> Iterator[str]:
    folded = fold_letters(item.context)[0]
    words = tokens(item.gold_answer)
    if item.answer_type is AnswerType.NAME and len(words) > 1:
        without = folded
        for span in answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases):
            without = without.replace(fold_letters(span.surface)[0], " ")
        if len(words[0]) > 2 and re.search(rf"(?<!\w){re.escape(words[0])}(?!\w)", without):
            yield f"the given name stands by itself: {words[0]!r}"
    stems = "|".join(re.escape(word) for word in words if len(word) >= 4)
    derived = re.search(rf"(?<!\w)(?:{stems})[^\W\d_]{{1,6}}(?!\w)", folded) if stems else None
    if derived:
        yield f"a word derived from the answer stands in the passage: {derived[0]!r}"
