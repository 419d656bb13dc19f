"""What a passage is made to claim: each perturbation of a gold answer, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from srdcr_lab import answers
from srdcr_lab.answers.quantities import plain
from srdcr_lab.answers.respelling import last_place
from srdcr_lab.answers.units import meanings
from srdcr_lab.data.levels import Substitution, level_of_factor, level_of_offset, level_of_substitution
from srdcr_lab.records import AnswerType, Item, Level, PerturbationKind

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
