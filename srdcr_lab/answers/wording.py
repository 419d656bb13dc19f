"""Answers made of words: tokens of the folded text, and the places where a sequence of tokens stands in a passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from srdcr_lab.answers.spans import fold_letters, is_whole_word, source_end

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
