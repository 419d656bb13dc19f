"""Self-reflection [CFMAD 2.2, C.2]: an answer, feedback on it, a revision, all by one model."""

from __future__ import annotations

from srdcr_lab.protocols.counterfactual.asking import Question, debate_of
from srdcr_lab.protocols.counterfactual.chain_of_thought import chains_of_thought
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item, Needs, Role

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
