"""What else gives a year away once it was exchanged: ages, durations, other dates, decades, centuries, short forms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from srdcr_lab import answers
from srdcr_lab.answers.spans import fold_digits
from srdcr_lab.answers.year import years
from srdcr_lab.records import Item

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
