"""English number words: "twelve hundred and fifty", "one thousand two hundred fifty", "a dozen", "two million"."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
