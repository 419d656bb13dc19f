"""RCI, recursive criticism and improvement [A.2]: answer, find fault with it, improve it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from srdcr_lab import prompts
from srdcr_lab.protocols.answering import read, with_passage
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome, given
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import Reading, answer_of, speak
from srdcr_lab.records import Debate, Item, Message, Role, Turn

MAX_TOKENS = 300  # of each step


async def rci(item: Item, setup: Setup) -> Outcome:
    """Three calls, each shown question and passage, and what the ones before it said."""

    def stated(text: str) -> str | None:
        return read(text, item, setup.choices.match)

    async def step(messages: Sequence[Message], *saw: int, states: Reading | None = None) -> Turn:
        (turn,) = await speak(
            Role.AGENT, messages, setup, round_=len(saw), max_tokens=MAX_TOKENS, saw_turns=saw, states=states
        )
        return turn

    shown = partial(prompts.render, question=item.question, passage=item.context)
    first = await step(with_passage(item), states=stated)
    critique = await step(shown("rci_critique", answer=first.text), 0)
    improved = await step(shown("rci_improve", answer=first.text, critique=critique.text), 0, 1, states=stated)
    return given(answer_of(improved, None), Debate(turns=(first, critique, improved), verdict_path=()))


RCI = Method("rci", rci)
