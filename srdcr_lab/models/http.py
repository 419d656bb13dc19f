"""Between an SDK and the network: attempts are bounded and counted, outages waited out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2

from srdcr_lab.models.base import MORE_THAN_ONE, held, hide_secrets


@dataclass
class Tally:
    """Attempts of one `complete` call that were sent and brought nothing usable, though the provider may bill them."""

    unanswered: int = 0


_TALLY: ContextVar[Tally | None] = ContextVar("srdcr_lab_attempts", default=None)


def tallied() -> AbstractContextManager[Tally]:
    """Count the unanswered attempts made inside, also in tasks that are started inside."""
    return held(_TALLY, Tally())


def count_unanswered() -> None:
    if (tally := _TALLY.get()) is not None:
        tally.unanswered += 1


MOST_BYTES = 2**24  # of a reply, unpacked: 128 draws of 400 tokens with their log-probabilities take about 10 MB
LONGEST_PAUSE_ASKED_S = 60.0  # that a server may ask for; beyond it the SDK's own pauses apply
PROBE_PAUSE_S = 1.0  # after the first look whether a server is back; doubled after each, up to the longest
TOO_LONG = "srdcr_lab.too_long"  # marks, among a response's extensions, one that was not read to its end
_MOST_BYTES_OF_AN_ERROR = 2**16
_LONGEST_PAUSE_S = 15.0
_PROBE_S = 10.0
_RAW = "x-stainless-raw-response"  # how both SDKs say in a request that its caller reads the reply

_certificates = cache(httpx2.create_ssl_context)  # what the system trusts; reading it takes 50 ms


class CountingClient(httpx2.AsyncClient):
    """The HTTP client under an SDK: bounds each attempt and its reply, counts attempts that went unanswered, and waits
    while the server is away.

    A server is away if it has answered before, and now refuses or cuts connections, or answers 502, 503, 504 or 529.
    It is waited for until it has been away for `patience_s`. `say` is called with a sentence when an outage begins,
    when it ends, and when the server limits the rate. Redirects are not followed: neither prompts nor keys go where the
    user did not send them.
    """

    AWAY = frozenset({502, 503, 504, 529})
    # A gateway that answers these gave up waiting; the model behind it may have finished, and billed.
    _GAVE_UP = frozenset({408, 502, 504, 520, 524})
    _CUT = (httpx2.NetworkError, httpx2.ConnectTimeout, httpx2.RemoteProtocolError)
    _NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)

    def __init__(self, connections: int, timeout_s: float, patience_s: float, say: Callable[[str], object]) -> None:
        super().__init__(
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            limits=httpx2.Limits(max_connections=connections + 8, max_keepalive_connections=connections + 8),
            verify=_certificates(),
            event_hooks={"response": [self._read_within_bounds, self._close_if_more]},
            mounts={f"all://{here}": None for here in ("127.0.0.1", "[::1]", "localhost")},  # through no proxy
        )
        self._attempt_s, self._patience_s, self._say, self._say_once = timeout_s, patience_s, say, cache(say)
        self._looking = asyncio.Lock()
        self._has_answered = self._is_away = self._is_announced = False
        self._away_since = 0.0

    @property
    def has_lost_patience(self) -> bool:
        """Whether the server has been away for longer than patience."""
        return self._is_away and self._seconds_left() <= 0

    def _seconds_left(self) -> float:
        """For how long the server is still waited for."""
        return self._away_since + self._patience_s - time.monotonic()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response, or the error, of one attempt of the SDK.

        An attempt that was never sent, or was turned away, costs nothing: it is made again once the server is back.
        Others may be billed, and are left to the SDK's bounded retries.
        """
        began = time.monotonic()
        while True:
            await self._until_it_is_back(request.url)
            try:
                response = await self._attempt(request, options)
            except self._CUT as error:
                if not (self._may_wait(began) and isinstance(error, self._NEVER_SENT)):
                    raise
            else:
                if response.status_code not in self.AWAY:
                    self._is_there(response)
                    return response
                if not self._may_wait(began) or response.status_code in self._GAVE_UP:
                    return response
            await asyncio.sleep(PROBE_PAUSE_S)  # an overloaded server may turn away this call and answer others

    def _may_wait(self, began: float) -> bool:
        """A call that began then found the server away. Whether it may wait."""
        if not self._has_answered:  # nobody waits for a server that was never there
            return False
        now = time.monotonic()
        self._is_away, self._away_since = True, self._away_since or now
        return self._seconds_left() > 0 and now < began + self._patience_s

    async def _until_it_is_back(self, url: httpx2.URL) -> None:
        """Wait until the server is back, or patience ends. One call looks for all."""
        async with self._looking:
            pause = 0.0
            while self._is_away and (left := self._seconds_left()) > 0:
                await asyncio.sleep(min(pause, left))
                pause = min(max(2 * pause, PROBE_PAUSE_S), _LONGEST_PAUSE_S)
                self._is_away = await self._gives_no_answer(url)
                if self._is_away and not self._is_announced:
                    self._is_announced = True
                    self._say(f"the server does not answer any more; its calls wait, {self._patience_s:g} s at most.")

    async def _gives_no_answer(self, url: httpx2.URL) -> bool:
        """A look that costs nothing: any answer to a GET, a refusal too, comes from a server that is there."""
        try:
            async with asyncio.timeout(_PROBE_S):
                response = await super().send(self.build_request("GET", url))
        except Exception:  # whatever it was, it was no answer
            return True
        return response.status_code in self.AWAY

    def _is_there(self, response: httpx2.Response) -> None:
        if self._is_announced:
            self._say(f"the server answers again, after {time.monotonic() - self._away_since:.0f} s.")
        self._has_answered, self._is_away, self._is_announced, self._away_since = True, False, False, 0.0
        if response.status_code == 429:
            self._say_once("the server limits the rate (429); calls wait and are made again a few times.")

    async def _attempt(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
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
        response.headers.pop("retry-after-ms", None)
        if not _is_short(response.headers.get("retry-after", "0")):  # one SDK would wait for as long as it is asked to
            del response.headers["retry-after"]
        return response

    async def _read_within_bounds(self, response: httpx2.Response) -> None:
        """Read the body as far as its bound: it may be endless, or unpack to a thousand times what was sent."""
        if response.is_success and response.request.headers.get(_RAW) == "stream":
            return  # to who asked for it so, and bounds what is read
        most = MOST_BYTES if response.is_success else _MOST_BYTES_OF_AN_ERROR
        body = bytearray()
        async with aclosing(response.aiter_bytes()) as parts:  # of 1 MB at most, packed or not
            async for part in parts:
                body += part
                if len(body) > most:
                    response.extensions[TOO_LONG] = True
                    del body[_MOST_BYTES_OF_AN_ERROR:]
                    break
        response._content = bytes(body)  # where the client itself would put the whole of it

    async def _close_if_more(self, response: httpx2.Response) -> None:
        """Close a connection on which more came than this reply: the next request would take the rest for its own.

        httpcore looks for such bytes on the socket, not among those that it has read already, and has no public way to
        ask for them.
        """
        stream: Any = response.stream
        for name in ("_stream", "_httpcore_stream", "_stream", "_connection"):
            stream = getattr(stream, name, None)
        state = getattr(stream, "_h11_state", None)
        if state is not None and state.trailing_data[0]:
            await stream.aclose()
            self._say_once(f"{MORE_THAN_ONE}; that connection was closed.")


def _is_short(pause_asked: str) -> bool:
    """Whether a server asks for a pause in seconds, of a minute at most."""
    try:
        return 0 <= float(pause_asked) <= LONGEST_PAUSE_ASKED_S
    except ValueError:  # a date
        return False


class ReplyError(ValueError):
    """A reply that arrived whole and is not what the protocol promises."""


_MOST_TOKENS = 10**8  # no model reads or writes so many at once


def count(usage: Any, *fields: str) -> int:
    """Sum of token counts of a reply's usage block; what is missing or no count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if type(value) is int and 0 < value <= _MOST_TOKENS)


hide_secrets("httpx2")  # it logs the address of each request
