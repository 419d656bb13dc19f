"""Spellings of units, what a word can mean as one, and sizes in base units.

Answers are never converted: a value in another unit is another answer. A word may belong to two units ("pounds"), so
units are compared as sets of what a word can mean. Words that are no unit (people, goals) never disagree with anything.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_SPELLINGS = {  # a star stands for a plural s
    "mg": "milligram*, milligramme*", "mcg": "µg, ug, microgram*, microgramme*", "g": "gram*, gramme*, gm",
    "kg": "kilogram*, kilo*, kilogramme*, kgs", "t": "tonne*, ton*, metric tons, metric tonnes", "lb": "lbs, pound*",
    "oz": "ounce*", "IU": "international unit*", "mmol": "millimole*", "mEq": "milliequivalent*",
    "ml": "mL, millilitre*, milliliter*", "cl": "cL, centilitre*, centiliter*", "dl": "dL, decilitre*, deciliter*",
    "l": "L, litre*, liter*", "gal": "gallon*", "mm": "millimetre*, millimeter*", "cm": "centimetre*, centimeter*",
    "m": "metre*, meter*", "km": "kilometre*, kilometer*, kms", "ft": "foot, feet", "inch": "inches", "yd": "yard*",
    "mi": "mile*", "m²": "m2, sq m, square metre*, square meter*", "mi²": "sq mi, square mile*", "ha": "hectare*",
    "km²": "km2, sq km, square kilometre*, square kilometer*", "acre": "acres", "m³": "m3, cubic metre*, cubic meter*",
    "cm³": "cm3, cc, cubic centimetre*, cubic centimeter*", "ms": "millisecond*, msec", "s": "sec*, second*",
    "min": "mins, minute*", "h": "hr*, hour*", "day": "days", "week": "weeks, wk*", "month": "months",
    "year": "years, yr*", "mph": "miles per hour", "km/h": "kph, kmh, kilometres per hour, kilometers per hour",
    "m/s": "metres per second, meters per second", "kn": "knot*", "°": "degree*", "K": "kelvin*", "Hz": "hertz",
    "°C": "℃, degree celsius, degrees celsius, degrees centigrade, degrees c, celsius, ° C, degree*, °",
    "°F": "℉, degree fahrenheit, degrees fahrenheit, degrees f, fahrenheit, ° F, degree*, °",
    "kHz": "kilohertz", "MHz": "megahertz", "W": "watt*", "kW": "kilowatt*", "MW": "megawatt*", "V": "volt*",
    "kJ": "kilojoule*", "kcal": "kilocalorie*", "%": "percent, per cent, pct, percentage points",
    "‰": "per mille, permille", "USD": "$, US$, dollar*, us dollars", "EUR": "€, euro*",
    "GBP": "£, pound sterling, pounds sterling, pound*", "JPY": "¥, yen", "INR": "₹, rupee*",
}  # fmt: skip
_IN_BASE = {
    "mm": ("m", "0.001"), "cm": ("m", "0.01"), "m": ("m", "1"), "km": ("m", "1000"), "ft": ("m", "0.3048"),
    "inch": ("m", "0.0254"), "yd": ("m", "0.9144"), "mi": ("m", "1609.344"), "mcg": ("g", "0.000001"),
    "mg": ("g", "0.001"), "g": ("g", "1"), "kg": ("g", "1000"), "t": ("g", "1000000"), "lb": ("g", "453.592"),
    "oz": ("g", "28.3495"), "ml": ("l", "0.001"), "cl": ("l", "0.01"), "dl": ("l", "0.1"), "l": ("l", "1"),
    "m²": ("m²", "1"), "km²": ("m²", "1000000"), "mi²": ("m²", "2589988"), "ha": ("m²", "10000"),
    "acre": ("m²", "4046.86"), "s": ("s", "1"), "min": ("s", "60"), "h": ("s", "3600"), "km/h": ("km/h", "1"),
    "mph": ("km/h", "1.609344"),
}  # fmt: skip
_TIMES = frozenset({"s", "min", "h", "day", "week", "month", "year"})
_MEANINGS: dict[str, frozenset[str]] = {}
for _unit, _spellings in _SPELLINGS.items():
    for _spelling in [_unit, *_spellings.split(", ")]:
        for _word in {_spelling.rstrip("*"), _spelling.replace("*", "s")}:
            _MEANINGS[_word] = _MEANINGS.get(_word, frozenset()) | {_unit}
for _word in [word for word in _MEANINGS if len(word) > 1]:
    _MEANINGS.setdefault(_word.lower(), _MEANINGS[_word])
_PER = re.compile(r"\s*/\s*|\s+per\s+|\s+an?\s+")


@lru_cache(maxsize=4096)
def meanings(phrase: str) -> frozenset[str]:
    """What a phrase can mean as a unit, in canonical names; empty where it is none. Case counts in single letters."""
    phrase = " ".join(phrase.replace("\u00a0", " ").replace("μ", "µ").split())
    known = _MEANINGS.get(phrase) or (_MEANINGS.get(phrase.lower()) if len(phrase) > 1 else None)
    if known:
        return known
    parts = _PER.split(phrase)
    if len(parts) == 2 and all(parts):
        return frozenset(f"{upper}/{lower}" for upper in meanings(parts[0]) for lower in meanings(parts[1]))
    return frozenset()


def shown(unit: frozenset[str]) -> str:
    """How a unit is written: its canonical name, or the shortest word that means exactly these ("pound")."""
    words = unit if len(unit) == 1 else [word for word, meant in _MEANINGS.items() if meant == unit] or unit
    return min(words, key=lambda word: (len(word), word))


def agrees(stated: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether two units can be the same; a rate per time ("mg per day") is tolerated for the plain unit."""
    plain_units = {name.rpartition("/")[0] for name in stated if name.rpartition("/")[2] in _TIMES}
    return bool(wanted & (stated | plain_units))


def in_base(value: str, unit: str) -> tuple[str, Decimal] | None:
    """The size of a quantity in its base unit; None where the table has none, and for clock times."""
    try:
        base, factor = _IN_BASE[unit]
        return base, abs(Decimal(value) * Decimal(factor))
    except (KeyError, InvalidOperation):
        return None
