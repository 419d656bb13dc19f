"""Finds every number in a text: digits of any script, grouped or not, magnitudes, and English number words.

How ambiguous digits are read
-----------------------------
- "1,250": a comma before exactly three digits groups; so do thin or plain spaces, apostrophes, and "1,25,000".
- "1.250": the point is decimal (1.25). A grouped reading (1250) is kept as the second one, which `find` accepts too.
- "1.250,50" and "1.250.000": European, 1250.5 and 1250000. "12,5": decimal comma. "1,2,3" and "3.2.1": no numbers.
- "2:01:39": a clock time or ratio, compared as it is written. "1/2", "24/7": refused. "2½": 2.5.
- "154 174 601": one number; a column of three-digit numbers with single spaces between them cannot be told from it.
- "1920s", "3rd", "B52", "COVID-19": no numbers. "10 to 20" and "10–20": two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache

from srdcr_lab.answers.number_words import MAGNITUDES, spelled_numbers
from srdcr_lab.answers.text import fold_digits
from srdcr_lab.answers.units import meanings

_EXACT = Context(prec=120)
_LONGEST = 60  # digits; longer runs are identifiers, not quantities
_PLAIN_EXPONENT = 40  # beyond this a value is written with an exponent

_NUMBER = re.compile(
    r"""(?<!\w)(?<!\d[.,:/])
    (?: (?P<clock>\d{1,4}(?::\d{2})+(?:\.\d+)?|\d{1,3}:\d{1,3}) (?![.:/,]?\d)
      | (?P<english>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?) (?![.,:/]?\d)
      | (?P<european>\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}) (?![.,:/]?\d)
      | (?P<spaced>[1-9]\d{0,2}(?P<gap>[ \u00a0'])\d{3}(?!\d)(?:(?P=gap)\d{3}(?!\d))*(?:[.,]\d+)?) (?![.,:/]?\d)
      | (?P<decimal>\d+[.,]\d+|(?<![\w.])\.\d+) (?![.,:/]?\d)
      | (?P<whole>\d+) (?P<vulgar>[ \u00a0]?[½¼¾⅛⅜⅝⅞])? (?![.,:/]?\d)
      | (?P<fraction>[½¼¾⅛⅜⅝⅞])
    )""",
    re.VERBOSE,
)
_VULGAR = dict(zip("½¼¾⅛⅜⅝⅞", ("0.5", "0.25", "0.75", "0.125", "0.375", "0.625", "0.875"), strict=True))
_POWER = re.compile(
    r"[eE](?P<e>[+-]?\d{1,4})(?!\w)"
    r"|[ \u00a0]?[x×·*⋅][ \u00a0]?10(?:\^\{?(?P<caret>[+-]?\d{1,4})\}?|(?P<sup>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4}))(?!\w)"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_MAGNITUDE = re.compile(r"[ \u00a0-]?(" + "|".join(MAGNITUDES) + r")(?!\w)", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(r"((?:US)?[$€£¥₹]|(?<!\w)(?:USD|EUR|GBP|JPY|INR)(?=[ \u00a0]))[ \u00a0]?\Z")
_SIGN_BEFORE = re.compile(r"(?:(?<!\S)|(?<=[(\[{\"'“‘«$€£:;=~≈·]))([-–])\Z")
_SIGN_WORD_BEFORE = re.compile(r"(?<!\w)((?:minus|negative)[ \u00a0])\Z", re.IGNORECASE)
_LABEL_BEFORE = re.compile(r"[^\W\d_]-\Z")
_HALF_AFTER = re.compile(r"[ \u00a0](?:and (?:a|one) (?:half|quarter|third)|(?:a )?half(?!\w))", re.IGNORECASE)
_UNIT = r"(?:[^\W\d_]{1,24}[²³23]?(?:/[^\W\d_]{1,24}[²³23]?){0,2}|°[ \u00a0]?[CF](?!\w)|[%‰°℃℉$€£¥₹](?:/\w{1,12})?)"
_AFTER = re.compile(rf"(?P<gap>[ \u00a0-]?){_UNIT}(?:[ \u00a0-]{_UNIT}){{0,3}}")
_WORD_END = re.compile(r"(?=[ \u00a0-]|\Z)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text: characters [start, end), sign and magnitude included, unit not.

    `readings` are canonical values, the likeliest first; `unit` what a stated unit can mean (empty: none known);
    `phrases` are the words after the number, the longest first.
    """

    start: int
    end: int
    readings: tuple[str, ...]
    unit: frozenset[str]
    phrases: tuple[str, ...]


def plain(value: Decimal) -> str:
    """A decimal without noise: no trailing zeros, no negative zero, an exponent only beyond 10^±40."""
    if not value:
        return "0"
    value = _EXACT.normalize(value)
    return f"{value:f}" if abs(value.adjusted()) <= _PLAIN_EXPONENT else f"{value:E}".replace("E+", "E")


def _digits_as_decimals(found: re.Match[str]) -> tuple[Decimal, ...]:
    """Readings of matched digits, the likeliest first."""
    text = found[0]
    if found["english"]:
        return (Decimal(text.replace(",", "")),)
    if found["european"]:
        return (Decimal(text.replace(".", "").replace(",", ".")),)
    if found["spaced"]:
        return (Decimal(text.replace(found["gap"], "").replace(",", ".")),)
    if found["decimal"]:
        first = Decimal(text.replace(",", "."))
        grouped = re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", text)
        return (first, Decimal(text.replace(".", ""))) if grouped else (first,)
    fraction = found["fraction"] or (found["vulgar"] or "").strip(" \u00a0")
    return (Decimal(found["whole"] or 0) + Decimal(_VULGAR.get(fraction, "0")),)


def _phrases(folded: str, end: int) -> tuple[bool, tuple[str, ...]]:
    """Whether a word touches the number, and what follows it as phrases of one to four words, the longest first."""
    found = _AFTER.match(folded, end)
    if found is None:
        return _touches(folded, end), ()
    following = found[0][len(found["gap"]) :]
    cuts = [m.start() for m in _WORD_END.finditer(following) if m.start()]
    return not found["gap"], tuple(following[:cut] for cut in reversed(cuts))


def _touches(folded: str, end: int) -> bool:
    return end < len(folded) and (folded[end].isalnum() or folded[end] == "_")


def _finish(folded: str, start: int, end: int, values: tuple[Decimal, ...], currency: bool = True) -> Quantity | None:
    """Magnitude, sign and unit around a number; None where it is part of something else (ordinal, decade, label)."""
    magnitude = _MAGNITUDE.match(folded, end)
    if magnitude:
        values, end = tuple(_EXACT.multiply(v, MAGNITUDES[magnitude[1].lower()]) for v in values), magnitude.end()
    touched, phrases = _phrases(folded, end)
    unit = next((found for found in map(meanings, phrases) if found), frozenset())
    if _HALF_AFTER.match(folded, end):
        return None
    if touched:
        letters = phrases[-1] if phrases else ""
        decade = letters == "s" and folded[end - 1] == "0"
        if not unit or not meanings(letters) or decade:
            return None
    before = folded[max(0, start - 12) : start]
    money = _CURRENCY_BEFORE.search(before) if currency else None
    if money:
        unit, before = unit | meanings(money[1]), before[: money.start()]
    sign = _SIGN_BEFORE.search(before) or _SIGN_WORD_BEFORE.search(before)
    if sign and sign[1] == "–" and folded[max(0, start - 4) : start - 1].rstrip()[-1:].isdigit():
        sign = None  # "1914 –1918" is a range
    if sign:
        values = tuple(-v for v in values)
        start -= len(before) - sign.start() + (len(money[0]) if money else 0)
    elif _LABEL_BEFORE.search(before):
        return None
    return Quantity(start, end, tuple(dict.fromkeys(map(plain, values))), unit, phrases)


def _in_digits(folded: str) -> Iterator[Quantity]:
    for found in _NUMBER.finditer(folded):
        start, end = found.span()
        if found["clock"]:
            text = found[0]
            if not _touches(folded, end):
                clock = re.sub(r"\A0+(?=\d)", "", text)
                yield Quantity(start, end, (clock,), frozenset(), ())
            continue
        if sum(map(str.isdigit, found[0])) > _LONGEST:
            continue
        values = _digits_as_decimals(found)
        power = _POWER.match(folded, end)
        if power:
            exponent = int((power["e"] or power["caret"] or power["sup"]).translate(_SUPERSCRIPTS))
            values, end = tuple(v.scaleb(exponent, _EXACT) for v in values), power.end()
        quantity = _finish(folded, start, end, values)
        if quantity:
            yield quantity


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number of a text, left to right, without overlaps. Time grows with the length of the text."""
    folded = fold_digits(text)
    found = list(_in_digits(folded))
    for spelled in spelled_numbers(folded):
        quantity = _finish(folded, spelled.start, spelled.end, (Decimal(spelled.value),), currency=False)
        if quantity:
            found.append(quantity)
    kept: list[Quantity] = []
    for quantity in sorted(found, key=lambda q: (q.start, -q.end)):
        if not kept or quantity.start >= kept[-1].end:
            kept.append(quantity)
    return tuple(kept)
