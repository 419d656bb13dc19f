"""Statements that hang on the gold answer and give it away after it was exchanged.

They are flagged, for a reader to judge; refused is only what states the answer itself: a decade of the gold year,
"'74", the same quantity in another unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from srdcr_lab import answers
from srdcr_lab.answers.quantities import quantities
from srdcr_lab.answers.text import fold_digits, fold_letters, tokens
from srdcr_lab.answers.units import meanings
from srdcr_lab.answers.year import years
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


# -- what else gives a year away once it was exchanged: ages, durations, other dates, decades, centuries

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
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_LEAP_DAY = re.compile(r"29(?:th)?[ ](?:of )?February|February[ ]29", re.IGNORECASE)
_NEIGHBOUR = 2  # years


def _gold_year(item: Item) -> int:
    return int(answers.normalise(item.gold_answer, item.answer_type) or 0)


def given_away(item: Item) -> Iterator[str]:
    """What states the gold year in another way: its decade, "'74", Roman numerals."""
    gold, folded = _gold_year(item), fold_digits(item.context)
    for found in _DECADE.finditer(folded):
        if gold // 10 == int(found[1]) // 10:
            yield f"the passage names the decade: {found[0]!r}"
    if 1000 <= gold <= 2999 and re.search(rf"(?<!\w){_roman(gold)}(?!\w)", item.context):
        yield f"the passage has the year in Roman numerals: {_roman(gold)!r}"
    for found in _SHORT_YEAR.finditer(folded):
        if int(found[1]) == gold % 100 or (found[2] and int(found[1]) // 10 == gold % 100 // 10):
            yield f"the passage has the year in short: {found[0]!r}"


def _roman(number: int) -> str:
    numerals = ""
    for value, letters in _ROMAN:
        numerals += letters * (number // value)
        number %= value
    return numerals


def beside_the_year(item: Item) -> Iterator[str]:
    """What hangs on the gold year, whatever is claimed."""
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


# -- what else gives a number away once it was exchanged: shares, multiples, other units, rounded restatements

_RATIOS = {
    "half": "0.5", "halves": "0.5", "third": "3", "thirds": "3", "quarter": "4", "quarters": "4", "fifth": "5",
    "tenth": "10", "twice": "2", "double": "2", "doubled": "2", "thrice": "3", "triple": "3", "tripled": "3",
    "three times": "3", "four times": "4", "five times": "5", "ten times": "10",
}  # fmt: skip
_MULTIPLE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_RATIOS, key=len, reverse=True))})(?!\w)", re.IGNORECASE)
_MOST_NUMBERS = 200  # of a passage, that are added up in pairs
_SHARE = re.compile(r"\d[\d.,]*[ \u00a0]?(?:%|per ?cent)(?!\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<![\w.,])(\d[\d,]*)(?:st|nd|rd|th)(?!\w)")
_SENTENCE_END = re.compile(r"[.!?]\s")
_LONGEST_SENTENCE = 1000  # characters
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


def _gold_number(item: Item) -> tuple[str, frozenset[str]]:
    value, _, stated = (answers.normalise(item.gold_answer, item.answer_type, item.unit) or "").partition(" ")
    return value, meanings(stated or item.unit)


def _size(value: str, unit: str) -> tuple[str, Decimal] | None:
    """A quantity in its base unit; None where the table of units has none."""
    try:
        base, factor = _IN_BASE[unit]
        return base, abs(Decimal(value) * Decimal(factor))
    except (KeyError, InvalidOperation):
        return None


def in_another_unit(item: Item) -> Iterator[str]:
    """The same quantity in another unit ("60.9 miles" beside 98 km), within two per cent."""
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


def beside_the_number(item: Item) -> Iterator[str]:
    """What hangs on the gold number, whatever is claimed."""
    value, wanted = _gold_number(item)
    others = _other_numbers(item.context, value, wanted)
    yield from _worked_out(item.context, value, others)
    for found in _ORDINAL.finditer(fold_digits(item.context)):
        if found[1].replace(",", "") == value:
            yield f"the number stands there as an ordinal: {found[0]!r}"
            break
    mentions = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    shares = () if wanted == meanings("%") else (_SHARE.search(_sentence(item.context, m.start)) for m in mentions)
    if share := next(filter(None, shares), None):
        yield f"a share in the same sentence may give the number away: {share[0]!r}"
    if bracket := next(filter(None, (_BRACKET.match(item.context, m.end) for m in mentions)), None):
        yield f"a second figure stands in brackets behind it: {bracket[0].strip()!r}"


def _other_numbers(passage: str, value: str, wanted: frozenset[str]) -> dict[Decimal, str]:
    """Other numbers of a passage, each as it stands there first; clock times, years and other units apart."""
    others: dict[Decimal, str] = {}
    for quantity in quantities(passage):
        stated, reading = passage[quantity.start : quantity.end], quantity.readings[0]
        looks_a_year = len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199
        other_unit = quantity.unit and not quantity.unit & wanted
        if not (looks_a_year or other_unit or ":" in reading or value in quantity.readings):
            others.setdefault(Decimal(reading), stated)
    return others


def _worked_out(passage: str, value: str, others: Mapping[Decimal, str]) -> Iterator[str]:
    """How the gold number could be worked out from others: a rounded one, a stated multiple, a sum of two."""
    try:
        gold = Decimal(value)
    except InvalidOperation:
        return
    if close := next((stated for number, stated in others.items() if gold and abs(number / gold - 1) <= _CLOSE), ""):
        yield f"a number close to it stands in the passage: {close}"
    for found in _MULTIPLE.finditer(passage):
        ratio = Decimal(_RATIOS[found[0].lower()])
        if of := others.get(gold * ratio) or others.get(gold / ratio):
            yield f"a share or a multiple gives the number away: {found[0]!r} and {of}"
            break
    some = dict(list(others.items())[:_MOST_NUMBERS])
    for number, stated in some.items():
        rest = some.get(gold - number)
        if rest and 0 < number < gold - number:
            yield f"two other numbers add up to it: {stated} and {rest}"
            break


def _sentence(passage: str, place: int) -> str:
    """The sentence around a place, at most a thousand characters to either side."""
    first = max(0, place - _LONGEST_SENTENCE)
    starts = [found.end() for found in _SENTENCE_END.finditer(passage, first, place)]
    end = _SENTENCE_END.search(passage, place, place + _LONGEST_SENTENCE)
    return passage[starts[-1] if starts else first : end.start() if end else place + _LONGEST_SENTENCE]
