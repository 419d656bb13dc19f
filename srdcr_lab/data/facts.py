"""The shipped facts: standard items, and testbeds of paired standard and perturbed ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import cycle

from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.data.perturbations import YEAR_OFFSETS, offset_year, signed, year_forms
from srdcr_lab.data.tables import items_from_frame, read_table
from srdcr_lab.records import Exemplar, Item
from srdcr_lab.shipped import folder


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The shipped pool, disjoint from the questions."""
    frame = read_table(folder("facts") / "exemplars.csv")
    return tuple(
        Exemplar(question=row["question"], answer=row["gold_answer"], context=row["context"], domain=row["domain"])
        for row in frame.to_dict("records")
    )


@cache
def standard() -> ItemSet:
    """`facts`: every shipped question with its true passage."""
    frame = read_table(folder("facts") / "facts.csv")
    frame["item_id"] = frame["question_id"]
    return items_from_frame(frame, "facts", exemplars())


def testbed(seed: int = 0, offsets: Sequence[int] = YEAR_OFFSETS, *, every_mention: bool = True) -> ItemSet:
    """`facts:testbed`: each question once with its true passage and once with a false one (paper, 4.4).

    Signed offsets go round over the shuffled questions, so that offsets and signs are balanced.
    """
    order = list(standard().items)
    random.Random(seed).shuffle(order)
    turns = dict(zip((item.item_id for item in order), cycle(signed(offsets)), strict=False))
    pairs = ((item, offset_year(item, turns[item.item_id], every_mention=every_mention)) for item in standard().items)
    return _set("facts:testbed", [form for pair in pairs for form in pair])


def grid(offsets: Sequence[int] = YEAR_OFFSETS, *, every_mention: bool = True) -> ItemSet:
    """`facts:grid`: every question standard and under every one of its perturbations."""
    forms = (year_forms(item, offsets, every_mention=every_mention) for item in standard())
    return _set("facts:grid", [form for of_one in forms for form in of_one])


def _set(name: str, items: list[Item]) -> ItemSet:
    return ItemSet(name, tuple(items), exemplars())
