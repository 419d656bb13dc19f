"""Numbers in a text with their units, read and written, in digits and in English words.

A number is written as another one is: beside "1,250" it is "1,500", and beside "eighteen hundred and six" it is
"eighteen hundred and ten". "Nineteen seventy-four" is two numbers, except as a year.

How ambiguous digits are read:

- "1,250": a comma before exactly three digits groups; so do thin or plain spaces. "12,5": decimal comma.
- "1.250": the point is decimal (1.25). "1.250.000", "1,25,000", "1,2,3" and "1'250": no numbers.
- "2:01:39": a clock time or ratio, compared as written, with am or pm. "1/2", "24/7": refused. "2½", "2 1/2": 2.5.
- "6 feet 2 inches", "6 ft 2 in": 74 inches.
- "154 174 601": one number; a column of three-digit numbers with single spaces between them looks the same.
- "1920s", "3rd", "B52", "COVID-19": no numbers. "10 to 20" and "10–20": two.

Values are never converted between units. A word may belong to two units ("pounds"), so units are compared as sets of
what a word can mean. Words that are no unit (people, goals) disagree with nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

from srdcr_lab.answers.wording import ENGLISH, fold_digits, in_case_of, in_script_of, pattern, without_overlaps

_ONES: list[str] = ENGLISH["numbers"]["ones"].split()
_TENS: list[str] = ENGLISH["numbers"]["tens"].split()
_FROM_20 = {word: 10 * value for value, word in enumerate(_TENS) if value > 1} | {"fourty": 40}
_VALUES = {word: value for value, word in enumerate(_ONES)} | _FROM_20
_SCALES = {"thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7, "billion": 10**9, "trillion": 10**12}
MAGNITUDES = {"dozen": 12, "hundred": 100, "bn": 10**9} | _SCALES
_WRITTEN_SCALES = {name: _SCALES.get(name, 100) for name in ("trillion", "billion", "million", "thousand", "hundred")}


@dataclass(frozen=True, slots=True)
class Stated:
    """A number in words, a year or a date in a text, characters [start, end).

    A year `is_certain` if four digits, words or an era show that it is one, and a date if it has a year; it
    `is_partial` at an end of a range, and a date without a year.
    """

    start: int
    end: int
    value: Any  # a whole number, a year BC negative; a date
    is_certain: bool = True
    is_partial: bool = False


def spelled_numbers(text: str) -> list[Stated]:
    """Every number in words, left to right, except a bare "hundred" and "one" as a pronoun ("one of", "no one")."""
    numbers, end = [], 0
    while match := pattern("number_begins").search(text, end):
        start, end, first = *match.span(), match[0].lower()
        value, after = _number(text, start)
        if first in MAGNITUDES:
            article = pattern("indefinite_before").search(text, max(0, start - 4), start)
            if article is None or pattern("half_before").search(text, max(0, article.start() - 6), article.start()):
                continue
            start = article.start()
        end = after
        before, behind = pattern("pronoun_before"), pattern("pronoun_after")
        is_beside = before.search(text, max(0, start - 8), start) or behind.match(text, end)
        if not (is_beside and text[start:end].lower() == "one") and not pattern("half_after").match(text, end):
            numbers.append(Stated(start, end, value))
    return numbers


def _number(text: str, start: int) -> tuple[int, int]:
    """The value of the longest number that starts here, scale by smaller scale, and where it ends."""
    total, limit, end = 0, 10**18, start
    part = pattern("number_scale").match(text, start) or pattern("number_part").match(text, start)
    while part:
        count, scale = _value(part["count"]), _SCALES.get((part["scale"] or "").lower(), 1)
        if scale >= limit or count * scale >= limit or (total and not count):
            break
        total, limit, end = total + count * scale, scale, part.end()
        part = pattern("next_part").match(text, end) if scale > 1 else None
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


def in_words(value: int, grouping: str = "thousands") -> str:
    """A number below 10^15 in words, grouped by "thousands", by "hundreds" (twelve hundred and fifty) or in "pairs"
    (nineteen seventy-four); by thousands where the grouping does not fit the value.
    """
    hundreds, rest = divmod(value, 100)
    if grouping == "pairs" and 10 <= hundreds <= 29 and rest >= 10:
        return f"{in_words(hundreds)} {in_words(rest)}"
    by_hundreds = grouping != "thousands" and 10 < hundreds < 100 and hundreds % 10
    for name, scale in {"hundred": 100}.items() if by_hundreds else _WRITTEN_SCALES.items():
        if value >= scale:
            rest = value % scale
            joint = " and " if rest < 100 else " "
            return f"{in_words(value // scale)} {name}" + (f"{joint}{in_words(rest)}" if rest else "")
    tens, ones = divmod(value, 10)
    return _ONES[value] if value < 20 else _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")


def respell_words(surface: str, value: int, new: int) -> str | None:
    """`new` in the grouping and case in which `surface` writes `value`."""
    if not 0 <= new < 10**15:
        return None
    said = surface.casefold()
    grouping = "thousands" if value < 1000 or "thousand" in said else "hundreds" if "hundred" in said else "pairs"
    return in_case_of(surface, in_words(new, grouping))


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
    """What a phrase can mean as a unit, in canonical names; empty if it is not a unit. Case matters for single
    letters.
    """
    phrase = " ".join(phrase.replace("\u00a0", " ").replace("μ", "µ").split())
    known = _MEANINGS.get(phrase) or (_MEANINGS.get(phrase.lower()) if len(phrase) > 1 else None)
    if known:
        return known
    parts = _PER.split(phrase)
    if len(parts) == 2 and all(parts):
        return frozenset(f"{upper}/{lower}" for upper in meanings(parts[0]) for lower in meanings(parts[1]))
    return frozenset()


def unit_text(unit: frozenset[str]) -> str:
    """How a unit is written: its canonical name, or the shortest word with exactly these meanings ("pound"); if any."""
    words = unit if len(unit) == 1 else [word for word, meant in _MEANINGS.items() if meant == unit] or unit
    return min(words, key=lambda word: (len(word), word), default="")


def agrees(stated: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether two units can be the same; a rate per time ("mg per day") is accepted for the plain unit."""
    plain_units = {name.rpartition("/")[0] for name in stated if name.rpartition("/")[2] in _TIMES}
    return bool(wanted & (stated | plain_units))


