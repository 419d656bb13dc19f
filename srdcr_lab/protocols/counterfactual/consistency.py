"""Self-consistency [CFMAD 2.2, B.2]: seven chains of thought at T = 1, the most frequent answer stands."""

from __future__ import annotations

from dataclasses import replace

from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.counterfactual.asking import Question, debate_of
from srdcr_lab.protocols.counterfactual.chain_of_thought import by_votes
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item, Needs, Role

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
