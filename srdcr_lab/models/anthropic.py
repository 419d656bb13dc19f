"""Anthropic's Messages API through the official SDK: no log-probabilities, no seed, one draw a request.

The API version is pinned. Version 2026-10-21, which the SDK sends by itself, refuses `temperature` for every model, and
SR-DCR needs T = 0 and T = 0.5; under 2023-06-01 the models that sample at a given temperature still take it.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

import anthropic
import httpx2

from srdcr_lab.models.api import PLACEHOLDER_KEY, ApiChat, ReplyError, Way, count
from srdcr_lab.models.base import ROOM, as_dicts, first_stop, text_of, unless_without_text
from srdcr_lab.models.batches import Batch, Batches, BatchStatus
from srdcr_lab.records import BadInput, Completion, FinishReason, Request
from srdcr_lab.records.files import parse_json

_API_VERSION = "2023-06-01"
_ABOUT = {"thinking": "thinking|budget_tokens", "output_config": "output_config|effort"}  # how a refusal names a field
_FINISH = dict.fromkeys(("max_tokens", "model_context_window_exceeded"), FinishReason.LENGTH)
_FINISH["refusal"] = FinishReason.REFUSAL


class AnthropicBatches(Batches):
    """Lines that are sent with the batch, which bears no name of ours: its results show whether it is ours.

    Limits, states and terms: https://platform.claude.com/docs/en/build-with-claude/batch-processing and
    https://platform.claude.com/docs/en/api/messages/batches/create. Results are kept for 29 days.
    """

    most_lines = 100_000
    _STATUS: ClassVar = {  # of errors in results: https://platform.claude.com/docs/en/api/errors
        "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
        "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
        "overloaded_error": 529,
    }  # fmt: skip

    async def upload(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> None:
        batch.newest = (await self.model.client.messages.batches.list(limit=1)).first_id or ""

    async def make(self, batch: Batch, lines: Mapping[str, dict[str, Any]]) -> str:
        requests = [{"custom_id": name, "params": body} for name, body in lines.items()]
        made = await self.model.client.post(  # as `ApiChat` posts: without the SDK's pass over every message
            "/v1/messages/batches", body={"requests": requests}, cast_to=httpx2.Response, options={"max_retries": 0}
        )
        return str(parse_json(made.content)["id"])

    async def made_since(self, batch: Batch) -> AsyncIterator[str]:
        async for each in self.model.client.messages.batches.list(limit=100):  # the newest first
            if each.id == batch.newest:
                return
            if each.id not in batch.not_ours and sum(dict(each.request_counts).values()) == batch.lines:
                yield each.id

    async def status(self, remote: str) -> BatchStatus:
        seen = await self.model.client.messages.batches.retrieve(remote)
        counts = dict(seen.request_counts)
        done = f"{sum(counts.values()) - counts['processing']} of {sum(counts.values())} answered"
        places = (remote,) if seen.results_url else ()  # none where they were kept for long enough
        return BatchStatus(seen.processing_status == "ended", f"{seen.processing_status}, {done}", "", places)

    def results(self, place: str) -> Any:
        return self.model.client.messages.batches.with_streaming_response.results(place)

    def outcome(self, line: Any) -> tuple[str, int, Any]:
        result = line["result"]
        if result["type"] == "succeeded":
            return line["custom_id"], 200, result["message"]
        if result["type"] == "errored":
            return line["custom_id"], self._STATUS.get(result["error"]["error"]["type"], 400), result["error"]
        return line["custom_id"], 0, result["type"]  # canceled, expired


def adaptive_or_budget(level: str, own_server: bool) -> list[Way]:
    """From Claude 4.6 on the model decides how much to think, at an effort. Earlier ones are given a budget, which 4.7
    and later refuse.

    Source: https://platform.claude.com/docs/en/build-with-claude/thinking, and the SDK's `types.ThinkingTypes`.
    """
    if level == "none":
        return [{"thinking": {"type": "disabled"}}]
    adaptive = {"type": "adaptive", "display": "summarized"}
    budget = {"type": "enabled", "budget_tokens": ROOM[level]}
    return [{"thinking": adaptive, "output_config": {"effort": level}}, {"thinking": budget}]


class AnthropicChat(ApiChat):
    """A `ChatModel` over `/v1/messages`. A base URL of another server may end in ``/v1`` or not.

    Credentials are taken from where the SDK looks for them.
    """

    sdk: ClassVar = anthropic
    provider = "anthropic"
    path = "/v1/messages"
    models_path = "/v1/models"
    batches = AnthropicBatches
    ways = staticmethod(adaptive_or_budget)
    draws_per_request = 1
    spoken: ClassVar = {"api_version": _API_VERSION}
    never_sent: ClassVar = dict.fromkeys(("seed", "logprobs"), "not part of the protocol")
    never_sent["n"] = "not part of the protocol: one request for each draw"

    def _client(self, own_server: bool, options: dict[str, Any]) -> anthropic.AsyncAnthropic | None:
        has_key = bool(os.environ.get(self.key_variable) or os.environ.get("ANTHROPIC_AUTH_TOKEN"))
        options["default_headers"] = {"anthropic-version": _API_VERSION}
        if own_server and not has_key:
            options["api_key"] = PLACEHOLDER_KEY
        if self._base_url:
            options["base_url"] = re.sub(r"/v1/*$", "", self._base_url)  # the SDK adds /v1 itself
        try:
            client = anthropic.AsyncAnthropic(**options)
        except anthropic.AnthropicError:  # a login that the SDK looks for on disk, and cannot read
            return None
        return client if has_key or own_server or client.credentials else None

    def body(self, request: Request, draws: Sequence[int]) -> dict[str, Any]:
        if request.temperature is not None and request.temperature > 1:
            raise BadInput(f"{self.identity} takes temperatures from 0 to 1; {request.temperature:g} was asked for.")
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        stop = [*filter(str.strip, request.stop)]  # white space alone is refused; `read` cuts there
        body = {
            "model": self.identity.name,
            "max_tokens": request.max_tokens + self._room,
            "messages": as_dicts(message for message in request.messages if message.role != "system"),
            "temperature": request.temperature,
            "system": system or None,
            "stop_sequences": stop or None,
        }
        return {name: value for name, value in body.items() if value is not None}

    def _complained_of(self, error: Any, body: dict[str, Any]) -> str | None:
        complaint = str(getattr(error, "api_message", None) or error.message)
        if not isinstance(error, anthropic.BadRequestError):
            return None
        if re.search(r"\btemperature\b", complaint):
            return "temperature"
        about = (name for name in self._settings.named if re.search(_ABOUT.get(name, re.escape(name)), complaint))
        return field if (field := next(about, None)) in body else None

    def read(self, reply: Any, request: Request, draws: Sequence[int]) -> list[Completion]:
        blocks = reply["content"]
        if not isinstance(blocks, list):
            raise ReplyError("a reply without content")
        text = text_of(blocks)
        kept = text[: first_stop(text, request.stop)]
        finish = FinishReason.STOP if kept != text else _FINISH.get(reply.get("stop_reason"), FinishReason.STOP)
        thinking = [block.get("thinking", "[redacted]") for block in blocks if "thinking" in str(block.get("type"))]
        usage = reply.get("usage")
        details = usage.get("output_tokens_details") if isinstance(usage, dict) else None
        types = [str(block.get("type"))[:40] for block in blocks]
        others = [name for name in types if name != "text" and "thinking" not in name]
        prompt_tokens = count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        completion = Completion(
            kept, draws[0], finish_reason=finish, prompt_tokens=prompt_tokens, thinking="\n".join(thinking),
            completion_tokens=count(usage, "output_tokens"), thinking_tokens=count(details, "thinking_tokens"),
        )  # fmt: skip
        return [unless_without_text(completion, ", ".join(others))]
