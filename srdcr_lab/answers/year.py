"""Years: "1874", "AD 1066", "44 BC", "nineteen seventy-four". Canonical is a whole number, BC negative ("-44").

Not years: decades ("1920s"), centuries ("3rd century"), grouped or decimal numbers ("1,874"), numbers with a known unit
("1500 metres"). A range holds two years; its short end ("18" in "1914–18") is a `partial` mention of 1918. Without an
era, four digits (1000–2999) are a year anywhere; three only as a bare answer, or after "in", "by", "since" and such.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from srdcr_lab.answers.number_words import spelled_numbers
from srdcr_lab.answers.text import Span, fold_digits
from srdcr_lab.answers.units import meanings

# Capitals, or small letters with full stops ("a.d."); plain "bc" too, but "ad" and "ce" are also other words.
_BC = r"(?:B\.?[ \u00a0]?C\.?(?:[ \u00a0]?E)?|b\.[ \u00a0]?c\.(?:[ \u00a0]?e)?|bce?)"
_AD = r"(?:A\.?[ \u00a0]?D|C\.?[ \u00a0]?E|a\.[ \u00a0]?d|c\.[ \u00a0]?e)"
_AFTER = re.compile(rf"[ \u00a0]?(?:(?P<bc>{_BC})|(?P<ad>{_AD}))(?!\w)(?:(?<=\.[A-Za-z])\.)?")
_BEFORE = re.compile(rf"(?<!\w){_AD}\.?[ \u00a0]?\Z")
_NUMBER = re.compile(r"(?<!\w)(?:\d{1,3}(?:,\d{3})+|\d{1,7})(?![\w])(?!,\d{3}(?!\d))(?!\.\d(?!\d?\.\d))(?!:\d|[%‰°])")
_TIED_BEFORE = re.compile(r"(?:\d[.:/,]|[$€£¥₹]\s?|(?<![^\W\d_])\.|[#/]|\d')\Z")
_DATE_BEFORE = re.compile(r"(?<!\d)\d{1,2}(?:\.[ ]?|/|-)\d{1,2}[./-]\Z|(?<!\d)\d{1,2},\Z|(?<!\d)(?:\d{4}|\d{1,2})/\Z")
_CUE_BEFORE = re.compile(
    r"(?<!\w)(?:in|by|since|until|till|from|before|after|of|year|about|around|circa|ca?\.|during|anno)[ \u00a0]\Z",
    re.IGNORECASE,
)
_LONG_RANGE = re.compile(r"(?P<first>\d{4})[ \u00a0]?[-–—/][ \u00a0]?\Z")
_DATE_AFTER = re.compile(r"[-/.]\d")
_UNIT_AFTER = re.compile(
    r"[ \u00a0-](?P<one>[^\W\d_]{1,24})(?:[ \u00a0](?P<two>[^\W\d_]{1,24}))?|[ \u00a0]?(?P<sign>[%‰°€£$])"
)
_MAGNITUDE_AFTER = re.compile(r"[ \u00a0-](?:hundred|thousand|million|billion|trillion|dozen)(?!\w)", re.IGNORECASE)
_NOT_UNITS = frozenset({"second", "foot", "day", "year", "month", "week", "hour", "degree", "yard", "acre", "mile"})
_HEDGE = re.compile(
    r"[\s(\[\"']*(?:(?:it was|in|about|around|approximately|circa|ca?\.?|roughly|probably|the|year|early|late|mid|[~≈])"
    r"[\s-]*)*",
    re.IGNORECASE,
)


LONGEST_BARE = 300  # characters; a longer text is no bare answer


@dataclass(frozen=True, slots=True)
class Year:
    """A year in a text, era included in [start, end). `certain`: four digits, words or an era say that it is a year."""

    start: int
    end: int
    value: int
    certain: bool
    short: bool = False


def _has_unit(folded: str, end: int) -> bool:
    """True where the number is a measure: "1500 metres", "12 %". Words that often follow a year are left out."""
    found = _UNIT_AFTER.match(folded, end)
    if found is None:
        return False
    if found["sign"]:
        return True
    one, two = found["one"], found["two"]
    is_unit = len(one) > 1 and one.lower() not in _NOT_UNITS and meanings(one)  # "in 1874 M. Curie …"
    return bool(is_unit or (two and meanings(f"{one} {two}")))


def _with_era(folded: str, found: re.Match[str]) -> Year | None:
    """ "AD 1066", "44 BC": the number may be grouped before an era only ("10,000 BC")."""
    after = _AFTER.match(folded, found.end())
    before = _BEFORE.search(folded, max(0, found.start() - 8), found.start())
    value = int(found[0].replace(",", ""))
    if not (after or before) or not 0 < value <= (9_999_999 if after and after["bc"] else 9999):
        return None
    start = before.start() if before else found.start()
    return Year(start, after.end() if after else found.end(), -value if after and after["bc"] else value, certain=True)


def _end_of_range(folded: str, found: re.Match[str]) -> Year | None:
    """ "18" in "1914–18"."""
    first = _LONG_RANGE.search(folded, max(0, found.start() - 8), found.start())
    if (
        not first
        or len(found[0]) != 2
        or int(found[0]) <= int(first["first"][2:])
        or _DATE_AFTER.match(folded, found.end())
    ):
        return None
    return Year(*found.span(), int(first["first"][:2] + found[0]), certain=True, short=True)


def _without_era(folded: str, found: re.Match[str]) -> Year | None:
    start, end = found.span()
    before = folded[max(0, start - 14) : start]
    if not 1 <= len(found[0]) <= 4 or not int(found[0]):
        return None
    if _TIED_BEFORE.search(before) and not (len(found[0]) == 4 and _DATE_BEFORE.search(before)):
        return None
    if _has_unit(folded, end) or _MAGNITUDE_AFTER.match(folded, end):
        return None
    value = int(found[0])
    return Year(start, end, value, 1000 <= value <= 2999 or (value >= 100 and _CUE_BEFORE.search(before) is not None))


def _in_digits(folded: str) -> list[Year]:
    found = (
        _with_era(folded, number)
        or (None if "," in number[0] else _end_of_range(folded, number) or _without_era(folded, number))
        for number in _NUMBER.finditer(folded)
    )
    return [year for year in found if year is not None]


def _in_words(folded: str) -> list[Year]:
    """ "nineteen seventy-four", "eighteen hundred and six", "two thousand and four"."""
    spelled, years = spelled_numbers(folded), []
    for i, number in enumerate(spelled):
        following = spelled[i + 1] if i + 1 < len(spelled) else None
        if (
            following is not None
            and 10 <= number.value <= 29
            and 10 <= following.value <= 99
            and folded[number.end : following.start] in (" ", "-", "\u00a0")
        ):
            years.append(Year(number.start, following.end, 100 * number.value + following.value, certain=True))
        elif 1000 <= number.value <= 2999 and not _has_unit(folded, number.end):
            years.append(Year(number.start, number.end, number.value, certain=True))
    return years


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def years(text: str) -> tuple[Year, ...]:
    """Every year, and every short whole number that may be one, left to right."""
    folded = fold_digits(text)
    return tuple(sorted(_in_digits(folded) + _in_words(folded), key=lambda y: y.start))


def canonical(text: str, unit: str = "") -> str | None:
    """The year that a text is, hedges ("c.", "in about") apart. A sign before bare digits means BC."""
    if len(text) > LONGEST_BARE:
        return None
    folded = fold_digits(text).strip()
    signed = re.fullmatch(r"-(\d{1,7})", folded)
    if signed:
        return str(-int(signed[1])) if int(signed[1]) else None
    found = years(folded)
    if len(found) != 1 or not _HEDGE.fullmatch(folded, 0, found[0].start):
        return None
    rest = folded[found[0].end :].removeprefix("·")  # 1874年
    return None if rest.strip(" \t\r\n.,!)]\"'") else str(found[0].value)


def in_sentence(text: str, unit: str = "") -> str | None:
    """The one certain year of a sentence; None for none and for several."""
    distinct = {y.value for y in years(text) if y.certain}
    return str(distinct.pop()) if len(distinct) == 1 else None


def same(a: str, b: str, unit: str = "") -> bool:
    return a == b


def occurrences(passage: str, answer: str, unit: str = "") -> list[Span]:
    """Where a canonical year stands in a text; the short end of a range is `partial`."""
    value = int(answer)
    return [Span(y.start, y.end, passage[y.start : y.end], y.short) for y in years(passage) if y.value == value]
