"""English number words, read and written: "twelve hundred and fifty", "a dozen", "nineteen seventy-four" (two numbers).

What is written follows the style of another number: beside "eighteen hundred and six" it is "eighteen hundred and ten".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple

from srdcr_lab.answers.wording import ENGLISH, in_case_of

_ONES, _TENS, ORDINALS, MONTHS = (ENGLISH["numbers"][name].split() for name in ("ones", "tens", "ordinals", "months"))
_FROM_20 = {word: 10 * value for value, word in enumerate(_TENS) if value > 1} | {"fourty": 40}
_VALUES = {word: value for value, word in enumerate(_ONES)} | _FROM_20
_SCALES = {"thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7, "billion": 10**9, "trillion": 10**12}
MAGNITUDES = {"dozen": 12, "hundred": 100, "bn": 10**9} | _SCALES


def _one_of(words: Iterable[str]) -> str:
    return rf"(?:{'|'.join(words)})(?!\w)"


_GAP = r"(?:[ \t\xa0]{1,2}|-|\s?\n)"
_BELOW_100 = rf"(?>{_one_of(_FROM_20)}(?:{_GAP}{_one_of(_ONES[1:10])})?|{_one_of(_ONES[1:])})"
_BELOW_1000 = (  # and "twelve hundred"
    rf"(?:(?:{_BELOW_100}{_GAP})?dozen(?!\w)"
    rf"|(?:{_BELOW_100}{_GAP})?hundred(?!\w)"
    rf"(?:{_GAP}(?:and\s)?{_BELOW_100}(?!{_GAP}{_one_of(('hundred', 'dozen'))}))?"
    rf"|{_BELOW_100}|zero(?!\w))"
)
_PART = rf"(?P<count>{_BELOW_1000})(?:{_GAP}(?P<scale>{_one_of(_SCALES)}))?"
_FIRST_PART = re.compile(_PART, re.IGNORECASE)
_NEXT_PART = re.compile(rf"{_GAP}(?:and\s)?{_PART}", re.IGNORECASE)
# By its first letter, in both cases and outside of what has none: a text is looked through in half the time.
_BY_LETTER = [
    rf"[{letter}{letter.upper()}](?i:{'|'.join(word[1:] for word in words)})"
    for letter, words in groupby(sorted([*_ONES, *_FROM_20, "dozen", "hundred", *_SCALES]), itemgetter(0))
]
_START = re.compile(rf"(?<!\w)(?:{'|'.join(_BY_LETTER)})(?!\w)")
_SCALE = re.compile(rf"(?P<count>)(?P<scale>{_one_of(_SCALES)})", re.IGNORECASE)
_INDEFINITE = re.compile(r"(?<!\w)an?[ \xa0]\Z", re.IGNORECASE)
_HALF_BEFORE = re.compile(r"(?<!\w)half[ \xa0]\Z", re.IGNORECASE)  # "half a dozen" is not 12
_PRONOUN_BEFORE = re.compile(r"(?<!\w)(?:no|any|every|some|each|this|that|which|the)[ \xa0-]\Z", re.IGNORECASE)
_PRONOUN_AFTER = re.compile(r"[ \xa0-](?:of|another|and a half|half)(?!\w)|'s", re.IGNORECASE)
_HALF_AFTER = re.compile(
    r"[ \xa0](?:and a half|and a quarter|and three quarters|half|halves|thirds?|quarters?|tenths?)(?!\w)", re.IGNORECASE
)


class Spelled(NamedTuple):
    """A number in words, characters [start, end) of a text."""

    start: int
    end: int
    value: int


def spelled_numbers(text: str) -> list[Spelled]:
    """Every number in words, left to right. Not a bare "hundred", nor "one" as a pronoun ("one of", "no one")."""
    numbers, end = [], 0
    while match := _START.search(text, end):
        start, end, first = *match.span(), match[0].lower()
        value, after = _number(text, start)
        if first in MAGNITUDES:
            article = _INDEFINITE.search(text, max(0, start - 4), start)
            if article is None or _HALF_BEFORE.search(text, max(0, article.start() - 6), article.start()):
                continue
            start = article.start()
        end = after
        is_pronoun = text[start:end].lower() == "one" and (
            _PRONOUN_BEFORE.search(text, max(0, start - 8), start) or _PRONOUN_AFTER.match(text, end)
        )
        if not is_pronoun and not _HALF_AFTER.match(text, end):
            numbers.append(Spelled(start, end, value))
    return numbers


def _number(text: str, start: int) -> tuple[int, int]:
    """The value of the longest number that starts here, scale by smaller scale, and where it ends."""
    total, limit, end = 0, 10**18, start
    part = _SCALE.match(text, start) or _FIRST_PART.match(text, start)
    while part:
        count, scale = _value(part["count"]), _SCALES.get((part["scale"] or "").lower(), 1)
        if scale >= limit or count * scale >= limit or (total and not count):
            break
        total, limit, end = total + count * scale, scale, part.end()
        part = _NEXT_PART.match(text, end) if scale > 1 else None
    return total, end


def _value(words: str) -> int:
    """The value of words below a thousand; "" is 1, as in "a thousand"."""
    value = 0 if words else 1
    for word in words.lower().replace("-", " ").split():
        if word in ("dozen", "hundred"):
            value = (value or 1) * MAGNITUDES[word]
        elif word != "and":
            value += _VALUES[word]
    return value


@dataclass(frozen=True)
class Style:
    """`grouping`: "pairs" (nineteen seventy-four), "hundreds" (twelve hundred and fifty) or "thousands"."""

    grouping: str = "thousands"
    joint: str = " and "
    hyphen: str = "-"
    article: str = "one"


_PLAIN = Style()
_STYLES = [Style(*parts) for parts in product(("thousands", "hundreds", "pairs"), (" and ", " "), "- ", ("one", "a"))]
_WRITTEN_SCALES = {name: _SCALES.get(name, 100) for name in ("trillion", "billion", "million", "thousand", "hundred")}


def in_words(value: int, style: Style = _PLAIN) -> str:
    """A number below 10^15 in words; where the grouping does not fit the value, by thousands."""
    hundreds, rest = divmod(value, 100)
    if style.grouping == "pairs" and 10 <= hundreds <= 29 and rest >= 10:
        return f"{_by_scales(hundreds, style)} {_by_scales(rest, style)}"
    if style.grouping != "thousands" and 10 < hundreds < 100 and hundreds % 10:
        return _scaled(hundreds, "hundred", rest, style)
    words = _by_scales(value, style)
    return f"a{words[3:]}" if style.article == "a" and words.startswith(("one hundred", "one thousand")) else words


def _by_scales(value: int, style: Style) -> str:
    for name, scale in _WRITTEN_SCALES.items():
        if value >= scale:
            return _scaled(value // scale, name, value % scale, style)
    tens, ones = divmod(value, 10)
    if value < 20:
        return _ONES[value]
    return _TENS[tens] + (f"{style.hyphen}{_ONES[ones]}" if ones else "")


def _scaled(count: int, name: str, rest: int, style: Style) -> str:
    joint = style.joint if rest < 100 else " "
    tail = f"{joint}{_by_scales(rest, style)}" if rest else ""
    return f"{_by_scales(count, style)} {name}{tail}"


def respell_words(surface: str, value: int, new: int) -> str | None:
    """`new` in the style and case in which `surface` writes `value`; in the plainest where that is none of ours."""
    if not 0 <= new < 10**15:
        return None
    plain = " ".join(surface.casefold().replace("\u00a0", " ").split())
    style = next((style for style in _STYLES if in_words(value, style) == plain), _PLAIN)
    return in_case_of(surface, in_words(new, style))
