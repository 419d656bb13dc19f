"""Writes whole numbers in English words, in the style that another number was written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from srdcr_lab.answers.words import TENS, UNITS

LARGEST = 10**15
_ONES = {value: word for word, value in UNITS.items()}
_TENS = {value: word for word, value in TENS.items() if word != "fourty"}
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"))


@dataclass(frozen=True, slots=True)
class Style:
    """`grouping`: "pairs" (nineteen seventy-four), "hundreds" (twelve hundred and fifty) or "thousands"."""

    grouping: str = "thousands"
    joint: str = " and "
    hyphen: str = "-"
    article: str = "one"


def _styles() -> Iterator[Style]:
    for grouping, joint, hyphen, article in product(
        ("thousands", "hundreds", "pairs"), (" and ", " "), ("-", " "), ("one", "a")
    ):
        yield Style(grouping, joint, hyphen, article)


PLAIN = Style()


def in_words(value: int, style: Style = PLAIN) -> str:
    """The number in words; where the grouping does not fit the value, by thousands."""
    hundreds, rest = divmod(value, 100)
    if style.grouping == "pairs" and 10 <= hundreds <= 29 and rest >= 10:
        return f"{_below_hundred(hundreds, style)} {_below_hundred(rest, style)}"
    if style.grouping != "thousands" and 10 < hundreds < 100 and hundreds % 10:
        tail = f"{style.joint}{_below_hundred(rest, style)}" if rest else ""
        return f"{_below_hundred(hundreds, style)} hundred{tail}"
    words = _by_scales(value, style)
    return f"a{words[3:]}" if style.article == "a" and words.startswith(("one hundred", "one thousand")) else words


def _by_scales(value: int, style: Style) -> str:
    for scale, name in _SCALES:
        if value >= scale:
            rest = value % scale
            joint = style.joint if rest < 100 else " "
            tail = f"{joint}{_by_scales(rest, style)}" if rest else ""
            return f"{_by_scales(value // scale, style)} {name}{tail}"
    if value >= 100:
        tail = f"{style.joint}{_below_hundred(value % 100, style)}" if value % 100 else ""
        return f"{_ONES[value // 100]} hundred{tail}"
    return _below_hundred(value, style)


def _below_hundred(value: int, style: Style) -> str:
    if value < 20:
        return _ONES[value]
    return _TENS[value - value % 10] + (f"{style.hyphen}{_ONES[value % 10]}" if value % 10 else "")


def respell_words(surface: str, value: int, new: int) -> str | None:
    """`new` in the style and case in which `surface` writes `value`; in the plainest where that is none of ours."""
    if not 0 <= new < LARGEST:
        return None
    plain = " ".join(surface.casefold().replace("\u00a0", " ").split())
    style = next((style for style in _styles() if in_words(value, style) == plain), PLAIN)
    return in_case_of(surface, in_words(new, style))


def in_case_of(surface: str, words: str) -> str:
    """Upper case, Every Word Capitalised, or the first letter alone, as `surface` has it."""
    if surface.isupper() and len(surface) > 1:
        return words.upper()
    letters = [word[0] for word in surface.split() if word[0].isalpha() and word.lower() != "and"]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return " ".join(word if word == "and" else word[0].upper() + word[1:] for word in words.split())
    return words[0].upper() + words[1:] if surface[:1].isupper() else words
