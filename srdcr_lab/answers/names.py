"""Names of persons and of cities.

Persons: case, diacritics, punctuation and hyphens do not matter; titles in front (Dr, Sir, Professor …) and degrees
and remarks in brackets behind are left out; "J.R.R." = "J. R. R." = "JRR"; "Curie, Marie" = "Marie Curie". An initial
is not the name it stands for ("M. Curie" is not "Marie Curie"): aliases say so where it should be. "Jr" and regnal
numbers stay.

Cities: "St." = "Saint", "Mt." = "Mount", "Ft." = "Fort"; "City of X" = X (but "Mexico City" is not "Mexico").
"Paris, France" agrees with "Paris", not with "Paris, Texas".
"""

from __future__ import annotations

import re

from srdcr_lab.answers.text import Span, places, spelled, tokens

_CIVIL = {"dr", "doctor", "mr", "mrs", "ms", "miss", "mx", "sir", "dame", "lord", "lady", "prof", "professor"}
_OFFICE = {"rev", "reverend", "hon", "fr", "capt", "captain", "lt", "col", "gen", "general", "sgt"}
_TITLES = frozenset(_CIVIL | _OFFICE)
_DEGREES = frozenset({"phd", "md", "esq", "obe", "mbe", "cbe", "kbe", "frs", "mp"})
_SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
_SHORT_SUFFIX = {"junior": "jr", "senior": "sr"}
_DEGREE_AFTER = re.compile(r",?\s+(?:M\.?D|Ph\.?\s?D)\.?\Z")
_INITIALS = re.compile(r"\A[A-Z]{2,3}(?=\s\S*[a-z])")  # "JRR Tolkien", not "MARIE CURIE"
_REMARK = re.compile(r"(?<=\w)[.]?\s\([^()]*\)\Z")  # "Leonardo da Vinci (1452–1519)"
_ROMAN = re.compile(r"[ivxl]+")
_CITY_WORDS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and"}
_CITY_SPELLINGS = {full: f"{full}|{short}" for short, full in _CITY_WORDS.items() if short != "&"}
_SEPARATOR = r"[\s.,'’‐‑\-·]{0,3}"
_WORD_BREAK = r"[\s.,‐‑\-·]{1,3}"


def person(text: str, unit: str = "") -> str | None:
    """Canonical form of a person's name: "j. r. r. tolkien", "marie curie"."""
    text = _DEGREE_AFTER.sub("", _REMARK.sub("", text.strip()))
    family, _, given = text.partition(",")
    first_names = tokens(given)
    if family.strip() and "," not in given and len(first_names) <= 4 and not set(first_names) & (_SUFFIXES | _DEGREES):
        text = f"{given} {family}"
    words = tokens(_INITIALS.sub(lambda run: " ".join(run[0]), text.strip()))
    while len(words) > 1 and words[0] in _TITLES:
        words = words[1:]
    while len(words) > 1 and words[-1] in _DEGREES:
        words = words[:-1]
    words = [_SHORT_SUFFIX.get(word, word) if i else word for i, word in enumerate(words)]
    dotted = [f"{word}." if len(word) == 1 and word.isalpha() and word.isascii() else word for word in words[:-1]]
    return " ".join(dotted + words[-1:]) or None


def same_person(a: str, b: str, unit: str = "") -> bool:
    return a == b


def _forms(word: str) -> str:
    """Expression for one word of a canonical name."""
    if word in ("jr", "sr"):
        return "junior|jr" if word == "jr" else "senior|sr"
    return spelled(word)


def _pattern(words: list[str]) -> str:
    """Expression for the words in this order; initials may touch each other and what follows them."""
    pieces = []
    for word in words[:-1]:
        initial = word.endswith(".")
        pieces.append(f"(?:{_forms(word.rstrip('.'))})" + (_SEPARATOR if initial else _WORD_BREAK))
    return "".join(pieces) + f"(?:{_forms(words[-1])})"


def persons_in(passage: str, answer: str, unit: str = "") -> list[Span]:
    """Mentions of a canonical name: whole ones, and `partial` ones by surname, with or without initials before it."""
    words = answer.split()
    patterns = [_pattern(words)]
    core = words[:-1] if words[-1] in _SUFFIXES else words
    surname = core[-1] if len(core) > 1 and not _ROMAN.fullmatch(words[-1]) and len(core[-1]) >= 3 else ""
    if len(words) == 2:
        patterns.append(f"{spelled(words[1])},\\s{spelled(words[0].rstrip('.'))}")
    spans = [Span(start, end, passage[start:end]) for start, end in places(passage, patterns)]
    if surname:
        earlier = "|".join(f"{re.escape(w.rstrip('.'))}|{re.escape(w[0])}\\." for w in dict.fromkeys(core[:-1]))
        initials = rf"(?<!\w)(?:(?:{earlier})[\s.]{{1,2}}){{0,4}}{spelled(surname)}"
        for start, end in places(passage, [initials]):
            if passage[end - 1].isalpha() and passage[_surname_start(passage, end)].islower():
                continue  # "king" is no mention of Martin Luther King
            spans.append(Span(start, end, passage[start:end], partial=True))
    return spans


def _surname_start(passage: str, end: int) -> int:
    start = end
    while start > 0 and not passage[start - 1].isspace() and passage[start - 1] not in ".-‐":
        start -= 1
    return min(start, end - 1)


def city(text: str, unit: str = "") -> str | None:
    """Canonical form of a city: its name, then after a comma what it lies in, where that is said."""
    parts = [
        " ".join(_CITY_WORDS.get(word, word) for word in tokens(part))
        for part in _REMARK.sub("", text.strip()).split(",")
    ]
    parts = [part for part in parts if part]
    if not parts:
        return None
    name = re.sub(r"^(?:(?:the )?(?:city|town) of (?=\w))+", "", parts[0])
    return ", ".join([name, *parts[1:]])


def same_city(a: str, b: str, unit: str = "") -> bool:
    """Equal names, and equal regions unless one of the two names none."""
    (name_a, _, region_a), (name_b, _, region_b) = a.partition(", "), b.partition(", ")
    return name_a == name_b and (not region_a or not region_b or region_a == region_b)


def cities_in(passage: str, answer: str, unit: str = "") -> list[Span]:
    """Mentions of a canonical city name, with or without its region."""
    name, _, region = answer.partition(", ")
    pattern = _WORD_BREAK.join(f"(?:{_CITY_SPELLINGS.get(word, spelled(word))})" for word in name.split())
    if region:
        pattern += "(?:,?" + _WORD_BREAK + _WORD_BREAK.join(spelled(w) for w in region.replace(",", "").split()) + ")?"
    return [Span(start, end, passage[start:end]) for start, end in places(passage, [pattern])]
