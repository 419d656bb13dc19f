"""Between an SDK and the network: attempts are bounded and counted, replies are checked, and secrets are hidden.

Servers quote the key that they refuse, and SDKs quote the address they called: whatever they say passes through
`redact` before it reaches a row, a log or a screen.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2


@dataclass
class Tally:
    """Attempts of one `complete` call that were sent and brought nothing usable, though the provider may bill them."""

    unanswered: int = 0


_TALLY: ContextVar[Tally | None] = ContextVar("srdcr_lab_attempts", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Count the unanswered attempts made inside, also in tasks that are started inside."""
    tally = Tally()
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


def count_unanswered() -> None:
    if (tally := _TALLY.get()) is not None:
        tally.unanswered += 1


_certificates = cache(httpx2.create_ssl_context)  # what the system trusts; reading it takes 50 ms


class CountingClient(httpx2.AsyncClient):
    """The HTTP client under an SDK: bounds each attempt as a whole, and counts those that went unanswered."""

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
            count_unanswered()
            raise httpx2.ReadTimeout(f"no whole reply within {self._attempt_s:g} s", request=request) from None
        except httpx2.RequestError as error:
            if not isinstance(error, self._NEVER_SENT):
                count_unanswered()
            raise
        if response.status_code in self._GAVE_UP:
            count_unanswered()
        return response


class ReplyError(ValueError):
    """A reply that arrived whole and is not what the protocol promises."""


def count(usage: Any, *fields: str) -> int:
    """Sum of token counts of a reply's usage block; what is missing or no count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


HIDDEN = "[hidden]"
_SECRET_VARIABLES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")  # how their names end
_SHORTEST_SECRET = 8  # a value such as "x" or "none" hides nothing, and would blank ordinary words
_ANY_CASE = {
    # scheme://user:password@host → scheme://host; and ?query or #fragment of a URL
    r"(\b[a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@": r"\1",
    r"(\b[a-z][a-z0-9+.-]*://[^\s?#'\"<>]*)[?#][^\s'\"<>]*": r"\1",
    r"\b(Bearer\s+|Basic\s+(?=[A-Za-z0-9+/]{12,}=*))(?!\[hidden\])[^\s'\",;]+": rf"\1{HIDDEN}",
    # header or JSON field: x-api-key: …, "api_key": "…", token=…
    r"((?:x-api-key|api[-_ ]?key|authorization|access[-_]?token|auth[-_]?token|secret|password)['\"]?\s*[:=]\s*['\"]?)"
    r"(?!Bearer\b|Basic\b|\[hidden\])[^\s'\",;}]+": rf"\1{HIDDEN}",
}
# what keys look like anywhere; providers star out their middle (sk-ab***yz)
_KEYS = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|ghp|github_pat)[-_][A-Za-z0-9*_.…-]{4,}")


def redact(text: str) -> str:
    """The text with whatever looks like a secret replaced by ``[hidden]``. Idempotent; other text is unchanged.

    Hidden are: values of environment variables named …_KEY, …_TOKEN, …_SECRET or …_PASSWORD (8 characters and longer),
    ``sk-…`` and the like, bearer tokens, ``x-api-key`` and ``api_key`` fields; of URLs user names, passwords, queries.
    """
    values = [value for name, value in os.environ.items() if name.upper().endswith(_SECRET_VARIABLES)]
    for secret in sorted(values, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    for pattern, replacement in _ANY_CASE.items():
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return _KEYS.sub(HIDDEN, text)


def address(url: object) -> str:
    """``host:port`` of a URL, which is all of it that an error needs."""
    parts = urlsplit(str(url))
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.hostname}:{port}" if parts.hostname else HIDDEN


def _redacted(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact(record.getMessage()), ()
    return True


for _name in ("httpx2", "openai._base_client", "anthropic._base_client"):  # they log the address of each request
    logging.getLogger(_name).addFilter(_redacted)
