"""MADAM-RAG (Wang et al. 2025): an agent for each document, an aggregator, up to three rounds.

In the first round the agents answer from their documents alone; from then on each also sees the others' last replies.
After every round the aggregator, who sees the agents' last replies and no document, gives the answers that are right.
The debate ends when no agent's answer changes. The outcome is the aggregate of the round in which that happened
(`agreed_round`), or of the last one. With one document nobody is to be heard, and one round is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from srdcr_lab import prompts
from srdcr_lab.protocols.answering import same_answer
from srdcr_lab.protocols.documents.agents import again, opening
from srdcr_lab.protocols.documents.reading import concluded, stated
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import speak
from srdcr_lab.records import Debate, Item, Needs, Role, Turn

ROUNDS = 3


async def madam_rag(item: Item, setup: Setup) -> Outcome:
    """One call per document and one of the aggregator in each round."""
    n = len(item.documents)
    async with asyncio.TaskGroup() as group:
        spoken = [await opening(item, setup)]
        aggregates = [group.create_task(_aggregate(item, setup, spoken[-1], 0))]
        while not _converged(spoken, item) and len(spoken) < ROUNDS:
            before = (len(spoken) - 1) * (n + 1)  # agents, then the aggregator, of each round
            spoken.append(await again(item, setup, spoken[-1], range(before, before + n)))
            aggregates.append(group.create_task(_aggregate(item, setup, spoken[-1], before + n + 1)))
    turns = [turn for said, task in zip(spoken, aggregates, strict=True) for turn in (*said, task.result())]
    agreed = len(spoken) - 1 if _converged(spoken, item) else None
    return concluded(turns[-1], item, Debate(turns=tuple(turns), verdict_path=()), agreed)


def _converged(spoken: Sequence[Sequence[Turn]], item: Item) -> bool:
    """Whether no answer changed in the last round; an answer that could not be read is like none at all."""
    if len(spoken) == 1:
        return len(item.documents) == 1
    return all(_same(now, before, item) for now, before in zip(spoken[-1], spoken[-2], strict=True))


def _same(one: Turn, other: Turn, item: Item) -> bool:
    if one.stated_answer is None or other.stated_answer is None:
        return one.stated_answer is other.stated_answer
    return same_answer(one.stated_answer, other.stated_answer, item)


async def _aggregate(item: Item, setup: Setup, said: Sequence[Turn], first: int) -> Turn:
    """The aggregator on the agents' replies of one round, which stand from position `first` on."""
    messages = prompts.render(
        "documents_aggregator",
        agents={i: turn.text for i, turn in enumerate(said, start=1)},
        question=item.question,
    )
    (turn,) = await speak(
        Role.AGGREGATOR,
        messages,
        setup,
        round_=said[0].round,
        max_tokens=setup.choices.debate_tokens,
        saw_passage=False,
        saw_turns=range(first, first + len(said)),
    )
    return stated(turn, item)


MADAM_RAG = Method("madam_rag", madam_rag, debates=True, needs=Needs.DOCUMENTS)
