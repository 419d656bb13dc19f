"""Which answers are preset, and in which order the judge reads them [CFMAD 3.1, 4.4, A.2, B.2]."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from srdcr_lab import answers, prompts
from srdcr_lab.prompts.blocks import named
from srdcr_lab.protocols import cfmad_baselines
from srdcr_lab.protocols.answering import SELF_CONSISTENCY, Answer, SelfConfidence, prior_answer, self_confidence
from srdcr_lab.protocols.asking import PAPER, CounterfactualDesign, Question, Said, debate_of
from srdcr_lab.protocols.cfmad_baselines import by_votes, chains_of_thought
from srdcr_lab.protocols.method import Method, Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import GREEDY, Completion, Decision, Item, Needs, Option, Request, Role

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


# -- CFMAD [CFMAD 3]: every preset answer is defended and attacked, and a third party reads all debates and answers

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
    rounds = [abductions, *await cfmad_baselines.updates(preset.question, abductions, cfmad_baselines.ROUNDS - 1)]
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


# -- CFMAD where confidence is low: an experiment of ours, in neither paper


async def cfmad_when_unsure(item: Item, setup: Setup) -> Outcome:
    """Conf ≥ τ → the short answer (USE_PRIOR), 1 call with log-probabilities; else CFMAD, 11 calls (a claim: 8)."""
    short, confidence = await short_answer(item, setup)
    if confidence.value >= setup.choices.tau:
        return Outcome(answer=short, decision=Decision.USE_PRIOR, confidence=confidence)
    return replace(await cfmad(item, setup), confidence=confidence)


async def short_answer(item: Item, setup: Setup) -> tuple[Answer, SelfConfidence]:
    """The answer without reasons, and the confidence in it; NaN where it could not be read."""
    if not item.options:
        short = await prior_answer(item, setup)
        return short, await self_confidence(item, short, setup)
    (short,) = await _labels(item, setup, GREEDY)

    async def again() -> tuple[Answer, ...]:
        return await _labels(item, setup, SELF_CONSISTENCY, setup.choices.consistency_draws)

    shown = "\n".join([*map(named, item.options), item.question])  # what a stated confidence is asked about
    return short, await self_confidence(replace(item, question=shown), short, setup, again)


async def _labels(item: Item, setup: Setup, stream: str, n: int = 1) -> tuple[Answer, ...]:
    request = Request(
        messages=prompts.render("option_answer", question=item.question, passage=item.context, options=item.options),
        max_tokens=setup.choices.answer_tokens,
        temperature=0.0 if stream == GREEDY else setup.choices.sampling_temperature,
        logprobs=stream == GREEDY,
        seed=setup.seed,
        stream=stream,
        draws=tuple(range(n)),
    )
    completions = await setup.cast.answerer.complete(request)
    return tuple(Answer(answers.extract_option(each.text, item.options), each, stream) for each in completions)


CFMAD_WHEN_UNSURE = Method(
    "cfmad_when_unsure", cfmad_when_unsure, debates=True, uses_confidence=True, needs=Needs.QUESTION
)
