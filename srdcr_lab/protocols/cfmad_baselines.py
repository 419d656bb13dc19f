"""Chain of thought [CFMAD C.1]: one prompt, reasons first, then the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab.prompts.readers import dashed_lines
from srdcr_lab.protocols.answering import Answer, same_answer
from srdcr_lab.protocols.asking import Question, Said, debate_of
from srdcr_lab.protocols.method import Method, Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item, Needs, Role

STREAM = "chain_of_thought"  # shared: the first draw is the one that `cot` and self-reflection begin with


async def chains_of_thought(question: Question, n: int) -> tuple[Said, ...]:
    """`n` draws of the chain-of-thought prompt."""
    return await question.ask(Role.AGENT, "chain_of_thought", stream=STREAM, speaker="cot", draws=n)


async def cot(item: Item, setup: Setup) -> Outcome:
    """One chain of thought: 1 call."""
    (said,) = await chains_of_thought(Question(item, setup), 1)
    return given(said.answer, debate_of([said]))


def by_votes(replies: Sequence[Said], item: Item) -> list[Said]:
    """The first reply with each distinct answer, the most frequent answer first; unread replies do not vote."""
    groups: list[list[Said]] = []
    for said in replies:
        value = said.turn.stated_answer
        group = next((each for each in groups if same_answer(value, each[0].turn.stated_answer, item)), None)
        if group is not None:
            group.append(said)
        elif value is not None:
            groups.append([said])
    return [group[0] for group in sorted(groups, key=len, reverse=True)]  # stable: of equals the earlier


COT = Method("cot", cot, needs=Needs.QUESTION)


# -- self-consistency [CFMAD 2.2, B.2]: seven chains of thought at T = 1, the most frequent answer stands

DRAWS, TEMPERATURE = 7, 1.0


async def self_consistency(item: Item, setup: Setup) -> Outcome:
    """The majority of seven draws, of equals the answer drawn first: 7 calls."""
    question = Question(item, setup)
    votes = await question.ask(
        Role.AGENT, "chain_of_thought", stream="votes", speaker="vote", draws=DRAWS, temperature=TEMPERATURE
    )
    ranked = by_votes(votes, item)
    chosen: Answer = ranked[0].answer if ranked else replace(votes[0].answer, value=None)
    return given(chosen, debate_of(votes))


SELF_CONSISTENCY = Method("self_consistency", self_consistency, needs=Needs.QUESTION)


# -- self-reflection [CFMAD 2.2, C.2]: an answer, feedback on it, a revision, all by one model

_STREAM = "reflection"


async def self_reflection(item: Item, setup: Setup) -> Outcome:
    """R₀, feedback F on it, revision R₁ given both: 3 calls."""
    question = Question(item, setup)
    (first,) = await chains_of_thought(question, 1)
    (feedback,) = await question.ask(
        Role.AGENT,
        "reflection_feedback",
        stream=_STREAM,
        heard=[first],
        speaker="feedback",
        answers_it=False,
        reply=first.text,
    )
    (revision,) = await question.ask(
        Role.AGENT,
        "reflection_revision",
        stream=_STREAM,
        round_=1,
        heard=[first, feedback],
        speaker="revision",
        reply=first.text,
        feedback=feedback.text,
    )
    return given(revision.answer, debate_of([first, feedback, revision]))


SELF_REFLECTION = Method("self_reflection", self_reflection, needs=Needs.QUESTION)


# -- self-contrast [CFMAD 2.2, B.2, C.4]: three perspectives that the model makes up, compared, revised into one

VIEWS = 3
_CONTRAST_STREAM = "contrast"
# Taken in this order where the model's own reply does not hold three, so that a sample always takes six calls.
OWN_PERSPECTIVES = (
    "Work from the parts to the whole: take each detail of the question by itself first.",
    "Work by exclusion: say for each possible answer what speaks against it.",
    "Work from what usually happens: ask which answer somebody with experience would expect.",
)


async def self_contrast(item: Item, setup: Setup) -> Outcome:
    """Three instructions, an answer by each, their comparison, one revision: 1 + 3 + 1 + 1 = 6 calls."""
    question = Question(item, setup)
    (written,) = await question.ask(
        Role.AGENT, "contrast_perspectives", stream=_CONTRAST_STREAM, speaker="perspectives", answers_it=False
    )
    instructions = perspectives(written.text)
    views = list(await asyncio.gather(*(_view(question, written, i, text) for i, text in enumerate(instructions))))
    replies = [view.text for view in views]
    (comparison,) = await question.ask(
        Role.AGENT,
        "contrast_comparison",
        stream=_CONTRAST_STREAM,
        round_=1,
        heard=views,
        speaker="comparison",
        answers_it=False,
        replies=replies,
    )
    (revision,) = await question.ask(
        Role.AGENT,
        "contrast_revision",
        stream=_CONTRAST_STREAM,
        round_=1,
        heard=[*views, comparison],
        speaker="revision",
        replies=replies,
        feedback=comparison.text,
    )
    return given(revision.answer, debate_of([written, *views, comparison, revision]))


def perspectives(reply: str) -> list[str]:
    """Three instructions: those of the reply, filled up with ours."""
    own = dashed_lines(reply)[:VIEWS]
    return own + list(OWN_PERSPECTIVES[len(own) :])


async def _view(question: Question, written: Said, place: int, instruction: str) -> Said:
    (said,) = await question.ask(
        Role.AGENT,
        "contrast_view",
        stream=f"view-{place}",
        heard=[written],
        speaker=f"view-{place}",
        instruction=instruction,
    )
    return said


SELF_CONTRAST = Method("self_contrast", self_contrast, needs=Needs.QUESTION)


# -- multi-agent debate, MAD [CFMAD 2.2, B.2, C.3]: three agents as equals, three rounds, then a judge

OPENINGS = ("mad_expert", "mad_plain", "mad_stepwise")
ROUNDS = 3


async def mad(item: Item, setup: Setup) -> Outcome:
    """Three openings, two rounds of updates, one judge: 3 · 3 + 1 = 10 calls."""
    question = Question(item, setup)
    openings = await asyncio.gather(*(_open(question, agent) for agent in range(len(OPENINGS))))
    rounds = [openings, *await updates(question, openings, ROUNDS - 1)]
    last = rounds[-1]
    (ruling,) = await question.ask(
        Role.JUDGE, "mad_judge", stream="mad", round_=ROUNDS - 1, heard=last, replies=[said.text for said in last]
    )
    return given(ruling.answer, debate_of([*(said for each in rounds for said in each), ruling]))


async def _open(question: Question, agent: int) -> Said:
    (said,) = await question.ask(Role.AGENT, OPENINGS[agent], stream=f"agent-{agent}", speaker=f"agent-{agent}")
    return said


async def updates(question: Question, openings: Sequence[Said], rounds: int) -> list[list[Said]]:
    """So many rounds in which each speaker, at once, sees its own last reply and the last ones of the others.

    A speaker keeps the role, the name and the stance of its opening.
    """
    found: list[list[Said]] = []
    last = list(openings)
    for round_ in range(1, rounds + 1):
        last = list(await asyncio.gather(*(_update(question, last, place, round_) for place in range(len(last)))))
        found.append(last)
    return found


async def _update(question: Question, last: Sequence[Said], place: int, round_: int) -> Said:
    own = last[place]
    others = [said for said in last if said is not own]
    stance = next((each for each in question.options if question.value_of(each) == own.turn.stance), None)
    (said,) = await question.ask(
        own.turn.role,
        "mad_update",
        stream=f"agent-{place}" if stance is None else f"stance-{own.turn.speaker}",
        round_=round_,
        heard=last,
        speaker=own.turn.speaker,
        stance=stance,
        reply=own.text,
        replies=[each.text for each in others],
    )
    return said


MAD = Method("mad", mad, debates=True, needs=Needs.QUESTION)
