"""The training world's sentences as people write them: `patterns/*.txt`, in the registers that passages come in.

Written for this world; none is taken from a passage of an evaluated question. Slots are those of `words` and
`other_domains`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("patterns")


@cache
def lines(name: str) -> list[list[str]]:
    """The fields of each line of a file."""
    return [line.split("\t") for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines() if line]


@cache
def stating(domain: str, *kinds: str, verbs: bool = True) -> tuple[str, ...]:
    """Sentences that state an answer; without those that need the question's verb, where there is none."""
    found = (text for kind, text in lines(domain) if kind in ("STATE", *kinds))
    return tuple(text for text in found if verbs or not ("{v}" in text or "{V}" in text))


@cache
def beside(domain: str) -> tuple[str, ...]:
    """Sentences without the answer; those that name the subject come from `naming`."""
    return tuple(text for kind, text in lines(domain) if kind == "FILL" and not names_subject(text))


@cache
def naming(domain: str) -> tuple[str, ...]:
    """Sentences without the answer that name the subject."""
    return tuple(text for kind, text in lines(domain) if kind == "FILL" and names_subject(text))


def names_subject(text: str) -> bool:
    return "{s}" in text or "{S}" in text
