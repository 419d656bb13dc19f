"""Spellings of units. No conversion: a value in another unit is another answer ("1 g" is not "1000 mg"; give an alias).

A word may belong to two units ("pounds", "degrees"): units are compared as sets of what the word can mean. Words that
are not in the table (people, goals, tablets) describe what is counted and never disagree with anything.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SPELLINGS = {
    "mg": "milligram, milligrams, milligramme, milligrammes",
    "mcg": "µg, ug, microgram, micrograms, microgramme, microgrammes",
    "g": "gram, grams, gramme, grammes, gm",
    "kg": "kilogram, kilograms, kilo, kilos, kilogramme, kilogrammes, kgs",
    "t": "tonne, tonnes, ton, tons, metric tons, metric tonnes",
    "lb": "lbs, pound, pounds",
    "oz": "ounce, ounces",
    "IU": "international unit, international units",
    "mmol": "millimole, millimoles",
    "mEq": "milliequivalent, milliequivalents",
    "ml": "mL, millilitre, millilitres, milliliter, milliliters",
    "cl": "cL, centilitre, centilitres, centiliter, centiliters",
    "dl": "dL, decilitre, decilitres, deciliter, deciliters",
    "l": "L, litre, litres, liter, liters",
    "gal": "gallon, gallons",
    "mm": "millimetre, millimetres, millimeter, millimeters",
    "cm": "centimetre, centimetres, centimeter, centimeters",
    "m": "metre, metres, meter, meters",
    "km": "kilometre, kilometres, kilometer, kilometers, kms",
    "ft": "foot, feet",
    "inch": "inches",
    "yd": "yard, yards",
    "mi": "mile, miles",
    "m²": "m2, sq m, square metre, square metres, square meter, square meters",
    "km²": "km2, sq km, square kilometre, square kilometres, square kilometer, square kilometers",
    "mi²": "sq mi, square mile, square miles",
    "ha": "hectare, hectares",
    "acre": "acres",
    "cm³": "cm3, cc, cubic centimetre, cubic centimetres, cubic centimeter, cubic centimeters",
    "m³": "m3, cubic metre, cubic metres, cubic meter, cubic meters",
    "ms": "millisecond, milliseconds, msec",
    "s": "sec, secs, second, seconds",
    "min": "mins, minute, minutes",
    "h": "hr, hrs, hour, hours",
    "day": "days",
    "week": "weeks, wk, wks",
    "month": "months",
    "year": "years, yr, yrs",
    "mph": "miles per hour",
    "km/h": "kph, kmh, kilometres per hour, kilometers per hour",
    "m/s": "metres per second, meters per second",
    "kn": "knot, knots",
    "°C": "℃, degree celsius, degrees celsius, degrees centigrade, degrees c, celsius, ° C, degree, degrees, °",
    "°F": "℉, degree fahrenheit, degrees fahrenheit, degrees f, fahrenheit, ° F, degree, degrees, °",
    "°": "degree, degrees",
    "K": "kelvin, kelvins",
    "Hz": "hertz",
    "kHz": "kilohertz",
    "MHz": "megahertz",
    "W": "watt, watts",
    "kW": "kilowatt, kilowatts",
    "MW": "megawatt, megawatts",
    "V": "volt, volts",
    "kJ": "kilojoule, kilojoules",
    "kcal": "kilocalorie, kilocalories",
    "%": "percent, per cent, pct, percentage points",
    "‰": "per mille, permille",
    "USD": "$, US$, dollar, dollars, us dollars",
    "EUR": "€, euro, euros",
    "GBP": "£, pound sterling, pounds sterling, pound, pounds",
    "JPY": "¥, yen",
    "INR": "₹, rupee, rupees",
}

_TIMES = frozenset({"s", "min", "h", "day", "week", "month", "year"})
_MEANINGS: dict[str, frozenset[str]] = {}
for _unit, _spellings in _SPELLINGS.items():
    for _spelling in (_unit, *_spellings.split(", ")):
        _MEANINGS[_spelling] = _MEANINGS.get(_spelling, frozenset()) | {_unit}
for _spelling in [key for key in _MEANINGS if len(key) > 1]:
    _MEANINGS.setdefault(_spelling.lower(), _MEANINGS[_spelling])

_PER = re.compile(r"\s*/\s*|\s+per\s+|\s+an?\s+")


@lru_cache(maxsize=4096)
def meanings(phrase: str) -> frozenset[str]:
    """What a phrase can mean as a unit, in canonical names; empty where it is none. Single letters mind their case."""
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


def counted(phrase: str) -> str:
    """A word that is no known unit, as it is compared: no case, no plural s."""
    word = phrase.strip().casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def agrees(stated: frozenset[str], wanted: frozenset[str]) -> bool:
    """True where the units can be the same; a rate per time ("mg per day") is tolerated for the plain unit."""
    plain = {name.rpartition("/")[0] for name in stated if name.rpartition("/")[2] in _TIMES}
    return bool(wanted & (stated | plain))
