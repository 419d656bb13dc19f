"""An agent for each document: what it answers from that document, alone or having heard the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from srdcr_lab import prompts
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import first_sentence, speak
from srdcr_lab.records import Item, Role, Turn

MAX_TOKENS = 150


async def opening(item: Item, setup: Setup) -> list[Turn]:
    """Each agent answers from its document alone, in the order of the documents, all at once."""
    return list(await asyncio.gather(*(_speak(item, setup, i, (), (), 0) for i in range(len(item.documents)))))


async def again(item: Item, setup: Setup, last: Sequence[Turn], positions: Sequence[int]) -> list[Turn]:
    """Each agent answers once more, from its document and the others' last replies.

    `positions` are the places of these replies in the transcript.
    """
    return list(
        await asyncio.gather(
            *(_speak(item, setup, i, last, positions, last[0].round + 1) for i in range(len(item.documents)))
        )
    )


async def _speak(item: Item, setup: Setup, i: int, last: Sequence[Turn], positions: Sequence[int], round_: int) -> Turn:
    messages = prompts.render(
        "document_agent",
        document=item.documents[i].text,
        others={j: turn.text for j, turn in enumerate(last, start=1) if j != i + 1},
        question=item.question,
    )
    (turn,) = await speak(
        Role.AGENT,
        messages,
        setup,
        round_=round_,
        max_tokens=MAX_TOKENS,
        saw_turns=[position for j, position in enumerate(positions) if j != i],
        speaker=item.documents[i].document_id,
        states=first_sentence(item),
    )
    return turn
