"""Places in a text, and foldings of a text that keep track of places.

`fold_digits` maps character to character, so offsets stay: digits of any script become ASCII, minus signs and
spaces become one kind. `fold_letters` takes case and diacritics away and returns where each folded character came from.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """An occurrence of an answer: characters [start, end) of the text, as written there.

    `partial` marks a weaker mention, which a caller may want to treat apart: a surname alone or with initials, a number
    without its unit, the short end of a range ("18" in "1914–18").
    """

    start: int
    end: int
    surface: str
    partial: bool = False


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Left to right; of two that overlap the earlier, then the whole mention, then the longer one stays."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.partial, -s.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


THIN = "\u00a0"  # what every space that is not the plain one becomes

_SAME_LENGTH = {
    "−": "-", "－": "-", "﹣": "-", "‐": "-", "‑": "-",
    "٫": ".", "．": ".", "٬": ",", "，": ",", "٪": "%", "％": "%", "＄": "$", "’": "'", "ʼ": "'", "μ": "µ",
}  # fmt: skip


class _DigitFold(dict[int, str]):
    """A translation table that fills itself: one character in, one out."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            folded = str(digit)
        elif char in _SAME_LENGTH:
            folded = _SAME_LENGTH[char]
        elif unicodedata.category(char) == "Zs" and char != " ":
            folded = THIN
        elif unicodedata.category(char) in ("Lo", "Cf"):
            folded = "·"  # an uncased script may touch a number: 1874年
        else:
            folded = unicodedata.normalize("NFKC", char) if "\uff01" <= char <= "\uff5e" else char
        self[code] = folded
        return folded


_DIGITS = _DigitFold()


def fold_digits(text: str) -> str:
    """The text, same length, with ASCII digits, signs and separators; letters without case (CJK, Arabic) become "·"."""
    return text if text.isascii() else text.translate(_DIGITS)


_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ŋ": "n"}
_FOLDED: dict[str, str] = {}


def _fold_letter(char: str) -> str:
    if char not in _FOLDED:
        before, after = "", char
        while after != before:
            before, after = after, _fold_once(after)
        _FOLDED[char] = after
    return _FOLDED[char]


def _fold_once(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    kept = (c for c in plain if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    return "".join(str(unicodedata.decimal(c, _LETTERS.get(c, c))) for c in kept)


def fold_letters(text: str) -> tuple[str, Sequence[int]]:
    """Text without case, diacritics and compatibility forms, and the source index of each of its characters."""
    if text.isascii():
        return text.lower(), range(len(text))
    pieces = [_fold_letter(char) for char in text]
    return "".join(pieces), [i for i, piece in enumerate(pieces) for _ in piece]


def source_end(text: str, sources: Sequence[int], last: int) -> int:
    """Where in `text` the folded character `last` ends, combining marks after it included."""
    end = sources[last] + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "HANGUL")


def _joins(left: str, right: str) -> bool:
    """True where two neighbouring characters belong to one word."""
    if not (left.isalnum() and right.isalnum()):
        return False
    return not any(unicodedata.name(char, "").startswith(_UNSPACED) for char in (left, right))


def is_whole_word(text: str, start: int, end: int) -> bool:
    """True where text[start:end] neither begins nor ends inside a word; scripts without spaces have no words."""
    if start > 0 and _joins(text[start - 1], text[start]):
        return False
    last = end - 1
    while last > start and unicodedata.combining(text[last]):
        last -= 1
    return not (end < len(text) and _joins(text[last], text[end]))


# -- answers made of words: tokens of the folded text

_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ`´](?=\w)")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MARK = (  # vowel signs: parts of words that are no letters
    r"[\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0e31-\u0e4e]"
)
_TOKEN = re.compile(rf"[€£$]?\d+(?:[.:]\d+)*(?:%|[^\W_]*)|(?:[^\W_]|{_MARK})+[+#]*")


def tokens(text: str) -> list[str]:
    """Words and numbers without case, diacritics and punctuation; "O'Brien" and "C++" are one word, "Jean-Paul" two."""
    folded = _GROUPING.sub("", _APOSTROPHE.sub("", fold_letters(text)[0]))
    return _TOKEN.findall(folded)


def places(passage: str, patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the folded passage matches one of these expressions as whole words, as places in the passage itself."""
    folded, sources = fold_letters(passage)
    for found in re.finditer("|".join(f"(?:{pattern})" for pattern in patterns), folded):
        if found.end() == found.start():
            continue
        start, end = sources[found.start()], source_end(passage, sources, found.end() - 1)
        if is_whole_word(passage, start, end):
            yield start, end


def spelled(token: str) -> str:
    """Expression for one token, with an apostrophe allowed between any two letters and commas in long numbers."""
    between = "[,]?" if token.isdigit() and len(token) > 3 else "['’ʼ]?" if token.isalpha() else ""
    return between.join(re.escape(char) for char in token)


# -- free text, compared as SQuAD does: no case, articles or punctuation; diacritics are folded too

_ARTICLES = frozenset({"a", "an", "the"})
_BREAK = r"[^\w%+#€£$]{1,4}(?:(?:a|an|the)[^\w%+#€£$]{1,3})?"


def canonical(text: str, unit: str = "") -> str | None:
    words = tokens(text)
    return " ".join(word for word in words if word not in _ARTICLES) or " ".join(words) or None


def same(a: str, b: str, unit: str = "") -> bool:
    return a == b


def occurrences(passage: str, answer: str, unit: str = "") -> list[Span]:
    """Where the words of a canonical text stand in this order, with articles and punctuation between them or not."""
    pattern = _BREAK.join(spelled(word) for word in answer.split())
    return [Span(start, end, passage[start:end]) for start, end in places(passage, [pattern])]
