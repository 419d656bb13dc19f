"""The line a reply was asked to end with: ``answer: `` and the answer."""

from __future__ import annotations

import re

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
