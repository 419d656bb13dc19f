"""Multi-agent debate, MAD [CFMAD 2.2, B.2, C.3]: three agents as equals, three rounds, then a judge.

The agents begin with three different prompts. In each later round an agent sees its own last reply and the last
replies of the two others. The judge reads the last replies and follows the majority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from srdcr_lab.protocols.counterfactual.asking import Question, Said, debate_of
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item, Needs, Role

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