@lru_cache(maxsize=4096)
def bases(unit: frozenset[str]) -> frozenset[str]:
    """What quantities of this unit are made of, in base units: "m" and "s" of km/h, "m" of acres and litres."""
    parts = {part for name in unit for part in name.split("/")}
    of_base = {base: parts.intersection(names.split(", ")) for base, names in ENGLISH["bases"].items()}
    return frozenset(filter(of_base.get, of_base)) | parts.difference(*of_base.values())


EXACT = Context(prec=120)
_LONGEST = 60  # digits; longer runs are identifiers, not quantities
_PLAIN_EXPONENT = 40  # beyond this a value is written with an exponent

_FRACTIONS = dict(zip("½¼¾⅛⅜⅝⅞", ("0.5", "0.25", "0.75", "0.125", "0.375", "0.625", "0.875"), strict=True))
_FRACTIONS |= {"1/2": "0.5", "1/4": "0.25", "3/4": "0.75"}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text: characters [start, end), with sign and magnitude, without unit.

    `value` is canonical; `unit` is what a stated unit can mean (empty: none known); `phrases` are the words after the
    number, the longest first.
    """

    start: int
    end: int
    value: str
    unit: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()


def plain(value: Decimal) -> str:
    """A decimal without noise: no trailing zeros, no negative zero, an exponent only beyond 10^±40."""
    if not value:
        return "0"
    value = EXACT.normalize(value)
    return f"{value:f}" if abs(value.adjusted()) <= _PLAIN_EXPONENT else f"{value:E}".replace("E+", "E")


def _separators(digits: re.Match[str]) -> tuple[str, str]:
    """What separates the groups and the decimals of matched digits: "1,250.5", "1 250,5", "12,5"."""
    group = digits["gap"] or ("," if digits["grouped"] else "")
    return group, "," if group != "," and "," in digits[0] else "."


def _of_digits(digits: re.Match[str]) -> Decimal:
    """The value of the digits alone: 1.2 of "1.2 million"."""
    if digits["grouped"] or digits["decimal"]:
        group, point = _separators(digits)
        return Decimal(digits[0].replace(group, "").replace(point, "."))
    fraction = (digits["and"] or "" if digits["whole"] else digits[0]).strip(" \u00a0-")
    return Decimal(digits["whole"] or 0) + Decimal(_FRACTIONS.get(fraction, "0"))


def _phrases(folded: str, end: int) -> tuple[bool, tuple[str, ...]]:
    """Whether a word touches the number, and what follows it as phrases of one to four words, the longest first."""
    match = pattern("phrases_after").match(folded, end)
    if match is None:
        return bool(re.match(r"\w", folded[end : end + 1])), ()
    following = match[0][len(match["gap"]) :]
    cuts = [cut.start() for cut in re.finditer(r"(?=[ \u00a0-]|\Z)", following) if cut.start()]
    return not match["gap"], tuple(following[:cut] for cut in reversed(cuts))


def _finish(folded: str, start: int, end: int, value: Decimal, currency: bool = True) -> Quantity | None:
    """Add magnitude, sign and unit to a number; None if it is part of something else (ordinal, decade, label)."""
    before = folded[max(0, start - 12) : start]
    money = pattern("currency_before").search(before) if currency else None
    compact = pattern("compact").match(folded, end) if currency else None
    if magnitude := pattern("magnitude").match(folded, end):
        value, end = EXACT.multiply(value, MAGNITUDES[magnitude[1].lower()]), magnitude.end()
    elif compact and (money or compact["k"]):  # "£100m", "380k"; "100m" is a length
        value, end = value.scaleb(3 * (" kmbt".index(str(compact.lastgroup))), EXACT), compact.end()
    touched, phrases = _phrases(folded, end)
    unit = next(filter(None, map(meanings, phrases)), frozenset())
    if pattern("and_a_half").match(folded, end):
        return None
    letters = phrases[-1] if phrases else ""
    if touched and (not meanings(letters) or (letters == "s" and folded[end - 1] == "0")):  # "1990s"
        return None
    if money:
        unit, before = unit | meanings(money[1]), before[: money.start()]
    sign = pattern("sign_before").search(before) or pattern("sign_word_before").search(before)
    if sign and sign[1] == "–" and folded[max(0, start - 4) : start - 1].rstrip()[-1:].isdigit():
        sign = None  # "1914 –1918" is a range
    if sign:
        value = value.copy_negate()  # "-" would round to 28 digits
        start -= len(before) - sign.start() + (len(money[0]) if money else 0)
    elif pattern("label_before").search(before):
        return None
    return Quantity(start, end, plain(value), unit, phrases)


def _in_digits(folded: str) -> Iterator[Quantity | None]:
    for match in pattern("digits").finditer(folded):
        start, end = match.span()
        if match["clock"]:
            half = pattern("time_of_day").match(folded, start)
            if half or not re.match(r"\w", folded[end : end + 1]):
                unit = (f"{half[1].lower()}m",) if half else ()  # two times that differ in it alone are two answers
                yield Quantity(start, end, re.sub(r"\A0+(?=\d)", "", match[0]), frozenset(unit), unit)
        elif sum(map(str.isdigit, match[0])) <= _LONGEST:
            value = _of_digits(match)
            if power := pattern("power").match(folded, end):
                exponent = int((power["e"] or power["caret"] or power["sup"]).translate(_SUPERSCRIPTS))
                value, end = value.scaleb(exponent, EXACT), power.end()
            yield _finish(folded, start, end, value)


@lru_cache(maxsize=16)  # a passage is read again for every claim about it
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number of a text, left to right, without overlaps; feet and inches are one number of inches."""
    folded = fold_digits(text)
    spelled = spelled_numbers(folded)
    in_words = (_finish(folded, each.start, each.end, Decimal(each.value), currency=False) for each in spelled)
    stated: list[Quantity] = []
    for each in without_overlaps(filter(None, (*_in_digits(folded), *in_words))):
        gap = pattern("feet_between").fullmatch(folded, stated[-1].end, each.start) if stated else None
        if gap and ("inch" in each.unit or ("ft" in gap[0] and each.phrases[-1:] == ("in",))):
            feet, inches = Decimal(stated[-1].value), Decimal(each.value)
            if feet == int(feet) and 0 <= inches < 12:  # not "nine feet 21 inches"
                value = plain(12 * feet + inches.copy_sign(feet))
                each = Quantity(stated.pop().start, each.end, value, frozenset({"inch"}), each.phrases)
        stated.append(each)
    return tuple(stated)


