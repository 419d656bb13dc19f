"""The dialectical debate between documents, in three phases, which are the rounds of its turns.

A proponent for each document states a thesis from that document alone. A devil's advocate, who sees everything,
challenges the theses it faults, and each challenged proponent defends, revises or concedes. A judge concludes. Theses,
challenges and rebuttals are JSON objects; a speaker whose reply is malformed is asked once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from srdcr_lab.prompts import readers
from srdcr_lab.prompts.readers import Malformed, Rebuttal, Thesis
from srdcr_lab.protocols.answering import Outcome
from srdcr_lab.protocols.documents import concluded, first_value, value_of
from srdcr_lab.protocols.speaking import Conversation, Setup
from srdcr_lab.records import Item, Missing, Role, Turn

T = TypeVar("T")

THESIS_TOKENS = 500  # of a thesis or a rebuttal
CHALLENGE_TOKENS, MOST_TOKENS = 120, 4000  # for each document, beside a thesis's worth; what every API takes
THESES, ANTITHESIS, SYNTHESIS = range(3)


async def dialectical(item: Item, setup: Setup) -> Outcome:
    """n theses, 1 advocate, a rebuttal per challenge, 1 judge; each structured reply may be asked for twice.

    A speaker who gives no valid reply ends the debate with an error.
    """
    talk = Conversation(item, setup, THESIS_TOKENS)
    turns: list[Turn] = []
    try:
        proposed = await asyncio.gather(*(_propose(talk, i) for i in range(len(item.documents))))
        theses = _accept(turns, proposed)
        (attack,) = _accept(turns, [await _challenge(talk, theses)])
        defended = await asyncio.gather(*(_rebut(talk, i, theses[i - 1], attack) for i in attack.content))
        rebuttals = dict(zip(attack.content, _accept(turns, defended), strict=True))
    except _InVain as error:
        debate = talk.debate(turns)
        return Outcome(answer=None, missing=Missing.ERROR, debate=debate, error=f"dialectical: {error}")
    cases = [
        (thesis.content, attack.content.get(i), rebuttals[i].content if i in rebuttals else None)
        for i, thesis in enumerate(theses, start=1)
    ]
    spoken: list[_Reply[Any]] = [*theses, *([attack] if attack.content else []), *rebuttals.values()]
    ruling = await talk.ask(
        Role.JUDGE,
        "documents_judge",
        round_=SYNTHESIS,
        max_tokens=setup.choices.debate_tokens,
        sees_passage=False,
        heard=[reply.turns[-1] for reply in spoken],
        cases=cases,
        reads=partial(first_value, item=item),
    )
    return concluded(ruling, item, talk.debate([*turns, ruling]))


@dataclass(frozen=True, slots=True)
class _Reply(Generic[T]):
    """One or two turns of a speaker, and what was read from the last; the fault where that is malformed too."""

    turns: Sequence[Turn]
    content: T
    fault: str = ""


class _InVain(Exception):
    """A speaker was asked twice and gave no valid reply."""


def _accept(turns: list[Turn], replies: Sequence[_Reply[T]]) -> Sequence[_Reply[T]]:
    """The replies, whose turns are added to the debate's; raises for the first that is malformed."""
    turns += [turn for reply in replies for turn in reply.turns]
    for reply in replies:
        if reply.fault:
            turn = reply.turns[-1]
            proponent = "the challenged proponent" if turn.round == ANTITHESIS else "the proponent"
            name = "the devil's advocate" if turn.role is Role.ADVOCATE else f"{proponent} of document {turn.speaker}"
            raise _InVain(f"{name} was asked twice and gave no valid reply: {reply.fault}")
    return replies


async def _propose(talk: Conversation, i: int) -> _Reply[Thesis]:
    """A proponent sees its document and nothing else."""
    document = talk.item.documents[i]
    ask = partial(talk.ask, Role.PROPONENT, "proponent_thesis", round_=THESES, speaker=document.document_id)
    return await _structured(talk, partial(ask, document=document.text), readers.thesis)


async def _challenge(talk: Conversation, theses: Sequence[_Reply[Thesis]]) -> _Reply[Mapping[int, str]]:
    """The devil's advocate sees every document and thesis; its challenges go by the number of the document, from 1."""
    documents = [document.text for document in talk.item.documents]
    ask = partial(
        talk.ask,
        Role.ADVOCATE,
        "devils_advocate",
        round_=ANTITHESIS,
        max_tokens=min(THESIS_TOKENS + CHALLENGE_TOKENS * len(documents), MOST_TOKENS),
        heard=[thesis.turns[-1] for thesis in theses],
        documents=documents,
        theses=[thesis.content for thesis in theses],
    )
    return await _structured(talk, ask, partial(readers.challenges, n_documents=len(documents)))


async def _rebut(
    talk: Conversation, number: int, thesis: _Reply[Thesis], attack: _Reply[Mapping[int, str]]
) -> _Reply[Rebuttal]:
    """A challenged proponent sees its document, its thesis and the challenge to it."""
    document = talk.item.documents[number - 1]
    ask = partial(
        talk.ask,
        Role.PROPONENT,
        "proponent_rebuttal",
        round_=ANTITHESIS,
        speaker=document.document_id,
        defends=value_of(thesis.content.answer, talk.item),
        heard=[thesis.turns[-1], attack.turns[-1]],
        document=document.text,
        thesis=thesis.content,
        challenge=attack.content[number],
    )
    return await _structured(talk, ask, partial(readers.rebuttal, held=thesis.content))


async def _structured(talk: Conversation, ask: Callable[..., Any], read: Callable[[str], T]) -> _Reply[T]:
    """Ask, read strictly, and where the reply is malformed ask once more, showing the reply and its fault."""

    def stated(text: str) -> str | None:
        try:
            return value_of(getattr(read(text), "answer", None), talk.item)  # challenges hold no answer
        except Malformed:
            return None

    turns: list[Turn] = []
    fault = reply = ""
    for _ in range(2):
        turns.append(await ask(reads=stated, fault=fault, reply=reply))
        try:
            return _Reply(turns, read(turns[-1].text))
        except Malformed as error:
            fault, reply = str(error), turns[-1].text
    return _Reply(turns, None, fault)  # type: ignore[arg-type] # never read: `_accept` raises
