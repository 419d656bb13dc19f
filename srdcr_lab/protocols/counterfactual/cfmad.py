"""CFMAD [CFMAD 3]: every preset answer is defended and attacked, and a third party reads all debates and answers.

Abduction: a defender explains why its answer is right, whatever the model believes. Debate: a critic attacks that
answer, and the same stance replies and says which answer it holds now; one round by default. Then the judge.

The ablations [CFMAD 4.3.2] put something else between abductions and judge: nothing, a reflection of each defender on
its own reasons, or a debate of the defenders as equals.

Each stance is attacked for its own answer and defends its own (a released script shows the negative side the prompt in
place of its reply, and asks it why the claim is true).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.counterfactual import agents
from srdcr_lab.protocols.counterfactual.asking import Question, Said, debate_of
from srdcr_lab.protocols.counterfactual.design import PAPER, CounterfactualDesign
from srdcr_lab.protocols.counterfactual.stances import Preset, preset_stances
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Completion, Item, Needs, Option, Role

Case = list[Said]  # all that is said about one stance, in order
Examination = Callable[[Preset, list[Said]], Awaitable[list[Case]]]


async def examined(item: Item, setup: Setup, examine: Examination, design: CounterfactualDesign = PAPER) -> Outcome:
    """Preset stances, their abductions, what comes between, the judge.

    An open question whose chains of thought agree has one candidate: that is the answer, agreed in round 0, and nothing
    is debated. Where they give none, it is UNPARSED.
    """
    preset = await preset_stances(Question(item, setup, design))
    if len(preset.stances) < 2:
        answer = _first_read(preset.drawn)
        agreed = 0 if answer.value is not None else None
        return replace(given(answer, debate_of(preset.drawn)), agreed_round=agreed)
    abductions = list(await asyncio.gather(*(_abduce(preset.question, stance) for stance in preset.stances)))
    cases = await examine(preset, abductions)
    ruling = await _judge(preset, cases)
    return given(ruling.answer, debate_of([*preset.drawn, *_as_spoken(cases), ruling]))


async def debated(preset: Preset, abductions: list[Said]) -> list[Case]:
    """Each stance and its critic, by themselves, for the design's rounds."""
    pairs = zip(preset.stances, abductions, strict=True)
    return list(await asyncio.gather(*(_debate(preset.question, stance, opening) for stance, opening in pairs)))


async def undebated(preset: Preset, abductions: list[Said]) -> list[Case]:
    """Direct judge: the abductions alone."""
    return [[said] for said in abductions]


async def reflected(preset: Preset, abductions: list[Said]) -> list[Case]:
    """Replaced with self-reflection: each defender examines its own reasons once."""
    pairs = zip(preset.stances, abductions, strict=True)
    reflect = partial(_speak, preset.question, Role.DEFENDER, "stance_reflection", 1)
    replies = await asyncio.gather(*(reflect(stance, [opening]) for stance, opening in pairs))
    return [[opening, reply] for opening, reply in zip(abductions, replies, strict=True)]


async def as_equals(preset: Preset, abductions: list[Said]) -> list[Case]:
    """Replaced with MAD: the abductions are the openings of three rounds among the defenders."""
    rounds = [abductions, *await agents.updates(preset.question, abductions, agents.ROUNDS - 1)]
    return [list(case) for case in zip(*rounds, strict=True)]


async def _abduce(question: Question, stance: Option) -> Said:
    (said,) = await question.ask(
        Role.DEFENDER,
        "stance_abduction",
        stream=f"stance-{stance.label}",
        speaker=stance.label,
        stance=stance,
        answers_it=False,
    )
    return said


async def _debate(question: Question, stance: Option, opening: Said) -> Case:
    case = [opening]
    for round_ in range(1, question.design.rounds + 1):
        case.append(await _speak(question, Role.CRITIC, "stance_critic", round_, stance, case))
        case.append(await _speak(question, Role.DEFENDER, "stance_rebuttal", round_, stance, case))
    return case


async def _speak(question: Question, role: Role, template: str, round_: int, stance: Option, case: Case) -> Said:
    """The next turn about one stance, by somebody who has heard all that was said about it and nothing else."""
    (said,) = await question.ask(
        role,
        template,
        stream=f"stance-{stance.label}",
        round_=round_,
        heard=case,
        speaker=stance.label,
        stance=stance,
        answers_it=role is Role.DEFENDER,
        transcript=[each.turn for each in case],
    )
    return said


async def _judge(preset: Preset, cases: Sequence[Case]) -> Said:
    """The judge reads every stance's debate, in the order of the stances."""
    shown = [(stance, [said.turn for said in case]) for stance, case in zip(preset.stances, cases, strict=True)]
    (ruling,) = await preset.question.ask(
        Role.JUDGE,
        "stance_judge",
        stream="judge",
        round_=max(said.turn.round for case in cases for said in case),
        heard=[said for case in cases for said in case],
        debates=shown,
    )
    return ruling


def _as_spoken(cases: Sequence[Case]) -> list[Said]:
    """Turns by round, within a round by stance: the first turns stand in the judge's order."""
    return sorted((said for case in cases for said in case), key=lambda said: said.turn.round)


def _first_read(drawn: Sequence[Said]) -> Answer:
    read = [said.answer for said in drawn if said.turn.stated_answer is not None]
    return read[0] if read else Answer(None, drawn[0].turn.completion or Completion(drawn[0].text))


def cfmad_method(name: str, design: CounterfactualDesign) -> Method:
    """CFMAD under another design, as a method with a name of its own."""
    return Method(name, partial(cfmad, design=design), debates=True, needs=Needs.QUESTION)


async def cfmad(item: Item, setup: Setup, *, design: CounterfactualDesign = PAPER) -> Outcome:
    """3 chains of thought where stances have to be chosen, s · (1 + 2 · rounds) turns, 1 judge: 10 calls by default, 7
    for a claim."""
    return await examined(item, setup, debated, design)


CFMAD = cfmad_method("cfmad", PAPER)
CFMAD_SWAPPED = cfmad_method("cfmad_swapped", replace(PAPER, swap=True))
CFMAD_STANCES = tuple(cfmad_method(f"cfmad_stances_{n}", replace(PAPER, stances=n)) for n in (3, 4, 5))
CFMAD_ROUNDS = tuple(cfmad_method(f"cfmad_rounds_{n}", replace(PAPER, rounds=n)) for n in (2, 3, 4, 5))
ABLATIONS = tuple(
    Method(name, partial(examined, examine=examine), debates=True, needs=Needs.QUESTION)
    for name, examine in (
        ("direct_judge", undebated),
        ("replace_with_self_reflection", reflected),
        ("replace_with_mad", as_equals),
    )
)
