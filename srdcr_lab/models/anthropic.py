"""Anthropic's Messages API through the official SDK: no log-probabilities, no seed, one draw a request.

The API version is pinned. Version 2026-10-21, which the SDK sends by itself, refuses `temperature` for every model, and
SR-DCR needs T = 0 and T = 0.5; under 2023-06-01 the models that sample at a given temperature still take it.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import Any, ClassVar

import anthropic

from srdcr_lab.models.api import PLACEHOLDER_KEY, ApiChat, gather_all
from srdcr_lab.models.base import Arrived
from srdcr_lab.models.http import ReplyError, count, cut_at_stop, whole_characters
from srdcr_lab.records import BadInput, Completion, FinishReason, Request

API_VERSION = "2023-06-01"
HIGHEST_TEMPERATURE = 1.0

_FINISH = {
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.REFUSAL,
}


class AnthropicChat(ApiChat):
    """A `ChatModel` over `/v1/messages`.

    Parameters
    ----------
    name, label, concurrency, timeout_s, max_retries : as for `ApiChat`.
    base_url : of another server, with or without ``/v1``; default ANTHROPIC_BASE_URL, or the provider's.

    Raises
    ------
    BadInput
        No credentials are found where the SDK looks for them, and no other server is named.
    """

    provider: ClassVar[str] = "anthropic"
    key_variable: ClassVar[str] = "ANTHROPIC_API_KEY"
    url_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    path: ClassVar[str] = "/v1/messages"
    models_path: ClassVar[str] = "/v1/models"
    status_error = anthropic.APIStatusError
    timeout_error = anthropic.APITimeoutError
    connection_error = anthropic.APIConnectionError
    draws_per_request: ClassVar[int] = 1
    gives_logprobs = False
    spoken: ClassVar = MappingProxyType({"sdk": f"anthropic {anthropic.__version__}", "api_version": API_VERSION})
    never_sent: ClassVar = MappingProxyType(
        {
            "seed": "not part of the protocol",
            "logprobs": "not part of the protocol",
            "n": "not part of the protocol: one request for each draw",
        }
    )

    def _connect(self) -> anthropic.AsyncAnthropic:
        given = os.environ.get(self.key_variable) or os.environ.get("ANTHROPIC_AUTH_TOKEN")
        own_server = self._base_url or os.environ.get(self.url_variable)
        try:
            client = anthropic.AsyncAnthropic(
                api_key=PLACEHOLDER_KEY if own_server and not given else None,
                base_url=self._base_url and re.sub(r"/v1/*$", "", self._base_url),  # the SDK adds /v1 itself
                max_retries=self._max_retries,
                timeout=self._timeout_s,
                default_headers={"anthropic-version": API_VERSION},
                http_client=self._http_client(),
            )
        except anthropic.AnthropicError:  # a login that the SDK looks for on disk, and cannot read
            client = None
        if client is None or not (given or own_server or client.credentials):
            raise BadInput(
                f"anthropic:{self.identity.name} needs a key: set the environment variable {self.key_variable}, "
                "or name a server of your own with --base-url."
            )
        return client

    async def _answer(self, request: Request, arrived: Arrived) -> list[Completion]:
        if request.temperature > HIGHEST_TEMPERATURE:
            raise BadInput(f"{self.identity} takes temperatures from 0 to 1; {request.temperature:g} was asked for.")
        return await gather_all(self._ask(request, draw, arrived) for draw in request.draws)

    async def _ask(self, request: Request, draw: int, arrived: Arrived) -> list[Completion]:
        found = [await self._post(self._body(request), lambda reply: self._read(reply, request, draw))]
        arrived(found)
        return found

    def _body(self, request: Request) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        body: dict[str, Any] = {
            "model": self.identity.name,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": message.role, "content": message.content}
                for message in request.messages
                if message.role != "system"
            ],
            "temperature": request.temperature,
        }
        if system:
            body["system"] = system
        if stop := [mark for mark in request.stop if mark.strip()]:  # white space alone is refused; `_read` cuts there
            body["stop_sequences"] = stop
        return body

    def _refused(self, error: Exception, body: dict[str, Any]) -> None:
        if isinstance(error, anthropic.BadRequestError) and re.search(
            r"\btemperature\b", str(error.api_message or error.message)
        ):
            raise BadInput(
                f"{self.identity} refuses temperature; SR-DCR needs T = 0 and T = 0.5, so choose a model that takes it."
            ) from None

    def _read(self, reply: Any, request: Request, draw: int) -> Completion:
        """The completion of one reply. Raises ReplyError, KeyError, TypeError … on anything else."""
        blocks = reply["content"]
        if not isinstance(blocks, list):
            raise ReplyError("a reply without content")
        text = whole_characters("".join(block["text"] for block in blocks if block.get("type") == "text"))
        self._served(reply)
        kept = cut_at_stop(text, request.stop)
        finish = FinishReason.STOP if kept != text else _FINISH.get(reply.get("stop_reason"), FinishReason.STOP)
        usage = reply.get("usage")
        return Completion(
            kept,
            draw,
            finish_reason=finish,
            prompt_tokens=count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
            completion_tokens=count(usage, "output_tokens"),
        )
