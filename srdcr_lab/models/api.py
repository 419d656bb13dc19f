"""What both API adapters share: a bound on requests in flight, retries, errors as sentences.

Retries after 408, 409, 429, 5xx, time-outs and cut connections are the SDK's own and honour Retry-After. On top of
them a reply that is no completion (broken JSON, missing fields) is asked for again, `MALFORMED_RETRIES` times. A
request keeps its slot while it backs off: under a rate limit that slows the whole run down, which is what the server
asks for.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import httpx2

from srdcr_lab.models.base import Arrived
from srdcr_lab.models.http import CountingClient, ReplyError, address, in_vain, redact, tallied
from srdcr_lab.records import (
    BadInput,
    CallFailed,
    Capabilities,
    Completion,
    ModelIdentity,
    Request,
    SrdcrError,
    Stopped,
)

MALFORMED_RETRIES = 2
MALFORMED_PAUSE_S = 0.5
CHECK_TIMEOUT_S = 10.0
RETRIES_TAKEN = "x-stainless-retry-count"  # both SDKs say in their requests how often they retried
PLACEHOLDER_KEY = "no-key-needed"  # for servers of one's own, which ask for none; the SDKs insist on one

Read = TypeVar("Read")


class ApiChat(ABC):
    """A chat model behind an official SDK. Subclasses say how a request is worded and how a reply is read.

    Parameters
    ----------
    name : the model's name at the provider.
    label : tells apart servers that serve different models under one name.
    base_url : of a server of one's own; default: the SDK's environment variable, or the provider's.
    concurrency : HTTP requests in flight at once, ≥ 1.
    timeout_s : bound on one attempt, in seconds.
    max_retries : the SDK's retries after the first attempt.
    """

    provider: ClassVar[str]
    key_variable: ClassVar[str]
    url_variable: ClassVar[str]
    path: ClassVar[str]
    models_path: ClassVar[str]
    status_error: ClassVar[type[Exception]]
    timeout_error: ClassVar[type[Exception]]
    connection_error: ClassVar[type[Exception]]
    gives_logprobs: ClassVar[bool]
    spoken: ClassVar[Mapping[str, str]]  # versions of SDK and protocol
    never_sent: ClassVar[Mapping[str, str]] = MappingProxyType({})  # parameters of a request, and why

    def __init__(
        self,
        name: str,
        *,
        label: str = "",
        base_url: str | None = None,
        concurrency: int = 64,
        timeout_s: float = 120.0,
        max_retries: int = 5,
    ) -> None:
        if base_url is not None and not base_url.lower().startswith(("http://", "https://")):
            raise BadInput(
                f"The base URL of {self.provider}:{name} is {redact(base_url)!r}; it has to begin with http:// or https://."
            )
        if concurrency < 1:
            raise BadInput(f"The concurrency of {self.provider}:{name} is {concurrency}; it has to be at least 1.")
        self.identity = ModelIdentity(self.provider, name, label)
        self.capabilities = Capabilities(logprobs=self.gives_logprobs)
        self.max_attempts = 1 + max_retries + MALFORMED_RETRIES  # of one HTTP request: what may be billed at worst
        self._base_url, self._concurrency = base_url, concurrency
        self._timeout_s, self._max_retries = timeout_s, max_retries
        self._sent: dict[str, Any] = {
            **self.spoken,
            "adapted": {},
            "dropped": dict(self.never_sent),
            "served_models": [],
            "requests": 0,
            "unanswered_attempts": 0,
        }
        self._notes: list[str] = []
        # A connection belongs to the event loop that opened it: one client (and one set of slots) for each loop.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, asyncio.Semaphore]] = WeakKeyDictionary()
        try:
            self._first: Any = self._connect()  # now, so that a missing key is known before any work
        except httpx2.InvalidURL as error:
            raise BadInput(f"The base URL of {self.identity} cannot be read ({redact(str(error))}).") from None
        self.address = address(self._first.base_url)

    # What a provider fills in ------------------------------------------------------------------------------------

    @abstractmethod
    def _connect(self) -> Any:
        """A new SDK client. Raises BadInput where the key is missing."""

    @abstractmethod
    async def _answer(self, request: Request, arrived: Arrived) -> Iterable[Completion]:
        """All completions of the request, in any order; `arrived` is told of each HTTP reply's completions at once."""

    @abstractmethod
    def _refused(self, error: Exception, body: dict[str, Any]) -> None:
        """Raise what a status error about a parameter of this request leads to; return for any other error."""

    # The contract ------------------------------------------------------------------------------------------------

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """One completion per draw, in the order of `request.draws`. See `ChatModel.complete`."""
        return (await self.complete_counted(request))[0]

    async def complete_counted(
        self, request: Request, arrived: Arrived | None = None
    ) -> tuple[tuple[Completion, ...], int]:
        """The completions, and how many attempts were sent in vain (time-outs, cut connections, malformed replies).

        Parameters
        ----------
        arrived : called with the completions of each HTTP reply as it comes, before the others are there: several
            requests are needed where a server gives one choice at a time, and the store keeps each as it arrives.

        Raises
        ------
        CallFailed
            Its `unanswered_attempts` is the same count. Draws that did come were given to `arrived`.
        """
        with tallied() as tally:
            try:
                found = await self._answer(request, arrived or (lambda _: None))
            except CallFailed as failure:
                failure.unanswered_attempts = tally.unanswered
                raise
            finally:
                self._sent["unanswered_attempts"] += tally.unanswered
        by_draw = {completion.draw: completion for completion in found}
        return tuple(by_draw[draw] for draw in request.draws), tally.unanswered

    async def check(self) -> None:
        """One cheap GET: is there a server, and does it take the key?

        Raises
        ------
        BadInput
            Nothing listens at the address, or the key is refused. Any other HTTP answer counts as reachable.
        """
        client, _ = self._here()
        quick = client.with_options(max_retries=1, timeout=min(CHECK_TIMEOUT_S, self._timeout_s))
        try:
            await quick.get(self.models_path, cast_to=httpx2.Response)
        except self.connection_error as error:
            why = "did not answer in time" if isinstance(error, self.timeout_error) else "could not be reached"
            raise BadInput(
                f"{self.identity}: the server at {self.address} {why}; "
                f"start it, or correct the base URL (--base-url or {self.url_variable})."
            ) from None
        except self.status_error as error:
            # A key that is restricted to completions may not list the models.
            if _status(error) in (401, 403) and "scope" not in _message(error):
                raise self._translated(error) from None

    async def aclose(self) -> None:
        """Close the connections of this event loop; those of loops that have ended went with them."""
        client, _ = self._clients.pop(asyncio.get_running_loop(), (self._first, None))
        self._first = None
        if client is not None:
            await client.close()

    def sent(self) -> dict[str, Any]:
        """What was really sent, for `run.json`: parameters renamed or left out, names of the models that answered."""
        return {
            "provider": self.provider,
            "name": self.identity.name,
            "address": self.address,
            **{key: value.copy() if isinstance(value, dict | list) else value for key, value in self._sent.items()},
            "notes": list(self._notes),
        }

    # What both use -----------------------------------------------------------------------------------------------

    def _http_client(self) -> CountingClient:
        return CountingClient(self._concurrency, self._timeout_s)

    def _here(self) -> tuple[Any, asyncio.Semaphore]:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            client, self._first = self._first or self._connect(), None
            self._clients[loop] = (client, asyncio.Semaphore(self._concurrency))
        return self._clients[loop]

    async def _post(self, body: dict[str, Any], read: Callable[[Any], Read]) -> Read:
        """Send one request (the SDK retries) until `read` makes sense of the reply, a bounded number of times.

        The SDK's `client.post` is used rather than its typed method: authentication, retries and time-outs are the
        same, and the conversion of every message through its type declarations, most of the SDK's CPU time, is saved.

        Raises
        ------
        CallFailed, BadInput, Stopped
            As `_translated` says, unless the SDK's status error is one that the subclass handles (`_refused`).
        """
        client, slots = self._here()
        async with slots:
            reason, retries = "", self._max_retries
            for attempt in range(MALFORMED_RETRIES + 1):
                if attempt:
                    await asyncio.sleep(MALFORMED_PAUSE_S * attempt)
                self._sent["requests"] += 1
                try:
                    options = {"max_retries": retries}
                    response = await client.post(self.path, body=body, cast_to=httpx2.Response, options=options)
                except (self.status_error, self.connection_error) as error:
                    self._refused(error, body)
                    raise self._translated(error) from None
                except UnicodeEncodeError:
                    raise CallFailed(f"{self.identity}: the prompt holds a lone surrogate, which is no text.") from None
                retries -= int(response.request.headers.get(RETRIES_TAKEN, 0))  # the bound is one for all rounds
                try:
                    return read(json.loads(response.content))
                except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                    reason = str(error) if isinstance(error, ReplyError) else "not the JSON of a completion"
                    in_vain()
        raise CallFailed(
            f"{self.identity}: the reply of {self.address} was malformed {MALFORMED_RETRIES + 1} times ({reason})."
        )

    def _served(self, reply: dict[str, Any]) -> None:
        """Keep the name of the model that answered: a provider's alias may move while a study runs."""
        name = reply.get("model")
        if isinstance(name, str) and name not in self._sent["served_models"]:
            self._sent["served_models"].append(name)

    def _note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes.append(sentence)

    def _translated(self, error: Exception) -> SrdcrError:
        """The SDK's error as one of ours, in one sentence and without secrets."""
        said = redact(_message(error)).strip().rstrip(".")
        if isinstance(error, self.timeout_error):
            return CallFailed(f"{self.identity}: no reply within {self._timeout_s:g} s, {self._max_retries + 1} times.")
        if isinstance(error, self.connection_error):
            return CallFailed(
                f"{self.identity}: the connection to {self.address} failed or was cut, {self._max_retries + 1} times."
            )
        status = _status(error)
        if status == 401:
            return BadInput(
                f"{self.identity}: the key in {self.key_variable} was refused by {self.address} (401: {said})."
            )
        if status == 403:
            return BadInput(
                f"{self.identity}: the key in {self.key_variable} has no permission at {self.address} (403: {said})."
            )
        if status == 404 or getattr(error, "code", None) == "model_not_found":
            return BadInput(
                f"{self.identity}: {self.address} knows no such model or path ({status}: {said}); "
                "check the model's name and the base URL."
            )
        if status == 402 or getattr(error, "code", None) == "insufficient_quota":
            return Stopped(
                f"{self.identity}: the account at {self.address} is used up ({status}: {said}); "
                "top it up and run the same again to go on."
            )
        return CallFailed(f"{self.identity}: {self.address} answered {status} ({said}).")


async def gather_all(calls: Iterable[Awaitable[Sequence[Completion]]]) -> list[Completion]:
    """All results, flat. Where one fails, the others are waited for first: what is paid for has to arrive."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [completion for result in results if not isinstance(result, BaseException) for completion in result]


def _status(error: Exception) -> int:
    return int(getattr(error, "status_code", 0))


def _message(error: Exception) -> str:
    """What the server said, without the SDK's wrapping: the `error.message` of the body where there is one."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    return " ".join(str(body if body else getattr(error, "message", error)).split())[:300]
