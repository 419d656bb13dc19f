"""The batch APIs of OpenAI and of Anthropic, as one: a batch is made, looked for and looked at, its results are read.

Limits, states and terms: https://developers.openai.com/api/docs/guides/batch and
https://help.openai.com/en/articles/9197833-batch-api-faq;
https://platform.claude.com/docs/en/build-with-claude/batch-processing and
https://platform.claude.com/docs/en/api/messages/batches/create. Both end a batch after 24 hours, and charge half, for
what was completed alone. OpenAI keeps the uploaded file for 30 days, Anthropic the results for 29.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import httpx2

from srdcr_lab.models.api import ApiChat
from srdcr_lab.records.files import parse_json

# OpenAI takes files of 200 MB, Anthropic batches of 256 MB. A process holds what it sends several times over.
MOST_BYTES = 2**25
Lines = Mapping[str, dict[str, Any]]  # custom id → body of a request
Outcome = tuple[str, int, Any]  # custom id, HTTP status (0: it was not answered) and reply


@dataclass
class Batch:
    """A batch as the store knows it; what is empty has not been done yet."""

    name: str  # ours
    words: str  # in which its requests are said; what is refused may have been learned since
    lines: int
    file: str = ""  # OpenAI's id of its lines
    newest: str = ""  # Anthropic's newest batch of the account before this one
    told_at: float = 0.0  # when the provider was told to make it, seconds since 1970
    remote: str = ""  # the provider's id
    is_guess: bool = False  # whether that is ours, its results will show
    not_ours: list[str] = field(default_factory=list)  # batches that might have been this one


class Look(NamedTuple):
    """A batch as its provider shows it."""

    is_over: bool
    progress: str
    fault: str  # why it failed as a whole
    places: tuple[str, ...]  # where its results are


class OpenAIBatches:
    """Lines of a file, which are uploaded first. A batch is known by its file."""

    most_lines = 50_000
    _OVER = ("failed", "completed", "expired", "cancelled")  # not: validating, in_progress, finalizing, cancelling

    def __init__(self, model: ApiChat) -> None:
        self._model = model

    async def prepare(self, batch: Batch, lines: Lines) -> None:
        asked = {"method": "POST", "url": "/v1/chat/completions"}
        each = (json.dumps({"custom_id": name, **asked, "body": body}) + "\n" for name, body in lines.items())
        files = self._model.client.files
        batch.file = (await files.create(file=(f"{batch.name}.jsonl", "".join(each).encode()), purpose="batch")).id

    async def make(self, batch: Batch, lines: Lines) -> str:
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
        progress = f"{seen.status}, {counts.completed} of {counts.total} answered" if counts else str(seen.status)
        fault = "; ".join(f"{error.code}: {error.message}" for error in errors[:3]) if seen.status == "failed" else ""
        places = tuple(filter(None, (seen.output_file_id, seen.error_file_id)))
        return Look(seen.status in self._OVER, progress, fault, places)

    def results(self, place: str) -> Any:
        return self._model.client.files.with_streaming_response.content(place)

    def outcome(self, line: Any) -> Outcome:
        response = line.get("response")
        return line["custom_id"], *(
            (int(response["status_code"]), response["body"]) if response else (0, line["error"])
        )


class AnthropicBatches:
    """Lines that travel with the batch, and nothing of ours beside: of a batch, its results show whose it is."""

    most_lines = 100_000
    _STATUS: ClassVar = {  # of errors in results: https://platform.claude.com/docs/en/api/errors
        "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
        "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
        "overloaded_error": 529,
    }  # fmt: skip

    def __init__(self, model: ApiChat) -> None:
        self._model = model

    async def prepare(self, batch: Batch, lines: Lines) -> None:
        async for newest in self._model.client.messages.batches.list(limit=1):
            batch.newest = newest.id
            break

    async def make(self, batch: Batch, lines: Lines) -> str:
        requests = [{"custom_id": name, "params": body} for name, body in lines.items()]
        made = await self._model.client.post(  # as `ApiChat` posts: without the SDK's pass over every message
            "/v1/messages/batches", body={"requests": requests}, cast_to=httpx2.Response, options={"max_retries": 0}
        )
        return str(parse_json(made.content)["id"])

    async def made_since(self, batch: Batch) -> AsyncIterator[str]:
        async for each in self._model.client.messages.batches.list(limit=100):  # the newest first
            if each.id == batch.newest:
                return
            if each.id not in batch.not_ours and sum(dict(each.request_counts).values()) == batch.lines:
                batch.is_guess = True
                yield each.id

    async def look(self, remote: str) -> Look:
        seen = await self._model.client.messages.batches.retrieve(remote)
        counts = dict(seen.request_counts)
        done = f"{sum(counts.values()) - counts['processing']} of {sum(counts.values())} answered"
        places = (remote,) if seen.results_url else ()  # none where they were kept for long enough
        return Look(seen.processing_status == "ended", f"{seen.processing_status}, {done}", "", places)

    def results(self, place: str) -> Any:
        return self._model.client.messages.batches.with_streaming_response.results(place)

    def outcome(self, line: Any) -> Outcome:
        result = line["result"]
        if result["type"] == "succeeded":
            return line["custom_id"], 200, result["message"]
        if result["type"] == "errored":
            return line["custom_id"], self._STATUS.get(result["error"]["error"]["type"], 400), result["error"]
        return line["custom_id"], 0, result["type"]  # canceled, expired
