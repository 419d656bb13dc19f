"""What the adapters of official SDKs share: clients, slots, draws, retries, and errors as sentences.

The SDK itself retries after 408, 409, 429, 5xx, time-outs and cut connections, and honours Retry-After; an outage is
waited out (`CountingClient`). A reply that is not a completion (broken JSON, missing fields, too long) fails its call,
and the next run asks again. A request keeps its slot while it backs off: under a rate limit this slows the whole run
down, as the server asks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from numbers import Integral
from types import ModuleType
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import httpx2

from srdcr_lab.models import base
from srdcr_lab.models.base import API, Arrived, WithoutText, held, redact
from srdcr_lab.records import BadInput, CallFailed, FinishReason, SrdcrError, Stopped, TemperatureRefused
from srdcr_lab.records.files import parse_json, rows_beside
from srdcr_lab.records.types import Capabilities, Completion, ModelIdentity, Request
from srdcr_lab.records.vocabulary import did_you_mean, must_be, visible

PLACEHOLDER_KEY = "no-key-needed"  # for servers of one's own, which ask for none; the SDKs insist on one
_CHECK_TIMEOUT_S = 10.0
_MOST_CHARACTERS = 100_000  # of one reply, which later prompts quote; no model writes as much in a turn
_WINDOWS = ("n_ctx", "max_model_len", "context_length", "max_input_tokens")  # llama.cpp, vLLM, OpenRouter, Anthropic
_A_KEY = 16  # characters at least: a made-up key of a server of one's own may be a word
_MOST_RECORDED = 50  # names of models, notes
_MOST_IN_VAIN = 20  # calls before the first that brings a text
_SHORT = 12  # tokens of a reply to `doctor`, too few to tell
_ONLY_THOUGHT = "thinking took all tokens; set --reasoning to none, or to a level, which adds room for it."
_LOG = logging.getLogger(__name__)
# Of a refused parameter. In this order: a complaint about `logprobs` that also says "n" is about logprobs.
CONSEQUENCES = {row["parameter"]: row["consequence"] for row in rows_beside(__file__, "refused.csv")}
_REFUSED_VALUE = re.compile(r"unsupported_value|(?:supported|valid) values|should be|must be|one of", re.IGNORECASE)
Way = dict[str, Any]  # fields of a request that say how much to think; empty where nothing is to be said


class _Connection(NamedTuple):
    """The state of one event loop; a connection belongs to the loop that opened it."""

    client: Any
    slots: asyncio.Semaphore
    http: CountingClient
    line: asyncio.Lock  # of rulings: only the first of them waits for a slot, so that turns get slots too


class ApiChat(ABC):
    """A chat model behind an official SDK. Subclasses define how a request is worded and how a reply is read.

    `label` tells apart servers that serve different models under one name. `base_url` names your own server; default:
    the SDK's environment variable, or the provider's address. `concurrency` ≥ 1 bounds the HTTP requests in flight,
    `timeout_s` one attempt (0: 600 with a server of your own, otherwise 120), `max_retries` the SDK's attempts after
    the first. An outage of a server that has answered before is waited out, up to `patience_s` (`CountingClient`).
    `reasoning` sets how much the model thinks before it replies (a level of `models.base.ROOM`, whose tokens are added
    to `max_tokens`); None: its default. `extra_body` are further fields of every request. Both are part of the model's
    identity. Without `takes_key` no key is read or sent.

    Raises
    ------
    BadInput
        No key is set and no server is named, or the base URL or the settings cannot be used.
    """

    sdk: ClassVar[ModuleType]
    provider: ClassVar[str]
    path: ClassVar[str]
    models_path: ClassVar[str]
    spoken: ClassVar[Mapping[str, str]] = {}  # versions of the protocol
    never_sent: ClassVar[Mapping[str, str]] = {}  # parameters of a request, and why
    batches: ClassVar[Any] = None  # the class of `models.batches.Batches` of a provider that has them
    ways: ClassVar[Callable[..., list[Way]]]  # in which a level of thinking is said to a server
    instead: ClassVar[Mapping[str, str]] = {}  # what is sent for a refused parameter; else nothing is
    draws_per_request: int  # that one HTTP request brings, as far as is known
    context_tokens: int | None = None  # of prompt and reply together; None if `check` did not find out
    _listed: Sequence[str] = ()  # names of models, as the server gives them
    has_replied = False  # some completion was read, so key, address and model's name are in order
    _in_vain, _hopeless = 0.0, ""  # calls until one brings a text; why no other is sent

    def __init__(
        self, name: str, *, label: str = "", base_url: str | None = None, concurrency: int = 64,
        timeout_s: float = 0.0, max_retries: int = 5, patience_s: float = base.PATIENCE_S, reasoning: str | None = None,
        extra_body: Mapping[str, Any] | None = None, takes_key: bool = True,
    ) -> None:  # fmt: skip
        self.identity = ModelIdentity(self.provider, name, label, settings=base.settings_of(reasoning, extra_body))
        must_be("base_url", base_url, (str, None), "an address such as http://localhost:8000/v1")
        must_be("concurrency", concurrency, (Integral,), "a whole number")
        if base_url is not None and (not base_url.lower().startswith(("http://", "https://")) or "?" in base_url):
            fault = f"is {redact(base_url)!r}; it has to begin with http:// or https:// and must not contain a ?"
            raise BadInput(f"The base URL of {self.identity} {fault}.")
        if concurrency < 1:
            raise BadInput(f"The concurrency of {self.identity} is {concurrency}; it has to be at least 1.")
        self.key_variable = f"{self.provider.upper()}_API_KEY" if takes_key else ""
        self.url_variable = f"{self.provider.upper()}_BASE_URL"
        self.capabilities = Capabilities(logprobs="logprobs" not in self.never_sent)
        self.refused: list[str] = []  # parameters that the model turned out to refuse
        self.max_attempts = 1 + max_retries  # of one HTTP request: what may be billed at worst
        self._room = base.room(self.identity)
        self._own_server = bool(base_url or os.environ.get(self.url_variable))
        self._base_url, self._concurrency = base_url, concurrency
        timeout_s = timeout_s or (600.0 if self._own_server else 120.0)
        self._timeout_s = timeout_s + self._room / 20  # room to think, at 20 tokens a second
        self._max_retries, self._patience_s = max_retries, patience_s
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, _Connection] = WeakKeyDictionary()
        try:
            # Now, so that a missing key is known before any work.
            self.address = base.address(self._connect().client.base_url)
        except (httpx2.InvalidURL, ValueError) as error:  # ValueError: a port beyond 65535
            raise BadInput(f"The base URL of {self.identity} cannot be read ({redact(str(error))}).") from None
        self._settings = Settings(self.identity, partial(self.ways, own_server=self._own_server))
        self._sent: dict[str, Any] = {
            "provider": self.provider, "name": name, "address": self.address,
            "sdk": f"{self.provider} {self.sdk.__version__}", **self.spoken, "adapted": {},
            "dropped": dict(self.never_sent), "served_models": [], "requests": 0, "unanswered_attempts": 0,
            "notes": [],
        }  # fmt: skip
        self.served: list[str] = self._sent["served_models"]

    @abstractmethod
    def _client(self, own_server: bool, options: dict[str, Any]) -> Any:
        """A new SDK client with these options, or None without a key."""

    @abstractmethod
    def body(self, request: Request, draws: Sequence[int]) -> dict[str, Any]:
        """The HTTP request for these draws."""

    @abstractmethod
    def read(self, reply: Any, request: Request, draws: Sequence[int]) -> list[Completion]:
        """Completions of one reply, for the first of `draws`. Raises ReplyError, KeyError … on anything else."""

    @abstractmethod
    def _complained_of(self, error: Any, body: dict[str, Any]) -> str | None:
        """The parameter of the request, one of ours or of the settings, that a status error complains about."""

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """One completion per draw, in the order of `request.draws`. See `ChatModel.complete`."""
        return (await self.complete_counted(request))[0]

    async def complete_counted(
        self, request: Request, arrived: Arrived = lambda _: None
    ) -> tuple[tuple[Completion, ...], int]:
        """The completions and the number of unanswered attempts (time-outs, cut connections, malformed replies).

        `arrived` is called with the completions of each HTTP reply as it comes. An error has the same count.
        """
        with tallied() as tally:
            try:
                answer = await self._answer(request, arrived)
                ends = {None if base.received(each).text else each.finish_reason for each in answer}
                is_empty = request.max_tokens > _SHORT and ends <= {FinishReason.LENGTH, FinishReason.STOP}
                why = _ONLY_THOUGHT if FinishReason.LENGTH in ends else "the replies are empty."
                self._count_in_vain(f"{self.identity}: {why}" if is_empty else "")
                return answer, tally["unanswered"]
            except (SrdcrError, asyncio.CancelledError) as failure:
                if is_lost := type(failure) is CallFailed:
                    self._count_in_vain(str(failure))
                error: Any = BadInput(self._hopeless) if is_lost and self._hopeless else failure
                error.unanswered_attempts = tally["unanswered"]
                raise error from None
            finally:
                self._sent["unanswered_attempts"] += tally["unanswered"]

    async def check(self) -> None:
        """One cheap GET. Raises `BadInput` if nothing listens at the address, or the key is refused.

        Any other HTTP answer counts as reachable.
        """
        self._in_vain, self._hopeless = 0.0, ""
        quick = self._here().client.with_options(max_retries=1, timeout=min(_CHECK_TIMEOUT_S, self._timeout_s))
        try:
            reply = await quick.get(self.models_path, cast_to=httpx2.Response)
            with suppress(ValueError, TypeError, LookupError):  # some servers list none
                models = parse_json(reply.content)["data"][:1000]
                self._listed = [str(model["id"])[:100] for model in models if model["id"] != self.identity.name]
                mine, *_ = (model for model in models if model["id"] == self.identity.name or len(models) == 1)
                mine |= mine.get("meta") or {}
                self.context_tokens = next((n for field in _WINDOWS if (n := count(mine, field))), None)
        except self.sdk.APIConnectionError as error:
            why = "did not answer in time" if isinstance(error, self.sdk.APITimeoutError) else "could not be reached"
            remedy = f"start it, correct the base URL (--base-url or {self.url_variable}), or ask nothing (--offline)"
            raise BadInput(f"{self.identity}: the server at {self.address} {why}; {remedy}.") from None
        except self.sdk.APIStatusError as error:
            # A key that is restricted to completions may not list the models.
            if error.status_code in (401, 403) and "scope" not in _message(error):
                raise self.translated(error) from None

    async def aclose(self) -> None:
        """Close the connections of this event loop; those of finished loops are gone already."""
        if connection := self._connections.pop(asyncio.get_running_loop(), None):
            await connection.client.close()

    def sent(self) -> dict[str, Any]:
        """What was really sent, for `run.json`: parameters renamed or left out, names of the models that answered."""
        return deepcopy(self._sent)

    def _connect(self) -> _Connection:
        key = os.environ.get(self.key_variable, "")
        if not (key.isascii() and key.isprintable()) or key != key.strip():
            fault = "a character that no key has (a quote that is not straight, a space, the end of a line)"
            raise BadInput(f"the value of {self.key_variable} holds {fault}; set it again")
        say = partial(self._note, level=logging.WARNING)
        http = CountingClient(self._concurrency, self._timeout_s, self._patience_s, say)
        options = {"base_url": self._base_url, "max_retries": self._max_retries, "timeout": self._timeout_s}
        client = self._client(self._own_server, options | {"http_client": http})
        if client is None:
            remedy = f"set the environment variable {self.key_variable}, or name a server of your own with --base-url"
            raise BadInput(f"{self.identity} needs a key: {remedy}.")
        return _Connection(client, asyncio.Semaphore(self._concurrency), http, asyncio.Lock())

    @property
    def client(self) -> Any:
        """The SDK's client for this event loop."""
        return self._here().client

    def _here(self) -> _Connection:
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            self._connections[loop] = self._connect()
        return self._connections[loop]

    async def _answer(self, request: Request, arrived: Arrived) -> tuple[Completion, ...]:
        """Ask for all draws at once; if the server returns fewer, ask for the rest in requests of that size."""
        have: dict[int, Completion] = {}
        while missing := [draw for draw in request.draws if draw not in have]:
            size = self.draws_per_request
            batches = [missing[start : start + size] for start in range(0, len(missing), size)]
            # Where one fails, the others are waited for first: what is paid for has to arrive.
            calls = (self._ask(request, batch, arrived) for batch in batches)
            for result in await asyncio.gather(*calls, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
                have |= {completion.draw: completion for completion in result}
        return tuple(have[draw] for draw in request.draws)

    async def _ask(self, request: Request, draws: Sequence[int], arrived: Arrived) -> list[Completion]:
        """The completions of one HTTP request: of these draws, or of as many of the first ones as the server
        returns.
        """
        completions: list[Completion] | None = None
        slots, line = self._here().slots, self._here().line
        while completions is None:
            async with line if request.scored else nullcontext():
                await slots.acquire()
            try:  # worded once it may be sent: others may have been refused meanwhile
                if self._hopeless:
                    raise BadInput(self._hopeless)
                if request.temperature is not None and not self.capabilities.temperature:
                    raise TemperatureRefused(f"{self.identity} refuses temperature.")
                draws = draws[: self.draws_per_request]
                body = self.worded(request, draws)
                completions = await self._post(body, partial(self.read, request=request, draws=draws))
            except self.sdk.APIStatusError as error:
                completions = self._refused(error, body, draws)
            finally:
                slots.release()
        if len(completions) < len(draws):
            self.draws_per_request = min(self.draws_per_request, len(completions))
            choices = f"{len(completions)} choices a request"
            self._note(f"The server gives {choices}; the other draws are asked for in further requests.")
        arrived(kept := [each for each in completions if not isinstance(each, WithoutText)])
        if len(kept) < len(completions):
            raise self._said_nothing(completions)
        return completions

    def _said_nothing(self, completions: Sequence[Completion]) -> CallFailed:
        count_unanswered()
        instead = next(each.text for each in completions if isinstance(each, WithoutText))
        told = f"replied without text ({instead}); such a reply is not kept, and the same run asks again"
        return CallFailed(f"{self.identity} {told}")

    def worded(self, request: Request, draws: Sequence[int]) -> dict[str, Any]:
        """The HTTP request for these draws, without what the model is known to refuse."""
        return self.body(request, draws) | self._settings.fields()

    def understood(self, status: int, reply: Any, request: Request, body: dict[str, Any]) -> list[Completion] | None:
        """Read a reply that did not come live: completions, or None to ask again in other words.

        Raises what `complete` raises, and ValueError, LookupError … if it is not a reply.
        """
        if status == 200:
            self._check_no_key(json.dumps(reply).encode())
            completions = self._decoded(reply, partial(self.read, request=request, draws=request.draws))
            if not (kept := [each for each in completions if not isinstance(each, WithoutText)]):
                raise self._said_nothing(completions)
            return kept
        response = httpx2.Response(status, json=reply, request=httpx2.Request("POST", f"https://{self.address}"))
        return self._refused(self.client._make_status_error_from_response(response), body, request.draws)

    async def _post(self, body: dict[str, Any], read: Callable[[Any], list[Completion]]) -> list[Completion]:
        """Send one request (the SDK retries), and read the reply.

        The SDK's `client.post` does the same as its typed method, without converting every message through type
        declarations, which is most of the SDK's CPU time. The SDK's status errors pass through.
        """
        client, _, http, _ = self._here()
        self._sent["requests"] += 1
        try:
            options = {"max_retries": 0 if http.has_lost_patience else self._max_retries}
            response = await client.post(self.path, body=body, cast_to=httpx2.Response, options=options)
        except self.sdk.APIConnectionError as error:
            raise self.translated(error) from None
        except UnicodeEncodeError:
            raise CallFailed(f"{self.identity}: the prompt holds a lone surrogate, which is not text.") from None
        except self.sdk.APIStatusError:
            raise
        except Exception as error:  # the SDK passes on what it does not know, such as faults of a TLS layer
            fault = redact(f"{type(error).__name__}: {error}")
            raise CallFailed(f"{self.identity}: {self.address} could not be asked ({fault}).") from None
        self._check_no_key(response.content)
        try:
            if TOO_LONG in response.extensions:
                raise ReplyError(f"longer than {MOST_BYTES >> 20} MB")
            return self._decoded(parse_json(response.content), read)
        except Exception as error:  # whatever one reply does to its reader, it costs its own row alone
            count_unanswered()
            said = str(error) if isinstance(error, ValueError) else "not the JSON of a completion"
            texts = said, response.content[:2000].decode("utf-8", "replace")
            reason, began = (redact(visible(text, 2000))[:limit] for text, limit in zip(texts, (300, 80), strict=True))
        fault = f"{self.identity}: the reply of {self.address} is malformed ({reason}); it begins with {began!r}"
        remedy = "If that is a web page, correct the base URL; otherwise run the same command again."
        raise CallFailed(f"{fault}. {remedy}")

    def _check_no_key(self, reply: bytes) -> None:
        secrets = (getattr(self.client, name, None) or "" for name in ("api_key", "auth_token"))
        if any(len(secret) >= _A_KEY and secret.encode() in reply for secret in secrets):
            count_unanswered()
            repeats = f"the reply of {self.address} repeats your key, so nothing of it is kept; ask another server"
            raise CallFailed(f"{self.identity}: {repeats}.")

    def _decoded(self, reply: Any, read: Callable[[Any], list[Completion]]) -> list[Completion]:
        """The completions of a reply, which may hold anything."""
        completions = read(reply)
        if any(len(completion.text) > _MOST_CHARACTERS for completion in completions):
            raise ReplyError(f"a text of more than {_MOST_CHARACTERS:,} characters")
        self.has_replied = True
        if isinstance(reply.get("model"), str):
            self.has_served(visible(reply["model"], 100))
        return completions

    def has_served(self, *names: str) -> None:
        """Record models that answered, here or in earlier runs on the same store: a provider's alias may move."""
        for name in names:
            self._record("served_models", name)
        if len(self.served) > 1:
            self._note(f"the replies in its store came from several models: {', '.join(self.served):.200}")

    def _note(self, sentence: str, level: int = logging.DEBUG) -> None:
        """Keep a note for `run.json` and for the end of a run; a warning reaches the screen at once."""
        _LOG.log(level, "%s: %s", self.identity, sentence)
        self._record("notes", f"{self.identity}: {sentence}")

    def _record(self, kind: str, text: str) -> None:
        if text not in (known := self._sent[kind]) and len(known) < _MOST_RECORDED:
            known.append(redact(text))

    def leave_out(self, parameter: str) -> None:
        """Ask without this parameter from now on: the model refuses it, now or in an earlier run."""
        if parameter in self.refused:
            return
        self.refused.append(parameter)
        if hasattr(self.capabilities, parameter):
            self.capabilities = replace(self.capabilities, **{parameter: False})
        if parameter in self.instead:
            self._sent["adapted"][parameter] = self.instead[parameter]
        else:
            self._sent["dropped"][parameter] = "refused by the model"
        self._note(f"refuses {parameter}: {CONSEQUENCES[parameter]}.")

    def _refused(self, error: Any, body: dict[str, Any], draws: Sequence[int]) -> list[Completion] | None:
        """The result of a status error: completions, None to ask again in other words, or an error. A refused parameter
        is left out, or worded otherwise, from now on."""
        parameter = self._complained_of(error, body)
        if parameter is None:
            raise self.translated(error) from None
        if parameter == "temperature":
            if self.has_replied and self.capabilities.temperature:
                again = "although it accepted one before; run the same command again"
                raise CallFailed(f"{self.identity} refuses a temperature, {again}.") from None
            self.leave_out(parameter)
            raise TemperatureRefused(f"{self.identity} refuses temperature.") from None
        if parameter not in self._settings.named:
            self.leave_out(parameter)
            return None
        complaint = redact(f"{getattr(error, 'code', None) or error.status_code}: {_message(error)}").rstrip(".")
        try:
            self._note(self._settings.refused(parameter, body, complaint))
        except BadInput as refusal:  # the setting is impossible without it
            raise self._unless_replied(f"{self.identity} {refusal}.") from None
        self._sent["dropped"][parameter] = "refused by the model"
        return None

    def _count_in_vain(self, why: str) -> None:
        """No further call is made if none of the first brought a text; `why` is empty for one that did."""
        self._in_vain = self._in_vain + 1 if why else -math.inf
        if self._in_vain >= _MOST_IN_VAIN:
            self._hopeless = f"{why} None of the first {_MOST_IN_VAIN} calls brought a text, so the run stops."

    def _unless_replied(self, sentence: str) -> SrdcrError:
        """Bad input, which ends the run; or the failure of one call, if others were answered."""
        return CallFailed(sentence) if self.has_replied else BadInput(sentence)

    def translated(self, error: Any) -> SrdcrError:
        """The SDK's error as one of ours, in one sentence and without secrets."""
        who, where, key = self.identity, self.address, self.key_variable
        times = f"{self._max_retries + 1} times"
        if isinstance(error, self.sdk.APITimeoutError):
            return CallFailed(f"{who}: no reply within {self._timeout_s:g} s, {times}; try a smaller --concurrency.")
        if isinstance(error, self.sdk.APIConnectionError):
            return CallFailed(f"{who}: the connection to {where} failed or was cut, {times}.")
        status, code = error.status_code, getattr(error, "code", None)
        complaint = redact(_message(error)).strip().rstrip(".")
        if status in (401, 403) and not os.environ.get(key):
            asks = f"{where} refuses without a key" if status == 403 else f"{where} asks for a key"
            return BadInput(f"{who}: {asks} ({status}: {complaint}), and none is set; put it into {key}.")
        if status in (401, 403):
            fault = "was refused by" if status == 401 else "has no permission at"
            sentence = f"{who}: the key in {key} {fault} {where} ({status}: {complaint})."
            return BadInput(sentence) if status == 401 else self._unless_replied(sentence)
        if status == 404 or code == "model_not_found":
            remedy = f"check the model's name{did_you_mean(who.name, self._listed)} and the base URL (mostly …/v1)"
            told = f"{where} knows no such model or path ({status}: {complaint})"
            return self._unless_replied(f"{who}: {told}; {remedy}.")
        if status == 402 or code == "insufficient_quota" or "credit balance is too low" in complaint:
            remedy = "top it up and run the same command again to resume"
            return Stopped(f"{who}: the account at {where} is used up ({status}: {complaint}); {remedy}.")
        if error.response.has_redirect_location:
            there = error.response.headers["location"]
            with suppress(httpx2.InvalidURL):
                there = str(error.response.url.join(there))
            there = redact(visible(there, 200))
            remedy = f"give that address with --base-url or {self.url_variable} if it is the server you mean"
            return self._unless_replied(f"{who}: {where} redirects to {there}, and nothing is sent there; {remedy}.")
        remedy = "; run the same command again later, or with a smaller --concurrency" if status == 429 else ""
        if "max_tokens" in complaint and "reached" in complaint:
            remedy = "; it thinks first, and needs room for that: --reasoning low, medium or high"
        return CallFailed(f"{who}: {where} answered {status} ({complaint}){remedy}.")


class Settings:
    """The fields that every request to one server needs for a model's settings; `ways` are the words for a level of
    thinking.
    """

    def __init__(self, model: ModelIdentity, ways: Callable[[str], list[Way]]) -> None:
        settings: dict[str, Any] = json.loads(model.settings or "{}")
        self._level, self._extra = settings.get("reasoning", ""), settings.get("extra_body", {})
        self._ways = ways(self._level) if self._level else [{}]
        in_ways = dict.fromkeys(name for way in self._ways for name in way)
        self.named = (*in_ways, *self._extra)  # fields that a request may have
        if twice := [name for name in self._extra if name in in_ways]:
            raise BadInput(f"--extra-body sets {twice[0]}, and so does --reasoning; leave one of the two out")

    def fields(self) -> Way:
        """The fields of the next request."""
        return {**self._ways[0], **self._extra}

    def refused(self, field: str, body: Mapping[str, Any], complaint: str) -> str:
        """The server refuses a field of this request: a sentence on how the level is worded from now on.

        Raises `BadInput` if there are no other words. If only the value is refused, leaving it out is no way to say
        none: the model would think by default.
        """
        ways = [way for way in self._ways if way.get(field) != body[field]]  # as it may have been refused meanwhile
        if _REFUSED_VALUE.search(complaint):
            ways = [way for way in ways if way]
        if field in self._extra or not ways:
            option = "--extra-body" if field in self._extra else f"--reasoning {self._level}"
            raise BadInput(f"refuses {field} ({complaint}); change {option}, or leave it out")
        self._ways = ways
        return f"refuses {field}: --reasoning {self._level} is said by {', '.join(ways[0]) or 'nothing'}."


def _message(error: Any) -> str:
    """The server's message, without the SDK's wrapping: the `error.message` of the body, if there is one."""
    body = getattr(error, "body", None)
    body = body[0] if isinstance(body, list) and body else body  # as Gemini sends it
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    text = re.sub(r"<[^<>]*>", " ", str(body if body else getattr(error, "message", error)))  # of a gateway's web page
    return " ".join(text.split())[:300]


_TALLY: ContextVar[Counter[str] | None] = ContextVar("srdcr_lab_attempts", default=None)


def tallied() -> AbstractContextManager[Counter[str]]:
    """Count the attempts made inside, also in tasks that are started inside, that were sent and gave nothing usable,
    although the provider may bill them."""
    return held(_TALLY, Counter())


def count_unanswered() -> None:
    if (tally := _TALLY.get()) is not None:
        tally["unanswered"] += 1


MOST_BYTES = 2**24  # of a reply, unpacked: 128 draws of 400 tokens with their log-probabilities take about 10 MB
PROBE_PAUSE_S = 1.0  # before a call asks whether a server is back; doubled each time, up to the longest
TOO_LONG = "srdcr_lab.too_long"  # marks, among a response's extensions, one that was not read to its end
_MOST_BYTES_OF_AN_ERROR = 2**16
_LONGEST_PAUSE_S, _LONGEST_PAUSE_OF_SDK_S = 15.0, 60.0
_RAW = "x-stainless-raw-response"  # how both SDKs say in a request that its caller reads the reply

_certificates = cache(httpx2.create_ssl_context)  # what the system trusts; reading it takes 50 ms


class CountingClient(httpx2.AsyncClient):
    """The HTTP client under an SDK: it bounds each attempt and its reply, counts unanswered attempts, and waits during
    an outage.

    An outage is a server that has answered before and now refuses connections, or answers 502, 503 or 529. Calls made
    inside `tallied()` ask again until it is back, up to `patience_s`, and also after a 429 that names a pause. `say` is
    called with a sentence at the first outage, time-out and limit of the rate. Redirects are not followed: neither
    prompts nor keys go to a host that the user did not name.
    """

    _TURNED_AWAY = (502, 503, 529)
    # A gateway that answers these gave up waiting; the model behind it may have finished, and billed.
    _GAVE_UP = frozenset({408, 504, 520, 524})
    _REFUSED = (httpx2.ConnectError, httpx2.ConnectTimeout)
    _NEVER_SENT = (*_REFUSED, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)

    def __init__(self, connections: int, timeout_s: float, patience_s: float, say: Callable[[str], object]) -> None:
        super().__init__(
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            limits=httpx2.Limits(max_connections=connections + 8, max_keepalive_connections=connections + 8),
            verify=_certificates(),
            event_hooks={"response": [self._read_within_bounds, self._close_if_more]},
            mounts={f"all://{here}": None for here in ("127.0.0.1", "[::1]", "localhost")},  # through no proxy
        )
        self._attempt_s, self._patience_s, self._say_once = timeout_s, patience_s, cache(say)
        self._has_answered = False
        self._away_since = math.inf

    @property
    def has_lost_patience(self) -> bool:
        """Whether the outage is longer than `patience_s`."""
        return time.monotonic() >= self._away_since + self._patience_s

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response, or the error, of one attempt of the SDK.

        An attempt that was never sent, or was turned away, costs nothing: it is repeated until the server is back, or
        after the pause that a server asks for which limits the rate. Others may be billed, and are left to the SDK's
        bounded retries.
        """
        began, pause = time.monotonic(), PROBE_PAUSE_S
        while True:
            try:
                response = await self._attempt(request, options)
            except self._REFUSED:
                if not self._may_wait(began, "no connection"):
                    raise
            else:
                if response.status_code not in self._TURNED_AWAY:
                    self._has_answered, self._away_since = True, math.inf
                    if response.status_code != 429 or _TALLY.get() is None or b"insufficient_quota" in response.content:
                        return response
                    self._say_once("the server limits the rate (429); calls wait and are made again.")
                    asked = float(response.headers.get("retry-after", math.inf))
                    if time.monotonic() + asked >= began + self._patience_s:
                        if asked < math.inf:  # the SDK would begin once more
                            response.headers["x-should-retry"] = "false"
                        return response
                    await asyncio.sleep(asked + random.random())  # not all at once
                    continue
                if not self._may_wait(began, response.status_code):
                    return response
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _may_wait(self, began: float, why: object) -> bool:
        """Whether a call that met an outage may wait. One call waits no longer than `patience_s`, nor do all."""
        if not (self._has_answered and self._patience_s) or _TALLY.get() is None:
            return False  # nobody waits for a server that was never there
        self._away_since = min(self._away_since, time.monotonic())
        self._say_once(f"the server does not answer any more ({why}); its calls wait, {self._patience_s:g} s at most.")
        return time.monotonic() < min(began, self._away_since) + self._patience_s

    async def _attempt(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        try:
            # httpx bounds each read; a server that drips bytes would never meet that bound.
            async with asyncio.timeout(self._attempt_s):
                response = await super().send(request, **options)
        except TimeoutError:
            count_unanswered()
            late = f"no whole reply within {self._attempt_s:g} s"
            self._say_once(
                f"{late}; such a request is sent again, and may be billed twice. A smaller --concurrency helps."
            )
            raise httpx2.ReadTimeout(late, request=request) from None
        except (httpx2.RequestError, asyncio.CancelledError) as error:  # cancelled: we are interrupted
            if not isinstance(error, self._NEVER_SENT):
                count_unanswered()
            raise
        if response.status_code in self._GAVE_UP:
            count_unanswered()
        response.headers.pop("retry-after-ms", None)
        pause = _seconds(response.headers.pop("retry-after", ""))
        waits_here = response.status_code == 429 and _TALLY.get() is not None
        if pause <= (self._patience_s if waits_here else _LONGEST_PAUSE_OF_SDK_S):  # one SDK waits as long as asked
            response.headers["retry-after"] = str(pause)
        return response

    async def _read_within_bounds(self, response: httpx2.Response) -> None:
        """Read the body up to its bound: it may be endless, or unpack to a thousand times its size."""
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
        if response.is_success and body.lstrip().startswith(b'{"error"'):  # of a router, which hides its status
            with suppress(ValueError, TypeError, LookupError):
                code = parse_json(response.content)["error"]["code"]
                response.status_code = code if code in range(400, 600) else response.status_code

    async def _close_if_more(self, response: httpx2.Response) -> None:
        """Close a connection on which more came than this reply: the next request would take the rest for its own.

        httpcore looks for such bytes on the socket, not among those that it has read already, and has no public way to
        ask for them. A reply that is streamed, such as the results of a batch, is not read yet.
        """
        stream: Any = response.stream
        for name in ("_stream", "_httpcore_stream", "_stream", "_connection"):
            stream = getattr(stream, name, None)
        state = getattr(stream, "_h11_state", None)
        if response.is_stream_consumed and state is not None and state.trailing_data[0]:
            await stream.aclose()
            self._say_once("the server sent more than one reply to a request; that connection was closed.")


def _seconds(pause: str) -> float:
    """The pause that a server asks for, in seconds or until a date; infinite for anything else."""
    with suppress(ValueError, TypeError):
        return max((parsedate_to_datetime(pause) - datetime.now(UTC)).total_seconds(), 0.0)
    with suppress(ValueError):
        return seconds if (seconds := float(pause)) >= 0 else math.inf
    return math.inf


class ReplyError(ValueError):
    """A reply that arrived whole but is not what the protocol promises."""


_MOST_TOKENS = 10**8  # no model reads or writes so many at once


def count(usage: Any, *fields: str) -> int:
    """The sum of token counts in a reply's usage block; a missing or malformed count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if type(value) is int and 0 < value <= _MOST_TOKENS)


def _without_secrets(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact(record.getMessage()), ()
    return True


for logger in ("httpx2", *(f"{sdk}._base_client" for sdk in API)):  # they log the address of each request
    logging.getLogger(logger).addFilter(_without_secrets)
