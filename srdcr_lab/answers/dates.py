"""Years: "1874", "AD 1066", "44 BC", "nineteen seventy-four". The canonical form is a whole number, BC negative
("-44").

Not years: decades, centuries, grouped or decimal numbers ("1,874"), numbers with a known unit ("1500 metres"). A range
has two years; its short end ("18" in "1914–18") is a `partial` mention of 1918. Without an era, four digits
(1000–2999) are a year anywhere; three digits only as a bare answer, or after "in", "by", "since" and the like.

Dates to the day: "14 July 1789", "July 14th, 1789", "the fourteenth of July 1789", "1789-07-14".

The canonical form is ISO ("1789-07-14"), for years 1 to 9999; days are counted in the Gregorian calendar in every
century. Day and month without a year ("14 July") are a `partial` mention; so is either end of a range ("14–16 July
1789"). A year or a month alone is not a date, nor are figures ("4/7/1789"), which countries read in different orders.

A date is moved by whole weeks. Sizes and levels are in ``levels.toml``, the expressions in ``english.toml``.
"""

import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from srdcr_lab.answers import wording
from srdcr_lab.answers.kinds import SCALES, Audit, Doubt, FalseClaim, Kind, NoClaim, Traits, doubt, normalise
from srdcr_lab.answers.quantities import Stated, akin, is_a_year, meanings, quantities, respell_words, spelled_numbers
from srdcr_lab.answers.wording import ENGLISH, MONTHS, ORDINALS, Span, pattern
from srdcr_lab.records import AnswerType, Item, Level, PerturbationKind

SIGNED_YEAR_OFFSETS: tuple[int, ...] = tuple(SCALES["year"]["amounts"])
YEAR_OFFSETS = tuple(offset for offset in SIGNED_YEAR_OFFSETS if offset > 0)
_NOT_UNITS = frozenset({"second", "foot", "day", "year", "month", "week", "hour", "degree", "yard", "acre", "mile"})
_SHORT = frozenset({"s", "min", "h"})
_LIFETIME = 100  # years: who was there at one end of them was not at the other


def _has_unit(folded: str, end: int) -> bool:
    """Whether the number is a measure: "1500 metres", "12 %". Words that often follow a year are not taken for
    units.
    """
    match = pattern("unit_after").match(folded, end)
    if match is None or match["sign"]:
        return match is not None
    one, two = match["one"], match["two"]
    is_word = len(one) > 1 and one.lower() not in _NOT_UNITS  # "in 1874 M. Curie …"
    return bool((is_word and meanings(one)) or (two and meanings(f"{one} {two}")))


def _in_digits(folded: str) -> Iterator[Stated]:
    for number in pattern("whole_number").finditer(folded):
        start, end = number.span()
        value, is_grouped = int(number[0].replace(",", "")), "," in number[0]
        era_after = pattern("era_after").match(folded, end)
        era_before = pattern("era_before").search(folded, max(0, start - 8), start)
        is_bc = bool(era_after and era_after["bc"])
        first = pattern("long_year_before").search(folded, max(0, start - 8), start) if end - start == 2 else None
        if (era_after or era_before) and 0 < value <= (9_999_999 if is_bc else 9999):
            start, end = (era_before or number).start(), (era_after or number).end()
            yield Stated(start, end, -value if is_bc else value)
        elif is_grouped:  # only before an era: "10,000 BC"
            continue
        elif first and value > int(first[1][2:]) and not re.match(r"[-/.]\d", folded[end : end + 2]):
            yield Stated(start, end, int(first[1][:2] + number[0]), is_partial=True)  # "18" in "1914–18"
        elif len(number[0]) <= 4 and value and not _is_tied(folded, start, end):
            has_cue = value >= 100 and pattern("cue_before").search(folded[max(0, start - 14) : start]) is not None
            yield Stated(start, end, value, is_certain=has_cue or 1000 <= value <= 2999)


def _is_tied(folded: str, start: int, end: int) -> bool:
    """Whether digits belong to a decimal, a price, a measure or a magnitude; four of them may end a date."""
    before = folded[max(0, start - 14) : start]
    if pattern("tied_before").search(before) and not (end - start == 4 and pattern("date_before").search(before)):
        return True
    return _has_unit(folded, end) or pattern("magnitude_after").match(folded, end) is not None


