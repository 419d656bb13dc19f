"""How far a passage departs from the truth: one table for every kind of perturbation.

| level    | year offset (size)  | factor f, by max(f, 1/f)        | substitution |
|----------|---------------------|---------------------------------|--------------|
| subtle   | to 20               | to 1.25 (0.8, 1.2)              | slight       |
| mild     | to 40               | to 2 (1.5, 2)                   |              |
| moderate | to 60               | to 3 (0.4, 3)                   | significant  |
| blatant  | beyond (100, 200)   | beyond (0.1, 0.2, 5, 10)        | comical      |

Years: paper, Figure 2. Factors and substitutions: ours; the factors and the three substitutions are ClashEval's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from difflib import SequenceMatcher
from enum import StrEnum

from srdcr_lab import answers
from srdcr_lab.answers.quantities import plain
from srdcr_lab.answers.respelling import last_place
from srdcr_lab.answers.text import fold_letters, tokens
from srdcr_lab.answers.units import meanings
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind


class Substitution(StrEnum):
    """Slight: a real answer of the same domain, close in spelling. Significant: any other one. Comical: absurd."""

    SLIGHT = "slight"
    SIGNIFICANT = "significant"
    COMICAL = "comical"


_OFFSETS = ((20, Level.SUBTLE), (40, Level.MILD), (60, Level.MODERATE))
_FACTORS = ((1.25, Level.SUBTLE), (2, Level.MILD), (3, Level.MODERATE))
_SUBSTITUTIONS = {
    Substitution.SLIGHT: Level.SUBTLE,
    Substitution.SIGNIFICANT: Level.MODERATE,
    Substitution.COMICAL: Level.BLATANT,
}


def level_of_offset(offset: float) -> Level:
    """Level of a year offset, by its size."""
    return next((level for bound, level in _OFFSETS if abs(offset) <= bound), Level.BLATANT)


def level_of_factor(factor: float) -> Level:
    """Level of a positive factor: 0.5 lies as far off as 2."""
    size = max(factor, 1 / factor)
    return next((level for bound, level in _FACTORS if size <= bound), Level.BLATANT)


def level_of_substitution(degree: Substitution) -> Level:
    return _SUBSTITUTIONS[degree]


# -- what a passage is made to claim: each perturbation of a gold answer, or the reason why there is none

YEAR_OFFSETS = (20, 40, 60, 100, 200)  # paper, Figure 2
SIGNED_YEAR_OFFSETS = tuple(sign * offset for offset in YEAR_OFFSETS for sign in (1, -1))
FACTORS = (0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)  # ClashEval
_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|(?:what|which) year)(?!\w)", re.IGNORECASE)
_LIKE_A_YEAR = re.compile(r"1\d{3}|20\d\d")


@dataclass(frozen=True, slots=True)
class Claim:
    """One perturbation of one gold answer.

    `tag` names it in item ids ("+20", "x1.5", "slight"); `canonical` and `answer` are the false answer as it is
    compared and as it is written; `refusal` says why there is none, `flags` what a reader should know.
    """

    kind: PerturbationKind
    value: float | None
    level: Level
    tag: str
    canonical: str = ""
    answer: str = ""
    refusal: str = ""
    flags: tuple[str, ...] = ()


def offsets(item: Item, wanted: Sequence[int], present: int) -> list[Claim]:
    """The gold year moved by each signed offset; a year after `present` is flagged, one beyond its era refused."""
    year = int(answers.normalise(item.gold_answer, item.answer_type) or 0)
    return [_offset(item, year, offset, present) for offset in wanted]


def _offset(item: Item, year: int, offset: int, present: int) -> Claim:
    claim = Claim(PerturbationKind.OFFSET, float(offset), level_of_offset(offset), f"{offset:+d}")
    new = year + offset
    if (year < 0) != (new < 0) or new == 0:
        side = "after the year 1 BC" if year < 0 else "before the year 1"
        return replace(claim, refusal=f"{item.gold_answer} {offset:+d} lies {side}")
    if new > 9999:
        return replace(claim, refusal=f"{item.gold_answer} {offset:+d} has more than four digits")
    flags = (f"the claim {new} lies in the future",) if new > present else ()
    written = _restated(item, str(year), str(new))
    return replace(claim, canonical=str(new), answer=written, flags=flags)


def factors(item: Item, wanted: Sequence[float]) -> list[Claim]:
    """The gold number times each factor, rounded half up to the precision it is written in.

    Refused: what rounds to the gold answer or to zero, and of two factors that round to one claim the one that
    rounding changes more.
    """
    gold = answers.normalise(item.gold_answer, item.answer_type, item.unit) or ""
    claims = [_factor(item, gold, factor) for factor in wanted]
    moved = {claim.tag: _moved(gold, claim) for claim in claims if not claim.refusal}
    best = {
        claim.canonical: min((c for c in claims if c.canonical == claim.canonical), key=lambda c: moved[c.tag])
        for claim in claims
        if not claim.refusal
    }
    return [
        claim
        if claim.refusal or best[claim.canonical] is claim
        else replace(claim, refusal=f"rounds to {claim.answer}, as the factor {best[claim.canonical].tag[1:]} does")
        for claim in claims
    ]


def _factor(item: Item, gold: str, factor: float) -> Claim:
    claim = Claim(PerturbationKind.FACTOR, factor, level_of_factor(factor), f"x{factor:g}")
    number, _, unit = gold.partition(" ")
    try:
        value = Decimal(number)
    except InvalidOperation:
        return replace(claim, refusal=f"{item.gold_answer} is a time of day or a ratio, which a factor does not fit")
    if _ASKS_FOR_A_YEAR.search(item.question) and _LIKE_A_YEAR.fullmatch(number) and "," not in item.gold_answer:
        return replace(
            claim, refusal=f"the question asks for a year, and {item.gold_answer} is one: say so in answer_type"
        )
    exact = value * Decimal(repr(factor))
    new = _rounded(exact, last_place(item.gold_answer, value))
    if not new:
        return replace(claim, refusal="rounds to 0" if value else "0 times a factor is 0")
    if new == value:
        return replace(claim, refusal=f"rounds to the gold answer {item.gold_answer}")
    canonical = f"{plain(new)} {unit}".strip()
    flags = []
    if abs(new / exact - 1) > Decimal("0.1"):
        flags.append(f"rounding to the precision of {item.gold_answer} makes the factor {new / value:.3g}")
    if meanings(unit or item.unit) == meanings("%") and value <= 100 < new:
        flags.append("a share above 100 %")
    if 1 in (value, new):
        flags.append("one is singular: verbs and nouns may disagree")
    return replace(claim, canonical=canonical, answer=_restated(item, gold, canonical), flags=tuple(flags))


def _rounded(exact: Decimal, place: Decimal) -> Decimal:
    return (exact / place).quantize(Decimal(1), ROUND_HALF_UP) * place


def _moved(gold: str, claim: Claim) -> Decimal:
    """By how much rounding changes the factor, as a ratio of at least 1."""
    wanted = Decimal(gold.partition(" ")[0]) * Decimal(repr(claim.value))
    ratio = Decimal(claim.canonical.partition(" ")[0]) / wanted
    return max(ratio, 1 / ratio)


def _restated(item: Item, old: str, new: str) -> str:
    """The gold answer as it is written, hedge and unit included, with the number exchanged."""
    spans = answers.find(item.gold_answer, item.gold_answer, item.answer_type, item.unit)
    for span in spans[:1]:
        written = answers.respell(span.surface, old, new, item.answer_type)
        if written is not None:
            return item.gold_answer[: span.start] + written + item.gold_answer[span.end :]
    return new


def substitution(degree: Substitution, answer: str = "", refusal: str = "") -> Claim:
    return Claim(
        PerturbationKind.SUBSTITUTION, None, level_of_substitution(degree), degree.value, answer, answer, refusal
    )


def kind_of(answer_type: AnswerType) -> PerturbationKind:
    """How answers of a type are perturbed; NONE for free text."""
    match answer_type:
        case AnswerType.YEAR:
            return PerturbationKind.OFFSET
        case AnswerType.NUMBER:
            return PerturbationKind.FACTOR
        case AnswerType.NAME | AnswerType.CITY:
            return PerturbationKind.SUBSTITUTION
    return PerturbationKind.NONE


# -- whom and what a name or a city is exchanged for: other gold answers of its domain, or a given list

SMALLEST_POOL = 4  # other answers that a substitution needs to choose from
NEAREST = 3  # the most alike, among which the slight one is drawn
ABSURD: Mapping[AnswerType, tuple[str, ...]] = {
    AnswerType.NAME: (
        "Donald Duck", "Homer Simpson", "Darth Vader", "Bugs Bunny", "Sherlock Holmes", "Count Dracula", "Mary Poppins",
        "Harry Potter", "Lara Croft", "Fred Flintstone", "Robin Hood", "James Bond",
    ),
    AnswerType.CITY: (
        "Atlantis", "Gotham City", "Duckburg", "Minas Tirith", "Emerald City", "Bikini Bottom", "Hogsmeade",
        "El Dorado", "Lilliput", "Camelot", "Shangri-La", "Mos Eisley",
    ),
}  # fmt: skip

Pools = Mapping[tuple[str, AnswerType], Sequence[str]]


def pools_of(items: Iterable[Item]) -> dict[tuple[str, AnswerType], list[str]]:
    """Gold answers of names and cities by (domain, answer type), each once, sorted."""
    pools: dict[tuple[str, AnswerType], set[str]] = {}
    for item in items:
        if item.answer_type in ABSURD:
            pools.setdefault((item.domain, item.answer_type), set()).add(item.gold_answer)
    return {key: sorted(pool) for key, pool in pools.items()}


def given_pool(names: Sequence[str]) -> list[str]:
    """A list of somebody's own, each name once.

    Raises
    ------
    BadInput
        If it is too small to choose from.
    """
    distinct = sorted({name.strip() for name in names if name.strip()})
    if len(distinct) <= SMALLEST_POOL:
        raise BadInput(
            f"the pool has {len(distinct)} names; a substitution needs at least {SMALLEST_POOL + 1}, so add some"
        )
    return distinct


def substitutions(item: Item, pool: Sequence[str], seed: int) -> list[Claim]:
    """A slight, a significant and a comical substitute, drawn by (seed, question_id) alone.

    Slight is one of the three of the pool that are most alike in spelling (those of the same region after a comma
    first); significant is one of the others; comical is one of twelve that no passage can mean.
    """
    told = fold_letters(f"{item.context} {item.question}")[0]
    real = [name for name in pool if _is_other(name, item, told)]
    absurd = [name for name in ABSURD[item.answer_type] if _is_other(name, item, told)]
    few = (
        f"the domain {item.domain!r} has {len(real)} other answers of type {item.answer_type} that the passage does "
        f"not mention; a substitution needs {SMALLEST_POOL}, so give a pool"
    )
    if len(real) >= SMALLEST_POOL:
        ordered = sorted(real, key=lambda name: (-_likeness(name, item.gold_answer), name))
        near, far = ordered[: min(NEAREST, len(ordered) // 2)], ordered[min(NEAREST, len(ordered) // 2) :]
        claims = [
            substitution(Substitution.SLIGHT, _draw(near, item, seed, "slight")),
            substitution(Substitution.SIGNIFICANT, _draw(far, item, seed, "significant")),
        ]
    else:
        claims = [substitution(degree, refusal=few) for degree in (Substitution.SLIGHT, Substitution.SIGNIFICANT)]
    return [*claims, substitution(Substitution.COMICAL, _draw(absurd, item, seed, "comical"))]


def _draw(names: Sequence[str], item: Item, seed: int, degree: str) -> str:
    return random.Random(f"{seed}:{item.question_id}:{degree}").choice(sorted(names))


def _is_other(name: str, item: Item, told: str) -> bool:
    """True for another answer that shares no word with the gold one and stands nowhere in what is told (folded)."""
    own = {word for text in (item.gold_answer, *item.aliases) for word in tokens(text) if len(word) > 2}
    if own & set(tokens(name)) or answers.normalise(name, item.answer_type) is None:
        return False
    if answers.equal(name, item.gold_answer, item.answer_type, item.unit, item.aliases):
        return False
    if not any(word in told for word in tokens(name)):
        return True
    return not any(answers.find(text, name, item.answer_type) for text in (item.context, item.question))


def _likeness(a: str, b: str) -> float:
    """Share of equal letters in order, in [0, 1]; one more where both name the same region."""
    (name_a, _, region_a), (name_b, _, region_b) = a.partition(", "), b.partition(", ")
    same_region = bool(region_a) and region_a == region_b
    return SequenceMatcher(None, " ".join(tokens(name_a)), " ".join(tokens(name_b))).ratio() + same_region
