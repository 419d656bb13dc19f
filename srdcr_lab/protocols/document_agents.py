"""What speakers of a debate between documents answer: one answer, several, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab import answers, prompts
from srdcr_lab.prompts import readers
from srdcr_lab.protocols.answering import Answer, same_answer
from srdcr_lab.protocols.method import Outcome
from srdcr_lab.protocols.setup import Setup
from srdcr_lab.protocols.speaking import first_sentence, speak
from srdcr_lab.records import AnswerType, Completion, Debate, Item, Missing, Role, Turn

_AS_WRITTEN = frozenset({AnswerType.NAME, AnswerType.CITY, AnswerType.TEXT})  # the others are read in canonical form


def value_of(answer: str | None, item: Item) -> str | None:
    """A bare answer as the tables have it; None where it is no answer of the item's type."""
    if answer is None:
        return None
    if item.answer_type in _AS_WRITTEN:
        return answer if answers.normalise(answer, item.answer_type, item.unit) else None
    return answers.extract(answer, item.answer_type, item.unit)


def several_values(reply: str, item: Item) -> tuple[str, ...] | None:
    """The distinct answers on a reply's last line; empty where it says "none", None where it cannot be read."""
    named = readers.answers_line(reply)
    if not named:
        return named
    values: list[str] = []
    for value in (value_of(each, item) for each in named):
        if value is not None and not any(same_answer(value, other, item) for other in values):
            values.append(value)
    return tuple(values) or None


def stated(turn: Turn, item: Item) -> Turn:
    """The turn of a speaker who gives several answers, with the first of them as its stated answer."""
    values = several_values(turn.text, item)
    return replace(turn, stated_answer=values[0] if values else None)


def concluded(turn: Turn, item: Item, debate: Debate, agreed_round: int | None = None) -> Outcome:
    """The outcome of a method that ends with this turn's line of answers; "none" is an abstention."""
    return answered(several_values(turn.text, item), turn, debate, agreed_round)


def answered(
    values: tuple[str, ...] | None, turn: Turn | None, debate: Debate, agreed_round: int | None = None
) -> Outcome:
    """The outcome of these answers: none given is an abstention, None could not be read."""
    completion = (turn.completion if turn else None) or Completion(turn.text if turn else "")
    missing = None if values else Missing.UNPARSED if values is None else Missing.ABSTAINED
    return Outcome(
        answer=Answer(values[0] if values else None, completion) if values != () else None,
        missing=missing,
        debate=debate,
        values=values or (),
        agreed_round=agreed_round,
    )


# -- an agent for each document: what it answers from that document, alone or having heard the others

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
