"""Items with the exemplars that may be shown beside them, and a seeded, stratified choice of fewer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd


Group = list[Item]  # the forms of one question
Stratum = Callable[[Group], object]
STRATA: tuple[Stratum, ...] = (
    lambda group: group[0].domain,
    lambda group: tuple(item.level for item in group),
    lambda group: tuple(item.perturbation_value for item in group),
)


@dataclass(frozen=True)
class ItemSet:
    """Items to evaluate, in a fixed order, and a disjoint pool of exemplars.

    `notes` are sentences on how the set came about that a reader of the results should know.
    """

    name: str
    items: tuple[Item, ...]
    exemplars: tuple[Exemplar, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        evaluated = {item.question for item in self.items}
        for exemplar in self.exemplars:
            if exemplar.question in evaluated:
                raise BadInput(
                    f"{self.name}: the exemplar {exemplar.question!r} is also evaluated; take it out of one of the two"
                )

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def frame(self) -> pd.DataFrame:
        """One row an item, with the columns of `Item`."""
        import pandas as pd

        columns = [field.name for field in fields(Item)]
        return pd.DataFrame([{name: getattr(item, name) for name in columns} for item in self.items], columns=columns)

    def true_year(self, item_id: str | None = None) -> Item:
        """The standard item of that id whose answer is a year; where there is none, the first such item."""
        years = [item for item in self.items if item.is_standard and item.answer_type is AnswerType.YEAR]
        if not years:
            raise BadInput(f"{self.name} has no true passage whose answer is a year")
        return next((item for item in years if item.item_id == item_id), years[0])

    def pool(self, item: Item) -> tuple[Exemplar, ...]:
        """Exemplars of the item's domain; where there are fewer than four, of all domains."""
        own = tuple(exemplar for exemplar in self.exemplars if exemplar.domain == item.domain)
        return own if len(own) >= 4 else self.exemplars

    def limit(self, n: int | None, seed: int = 0) -> ItemSet:
        """At most `n` items: whole questions, drawn with a seed in proportion to domains, levels and perturbations.

        A question's items stay together, so that standard and perturbed forms remain paired; only where not even one
        question fits is it cut.
        """
        if n is None or n >= len(self.items):
            return self
        if n < 1:
            raise BadInput(f"--limit must be at least 1, got {n}")
        questions: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            questions[item.question_id].append(item)
        chosen: list[Item] = []
        groups = _in_proportion(list(questions.values()), STRATA, random.Random(seed))
        for group in groups:
            if len(chosen) + len(group) <= n:
                chosen += group
        chosen = chosen or groups[0][:n]
        keep = {item.item_id for item in chosen}
        return replace(self, items=tuple(item for item in self.items if item.item_id in keep))


def _in_proportion(groups: Sequence[Group], strata: Sequence[Stratum], rng: random.Random) -> list[Group]:
    """Groups in a seeded order of which every beginning holds each stratum by its share, within one group.

    The j-th of a stratum's m groups has the place (j + u) / m, with one random u in [0, 1) for the stratum; finer
    strata spread within the coarser ones in the same way.
    """
    if not strata:
        return rng.sample(groups, len(groups))
    parts: dict[object, list[Group]] = defaultdict(list)
    for group in groups:
        parts[strata[0](group)].append(group)
    places: list[tuple[float, Group]] = []
    for part in parts.values():
        start = rng.random()
        places += [((j + start) / len(part), each) for j, each in enumerate(_in_proportion(part, strata[1:], rng))]
    return [group for _, group in sorted(places, key=lambda place: place[0])]


def answer_types() -> str:
    return ", ".join(kind.value for kind in AnswerType)
