"""Numbers, with or without a unit: read, compared, multiplied, and what in a passage would not fit another number.

Anything that would contradict a passage with another number refuses that number; what would only allow a reader to
guess is flagged.

The canonical form is the plain decimal ("1250", "-0.5"), followed by the stated unit only if it is a known one other
than the one asked for ("5 g" if mg was asked for), or by am or pm; it is then another answer, never converted. Words
for what is counted ("people") are dropped. If no unit is asked for, a known unit is kept ("5 mg"), and a missing one
agrees with any.
"""

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise, product

from srdcr_lab.answers import quantities as numerals
from srdcr_lab.answers import wording
from srdcr_lab.answers.dates import dates, years
from srdcr_lab.answers.kinds import SCALES, Audit, Doubt, FalseClaim, Kind, NoClaim, Traits, normalise
from srdcr_lab.answers.quantities import EXACT, Quantity, agrees, figures, is_a_year, meanings, quantities
from srdcr_lab.answers.wording import ENGLISH, Span, around, fold_digits, in_script_of, pattern, sentence_at, worded
from srdcr_lab.records import AnswerType, Item, PerturbationKind

_MANY = 1000
_LISTED = range(2, 21)  # counts that a list may show
_CLOSE = Decimal("0.02")  # share by which a rounding may differ
_HALF, _WHOLE = 50, 100  # per cent


def bounds_of(passage: str, spans: Sequence[Span]) -> Iterator[tuple[str, str, Decimal]]:
    """The numbers that the mentioned one is said to be greater or smaller than, because one is a part of the other.

    For each: as stated, which it must be ("smaller" than the mentioned one or "greater"), and its value. Parts are
    marked by words: "eight of them", "including 12", "of whom 40 died"; of several wholes before a part, the nearest
    counts. "Down from 12" is a bound too.
    """
    folded, starts = fold_digits(passage), {span.start for span in spans}
    numbers = (each for each in figures(passage) if not is_a_year(passage[each.start : each.end]))  # "10% up from 2013"
    for whole, part in pairwise(numbers):
        head = folded[max(0, part.start - 60) : part.start]
        trend = pattern("trend_from").search(head)
        is_part = trend or pattern("part_after").match(folded, part.end) or pattern("part_before").search(head)
        is_part = is_part or pattern("part_is").match(folded, part.end)
        if is_part and (whole.start in starts) is not (part.start in starts):
            other = whole if part.start in starts else part
            is_smaller = (other is part) is not bool(trend and trend["down"])
            yield passage[other.start : other.end], "smaller" if is_smaller else "greater", Decimal(other.value)


def moved_past(passage: str, new: Decimal, spans: Sequence[Span]) -> Iterator[str]:
    """Numbers of a passage that the claim passes and that may count the same thing as the mentioned one.

    They have the same known unit; or none, and are in its sentence or too large for a coincidence.
    """
    starts, numbers = {span.start for span in spans}, [(Decimal(each.value), each) for each in figures(passage)]
    for own in (each for each in quantities(passage) if each.start in starts):
        gold, sentence = Decimal(own.value), sentence_at(passage, own.start)
        least, most = min(gold, new), max(gold, new)
        for value, other in numbers:
            words = passage[other.start : other.end]
            if least <= value <= most and value != gold and not is_a_year(words):
                is_beside = abs(value) >= _MANY or sentence_at(passage, other.start) == sentence
                if own.unit & other.unit or (own.unit == other.unit and is_beside):
                    yield words


def other_outcome(item: Item, gold: Decimal, new: Decimal) -> Iterator[Doubt]:
    """A claim that reverses an election or a vote: the rest of the passage would no longer fit."""
    text = f"{item.question} {item.context}"
    if _unit(item) == meanings("%"):
        if pattern("vote").search(text) and (gold < _HALF) is not (new < _HALF):
            yield Audit.REFUSED, f"a share of the votes on the other side of one half: {new:f}"
    elif pattern("votes").search(item.unit) and new <= gold / 2 and (won := pattern("victory").search(text)):
        yield Audit.FLAGGED, f"at most half of the true {item.unit}, where it says {won[0]!r}"


def _unit(item: Item) -> frozenset[str]:
    """The meanings of an answer's unit: as named, as in the answer, or else as beside its mention in the passage."""
    answer = _bare(item.gold_answer)
    beside = (each.unit for each in quantities(item.context) if answer and each.value == answer.value)
    aged = meanings("year") if pattern("asks_for_an_age").search(item.question) else frozenset()
    return meanings(item.unit) or (answer.unit if answer else frozenset()) or next(filter(None, beside), aged)


