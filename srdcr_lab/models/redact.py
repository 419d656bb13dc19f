"""Error texts without secrets: keys, bearer tokens, credentials and query strings in URLs.

Everything a server or an SDK says passes through `redact` before it reaches a row, a log or a screen: servers quote the
key that they refuse, and SDKs quote the address they called.
"""

from __future__ import annotations

import logging
import os
import re
from urllib.parse import urlsplit

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
