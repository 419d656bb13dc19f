"""The shipped facts: standard items, and testbeds of paired standard and perturbed ones."""

from __future__ import annotations

import random
from functools import cache

from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.data.perturbations import SIGNED_YEAR_OFFSETS, offset_year, year_forms
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


def testbed(seed: int = 0) -> ItemSet:
    """`facts:testbed`: each question once with its true passage and once with a false one (paper, 4.4).

    Signed offsets go round over the shuffled questions, so that offsets and signs are balanced.
    """
    items = standard().items
    order = list(items)
    random.Random(seed).shuffle(order)
    offsets = {item.item_id: SIGNED_YEAR_OFFSETS[i % len(SIGNED_YEAR_OFFSETS)] for i, item in enumerate(order)}
    return _set("facts:testbed", [form for item in items for form in (item, offset_year(item, offsets[item.item_id]))])


def grid() -> ItemSet:
    """`facts:grid`: every question standard and under every one of its perturbations."""
    return _set("facts:grid", [form for item in standard() for form in year_forms(item)])


def _set(name: str, items: list[Item]) -> ItemSet:
    return ItemSet(name, tuple(items), exemplars())
