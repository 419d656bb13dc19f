"""The shipped facts as questions with options and as claims: `facts:options`, `facts:claims`. No passage is shown.

Wrong options are right answers to other questions of the same domain, so their form gives nothing away. The invented
subjects take no part: they have no answer that could be known.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import cache

from srdcr_lab import answers
from srdcr_lab.data import facts
from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.records import AnswerType, Item, Option

LETTERS = "ABCD"
TRUE_OR_FALSE = (Option(label="true", text="true"), Option(label="false", text="false"))
_NEAREST = 12  # numbers to draw from: a dose among crowds would be an answer


@cache
def options(seed: int = 0) -> ItemSet:
    """`facts:options`: every fact with its gold answer and three others of its domain, in seeded order."""
    return _set("facts:options", _with_options, seed)


@cache
def claims(seed: int = 0) -> ItemSet:
    """`facts:claims`: every fact as a claim, true for half of each domain, else with another answer of its domain."""
    return _set("facts:claims", _as_claim, seed)


Maker = Callable[[Item, "_Others", random.Random, int], Item]


def _set(name: str, make: Maker, seed: int) -> ItemSet:
    known = [item for item in facts.standard() if item.question_id not in facts.invented()]
    others = _Others(known)
    made = []
    for domain in dict.fromkeys(item.domain for item in known):
        members = [item for item in known if item.domain == domain]
        turns = list(range(len(members)))  # which of them are true claims
        random.Random(f"{name}|{seed}|{domain}").shuffle(turns)
        for item, turn in zip(members, turns, strict=True):
            made.append(make(item, others, random.Random(f"{name}|{seed}|{item.question_id}"), turn))
    return ItemSet(name, tuple(made), facts.exemplars())


def _with_options(item: Item, others: _Others, rng: random.Random, turn: int) -> Item:
    texts = [item.gold_answer, *others.drawn(item, rng, len(LETTERS) - 1)]
    rng.shuffle(texts)
    offered = tuple(Option(label=label, text=text) for label, text in zip(LETTERS, texts, strict=False))
    gold = next(option.label for option in offered if option.text == item.gold_answer)
    return _asked(item, item.question, offered, gold)


def _as_claim(item: Item, others: _Others, rng: random.Random, turn: int) -> Item:
    true = turn % 2 == 0
    asserted = item.gold_answer if true else others.drawn(item, rng, 1)[0]
    claim = f'Is this claim true or false? The answer to the question "{item.question}" is {asserted}.'
    return _asked(item, claim, TRUE_OR_FALSE, "true" if true else "false")


def _asked(item: Item, question: str, offered: tuple[Option, ...], gold: str) -> Item:
    return Item(
        item_id=item.item_id,
        question_id=item.question_id,
        question=question,
        gold_answer=gold,
        context="",
        claimed_answer=gold,
        domain=item.domain,
        answer_type=AnswerType.OPTION,
        options=offered,
    )


class _Others:
    """Right answers to other questions, by domain."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def drawn(self, item: Item, rng: random.Random, n: int) -> list[str]:
        """`n` answers of the item's domain that are different from its own and from each other."""
        pool = dict.fromkeys(each.gold_answer for each in self._items if each.domain == item.domain)
        different = [each for each in pool if not _same(each, item.gold_answer, item)]
        if item.answer_type is AnswerType.NUMBER:
            different = sorted(different, key=lambda answer: _unlike(answer, item.gold_answer))[:_NEAREST]
        rng.shuffle(different)
        chosen: list[str] = []
        for each in different:
            if len(chosen) < n and not any(_same(each, other, item) for other in chosen):
                chosen.append(each)
        return chosen


def _same(a: str, b: str, item: Item) -> bool:
    return answers.equal(a, b, item.answer_type, "", item.aliases if b == item.gold_answer else ())


def _unlike(answer: str, gold: str) -> tuple[bool, float]:
    """Whether two numbers are written differently ("9", "9.58", "2:01:39"), and how many times one is the other."""
    value, other = _value(answer), _value(gold)
    written = [(":" in each, "." in each) for each in (answer, gold)]
    return written[0] != written[1], abs(math.log(value / other)) if value > 0 and other > 0 else math.inf


def _value(answer: str) -> float:
    inferred = answers.infer_unit(answer)
    try:
        return float(inferred[0]) if inferred else 0.0
    except ValueError:  # 2:01:39
        return 0.0
