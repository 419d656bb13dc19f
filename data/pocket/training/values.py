"""Answers of the training world: how each kind is made, spoiled, revised, and varied for comparison."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

import proper_names as names
import words as W

YEARS_OF_WORLD = (1050, 2029)
YEARS_WHEN_FRESH = (1000, 2289)  # wider than any year after an offset, so that every two-digit pair is copied
CORRUPTION = 250  # a corrupted year is off by 1 … this many years, uniformly
REVISION_SCALE = 20.0  # a genuinely revised year is off by an exponential number of years with this mean
FACTOR = 11.0  # a corrupted number is multiplied by a log-uniform factor between 1 / this and this
DAYS_OFF, DAYS_REVISED = 4000, 20  # of a corrupted date, of one that has genuinely been revised
PIECES_SHARE = 0.5  # of invented words, where they are used
REVISION_FACTOR = 0.06  # mean size of the log of a genuine revision's factor
ROUND_DOSES = """0.1 0.2 0.25 0.3 0.4 0.5 0.6 0.75 0.8 1 1.2 1.5 2 2.5 3 4 5 6 7.5 8 10 12 12.5 15 20 24 25 30 37.5 40
50 60 75 80""".split()


_PIECES: tuple[list[str], list[str]] = ([], [])  # of which a word begins, and goes on


def use_pieces(pieces: Sequence[str]) -> None:
    """Lets `PIECES_SHARE` of the invented words be made of these word pieces; of none: syllables alone.

    A piece that never stood in a copied name is not copied: one that begins right goes astray there.
    """
    beginning, going_on = _PIECES
    beginning[:] = [piece.strip() for piece in pieces if piece[0] == " " and piece[1:2].isupper()]
    going_on[:] = [piece for piece in pieces if piece[0] != " " and piece.islower()]


def invented(r: random.Random) -> str:
    """An invented word, capitalised: of syllables, or of the tokenizer's pieces."""
    beginning, going_on = _PIECES
    if not beginning or r.random() > PIECES_SHARE:
        return syllables(r)
    return r.choice(beginning) + "".join(r.choice(going_on) for _ in range(r.choice((0, 1, 1, 2))))


def syllables(r: random.Random) -> str:
    """An invented word of two or three syllables, capitalised."""
    parts = [
        r.choice(W.SYLLABLE_ONSETS) + r.choice(W.SYLLABLE_VOWELS) + r.choice(W.SYLLABLE_CODAS)
        for _ in range(r.choice((1, 1, 1, 2)))
    ]
    return ("".join(parts) + r.choice(W.NAME_ENDINGS)).capitalize()


def written(value: Decimal) -> str:
    """A number as the facts write it: commas for thousands, its own decimals."""
    return f"{value:,f}"


def _log_uniform(low: float, high: float, r: random.Random) -> float:
    return math.exp(r.uniform(math.log(low), math.log(high)))


def year(r: random.Random) -> str:
    return str(r.randint(*YEARS_OF_WORLD))


def fresh_year(r: random.Random) -> str:
    return str(r.randint(*YEARS_WHEN_FRESH))


def count(r: random.Random) -> str:
    """A whole number, mostly below a thousand."""
    return written(Decimal(round(_log_uniform(2, 900 if r.random() < 0.8 else 40_000, r))))


def measure(r: random.Random) -> str:
    """A decimal number with one to three places."""
    places = r.choice((1, 2, 2, 2, 2, 3))
    return written(Decimal(_log_uniform(1.5, 300, r)).quantize(Decimal(1).scaleb(-places)))


def dose(r: random.Random) -> str:
    """Mostly a round dose, sometimes any number of about two digits."""
    kind = r.random()
    if kind < 0.5:
        return r.choice(ROUND_DOSES)
    if kind < 0.75:
        return written(Decimal(r.choice((5, 10, 20, 50, 100)) * r.randint(2, 60)))
    value = Decimal(_log_uniform(0.02, 900, r))
    return written(value.quantize(Decimal(1) if value >= 20 else Decimal("0.1") if value >= 1 else Decimal("0.01")))


def given(r: random.Random) -> str:
    return r.choice(names.GIVEN) if r.random() < 0.6 else invented(r)


def family(r: random.Random) -> str:
    return r.choice(names.FAMILY) if r.random() < 0.5 else invented(r)


