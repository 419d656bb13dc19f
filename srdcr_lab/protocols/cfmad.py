"""CFMAD [CFMAD 3]: every preset answer is defended and attacked, and a judge reads all debates and answers.

First which answers are preset, then how each is debated, then the ablations and an experiment of ours.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from srdcr_lab.protocols.answering import Outcome, answered, prior_answer, self_confidence
from srdcr_lab.protocols.counterfactual import PAPER, CounterfactualDesign, Question, by_votes, updates
from srdcr_lab.protocols.speaking import Setup, no_answer
from srdcr_lab.records import Decision, Item, Option, Role, Turn

T = TypeVar("T")
Case = Sequence[Turn]  # all that is said about one stance, in order
Examination = Callable[[Question, Sequence[Option], Sequence[Turn]], Awaitable[Sequence[Case]]]


async def preset_stances(question: Question) -> tuple[tuple[Option, ...], tuple[Turn, ...]]:
    """The stances of a debate in reading order, and the chains of thought that they come from [CFMAD 3.1, A.2, B.2].

    All options where there are no more of them than stances (a claim is true or false): nothing is asked. Otherwise the
    most frequent chain-of-thought answer and seeded random others, or these alone where none could be read. For an open
    question the distinct chain-of-thought answers, the most frequent first, become its options. A larger number of
    stances includes those of a smaller one, so that the numbers can be compared.
    """
    design, options = question.design, question.options
    if options and len(options) <= design.stances:
        return as_read(question, options), ()
    drawn = await question.chains_of_thought(design.candidates)
    ranked = [turn.stated_answer or "" for turn in by_votes(drawn, question.item)]
    if options:
        favourite = [option for option in options if option.label in ranked[:1]]
        others = _shuffled(question, "others", [option for option in options if option not in favourite])
        return as_read(question, [*favourite, *others][: design.stances]), drawn
    values = _shuffled(question, "labels", ranked[: design.stances])  # or A would be the most frequent answer
    question.options = tuple(Option(label=label, text=value) for label, value in zip("ABCDE", values, strict=False))
    return as_read(question, question.options), drawn


def as_read(question: Question, chosen: Sequence[Option]) -> tuple[Option, ...]:
    """The stances in the order in which the judge reads them, seeded by the question [CFMAD 4.4]."""
    everyone = _shuffled(question, "order", question.options)
    order = sorted(chosen, key=everyone.index)
    return tuple(reversed(order) if question.design.swap else order)


def _shuffled(question: Question, what: str, values: Sequence[T]) -> list[T]:
    order = list(values)
    seeds = (question.setup.seed, question.design.order_seed, question.item.question_id)
    random.Random("|".join(["stances", what, *map(str, seeds)])).shuffle(order)
    return order


async def debated(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> list[Case]:
    """Each stance and its critic, by themselves, for the design's rounds."""
    return await asyncio.gather(*map(partial(_debate, question), stances, abductions))


async def cfmad(
    item: Item, setup: Setup, *, design: CounterfactualDesign = PAPER, examine: Examination = debated
) -> Outcome:
    """Preset stances, an abduction for each, their examination, the judge. An ablation is another examination.

    3 chains of thought where stances have to be chosen, s · (1 + 2 · rounds) turns, 1 judge: 10 calls by default, 7 for
    a claim. An open question whose chains of thought agree has one candidate: that is the answer, agreed in round 0,
    and nothing is debated. Where they give none, it is UNPARSED.
    """
    question = Question(item, setup, design)
    stances, drawn = await preset_stances(question)
    if len(stances) < 2:
        first = next((turn for turn in drawn if turn.stated_answer is not None), drawn[0])
        return answered(question.answer(first), question.debate(drawn), agreed_round=0 if stances else None)
    abduce = partial(question.ask, Role.DEFENDER, "stance_abduction", reads=no_answer)
    abductions = await asyncio.gather(*(abduce(stance=stance) for stance in stances))
    cases = await examine(question, stances, abductions)
    heard = [turn for case in cases for turn in case]
    last, debates = max(turn.round for turn in heard), list(zip(stances, cases, strict=True))
    ruling = await question.ask(Role.JUDGE, "stance_judge", stream="judge", round_=last, heard=heard, debates=debates)
    as_spoken = sorted(heard, key=lambda turn: turn.round)  # within a round by stance, in the judge's order
    return answered(question.answer(ruling), question.debate([*drawn, *as_spoken, ruling]))


async def _debate(question: Question, stance: Option, abduction: Turn) -> Case:
    case = [abduction]
    for round_ in range(1, question.design.rounds + 1):
        case.append(await _speak(question, Role.CRITIC, "stance_critic", stance, case, round_))
        case.append(await _speak(question, Role.DEFENDER, "stance_rebuttal", stance, case, round_))
    return case


async def _speak(question: Question, role: Role, template: str, stance: Option, case: Case, round_: int = 1) -> Turn:
    """The next turn about one stance, by somebody who has heard all that was said about it and nothing else."""
    reads = question.read if role is Role.DEFENDER else no_answer
    return await question.ask(role, template, stance=stance, heard=case, round_=round_, reads=reads)


async def undebated(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> list[Case]:
    """Direct judge: the abductions alone [CFMAD 4.3.2]."""
    return [[turn] for turn in abductions]


async def reflected(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> list[Case]:
    """Replaced with self-reflection: each defender examines its own reasons once."""
    reflect = partial(_speak, question, Role.DEFENDER, "stance_reflection")
    openings = [[turn] for turn in abductions]
    replies = await asyncio.gather(*map(reflect, stances, openings))
    return [[*opening, reply] for opening, reply in zip(openings, replies, strict=True)]


async def as_equals(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> list[Case]:
    """Replaced with MAD: the abductions are the openings of three rounds among the defenders."""
    return list(zip(abductions, *await updates(question, abductions), strict=True))


async def cfmad_when_unsure(item: Item, setup: Setup) -> Outcome:
    """Conf ≥ τ → the short answer (USE_PRIOR), 1 call with log-probabilities; else CFMAD, 11 calls (claim: 8). Ours."""
    short = await prior_answer(item, setup)
    confidence = await self_confidence(item, short, setup)
    if confidence.value >= setup.choices.tau:
        return Outcome(answer=short, decision=Decision.USE_PRIOR, confidence=confidence)
    return replace(await cfmad(item, setup), confidence=confidence)
