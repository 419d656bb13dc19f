"""Blocks of a debate between documents: the documents by number, what was drawn from each, challenges and rebuttals.

Beside what `blocks` defuses, ``answers:`` loses its colon here: what a judge copies out of a
document or a reply is not read as its own last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from srdcr_lab.prompts.blocks import UNSEEN, block, seen_as
from srdcr_lab.prompts.structured import Rebuttal, Thesis

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