def _in_words(folded: str) -> Iterator[Stated]:
    """ "nineteen seventy-four", "eighteen hundred and six", "two thousand and four"."""
    numbers = spelled_numbers(folded)
    for number, following in zip(numbers, [*numbers[1:], Stated(0, 0, 0)], strict=False):
        is_pair = 10 <= number.value <= 29 and 10 <= following.value <= 99
        if is_pair and folded[number.end : following.start] in (" ", "-", "\u00a0"):
            yield Stated(number.start, following.end, 100 * number.value + following.value)
        elif 1000 <= number.value <= 2999 and not _has_unit(folded, number.end):
            yield Stated(number.start, number.end, number.value)


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def years(text: str) -> tuple[Stated, ...]:
    """Every year, and every short whole number that may be one, left to right."""
    folded = wording.fold_digits(text)
    return tuple(sorted([*_in_digits(folded), *_in_words(folded)], key=lambda year: year.start))


def other_forms(passage: str, year: int) -> Iterator[Doubt]:
    """Other ways in which a passage states a year: Roman numerals, "'74"."""
    if 1000 <= year <= 2999 and re.search(rf"(?<!\w){_roman(year)}(?!\w)", passage):
        yield Audit.FLAGGED, f"the passage has the year in Roman numerals: {_roman(year)!r}"
    for match in re.finditer(r"(?<!\w)['’‘](\d\d)(s?)(?!\w)", wording.fold_digits(passage)):
        if int(match[1]) == year % 100 or (match[2] and int(match[1]) // 10 == year % 100 // 10):
            yield Audit.FLAGGED, f"the passage has the year in short: {match[0]!r}"


def _roman(year: int) -> str:
    digits = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    scales = ((1000, "M"), (100, "CDM"), (10, "XLC"), (1, "IVX"))
    return "".join(digits[year // n % 10].translate(str.maketrans("IVX"[: len(to)], to)) for n, to in scales)


_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # in English, whatever the locale
_OF_A_TIME = re.compile(rf"(?i)(?<!\w)(?:{'|'.join(f'({words})' for _, _, words in ENGLISH['times'])})(?!\w)")


@lru_cache(maxsize=16)
def _of_a_time(text: str) -> list[tuple[str, int, int]]:
    """Words for what existed only between two years, with these years."""
    return [(match[0], *ENGLISH["times"][(match.lastindex or 0) - 1][:2]) for match in _OF_A_TIME.finditer(text)]


def neighbours(
    gold: Any, new: Any, others: Mapping[Any, str], what: str, near: Any, beside: Container[Any]
) -> Iterator[Doubt]:
    """Another year or date that the claim passes, or that is a lifetime away from it or `near` the gold one.

    `others` are those of the passage with their words. Passing one that stands `beside` the answer, in its sentence,
    refuses the claim, because their order would change.
    """
    if passed := [other for other in sorted(others) if other != new and min(gold, new) <= other <= max(gold, new)]:
        first = next((other for other in passed if other in beside), passed[0])
        yield doubt(first in beside, f"the claim is moved past another {what} of the passage: {others[first]}")
        return
    old, moved = (getattr(each, "year", each) for each in (gold, new))
    for other, words in sorted(others.items()):
        if abs(other - gold) <= near:
            yield Audit.FLAGGED, f"another {what} of the passage is close to the truth: {words}"
            return
        year, is_in_digits = getattr(other, "year", other), any(map(str.isdigit, words))  # not "two thousand people"
        if is_in_digits and abs(year - old) < _LIFETIME <= abs(year - moved):
            yield Audit.FLAGGED, f"another {what} of the passage is a lifetime from the claim: {words}"
            return


def eras(text: str) -> Iterator[tuple[str, int, int]]:
    """The decades and centuries that a text names: the words, the first and the last year."""
    folded = wording.fold_digits(text)
    for match in re.finditer(r"(?<![\w.,])(\d{3}0)['’]?s(?!\w)", folded):
        yield match[0], int(match[1]), int(match[1]) + 9
    for match in pattern("century").finditer(folded) if "centur" in text.lower() else ():
        number = int(match[1]) if match[1] else ORDINALS.index(match[2].lower()) + 1
        yield match[0], *((-100 * number, 99 - 100 * number) if match["bc"] else (100 * number - 99, 100 * number))


def years_named(text: str, gold: int) -> dict[int, str]:
    """The years of a text other than the gold one, and both ends of eras that exclude it, each with its words."""
    ends = {end: f"{words!r}" for words, *span in eras(text) if not span[0] <= gold <= span[1] for end in span}
    stated = {y.value: text[y.start : y.end] for y in years(text) if y.is_certain and not y.is_partial}
    return {year: words for year, words in (ends | stated).items() if year != gold}


def doubts_of_year(passage: str, spans: Sequence[Span], text: str, gold: int, new: int, near: int) -> Iterator[Doubt]:
    """Other years, decades and centuries of a `text`, the passage or a part of it, that speak against a moved year.

    Those in a sentence with a mention refuse the claim; others may be about something else, and flag it.
    """
    beside = [wording.sentence_at(passage, span.start) for span in spans]
    stated = {year for sentence in beside for year in years_named(sentence, gold)}
    yield from neighbours(gold, new, years_named(text, gold), "year", near, stated)
    for words, first, last in eras(text):
        if first <= gold <= last and not first <= new <= last:
            era = "decade" if last - first < 10 else "century"
            yield doubt(any(words in text for text in beside), f"the passage names the {era}: {words!r}")


class Point(Kind):
    """A point in time and the amounts by which it is moved: what years and dates share."""

    is_value = True
    perturbation = PerturbationKind.OFFSET
    hedge: str  # names the expression of what may precede a bare answer
    stated: Callable[[str], Sequence[Stated]]  # every point in time of a text, left to right
    value: Callable[[str], Any]  # of a canonical form

    def moved(self, value: Any, amount: int) -> Any:
        """The point moved by an amount; raises `NoClaim` if it cannot be moved."""
        raise NotImplementedError

    def is_at(self, stated: Stated, value: Any) -> bool:
        """Whether a text may state this value at this place."""
        return bool(stated.value == value)

    def canonical(self, text: str, unit: str = "") -> str | None:
        stated = wording.stated_alone(text, self.stated, self.hedge, "behind_a_date")
        return None if stated is None or stated.is_partial else str(stated.value)

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """Those that are certain."""
        said, asked = ([str(each.value) for each in self.stated(of) if each.is_certain] for of in (text, question))
        return wording.unasked(said, asked)

    def distance(self, a: str, b: str) -> float:
        """log(1 + the years, or days, between)."""
        between = self.value(a) - self.value(b)
        return math.log1p(abs(getattr(between, "days", between)))

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        value = self.value(canonical)
        stated = (each for each in self.stated(passage) if self.is_at(each, value))
        return [Span(each.start, each.end, passage[each.start : each.end], each.is_partial) for each in stated]

    def altered(self, item: Item, amount: float, present: int, own: Traits) -> tuple[str, list[str]]:
        try:
            new = self.moved(self.value(self.gold(item)), int(amount))
        except NoClaim as error:
            raise NoClaim(f"{item.gold_answer} {amount:+.0f} {error}") from None
        year = getattr(new, "year", new)
        flags = [f"the claim {new} lies in the future"] if year > present >= self.year_of(self.gold(item)) else []
        if flags and (level := self.level(self.perturbation, amount)) is not Level.BLATANT:
            raise NoClaim(f"{flags[0]}, which a {level} one may not")
        is_far = abs(year - self.year_of(self.gold(item))) >= _LIFETIME
        if is_far and (titled := pattern("titled").search(f"{item.question} {item.context}")):
            flags.append(f"{titled[0]} did not live in both years")
        return str(new), flags + own.anachronisms(year)

    def related(self, item: Item, rest: str) -> Iterator[tuple[int, str]]:
        days: Iterator[Any] = (day for day in dates(rest) if self.quantity() == "year" and not day.is_certain)
        short = (each for each in quantities(rest) if each.unit & _SHORT)
        yield from akin(rest, meanings("year"), ((each.start, each.end) for each in (*days, *short)))

    def year_of(self, canonical: str) -> int:
        value = self.value(canonical)
        return int(getattr(value, "year", value))

    def impossible(self, item: Item, new: str, own: Traits) -> str:
        """By its traits and by the table of times, whose rows hold if the gold answer satisfies them."""
        gold, year = self.year_of(self.gold(item)), self.year_of(new)
        for words, first, last in _of_a_time(f"{item.question} {item.context}"):
            if first <= gold <= last and not first <= year <= last:
                return f"an anachronism in {year}: {words!r}"
        return own.forbids(year)


class Year(Point):
    """A year."""

    answer_type = AnswerType.YEAR
    hedge = "before_a_year"
    stated = staticmethod(years)
    value = staticmethod(int)

    def canonical(self, text: str, unit: str = "") -> str | None:
        """A sign before bare digits means BC."""
        if signed := re.fullmatch(r"-(\d{1,7})", wording.fold_digits(text).strip()):
            return str(-int(signed[1])) if int(signed[1]) else None
        return super().canonical(text, unit)

    def moved(self, value: int, amount: int) -> int:
        new = value + amount
        if (value < 0) != (new < 0) or new == 0:
            raise NoClaim("lies after the year 1 BC" if value < 0 else "lies before the year 1")
        if new > 9999:
            raise NoClaim("has more than four digits")
        return new

    def guesses(self, answers: Sequence[str]) -> bool:
        return all(is_a_year(answer.rstrip("·")) for answer in answers)  # 1874年

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Digits, script, words and era as in `surface`; None for a year of another era."""
        value, new, folded = int(answer), int(new_answer), wording.fold_digits(surface)
        if new == 0 or (value < 0) != (new < 0):
            return None
        digits = re.search(r"\d[\d,]*", folded)
        if digits is None:
            return respell_words(surface, abs(value), abs(new))
        if value < 0 and not folded.startswith("-") and not re.search(r"b\.?[ \u00a0]?c", folded, re.I):
            return None
        written = f"{abs(new):,}" if "," in digits[0] else str(abs(new))
        return surface[: digits.start()] + wording.in_script_of(surface, written) + surface[digits.end() :]

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        gold, folded = int(self.gold(item)), wording.fold_digits(item.context)
        stated = {year.start: year for year in years(item.context)}
        for span in spans:
            year, quoted = stated.get(span.start), repr(wording.around(item.context, span))
            if year is None or year.value != gold:
                yield Audit.REFUSED, f"an alias states another year: {quoted}"
            elif year.is_partial or pattern("short_end").match(folded, span.end):
                yield Audit.REFUSED, f"a range with a short end is not taken apart: {quoted}"
            elif not year.is_certain:
                yield doubt(len(spans) > 1, f"{span.surface!r} may be a number, not a year: {quoted}")
        yield from other_forms(item.context, gold)

    def doubts_of_claim(self, item: Item, claim: FalseClaim, spans: Sequence[Span]) -> Iterator[Doubt]:
        gold, new, folded = int(self.gold(item)), int(claim.canonical), wording.fold_digits(item.context)
        for span in spans:
            before = pattern("range_before").search(folded, max(0, span.start - 20), span.start)
            after = pattern("range_after").match(folded, span.end)
            if (before and int(before[1]) >= new) or (after and int(after[1]) <= new):
                yield Audit.REFUSED, f"the range would run backwards: {wording.around(item.context, span)!r}"
        yield from doubts_of_year(item.context, spans, item.context, gold, new, 2)
        is_leap_year = new % 4 == 0 and (new <= 1582 or new % 100 != 0 or new % 400 == 0)
        if new > 0 and not is_leap_year and pattern("leap_day").search(item.context):
            yield Audit.REFUSED, f"29 February does not exist in {new}"


_NO_YEAR = 2000  # stands for the year of a date without one; it is a leap year
_LAYOUTS = tuple(map(pattern, ("day_first", "month_first", "iso_date")))


def _read(match: re.Match[str]) -> Iterator[Stated]:
    """The date of a match, and the other end of a range within a month; nothing for a day that does not exist."""
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
    matches = (match for layout in _LAYOUTS for match in layout.finditer(wording.fold_digits(text)))
    return tuple(wording.without_overlaps(stated for match in matches for stated in _read(match)))


class Date(Point):
    """A date to the day."""

    answer_type = AnswerType.DATE
    hedge = "before_a_day"
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
        matches = [match for layout in _LAYOUTS if (match := layout.fullmatch(wording.fold_digits(surface)))]
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
            day, quoted = stated.get(span.start), repr(wording.around(item.context, span))
            if day is None or not self.is_at(day, gold):
                yield Audit.REFUSED, f"an alias states another date: {quoted}"
            elif not day.is_certain:
                yield Audit.FLAGGED, f"{span.surface!r} occurs without its year: {quoted}"
            elif day.is_partial:
                yield Audit.REFUSED, f"a range of days is not taken apart: {quoted}"
        for match in pattern("date_in_figures").finditer(wording.fold_digits(item.context)):
            first, second, year = map(int, match.groups())
            if sorted((first, second)) == sorted((gold.day, gold.month)) and year in (gold.year, gold.year % 100):
                yield Audit.FLAGGED, f"the passage has the date in figures: {match[0]!r}"

    def doubts_of_claim(self, item: Item, claim: FalseClaim, spans: Sequence[Span]) -> Iterator[Doubt]:
        gold, new = date.fromisoformat(self.gold(item)), date.fromisoformat(claim.canonical)
        beside = [wording.sentence_at(item.context, span.start) for span in spans]
        near = {day.value for text in beside for day in dates(text)}
        stated = {day.value: f"{day.value}" for day in dates(item.context) if day.is_certain and day.value != gold}
        yield from neighbours(gold, new, stated, "date", timedelta(days=2), near)
        feast = pattern("feast").search(" ".join(beside))
        if feast and not (feast["season"] and new.month == gold.month):
            yield Audit.REFUSED, f"a feast or season in the same sentence does not fit the claimed date: {feast[0]!r}"
        rest = wording.without(item.context, dates(item.context))
        month = MONTHS[gold.month - 1]
        if gold.month != new.month and re.search(rf"(?<!\w){month}(?!\w)", rest):
            yield Audit.FLAGGED, f"the passage names the month by itself: {month!r}"
        if gold.year == new.year:
            return
        if any(year.is_certain and year.value == gold.year for year in years(rest)):
            yield Audit.FLAGGED, f"the passage names the year by itself: {gold.year}"
        yield from doubts_of_year(item.context, spans, rest, gold.year, new.year, 0)
        shared = {*other_forms(rest, new.year)}
        yield from (each for each in other_forms(rest, gold.year) if each not in shared)

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        day = date.fromisoformat(normalise(false.claimed_answer, self.answer_type) or "")
        its_own = _WEEKDAYS[day.weekday()]
        for span in spans:
            weekday = pattern("weekday_before").search(false.context, max(0, span.start - 15), span.start)
            if weekday and weekday[1] != its_own:
                yield f"{false.claimed_answer} was a {its_own} and no {weekday[1]}"


def _part(name: str, old: str, groups: Mapping[str, str | None], new: date) -> str:
    """One part of a date (a group of its layout) as `old` writes it."""
    is_iso = (groups["month"] or "").isdigit()
    if old[0].isdecimal():
        width = {"year": 4}.get(name, 2) if is_iso else 2 if old.startswith("0") else 0
        return wording.in_script_of(old, f"{getattr(new, name):0{width}d}")
    if name == "month":
        full = MONTHS[new.month - 1]
        short = full[:3] + ("." if old.endswith(".") and len(full) > 3 else "")
        return wording.in_case_of(old, (full if old.capitalize() in MONTHS else short).lower())
    if name == "suffix":
        suffix = "th" if 11 <= new.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(new.day % 10, "th")
        return suffix.upper() if old.isupper() else suffix
    return wording.in_case_of(old, ORDINALS[new.day - 1])
