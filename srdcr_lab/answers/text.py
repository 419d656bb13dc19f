"""Free text, compared as SQuAD does: no case, articles or punctuation; diacritics are folded too."""

from __future__ import annotations

from srdcr_lab.answers.spans import Span
from srdcr_lab.answers.wording import places, spelled, tokens

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
