"""How counterfactual debates ask, and the methods that CFMAD is compared with [CFMAD 2.2, B.2, C]: chain of thought,
self-consistency, self-reflection, self-contrast, and multi-agent debate (MAD).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from srdcr_lab import answers
from srdcr_lab.prompts.readers import answer_line, dashed_lines
from srdcr_lab.protocols.answering import Outcome, answered, by_answer
from srdcr_lab.protocols.speaking import Conversation, Setup, no_answer
from srdcr_lab.records import BadInput, Item, Option, Role, Turn

MOST_STANCES = MOST_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class CounterfactualDesign:
    """What makes one counterfactual debate differ from another; the defaults are the paper's.

    Parameters
    ----------
    stances : preset answers, 2–5; fewer where the question has fewer options.
    rounds : rounds of critic and rebuttal, 1–5.
    temperature : of every call but the votes of self-consistency, > 0.
    candidates : number of chains of thought from which preset answers are chosen.
    order_seed : draws, beside the study's seed, the other stances and the order in which the judge reads them.
    swap : reverses that order and nothing else.
    """

    stances: int = 2
    rounds: int = 1
    temperature: float = 0.2
    candidates: int = 3
    order_seed: int = 0
    swap: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.stances <= MOST_STANCES:
            raise BadInput(f"a counterfactual debate has 2 to {MOST_STANCES} stances, got {self.stances}")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise BadInput(f"a counterfactual debate has 1 to {MOST_ROUNDS} rounds, got {self.rounds}")
        if not self.temperature > 0:
            raise BadInput(f"the temperature is above 0, or all chains of thought are one; got {self.temperature}")
        if self.candidates < 1:
            raise BadInput(f"at least 1 chain of thought gives the candidates, got {self.candidates}")


PAPER = CounterfactualDesign()


class Question(Conversation):
    """A conversation whose speakers are shown options and end with a line ``answer: …``.

    `options` are those of the item; of an open question the candidates, once `preset_stances` has drawn them. An answer
    is a label where the item has options of its own, otherwise the value of a candidate.
    """

    def __init__(self, item: Item, setup: Setup, design: CounterfactualDesign = PAPER) -> None:
        super().__init__(item, setup, setup.choices.debate_tokens, design.temperature)
        self.design = design
        self.options = item.options

    def value_of(self, option: Option) -> str:
        """The answer that an option stands for."""
        return option.label if self.item.options else option.text

    def part(self, reply: str) -> str:
        """What follows ``answer:`` on the last line; where nothing does, the whole reply."""
        return answer_line(reply) or reply

    def read(self, reply: str) -> str | None:
        """The answer that a reply ends with; None where it names none, or no one option."""
        if not self.options:
            return answers.extract(self.part(reply), self.item.answer_type, self.item.unit)
        label = answers.extract_option(self.part(reply), self.options)
        return next((self.value_of(option) for option in self.options if option.label == label), None)

    async def draw(self, role: Role, template: str, **how: Any) -> tuple[Turn, ...]:
        """As in every conversation. A speaker who is given a ``stance``, one of the options, is called by its label."""
        own: dict[str, Any] = {"options": self.options, "sees_passage": bool(self.item.context), "stance": None}
        if stance := how.get("stance"):
            own |= {"speaker": stance.label, "stream": f"stance-{stance.label}", "defends": self.value_of(stance)}
        return await super().draw(role, template, **(own | how))

    async def chains_of_thought(self, n: int) -> tuple[Turn, ...]:
        """Draws of the chain-of-thought prompt. Methods share the stream: all that take n begin with the same n."""
        return await self.draw(Role.AGENT, "chain_of_thought", stream="chain_of_thought", speaker="cot", draws=n)


def by_votes(turns: Sequence[Turn], item: Item) -> list[Turn]:
    """The first turn with each distinct answer, the most frequent answer first, of equals the earlier."""
    return [group[0] for group in sorted(by_answer(turns, item), key=len, reverse=True)]


async def cot(item: Item, setup: Setup) -> Outcome:
    """One chain of thought, reasons before the answer: 1 call."""
    question = Question(item, setup)
    turns = await question.chains_of_thought(1)
    return answered(question.answer(turns[0]), question.debate(turns))


VOTES, VOTING_TEMPERATURE = 7, 1.0


async def self_consistency(item: Item, setup: Setup) -> Outcome:
    """The most frequent answer of seven draws, of equals the one drawn first: 7 calls."""
    question = Question(item, setup)
    vote = partial(question.draw, Role.AGENT, "chain_of_thought", stream="votes", speaker="vote")
    votes = await vote(draws=VOTES, temperature=VOTING_TEMPERATURE)
    chosen = next(iter(by_votes(votes, item)), votes[0])
    return answered(question.answer(chosen), question.debate(votes))


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
    """Three instructions: those of the reply, filled up with ours."""
    own = dashed_lines(reply)[: len(OWN_PERSPECTIVES)]
    return own + list(OWN_PERSPECTIVES[len(own) :])


MAD_OPENINGS, MAD_ROUNDS = ("mad_expert", "mad_plain", "mad_stepwise"), 3


async def mad(item: Item, setup: Setup) -> Outcome:
    """Three agents open by different prompts, two rounds of updates, one judge: 3 · 3 + 1 = 10 calls."""
    question = Question(item, setup)
    opened = (question.ask(Role.AGENT, template, speaker=f"agent-{i}") for i, template in enumerate(MAD_OPENINGS))
    openings = await asyncio.gather(*opened)
    rounds = [openings, *await updates(question, openings)]
    last = rounds[-1]
    judge = partial(question.ask, Role.JUDGE, "mad_judge", stream="mad", round_=MAD_ROUNDS - 1)
    ruling = await judge(heard=last, replies=[turn.text for turn in last])
    return answered(question.answer(ruling), question.debate([*(turn for turns in rounds for turn in turns), ruling]))


async def updates(question: Question, openings: Sequence[Turn]) -> list[Sequence[Turn]]:
    """The rounds after the openings: each speaker, at once, sees its own last reply and the others' last replies.

    A speaker keeps the role, the name and the stance of its opening.
    """
    rounds = [openings]
    for round_ in range(1, MAD_ROUNDS):
        last = rounds[-1]
        rounds.append(await asyncio.gather(*(_update(question, own, last, round_) for own in last)))
    return rounds[1:]


async def _update(question: Question, own: Turn, last: Sequence[Turn], round_: int) -> Turn:
    return await question.ask(
        own.role,
        "mad_update",
        speaker=own.speaker,
        stance=next((option for option in question.options if question.value_of(option) == own.stance), None),
        round_=round_,
        heard=last,
        reply=own.text,
        replies=[turn.text for turn in last if turn is not own],
    )
