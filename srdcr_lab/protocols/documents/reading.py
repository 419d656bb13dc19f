"""What speakers of a debate between documents answer: one answer, several, or none."""

from __future__ import annotations

from dataclasses import replace

from srdcr_lab import answers
from srdcr_lab.prompts import parse
from srdcr_lab.protocols.answering import Answer, same_answer
from srdcr_lab.protocols.outcome import Outcome
from srdcr_lab.records import AnswerType, Completion, Debate, Item, Missing, Turn

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
    named = parse.answers_line(reply)
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
