"""The batch APIs of OpenAI and of Anthropic, as one: a batch is made, looked at, listed, and its results are read.

Limits, states and terms: https://developers.openai.com/api/docs/guides/batch and
https://help.openai.com/en/articles/9197833-batch-api-faq;
https://platform.claude.com/docs/en/build-with-claude/batch-processing and
https://platform.claude.com/docs/en/api/messages/batches/create. Both end a batch after 24 hours, charge half, and only
for what was completed, and keep results for about a month (OpenAI's files 30 days, Anthropic's results 29).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import httpx2

from srdcr_lab.models.api import ApiChat
from srdcr_lab.records.files import parse_json

LONGEST_S = 24 * 3600.0  # after which both end a batch: the worst-case wait for one wave
DISCOUNT = 0.5
# OpenAI takes files of 200 MB, Anthropic batches of 256 MB. A process holds what it sends several times over.
MOST_BYTES = 2**25


class Look(NamedTuple):
    """A batch as its provider shows it."""

    is_over: bool
    progress: str
    fault: str  # why it failed as a whole
    places: tuple[str, ...]  # where its results are


@dataclass
class Batch:
    """A batch as the store knows it; what is empty has not been done yet."""

    name: str  # ours
    words: str  # in which its requests are said; what is refused may have been learned since
    lines: int
    file: str = ""  # the provider's id of its lines
    told_at: float = 0.0  # when the provider was told to make it, seconds since 1970
    newest: str = ""  # the account's newest batch before that
    remote: str = ""  # the provider's id
    is_guess: bool = False  # whether that is ours, its results will show
    not_ours: list[str] = field(default_factory=list)  # batches that might have been this one


_Outcome = tuple[str, int, Any]  # custom id, HTTP status (0: it was not answered) and reply


class BatchApi(Protocol):
    most_lines: int  # of one batch
    knows_ours: bool  # whether a batch is known to be ours by the looks of it

    async def upload(self, name: str, bodies: Mapping[str, dict[str, Any]]) -> str: ...
    async def newest(self) -> str: ...
    async def make(self, batch: Batch, bodies: Mapping[str, dict[str, Any]]) -> str: ...
    def made_since(self, batch: Batch) -> AsyncIterator[str]: ...
    async def look(self, remote: str) -> Look: ...
    def results(self, place: str) -> AbstractAsyncContextManager[Any]: ...
    def outcome(self, line: Any) -> _Outcome: ...


class OpenAIBatches:
    """Also of servers that speak its protocol. Lines of one file are for one model."""

    most_lines, knows_ours = 50_000, True
    _OVER = ("failed", "completed", "expired", "cancelled")  # not: validating, in_progress, finalizing, cancelling

    def __init__(self, model: ApiChat) -> None:
        self._model = model

    async def upload(self, name: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        asked = {"method": "POST", "url": "/v1/chat/completions"}
        lines = (json.dumps({"custom_id": each, **asked, "body": body}) + "\n" for each, body in bodies.items())
        uploaded = await self._model.client.files.create(
            file=(f"{name}.jsonl", "".join(lines).encode()), purpose="batch"
        )
        return str(uploaded.id)

    async def newest(self) -> str:
        return ""  # a batch is known by its file

    async def make(self, batch: Batch, bodies: Mapping[str, dict[str, Any]]) -> str:
        once = self._model.client.with_options(max_retries=0)
        told = {"endpoint": "/v1/chat/completions", "completion_window": "24h", "metadata": {"srdcr_lab": batch.name}}
        return str((await once.batches.create(input_file_id=batch.file, **told)).id)

    async def made_since(self, batch: Batch) -> AsyncIterator[str]:
        async for each in self._model.client.batches.list(limit=100):
            if each.input_file_id == batch.file:
                yield each.id

    async def look(self, remote: str) -> Look:
        seen = await self._model.client.batches.retrieve(remote)
        counts, errors = seen.request_counts, (seen.errors and seen.errors.data) or ()
        progress = f"{counts.completed + counts.failed} of {counts.total} answered" if counts else ""
        fault = "; ".join(f"{error.code}: {error.message}" for error in errors[:3]) if seen.status == "failed" else ""
        places = tuple(filter(None, (seen.output_file_id, seen.error_file_id)))
        return Look(seen.status in self._OVER, f"{seen.status} {progress}".rstrip(), fault, places)

    def results(self, place: str) -> AbstractAsyncContextManager[Any]:
        streamed: AbstractAsyncContextManager[Any] = self._model.client.files.with_streaming_response.content(place)
        return streamed

    def outcome(self, line: Any) -> _Outcome:
        response, error = line.get("response"), line.get("error")
        return line["custom_id"], *((int(response["status_code"]), response["body"]) if response else (0, error))


class AnthropicBatches:
    most_lines, knows_ours = 100_000, False
    _STATUS: ClassVar = {  # of errors in results: https://platform.claude.com/docs/en/api/errors
        "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
        "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
        "overloaded_error": 529,
    }  # fmt: skip

    def __init__(self, model: ApiChat) -> None:
        self._model = model

    async def upload(self, name: str, bodies: Mapping[str, dict[str, Any]]) -> str:
        return ""  # its lines travel with the batch

    async def newest(self) -> str:
        async for each in self._model.client.messages.batches.list(limit=1):  # the newest first
            return str(each.id)
        return ""

    async def make(self, batch: Batch, bodies: Mapping[str, dict[str, Any]]) -> str:
        requests = [{"custom_id": each, "params": body} for each, body in bodies.items()]
        made = await self._model.client.post(  # as `ApiChat` posts: without the SDK's pass over every message
            "/v1/messages/batches", body={"requests": requests}, cast_to=httpx2.Response, options={"max_retries": 0}
        )
        return str(parse_json(made.content)["id"])

    async def made_since(self, batch: Batch) -> AsyncIterator[str]:
        async for each in self._model.client.messages.batches.list(limit=100):
            if each.id == batch.newest:
                return
            if each.id not in batch.not_ours and sum(dict(each.request_counts).values()) == batch.lines:
                yield each.id

    async def look(self, remote: str) -> Look:
        seen = await self._model.client.messages.batches.retrieve(remote)
        counts = dict(seen.request_counts)
        progress = f"{sum(counts.values()) - counts['processing']} of {sum(counts.values())} answered"
        places = (remote,) if seen.results_url else ()  # none: results are kept for 29 days
        return Look(seen.processing_status == "ended", f"{seen.processing_status} {progress}", "", places)

    def results(self, place: str) -> AbstractAsyncContextManager[Any]:
        streamed: AbstractAsyncContextManager[Any]
        streamed = self._model.client.messages.batches.with_streaming_response.results(place)
        return streamed

    def outcome(self, line: Any) -> _Outcome:
        result = line["result"]
        if result["type"] == "succeeded":
            return line["custom_id"], 200, result["message"]
        if result["type"] == "errored":
            return line["custom_id"], self._STATUS.get(result["error"]["error"]["type"], 400), result["error"]
        return line["custom_id"], 0, {"message": result["type"]}  # canceled, expired


APIS: dict[str, Callable[[ApiChat], BatchApi]] = {"openai": OpenAIBatches, "anthropic": AnthropicBatches}
