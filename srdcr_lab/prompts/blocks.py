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

TAGS = tuple(
    (
        "passage debate defender critic judge answer agent critique document thesis challenge rebuttal "
        "options stance reply feedback instruction"
    ).split()
)

# What a reader does not see may stand before the name and between its letters; brackets and letters may be full-width.
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)


def seen_as(word: str) -> str:
    """Expression for what a reader takes for this word."""
    return f"[{UNSEEN}]*".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)


_TAG = re.compile(rf"[<＜﹤](?=[\s/／{UNSEEN}]*(?:{'|'.join(map(seen_as, TAGS))})\b)", re.IGNORECASE)
_VERDICT = re.compile(
    rf"({seen_as('final')}[\s*_`\-{UNSEEN}]+{seen_as('decision')}[\s*_`\"'{UNSEEN}]*)[:：﹕]", re.IGNORECASE
)


@lru_cache(maxsize=10_000)  # a turn is read again in every later round
def defuse(text: str) -> str:
    """Untrusted text with our own tags and verdict lines made inert. Idempotent; other text is unchanged."""
    return _VERDICT.sub("\\1∶", _TAG.sub("‹", text))


def block(tag: str, text: str, attributes: str = "") -> str:
    """Untrusted text between our tags; `attributes` are our own words."""
    shown = defuse(str(text)).strip()  # str: a field that a template names and nobody gave raises UndefinedError here
    return f"<{tag}{attributes}>\n{shown}\n</{tag}>"


def passage_block(passage: str) -> str:
    return block("passage", passage)


def answer_block(answer: str) -> str:
    return block("answer", answer)


def critique_block(critique: str) -> str:
    return block("critique", critique)


def debate_block(turns: Iterable[Turn]) -> str:
    """The transcript: one block a turn, named after its speaker and numbered by round."""
    blocks = (block(turn.role.value, turn.text, f' round="{turn.round}"') for turn in turns)
    return "<debate>\n" + "\n".join(blocks) + "\n</debate>"
