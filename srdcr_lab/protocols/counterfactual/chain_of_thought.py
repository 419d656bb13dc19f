"""Chain of thought [CFMAD C.1]: one prompt, reasons first, then the answer."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab.protocols.answering import same_answer
from srdcr_lab.protocols.counterfactual.asking import Question, Said, debate_of
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
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
