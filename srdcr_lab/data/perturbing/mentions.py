"""Which mentions of the gold answer can be exchanged, and which make the passage refused.

Nothing is replaced blindly: a mention that may mean something else (a short end of a range, a surname of somebody
else, a bare number beside a month) refuses the passage; one that is merely weaker is exchanged and flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srdcr_lab import answers
from srdcr_lab.answers import Span
from srdcr_lab.answers.quantities import quantities
from srdcr_lab.answers.text import fold_digits, tokens
from srdcr_lab.answers.year import years
from srdcr_lab.records import AnswerType, Item

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY_BEFORE = re.compile(rf"{_MONTH}\.?[ \u00a0]\Z")
_DAY_AFTER = re.compile(rf"(?:st|nd|rd|th)?[ \u00a0](?:of[ \u00a0])?{_MONTH}(?!\w)")
_YEAR_CUE = re.compile(
    rf"(?:(?<!\w)(?:in|since|by|of|until|from|to|after|before|year|and)|{_MONTH},?)[ \u00a0(]\Z", re.I
)
_SHORT_END = re.compile(r"[ \u00a0]?[-–—/][ \u00a0]?(\d{1,2})(?![\d.,]?\d)")
_BETWEEN = r"(?:[ \u00a0]?[-–—][ \u00a0]?(?:\w+[ \u00a0])?|[ \u00a0](?:to|until)[ \u00a0])"
_RANGE_AFTER = re.compile(rf"{_BETWEEN}(\d{{3,4}})(?!\w)")
_RANGE_BEFORE = re.compile(rf"(?<!\w)(\d{{3,4}}){_BETWEEN}\Z")
_NAME_BEFORE = re.compile(r"([^\W\d_][\w'’.]*)[ \u00a0‐-]\Z")
_AND_BEFORE = re.compile(r"([^\W\d_][\w'’.-]*)[ \u00a0](?:and|&)[ \u00a0]\Z")
_NUMBER_RANGE = re.compile(r"[ \u00a0]?(?:[-–—:]|to)[ \u00a0]?\d")
_NUMBER_RANGE_BEFORE = re.compile(r"\d[ \u00a0]?(?:[-–—:]|to)[ \u00a0]?\Z")
_PARTS_OF_NAMES = frozenset("new east west north south upper lower port fort mount lake san santa saint st".split())
_NAME_AFTER = re.compile(r"(?:['’]s)?[ \u00a0-]([^\W\d_][\w'’-]*)")
_HONORIFICS = frozenset(
    "dr mr mrs ms miss sir dame lord lady prof professor doctor president king queen captain general admiral colonel "
    "major father sister saint st baron count".split()
)
_OPENERS = frozenset(
    "the a an in on at by of for from with to as after before when while then there here it but and or so yet only "
    "his her its their once later soon today since until although because if that this both not no now near around "
    "outside inside within across through throughout under over between against behind beyond unlike like either via "
    "my our your every each all some many most where who which what why how".split()
)


@dataclass(frozen=True, slots=True)
class Mentions:
    """Spans to exchange, left to right; `refusals` and `flags` are sentences about them."""

    spans: tuple[Span, ...]
    refusals: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def mentions(item: Item) -> Mentions:
    """Every mention of the gold answer or an alias in the passage, judged."""
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if not spans:
        return Mentions((), (f"the passage does not state the answer {item.gold_answer}",))
    match item.answer_type:
        case AnswerType.YEAR:
            judged = list(_years(item, spans))
        case AnswerType.NUMBER:
            judged = list(_numbers(item, spans))
        case _:
            judged = list(_names(item, spans))
    refusals = dict.fromkeys(sentence for refused, sentence in judged if refused)
    flags = dict.fromkeys(sentence for refused, sentence in judged if not refused)
    return Mentions(tuple(spans), tuple(refusals), tuple(flags))


def _years(item: Item, spans: list[Span]) -> Iterator[tuple[bool, str]]:
    gold = int(answers.normalise(item.gold_answer, item.answer_type) or 0)
    found = {year.start: year for year in years(item.context)}
    folded = fold_digits(item.context)
    for span in spans:
        around = _around(item.context, span)
        year = found.get(span.start)
        if year is None or year.value != gold:
            yield True, f"an alias states another year: {around!r}"
        elif year.short or _SHORT_END.match(folded, span.end):
            yield True, f"a range with a short end is not taken apart: {around!r}"
        elif not year.certain:
            alone = len(spans) == 1
            yield not alone, f"{span.surface!r} may be a number and no year: {around!r}"


def range_runs_backwards(passage: str, span: Span, new: int) -> str:
    """The range that the new year would turn round ("1934–1918"), or nothing."""
    before = _RANGE_BEFORE.search(fold_digits(passage[max(0, span.start - 20) : span.start]))
    after = _RANGE_AFTER.match(fold_digits(passage[span.end : span.end + 40]))
    start = int(before[1]) if before else None
    end = int(after[1]) if after else None
    if (start is not None and start >= new) or (end is not None and end <= new):
        return _around(passage, span)
    return ""


def _numbers(item: Item, spans: list[Span]) -> Iterator[tuple[bool, str]]:
    canonical = answers.normalise(item.gold_answer, item.answer_type, item.unit) or ""
    value = canonical.partition(" ")[0]
    found = {quantity.start: quantity for quantity in quantities(item.context)}
    folded = fold_digits(item.context)
    whole = [span for span in spans if not span.partial]
    telling = sum(map(str.isdigit, value)) >= 3
    for span in spans:
        around = _around(item.context, span)
        quantity = found.get(span.start)
        if quantity is None or value not in quantity.readings:
            yield True, f"an alias states another number: {around!r}"
        elif _NUMBER_RANGE.match(folded, span.end) or _NUMBER_RANGE_BEFORE.search(
            folded, max(0, span.start - 8), span.start
        ):
            yield True, f"{span.surface!r} stands in a range or a score: {around!r}"
        elif _may_be_a_date(folded, span, value):
            yield True, f"{span.surface!r} may belong to a date: {around!r}"
        elif span.partial and not telling and (whole or len(spans) > 1):
            yield True, f"{span.surface!r} stands without its unit and may count something else: {around!r}"
        elif span.partial:
            yield False, f"{span.surface!r} stands without its unit: {around!r}"
    if not item.unit and not telling and len(spans) > 1:
        yield True, f"{value} stands {len(spans)} times, and may count different things"


def _may_be_a_date(folded: str, span: Span, value: str) -> bool:
    if not value.isdigit():
        return False
    before = folded[max(0, span.start - 14) : span.start]
    if int(value) <= 31 and (_DAY_BEFORE.search(before) or _DAY_AFTER.match(folded, span.end)):
        return True
    plain_digits = folded[span.start : span.end] == value and len(value) == 4
    return plain_digits and 1000 <= int(value) <= 2199 and span.partial and _YEAR_CUE.search(before) is not None


def _names(item: Item, spans: list[Span]) -> Iterator[tuple[bool, str]]:
    own = {word for name in (item.gold_answer, *item.aliases) for word in tokens(name)}
    if item.answer_type is AnswerType.NAME and all(span.partial for span in spans):
        yield False, "the passage has the surname alone"
    for span in spans:
        around = _around(item.context, span)
        before = _NAME_BEFORE.search(item.context, max(0, span.start - 30), span.start)
        after = _NAME_AFTER.match(item.context, span.end)
        short = item.answer_type is AnswerType.NAME and len(tokens(span.surface)) < len(tokens(item.gold_answer))
        joined = _AND_BEFORE.search(item.context, max(0, span.start - 30), span.start)
        if short and before and _is_given_name(before[1], own):
            yield True, f"the surname may be another person's: {around!r}"
        elif item.answer_type is AnswerType.CITY and before and before[1].casefold() in _PARTS_OF_NAMES:
            yield True, f"the answer is part of another name: {around!r}"
        elif item.answer_type is AnswerType.NAME and joined and _is_given_name(joined[1], own):
            yield False, f"another person may share the surname: {around!r}"
        if after and after[1][0].isupper() and not after[1].isupper() and after[1].casefold() not in _OPENERS:
            yield short, f"the answer stands in a longer name: {around!r}"


def _is_given_name(word: str, own: set[str]) -> bool:
    bare = word.rstrip(".").casefold()
    return word[0].isupper() and bare not in _HONORIFICS | _OPENERS and not set(tokens(word)) & own


def _around(passage: str, span: Span) -> str:
    """The mention with a few characters on either side, for a sentence."""
    start, end = max(0, span.start - 18), min(len(passage), span.end + 18)
    return " ".join(passage[start:end].split())


# -- exchanges mentions in a passage, remembers what stood where, and puts it back

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
