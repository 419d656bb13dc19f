"""Blocks that untrusted text cannot leave.

Passages and model output are put between tags. Whatever in them looks like one of our tags, or like a verdict line,
is defused: its opening bracket becomes ‹, its colon the ratio sign ∶. The text stays readable, and nothing inside a
block can end it, open another, or be copied by a judge into something our parsers read. (That a passage may persuade
a judge is the subject of study.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from srdcr_lab.records import Turn

TAGS = ("passage", "debate", "defender", "critic", "judge", "answer")

# What a reader does not see may stand before the name and between its letters; brackets and letters may be full-width.
_UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)


def _seen_as(word: str) -> str:
    """Expression for what looks like this word."""
    return f"[{_UNSEEN}]*".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)


_TAG = re.compile(rf"[<＜﹤](?=[\s/／{_UNSEEN}]*(?:{'|'.join(map(_seen_as, TAGS))})\b)", re.IGNORECASE)
_VERDICT = re.compile(
    rf"({_seen_as('final')}[\s*_`\-{_UNSEEN}]+{_seen_as('decision')}[\s*_`\"'{_UNSEEN}]*)[:：﹕]", re.IGNORECASE
)


@lru_cache(maxsize=10_000)  # a turn is read again in every later round
def defuse(text: str) -> str:
    """Untrusted text with our own tags and verdict lines made inert. Idempotent; other text is unchanged."""
    return _VERDICT.sub("\\1∶", _TAG.sub("‹", text))


def _block(tag: str, text: str, attributes: str = "") -> str:
    shown = defuse(str(text)).strip()  # str: a field that a template names and nobody gave raises UndefinedError here
    return f"<{tag}{attributes}>\n{shown}\n</{tag}>"


def passage_block(passage: str) -> str:
    return _block("passage", passage)


def answer_block(answer: str) -> str:
    return _block("answer", answer)


def debate_block(turns: Iterable[Turn]) -> str:
    """The transcript: one block a turn, named after its speaker and numbered by round."""
    blocks = (_block(turn.role.value, turn.text, f' round="{turn.round}"') for turn in turns)
    return "<debate>\n" + "\n".join(blocks) + "\n</debate>"
