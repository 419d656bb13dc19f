"""Exchanges mentions in a passage, remembers what stood where, and puts it back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLE = re.compile(r"(?<![^\W_])(an?|An?)[ \u00a0]\Z")
_AN_BEFORE = re.compile(r"8|1[18](?!\d)|e(?!u)|[aio](?!ne(?!\w))", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?:\A|[.!?][\"'”’»)]*\s+|\n\s*)\Z")


@dataclass(frozen=True, slots=True)
class Change:
    """Characters [start, start + len(before)) of the true passage read `before` there and `after` in the false one."""

    start: int
    before: str
    after: str


def change(passage: str, start: int, end: int, after: str) -> Change:
    """The exchange of one mention, with "a" or "an" before it and a capital at the head of a sentence kept right."""
    before = passage[start:end]
    if before[:1].isupper() and after[:1].islower() and _SENTENCE_END.search(passage, max(0, start - 8), start):
        after = after[0].upper() + after[1:]
    article = _ARTICLE.search(passage, max(0, start - 4), start)
    if article and (article[1].lower() == "an") is _takes_an(before) and _takes_an(before) is not _takes_an(after):
        right = article[1][0] + ("n" if _takes_an(after) else "")
        gap = passage[article.end(1) : start]
        return Change(article.start(), passage[article.start() : end], right + gap + after)
    return Change(start, before, after)


def _takes_an(text: str) -> bool:
    return _AN_BEFORE.match(text) is not None


def applied(passage: str, changes: Sequence[Change]) -> str:
    """The passage with every change made; changes are in order and apart."""
    pieces, done = [], 0
    for each in changes:
        pieces += [passage[done : each.start], each.after]
        done = each.start + len(each.before)
    return "".join([*pieces, passage[done:]])


def places(changes: Sequence[Change]) -> list[int]:
    """Where each change starts in the perturbed passage."""
    starts, shift = [], 0
    for each in changes:
        starts.append(each.start + shift)
        shift += len(each.after) - len(each.before)
    return starts
