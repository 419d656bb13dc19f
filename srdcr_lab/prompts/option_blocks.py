"""Blocks of questions with options: the options, what agents replied, the debate of each stance.

Beside what `blocks` defuses, ``answer:`` loses its colon here: what a judge copies out of a passage or a debate is not
read as its own last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from srdcr_lab.prompts.blocks import UNSEEN, block, seen_as
from srdcr_lab.records import Option, Turn

_ANSWER = re.compile(rf"({seen_as('answer')}[\s*_`\"'“”{UNSEEN}]*)[:：﹕]", re.IGNORECASE)


def evidence_block(passage: str) -> str:
    return _inert("passage", passage)


def options_block(options: Sequence[Option]) -> str:
    """One option a line: "B. a library"; a label that says it all stands alone."""
    return _inert("options", "\n".join(map(named, options)))


def named(option: Option) -> str:
    """How an option is written in a prompt."""
    text = " ".join(option.text.split())
    return option.label if text == option.label else f"{option.label}. {text}"


def stance_block(option: Option) -> str:
    """The answer that a speaker is given."""
    return _inert("stance", named(option))


def reply_block(text: str) -> str:
    return _inert("reply", text)


def replies_block(texts: Iterable[str]) -> str:
    """What several agents replied, numbered from 1."""
    return "\n".join(_inert("reply", text, f' agent="{i}"') for i, text in enumerate(texts, start=1))


def feedback_block(text: str) -> str:
    return _inert("feedback", text)


def instruction_block(text: str) -> str:
    return _inert("instruction", text)


def stance_debate_block(turns: Iterable[Turn]) -> str:
    """What was said about one answer, in order."""
    return "<debate>\n" + "\n".join(map(_said, turns)) + "\n</debate>"


def stances_block(cases: Iterable[tuple[Option, Sequence[Turn]]]) -> str:
    """For each stance its answer and all that was said about it."""
    return "\n".join(f"{stance_block(option)}\n{stance_debate_block(turns)}" for option, turns in cases)


def _said(turn: Turn) -> str:
    return _inert(turn.role.value, turn.text, f' round="{turn.round}"')


def _inert(tag: str, text: str, attributes: str = "") -> str:
    return block(tag, _ANSWER.sub("\\1∶", str(text)), attributes)


OPTION_FILTERS = {
    "evidence_block": evidence_block,
    "options_block": options_block,
    "stance_block": stance_block,
    "reply_block": reply_block,
    "replies_block": replies_block,
    "feedback_block": feedback_block,
    "instruction_block": instruction_block,
    "stance_debate_block": stance_debate_block,
    "stances_block": stances_block,
}
