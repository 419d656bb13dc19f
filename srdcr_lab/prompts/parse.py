"""Strict readers of replies. What cannot be read is UNPARSED or None; the raw text stays with the turn."""

from __future__ import annotations

import re

from srdcr_lab.records import Verdict

_VERDICT_LINE = re.compile(
    r"[\s*_#>`\"']*final decision\s*:\s*[*_`\"']*(REASONABLE|UNREASONABLE)[\s.*_`\"']*", re.IGNORECASE
)
_CONFIDENCE_LINE = re.compile(r"[\s*_]*confidence\s*:\s*[*_]*(\d{1,3})\s*%?[\s.*_]*", re.IGNORECASE)
_OPENING = re.compile(r"\s*(.+?)\s*(?:\.(?=\s|$)|\n|$)", re.DOTALL)


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


def opening_statement(reply: str) -> str:
    """What stands before the first full stop or line break: where a debater was asked to put its answer."""
    found = _OPENING.match(reply)
    return found[1] if found else ""
