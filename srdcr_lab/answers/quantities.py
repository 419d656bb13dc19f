"""English number words, read and written: "twelve hundred and fifty", "a dozen", "nineteen seventy-four" (two numbers).

What is written follows the style of another number: beside "eighteen hundred and six" it is "eighteen hundred and ten".

Numbers in a text with their units, read; numbers in digits, written as another is.

How ambiguous digits are read:

- "1,250": a comma before exactly three digits groups; so do thin or plain spaces, apostrophes, and "1,25,000".
- "1.250": the point is decimal (1.25). A grouped reading (1250) is kept as the second one, which `find` accepts too.
- "1.250,50" and "1.250.000": European, 1250.5 and 1250000. "12,5": decimal comma. "1,2,3" and "3.2.1": no numbers.
- "2:01:39": a clock time or ratio, compared as it is written. "1/2", "24/7": refused. "2½", "2 1/2": 2.5.
- "6 feet 2 inches", "6 ft 2 in": 74 inches.
- "154 174 601": one number; a column of three-digit numbers with single spaces between them cannot be told from it.
- "1920s", "3rd", "B52", "COVID-19": no numbers. "10 to 20" and "10–20": two.

Values are never converted between units. A word may belong to two units ("pounds"), so units are compared as sets of
what a word can mean. Words that are no unit (people, goals) disagree with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple

from srdcr_lab.answers.wording import ENGLISH, expression, fold_digits, in_case_of, in_script_of, without_overlaps

_ONES, _TENS, ORDINALS, MONTHS = (ENGLISH["numbers"][name].split() for name in ("ones", "tens", "ordinals", "months"))
_FROM_20 = {word: 10 * value for value, word in enumerate(_TENS) if value > 1} | {"fourty": 40}
_VALUES = {word: value for value, word in enumerate(_ONES)} | _FROM_20
_SCALES = {"thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7, "billion": 10**9, "trillion": 10**12}
MAGNITUDES = {"dozen": 12, "hundred": 100, "bn": 10**9} | _SCALES


def _one_of(words: Iterable[str]) -> str:
    return rf"(?:{'|'.join(words)})(?!\w)"


_GAP = r"(?:[ \t\xa0]{1,2}|-|\s?\n)"
_BELOW_100 = rf"(?>{_one_of(_FROM_20)}(?:{_GAP}{_one_of(_ONES[1:10])})?|{_one_of(_ONES[1:])})"
_BELOW_1000 = (  # and "twelve hundred"
    rf"(?:(?:{_BELOW_100}{_GAP})?dozen(?!\w)"
    rf"|(?:{_BELOW_100}{_GAP})?hundred(?!\w)"
    rf"(?:{_GAP}(?:and\s)?{_BELOW_100}(?!{_GAP}{_one_of(('hundred', 'dozen'))}))?"
    rf"|{_BELOW_100}|zero(?!\w))"
)
_PART = rf"(?P<count>{_BELOW_1000})(?:{_GAP}(?P<scale>{_one_of(_SCALES)}))?"
_FIRST_PART = re.compile(_PART, re.IGNORECASE)
_NEXT_PART = re.compile(rf"{_GAP}(?:and\s)?{_PART}", re.IGNORECASE)
# By its first letter, in both cases and outside of what has none: a text is looked through in half the time.
_BY_LETTER = [
    rf"[{letter}{letter.upper()}](?i:{'|'.join(word[1:] for word in words)})"
    for letter, words in groupby(sorted([*_ONES, *_FROM_20, "dozen", "hundred", *_SCALES]), itemgetter(0))
]
_START = re.compile(rf"(?<!\w)(?:{'|'.join(_BY_LETTER)})(?!\w)")
_SCALE = re.compile(rf"(?P<count>)(?P<scale>{_one_of(_SCALES)})", re.IGNORECASE)
_INDEFINITE = re.compile(r"(?<!\w)an?[ \xa0]\Z", re.IGNORECASE)
_HALF_BEFORE = re.compile(r"(?<!\w)half[ \xa0]\Z", re.IGNORECASE)  # "half a dozen" is not 12
_PRONOUN_BEFORE = re.compile(r"(?<!\w)(?:no|any|every|some|each|this|that|which|the)[ \xa0-]\Z", re.IGNORECASE)
_PRONOUN_AFTER = re.compile(r"[ \xa0-](?:of|another|and a half|half)(?!\w)|'s", re.IGNORECASE)
_HALF_AFTER = expression("half_after")


class Spelled(NamedTuple):
    """A number in words, characters [start, end) of a text."""

    start: int
    end: int
    value: int


def spelled_numbers(text: str) -> list[Spelled]:
    """Every number in words, left to right. Not a bare "hundred", nor "one" as a pronoun ("one of", "no one")."""
    numbers, end = [], 0
    while match := _START.search(text, end):
        start, end, first = *match.span(), match[0].lower()
        value, after = _number(text, start)
        if first in MAGNITUDES:
            article = _INDEFINITE.search(text, max(0, start - 4), start)
            if article is None or _HALF_BEFORE.search(text, max(0, article.start() - 6), article.start()):
                continue
            start = article.start()
        end = after
        is_pronoun = text[start:end].lower() == "one" and (
            _PRONOUN_BEFORE.search(text, max(0, start - 8), start) or _PRONOUN_AFTER.match(text, end)
        )
        if not is_pronoun and not _HALF_AFTER.match(text, end):
            numbers.append(Spelled(start, end, value))
    return numbers


def _number(text: str, start: int) -> tuple[int, int]:
    """The value of the longest number that starts here, scale by smaller scale, and where it ends."""
    total, limit, end = 0, 10**18, start
    part = _SCALE.match(text, start) or _FIRST_PART.match(text, start)
    while part:
        count, scale = _value(part["count"]), _SCALES.get((part["scale"] or "").lower(), 1)
        if scale >= limit or count * scale >= limit or (total and not count):
            break
        total, limit, end = total + count * scale, scale, part.end()
        part = _NEXT_PART.match(text, end) if scale > 1 else None
    return total, end


def _value(words: str) -> int:
    """The value of words below a thousand; "" is 1, as in "a thousand"."""
    value = 0 if words else 1
    for word in words.lower().replace("-", " ").split():
        if word in ("dozen", "hundred"):
            value = (value or 1) * MAGNITUDES[word]
        elif word != "and":
            value += _VALUES[word]
    return value


@dataclass(frozen=True)
class Style:
    """`grouping`: "pairs" (nineteen seventy-four), "hundreds" (twelve hundred and fifty) or "thousands"."""

    grouping: str = "thousands"
    joint: str = " and "
    hyphen: str = "-"
    article: str = "one"


_PLAIN = Style()
_STYLES = [Style(*parts) for parts in product(("thousands", "hundreds", "pairs"), (" and ", " "), "- ", ("one", "a"))]
_WRITTEN_SCALES = {name: _SCALES.get(name, 100) for name in ("trillion", "billion", "million", "thousand", "hundred")}


def in_words(value: int, style: Style = _PLAIN) -> str:
    """A number below 10^15 in words; where the grouping does not fit the value, by thousands."""
    hundreds, rest = divmod(value, 100)
    if style.grouping == "pairs" and 10 <= hundreds <= 29 and rest >= 10:
        return f"{_by_scales(hundreds, style)} {_by_scales(rest, style)}"
    if style.grouping != "thousands" and 10 < hundreds < 100 and hundreds % 10:
        return _scaled(hundreds, "hundred", rest, style)
    words = _by_scales(value, style)
    return f"a{words[3:]}" if style.article == "a" and words.startswith(("one hundred", "one thousand")) else words


def _by_scales(value: int, style: Style) -> str:
    for name, scale in _WRITTEN_SCALES.items():
        if value >= scale:
            return _scaled(value // scale, name, value % scale, style)
    tens, ones = divmod(value, 10)
    if value < 20:
        return _ONES[value]
    return _TENS[tens] + (f"{style.hyphen}{_ONES[ones]}" if ones else "")


def _scaled(count: int, name: str, rest: int, style: Style) -> str:
    joint = style.joint if rest < 100 else " "
    tail = f"{joint}{_by_scales(rest, style)}" if rest else ""
    return f"{_by_scales(count, style)} {name}{tail}"


def respell_words(surface: str, value: int, new: int) -> str | None:
    """`new` in the style and case in which `surface` writes `value`; in the plainest where that is none of ours."""
    if not 0 <= new < 10**15:
        return None
    plain = " ".join(surface.casefold().replace("\u00a0", " ").split())
    style = next((style for style in _STYLES if in_words(value, style) == plain), _PLAIN)
    return in_case_of(surface, in_words(new, style))


_MEANINGS: dict[str, frozenset[str]] = {}
for _unit, _spellings in ENGLISH["units"].items():
    for _spelling in [_unit, *_spellings.split(", ")]:
        for _word in {_spelling.rstrip("*"), _spelling.replace("*", "s")}:
            _MEANINGS[_word] = _MEANINGS.get(_word, frozenset()) | {_unit}
for _word in [word for word in _MEANINGS if len(word) > 1]:
    _MEANINGS.setdefault(_word.lower(), _MEANINGS[_word])
_TIMES = frozenset({"s", "min", "h", "day", "week", "month", "year"})
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


def unit_text(unit: frozenset[str]) -> str:
    """How a unit is written: its canonical name, or the shortest word that means exactly these ("pound")."""
    words = unit if len(unit) == 1 else [word for word, meant in _MEANINGS.items() if meant == unit] or unit
    return min(words, key=lambda word: (len(word), word))


def agrees(stated: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether two units can be the same; a rate per time ("mg per day") is tolerated for the plain unit."""
    plain_units = {name.rpartition("/")[0] for name in stated if name.rpartition("/")[2] in _TIMES}
    return bool(wanted & (stated | plain_units))


