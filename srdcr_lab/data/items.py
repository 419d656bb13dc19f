"""Items with the exemplars that may be shown beside them, and a seeded, stratified choice of fewer."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item
from srdcr_lab.records.files import from_plain

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


# -- exemplars that are never evaluated: a table's own, the shipped ones, or questions set aside

_SET_ASIDE = 8  # exemplars taken from a domain where the table brings none


def as_exemplar(item: Item) -> Exemplar:
    return Exemplar(question=item.question, answer=item.gold_answer, context=item.context, domain=item.domain)


def with_exemplars(name: str, items: list[Item], own: tuple[Exemplar, ...], pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items with a pool of exemplars disjoint from them.

    Exemplars are `own` ones and those of `pool`. A domain with fewer than four of them sets some of its questions
    aside, where it is large enough; else exemplars of other domains serve. What was done stands in the notes.

    Raises
    ------
    BadInput
        If fewer than four exemplars come together.
    """
    evaluated = {item.question for item in items}
    exemplars = list(own) + [exemplar for exemplar in pool if exemplar.question not in evaluated]
    notes = []
    for domain in dict.fromkeys(item.domain for item in items if not item.options):  # those are asked zero-shot
        if sum(exemplar.domain == domain for exemplar in exemplars) >= 4:
            continue
        questions = list(
            dict.fromkeys(item.question_id for item in items if item.domain == domain and item.is_standard)
        )
        if len(questions) < 5 * _SET_ASIDE:
            notes.append(
                f"domain {domain}: fewer than four exemplars of its own, so those of other domains are shown with it"
            )
            continue
        aside = set(questions[:: len(questions) // _SET_ASIDE][:_SET_ASIDE])
        exemplars += [as_exemplar(item) for item in items if item.question_id in aside and item.is_standard]
        items = [item for item in items if item.question_id not in aside]
        notes.append(
            f"domain {domain}: {len(aside)} of its questions were set aside as exemplars and are not evaluated"
        )
    if len(exemplars) < 4:
        raise BadInput(f"{name}: a few-shot prompt needs four exemplars; mark rows with the column is_exemplar")
    return ItemSet(name, tuple(items), tuple(exemplars), tuple(notes))


# -- an item set as one JSON file: every field of every item and exemplar, so that a run carries what it was asked

ENDING = ".json"
_VERSION = 1
_BEGINNING = b'{"srdcr_items"'


def freeze(items: ItemSet) -> str:
    """The set as JSON text, one item a line; `thaw` gives the same set back."""
    lines = ",\n".join(json.dumps(asdict(item), ensure_ascii=False) for item in items.items)
    exemplars = ",\n".join(json.dumps(asdict(exemplar), ensure_ascii=False) for exemplar in items.exemplars)
    head = json.dumps({"srdcr_items": _VERSION, "name": items.name, "notes": items.notes}, ensure_ascii=False)
    return f'{head[:-1]},\n"items": [\n{lines}\n],\n"exemplars": [\n{exemplars}\n]}}\n'


def is_frozen(path: Path) -> bool:
    """Whether a file begins as `freeze` writes it; any other ``.json`` is a table."""
    if path.suffix.lower() != ENDING or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def thaw(path: Path) -> ItemSet:
    """The set that `freeze` wrote into a file.

    Raises
    ------
    BadInput
        If the file is not one of these, naming the item and the field.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        version = content["srdcr_items"]
        name, notes = content["name"], content["notes"]
        items, exemplars = content["items"], content["exemplars"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path} is no items file of srdcr_lab; give one that a run wrote, or a CSV") from None
    if version != _VERSION:
        raise BadInput(f"{path} has items of version {version}, this srdcr_lab reads version {_VERSION}")
    return ItemSet(
        str(name),
        tuple(from_plain(Item, item, f"{path}, item {number}") for number, item in enumerate(items, start=1)),
        tuple(
            from_plain(Exemplar, each, f"{path}, exemplar {number}") for number, each in enumerate(exemplars, start=1)
        ),
        tuple(map(str, notes)),
    )