def beyond_limits(item: Item, gold: Decimal, value: Decimal) -> str:
    """Why a quantity is impossible, by the table of limits; empty if it is possible or not in the table.

    A row holds for a unit, which may be the last word of what is counted, for questions with certain words, and only if
    the gold answer satisfies it.
    """
    meant, counted = _unit(item), {item.unit, item.unit.rpartition(" ")[2].lower()}
    for units, least, most, words in ((units, *row) for units, rows in ENGLISH["limits"].items() for row in rows):
        is_of = {units, *units.split()} & (meant | counted) and least <= gold <= most
        if is_of and (asked := re.search(rf"(?i)(?<!\w)(?:{words})", item.question)):
            if least <= value <= most:
                return ""
            unit = f" {item.unit or numerals.unit_text(meant)}".rstrip()
            return f"beyond what is possible: {least} to {most}{unit} of {asked[0]!r}, and it is {value}"
    if meant == meanings("%") and gold <= _WHOLE < value and not pattern("growth").search(item.context):
        return f"beyond what is possible: more than the whole, {value} %"
    return ""


def _bare(text: str) -> Quantity | None:
    """The quantity of a text; hedges before it and at most four words after it are allowed."""
    quantity: Quantity | None = wording.stated_alone(text, quantities, "number_hedge", "behind_a_number")
    return quantity


def _states(quantity: Quantity, unit: str) -> bool:
    """Whether the unit is stated beside the number; for an unknown unit, case and a plural s do not matter."""
    if wanted := meanings(unit):
        return agrees(quantity.unit, wanted)
    return any(_singular(unit) == _singular(phrase) for phrase in quantity.phrases)


def _singular(phrase: str) -> str:
    word = phrase.strip().casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _canonical(quantity: Quantity, unit: str) -> str:
    is_as_asked = not quantity.unit or (unit and _states(quantity, unit))
    return quantity.value if is_as_asked else f"{quantity.value} {numerals.unit_text(quantity.unit)}"


def infer_unit(text: str) -> tuple[str, str] | None:
    """Value and unit, by the table of units or as written; None if the text is not a number.

    >>> infer_unit("5 milligrams"), infer_unit("3,559 people"), infer_unit("12")
    (('5', 'mg'), ('3559', 'people'), ('12', ''))
    """
    quantity = _bare(wording.undecorated(text))
    if quantity is None:
        return None
    return quantity.value, numerals.unit_text(quantity.unit) if quantity.unit else next(iter(quantity.phrases), "")