def person(r: random.Random) -> str:
    """Given and family name, sometimes with a middle name, an initial, a particle or a double name."""
    first, last, form = given(r), family(r), r.random()
    if form < 0.72:
        return f"{first} {last}"
    if form < 0.84:
        return f"{first} {given(r)} {last}"
    if form < 0.88:
        return f"{first} {r.choice('ABCDEFGHJKLMNPRSTW')}. {last}"
    if form < 0.94:
        return f"{first} {r.choice(('de', 'van', 'von', 'da', 'del', 'di', 'ten'))} {last}"
    return f"{first} {last}-{family(r)}" if form < 0.98 else f"{first[0]}. {r.choice('ABCDEFGHJKLM')}. {last}"


def city(r: random.Random) -> str:
    """A city, half of them invented, sometimes of two words."""
    name, form = r.choice(names.CITIES) if r.random() < 0.5 else invented(r), r.random()
    if form < 0.86:
        return name
    return f"{r.choice(names.CITY_HEADS)} {name}" if form < 0.94 else f"{name} {r.choice(names.CITY_TAILS)}"


def date(r: random.Random) -> str:
    """A day, as "14 July 1789"."""
    return f"{r.randint(1, 28 if r.random() < 0.5 else 30)} {r.choice(W.MONTHS)} {year(r)}"


def another_day(answer: str, most: int, r: random.Random) -> str:
    """A date 1 … ``most`` days off."""
    day, month, year_ = answer.split()
    old = datetime.date(int(year_), W.MONTHS.index(month) + 1, 1) + datetime.timedelta(days=int(day) - 1)
    new = old + datetime.timedelta(days=r.choice((-1, 1)) * r.randint(1, most))
    return f"{new.day} {W.MONTHS[new.month - 1]} {new.year}"


VALUES: Mapping[str, Callable[[random.Random], str]] = {
    "year": year, "fresh_year": fresh_year, "count": count, "measure": measure, "dose": dose,
    "date": date, "person": person, "city": city,
}  # fmt: skip


def is_number(answer: str) -> bool:
    return answer.replace(",", "").replace(".", "", 1).isdigit()


def scaled(answer: str, factor: float) -> str:
    """A number times a factor, rounded to the places it is written with."""
    old = Decimal(answer.replace(",", ""))
    place = Decimal(1).scaleb(int(old.as_tuple().exponent))
    return written((old * Decimal(factor)).quantize(place, ROUND_HALF_UP))


def corrupted(answer: str, values: str, r: random.Random) -> str:
    """A wrong answer: a year 1 … 250 off, a number times up to 11 or divided by it, another name or city."""
    if values.endswith("year"):
        return str(int(answer) + r.choice((-1, 1)) * r.randint(1, CORRUPTION))
    if is_number(answer):
        for _ in range(20):
            changed = scaled(answer, math.exp(r.choice((-1, 1)) * r.uniform(0.03, math.log(FACTOR))))
            if changed != answer and changed.strip("0.,"):
                return changed
        return scaled(answer, 3)
    if values == "date" and r.random() < 0.6:
        return another_day(answer, DAYS_OFF, r)
    return another(answer, values, r)


def revised(answer: str, values: str, r: random.Random) -> str:
    """An answer that has genuinely been revised: a year or number mostly close to the old one, or another name."""
    if values.endswith("year"):
        return str(int(answer) + r.choice((-1, 1)) * (1 + int(r.expovariate(1 / REVISION_SCALE))))
    if is_number(answer):
        changed = scaled(answer, math.exp(r.choice((-1, 1)) * r.expovariate(1 / REVISION_FACTOR)))
        return changed if changed != answer else corrupted(answer, values, r)
    if values == "date":
        return another_day(answer, DAYS_REVISED, r)
    return another(answer, values, r)


def another(answer: str, values: str, r: random.Random) -> str:
    """A fresh answer of the same kind that shares no word with this one."""
    own = set(answer.split())
    while own & set((other := VALUES[values](r)).split()):
        pass
    return other


def near_miss(answer: str, values: str, r: random.Random) -> str:
    """An answer that differs from this one in little: one two-digit token of a number, one word of a name."""
    if values.endswith("year"):
        century, rest = answer[:2], answer[2:]
        while True:
            other = f"{r.randint(10, 22)}{rest}" if r.random() < 0.5 else f"{century}{r.randrange(100):02d}"
            if other != answer:
                return other
    if is_number(answer):
        digits = [place for place, character in enumerate(answer) if character.isdigit()]
        place = r.choice(digits)
        return answer[:place] + r.choice([d for d in "123456789" if d != answer[place]]) + answer[place + 1 :]
    words, fresh = answer.split(), another(answer, values, r).split()
    if len(words) == 1:
        return " ".join(fresh)
    return " ".join([words[0], *fresh[1:]] if r.random() < 0.5 and len(fresh) > 1 else [*fresh[:-1], words[-1]])
