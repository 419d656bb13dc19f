"""Dates to the day: "14 July 1789", "July 14th, 1789", "the fourteenth of July 1789", "1789-07-14".

Canonical is ISO ("1789-07-14"), years 1 to 9999; days are counted in the Gregorian calendar in every century. Day and
month without a year ("14 July") are a `partial` mention; so is either end of a range ("14–16 July 1789"). A year or a
month alone is no date, and neither are figures ("4/7/1789"), which countries read in different orders.

A date is moved by whole weeks: one (subtle), four (mild: to 31 days), 52 (moderate: to 366), ten years and a century
(blatant). Sizes and levels are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache

from srdcr_lab.answers.kinds import Claim, Doubt, NoClaim, Outcome
from srdcr_lab.answers.number_words import MONTHS, ORDINALS
from srdcr_lab.answers.wording import Span, around, fold_digits, in_case_of, in_script_of, sentence_at, without_overlaps
from srdcr_lab.answers.year import (
    COUNT,
    WEEKDAY,
    Point,
    Stated,
    beside_a_year,
    doubts_of_year,
    neighbours,
    other_names,
    years,
)
from srdcr_lab.records import AnswerType, Item, Level

_OFFSETS = (7, 28, 364, 3654, 36526)  # whole weeks: a weekday of the passage stays right
_NO_YEAR = 2000  # stands for the year of a date without one; it is a leap year
_DAY = rf"(?:(?P<day>0?[1-9]|[12]\d|3[01])(?P<suffix>st|nd|rd|th)?|(?P<word>{'|'.join(reversed(ORDINALS))}))(?!\w)"
_MONTH = rf"(?P<month>(?:{'|'.join(MONTHS)})(?!\w)|(?:Sept|{'|'.join(name[:3] for name in MONTHS)})(?!\w)\.?)"
_YEAR = r"(?P<year>\d{3,4})(?!\w|[.,:/]\d|[ \u00a0]?B\.?[ ]?C)"
_GAP = r"[ \u00a0-]"
_OTHER = r"(?P<other>[12]?\d|3[01])(?:st|nd|rd|th)?"  # end of a range
_TO = r"(?:[ \u00a0]?[-–—][ \u00a0]?|[ \u00a0](?:to|and|or|until)[ \u00a0])"
_LAYOUTS = tuple(
    re.compile(rf"(?<!\w)(?<!\d[.,/:]){layout}", re.IGNORECASE)
    for layout in (
        rf"(?:{_OTHER}{_TO})?{_DAY}{_GAP}(?:of[ ])?{_MONTH}(?:,?{_GAP}{_YEAR})?",
        rf"{_MONTH}{_GAP}(?:the[ ])?{_DAY}(?:{_TO}{_OTHER}(?!\w))?(?:,?{_GAP}{_YEAR})?",
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?![\w-])",
    )
)
_HEDGE = re.compile(rf"[\s(\[\"']*(?:(?:it was|on|about|around|circa|ca?\.?|the|{WEEKDAY},?)\s*)*", re.IGNORECASE)
_IN_FIGURES = re.compile(r"(?<![\d./-])(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})(?![\d/-]|\.\d)")
_FEAST = re.compile(
    r"(?<!\w)(?:Christmas|Easter (?:Sunday|Monday|Day)|Good Friday|Pentecost|Whitsun|New Year(?:['’]s (?:Eve|Day))?"
    r"|Epiphany|Boxing Day|Halloween|Thanksgiving|solstice|equinox"
    r"|(?:in|that|this|of) (?:the )?(?:early |late |mid-?)?(?P<season>spring|summer|autumn|winter))(?!\w)"
)
_SPAN = r"(?:days?|weeks?|fortnights?|months?)"
_DURATION = re.compile(rf"(?<!\w)(?:{COUNT}|{COUNT}?½)[ \u00a0-]{_SPAN}(?!\w)", re.IGNORECASE)
_RELATIVE = re.compile(
    rf"(?<!\w)(?:{_SPAN} (?:later|earlier)|(?:later|earlier) (?:that|the same) (?:{_SPAN}|year)"
    rf"|(?:the|that) (?:same|next|following|previous|preceding) (?:{_SPAN}|morning|evening|night))(?!\w)",
    re.IGNORECASE,
)


def _read(match: re.Match[str]) -> Iterator[Stated]:
    """The date of a match, and the other end of a range in one month; nothing for a day that does not exist."""
    groups: dict[str, str] = dict.fromkeys(("word", "other"), "") | match.groupdict("")
    year, month = groups["year"], groups["month"]
    if not year and not month[0].isupper():
        return  # "the first may"
    number = int(month) if month.isdigit() else [name[:3] for name in MONTHS].index(month[:3].capitalize()) + 1
    start, end = match.span("word" if groups["word"] else "day")
    days = [int(groups["day"] or ORDINALS.index(groups["word"].lower()) + 1)]
    places = [match.span()]
    if groups["other"]:
        is_first = match.start("other") < start
        days.append(int(groups["other"]))
        places = [(start, match.end()) if is_first else (match.start(), end), match.span("other")]
    for day, place in zip(days, places, strict=True):
        with suppress(ValueError):  # 31 April
            value = date(int(year or _NO_YEAR), number, day)
            yield Stated(*place, value, is_certain=bool(year), is_partial=not year or bool(groups["other"]))


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def dates(text: str) -> tuple[Stated, ...]:
    """Every date of a text, and every day of a month without a year, left to right, without overlaps."""
    folded = fold_digits(text)
    matches = (match for layout in _LAYOUTS for match in layout.finditer(folded))
    return tuple(without_overlaps(stated for match in matches for stated in _read(match)))


class Date(Point):
    """A date to the day."""

    answer_type = AnswerType.DATE
    amounts = tuple(sign * offset for offset in _OFFSETS for sign in (1, -1))
    offset_levels = ((7, Level.SUBTLE), (31, Level.MILD), (366, Level.MODERATE))
    hedge = _HEDGE
    stated = staticmethod(dates)
    value = staticmethod(date.fromisoformat)

    def is_at(self, stated: Stated, value: date) -> bool:
        return bool(stated.value == (value if stated.is_certain else value.replace(year=_NO_YEAR)))

    def moved(self, value: date, amount: int) -> date:
        try:
            return value + timedelta(days=amount)
        except OverflowError:
            raise NoClaim("days lies outside the years 1 to 9999") from None

    def guesses(self, answers: Sequence[str]) -> bool:
        return all(self.canonical(answer) for answer in answers)

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """In the order, the form of the month, the ordinals, the padding, the case and the script of `surface`."""
        matches = [match for layout in _LAYOUTS if (match := layout.fullmatch(fold_digits(surface)))]
        if not matches:
            return None
        new, groups, written = date.fromisoformat(new_answer), matches[0].groupdict(), surface
        for name in sorted((name for name, text in groups.items() if text), key=matches[0].start, reverse=True):
            start, end = matches[0].span(name)
            written = written[:start] + _part(name, surface[start:end], groups, new) + written[end:]
        return written

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        gold = date.fromisoformat(self.gold(item))
        stated = {each.start: each for each in dates(item.context)}
        for span in spans:
            day, quoted = stated.get(span.start), repr(around(item.context, span))
            if day is None or not self.is_at(day, gold):
                yield Outcome.REFUSED, f"an alias states another date: {quoted}"
            elif not day.is_certain:
                yield Outcome.FLAGGED, f"{span.surface!r} stands without its year: {quoted}"
            elif day.is_partial:
                yield Outcome.REFUSED, f"a range of days is not taken apart: {quoted}"
        for match in _IN_FIGURES.finditer(fold_digits(item.context)):
            first, second, year = map(int, match.groups())
            if sorted((first, second)) == sorted((gold.day, gold.month)) and year in (gold.year, gold.year % 100):
                yield Outcome.REFUSED, f"the passage has the date in figures: {match[0]!r}"
        if duration := _DURATION.search(item.context):
            yield Outcome.FLAGGED, f"a duration may give the date away: {duration[0]!r}"
        if relative := _RELATIVE.search(item.context):
            yield Outcome.FLAGGED, f"a relative date may give the date away: {relative[0]!r}"
        for what, words in beside_a_year(item.context):
            if what != "a weekday":
                yield Outcome.FLAGGED, f"{what} may give the date away: {words!r}"

    def doubts_of_claim(self, item: Item, claim: Claim, spans: Sequence[Span]) -> Iterator[Doubt]:
        gold, new = date.fromisoformat(self.gold(item)), date.fromisoformat(claim.canonical)
        others = {day.value for day in dates(item.context) if day.is_certain}
        beside = [sentence_at(item.context, span.start) for span in spans]
        near = {day.value for text in beside for day in dates(text)}
        stated = {other: f"{other}" for other in others - {gold}}
        yield from neighbours(gold, new, stated, "date", timedelta(days=2), near)
        feast = _FEAST.search(" ".join(beside))
        if feast and not (feast["season"] and new.month == gold.month):
            yield Outcome.REFUSED, f"a feast or a season stands beside it, which the claim is not on: {feast[0]!r}"
        starts = [0, *(day.end for day in dates(item.context))]
        ends = [*(day.start for day in dates(item.context)), None]
        rest = "…".join(item.context[start:end] for start, end in zip(starts, ends, strict=True))
        month = MONTHS[gold.month - 1]
        if gold.month != new.month and re.search(rf"(?<!\w){month}(?!\w)", rest):
            yield Outcome.FLAGGED, f"the passage names the month by itself: {month!r}"
        if gold.year == new.year:
            return
        alone = {year.value for year in years(rest) if year.is_certain}
        if gold.year in alone:
            yield Outcome.FLAGGED, f"the passage names the year by itself: {gold.year}"
        yield from doubts_of_year(item.context, spans, rest, gold.year, new.year, 0)
        shared = set(other_names(rest, new.year))
        for sentence in other_names(rest, gold.year):
            if sentence not in shared:
                yield Outcome.REFUSED, sentence

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        day = date.fromisoformat(self.normalise(false.claimed_answer) or "")
        for span in spans:
            weekday = re.search(rf"({WEEKDAY}),? (?:the )?\Z", false.context[max(0, span.start - 15) : span.start])
            if weekday and weekday[1] != day.strftime("%A"):
                yield f"{false.claimed_answer} was a {day:%A} and no {weekday[1]}"


def _part(name: str, old: str, groups: Mapping[str, str | None], new: date) -> str:
    """One part of a date (a group of its layout) as `old` writes it."""
    is_iso = (groups["month"] or "").isdigit()
    match name:
        case "year":
            return in_script_of(old, f"{new.year:04d}" if is_iso else str(new.year))
        case "month" if is_iso:
            return in_script_of(old, f"{new.month:02d}")
        case "month":
            full = MONTHS[new.month - 1]
            is_full = old.capitalize() in MONTHS
            short = full[:3] + ("." if old.endswith(".") and len(full) > 3 else "")
            return in_case_of(old, (full if is_full else short).lower())
        case "day":
            return in_script_of(old, f"{new.day:02d}" if is_iso or old.startswith("0") else str(new.day))
        case "suffix":
            suffix = "th" if 11 <= new.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(new.day % 10, "th")
            return suffix.upper() if old.isupper() else suffix
    return in_case_of(old, ORDINALS[new.day - 1])


KIND = Date()