def respell_digits(surface: str, value: Decimal, new: Decimal) -> str | None:
    """`new` with the separators and at least the decimals of a surface whose digits state `value`; None without digits.

    >>> respell_digits("1.2 million", Decimal(1200000), Decimal(600000))
    '0.6 million'
    """
    digits = pattern("digits").search(fold_digits(surface))
    own = _of_digits(digits) if digits and not digits["clock"] else None
    if digits is None or not own or "E" in (exact := plain(EXACT.divide(EXACT.multiply(new, own), value))):
        return None
    group, point = _separators(digits)
    whole, _, decimals = exact.partition(".")
    before, _, decimals_before = digits[0].partition(point)
    if group:
        group = surface[digits.start() + before.find(group)]  # a thin space stays one
    elif len(before) <= 3 and surface.isascii() and point == ".":
        group = ","  # "850" does not show how its writer groups: as in English
    if group and len(whole) > 3:
        whole = f"{int(whole):,}".replace(",", group)
    if decimals := decimals.ljust(len(decimals_before), "0"):
        whole += point + decimals
    written = whole.removeprefix("0") if digits[0].startswith(".") else whole
    return surface[: digits.start()] + in_script_of(surface, written) + surface[digits.end() :]


def last_place(text: str, value: Decimal) -> Decimal:
    """The last place a number is written to: 0.01 for "9.58", 1 for "1,250" and "twelve", 100,000 for "5 million"."""
    first = quantities(text)[0]
    digits = pattern("digits").search(fold_digits(text)[first.start : first.end])
    own = _of_digits(digits) if digits and value else None
    if digits is None or not own:
        return Decimal(1)
    _, point, decimals = digits[0].partition(_separators(digits)[1])
    n_decimals = len(decimals) if point else max(0, -int(own.normalize().as_tuple().exponent))
    scale = EXACT.divide(value.copy_abs(), own)
    return scale.scaleb(-max(n_decimals, 1) if scale > 1 else -n_decimals)


