"""Token log-probabilities of a chat completion, fitted to its text.

Servers differ: the list is null, short, or holds an end marker; characters of several tokens come as bytes; white
space that was stripped from the text still stands in the tokens. Whatever does not spell the text exactly is given up
as a whole, because a mean over the wrong tokens looks like a confidence and is none.
"""

from __future__ import annotations

import codecs
import math
from typing import Any

LOWEST = -9999.0  # what the protocol says for "very unlikely"; JSON has no infinity

Aligned = tuple[tuple[str, ...], tuple[float, ...]] | tuple[None, None]


def aligned(text: str, content: Any) -> Aligned:
    """Tokens whose concatenation is `text`, with natural log-probabilities (≤ 0); else (None, None).

    Parameters
    ----------
    text : the completion as the user sees it; an empty one has no tokens.
    content : the protocol's ``logprobs.content``: a list of ``{"token", "logprob", "bytes"}``, or anything else.
    """
    if not text or not isinstance(content, list) or not all(_is_entry(entry) for entry in content):
        return None, None
    logprobs = [max(min(float(entry["logprob"]), 0.0), LOWEST) for entry in content]
    for pieces in (_from_bytes(content), [entry["token"] for entry in content]):
        fitted = _fitted(text, pieces, logprobs)
        if fitted != (None, None):
            return fitted
    return None, None


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        return False
    value = entry.get("logprob")
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _from_bytes(content: list[dict[str, Any]]) -> list[str]:
    """Each token's text from its bytes; a character of several tokens belongs to the last, the others are empty."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    try:
        return [decoder.decode(_bytes(entry)) for entry in content]
    except (ValueError, TypeError):
        return []


def _bytes(entry: dict[str, Any]) -> bytes:
    given = entry.get("bytes")
    return bytes(given) if isinstance(given, list) else entry["token"].encode("utf-8", "replace")


def _fitted(text: str, pieces: list[str], logprobs: list[float]) -> Aligned:
    """The pieces, cut to `text`: white space before it goes, and all that follows (end marker, stop string)."""
    spelled = "".join(pieces)
    start = spelled.find(text)
    if start < 0 or spelled[:start].strip():
        return None, None
    end, at = start + len(text), 0
    tokens: list[str] = []
    kept: list[float] = []
    for piece, logprob in zip(pieces, logprobs, strict=True):
        part = spelled[max(at, start) : min(at + len(piece), end)]
        begun, at = at, at + len(piece)
        if begun >= end:
            break
        if part or (not piece and begun >= start):  # an empty piece inside is the first half of a character
            tokens.append(part)
            kept.append(logprob)
    return tuple(tokens), tuple(kept)
