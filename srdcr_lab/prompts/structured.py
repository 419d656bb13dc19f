"""Strict readers of replies that are one JSON object: theses, challenges, rebuttals (dialectical debate).

Nothing is mended: another key, a missing one, a wrong type, text around the object are faults, said in words that can
be put to the model once more. One fence of three backticks around the object is decoration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_FENCE = re.compile(r"\s*```(?:json)?[^\S\n]*\n(.*)\n[^\S\n]*```\s*", re.DOTALL)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_MOST_STEPS = 20


class Malformed(ValueError):
    """A reply that is not the object asked for; the text says why and quotes nothing of it."""


class Stand(StrEnum):
    """What a challenged proponent does."""

    DEFEND = "defend"
    REVISE = "revise"
    CONCEDE = "concede"


@dataclass(frozen=True, slots=True)
class Thesis:
    """What a proponent holds and how it came to it; `answer` is None where its document gives none."""

    answer: str | None
    chain_of_thought: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebuttal:
    """A proponent's reply to a challenge."""

    state: Stand
    answer: str | None
    chain_of_thought: tuple[str, ...]


def thesis(reply: str) -> Thesis:
    """The thesis that a reply is.

    Raises
    ------
    Malformed
        If it is not exactly ``{"answer": text or null, "chain_of_thought": [text, …]}``.
    """
    found = _object(reply, ("answer", "chain_of_thought"))
    return Thesis(_answer(found), _steps(found))


def rebuttal(reply: str, held: Thesis) -> Rebuttal:
    """The rebuttal that a reply is, by the proponent who held `held`.

    Raises
    ------
    Malformed
        If it is not the object asked for, or if its answer contradicts its state: a defence without the answer, a
        revision or a concession that keeps it.
    """
    found = _object(reply, ("state", "answer", "chain_of_thought"))
    if found["state"] not in list(Stand):
        raise Malformed(f'"state" is none of {", ".join(Stand)}')
    state, answer = Stand(found["state"]), _answer(found)
    kept = _plain(answer) == _plain(held.answer)
    if state is Stand.DEFEND and not kept:
        raise Malformed('"state" is "defend", but "answer" is not the answer of the thesis')
    if state is not Stand.DEFEND and kept and answer is not None:
        raise Malformed(f'"state" is "{state}", but "answer" is still the answer of the thesis')
    if state is Stand.REVISE and answer is None:
        raise Malformed('"state" is "revise", but "answer" is null')
    return Rebuttal(state, answer, _steps(found))


def challenges(reply: str, n_documents: int) -> Mapping[int, str]:
    """Document number (from 1) → the challenge to its proponent, by number; empty where nobody is faulted.

    Raises
    ------
    Malformed
        If the reply is not ``{"challenges": [{"document": number, "challenge": text}, …]}``, names a document that does
        not exist, or one twice.
    """
    entries = _object(reply, ("challenges",))["challenges"]
    if not isinstance(entries, list):
        raise Malformed('"challenges" is not a list')
    found: dict[int, str] = {}
    for entry in entries:
        if not isinstance(entry, dict) or sorted(entry) != ["challenge", "document"]:
            raise Malformed('an entry of "challenges" is not an object with exactly "document" and "challenge"')
        number, text = entry["document"], entry["challenge"]
        if type(number) is not int or not 1 <= number <= n_documents:
            raise Malformed(f'"document" is not the number of a document, 1 to {n_documents}')
        if number in found:
            raise Malformed(f"document {number} is challenged twice")
        if not isinstance(text, str) or not text.strip():
            raise Malformed('a "challenge" is not a text')
        found[number] = text.strip()
    return dict(sorted(found.items()))


def _object(reply: str, keys: Sequence[str]) -> dict[str, Any]:
    fenced = _FENCE.fullmatch(reply)
    try:
        found = json.loads(fenced[1] if fenced else reply, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except Malformed:
        raise
    except (ValueError, RecursionError):
        raise Malformed("it is not one JSON object") from None
    if not isinstance(found, dict):
        raise Malformed("it is not one JSON object")
    if sorted(found) != sorted(keys):
        raise Malformed("its keys are not exactly " + ", ".join(f'"{key}"' for key in keys))
    if _HALF_CHARACTER.search(json.dumps(found, ensure_ascii=False)):
        raise Malformed("it holds half of a character")
    return found


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise Malformed("a key stands in it twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise Malformed("it holds a number that JSON does not have")


def _answer(found: Mapping[str, Any]) -> str | None:
    answer = found["answer"]
    if answer is None:
        return None
    if not isinstance(answer, str) or not answer.strip():
        raise Malformed('"answer" is neither a text nor null')
    return answer.strip()


def _steps(found: Mapping[str, Any]) -> tuple[str, ...]:
    steps = found["chain_of_thought"]
    if not isinstance(steps, list) or not 0 < len(steps) <= _MOST_STEPS:
        raise Malformed(f'"chain_of_thought" is not a list of 1 to {_MOST_STEPS} steps')
    if not all(isinstance(step, str) and step.strip() for step in steps):
        raise Malformed('a step of "chain_of_thought" is not a text')
    return tuple(step.strip() for step in steps)


def _plain(answer: str | None) -> str | None:
    """For comparing an answer with itself repeated: letters and digits, whatever their case."""
    return None if answer is None else "".join(filter(str.isalnum, answer.casefold()))