def is_a_year(stated: str) -> bool:
    return len(stated) == 4 and stated.isdigit() and 1000 <= int(stated) <= 2199


def figures(passage: str) -> tuple[Quantity, ...]:
    """Every number of a passage, left to right, except clock times and those of a ratio in words: "one in four"."""
    taken: set[int] = set()
    for ratio in pattern("ratio").finditer(fold_digits(passage)):
        some, of = (int(said) if said.isdigit() else _value(said) for said in ratio.groups(""))
        if not ratio["of"] or 0 < some < of:  # not "12 in 3 years"
            taken.update(range(*ratio.span()))
    return tuple(each for each in quantities(passage) if ":" not in each.value and each.start not in taken)


def akin(rest: str, unit: frozenset[str], calendar: Iterable[tuple[int, int]] = ()) -> Iterator[tuple[int, str]]:
    """The figures of a passage to which a quantity of this unit may be related, each with its place and its words.

    Others cannot restate it or lead to it: a quantity whose unit has no part of this one's, things counted beside a
    measure, and what the `calendar` covers (characters [start, end) of years and dates).
    """
    own, folded, found = bases(unit), fold_digits(rest), [*quantities(rest)]
    covered = {place for start, end in calendar for place in range(start, end)}
    often = Counter(base for each in found for base in bases(each.unit))
    # A share may be of any measure, and two measures of a kind may give a count.
    telling = own | {"share"} | {base for base in often if "share" in own or (not own and often[base] > 1)}
    for each in found:
        words = rest[each.start : each.end]
        is_time = ":" in each.value
        is_measure = bool(each.unit) and not is_time and telling.isdisjoint(bases(each.unit))
        is_alone = words.lower() == "one" or pattern("counted").match(folded, each.end)
        is_count = bool(own - {"share"}) and is_alone and not is_a_year(words)
        is_unlike = is_time and bool(own) and "s" not in own
        if each.start not in covered and not (is_measure or is_unlike or (is_count and not each.unit)):
            yield each.start, " ".join((words, *each.phrases[-1:]))
        covered.update(range(each.start, each.end))
    for match in pattern("with_a_digit").finditer(folded):
        if covered.isdisjoint(range(*match.span())):
            yield match.start(), match[0]
