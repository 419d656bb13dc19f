"""Blocks that untrusted text cannot leave.

Passages and model output are put between tags. Whatever in them looks like one of our tags, or like a verdict line,
is defused: its opening bracket becomes ‹, its colon the ratio sign ∶. The text stays readable, and nothing inside a
block can end it, open another, or be copied by a judge into something our parsers read. (That a passage may persuade
a judge is the subject of study.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from srdcr_lab.prompts.readers import Rebuttal, Thesis
from srdcr_lab.records import Option, Turn

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


# -- blocks of a debate between documents: the documents by number, what was drawn from each

_ANSWERS = re.compile(rf"({seen_as('answers')}[\s*_`\"'“”{UNSEEN}]*)[:：﹕]", re.IGNORECASE)


def document_block(text: str) -> str:
    """One document, for a speaker who sees no other."""
    return _evidence("document", text)


def documents_block(texts: Sequence[str]) -> str:
    """Every document, numbered from 1."""
    return "\n".join(_evidence("document", text, f' id="{i}"') for i, text in enumerate(texts, start=1))


def agents_block(replies: Mapping[int, str]) -> str:
    """What agents said last, by the number of their document."""
    return "\n".join(_evidence("agent", text, f' document="{i}"') for i, text in replies.items())


def thesis_block(thesis: Thesis) -> str:
    return _evidence("thesis", _held(thesis))


def theses_block(theses: Sequence[Thesis]) -> str:
    """Every thesis, by the number of its document."""
    return "\n".join(_numbered("thesis", i, _held(thesis)) for i, thesis in enumerate(theses, start=1))


def challenge_block(challenge: str) -> str:
    return _evidence("challenge", challenge)


def cases_block(cases: Iterable[tuple[Thesis, str | None, Rebuttal | None]]) -> str:
    """For each document its thesis and, where it was challenged, challenge and rebuttal with its state."""
    blocks = []
    for i, (thesis, challenge, rebuttal) in enumerate(cases, start=1):
        blocks.append(_numbered("thesis", i, _held(thesis)))
        if challenge is not None:
            blocks.append(_numbered("challenge", i, challenge))
        if rebuttal is not None:
            attributes = f' document="{i}" state="{rebuttal.state}"'
            blocks.append(_evidence("rebuttal", _held(rebuttal), attributes))
    return "\n".join(blocks)


def _held(said: Thesis | Rebuttal) -> str:
    answer = "No answer." if said.answer is None else f"It is {said.answer}."
    return "\n".join([answer, *(f"- {step}" for step in said.chain_of_thought)])


def _numbered(tag: str, number: int, text: str) -> str:
    return _evidence(tag, text, f' document="{number}"')


def _evidence(tag: str, text: str, attributes: str = "") -> str:
    return block(tag, _ANSWERS.sub("\\1∶", str(text)), attributes)


FILTERS = {
    "document_block": document_block,
    "documents_block": documents_block,
    "agents_block": agents_block,
    "thesis_block": thesis_block,
    "theses_block": theses_block,
    "challenge_block": challenge_block,
    "cases_block": cases_block,
}


# -- blocks of questions with options: the options, what agents replied, the debate of each stance

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
