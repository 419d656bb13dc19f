"""Error texts without secrets: keys, bearer tokens, credentials and query strings in URLs.

Everything a server or an SDK says passes through `redact` before it reaches a row, a log or a screen: servers quote the
key that they refuse, and SDKs quote the address they called.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import math
import os
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2

from srdcr_lab.records import FinishReason, Request

HIDDEN = "[hidden]"

_SECRET_VARIABLE = re.compile(r"(?:_KEY|_TOKEN|_SECRET|_PASSWORD)$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # a value such as "x" or "none" hides nothing, and would blank ordinary words

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # scheme://user:password@host → scheme://host; and ?query or #fragment of a URL
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@", re.IGNORECASE), r"\1"),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s?#'\"<>]*)[?#][^\s'\"<>]*", re.IGNORECASE), r"\1"),
    (
        re.compile(r"\b(Bearer\s+|Basic\s+(?=[A-Za-z0-9+/]{12,}=*))(?!\[hidden\])[^\s'\",;]+", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
    # header or JSON field: x-api-key: …, "api_key": "…", token=…
    (
        re.compile(
            r"((?:x-api-key|api[-_ ]?key|authorization|access[-_]?token|auth[-_]?token|secret|password)"
            r"['\"]?\s*[:=]\s*['\"]?)"
            r"(?!Bearer\b|Basic\b|\[hidden\])[^\s'\",;}]+",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    # what keys look like wherever they stand; providers star out their middle (sk-ab***yz)
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|ghp|github_pat)[-_][A-Za-z0-9*_.…-]{4,}"), HIDDEN),
)


def redact(text: str) -> str:
    """The text with whatever looks like a secret replaced by ``[hidden]``. Idempotent; other text is unchanged.

    Hidden are: values of environment variables named …_KEY, …_TOKEN, …_SECRET or …_PASSWORD (8 characters and longer),
    ``sk-…`` and its like, bearer tokens, ``x-api-key`` and ``api_key`` fields. User names, passwords and queries are
    dropped from URLs.
    """
    for secret in _secrets_in_environment():
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def address(url: object) -> str:
    """``host:port`` of a URL, which is all of it that an error needs."""
    parts = urlsplit(str(url))
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.hostname}:{port}" if parts.hostname else HIDDEN


class RedactingFilter(logging.Filter):
    """For loggers of HTTP clients and SDKs, which name the address of each request."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        return True


def _secrets_in_environment() -> list[str]:
    found = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
    return sorted((value for value in found if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)


# -- the HTTP client under an SDK: bounds each attempt as a whole, and counts those that were sent in vain

for _name in ("httpx2", "openai._base_client", "anthropic._base_client"):
    logging.getLogger(_name).addFilter(RedactingFilter())


@dataclass
class Tally:
    """Attempts of one `complete` call that were sent and brought nothing usable, though the provider may bill them."""

    unanswered: int = 0


_current: ContextVar[Tally | None] = ContextVar("srdcr_lab_attempts", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Count the attempts of what is awaited inside, also in tasks that are started inside."""
    tally = Tally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


def in_vain() -> None:
    """Count one attempt."""
    if (tally := _current.get()) is not None:
        tally.unanswered += 1


@cache
def _certificates() -> ssl.SSLContext:
    """What the system trusts; reading it takes 50 ms."""
    return httpx2.create_ssl_context()


class CountingClient(httpx2.AsyncClient):
    """The HTTP client under an SDK: bounds each attempt as a whole, and counts those that were sent in vain."""

    # A gateway that answers these gave up waiting; the model behind it may have finished, and billed.
    _GAVE_UP = frozenset({408, 502, 504, 520, 524})
    _NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)

    def __init__(self, connections: int, timeout_s: float) -> None:
        super().__init__(
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            limits=httpx2.Limits(max_connections=connections + 8, max_keepalive_connections=connections + 8),
            follow_redirects=True,
            verify=_certificates(),
        )
        self._attempt_s = timeout_s

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            # httpx bounds each read; a server that drips bytes would never meet that bound.
            async with asyncio.timeout(self._attempt_s):
                response = await super().send(request, **options)
        except TimeoutError:
            in_vain()
            raise httpx2.ReadTimeout(f"no whole reply within {self._attempt_s:g} s", request=request) from None
        except self._NEVER_SENT:
            raise
        except httpx2.RequestError:
            in_vain()
            raise
        if response.status_code in self._GAVE_UP:
            in_vain()
        return response


# -- reading what a server sent: one choice of a chat completion, its text, how it ended and what it cost

_FINISH = {
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

Choice = tuple[str, tuple[str, ...] | None, tuple[float, ...] | None, FinishReason]


class ReplyError(ValueError):
    """A reply that arrived whole and is not what the protocol promises."""


def read_choice(choice: Any, request: Request) -> Choice:
    """Text, tokens, log-probabilities and end of one choice. Raises ReplyError, KeyError … on anything else."""
    message = choice["message"]
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return _text(message.get("content")) or whole_characters(refusal), None, None, FinishReason.REFUSAL
    text = _text(message.get("content"))
    finish = _FINISH.get(choice.get("finish_reason"), FinishReason.STOP)
    kept = cut_at_stop(text, request.stop)
    if kept != text:
        finish = FinishReason.STOP
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if request.logprobs and isinstance(logprobs, dict) else None
    return kept, *aligned(kept, content), finish


def _text(content: Any) -> str:
    """A message's text: a string, null (a filter stopped it), or text parts as some servers send them."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str | None):
        raise ReplyError("a message whose content is no text")
    return whole_characters(content or "")


def shares(total: int, counts: Sequence[int]) -> list[int]:
    """The completion tokens of a request over its choices: by their own counts where they are known, else evenly."""
    known = sum(counts)
    if not all(counts) or (total and known > total):
        counts = [total // len(counts)] * len(counts)
        known = sum(counts)
    return [counts[0] + max(total - known, 0), *counts[1:]]


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """The text up to the first stop string, for servers that take fewer of them, or none."""
    return text[: min((at for mark in stop if (at := text.find(mark)) >= 0), default=len(text))]


def whole_characters(text: str) -> str:
    """The text with lone surrogates replaced: a reply may end within an escaped character, and no file takes a half."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(usage: Any, *fields: str) -> int:
    """Sum of token counts of a reply's usage block; what is missing or no count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


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
