"""Numbers, with or without a unit.

The canonical form is the plain decimal ("1250", "-0.5"), followed by the stated unit only if that is a known one other
than the one asked for ("5 g" when mg was asked): it is another answer, never converted. Words that say what is counted
("people") are dropped. Where no unit is asked for, a known unit is kept ("5 mg"), and a missing one agrees with any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from srdcr_lab.answers.dependent import (
    CLOSE,
    beyond_limits,
    bounds_of,
    dependent_on,
    moved_past,
    other_outcome,
    worked_out,
)
from srdcr_lab.answers.kinds import Claim, Doubt, Kind, NoClaim, Outcome, Traits
from srdcr_lab.answers.number_words import MONTHS, respell_words
from srdcr_lab.answers.quantities import (
    DIGITS,
    Quantity,
    agrees,
    last_place,
    meanings,
    plain,
    quantities,
    respell_digits,
    shown,
)
from srdcr_lab.answers.replies import unasked, undecorated
from srdcr_lab.answers.wording import LONGEST_BARE, Span, around, fold_digits
from srdcr_lab.records import AnswerType, Item, PerturbationKind

FACTORS = (0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)  # ClashEval
_HEDGE = re.compile(
    r"[\s(\[\"']*(?:(?:it is|about|around|approximately|approx\.?|circa|ca?\.?|roughly|nearly|almost|some"
    r"|an estimated|estimated|exactly|just|only|a total of|[~≈+=])\s*)*"
    r"(?:(?:US)?[$€£¥₹]|(?:USD|EUR|GBP|JPY|INR)\b)?\s*",
    re.IGNORECASE,
)
_REST = re.compile(r"[\s-]*(?:[^\s\d]{1,24}(?:[\s-]+[^\s\d]{1,24}){0,3})?[\s.!)\]\"']*")
_SIGN_WORD = re.compile(r"(?:minus|negative)[ \u00a0]", re.IGNORECASE)
_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|(?:what|which) year)(?!\w)", re.IGNORECASE)
_LIKE_A_YEAR = re.compile(r"1\d{3}|20\d\d")

# Mentions that may be something else than this number.
_MONTH = rf"(?:{'|'.join(MONTHS)})"
_MONTH_BEFORE = re.compile(rf"{_MONTH}\.?[ \u00a0]\Z")
_BESIDE_A_NUMBER = re.compile(  # "21st of May", "in 1985", "the 2018 Masters", "± 0.5"; not "in 1985 deaths"
    rf"± ?\d[\d.,]*|(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?{_MONTH}(?:,? \d{{1,4}}(?:st|nd|rd|th)?(?!\w|[.,]\d)){{0,2}}"
    r"|(?<!\w)(?:[Ii]n|[Tt]he(?= \d+ [A-Z])) (?:1\d{3}|20\d\d)(?!\w|[.,]\d| (?!was|is|has)[a-z]+s\b)"
)
_MONTH_AFTER = re.compile(rf"(?:st|nd|rd|th)?[ \u00a0](?:of[ \u00a0])?{_MONTH}(?!\w)")
_YEAR_CUE = re.compile(
    rf"(?:(?<!\w)(?:in|since|by|of|until|from|to|after|before|year|and)|{_MONTH},?)[ \u00a0(]\Z", re.I
)
_EVENT = re.compile(r"[ \u00a0][A-Z][a-z]")
_RANGE = re.compile(r"[ \u00a0]?(?:[-–—:]|to)[ \u00a0]?\d")
_RANGE_BEFORE = re.compile(r"\d[ \u00a0]?(?:[-–—:]|to)[ \u00a0]?\Z")
_FRACTION = re.compile(r"[ \u00a0-](?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth)s?(?!\w)", re.IGNORECASE)


def _bare(text: str) -> Quantity | None:
    """The quantity that a text is: hedges before it and at most four words after it are allowed."""
    stated = quantities(text) if len(text) <= LONGEST_BARE else ()
    if len(stated) != 1:
        return None
    folded, (quantity,) = fold_digits(text), stated
    is_bare = _HEDGE.fullmatch(folded[: quantity.start]) and _REST.fullmatch(folded[quantity.end :])
    return quantity if is_bare else None


def _states(quantity: Quantity, unit: str) -> bool:
    """Whether the text says the unit beside the number; of an unknown unit, case and a plural s do not matter."""
    if wanted := meanings(unit):
        return agrees(quantity.unit, wanted)
    return any(_singular(unit) == _singular(phrase) for phrase in quantity.phrases)


def _singular(phrase: str) -> str:
    word = phrase.strip().casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _canonical(quantity: Quantity, unit: str) -> str:
    value = quantity.readings[0]
    is_as_asked = not quantity.unit or (unit and _states(quantity, unit))
    return value if is_as_asked else f"{value} {shown(quantity.unit)}"


def infer_unit(text: str) -> tuple[str, str] | None:
    """Value and unit, as the table of units or the text names it; None where the text is no number.

    >>> infer_unit("5 milligrams"), infer_unit("3,559 people"), infer_unit("12")
    (('5', 'mg'), ('3559', 'people'), ('12', ''))
    """
    quantity = _bare(undecorated(text))
    if quantity is None:
        return None
    return quantity.readings[0], shown(quantity.unit) if quantity.unit else next(iter(quantity.phrases), "")


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
        """All but dates, and measures where things are counted; of several, those stated in the unit asked for."""
        asked = [_canonical(quantity, unit) for quantity in quantities(question)]
        is_count = unit and not meanings(unit)
        said = [each for each in quantities(_BESIDE_A_NUMBER.sub("…", text)) if not (is_count and each.unit)]
        found = unasked([_canonical(quantity, unit) for quantity in said], asked)
        if not unit or len(found) < 2:
            return found
        return unasked([_canonical(quantity, unit) for quantity in said if _states(quantity, unit)], asked)

    def same(self, a: str, b: str, unit: str = "") -> bool:
        """Equality of canonical forms; where no unit is asked for, a unit on one side alone does not disagree."""
        if unit:
            return a == b
        (value_a, _, unit_a), (value_b, _, unit_b) = a.partition(" "), b.partition(" ")
        return value_a == value_b and (not unit_a or not unit_b or bool(meanings(unit_a) & meanings(unit_b)))

    def distance(self, a: str, b: str) -> float:
        """|log of the ratio| of two plain numbers of one sign; else NaN."""
        try:
            x, y = float(a), float(b)
            return abs(math.log(x / y)) if x * y > 0 else math.nan
        except ValueError:  # with a unit, or a clock time
            return math.nan

    def occurrences(self, passage: str, canonical: str, unit: str = "") -> list[Span]:
        """Where a passage states the number; `partial` where the unit asked for is not beside it."""
        value, _, own_unit = canonical.partition(" ")
        unit = own_unit or unit
        wanted = meanings(unit)
        return [
            Span(q.start, q.end, passage[q.start : q.end], bool(unit) and not _states(q, unit))
            for q in quantities(passage)
            if value in q.readings and not (wanted and q.unit and not agrees(q.unit, wanted))
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
        if DIGITS.search(fold_digits(surface)):
            return respell_digits(surface, value, new)
        sign = _SIGN_WORD.match(fold_digits(surface))
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
        """The gold number times a factor, rounded half up to the precision it is written in; not to zero or itself."""
        number, _, unit = self.gold(item).partition(" ")
        try:
            value = Decimal(number)
        except InvalidOperation:
            raise NoClaim(f"{item.gold_answer} is a time of day or a ratio, which a factor does not fit") from None
        if _ASKS_FOR_A_YEAR.search(item.question) and _LIKE_A_YEAR.fullmatch(number) and "," not in item.gold_answer:
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
            if quantity is None or value not in quantity.readings:
                yield Outcome.REFUSED, f"an alias states another number: {quoted}"
            elif _RANGE.match(folded, span.end) or _RANGE_BEFORE.search(before):
                yield Outcome.REFUSED, f"{surface} stands in a range or a score: {quoted}"
            elif _FRACTION.match(folded, span.end):
                yield Outcome.REFUSED, f"{surface} belongs to a fraction: {quoted}"
            elif _may_be_a_date(folded, span, value):
                yield Outcome.REFUSED, f"{surface} may belong to a date: {quoted}"
            elif span.partial and not is_telling and len(spans) > 1:
                yield Outcome.REFUSED, f"{surface} stands without its unit and may count something else: {quoted}"
            elif span.partial:
                yield Outcome.FLAGGED, f"{surface} stands without its unit: {quoted}"
        if not item.unit and not is_telling and len(spans) > 1:
            yield Outcome.REFUSED, f"{value} stands {len(spans)} times, and may count different things"
        yield from dependent_on(passage, value, wanted, spans)

    def doubts_of_claim(self, item: Item, claim: Claim, spans: Sequence[Span]) -> Iterator[Doubt]:
        new = Decimal(claim.canonical.partition(" ")[0])
        for stated, is_part, other in bounds_of(item.context, spans):
            if (new <= other) is is_part:
                size = "smaller" if is_part else "greater"
                yield Outcome.REFUSED, f"the passage has a number that must be {size} than {claim.answer}: {stated}"
            else:
                yield Outcome.FLAGGED, f"a part or a whole of it stays as it is: {stated}"
        if passed := next(moved_past(item.context, new, spans), ""):
            yield Outcome.FLAGGED, f"the claim is moved past another number of the passage: {passed}"
        yield from other_outcome(item, Decimal(self.gold(item).partition(" ")[0]), new)

    def contradictions(self, false: Item, spans: Sequence[Span]) -> Iterator[str]:
        claim = (self.normalise(false.claimed_answer, false.unit) or "").partition(" ")[0]
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
            if outcome is Outcome.REFUSED:
                yield f"of the gold answer {gold}: {sentence}"


KIND = Number()


def _may_be_a_date(folded: str, span: Span, value: str) -> bool:
    if not value.isdigit():
        return False
    before = folded[max(0, span.start - 14) : span.start]
    if int(value) <= 31 and (_MONTH_BEFORE.search(before) or _MONTH_AFTER.match(folded, span.end)):
        return True
    if folded[span.start : span.end] != value or len(value) != 4 or not 1000 <= int(value) <= 2199:
        return False
    is_of_an_event = _EVENT.match(folded, span.end) and before.casefold().endswith("the ")  # "the 1996 Games"
    return bool(is_of_an_event or (span.partial and _YEAR_CUE.search(before)))
