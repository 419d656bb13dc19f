"""Self-contrast [CFMAD 2.2, B.2, C.4]: three perspectives that the model makes up, compared, revised into one."""

from __future__ import annotations

import asyncio

from srdcr_lab.prompts.final_line import dashed_lines
from srdcr_lab.protocols.counterfactual.asking import Question, Said, debate_of
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.records import Item, Needs, Role

VIEWS = 3
_STREAM = "contrast"
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
        Role.AGENT, "contrast_perspectives", stream=_STREAM, speaker="perspectives", answers_it=False
    )
    instructions = perspectives(written.text)
    views = list(await asyncio.gather(*(_view(question, written, i, text) for i, text in enumerate(instructions))))
    replies = [view.text for view in views]
    (comparison,) = await question.ask(
        Role.AGENT,
        "contrast_comparison",
        stream=_STREAM,
        round_=1,
        heard=views,
        speaker="comparison",
        answers_it=False,
        replies=replies,
    )
    (revision,) = await question.ask(
        Role.AGENT,
        "contrast_revision",
        stream=_STREAM,
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
