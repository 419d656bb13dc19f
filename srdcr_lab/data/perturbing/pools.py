"""Whom and what a name or a city is exchanged for: other gold answers of its domain, or a given list."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from srdcr_lab import answers
from srdcr_lab.answers.spans import fold_letters
from srdcr_lab.answers.wording import tokens
from srdcr_lab.data.levels import Substitution
from srdcr_lab.data.perturbing.claims import Claim, substitution
from srdcr_lab.records import AnswerType, BadInput, Item

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
