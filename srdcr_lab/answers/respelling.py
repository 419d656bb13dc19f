"""Writes another answer the way a passage writes this one: digits, separators, script, words, era, case, short names.

`respell` is for a mention that `find` gave; it returns None where the new answer cannot be written that way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from srdcr_lab.answers.names import person
from srdcr_lab.answers.number_words import respell_words
from srdcr_lab.answers.quantities import plain, quantities
from srdcr_lab.answers.text import fold_digits, tokens
from srdcr_lab.records import AnswerType

_YEAR_DIGITS = re.compile(r"\d[\d,]*")
_BC = re.compile(r"(?i:b\.?[ \u00a0]?c)")
_CORE = re.compile(r"(?:\d[\d.,' \u00a0]*)?(?:[½¼¾⅛⅜⅝⅞]|\d)|\d|\.\d+")
_SIGN_WORD = re.compile(r"(?:minus|negative)[ \u00a0]", re.IGNORECASE)
_PARTICLES = frozenset("de del della der den di da dos du la le van von vom zu zur ten ter al el bin ibn af av".split())
_SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})


def respell(surface: str, answer: str, new_answer: str, answer_type: AnswerType) -> str | None:
    """The new answer as `surface` writes `answer`; both answers in canonical form, names and cities as one writes them.

    Examples
    --------
    >>> respell("1,250", "1250", "1500", AnswerType.NUMBER), respell("Twelve", "12", "18", AnswerType.NUMBER)
    ('1,500', 'Eighteen')
    >>> respell("AD 1066", "1066", "1086", AnswerType.YEAR)
    'AD 1086'
    """
    match answer_type:
        case AnswerType.YEAR:
            return _year(surface, int(answer), int(new_answer))
        case AnswerType.NUMBER:
            return _number(surface, answer.partition(" ")[0], new_answer.partition(" ")[0])
        case AnswerType.NAME:
            return _cased(surface, _person(surface, answer, new_answer))
        case _:
            return _cased(surface, new_answer)


def _in_script_of(surface: str, digits: str) -> str:
    """ASCII digits in the script of the first digit of `surface`."""
    first = next(char for char in surface if char.isdecimal())
    zero = ord(first) - unicodedata.decimal(first)
    return "".join(chr(zero + int(char)) if char.isdigit() else char for char in digits)


def _year(surface: str, value: int, new: int) -> str | None:
    folded = fold_digits(surface)
    found = _YEAR_DIGITS.search(folded)
    signed = value < 0 and folded.startswith("-")
    if new == 0 or (value < 0) != (new < 0):
        return None
    if found is None:
        return respell_words(surface, abs(value), abs(new))
    if value < 0 and not signed and not _BC.search(folded):
        return None
    digits = f"{abs(new):,}" if "," in found[0] else str(abs(new))
    return surface[: found.start()] + _in_script_of(surface, digits) + surface[found.end() :]


def _number(surface: str, answer: str, new_answer: str) -> str | None:
    try:
        value, new = abs(Decimal(answer)), abs(Decimal(new_answer))
    except InvalidOperation:
        return None  # a clock time
    folded = fold_digits(surface)
    core = _CORE.search(folded)
    if core is None:
        sign = _SIGN_WORD.match(folded)
        start = sign.end() if sign else 0
        if value != int(value) or new != int(new):
            return None
        words = respell_words(surface[start:], int(value), int(new))
        return None if words is None else surface[:start] + words
    reading = _reading(folded, core, value)
    if not reading:
        return None
    digits = _digits_like(surface[core.start() : core.end()], core[0], reading, new * reading / value)
    return None if digits is None else surface[: core.start()] + digits + surface[core.end() :]


def last_place(text: str, value: Decimal) -> Decimal:
    """The last place a number is written to: 0.01 for "9.58", 1 for "1,250" and "twelve", 100,000 for "5 million"."""
    found = quantities(text)[0]
    folded = fold_digits(text)[found.start : found.end]
    core, size = _CORE.search(folded), abs(value)
    reading = _reading(folded, core, size) if core and value else None
    if core is None or not reading:
        return Decimal(1)
    layout = next(((g, p) for g, p, read in _layouts(core[0]) if read == reading), None)
    written = len(core[0].partition(layout[1])[2]) if layout else max(0, -int(reading.normalize().as_tuple().exponent))
    scale = size / reading
    return scale.scaleb(-max(written, 1) if scale > 1 else -written)


def _reading(folded: str, core: re.Match[str], value: Decimal) -> Decimal | None:
    """What the digits of a number mean by themselves: 1.2 in "1.2 million", 1250 or 1.25 in "1.250"."""
    alone = not folded[core.end() :].strip()
    readings = (Decimal(text) for q in quantities(core[0]) for text in q.readings)
    fitting = (r for r in readings if r and (r == value if alone else _is_magnitude(value / r)))
    return next(fitting, None)


def _is_magnitude(ratio: Decimal) -> bool:
    """1, a power of ten, or a dozen."""
    return ratio == 12 or ratio.normalize().as_tuple().digits == (1,)


def _layouts(folded: str) -> Iterator[tuple[str, str, Decimal]]:
    """Ways to read digits as (group separator, decimal separator, value)."""
    for group in ("", ",", ".", " ", "\u00a0", "'"):
        for point in (".", ","):
            whole, _, rest = folded.partition(point)
            grouped = rf"\d{{1,3}}(?:{re.escape(group)}\d{{2,3}})*{re.escape(group)}\d{{3}}" if group else r"\d*"
            if group != point and re.fullmatch(grouped, whole) and re.fullmatch(r"\d*", rest) and whole + rest:
                yield group, point, Decimal(f"{whole.replace(group, '') if group else whole or 0}.{rest or 0}")


def _digits_like(surface: str, folded: str, value: Decimal, new: Decimal) -> str | None:
    """The new value with the separators and at least the decimals of a surface that is digits alone."""
    layout = next(((g, p) for g, p, read in _layouts(folded) if read == value), None)
    group, point = layout or ("", ".")
    rest = folded.partition(point)[2] if layout else ""
    exact = plain(new)
    if "E" in exact:
        return None
    whole, _, decimals = exact.partition(".")
    decimals = decimals.ljust(len(rest), "0")
    point_char = _char_at(surface, folded, point, last=True) if rest else point
    if not group and len(folded.partition(point)[0]) <= 3 and point == "." and folded.isascii() and surface.isascii():
        group = ","  # "850" says nothing of how its writer groups: as in English
    if group and len(whole) > 3:
        indian = re.search(rf"{re.escape(group)}\d\d{re.escape(group)}", folded) is not None
        whole = _grouped(whole, _char_at(surface, folded, group), indian)
    text = whole + (point_char + decimals if decimals else "")
    if folded.startswith(".") and text.startswith("0."):
        text = text[1:]
    return _in_script_of(surface, text) if any(c.isdecimal() for c in surface) else text


def _char_at(surface: str, folded: str, separator: str, last: bool = False) -> str:
    """The separator as the surface has it (a thin space, an Arabic comma)."""
    place = folded.rfind(separator) if last else folded.find(separator)
    return surface[place] if place >= 0 else separator


def _grouped(whole: str, separator: str, indian: bool) -> str:
    if not indian:
        return f"{int(whole):,}".replace(",", separator)
    head, tail = whole[:-3], whole[-3:]
    pairs = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)]
    return separator.join([*reversed(pairs), tail])


def surname(name: str) -> str:
    """Family name of a name as one writes it, particles included: "de Mestral", "Márquez", "King" for "King Jr"."""
    words = name.split()
    while len(words) > 1 and words[-1].strip(".,").casefold() in _SUFFIXES:
        words = words[:-1]
    start = len(words) - 1
    while start > 1 and words[start - 1].casefold() in _PARTICLES:
        start -= 1
    return " ".join(words[start:]).strip(",")


def _person(surface: str, answer: str, new: str) -> str:
    """Whole name for a whole name, surname for a surname, "M. Surname" for initials, "Surname, Given" likewise."""
    said, whole = tokens(surface), tokens(answer)
    family = surname(new)
    given = new[: len(new) - len(family)].strip() if new.endswith(family) else ""
    if "," in surface and said != whole and given and person(surface) == person(answer):
        return f"{family}, {given}"
    if said == whole or len(said) >= len(whole) or said != whole[-len(said) :]:
        initials = [word for word in said[:-1] if len(word) == 1]
        if len(said) > 1 and len(initials) == len(said) - 1 and said[-1:] == whole[-1:] and said != whole and given:
            return " ".join([*(f"{word[0]}." for word in given.split()[: len(initials)]), family])
        return new
    return family


def _cased(surface: str, text: str) -> str:
    letters = [char for char in surface if char.isalpha()]
    return text.upper() if len(letters) > 1 and all(char.isupper() for char in letters) else text
