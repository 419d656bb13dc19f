"""Passages, documents and debates as HTML. Everything that came from a passage or a model is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from srdcr_lab import answers
from srdcr_lab.protocols import Outcome
from srdcr_lab.records import Item, Role, Turn
from srdcr_lab.widgets.html import Html

_COLOURS = {
    Role.DEFENDER: "#0173b2",
    Role.CRITIC: "#d55e00",
    Role.JUDGE: "#555555",
    Role.AGENT: "#029e73",
    Role.PROPONENT: "#0173b2",
    Role.ADVOCATE: "#d55e00",
    Role.AGGREGATOR: "#555555",
}


def passage_html(item: Item, *, truth: bool = True) -> Html:
    """Question and passage, with what the passage claims marked; and whether that is the `truth`."""
    spans = answers.find(item.context, item.claimed_answer, item.answer_type, item.unit)
    text, position = "", 0
    for span in spans:
        text += (
            escape(item.context[position : span.start]) + f"<mark>{escape(item.context[span.start : span.end])}</mark>"
        )
        position = span.end
    text += escape(item.context[position:])
    known = "true" if item.is_standard else f"false: the answer is {escape(item.gold_answer)}"
    return Html(
        f"<p><b>{escape(item.question)}</b></p><blockquote>{text}</blockquote>"
        f"<p>The passage claims {escape(item.claimed_answer)}{f' ({known})' if truth else ''}.</p>"
    )


def debate_html(outcome: Outcome) -> Html:
    """The debate as it unfolded, round by round, with what each speaker saw and the ruling after each round."""
    debate, ruling = outcome.debate, outcome.ruling
    if debate is None or ruling is None:
        return Html("<p>This method holds no debate.</p>")
    body = "".join(f"<h4>Round {number}</h4>{text}" for number, text in rounds_html(debate.turns).items())
    stood = f"V* = {ruling.verdict}" + (f", standing since round {ruling.r_star}" if ruling.r_star is not None else "")
    unstable = "" if ruling.stabilised else " (not stabilised: it stood for the last round alone)"
    return Html(f"<div>{body}<p><b>{escape(stood)}</b>{unstable}</p></div>")


def rounds_html(turns: Sequence[Turn]) -> dict[int, str]:
    """What was said in each round, in the order in which it was said."""
    rounds: dict[int, str] = {}
    for turn in turns:
        rounds[turn.round] = rounds.get(turn.round, "") + _turn(turn)
    return rounds


def _turn(turn: Turn) -> str:
    passage = "passage, " if turn.saw_passage else ""
    heard = f"{len(turn.saw_turns) or 'no'} earlier turn{'s' if len(turn.saw_turns) > 1 else ''}"
    ruling = f" → <b>{escape(turn.verdict.value)}</b>" if turn.verdict else ""
    speaker = " " + escape(turn.speaker) if turn.speaker else ""
    stance = f", was given the answer {escape(turn.stance)}" if turn.stance is not None else ""
    return (
        f'<p style="border-left: 3px solid {_COLOURS[turn.role]}; padding-left: 0.6em; margin: 0.4em 0">'
        f"<b>{escape(turn.role.value.capitalize())}{speaker}</b> <small>saw question, {passage}{heard}{stance}</small>"
        f'{ruling}<br><span style="white-space: pre-wrap">{escape(turn.text)}</span></p>'
    )
