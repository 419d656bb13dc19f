"""What in a passage restates a number, gives it away, hangs on it or bounds it, and which quantities cannot be.

Whatever would contradict a passage with another number in it refuses that number; what a reader could only guess from
is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from srdcr_lab.answers.kinds import Doubt, Outcome
from srdcr_lab.answers.quantities import in_base, meanings, quantities
from srdcr_lab.answers.wording import ENGLISH, Span, fold_digits, sentence_at
from srdcr_lab.records import Item

_RATIOS = {word: number for number, words in ENGLISH["ratios"].items() for word in words.split(", ")}
_MULTIPLE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_RATIOS, key=len, reverse=True))})(?!\w)", re.IGNORECASE)
_SQUARE = r"(?:square|sq\.?) (?:\w+)|(?:km|mi|m)[²2]|hectares?|acres?"
_DEPENDENT = {  # what is worked out from a count, anywhere in a passage
    "a density": rf"densit(?:y|ies)|(?:per|an?) (?:{_SQUARE})|/ ?(?:{_SQUARE})",
    "an average": r"per (?:capita|head|household|family)|(?:average|mean) (?:household|family) size",
    "a part of it": r"\d[\d,]* (?:households|families|housing units)",
}
_DEPENDENT_OF = {what: re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) for what, words in _DEPENDENT.items()}
_TIMES = re.compile(
    r"(?<!\w)(?:twice|thrice|double|triple|\w+ times) (?:as (?:many|much|large|big|high|long|great|old)|the |its )",
    re.IGNORECASE,
)  # "twice that" moves with it
_SMALL_SUM = 20  # such a sum may be chance, unless words for parts stand beside it
_PARTS = re.compile(
    r"(?<!\w)(?:of (?:them|these|those|whom|which)|remain(?:ing|der)|others?|the rest|total|altogether|in all"
    r"|combined)(?!\w)",
    re.IGNORECASE,
)
_MOST_NUMBERS = 200  # of a passage, that are added up in pairs
_SHARE = re.compile(r"\d[\d.,]*[ \u00a0]?(?:%|per ?cent)(?!\w)", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\w.,])(?:1\d{3}|20\d\d)(?!\w|[.,]\d)")
_CAPITALS = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")
_BETWEEN = re.compile(r",? and |[,;] ")
_MANY = 1000
_LISTED = range(3, 13)  # counts that a list may show
_ORDINAL = re.compile(r"(?<![\w.,])(\d[\d,]*)(?:st|nd|rd|th)(?!\w)")
_BRACKET = re.compile(
    r"[ \u00a0]?[^\W\d_]{0,24}(?:[ \u00a0][^\W\d_]{1,24}){0,3}[ \u00a0]?[(\[][^()\[\]]{0,40}\d[^()\[\]]{0,40}[)\]]"
)
CLOSE = Decimal("0.02")  # share by which a rounding or a rounded restatement may differ
_CONVERTED = Decimal("0.05")  # the same of a conversion, both of whose numbers may be rounded
_PART_AFTER = re.compile(
    r"(?:[ \u00a0-][^\W\d_]+){0,3}[ \u00a0](?:of|from|among)[ ](?:them|these|those|whom|which)(?!\w)"
)
_PART_BEFORE = re.compile(
    r"(?:including|among(?:st)? them|of (?:them|these|those|whom|which)|but for|all but),?(?: [^\W\d_]+){0,7}[ ]\Z"
)
_TREND = re.compile(
    r"(?<!\w)(?:(?P<down>down|fell|decline[ds]?|dropped|decreas\w+)|up|rose|grew|increas\w+) from (?:about )?\Z"
)
_HALF, _WHOLE = 50, 100  # per cent
_GROWS = re.compile(  # what may be more than the whole
    r"(?<!\w)(?:than|increas\w*|r[io]sen?|rising|gr[eo]w\w*|gains?|gained|up|above|over|inflation|profits?|returns?)(?!\w)",
    re.IGNORECASE,
)
_VOTE = re.compile(r"(?<!\w)(?:vote[ds]?|voters|referendum|plebiscite|elections?|ballots?)(?!\w)", re.IGNORECASE)
_VOTES = re.compile(r"(?:votes|seats|deputies|delegates|mandates|electors)\Z", re.IGNORECASE)
_WON = re.compile(
    r"(?<!\w)(?:w[io]ns?|winner|victory|majority|passed|carried|approved|adopted|elected|landslide"
    r"|better .* than|more .* than)(?!\w)",
    re.IGNORECASE,
)
_LIMITS = [
    (units, Decimal(span[0]), Decimal(span[-1]), re.compile(rf"(?<!\w)(?:{words})", re.IGNORECASE))
    for units, rows in ENGLISH["limits"].items()
    for size, _, words in (row.strip().partition(" ") for row in rows.split(";"))
    for span in [("0", *size.split(".."))[-2:]]
]


def dependent_on(passage: str, value: str, wanted: frozenset[str], spans: Sequence[Span]) -> Iterator[Doubt]:
    """What in a passage restates the number, gives it away or hangs on it."""
    for sentence in _in_another_unit(passage, value, wanted):
        yield Outcome.REFUSED, sentence
    yield from worked_out(passage, value, wanted)
    dependent = [(what, pattern.search(passage)) for what, pattern in _DEPENDENT_OF.items()]
    dependent += [("a multiple", _TIMES.search(sentence_at(passage, span.start))) for span in spans]
    for what, match in dependent:
        if match:
            yield Outcome.FLAGGED, f"{what} may depend on the number, and stays as it is: {match[0].strip()!r}"
    ordinals = (match[0] for match in _ORDINAL.finditer(fold_digits(passage)) if match[1].replace(",", "") == value)
    if ordinal := next(ordinals, ""):
        yield Outcome.FLAGGED, f"the number stands there as an ordinal: {ordinal!r}"
    beside = [sentence_at(passage, span.start) for span in spans]
    shares = [share[0] for sentence in beside for share in _SHARE.finditer(sentence)]
    if share := next((each for each in shares if wanted != meanings("%") or not each.startswith(value)), ""):
        yield Outcome.FLAGGED, f"a share in the same sentence may give the number away: {share!r}"
    if not wanted and value.isdigit() and int(value) in _LISTED:
        following = [sentence_at(passage, passage.index(text) + len(text) + 2) for text in beside]
        if any(_lists(text, int(value)) for text in (*beside, *following)):
            yield Outcome.FLAGGED, f"a list in its sentence or the next one may be of as many: {value}"
    if wanted == meanings("year") and (year := next(filter(None, map(_YEAR.search, beside)), None)):
        yield Outcome.FLAGGED, f"a year in the same sentence may give the number away: {year[0]}"
    if bracket := next(filter(None, (_BRACKET.match(passage, span.end) for span in spans)), None):
        yield Outcome.FLAGGED, f"a second figure stands in brackets behind it: {bracket[0].strip()!r}"


def _lists(sentence: str, n: int) -> bool:
    """Whether as many names stand in a sentence, or as many parts between its commas."""
    return n in (len(set(_CAPITALS.findall(sentence))), len(_BETWEEN.split(sentence)))


def _in_another_unit(passage: str, value: str, wanted: frozenset[str]) -> Iterator[str]:
    """The same quantity in another unit ("60.9 miles" beside 98 km), within five per cent."""
    gold = next((size for unit in sorted(wanted) if (size := in_base(value, unit))), None)
    if gold is None or not gold[1]:
        return
    for quantity in quantities(passage):
        for unit in sorted(quantity.unit - wanted):
            other = in_base(quantity.readings[0], unit)
            if other and other[0] == gold[0] and abs(other[1] / gold[1] - 1) <= _CONVERTED:
                stated = passage[quantity.start : quantity.end]
                yield f"the passage states the same quantity in another unit: {stated} {unit}"


def worked_out(passage: str, value: str, wanted: frozenset[str]) -> Iterator[Doubt]:
    """How the gold number can be worked out from others that are no clock times, years or of other units.

    Sums and ratios whose numbers stand in one sentence would contradict any other number, so they refuse it; others may
    agree by chance and are flagged, as is a number close by.
    """
    try:
        gold = Decimal(value)
    except InvalidOperation:
        return
    others: dict[Decimal, str] = {}
    stands_in: dict[Decimal, str] = {}
    for quantity in quantities(passage):
        stated, reading = passage[quantity.start : quantity.end], quantity.readings[0]
        looks_a_year = _is_a_year(stated)
        is_of_other_unit = quantity.unit and not quantity.unit & wanted
        if not (looks_a_year or is_of_other_unit or ":" in reading or value in quantity.readings):
            others.setdefault(Decimal(reading), stated)
            stands_in.setdefault(Decimal(reading), sentence_at(passage, quantity.start))
    if close := next((stated for number, stated in others.items() if gold and abs(number / gold - 1) <= CLOSE), ""):
        yield Outcome.FLAGGED, f"a number close to it stands in the passage: {close}"
    for match in _MULTIPLE.finditer(passage):
        ratio = Decimal(_RATIOS[match[0].lower()])
        if of := next((other for other in (gold * ratio, gold / ratio) if other in others), None):
            is_one_sentence = sentence_at(passage, match.start()) == stands_in[of]
            outcome = Outcome.REFUSED if is_one_sentence else Outcome.FLAGGED
            yield outcome, f"a share or a multiple gives the number away: {match[0]!r} and {others[of]}"
            break
    some = dict(list(others.items())[:_MOST_NUMBERS])
    for number, stated in some.items():
        is_part = 0 < number < gold - number and gold - number in some
        other = gold - number if is_part else gold + number
        if is_part or (number > 0 and other > _SMALL_SUM and other in some):
            is_likely = gold > _SMALL_SUM or _PARTS.search(stands_in[number])
            outcome = Outcome.REFUSED if is_likely and stands_in[number] == stands_in[other] else Outcome.FLAGGED
            how = "two other numbers add up to it" if is_part else "with another number it adds up to a third"
            yield outcome, f"{how}: {stated} and {some[other]}"
            if outcome is Outcome.REFUSED:
                break


def bounds_of(passage: str, spans: Sequence[Span]) -> Iterator[tuple[str, bool, Decimal]]:
    """The numbers than which the mentioned one is said to be greater or smaller, because one is a part of the other.

    Each as it is stated, whether it is the smaller one, and its value. What is a part says so: "eight of them",
    "including 12", "of whom 40 died"; of several wholes before it the nearest counts. "Down from 12" is a bound too.
    """
    stated = [each for each in quantities(passage) if ":" not in each.readings[0]]
    mentions = {span.start for span in spans}
    folded = fold_digits(passage)
    numbers = [each for each in stated if not _is_a_year(passage[each.start : each.end])]  # "10% up from 2013"
    for whole, part in pairwise(numbers):
        if (whole.start in mentions) is (part.start in mentions):
            continue
        head = folded[max(0, part.start - 60) : part.start]
        trend = _TREND.search(head)
        if trend or _PART_AFTER.match(folded, part.end) or _PART_BEFORE.search(head):
            is_other_part = (part.start not in mentions) is not bool(trend and trend["down"])
            other = whole if part.start in mentions else part
            yield passage[other.start : other.end], is_other_part, Decimal(other.readings[0])


def moved_past(passage: str, new: Decimal, spans: Sequence[Span]) -> Iterator[str]:
    """Numbers of a passage that the claim passes, and that may count the same as the mentioned one: of one known unit,
    or of none and in its sentence or as large that it is no chance.
    """
    stated = [each for each in quantities(passage) if ":" not in each.readings[0]]
    starts = {span.start for span in spans}
    for own in (each for each in stated if each.start in starts):
        gold, sentence = Decimal(own.readings[0]), sentence_at(passage, own.start)
        for other in stated:
            number, text = Decimal(other.readings[0]), passage[other.start : other.end]
            is_passed = number != gold and min(gold, new) <= number <= max(gold, new) and not _is_a_year(text)
            is_beside = abs(number) >= _MANY or sentence_at(passage, other.start) == sentence
            if is_passed and (own.unit & other.unit or (own.unit == other.unit and is_beside)):
                yield text


def other_outcome(item: Item, gold: Decimal, new: Decimal) -> Iterator[Doubt]:
    """A claim that turns an election or a vote round: what else the passage says of it would not fit."""
    text = f"{item.question} {item.context}"
    if meanings(item.unit) == meanings("%"):
        if _VOTE.search(text) and (gold < _HALF) is not (new < _HALF):
            yield Outcome.REFUSED, f"a share of the votes on the other side of one half: {new:f}"
    elif _VOTES.search(item.unit) and new <= gold / 2 and (won := _WON.search(text)):
        yield Outcome.FLAGGED, f"at most half of the true {item.unit}, where it says {won[0]!r}"


def _is_a_year(stated: str) -> bool:
    return len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199


def beyond_limits(item: Item, gold: Decimal, value: Decimal) -> str:
    """Why no such quantity can be, by the table of limits; empty where it can, or where the table has no row for it.

    A row holds for a unit, which may be the last word of what is counted, for questions with certain words, and where
    the gold answer is within it.
    """
    meant, counted = meanings(item.unit), {item.unit, item.unit.rpartition(" ")[2].lower()}
    for units, least, most, words in _LIMITS:
        is_of = {units, *units.split()} & (meant | counted) and least <= gold <= most
        if is_of and (asked := words.search(item.question)):
            if least <= value <= most:
                return ""
            return f"beyond what is possible: {least} to {most} {item.unit} of {asked[0]!r}, and it is {value}"
    if meant == meanings("%") and gold <= _WHOLE < value and not _GROWS.search(item.context):
        return f"beyond what is possible: more than the whole, {value} %"
    return ""
