"""The dialectical debate between documents, in three phases, which are the rounds of its turns.

A proponent for each document states a thesis from that document alone. A devil's advocate, who sees everything,
challenges the theses it faults, and each challenged proponent defends, revises or concedes. A judge concludes. Theses,
challenges and rebuttals are JSON objects; a speaker whose reply is malformed is asked once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from srdcr_lab.prompts import readers
from srdcr_lab.prompts.readers import Malformed, Rebuttal, Thesis
from srdcr_lab.protocols.answering import Outcome
from srdcr_lab.protocols.documents import ask_for_answers, concluded, value_of
from srdcr_lab.protocols.speaking import Conversation, Setup
from srdcr_lab.records import Item, Missing, Role, Turn

T = TypeVar("T")
Reply: TypeAlias = tuple[Sequence[Turn], T | Malformed]  # one or two turns, and what was read from the last
Accepted: TypeAlias = tuple[Turn, T]

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
        theses = _accept(turns, await asyncio.gather(*(_propose(talk, i) for i in range(len(item.documents)))))
        ((attack, challenges),) = _accept(turns, [await _challenge(talk, theses)])
        rebutting = (_rebut(talk, i, theses[i - 1], attack, challenge) for i, challenge in challenges.items())
        rebuttals = dict(zip(challenges, _accept(turns, await asyncio.gather(*rebutting)), strict=True))
    except Malformed as error:
        debate = talk.debate(turns)
        return Outcome(answer=None, missing=Missing.ERROR, debate=debate, error=f"dialectical: {error}")
    cases = [
        (thesis, challenges.get(i), rebuttals[i][1] if i in rebuttals else None)
        for i, (_, thesis) in enumerate(theses, start=1)
    ]
    attacks = [attack] if challenges else []
    heard = [*(turn for turn, _ in theses), *attacks, *(turn for turn, _ in rebuttals.values())]
    how = {"max_tokens": setup.choices.debate_tokens, "sees_passage": False}
    ruling = await ask_for_answers(
        talk, Role.JUDGE, "documents_judge", round_=SYNTHESIS, heard=heard, cases=cases, **how
    )
    return concluded(ruling, item, talk.debate([*turns, ruling]))


def _accept(turns: list[Turn], replies: Sequence[Reply[T]]) -> list[Accepted[T]]:
    """The last turn and the content of each reply; all turns are added to the debate's.

    Raises `Malformed` for the first reply that is malformed.
    """
    turns += [turn for asked, _ in replies for turn in asked]
    accepted = []
    for (*_, turn), content in replies:
        if isinstance(content, Malformed):
            proponent = "the challenged proponent" if turn.round == ANTITHESIS else "the proponent"
            name = "the devil's advocate" if turn.role is Role.ADVOCATE else f"{proponent} of document {turn.speaker}"
            raise Malformed(f"{name} was asked twice and gave no valid reply: {content}")
        accepted.append((turn, content))
    return accepted


async def _propose(talk: Conversation, i: int) -> Reply[Thesis]:
    """A proponent sees its document and nothing else."""
    document = talk.item.documents[i]
    how = {"round_": THESES, "speaker": document.document_id, "document": document.text}
    return await _structured(talk, readers.thesis, Role.PROPONENT, "proponent_thesis", **how)


async def _challenge(talk: Conversation, theses: Sequence[Accepted[Thesis]]) -> Reply[Mapping[int, str]]:
    """The devil's advocate sees every document and thesis; its challenges go by the number of the document, from 1."""
    documents = [document.text for document in talk.item.documents]
    return await _structured(
        talk,
        partial(readers.challenges, n_documents=len(documents)),
        Role.ADVOCATE,
        "devils_advocate",
        round_=ANTITHESIS,
        max_tokens=min(THESIS_TOKENS + CHALLENGE_TOKENS * len(documents), MOST_TOKENS),
        heard=[turn for turn, _ in theses],
        documents=documents,
        theses=[thesis for _, thesis in theses],
    )


async def _rebut(
    talk: Conversation, number: int, proposed: Accepted[Thesis], attack: Turn, challenge: str
) -> Reply[Rebuttal]:
    """A challenged proponent sees its document, its thesis and the challenge to it."""
    document, (turn, thesis) = talk.item.documents[number - 1], proposed
    return await _structured(
        talk,
        partial(readers.rebuttal, held=thesis),
        Role.PROPONENT,
        "proponent_rebuttal",
        round_=ANTITHESIS,
        speaker=document.document_id,
        defends=value_of(thesis.answer, talk.item),
        heard=[turn, attack],
        document=document.text,
        thesis=thesis,
        challenge=challenge,
    )


async def _structured(talk: Conversation, read: Callable[[str], T], role: Role, template: str, **how: Any) -> Reply[T]:
    """Ask, read strictly, and where the reply is malformed ask once more, showing the reply and its fault."""

    def content(text: str) -> T | Malformed:
        try:
            return read(text)
        except Malformed as fault:
            return fault

    def stated(text: str) -> str | None:
        return value_of(getattr(content(text), "answer", None), talk.item)  # challenges hold no answer

    ask = partial(talk.ask, role, template, reads=stated, **how)
    first = await ask(fault="", reply="")
    fault = content(first.text)
    if not isinstance(fault, Malformed):
        return [first], fault
    second = await ask(fault=str(fault), reply=first.text)
    return [first, second], content(second.text)