class Number(Kind):
    """A number, in the unit that is asked for; perturbed by factors."""

    answer_type = AnswerType.NUMBER
    is_value = True
    perturbation = PerturbationKind.FACTOR

    def quantity(self, item: Item | None = None) -> str:
        """A mark if a time, height, distance or weight is asked for that an athlete achieved; otherwise a number."""
        asked = item and f"{item.unit or numerals.unit_text(_unit(item))}: {item.question}"
        return "mark" if asked and re.match(SCALES["mark"]["asked"], asked, re.IGNORECASE) else "number"

    def canonical(self, text: str, unit: str = "") -> str | None:
        quantity = _bare(text)
        return None if quantity is None else _canonical(quantity, unit)

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """All but dates, and measures if things are counted; of several, those stated in the unit asked for."""
        asked = [_canonical(quantity, unit) for quantity in quantities(question)]
        is_count = unit and not meanings(unit)
        text = pattern("beside_a_number").sub("…", text)
        said = [each for each in quantities(text) if not (is_count and each.unit)]
        found = wording.unasked([_canonical(quantity, unit) for quantity in said], asked)
        ends = [end for start, end in pairwise(said) if pattern("range_between").fullmatch(text, start.end, end.start)]
        in_parts = any(pattern("number_goes_on").match(text, each.end) for each in said)
        if not unit or len(found) < 2 or in_parts or any(_states(end, unit) for end in ends):
            return found
        return wording.unasked([_canonical(quantity, unit) for quantity in said if _states(quantity, unit)], asked)

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equality of canonical forms; if no unit is asked for, a unit on one side only does not matter."""
        if unit:
            return a == b
        (value_a, _, unit_a), (value_b, _, unit_b) = a.partition(" "), b.partition(" ")
        agree = not unit_a or not unit_b or unit_a == unit_b or bool(meanings(unit_a) & meanings(unit_b))
        return value_a == value_b and agree

    def distance(self, a: str, b: str) -> float:
        """|log of the ratio| of two plain numbers of the same sign; else NaN."""
        try:
            x, y = float(a), float(b)
            return abs(math.log(x / y)) if x * y > 0 else math.nan
        except ValueError:  # with a unit, or a clock time
            return math.nan

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """Where a passage states the number; `partial` if the unit asked for is not beside it."""
        value, _, own_unit = canonical.partition(" ")
        unit = own_unit or unit
        wanted = meanings(unit) or frozenset(own_unit.split())  # "pm"
        stated = (q for q in quantities(passage) if q.value == value)
        fitting = (q for q in stated if not (wanted and q.unit) or agrees(q.unit, wanted))
        return [Span(q.start, q.end, passage[q.start : q.end], bool(unit) and not _states(q, unit)) for q in fitting]

    def guesses(self, answers: Sequence[str]) -> bool:
        inferred = [infer_unit(answer) for answer in answers]
        return None not in inferred and len({each[1] for each in inferred if each and each[1]}) <= 1

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Digits, separators, decimals, script, magnitude and words as in `surface`; a time as it is."""
        if ":" in answer:
            return in_script_of(surface, new_answer)
        value, new = (Decimal(each.partition(" ")[0]).copy_abs() for each in (answer, new_answer))
        if written := numerals.respell_digits(surface, value, new):
            return written
        sign = pattern("sign_word").match(fold_digits(surface))
        start = sign.end() if sign else 0
        if value != int(value) or new != int(new):
            return None
        words = numerals.respell_words(surface[start:], int(value), int(new))
        return None if words is None else surface[:start] + words

    def impossible(self, item: Item, new: str, own: Traits) -> str:
        gold, value = self.gold(item).partition(" ")[0], new.partition(" ")[0]
        if ":" in gold + value:
            return ""
        return own.forbids(Decimal(value)) or beyond_limits(item, Decimal(gold), Decimal(value))

    def altered(self, item: Item, amount: float, present: int, own: Traits) -> tuple[str, list[str]]:
        """The gold number times a factor, rounded half up to the precision it is written in; never to zero or
        itself.
        """
        number, _, unit = self.gold(item).partition(" ")
        if ":" in number:
            if pattern("time_of_day").search(fold_digits(item.gold_answer)):
                raise NoClaim(f"{item.gold_answer} is a time of day, which a factor does not fit")
            return _time(number, Decimal(repr(amount)), "m" in unit + item.gold_answer), []
        value = Decimal(number)
        if is_a_year(number) and "," not in item.gold_answer and pattern("asks_for_a_year").search(item.question):
            raise NoClaim(f"the question asks for a year, and {item.gold_answer} is one: say so in answer_type")
        exact, place = EXACT.multiply(value, Decimal(repr(amount))), numerals.last_place(item.gold_answer, value)
        new = EXACT.multiply(EXACT.divide(exact, place).quantize(Decimal(1), ROUND_HALF_UP, EXACT), place)
        if not new:
            raise NoClaim("rounds to 0" if value else "0 times a factor is 0")
        if new == value:
            raise NoClaim(f"rounds to the gold answer {item.gold_answer}")
        if abs(new / exact - 1) > _CLOSE:
            raise NoClaim(f"rounding to the precision of {item.gold_answer} makes the factor {new / value:.3g}")
        symbol = (unit or item.unit).partition(" ")[0]
        has_no_plural = len(symbol) <= 4 and meanings(symbol) and f" {symbol}" in item.context  # "mg"
        if 1 in (value, new) and not has_no_plural:
            raise NoClaim("one is singular: verbs and nouns would disagree")
        return f"{numerals.plain(new)} {unit}".strip(), []

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        value = self.gold(item).partition(" ")[0]
        passage, folded = item.context, fold_digits(item.context)
        stated = {quantity.start: quantity for quantity in quantities(passage)}
        is_telling = sum(map(str.isdigit, value)) >= 3
        for span in spans:
            surface, quoted = repr(span.surface), repr(around(passage, span))
            quantity, before = stated.get(span.start), folded[max(0, span.start - 8) : span.start]
            if quantity is None or value != quantity.value:
                yield Audit.REFUSED, f"an alias states another number: {quoted}"
            elif pattern("number_range_after").match(folded, span.end) or pattern("number_range_before").search(before):
                yield Audit.REFUSED, f"{surface} is part of a range or a score: {quoted}"
            elif pattern("fraction_after").match(folded, span.end):
                yield Audit.REFUSED, f"{surface} belongs to a fraction: {quoted}"
            elif _may_be_a_date(folded, span, value):
                yield Audit.REFUSED, f"{surface} may belong to a date: {quoted}"
            elif not quantity.unit and (label := _label(item, span)):
                yield label
            elif span.partial:
                yield Audit.FLAGGED, f"{surface} occurs without its unit: {quoted}"
        units = {stated[span.start].unit for span in spans if span.start in stated}
        if not item.unit and not is_telling and len(spans) > 1 and (len(units) > 1 or not all(units)):
            yield Audit.FLAGGED, f"{value} occurs {len(spans)} times, and may count different things"

    def doubts_of_claim(self, item: Item, claim: FalseClaim, spans: Sequence[Span]) -> Iterator[Doubt]:
        if ":" in claim.canonical:
            return
        new = Decimal(claim.canonical.partition(" ")[0])
        for stated, size, other in bounds_of(item.context, spans):
            if (new <= other) is (size == "smaller"):
                yield Audit.REFUSED, f"the passage has a number that must be {size} than {claim.answer}: {stated}"
            else:
                yield Audit.FLAGGED, f"a part or a whole of it stays as it is: {stated}"
        if passed := next(moved_past(item.context, new, spans), ""):
            yield Audit.FLAGGED, f"the claim is moved past another number of the passage: {passed}"
        yield from other_outcome(item, Decimal(self.gold(item).partition(" ")[0]), new)

    def related(self, item: Item, rest: str) -> Iterator[tuple[int, str]]:
        unit, folded, cue, counted = _unit(item), fold_digits(rest), pattern("cue_before"), pattern("counted")
        is_a_time = "s" in numerals.bases(unit) or ":" in item.gold_answer
        measured = {each.start for each in quantities(rest) if each.unit}  # "1473 K" is no year, nor are "1250 women"
        certain = (each for each in years(rest) if each.is_certain and each.start not in measured)
        in_years = [y for y in certain if cue.search(folded, y.start - 14, y.start) or not counted.match(folded, y.end)]
        calendar = () if is_a_time else (*in_years, *dates(rest))
        value = self.gold(item).partition(" ")[0]
        by_year = {each.value: each for each in in_years if value.isdigit() and len(value) < 4}
        for late, off in product(by_year.values(), (-1, 0, 1)):  # an age, between birth and deed
            if (early := by_year.get(late.value - int(value) + off)) and early is not late:
                yield late.start, f"{rest[early.start : early.end]} … {rest[late.start : late.end]}"
        yield from numerals.akin(rest, unit, ((each.start, each.end) for each in calendar))
        if not unit and value.isdigit() and int(value) in _LISTED and (match := pattern("list").search(rest)):
            yield match.start(), match[0]
        for words in ["count"] * (not unit or unit == meanings("%")) + ["time"] * is_a_time:
            yield from ((match.start(), match[0]) for match in worded(ENGLISH["left_over"][words]).finditer(rest))

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        claim = (normalise(false.claimed_answer, self.answer_type, false.unit) or "").partition(" ")[0]
        if not claim or ":" in claim + self.gold(false):  # a time of day, which nothing here compares
            return
        for stated, size, other in bounds_of(false.context, spans):
            if (Decimal(claim) <= other) is (size == "smaller"):
                yield f"{stated} should be {size} than {false.claimed_answer}"


