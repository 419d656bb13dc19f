"""Concatenation, or "naive RAG": every document in one prompt, one reply."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab import prompts
from srdcr_lab.protocols.documents.reading import concluded, stated
from srdcr_lab.protocols.method import Method
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import speak
from srdcr_lab.records import Debate, Document, Item, Needs, Role, Turn


async def concatenate(item: Item, setup: Setup) -> Outcome:
    """One call that sees every document."""
    turn = await answer_from(item.documents, item, setup)
    return concluded(turn, item, Debate(turns=(turn,), verdict_path=()))


async def answer_from(documents: Sequence[Document], item: Item, setup: Setup, round_: int = 0) -> Turn:
    """The answerer reads these documents together and ends with its answers."""
    messages = prompts.render(
        "documents_together", documents=[document.text for document in documents], question=item.question
    )
    (turn,) = await speak(Role.AGENT, messages, setup, round_=round_, max_tokens=setup.choices.debate_tokens)
    return stated(turn, item)


CONCATENATE = Method("concatenate", concatenate, needs=Needs.DOCUMENTS)
