"""Strict readers of replies. What cannot be read is UNPARSED or None; the raw text stays with the turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from srdcr_lab.records import Verdict

# Emphasis and quotation marks around the line or its parts are decoration: **Final decision:** REASONABLE.
_VERDICT_LINE = re.compile(
    r"[\s*_#`\"'“]*final decision[\s*_`]*:[\s*_`\"'“]*(REASONABLE|UNREASONABLE)[\s.*_`\"'”]*", re.IGNORECASE | re.ASCII
)
_CONFIDENCE_LINE = re.compile(r"[\s*_]*confidence[\s*_]*:[\s*_]*(\d{1,3})\s*%?[\s.*_]*", re.IGNORECASE | re.ASCII)
_FINAL_ANSWER = re.compile(r"[\s*_#>`\"'“]*final answer[\s*_`]*:[\s*_`]*(\S.*)", re.IGNORECASE | re.ASCII)
_ANSWERS_LINE = re.compile(r"[\s*_#`\"'“]*answers[\s*_`]*:([^\n]*)", re.IGNORECASE | re.ASCII)
_STOP = re.compile(r"\n|\.(?=\s|\Z)")
_SHORTENED = re.compile(r"(?:\A|[\s.(])(?:[A-Z]|St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof|No|c|ca|approx)\Z")
_SENTENCE = re.compile(r"\.\s+(?:I|I['’]m|The|This|That|It|My|We|As|A|An|While|You|According|There)\s")


def verdict(reply: str) -> Verdict:
    """The ruling on the reply's last non-empty line, which must be nothing but the ruling; else UNPARSED."""
    lines = [line for line in reply.splitlines() if line.strip()]
    found = _VERDICT_LINE.fullmatch(lines[-1]) if lines else None
    return Verdict(found[1].upper()) if found else Verdict.UNPARSED


def confidence(reply: str) -> float | None:
    """A stated percentage as a number in [0, 1]; None where the one line asked for is not there."""
    found = _CONFIDENCE_LINE.fullmatch(reply)
    value = int(found[1]) if found else 101
    return value / 100 if value <= 100 else None


def final_answer(reply: str) -> str | None:
    """What follows "Final answer:" on the reply's last non-empty line; None where that line does not begin so."""
    lines = [line for line in reply.splitlines() if line.strip()]
    found = _FINAL_ANSWER.fullmatch(lines[-1]) if lines else None
    return found[1].strip() if found else None


def answers_line(reply: str) -> tuple[str, ...] | None:
    """The answers on the last non-empty line, ``answers: A | B``; empty for "none", None without such a line."""
    lines = [line for line in reply.splitlines() if line.strip()]
    found = _ANSWERS_LINE.fullmatch(lines[-1]) if lines else None
    if found is None:
        return None
    given = [each.strip(" \t*_`\"'“”") for each in found[1].split("|")]
    if [each.rstrip(".").lower() for each in given] == ["none"]:
        return ()
    return tuple(each for each in given if each) or None


def opening_statement(reply: str) -> str:
    """What stands before the first full stop or line break: where a debater was asked to put its answer.

    A stop after an initial or an abbreviation ("J. R. R. Tolkien", "St. Louis") ends nothing, unless a sentence begins
    after it ("Malcolm X. I am certain").
    """
    text = reply.strip()
    for stop in _STOP.finditer(text):
        shortened = _SHORTENED.search(text, max(0, stop.start() - 12), stop.start())
        if stop[0] == "\n" or stop.end() == len(text) or not shortened or _SENTENCE.match(text, stop.start()):
            return text[: stop.start()].strip()
    return text


# -- the line a reply was asked to end with: ``answer: `` and the answer

_ANSWER_LINE = re.compile(r"[\s>*_#`\"'“-]*(?:final )?answer[\s*_`]*:[\s*_`]*(\S.*?)[\s*_`\"'”]*", re.IGNORECASE)


def answer_line(reply: str) -> str | None:
    """What stands after "answer:" on the last non-empty line; None where that line says nothing of the kind.

    >>> answer_line("It is a place for books.\\n**Answer:** B")
    'B'
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    found = _ANSWER_LINE.fullmatch(lines[-1][:1000]) if lines else None
    return found[1] if found else None


def dashed_lines(reply: str) -> list[str]:
    """The texts of the lines that begin with a dash, in order."""
    stripped = (line.strip() for line in reply.splitlines())
    return [text for line in stripped if line.startswith(("- ", "– ", "* ")) and (text := line[2:].strip())]


# -- strict readers of replies that are one JSON object: theses, challenges, rebuttals (dialectical debate)

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
