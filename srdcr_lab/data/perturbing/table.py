"""Make a table of passages lie by known amounts, and keep account of every attempt."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.perturbing.claims import (
    FACTORS,
    SIGNED_YEAR_OFFSETS,
    Claim,
    factors,
    given_pool,
    kind_of,
    offsets,
    pools_of,
    substitutions,
)
from srdcr_lab.data.perturbing.forms import Form, Outcome, forms
from srdcr_lab.records import AnswerType, BadInput, Item, PerturbationKind

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Perturber:
    """What every perturbation of a table shares: offsets, factors, pools by (domain, answer type), seed, this year."""

    offsets: tuple[int, ...] = SIGNED_YEAR_OFFSETS
    factors: tuple[float, ...] = FACTORS
    pools: Mapping[tuple[str, AnswerType], Sequence[str]] | None = None
    seed: int = 0
    present: int = 9999

    def claims(self, item: Item) -> list[Claim]:
        """Every claim about an item's answer, possible or not; none for free text."""
        match kind_of(item.answer_type):
            case PerturbationKind.OFFSET:
                return offsets(item, self.offsets, self.present)
            case PerturbationKind.FACTOR:
                return factors(item, self.factors)
            case PerturbationKind.SUBSTITUTION:
                return substitutions(item, (self.pools or {}).get((item.domain, item.answer_type), ()), self.seed)
        return []

    def forms(self, item: Item) -> list[Form]:
        """The item under every claim."""
        return list(forms(item, self.claims(item)))


def checked_offsets(sizes: Iterable[int]) -> tuple[int, ...]:
    """Offsets as they are used: a size stands for both signs, smallest first.

    Raises
    ------
    BadInput
        If there is none, or one is 0 or above 5,000.
    """
    distinct = sorted({abs(size) for size in sizes})
    if not distinct or distinct[0] == 0 or distinct[-1] > 5000:
        raise BadInput("offsets are whole years from 1 to 5000, such as 20,40,60,100,200; each is used with both signs")
    return tuple(sign * size for size in distinct for sign in (1, -1))


def checked_factors(values: Iterable[float]) -> tuple[float, ...]:
    """Factors in order, each once.

    Raises
    ------
    BadInput
        If there is none, or one is not positive, is 1, or lies outside 0.001 to 1,000.
    """
    distinct = sorted(set(values))
    if not distinct or not all(0.001 <= factor <= 1000 and factor != 1 for factor in distinct):
        raise BadInput("factors are numbers from 0.001 to 1000 other than 1, such as 0.8,1.2,2")
    return tuple(distinct)


@dataclass(frozen=True)
class Refusal:
    """A row of the table that was not perturbed at all."""

    item_id: str
    question: str
    gold_answer: str
    why: str


@dataclass(frozen=True)
class Perturbed:
    """`items`: every standard item with its accepted and flagged forms; `forms`: every attempt; `left_out`: rows."""

    items: ItemSet
    forms: tuple[Form, ...]
    left_out: tuple[Refusal, ...]

    def audit(self) -> pd.DataFrame:
        """One row an attempt or row left out: outcome, why, what was changed (`srdcr_lab.data.perturbing.audit`)."""
        from srdcr_lab.data.perturbing.audit import audit_frame

        return audit_frame(self)

    def paired(self, seed: int = 0) -> ItemSet:
        """Each question once with its true passage and, where it has one, once with a false one: as many of each offset
        or level as the passages allow, as in the testbed; unflagged forms first."""
        from srdcr_lab.data.testbed import balanced

        given = {form.standard.item_id: form.standard for form in self.forms}
        of: dict[str, list[Form]] = {item_id: [] for item_id in given}
        for form in self.forms:
            of[form.standard.item_id].append(form)
        order = random.Random(seed).sample(list(given.values()), len(given))
        false = balanced(order, of, len(order))
        standard = [item for item in self.items if item.is_standard]
        pairs = [form for item in standard for form in (item, false.get(item.item_id)) if form is not None]
        return replace(self.items, name=f"{self.items.name}, paired", items=tuple(pairs))

    def count(self, outcome: Outcome) -> int:
        """Attempts with this outcome; rows left out are none."""
        return sum(form.outcome is outcome for form in self.forms)

    def sentence(self) -> str:
        """The counts in one line."""
        standard = sum(item.is_standard for item in self.items)
        counts = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in Outcome)
        left_out = f"{len(self.left_out)} rows left out"
        return f"{standard} standard items, {len(self.forms)} perturbations tried: {counts}; {left_out}"


def perturb(
    items: Iterable[Item],
    *,
    offsets: Iterable[int] = SIGNED_YEAR_OFFSETS,
    factors: Iterable[float] = FACTORS,
    pool: Sequence[str] | None = None,
    seed: int = 0,
    present: int | None = None,
    left_out: Sequence[Refusal] = (),
) -> Perturbed:
    """Every standard item under every perturbation of its kind: offsets, factors, or three substitutions.

    Parameters
    ----------
    items : an ItemSet or any items; those that are perturbed already, and free text, are left out with the reason.
    offsets : years; each size is used with both signs.
    factors : of numbers.
    pool : names or cities to substitute; default: the other gold answers of the same domain and type.
    seed : of the substitutions; a draw depends on it and on the question_id alone.
    present : the year after which a claim is flagged as future; default: this year.
    left_out : rows refused before, to be kept in the audit.

    Raises
    ------
    BadInput
        If an offset or a factor makes no sense, or the given pool is too small.
    """
    given = tuple(items)
    kept, unfit = _sorted_out(given)
    pools = pools_of(kept)
    if pool is not None:
        own = given_pool(pool)
        pools = dict.fromkeys(pools, own)
    chosen = Perturber(
        checked_offsets(offsets),
        checked_factors(factors),
        pools,
        seed,
        date.today().year if present is None else present,
    )
    tried = tuple(form for item in kept for form in chosen.forms(item))
    made: dict[str, list[Item]] = {item.item_id: [item] for item in kept}
    for form in tried:
        if form.item is not None:
            made[form.standard.item_id].append(form.item)
    name, exemplars = (items.name, items.exemplars) if isinstance(items, ItemSet) else ("items", ())
    notes = items.notes if isinstance(items, ItemSet) else ()
    everything = tuple(each for forms_of in made.values() for each in forms_of)
    return Perturbed(ItemSet(f"{name}, perturbed", everything, exemplars, notes), tried, (*left_out, *unfit))


def _sorted_out(items: Sequence[Item]) -> tuple[list[Item], list[Refusal]]:
    """Standard items that can be perturbed, one a question, and the others with the reason."""
    kept: dict[str, Item] = {}
    unfit = []
    for item in items:
        why = ""
        if not item.is_standard:
            why = "its passage is perturbed already"
        elif item.documents or not item.context:
            why = "it has no single passage"
        elif kind_of(item.answer_type) is PerturbationKind.NONE:
            why = f"an answer of type {item.answer_type} is not perturbed; year, number, name and city are"
        elif answers.normalise(item.gold_answer, item.answer_type, item.unit) is None:
            why = f"the gold answer is no {item.answer_type}"
        elif item.question_id in kept:
            why = f"another passage of the question {item.question_id} is perturbed; give each its own question_id"
        if why:
            unfit.append(Refusal(item.item_id, item.question, item.gold_answer, why))
        else:
            kept[item.question_id] = item
    return list(kept.values()), unfit
