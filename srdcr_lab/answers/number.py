"""Numbers: what in a passage restates, reveals or bounds a number or depends on it, and which quantities are
impossible.

Anything that would contradict a passage with another number refuses that number; what would only allow a reader to
guess is flagged.

Numbers, with or without a unit.

The canonical form is the plain decimal ("1250", "-0.5"), followed by the stated unit only if it is a known one other
than the one asked for ("5 g" if mg was asked for); it is then another answer, never converted. Words for what is
counted ("people") are dropped. If no unit is asked for, a known unit is kept ("5 mg"), and a missing one agrees with
any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from srdcr_lab.answers.kinds import Audit, Doubt, FalseClaim, Kind, NoClaim, Traits, doubt, flagged, normalise
from srdcr_lab.answers.quantities import (
    Quantity,
    agrees,
    in_base,
    last_place,
    meanings,
    plain,
    quantities,
    respell_digits,
    respell_words,
    unit_text,
)
from srdcr_lab.answers.wording import (
    ENGLISH,
    LONGEST_BARE,
    Span,
    around,
    fold_digits,
    pattern,
    sentence_at,
    unasked,
    undecorated,
)
from srdcr_lab.records import AnswerType, Item, PerturbationKind

_RATIOS = {word: number for number, words in ENGLISH["ratios"].items() for word in words.split(", ")}
_MULTIPLE = re.compile(rf"(?i)(?<!\w)(?:{'|'.join(sorted(_RATIOS, key=len, reverse=True))})(?!\w)")
_SMALL_SUM = 20  # such a sum may be chance, unless words for parts are beside it
_MOST_NUMBERS = 200  # of a passage, that are added up in pairs
_MANY = 1000
_LISTED = range(3, 13)  # counts that a list may show
CLOSE = Decimal("0.02")  # share by which a rounding or a rounded restatement may differ
_CONVERTED = Decimal("0.05")  # the same of a conversion, both of whose numbers may be rounded
_HALF, _WHOLE = 50, 100  # per cent
_LIMITS = [
    (units, Decimal(span[0]), Decimal(span[-1]), re.compile(rf"(?<!\w)(?:{words})", re.IGNORECASE))
    for units, rows in ENGLISH["limits"].items()
    for size, _, words in (row.strip().partition(" ") for row in rows.split(";"))
    for span in [("0", *size.split(".."))[-2:]]
]


def dependent_on(passage: str, value: str, wanted: frozenset[str], spans: Sequence[Span]) -> Iterator[Doubt]:
    """What in a passage restates the number, gives it away or depends on it."""
    for sentence in _in_another_unit(passage, value, wanted):
        yield Audit.REFUSED, sentence
    yield from worked_out(passage, value, wanted)
    yield from flagged("number", passage, spans)
    ordinals = re.finditer(r"(?<![\w.,])(\d[\d,]*)(?:st|nd|rd|th)(?!\w)", fold_digits(passage))
    if ordinal := next((match[0] for match in ordinals if match[1].replace(",", "") == value), ""):
        yield Audit.FLAGGED, f"the passage also has the number as an ordinal: {ordinal!r}"
    beside = [sentence_at(passage, span.start) for span in spans]
    shares = [share[0] for sentence in beside for share in pattern("share").finditer(sentence)]
    if share := next((each for each in shares if wanted != meanings("%") or not each.startswith(value)), ""):
        yield Audit.FLAGGED, f"a share in the same sentence may give the number away: {share!r}"
    if not wanted and value.isdigit() and int(value) in _LISTED:
        following = [sentence_at(passage, passage.index(text) + len(text) + 2) for text in beside]
        if any(_lists(text, int(value)) for text in (*beside, *following)):
            yield Audit.FLAGGED, f"a list in its sentence or the next one may be of as many: {value}"
    if wanted == meanings("year"):
        yield from flagged("years", passage, spans)


def _lists(sentence: str, n: int) -> bool:
    """Whether a sentence has as many names, or as many parts between commas."""
    return n in (len(set(pattern("capitals").findall(sentence))), len(re.split(r",? and |[,;] ", sentence)))


def _in_another_unit(passage: str, value: str, wanted: frozenset[str]) -> Iterator[str]:
    """The same quantity in another unit ("60.9 miles" beside 98 km), within five per cent."""
    gold = next((size for unit in sorted(wanted) if (size := in_base(value, unit))), None)
    if gold is None or not gold[1]:
        return
    for quantity in quantities(passage):
        for unit in sorted(quantity.unit - wanted):
            other = in_base(quantity.value, unit)
            if other and other[0] == gold[0] and abs(other[1] / gold[1] - 1) <= _CONVERTED:
                stated = passage[quantity.start : quantity.end]
                yield f"the passage states the same quantity in another unit: {stated} {unit}"


class Figure(NamedTuple):
    """A number of a passage with its unit, its words and its sentence."""

    start: int
    end: int
    value: Decimal
    unit: frozenset[str]
    text: str
    sentence: str

    @property
    def is_a_year(self) -> bool:
        return _is_a_year(self.text)


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def figures(passage: str) -> tuple[Figure, ...]:
    """Every number of a passage except clock times and ratios, left to right."""
    return tuple(
        Figure(q.start, q.end, Decimal(q.value), q.unit, passage[q.start : q.end], sentence_at(passage, q.start))
        for q in quantities(passage)
        if ":" not in q.value
    )


def worked_out(passage: str, value: str, wanted: frozenset[str]) -> Iterator[Doubt]:
    """How the gold number can be calculated from others that are not clock times, years or of other units.

    Sums and ratios whose numbers are in one sentence would contradict any other number, so they refuse it; others may
    agree by chance and are flagged, as is a number close by.
    """
    if ":" in value:
        return
    gold, others = Decimal(value), dict[Decimal, Figure]()
    for each in figures(passage):
        if not each.is_a_year and each.value != gold and (not each.unit or each.unit & wanted):
            others.setdefault(each.value, each)
    if close := next((each for number, each in others.items() if gold and abs(number / gold - 1) <= CLOSE), None):
        yield Audit.FLAGGED, f"the passage contains a number close to it: {close.text}"
    for match in _MULTIPLE.finditer(passage):
        ratio = Decimal(_RATIOS[match[0].lower()])
        if of := next((others[other] for other in (gold * ratio, gold / ratio) if other in others), None):
            is_one_sentence = sentence_at(passage, match.start()) == of.sentence
            yield doubt(is_one_sentence, f"a share or a multiple gives the number away: {match[0]!r} and {of.text}")
            break
    some = dict(list(others.items())[:_MOST_NUMBERS])
    for number, each in some.items():
        is_part = 0 < number < gold - number and gold - number in some
        other = some.get(gold - number if is_part else gold + number)
        if is_part or (number > 0 and other and other.value > _SMALL_SUM):
            is_likely = gold > _SMALL_SUM or pattern("words_for_parts").search(each.sentence)
            is_refused = bool(other and is_likely and each.sentence == other.sentence)
            how = "two other numbers add up to it" if is_part else "with another number it adds up to a third"
            yield doubt(is_refused, f"{how}: {each.text} and {other and other.text}")
            if is_refused:
                break


def bounds_of(passage: str, spans: Sequence[Span]) -> Iterator[tuple[str, bool, Decimal]]:
    """The numbers that the mentioned one is said to be greater or smaller than, because one is a part of the other.

    For each: as stated, whether the mentioned number is the smaller one, and its value. Parts are marked by words:
    "eight of them", "including 12", "of whom 40 died"; of several wholes before a part, the nearest counts. "Down from
    12" is a bound too.
    """
    mentions, folded = {span.start for span in spans}, fold_digits(passage)
    for whole, part in pairwise(each for each in figures(passage) if not each.is_a_year):  # "10% up from 2013"
        head = folded[max(0, part.start - 60) : part.start]
        trend = pattern("trend_from").search(head)
        is_part = trend or pattern("part_after").match(folded, part.end) or pattern("part_before").search(head)
        if is_part and (whole.start in mentions) is not (part.start in mentions):
            other = whole if part.start in mentions else part
            yield other.text, (other is part) is not bool(trend and trend["down"]), other.value


def moved_past(passage: str, new: Decimal, spans: Sequence[Span]) -> Iterator[str]:
    """Numbers of a passage that the claim passes and that may count the same thing as the mentioned one.

    They have the same known unit; or none, and are in its sentence or too large for a coincidence.
    """
    starts = {span.start for span in spans}
    for own in (each for each in figures(passage) if each.start in starts):
        low, high = sorted((own.value, new))
        for other in figures(passage):
            is_beside = abs(other.value) >= _MANY or other.sentence == own.sentence
            may_be_alike = own.unit & other.unit or (own.unit == other.unit and is_beside)
            if may_be_alike and low <= other.value <= high and other.value != own.value and not other.is_a_year:
                yield other.text


def other_outcome(item: Item, gold: Decimal, new: Decimal) -> Iterator[Doubt]:
    """A claim that reverses an election or a vote: the rest of the passage would no longer fit."""
    text = f"{item.question} {item.context}"
    if meanings(item.unit) == meanings("%"):
        if pattern("vote").search(text) and (gold < _HALF) is not (new < _HALF):
            yield Audit.REFUSED, f"a share of the votes on the other side of one half: {new:f}"
    elif pattern("votes").search(item.unit) and new <= gold / 2 and (won := pattern("victory").search(text)):
        yield Audit.FLAGGED, f"at most half of the true {item.unit}, where it says {won[0]!r}"


def _is_a_year(stated: str) -> bool:
    return len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199


def beyond_limits(item: Item, gold: Decimal, value: Decimal) -> str:
    """Why a quantity is impossible, by the table of limits; empty if it is possible or not in the table.

    A row holds for a unit, which may be the last word of what is counted, for questions with certain words, and only if
    the gold answer satisfies it.
    """
    meant, counted = meanings(item.unit), {item.unit, item.unit.rpartition(" ")[2].lower()}
    for units, least, most, words in _LIMITS:
        is_of = {units, *units.split()} & (meant | counted) and least <= gold <= most
        if is_of and (asked := words.search(item.question)):
            if least <= value <= most:
                return ""
            return f"beyond what is possible: {least} to {most} {item.unit} of {asked[0]!r}, and it is {value}"
    if meant == meanings("%") and gold <= _WHOLE < value and not pattern("growth").search(item.context):
        return f"beyond what is possible: more than the whole, {value} %"
    return ""


FACTORS = (0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)  # ClashEval


def _bare(text: str) -> Quantity | None:
    """The quantity of a text; hedges before it and at most four words after it are allowed."""
    stated = quantities(text) if len(text) <= LONGEST_BARE else ()
    if len(stated) != 1:
        return None
    folded, (quantity,) = fold_digits(text), stated
    is_hedge = pattern("number_hedge").fullmatch(folded[: quantity.start])
    return quantity if is_hedge and pattern("behind_a_number").fullmatch(folded[quantity.end :]) else None


def _states(quantity: Quantity, unit: str) -> bool:
    """Whether the unit is stated beside the number; for an unknown unit, case and a plural s do not matter."""
    if wanted := meanings(unit):
        return agrees(quantity.unit, wanted)
    return any(_singular(unit) == _singular(phrase) for phrase in quantity.phrases)


def _singular(phrase: str) -> str:
    word = phrase.strip().casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _canonical(quantity: Quantity, unit: str) -> str:
    value = quantity.value
    is_as_asked = not quantity.unit or (unit and _states(quantity, unit))
    return value if is_as_asked else f"{value} {unit_text(quantity.unit)}"


def infer_unit(text: str) -> tuple[str, str] | None:
    """Value and unit, by the table of units or as written; None if the text is not a number.

    >>> infer_unit("5 milligrams"), infer_unit("3,559 people"), infer_unit("12")
    (('5', 'mg'), ('3559', 'people'), ('12', ''))
    """
    quantity = _bare(undecorated(text))
    if quantity is None:
        return None
    return quantity.value, unit_text(quantity.unit) if quantity.unit else next(iter(quantity.phrases), "")


class Number(Kind):
    """A number, in the unit that is asked for; perturbed by factors."""

    answer_type = AnswerType.NUMBER
    is_value = True
    has_unit = True
    perturbation = PerturbationKind.FACTOR
    amounts = FACTORS

    def canonical(self, text: str, unit: str = "") -> str | None:
        quantity = _bare(text)
        return None if quantity is None else _canonical(quantity, unit)

    def candidates(self, text: str, question: str, unit: str = "") -> list[str]:
        """All but dates, and measures if things are counted; of several, those stated in the unit asked for."""
        asked = [_canonical(quantity, unit) for quantity in quantities(question)]
        is_count = unit and not meanings(unit)
        said = [each for each in quantities(pattern("beside_a_number").sub("…", text)) if not (is_count and each.unit)]
        found = unasked([_canonical(quantity, unit) for quantity in said], asked)
        if not unit or len(found) < 2:
            return found
        return unasked([_canonical(quantity, unit) for quantity in said if _states(quantity, unit)], asked)

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equality of canonical forms; if no unit is asked for, a unit on one side only does not matter."""
        if unit:
            return a == b
        (value_a, _, unit_a), (value_b, _, unit_b) = a.partition(" "), b.partition(" ")
        return value_a == value_b and (not unit_a or not unit_b or bool(meanings(unit_a) & meanings(unit_b)))

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
        wanted = meanings(unit)
        return [
            Span(q.start, q.end, passage[q.start : q.end], bool(unit) and not _states(q, unit))
            for q in quantities(passage)
            if value == q.value and not (wanted and q.unit and not agrees(q.unit, wanted))
        ]

    def guesses(self, answers: Sequence[str]) -> bool:
        inferred = [infer_unit(answer) for answer in answers]
        return None not in inferred and len({each[1] for each in inferred if each and each[1]}) <= 1

    def respell(self, surface: str, answer: str, new_answer: str) -> str | None:
        """Digits, separators, decimals, script, magnitude and words as in `surface`; None for a clock time."""
        try:
            value, new = (abs(Decimal(each.partition(" ")[0])) for each in (answer, new_answer))
        except InvalidOperation:
            return None
        if written := respell_digits(surface, value, new):
            return written
        sign = pattern("sign_word").match(fold_digits(surface))
        start = sign.end() if sign else 0
        if value != int(value) or new != int(new):
            return None
        words = respell_words(surface[start:], int(value), int(new))
        return None if words is None else surface[:start] + words

    def impossible(self, item: Item, new: str, own: Traits) -> str:
        gold, value = self.gold(item).partition(" ")[0], new.partition(" ")[0]
        if ":" in gold + value:
            return ""
        return own.forbids(Decimal(value)) or beyond_limits(item, Decimal(gold), Decimal(value))

    def altered(self, item: Item, amount: float, present: int) -> tuple[str, list[str]]:
        """The gold number times a factor, rounded half up to the precision it is written in; never to zero or
        itself.
        """
        number, _, unit = self.gold(item).partition(" ")
        try:
            value = Decimal(number)
        except InvalidOperation:
            raise NoClaim(f"{item.gold_answer} is a time of day or a ratio, which a factor does not fit") from None
        is_a_year = _is_a_year(number) and "," not in item.gold_answer
        if is_a_year and pattern("asks_for_a_year").search(item.question):
            raise NoClaim(f"the question asks for a year, and {item.gold_answer} is one: say so in answer_type")
        exact, place = value * Decimal(repr(amount)), last_place(item.gold_answer, value)
        new = (exact / place).quantize(Decimal(1), ROUND_HALF_UP) * place
        if not new:
            raise NoClaim("rounds to 0" if value else "0 times a factor is 0")
        if new == value:
            raise NoClaim(f"rounds to the gold answer {item.gold_answer}")
        if abs(new / exact - 1) > CLOSE:
            raise NoClaim(f"rounding to the precision of {item.gold_answer} makes the factor {new / value:.3g}")
        symbol = (unit or item.unit).partition(" ")[0]
        has_no_plural = len(symbol) <= 4 and meanings(symbol) and f" {symbol}" in item.context  # "mg"
        if 1 in (value, new) and not has_no_plural:
            raise NoClaim("one is singular: verbs and nouns would disagree")
        return f"{plain(new)} {unit}".strip(), []

    def doubts(self, item: Item, spans: Sequence[Span]) -> Iterator[Doubt]:
        value, _, own_unit = self.gold(item).partition(" ")
        passage, folded = item.context, fold_digits(item.context)
        stated = {quantity.start: quantity for quantity in quantities(passage)}
        said = next((stated[span.start].unit for span in spans if span.start in stated), frozenset())
        wanted = meanings(own_unit or item.unit) or said
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
            elif span.partial and not is_telling and len(spans) > 1:
                yield Audit.REFUSED, f"{surface} occurs without its unit and may count something else: {quoted}"
            elif span.partial:
                yield Audit.FLAGGED, f"{surface} occurs without its unit: {quoted}"
        if not item.unit and not is_telling and len(spans) > 1:
            yield Audit.REFUSED, f"{value} occurs {len(spans)} times, and may count different things"
        yield from dependent_on(passage, value, wanted, spans)

    def doubts_of_claim(self, item: Item, claim: FalseClaim, spans: Sequence[Span]) -> Iterator[Doubt]:
        new = Decimal(claim.canonical.partition(" ")[0])
        for stated, is_part, other in bounds_of(item.context, spans):
            if (new <= other) is is_part:
                size = "smaller" if is_part else "greater"
                yield Audit.REFUSED, f"the passage has a number that must be {size} than {claim.answer}: {stated}"
            else:
                yield Audit.FLAGGED, f"a part or a whole of it stays as it is: {stated}"
        if passed := next(moved_past(item.context, new, spans), ""):
            yield Audit.FLAGGED, f"the claim is moved past another number of the passage: {passed}"
        yield from other_outcome(item, Decimal(self.gold(item).partition(" ")[0]), new)

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        claim = (normalise(false.claimed_answer, self.answer_type, false.unit) or "").partition(" ")[0]
        gold, wanted = self.gold(false).partition(" ")[0], meanings(false.unit)
        if not claim or ":" in claim + gold:  # a time of day, which nothing here compares
            return
        for stated, is_part, other in bounds_of(false.context, spans):
            if (Decimal(claim) <= other) is is_part:
                yield f"{stated} should be {'smaller' if is_part else 'greater'} than {false.claimed_answer}"
        without = false.context
        for span in reversed(spans):
            without = f"{without[: span.start]}…{without[span.end :]}"
        for outcome, sentence in worked_out(without, gold, wanted):
            if outcome is Audit.REFUSED:
                yield f"of the gold answer {gold}: {sentence}"


def _may_be_a_date(folded: str, span: Span, value: str) -> bool:
    if not value.isdigit():
        return False
    before = folded[max(0, span.start - 14) : span.start]
    if int(value) <= 31 and (pattern("month_before").search(before) or pattern("month_after").match(folded, span.end)):
        return True
    if folded[span.start : span.end] != value or len(value) != 4 or not 1000 <= int(value) <= 2199:
        return False
    is_of_an_event = before.casefold().endswith("the ") and pattern("event_after").match(folded, span.end)
    return bool(is_of_an_event or (span.partial and pattern("year_cue").search(before)))
