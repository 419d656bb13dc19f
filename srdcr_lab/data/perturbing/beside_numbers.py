"""What else gives a number away once it was exchanged: shares, multiples, other units, rounded restatements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from srdcr_lab import answers
from srdcr_lab.answers.quantities import quantities
from srdcr_lab.answers.spans import fold_digits
from srdcr_lab.answers.units import meanings
from srdcr_lab.records import Item

_RATIOS = {
    "half": "0.5", "halves": "0.5", "third": "3", "thirds": "3", "quarter": "4", "quarters": "4", "fifth": "5",
    "tenth": "10", "twice": "2", "double": "2", "doubled": "2", "thrice": "3", "triple": "3", "tripled": "3",
    "three times": "3", "four times": "4", "five times": "5", "ten times": "10",
}  # fmt: skip
_MULTIPLE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_RATIOS, key=len, reverse=True))})(?!\w)", re.IGNORECASE)
_MOST_NUMBERS = 200  # of a passage, that are added up in pairs
_SHARE = re.compile(r"\d[\d.,]*[ \u00a0]?(?:%|per ?cent)(?!\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<![\w.,])(\d[\d,]*)(?:st|nd|rd|th)(?!\w)")
_SENTENCE_END = re.compile(r"[.!?]\s")
_LONGEST_SENTENCE = 1000  # characters
_BRACKET = re.compile(r"[ \u00a0]?[^\W\d_]{0,24}[ \u00a0]?[(\[][^()\[\]]{0,40}\d[^()\[\]]{0,40}[)\]]")
_IN_BASE = {
    "mm": ("m", "0.001"), "cm": ("m", "0.01"), "m": ("m", "1"), "km": ("m", "1000"), "ft": ("m", "0.3048"),
    "inch": ("m", "0.0254"), "yd": ("m", "0.9144"), "mi": ("m", "1609.344"), "mcg": ("g", "0.000001"),
    "mg": ("g", "0.001"), "g": ("g", "1"), "kg": ("g", "1000"), "t": ("g", "1000000"), "lb": ("g", "453.592"),
    "oz": ("g", "28.3495"), "ml": ("l", "0.001"), "cl": ("l", "0.01"), "dl": ("l", "0.1"), "l": ("l", "1"),
    "m²": ("m²", "1"), "km²": ("m²", "1000000"), "mi²": ("m²", "2589988"), "ha": ("m²", "10000"),
    "acre": ("m²", "4046.86"), "s": ("s", "1"), "min": ("s", "60"), "h": ("s", "3600"), "km/h": ("km/h", "1"),
    "mph": ("km/h", "1.609344"),
}  # fmt: skip
_CLOSE = Decimal("0.02")  # share by which a conversion or a rounded restatement may differ


def _gold_number(item: Item) -> tuple[str, frozenset[str]]:
    value, _, stated = (answers.normalise(item.gold_answer, item.answer_type, item.unit) or "").partition(" ")
    return value, meanings(stated or item.unit)


def _size(value: str, unit: str) -> tuple[str, Decimal] | None:
    """A quantity in its base unit; None where the table of units has none."""
    try:
        base, factor = _IN_BASE[unit]
        return base, abs(Decimal(value) * Decimal(factor))
    except (KeyError, InvalidOperation):
        return None


def in_another_unit(item: Item) -> Iterator[str]:
    """The same quantity in another unit ("60.9 miles" beside 98 km), within two per cent."""
    value, wanted = _gold_number(item)
    gold = next((size for unit in sorted(wanted) if (size := _size(value, unit))), None)
    if gold is None or not gold[1]:
        return
    for quantity in quantities(item.context):
        for unit in sorted(quantity.unit - wanted):
            other = _size(quantity.readings[0], unit)
            if other and other[0] == gold[0] and abs(other[1] / gold[1] - 1) <= _CLOSE:
                stated = item.context[quantity.start : quantity.end]
                yield f"the passage states the same quantity in another unit: {stated} {unit}"


def beside_the_number(item: Item) -> Iterator[str]:
    """What hangs on the gold number, whatever is claimed."""
    value, wanted = _gold_number(item)
    others = _other_numbers(item.context, value, wanted)
    yield from _worked_out(item.context, value, others)
    for found in _ORDINAL.finditer(fold_digits(item.context)):
        if found[1].replace(",", "") == value:
            yield f"the number stands there as an ordinal: {found[0]!r}"
            break
    mentions = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    shares = () if wanted == meanings("%") else (_SHARE.search(_sentence(item.context, m.start)) for m in mentions)
    if share := next(filter(None, shares), None):
        yield f"a share in the same sentence may give the number away: {share[0]!r}"
    if bracket := next(filter(None, (_BRACKET.match(item.context, m.end) for m in mentions)), None):
        yield f"a second figure stands in brackets behind it: {bracket[0].strip()!r}"


def _other_numbers(passage: str, value: str, wanted: frozenset[str]) -> dict[Decimal, str]:
    """Other numbers of a passage, each as it stands there first; clock times, years and other units apart."""
    others: dict[Decimal, str] = {}
    for quantity in quantities(passage):
        stated, reading = passage[quantity.start : quantity.end], quantity.readings[0]
        looks_a_year = len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199
        other_unit = quantity.unit and not quantity.unit & wanted
        if not (looks_a_year or other_unit or ":" in reading or value in quantity.readings):
            others.setdefault(Decimal(reading), stated)
    return others


def _worked_out(passage: str, value: str, others: Mapping[Decimal, str]) -> Iterator[str]:
    """How the gold number could be worked out from others: a rounded one, a stated multiple, a sum of two."""
    try:
        gold = Decimal(value)
    except InvalidOperation:
        return
    if close := next((stated for number, stated in others.items() if gold and abs(number / gold - 1) <= _CLOSE), ""):
        yield f"a number close to it stands in the passage: {close}"
    for found in _MULTIPLE.finditer(passage):
        ratio = Decimal(_RATIOS[found[0].lower()])
        if of := others.get(gold * ratio) or others.get(gold / ratio):
            yield f"a share or a multiple gives the number away: {found[0]!r} and {of}"
            break
    some = dict(list(others.items())[:_MOST_NUMBERS])
    for number, stated in some.items():
        rest = some.get(gold - number)
        if rest and 0 < number < gold - number:
            yield f"two other numbers add up to it: {stated} and {rest}"
            break


def _sentence(passage: str, place: int) -> str:
    """The sentence around a place, at most a thousand characters to either side."""
    first = max(0, place - _LONGEST_SENTENCE)
    starts = [found.end() for found in _SENTENCE_END.finditer(passage, first, place)]
    end = _SENTENCE_END.search(passage, place, place + _LONGEST_SENTENCE)
    return passage[starts[-1] if starts else first : end.start() if end else place + _LONGEST_SENTENCE]
