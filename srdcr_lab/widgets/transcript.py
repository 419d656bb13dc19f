"""Passages and debates as HTML. Everything that came from a passage or a model is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from srdcr_lab import answers
from srdcr_lab.protocols import Outcome
from srdcr_lab.records import Item, Role, Turn

_COLOURS = {Role.DEFENDER: "#0173b2", Role.CRITIC: "#d55e00", Role.JUDGE: "#555555"}


class Html(str):
    """A string that a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def passage_html(item: Item) -> Html:
    """Question and passage, with what the passage claims marked."""
    spans = answers.find(item.context, item.claimed_answer, item.answer_type, item.unit)
    text, position = "", 0
    for span in spans:
        text += (
            escape(item.context[position : span.start]) + f"<mark>{escape(item.context[span.start : span.end])}</mark>"
        )
        position = span.end
    text += escape(item.context[position:])
    truth = "true" if item.is_standard else f"false: the answer is {escape(item.gold_answer)}"
    return Html(
        f"<p><b>{escape(item.question)}</b></p><blockquote>{text}</blockquote>"
        f"<p>The passage claims {escape(item.claimed_answer)} ({truth}).</p>"
    )


def debate_html(outcome: Outcome) -> Html:
    """The debate as it unfolded, round by round, with what each speaker saw and the ruling after each round."""
    debate, ruling = outcome.debate, outcome.ruling
    if debate is None or ruling is None:
        return Html("<p>This method holds no debate.</p>")
    rounds: dict[int, list[Turn]] = {}
    for turn in debate.turns:
        rounds.setdefault(turn.round, []).append(turn)
    body = "".join(f"<h4>Round {number}</h4>" + _round(turns) for number, turns in rounds.items())
    stood = f"V* = {ruling.verdict}" + (f", standing since round {ruling.r_star}" if ruling.r_star is not None else "")
    unstable = "" if ruling.stabilised else " (not stabilised: it stood for the last round alone)"
    return Html(f"<div>{body}<p><b>{escape(stood)}</b>{unstable}</p></div>")


def _round(turns: Sequence[Turn]) -> str:
    return "".join(map(_turn, turns))


def _turn(turn: Turn) -> str:
    passage = "passage, " if turn.saw_passage else ""
    heard = f"{len(turn.saw_turns)} earlier turns" if turn.saw_turns else "no earlier turn"
    ruling = f" → <b>{escape(turn.verdict.value)}</b>" if turn.verdict else ""
    return (
        f'<p style="border-left: 3px solid {_COLOURS[turn.role]}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(turn.role.value.capitalize())}</b> <small>saw question, {passage}{heard}</small>{ruling}<br>"
        f"{escape(turn.text)}</p>"
    )
