"""OpenAI and every server that speaks its chat-completions protocol, through the official SDK.

Not here: streaming, tools, images. What a model refuses is learned from its first refusal and then left out, as long
as that does not change what is measured: `max_tokens` becomes `max_completion_tokens`, `seed` is dropped, `n` becomes
one request a draw, `stop` is applied here. Refused log-probabilities are a capability withdrawn; a refused
temperature is bad input.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import openai

from srdcr_lab.models.api import PLACEHOLDER_KEY, ApiChat, gather_all
from srdcr_lab.models.base import Arrived
from srdcr_lab.models.http import Choice, ReplyError, count, read_choice, shares
from srdcr_lab.records import BadInput, Capabilities, Completion, FinishReason, Request

MOST_CHOICES = 128  # the provider's bound on n
MOST_STOPS = 4

_REFUSED_STATUS = (400, 403, 422)
_REFUSED_CODES = ("unsupported_parameter", "unsupported_value", "unknown_parameter")
_REFUSED_WORDS = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|not available"
    r"|only the default|must be 1\b",
    re.IGNORECASE,
)
# In this order: a complaint about `logprobs` that also says "n" is about logprobs.
_ADAPTABLE = ("temperature", "logprobs", "max_tokens", "seed", "stop", "n")
_CONSEQUENCE = {
    "logprobs": "self-confidence has to be self-consistency",
    "max_tokens": "max_completion_tokens is sent instead",
    "seed": "draws cannot be repeated at the provider",
    "stop": "stop strings are applied to the reply",
    "n": "one request is sent for each draw",
}


class _ParameterError(Exception):
    """The model does not take `parameter`; the same request without it may succeed."""

    def __init__(self, parameter: str) -> None:
        self.parameter = parameter


class _FilterError(Exception):
    """The prompt itself was stopped by a content filter: a result, not a failure."""


class OpenAIChat(ApiChat):
    """A `ChatModel` over `/chat/completions`.

    Parameters
    ----------
    name, label, concurrency, timeout_s, max_retries : as for `ApiChat`.
    base_url : of an OpenAI-compatible server, usually ending in ``/v1``; default OPENAI_BASE_URL, or the provider's.

    Raises
    ------
    BadInput
        OPENAI_API_KEY is not set and no other server is named.
    """

    provider: ClassVar[str] = "openai"
    key_variable: ClassVar[str] = "OPENAI_API_KEY"
    url_variable: ClassVar[str] = "OPENAI_BASE_URL"
    path: ClassVar[str] = "/chat/completions"
    models_path: ClassVar[str] = "/models"
    status_error = openai.APIStatusError
    timeout_error = openai.APITimeoutError
    connection_error = openai.APIConnectionError
    gives_logprobs = True
    spoken: ClassVar = MappingProxyType({"sdk": f"openai {openai.__version__}"})

    _choices = MOST_CHOICES  # how many the server gives for one request, as far as is known

    @property
    def draws_per_request(self) -> int:
        """How many draws one HTTP request brings, as far as is known."""
        return self._choices

    def _connect(self) -> openai.AsyncOpenAI:
        key = os.environ.get(self.key_variable)
        if not key and not (self._base_url or os.environ.get(self.url_variable)):
            raise BadInput(
                f"openai:{self.identity.name} needs a key: set the environment variable {self.key_variable}, "
                "or name a server of your own with --base-url."
            )
        return openai.AsyncOpenAI(
            api_key=key or PLACEHOLDER_KEY,
            base_url=self._base_url,
            max_retries=self._max_retries,
            timeout=self._timeout_s,
            http_client=self._http_client(),
        )

    async def _answer(self, request: Request, arrived: Arrived) -> list[Completion]:
        """Ask for all draws at once; where the server gives fewer, ask for the rest in requests of that size."""
        found: list[Completion] = []
        missing = request.draws
        while missing:
            size = self._choices
            batches = [missing[start : start + size] for start in range(0, len(missing), size)]
            found += await gather_all(self._ask(request, batch, arrived) for batch in batches)
            have = {completion.draw for completion in found}
            missing = tuple(draw for draw in missing if draw not in have)
        return found

    async def _ask(self, request: Request, draws: Sequence[int], arrived: Arrived) -> list[Completion]:
        """The completions of one HTTP request: of these draws, or of the first of them, as many as the server gives."""
        found = None
        while found is None:
            draws = draws[: self._choices]  # it may have become smaller while this request waited
            found = await self._try(request, draws)
        if len(found) < len(draws):
            self._choices = min(self._choices, len(found))
            self._note(
                f"The server gives {len(found)} choices a request; the other draws are asked for in further requests."
            )
        arrived(found)
        return found

    async def _try(self, request: Request, draws: Sequence[int]) -> list[Completion] | None:
        """None where the model refused a parameter; it is left out of the next request."""
        try:
            return await self._post(self._body(request, draws), lambda reply: self._read(reply, request, draws))
        except _ParameterError as refusal:
            self._learn(refusal.parameter)
            return None
        except _FilterError:
            return [Completion("", draw, finish_reason=FinishReason.CONTENT_FILTER) for draw in draws]

    def _body(self, request: Request, draws: Sequence[int]) -> dict[str, Any]:
        dropped = self._sent["dropped"]
        body: dict[str, Any] = {
            "model": self.identity.name,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": request.temperature,
            self._sent["adapted"].get("max_tokens", "max_tokens"): request.max_tokens,
        }
        if "seed" not in dropped:
            body["seed"] = request.draw_seed(draws[0])
        if request.stop and "stop" not in dropped:
            body["stop"] = list(request.stop[:MOST_STOPS])
        if request.logprobs and "logprobs" not in dropped:
            body["logprobs"] = True
        if len(draws) > 1:
            body["n"] = len(draws)
        return body

    def _refused(self, error: Exception, body: dict[str, Any]) -> None:
        if not isinstance(error, openai.APIStatusError) or error.status_code not in _REFUSED_STATUS:
            return
        if error.code == "content_filter":
            raise _FilterError from None
        said = str(error.body or error.message)
        if error.code not in _REFUSED_CODES and not _REFUSED_WORDS.search(said):
            return
        named = [
            name
            for name in _ADAPTABLE
            if name in body and re.search(rf"(?<![\w.]){name}(?!\w)", f"{error.param} {said}")
        ]
        if named:
            raise _ParameterError(error.param if error.param in named else named[0]) from None

    def _learn(self, parameter: str) -> None:
        name = self.identity
        if parameter == "temperature":
            raise BadInput(
                f"{name} refuses temperature; SR-DCR needs T = 0 and T = 0.5, so choose a model that takes it "
                "(not a reasoning model)."
            )
        if parameter == "max_tokens":
            self._sent["adapted"]["max_tokens"] = "max_completion_tokens"
        elif parameter == "n":
            self._choices = 1
            self._sent["adapted"]["n"] = "1"
        else:
            self._sent["dropped"][parameter] = "refused by the model"
        sentence = f"{name} refuses {parameter}: {_CONSEQUENCE[parameter]}."
        self._note(sentence)
        if parameter == "logprobs":
            self.capabilities = Capabilities(logprobs=False, notes=(sentence,))

    def _read(self, reply: Any, request: Request, draws: Sequence[int]) -> list[Completion]:
        """Completions of one reply, for the first of `draws`. Raises ReplyError, KeyError … on anything else."""
        choices = reply["choices"]
        if not isinstance(choices, list) or not choices:
            raise ReplyError("a reply without choices")
        self._served(reply)
        read = [read_choice(choice, request) for choice in choices[: len(draws)]]
        usage = reply.get("usage")
        prompt = count(usage, "prompt_tokens")
        spent = shares(count(usage, "completion_tokens"), [len(tokens or ()) for _, tokens, _, _ in read])
        self._note_gaps(request, prompt, read)
        return [
            Completion(
                text,
                draw,
                tokens,
                logprobs,
                finish_reason=finish,
                prompt_tokens=0 if place else prompt,
                completion_tokens=spent[place],
            )
            for place, (draw, (text, tokens, logprobs, finish)) in enumerate(zip(draws, read, strict=False))
        ]

    def _note_gaps(self, request: Request, prompt_tokens: int, read: Sequence[Choice]) -> None:
        if not prompt_tokens:
            self._note("The server reports no token usage; tokens are counted as 0 or from the log-probabilities.")
        wanted = request.logprobs and "logprobs" not in self._sent["dropped"]
        if wanted and any(text and logprobs is None for text, _, logprobs, _ in read):
            self._note("Some replies came without usable log-probabilities although they were asked for.")


# -- token log-probabilities of a chat completion, fitted to its text
