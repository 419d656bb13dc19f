"""RA-RAG: what each source answers by itself, then a majority weighted by how reliable the sources are.

The calls of one item are here: every document is answered from alone (the same calls as MADAM-RAG's first round). How
reliable a source is can only be told from many questions, without labels, so the weighing comes when all items have
ended (`srdcr_lab.measures.reliability`). Until then, and where documents name no source, each document has one vote:
the answers with the most votes stand, several if they are tied.
"""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab.protocols.answering import same_answer
from srdcr_lab.protocols.documents.agents import opening
from srdcr_lab.protocols.documents.reading import answered
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Debate, Item, Needs, Turn


async def ra_rag(item: Item, setup: Setup) -> Outcome:
    """One call per document."""
    turns = await opening(item, setup)
    values = most_voted(turns, item)
    first = next((turn for turn in turns if turn.stated_answer == (values or ("",))[0]), None)
    return answered(values, first, Debate(turns=tuple(turns), verdict_path=()))


def most_voted(turns: Sequence[Turn], item: Item) -> tuple[str, ...]:
    """The answers that most turns state, in the order of the documents; empty where none states an answer."""
    votes: list[tuple[str, int]] = []
    for value in (turn.stated_answer for turn in turns if turn.stated_answer is not None):
        place = next((i for i, (known, _) in enumerate(votes) if same_answer(known, value, item)), None)
        if place is None:
            votes.append((value, 1))
        else:
            votes[place] = votes[place][0], votes[place][1] + 1
    most = max((count for _, count in votes), default=0)
    return tuple(value for value, count in votes if count == most)


RA_RAG = Method("ra_rag", ra_rag, needs=Needs.DOCUMENTS, weighs_sources=True)
