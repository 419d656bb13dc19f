"""English number words: "twelve hundred and fifty", "one thousand two hundred fifty", "a dozen", "two million"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

_ONES = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: value for value, word in enumerate(f"{_ONES} {_TEENS}".split())}
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)} | {"fourty": 40}
SCALES = {"thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7, "billion": 10**9, "trillion": 10**12}
MAGNITUDES = {"dozen": 12, "hundred": 100, "bn": 10**9} | SCALES

_WORD = re.compile(r"(?<!\w)(?:" + "|".join([*UNITS, *TENS, "dozen", "hundred", *SCALES]) + r")(?!\w)", re.IGNORECASE)
_GAP = re.compile(r"(?:[ \t\xa0]{1,2}|-|\s?\n)(and\s)?", re.IGNORECASE)
_INDEFINITE = re.compile(r"(?<!\w)an?[ \xa0]\Z", re.IGNORECASE)
_HALF_BEFORE = re.compile(r"(?<!\w)half[ \xa0]\Z", re.IGNORECASE)  # "half a dozen" is no 12
_PRONOUN_BEFORE = re.compile(r"(?<!\w)(?:no|any|every|some|each|this|that|which|the)[ \xa0-]\Z", re.IGNORECASE)
_PRONOUN_AFTER = re.compile(r"[ \xa0-](?:of|another|and a half|half)(?!\w)|'s", re.IGNORECASE)
_HALF_AFTER = re.compile(
    r"[ \xa0](?:and a half|and a quarter|and three quarters|half|halves|thirds?|quarters?|tenths?)(?!\w)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A number in words: characters [start, end) of the text and its value."""

    start: int
    end: int
    value: int


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    word: str
    joined: str  # how it follows the token before: "" (it does not), " ", "and"


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for found in _WORD.finditer(text):
        gap = _GAP.fullmatch(text, tokens[-1].end, found.start()) if tokens else None
        joined = "" if gap is None else ("and" if gap[1] else " ")
        tokens.append(_Token(found.start(), found.end(), found[0].lower(), joined))
    return tokens


def _word(tokens: list[_Token], i: int, *joints: str) -> str:
    """The word at i if it follows its predecessor in one of these ways, else ""."""
    return tokens[i].word if i < len(tokens) and tokens[i].joined in joints else ""


def _below_hundred(tokens: list[_Token], i: int) -> tuple[int, int]:
    """Value at i and the index after it; (0, i) where no number below 100 stands there."""
    word = tokens[i].word if i < len(tokens) else ""
    if word in TENS:
        one = UNITS.get(_word(tokens, i + 1, " "), 0)
        return (TENS[word] + one, i + 2) if 1 <= one <= 9 else (TENS[word], i + 1)
    return (UNITS[word], i + 1) if word in UNITS else (0, i)


def _below_thousand(tokens: list[_Token], i: int) -> tuple[int, int]:
    """As `_below_hundred`, with hundreds; "twelve hundred" counts."""
    value, j = _below_hundred(tokens, i)
    if i < len(tokens) and tokens[i].word in ("hundred", "dozen"):  # "a hundred": the caller has checked the article
        value, j = 1, i
    if j < len(tokens) and tokens[j].word == "dozen" and (j == i or tokens[j].joined == " "):
        return 12 * value, j + 1
    if value and j < len(tokens) and tokens[j].word == "hundred" and (j == i or tokens[j].joined == " "):
        value, j = 100 * value, j + 1
        if _word(tokens, j, " ", "and"):
            rest, after = _below_hundred(tokens, j)
            if rest > 0 and _word(tokens, after, " ") not in ("hundred", "dozen"):
                return value + rest, after
    return value, j


def _number(tokens: list[_Token], i: int) -> tuple[int, int]:
    """The longest number that starts at i, and the index after it."""
    total, limit, j = 0, 10**18, i
    while j < len(tokens) and (j == i or tokens[j].joined):
        value, after = (1, j) if j == i and tokens[j].word in SCALES else _below_thousand(tokens, j)
        if after == j and tokens[j].word not in SCALES:
            break
        scale = (
            SCALES.get(tokens[after].word, 1)
            if after < len(tokens) and (after == j or tokens[after].joined == " ")
            else 1
        )
        if scale >= limit or value * scale >= limit or (total and value == 0):
            break
        total, j = total + value * scale, after + (scale > 1)
        if scale == 1:
            break
        limit = scale
    return total, j


def spelled_numbers(text: str) -> list[Spelled]:
    """Every number in words, left to right. A bare "hundred" is none, nor "one" as a pronoun ("one of", "no one")."""
    tokens, numbers, i = _tokens(text), [], 0
    while i < len(tokens):
        start, first = tokens[i].start, tokens[i].word
        if first in ("hundred", "dozen") or first in SCALES:
            article = _INDEFINITE.search(text, max(0, start - 4), start)
            if article is None or _HALF_BEFORE.search(text, max(0, article.start() - 6), article.start()):
                i += 1
                continue
            start = article.start()
        value, j = _number(tokens, i)
        if j == i:
            i += 1
            continue
        end = tokens[j - 1].end
        lone_one = j == i + 1 and first == "one"
        pronoun = lone_one and (
            _PRONOUN_BEFORE.search(text, max(0, start - 8), start) or _PRONOUN_AFTER.match(text, end)
        )
        if not pronoun and not _HALF_AFTER.match(text, end):
            numbers.append(Spelled(start, end, value))
        i = j
    return numbers


# -- writes whole numbers in English words, in the style that another number was written in

LARGEST = 10**15
_ONE_WORDS = {value: word for word, value in UNITS.items()}
_TEN_WORDS = {value: word for word, value in TENS.items() if word != "fourty"}
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
        return f"{_written_below_hundred(hundreds, style)} {_written_below_hundred(rest, style)}"
    if style.grouping != "thousands" and 10 < hundreds < 100 and hundreds % 10:
        tail = f"{style.joint}{_written_below_hundred(rest, style)}" if rest else ""
        return f"{_written_below_hundred(hundreds, style)} hundred{tail}"
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
        tail = f"{style.joint}{_written_below_hundred(value % 100, style)}" if value % 100 else ""
        return f"{_ONE_WORDS[value // 100]} hundred{tail}"
    return _written_below_hundred(value, style)


def _written_below_hundred(value: int, style: Style) -> str:
    if value < 20:
        return _ONE_WORDS[value]
    return _TEN_WORDS[value - value % 10] + (f"{style.hyphen}{_ONE_WORDS[value % 10]}" if value % 10 else "")


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