def _time(stated: str, factor: Decimal, says_minutes: bool) -> str:
    """A duration such as "1:40.91", "2:01:39" or "6:45 min" multiplied, in the same form."""
    seconds, decimals = Decimal(0), len(stated.partition(".")[2])
    for part in stated.split(":"):
        seconds = 60 * seconds + Decimal(part)
    if not decimals and stated.count(":") == 1 and not says_minutes:
        raise NoClaim(f"{stated} is a time of day or a ratio, which a factor does not fit")
    left = (seconds * factor).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    parts: list[str] = []
    for _ in range(stated.count(":")):
        left, rest = divmod(left, 60)
        parts.append(f"{rest:0{2 + bool(decimals) + decimals if not parts else 2}f}")
    return ":".join([f"{left:f}", *reversed(parts)])


def _label(item: Item, span: Span) -> Doubt | None:
    """Whether a number without a unit names a thing rather than counts or measures: a telephone number, "BWV 565"."""
    before = item.context[max(0, span.start - 30) : span.start]
    if words := pattern("asks_for_a_label").search(item.question) or pattern("label_word").search(before):
        return Audit.REFUSED, f"{span.surface!r} is a name and not a quantity, as {words[0].strip()!r} shows"
    if (words := pattern("name_of_a_thing").search(before)) and not pattern("asks_how_many").search(item.question):
        return Audit.FLAGGED, f"{span.surface!r} may be part of a name: {words[0].strip()!r}"
    return None


def _may_be_a_date(folded: str, span: Span, value: str) -> bool:
    before = folded[max(0, span.start - 14) : span.start]
    is_of_a_month = pattern("month_before").search(before) or pattern("month_after").match(folded, span.end)
    is_of_an_event = before.casefold().endswith("the ") and pattern("event_after").match(folded, span.end)
    has_a_cue = is_of_an_event or (span.partial and pattern("year_cue").search(before))
    is_year = is_a_year(value) and folded[span.start : span.end] == value
    return bool((is_of_a_month and value.isdigit() and int(value) <= 31) or (is_year and has_a_cue))
