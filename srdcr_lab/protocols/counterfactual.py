"""CFMAD [CFMAD 3]: every preset answer is defended and attacked, and a judge reads all debates and answers.

First how these methods ask, then CFMAD and its ablations, an experiment of ours, and the methods that CFMAD is compared
with [CFMAD B.2, C]: chain of thought, self-consistency, self-reflection, self-contrast, multi-agent debate (MAD).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from srdcr_lab import answers
from srdcr_lab.answers.wording import announced
from srdcr_lab.prompts.readers import answer_line, dashed_lines
from srdcr_lab.protocols import answering
from srdcr_lab.protocols.answering import Conversation, Outcome, Setup, answered, no_answer
from srdcr_lab.records import Decision, Item, Option, Role, Turn

_T = TypeVar("_T")
Case = Sequence[Turn]  # all that is said about one stance, in order
Examination = Callable[["Question", Sequence[Option], Sequence[Turn]], Awaitable[Sequence[Case]]]

TEMPERATURE = 0.2  # of every call but the votes of self-consistency
CANDIDATES = 3  # chains of thought from which preset answers are chosen


class Question(Conversation):
    """A conversation whose speakers are shown options and end with a line ``answer: …``.

    `options` are those of the item; for an open question the candidates, once `preset_stances` has drawn them. An
    answer is a label if the item has options of its own, otherwise the value of a candidate.
    """

    def __init__(self, item: Item, setup: Setup) -> None:
        super().__init__(item, setup, setup.choices.debate_tokens, TEMPERATURE)
        self.options = item.options

    def value_of(self, option: Option) -> str:
        """The answer that an option stands for."""
        return option.label if self.item.options else option.text

    def part(self, reply: str) -> str:
        """The text after ``answer:`` on the last line, or what is announced elsewhere; a reply of up to three words."""
        return answer_line(reply) or "\n".join(announced(reply)) or (reply if len(reply.split()) <= 3 else "")

    def read(self, reply: str) -> str | None:
        """The answer with which a reply ends; None if it names none, or not exactly one option."""
        if not self.options:
            return answers.read(self.part(reply), self.item)
        label = answers.extract_option(self.part(reply), self.options)
        value = None if self.item.options or label else answers.read(self.part(reply), self.item)  # spelled otherwise
        said = (o for o in self.options if o.label == label or answers.says_the_same(value, o.text, self.item))
        return next(map(self.value_of, said), None)

    async def draw(self, role: Role, template: str, **how: Any) -> tuple[Turn, ...]:
        """As in every conversation. A speaker with a ``stance``, one of the options, is named by its label."""
        own: dict[str, Any] = {"options": self.options, "sees_passage": bool(self.item.context), "stance": None}
        if stance := how.get("stance"):
            own |= {"speaker": stance.label, "stream": f"stance-{stance.label}", "defends": self.value_of(stance)}
        return await super().draw(role, template, **(own | how))

    async def chains_of_thought(self, n: int) -> tuple[Turn, ...]:
        """Draws of the chain-of-thought prompt. Methods share the stream: all that take n begin with the same n."""
        return await self.draw(Role.AGENT, "chain_of_thought", stream="chain_of_thought", speaker="cot", draws=n)


async def preset_stances(
    question: Question, n: int = 2, *, swap: bool = False
) -> tuple[tuple[Option, ...], tuple[Turn, ...]]:
    """n stances in reading order, and the chains of thought that they come from [CFMAD 3.1, A.2, B.2].

    If there are no more than n options (a claim is true or false), all of them, and nothing is asked. Otherwise the
    most frequent chain-of-thought answer and seeded random others, or only others if none could be read. For an open
    question the distinct chain-of-thought answers, the most frequent first, become its options. A larger n includes the
    stances of a smaller one, so that numbers of stances can be compared. `swap` reverses the order and changes nothing
    else.
    """
    options = question.options
    if options and len(options) <= n:
        return _in_reading_order(question, options, swap), ()
    drawn = await question.chains_of_thought(CANDIDATES)
    ranked = [turn.stated_answer or "" for turn in by_votes(drawn, question.item)]
    if options:
        favourite = [option for option in options if option.label in ranked[:1]]
        others = _shuffled(question, "others", [option for option in options if option not in favourite])
        return _in_reading_order(question, [*favourite, *others][:n], swap), drawn
    values = _shuffled(question, "labels", ranked[:n])  # or A would be the most frequent answer
    question.options = tuple(Option(label=label, text=value) for label, value in zip("ABCDE", values, strict=False))
    return _in_reading_order(question, question.options, swap), drawn


def _in_reading_order(question: Question, chosen: Sequence[Option], swap: bool) -> tuple[Option, ...]:
    """The stances in the order in which the judge reads them, seeded by the question [CFMAD 4.4]."""
    order = [option for option in _shuffled(question, "order", question.options) if option in chosen]
    return tuple(reversed(order) if swap else order)


def _shuffled(question: Question, what: str, values: Sequence[_T]) -> list[_T]:
    order = list(values)  # the 0 is part of the seed: another number would draw other orders
    random.Random(f"stances|{what}|{question.setup.seed}|0|{question.item.question_id}").shuffle(order)
    return order


def by_votes(turns: Sequence[Turn], item: Item) -> list[Turn]:
    """The first turn with each distinct answer, the most frequent answer first; among equals the earlier one."""
    return [group[0] for group in sorted(answering.by_answer(turns, item), key=len, reverse=True)]


async def debated(
    question: Question, stances: Sequence[Option], abductions: Sequence[Turn], *, rounds: int = 1
) -> Sequence[Case]:
    """Each stance with its critic, separately, for this many rounds."""
    return await asyncio.gather(*map(partial(_debate, question, rounds), stances, abductions))


async def _debate(question: Question, rounds: int, stance: Option, abduction: Turn) -> Case:
    case = [abduction]
    for round_ in range(1, rounds + 1):
        case.append(await _speak(question, Role.CRITIC, "stance_critic", stance, case, round_))
        case.append(await _speak(question, Role.DEFENDER, "stance_rebuttal", stance, case, round_))
    return case


async def _speak(question: Question, role: Role, template: str, stance: Option, case: Case, round_: int = 1) -> Turn:
    """The next turn about one stance, by a speaker who has heard everything said about it and nothing else."""
    reads = question.read if role is Role.DEFENDER else no_answer
    return await question.ask(role, template, stance=stance, heard=case, round_=round_, reads=reads)


async def undebated(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> Sequence[Case]:
    """Direct judge: only the abductions [CFMAD 4.3.2]."""
    return [[turn] for turn in abductions]


async def reflected(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> Sequence[Case]:
    """Replaced with self-reflection: each defender examines its own reasons once."""
    reflect = partial(_speak, question, Role.DEFENDER, "stance_reflection")
    openings = [[turn] for turn in abductions]
    replies = await asyncio.gather(*map(reflect, stances, openings))
    return [[*opening, reply] for opening, reply in zip(openings, replies, strict=True)]


async def as_equals(question: Question, stances: Sequence[Option], abductions: Sequence[Turn]) -> Sequence[Case]:
    """Replaced with MAD: the abductions are the openings of three rounds among the defenders."""
    return list(zip(*await updated(question, abductions), strict=True))


async def cfmad(
    item: Item, setup: Setup, *, stances: int = 2, swap: bool = False, examine: Examination = debated
) -> Outcome:
    """Preset stances, an abduction for each, their examination, the judge. An ablation is another examination.

    3 chains of thought if stances have to be chosen, s · (1 + 2 · rounds) turns, 1 judge: 10 calls by default, 7 for a
    claim. An open question whose chains of thought agree has one candidate: that is the answer, agreed in round 0, and
    nothing is debated. If the chains of thought give no answer, it is UNPARSED.
    """
    question = Question(item, setup)
    preset, drawn = await preset_stances(question, stances, swap=swap)
    if len(preset) < 2:
        first = next((turn for turn in drawn if turn.stated_answer is not None), drawn[0])
        return answered(question.answer(first), question.debate(drawn), agreed_round=0 if preset else None)
    abduce = partial(question.ask, Role.DEFENDER, "stance_abduction", reads=no_answer)
    abductions = await asyncio.gather(*(abduce(stance=stance) for stance in preset))
    cases = await examine(question, preset, abductions)
    heard = [turn for case in cases for turn in case]
    last, debates = max(turn.round for turn in heard), list(zip(preset, cases, strict=True))
    ruling = await question.ask(Role.JUDGE, "stance_judge", stream="judge", round_=last, heard=heard, debates=debates)
    as_spoken = sorted(heard, key=lambda turn: turn.round)  # within a round by stance, in the judge's order
    return answered(question.answer(ruling), question.debate([*drawn, *as_spoken, ruling]))


async def cfmad_when_unsure(item: Item, setup: Setup) -> Outcome:
    """Conf ≥ τ → the short answer (USE_PRIOR), 1 call with log-probabilities; else CFMAD, 11 calls (claim: 8). Ours."""
    short = await answering.prior_answer(item, setup)
    confidence = await answering.self_confidence(item, short, setup)
    if confidence.value >= setup.choices.tau:
        return Outcome(answer=short, decision=Decision.USE_PRIOR, confidence=confidence)
    return replace(await cfmad(item, setup), confidence=confidence)


async def cot(item: Item, setup: Setup) -> Outcome:
    """One chain of thought, reasons before the answer: 1 call."""
    question = Question(item, setup)
    turns = await question.chains_of_thought(1)
    return answered(question.answer(turns[0]), question.debate(turns))


async def self_consistency(item: Item, setup: Setup) -> Outcome:
    """The most frequent answer of seven draws at temperature 1, among equals the one drawn first: 7 calls."""
    question = Question(item, setup)
    how = {"stream": "votes", "speaker": "vote", "draws": 7, "temperature": 1.0}
    votes = await question.draw(Role.AGENT, "chain_of_thought", **how)
    return answered(question.answer(next(iter(by_votes(votes, item)), votes[0])), question.debate(votes))


async def self_reflection(item: Item, setup: Setup) -> Outcome:
    """R₀, feedback F on it, revision R₁ given both, all by one model: 3 calls."""
    question = Question(item, setup)
    reflect = partial(question.ask, Role.AGENT, stream="reflection")
    (first,) = await question.chains_of_thought(1)
    shown = {"reply": first.text}
    feedback = await reflect("reflection_feedback", speaker="feedback", heard=[first], reads=no_answer, **shown)
    shown |= {"feedback": feedback.text}
    revision = await reflect("reflection_revision", speaker="revision", round_=1, heard=[first, feedback], **shown)
    return answered(question.answer(revision), question.debate([first, feedback, revision]))


# Taken in this order where the model's own reply does not hold three, so that a sample always takes six calls.
OWN_PERSPECTIVES = (
    "Work from the parts to the whole: take each detail of the question by itself first.",
    "Work by exclusion: say for each possible answer what speaks against it.",
    "Work from what usually happens: ask which answer somebody with experience would expect.",
)


async def self_contrast(item: Item, setup: Setup) -> Outcome:
    """Three instructions by the model itself, an answer by each, their comparison, one revision: 6 calls."""
    question = Question(item, setup)
    ask = partial(question.ask, Role.AGENT)
    contrast = partial(ask, stream="contrast")
    written = await contrast("contrast_perspectives", speaker="perspectives", reads=no_answer)
    view = partial(ask, "contrast_view", heard=[written])
    instructions = enumerate(perspectives(written.text))
    views = await asyncio.gather(*(view(speaker=f"view-{i}", instruction=text) for i, text in instructions))
    compare = partial(contrast, round_=1, replies=[turn.text for turn in views])
    comparison = await compare("contrast_comparison", speaker="comparison", heard=views, reads=no_answer)
    heard = [*views, comparison]
    revision = await compare("contrast_revision", speaker="revision", heard=heard, feedback=comparison.text)
    return answered(question.answer(revision), question.debate([written, *heard, revision]))


def perspectives(reply: str) -> list[str]:
    """Three instructions: those of the reply, completed by ours."""
    own = dashed_lines(reply)[: len(OWN_PERSPECTIVES)]
    return own + list(OWN_PERSPECTIVES[len(own) :])


async def mad(item: Item, setup: Setup) -> Outcome:
    """Three agents open by different prompts, two rounds of updates, one judge: 3 · 3 + 1 = 10 calls."""
    question = Question(item, setup)
    templates = enumerate(("mad_expert", "mad_plain", "mad_stepwise"))
    opened = (question.ask(Role.AGENT, template, speaker=f"agent-{i}") for i, template in templates)
    rounds = await updated(question, await asyncio.gather(*opened))
    last = rounds[-1]
    judge = partial(question.ask, Role.JUDGE, "mad_judge", stream="mad", round_=last[0].round)
    ruling = await judge(heard=last, replies=[turn.text for turn in last])
    return answered(question.answer(ruling), question.debate([*(turn for turns in rounds for turn in turns), ruling]))


async def updated(question: Question, openings: Sequence[Turn]) -> list[Sequence[Turn]]:
    """Three rounds, the first of which are these openings; from then on each speaker sees all last replies.

    The speakers of a round reply at the same time, and each keeps the role, name and stance of its opening.
    """
    rounds = [openings]
    for round_ in (1, 2):
        last = rounds[-1]
        rounds.append(await asyncio.gather(*(_update(question, own, last, round_) for own in last)))
    return rounds


async def _update(question: Question, own: Turn, last: Sequence[Turn], round_: int) -> Turn:
    stance = next((option for option in question.options if question.value_of(option) == own.stance), None)
    how = {"reply": own.text, "replies": [turn.text for turn in last if turn is not own], "heard": last}
    return await question.ask(own.role, "mad_update", speaker=own.speaker, stance=stance, round_=round_, **how)