def in_base(value: str, unit: str) -> tuple[str, Decimal] | None:
    """Base unit and size of a quantity; None for a unit without one, and for clock times."""
    try:
        factor, base = ENGLISH["sizes"][unit].split()
        return base, abs(Decimal(value) * Decimal(factor))
    except (KeyError, InvalidOperation):
        return None


_EXACT = Context(prec=120)
_LONGEST = 60  # digits; longer runs are identifiers, not quantities
_PLAIN_EXPONENT = 40  # beyond this a value is written with an exponent

_NUMBER = re.compile(
    r"""(?<!\w)(?<!\d[.,:/])
    (?: (?P<clock>\d{1,4}(?::\d{2})+(?:\.\d+)?|\d{1,3}:\d{1,3}) (?![.:/,]?\d)
      | (?P<english>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?) (?![.,:/]?\d)
      | (?P<european>\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}) (?![.,:/]?\d)
      | (?P<spaced>[1-9]\d{0,2}(?P<gap>[ \u00a0'])\d{3}(?!\d)(?:(?P=gap)\d{3}(?!\d))*(?:[.,]\d+)?) (?![.,:/]?\d)
      | (?P<decimal>\d+[.,]\d+|(?<![\w.])\.\d+) (?![.,:/]?\d)
      | (?P<whole>\d+) (?P<vulgar>[ \u00a0]?[½¼¾⅛⅜⅝⅞]|[ \u00a0-](?:1/2|1/4|3/4))? (?![.,:/]?\d)
      | (?P<fraction>[½¼¾⅛⅜⅝⅞])
    )""",
    re.VERBOSE,
)
_VULGAR = dict(zip("½¼¾⅛⅜⅝⅞", ("0.5", "0.25", "0.75", "0.125", "0.375", "0.625", "0.875"), strict=True))
_VULGAR |= {"1/2": "0.5", "1/4": "0.25", "3/4": "0.75"}
_POWER = expression("power")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_MAGNITUDE = re.compile(r"[ \u00a0-]?(" + "|".join(MAGNITUDES) + r")(?!\w)", re.IGNORECASE)
_CURRENCY_BEFORE = re.compile(r"((?:US)?[$€£¥₹]|(?<!\w)(?:USD|EUR|GBP|JPY|INR)(?=[ \u00a0]))[ \u00a0]?\Z")
_SIGN_BEFORE = re.compile(r"(?:(?<!\S)|(?<=[(\[{\"'“‘«$€£:;=~≈·]))([-–])\Z")
_SIGN_WORD_BEFORE = re.compile(r"(?<!\w)((?:minus|negative)[ \u00a0])\Z", re.IGNORECASE)
_LABEL_BEFORE = re.compile(r"[^\W\d_]-\Z")
_AND_A_HALF = re.compile(r"[ \u00a0](?:and (?:a|one) (?:half|quarter|third)|(?:a )?half(?!\w))", re.IGNORECASE)
_UNIT = r"(?:[^\W\d_]{1,24}[²³23]?(?:/[^\W\d_]{1,24}[²³23]?){0,2}|°[ \u00a0]?[CF](?!\w)|[%‰°℃℉$€£¥₹](?:/\w{1,12})?)"
_AFTER = re.compile(rf"(?P<gap>[ \u00a0-]?){_UNIT}(?:[ \u00a0-]{_UNIT}){{0,3}}")
_FEET = re.compile(r"[ \u00a0-]?(?:feet|foot|ft\.?)(?:,| and)?[ \u00a0-]")
_WORD_END = re.compile(r"(?=[ \u00a0-]|\Z)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text: characters [start, end), with sign and magnitude, without unit.

    `readings` are canonical values, the likeliest first; `unit` is what a stated unit can mean (empty: none known);
    `phrases` are the words after the number, the longest first.
    """

    start: int
    end: int
    readings: tuple[str, ...]
    unit: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()


def plain(value: Decimal) -> str:
    """A decimal without noise: no trailing zeros, no negative zero, an exponent only beyond 10^±40."""
    if not value:
        return "0"
    value = _EXACT.normalize(value)
    return f"{value:f}" if abs(value.adjusted()) <= _PLAIN_EXPONENT else f"{value:E}".replace("E+", "E")


def _digits_as_decimals(match: re.Match[str]) -> tuple[Decimal, ...]:
    """Readings of matched digits, the likeliest first."""
    text = match[0]
    if match["english"]:
        return (Decimal(text.replace(",", "")),)
    if match["european"]:
        return (Decimal(text.replace(".", "").replace(",", ".")),)
    if match["spaced"]:
        return (Decimal(text.replace(match["gap"], "").replace(",", ".")),)
    if match["decimal"]:
        first = Decimal(text.replace(",", "."))
        grouped = re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", text)
        return (first, Decimal(text.replace(".", ""))) if grouped else (first,)
    fraction = match["fraction"] or (match["vulgar"] or "").strip(" \u00a0-")
    return (Decimal(match["whole"] or 0) + Decimal(_VULGAR.get(fraction, "0")),)


def _touches(folded: str, end: int) -> bool:
    return end < len(folded) and (folded[end].isalnum() or folded[end] == "_")


def _phrases(folded: str, end: int) -> tuple[bool, tuple[str, ...]]:
    """Whether a word touches the number, and what follows it as phrases of one to four words, the longest first."""
    match = _AFTER.match(folded, end)
    if match is None:
        return _touches(folded, end), ()
    following = match[0][len(match["gap"]) :]
    cuts = [cut.start() for cut in _WORD_END.finditer(following) if cut.start()]
    return not match["gap"], tuple(following[:cut] for cut in reversed(cuts))


def _finish(folded: str, start: int, end: int, values: tuple[Decimal, ...], currency: bool = True) -> Quantity | None:
    """Magnitude, sign and unit around a number; None where it is part of something else (ordinal, decade, label)."""
    if magnitude := _MAGNITUDE.match(folded, end):
        values = tuple(_EXACT.multiply(value, MAGNITUDES[magnitude[1].lower()]) for value in values)
        end = magnitude.end()
    touched, phrases = _phrases(folded, end)
    unit = next(filter(None, map(meanings, phrases)), frozenset())
    if _AND_A_HALF.match(folded, end):
        return None
    letters = phrases[-1] if phrases else ""
    is_decade = letters == "s" and folded[end - 1] == "0"
    if touched and (not meanings(letters) or is_decade):
        return None
    before = folded[max(0, start - 12) : start]
    money = _CURRENCY_BEFORE.search(before) if currency else None
    if money:
        unit, before = unit | meanings(money[1]), before[: money.start()]
    sign = _SIGN_BEFORE.search(before) or _SIGN_WORD_BEFORE.search(before)
    if sign and sign[1] == "–" and folded[max(0, start - 4) : start - 1].rstrip()[-1:].isdigit():
        sign = None  # "1914 –1918" is a range
    if sign:
        values = tuple(-value for value in values)
        start -= len(before) - sign.start() + (len(money[0]) if money else 0)
    elif _LABEL_BEFORE.search(before):
        return None
    return Quantity(start, end, tuple(dict.fromkeys(map(plain, values))), unit, phrases)


def _in_digits(folded: str) -> Iterator[Quantity | None]:
    for match in _NUMBER.finditer(folded):
        start, end = match.span()
        if match["clock"]:
            if not _touches(folded, end):
                yield Quantity(start, end, (re.sub(r"\A0+(?=\d)", "", match[0]),))
        elif sum(map(str.isdigit, match[0])) <= _LONGEST:
            values = _digits_as_decimals(match)
            if power := _POWER.match(folded, end):
                exponent = int((power["e"] or power["caret"] or power["sup"]).translate(_SUPERSCRIPTS))
                values, end = tuple(value.scaleb(exponent, _EXACT) for value in values), power.end()
            yield _finish(folded, start, end, values)


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number of a text, left to right, without overlaps; feet and inches are one number of inches."""
    folded = fold_digits(text)
    in_words = (
        _finish(folded, number.start, number.end, (Decimal(number.value),), currency=False)
        for number in spelled_numbers(folded)
    )
    stated: list[Quantity] = []
    for each in without_overlaps(filter(None, (*_in_digits(folded), *in_words))):
        gap = _FEET.fullmatch(folded, stated[-1].end, each.start) if stated else None
        if gap and ("inch" in each.unit or ("ft" in gap[0] and each.phrases[-1:] == ("in",))):
            feet, inches = Decimal(stated[-1].readings[0]), Decimal(each.readings[0])
            if feet == int(feet) and 0 <= inches < 12:  # not "nine feet 21 inches"
                value = plain(12 * feet + inches.copy_sign(feet))
                each = Quantity(stated.pop().start, each.end, (value,), frozenset({"inch"}), each.phrases)
        stated.append(each)
    return tuple(stated)


DIGITS = re.compile(r"(?:\d[\d.,' \u00a0]*)?(?:[½¼¾⅛⅜⅝⅞]|\d)|\d|\.\d+")


def respell_digits(surface: str, value: Decimal, new: Decimal) -> str | None:
    """`new` with the separators, script and at least the decimals of a surface whose digits state `value`."""
    folded = fold_digits(surface)
    core = DIGITS.search(folded)
    own = _own_value(folded, core, value) if core else None
    if core is None or not own:
        return None
    written = _digits_like(surface[core.start() : core.end()], core[0], own, new * own / value)
    return None if written is None else surface[: core.start()] + written + surface[core.end() :]


def last_place(text: str, value: Decimal) -> Decimal:
    """The last place a number is written to: 0.01 for "9.58", 1 for "1,250" and "twelve", 100,000 for "5 million"."""
    first = quantities(text)[0]
    folded = fold_digits(text)[first.start : first.end]
    core, size = DIGITS.search(folded), abs(value)
    own = _own_value(folded, core, size) if core and value else None
    if core is None or not own:
        return Decimal(1)
    layout = _layout(core[0], own)
    decimals = len(core[0].partition(layout[1])[2]) if layout else max(0, -int(own.normalize().as_tuple().exponent))
    scale = size / own
    return scale.scaleb(-max(decimals, 1) if scale > 1 else -decimals)


def _own_value(folded: str, core: re.Match[str], value: Decimal) -> Decimal | None:
    """What the digits of a number mean by themselves: 1.2 in "1.2 million", 1250 or 1.25 in "1.250"."""
    is_alone = not folded[core.end() :].strip()
    readings = (Decimal(text) for quantity in quantities(core[0]) for text in quantity.readings)
    return next((r for r in readings if r and (r == value if is_alone else _is_magnitude(value / r))), None)


def _is_magnitude(ratio: Decimal) -> bool:
    """1, a power of ten, or a dozen."""
    return ratio == 12 or ratio.normalize().as_tuple().digits == (1,)


def _layout(folded: str, value: Decimal) -> tuple[str, str] | None:
    """The group separator and the decimal separator by which the digits mean the value."""
    for group in ("", ",", ".", " ", "\u00a0", "'"):
        for point in (".", ","):
            whole, _, rest = folded.partition(point)
            grouped = rf"\d{{1,3}}(?:{re.escape(group)}\d{{2,3}})*{re.escape(group)}\d{{3}}" if group else r"\d*"
            is_layout = group != point and re.fullmatch(grouped, whole) and re.fullmatch(r"\d*", rest) and whole + rest
            if is_layout and Decimal(f"{whole.replace(group, '') or 0}.{rest or 0}") == value:
                return group, point
    return None


def _digits_like(surface: str, folded: str, value: Decimal, new: Decimal) -> str | None:
    """The new value as a surface that is digits alone writes `value`."""
    layout = _layout(folded, value)
    group, point = layout or ("", ".")
    whole_before, _, decimals_before = folded.partition(point)
    exact = plain(new)
    if "E" in exact:
        return None
    whole, _, decimals = exact.partition(".")
    decimals = decimals.ljust(len(decimals_before) if layout else 0, "0")
    if not group and len(whole_before) <= 3 and point == "." and folded.isascii() and surface.isascii():
        group = ","  # "850" says nothing of how its writer groups: as in English
    if group and len(whole) > 3:
        size = 2 if re.search(rf"{re.escape(group)}\d\d{re.escape(group)}", folded) else 3  # 2: Indian
        separator = surface[folded.find(group)] if group in folded else group
        whole = re.sub(rf"(?<=\d)(?=(?:\d{{{size}}})*\d{{3}}\Z)", separator, whole)
    if decimals:
        whole += (surface[folded.rfind(point)] if layout and decimals_before else point) + decimals
    if folded.startswith(".") and whole.startswith("0."):
        whole = whole[1:]
    return in_script_of(surface, whole)
