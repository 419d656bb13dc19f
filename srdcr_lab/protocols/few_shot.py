"""The answer to question and passage as it is: with four exemplars [4, baseline 1], and without any."""

from __future__ import annotations

from srdcr_lab.protocols.answering import context_answer, zero_shot_answer
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item


async def few_shot(item: Item, setup: Setup) -> Outcome:
    """The context answer: four seeded random in-domain exemplars, question and passage [A.2]."""
    return given(await context_answer(item, setup))


async def zero_shot(item: Item, setup: Setup) -> Outcome:
    """The same without exemplars."""
    return given(await zero_shot_answer(item, setup))


FEW_SHOT = Method("few_shot", few_shot)
ZERO_SHOT = Method("zero_shot", zero_shot)
