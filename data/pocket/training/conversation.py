"""A conversation as the text that the chat template makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizer import ASSISTANT, BOS, END, USER

from srdcr_lab.records import Message

_MARKS = {"system": "", "user": USER, "assistant": ASSISTANT}


def shown(messages: Sequence[Message]) -> str:
    """The conversation up to where the model speaks."""
    text = "".join(_MARKS[m.role] + m.content + (END if m.role == "assistant" else "") for m in messages)
    return BOS + text + ASSISTANT
