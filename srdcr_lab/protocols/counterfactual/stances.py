"""Which answers are preset, and in which order the judge reads them [CFMAD 3.1, 4.4, A.2, B.2]."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from srdcr_lab.protocols.counterfactual.asking import Question, Said
from srdcr_lab.protocols.counterfactual.chain_of_thought import by_votes, chains_of_thought
from srdcr_lab.records import Option

_LETTERS = "ABCDE"


@dataclass(frozen=True)
class Preset:
    """The question with its options, the preset stances in reading order, and the chains of thought they came from."""

    question: Question
    stances: tuple[Option, ...]
    drawn: tuple[Said, ...] = ()


async def preset_stances(question: Question) -> Preset:
    """Choose the stances of a debate.

    All options where there are no more of them than stances (a claim is true or false), without asking anything. Else
    the most frequent of three chain-of-thought answers and seeded random others; where none could be read, random
    ones alone. For an open question the distinct chain-of-thought answers, the most frequent first, as options. More
    stances are always fewer stances and others, so that numbers of stances can be compared.
    """
    design, options = question.design, question.item.options
    if options and len(options) <= design.stances:
        return Preset(question, as_read(question, options))
    drawn = await chains_of_thought(question, design.candidates)
    ranked = [said.turn.stated_answer or "" for said in by_votes(drawn, question.item)]
    if options:
        favourite = [option for option in options if option.label in ranked[:1]]
        others = _shuffled(question, "others", [option for option in options if option not in favourite])
        return Preset(question, as_read(question, [*favourite, *others][: design.stances]), drawn)
    unlabelled = [Option(label="", text=value) for value in ranked[: design.stances]]
    shuffled = enumerate(_shuffled(question, "labels", unlabelled))  # or A would be the most frequent answer
    candidates = [Option(label=_LETTERS[place], text=option.text) for place, option in shuffled]
    return Preset(question.among(candidates), as_read(question, candidates), drawn)


def as_read(question: Question, chosen: Sequence[Option]) -> tuple[Option, ...]:
    """The stances in the order in which the judge reads them: seeded by the question, reversed by `swap`."""
    everyone = _shuffled(question, "order", question.item.options or chosen)
    order = sorted(chosen, key=everyone.index)
    return tuple(reversed(order) if question.design.swap else order)


def _shuffled(question: Question, what: str, options: Sequence[Option]) -> list[Option]:
    order = list(options)
    seeds = (question.setup.seed, question.design.order_seed, question.item.question_id)
    random.Random("|".join(["stances", what, *map(str, seeds)])).shuffle(order)
    return order
