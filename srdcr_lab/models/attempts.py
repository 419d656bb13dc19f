"""The HTTP client under an SDK: bounds each attempt as a whole, and counts those that were sent in vain.

A provider may bill an attempt that brought nothing: a time-out, a connection cut in mid-reply, a gateway that gave
up. The SDKs retry these without telling; a budget has to know of them.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2

from srdcr_lab.models.redact import RedactingFilter

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
