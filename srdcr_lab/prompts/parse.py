"""Strict readers of replies. What cannot be read is UNPARSED or None; the raw text stays with the turn."""

from __future__ import annotations

import re

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
