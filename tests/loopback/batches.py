"""Batches on the loopback server: files, batches and results in the shapes of both APIs' references
(https://developers.openai.com/api/reference/resources/batches, https://platform.claude.com/docs/en/api/messages/batches).

`Batches.accepted` counts how often each line was taken into a batch, by its custom id; `twice` are the lines that were
taken although they were answered before, or were in another batch that was still under way.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.loopback.behaviour import Behaviour
from tests.loopback.protocols import anthropic_error, anthropic_reply, openai_error, openai_reply, tokens
from tests.loopback.replies import Reply, unit

_DAY = "2026-11-22T00:00:00Z"


@dataclass
class Rules:
    """What becomes of batches; tests change it while the server runs.

    Parameters
    ----------
    polls : how often a batch is looked at before it ends.
    endings : of the next batches, one each, then ``completed``: ``completed``, ``expired``, ``cancelled`` (both leave
        lines without an answer), or an error ``code: message`` of a batch that fails as a whole.
    faults : what lines bring whose prompt holds this text, one a time: a status, ``expired``, ``lost`` (no line),
        ``broken`` (half a line), ``malformed`` (a reply that is none).
    answers : how many lines of an expired or cancelled batch are answered.
    most_lines : of one batch, beyond which it is too large.
    queue : tokens of all batches under way, beyond which OpenAI fails a batch; of one key.
    latency_s : between a request and what it does, and again between that and the answer.
    errors : statuses of the next requests to make a batch, one each; ``lost`` makes it and cuts the connection.
    """

    polls: int = 1
    endings: list[str] = field(default_factory=list)
    faults: dict[str, list[str]] = field(default_factory=dict)
    answers: int = 1
    most_lines: int = 100_000
    queue: int | None = None
    latency_s: float = 0.0
    errors: list[str] = field(default_factory=list)


@dataclass
class _Batch:
    id: str
    key: str
    lines: dict[str, dict[str, Any]]  # custom id → body
    polls: int
    ending: str
    file: str = ""
    metadata: Any = None
    counts: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    is_over: bool = False


class Batches:
    """The routes of both APIs, and all that was asked through them."""

    def __init__(self, behaviour: Callable[[], Behaviour], say: Callable[[], Reply]) -> None:
        self.rules, self._behaviour, self._say = Rules(), behaviour, say
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: list[_Batch] = []
        self.accepted: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.twice: list[str] = []

    def add_to(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        for place, make in (("/v1/batches", self._make_openai), ("/v1/messages/batches", self._make_anthropic)):
            app.router.add_post(place, make)
            app.router.add_get(place, self._list)
            app.router.add_get(place + "/{id}", self._look)
        app.router.add_get("/v1/messages/batches/{id}/results", self._results)
        app.router.add_get("/batches", self._log)

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        purpose, file = form["purpose"], form["file"]
        assert isinstance(file, web.FileField)
        content, name = file.file.read(), file.filename
        if purpose != "batch":
            return _openai_error(400, "invalid_value", f"purpose is {purpose!r}")
        told = {"object": "file", "bytes": len(content), "created_at": 1, "filename": name, "purpose": "batch"}
        return web.json_response({"id": self._file(key_of(request), content), **told, "status": "processed"})

    async def _content(self, request: web.Request) -> web.Response:
        owner, content = self.files.get(request.match_info["id"], ("", b""))
        if owner != key_of(request):
            return _openai_error(404, None, "No such File object: " + request.match_info["id"])
        return web.Response(body=content, content_type="application/octet-stream")

    def _file(self, key: str, content: bytes) -> str:
        place = f"file-{len(self.files)}"
        self.files[place] = key, content
        return place

    async def _make_openai(self, request: web.Request) -> web.Response:
        asked = await request.json()
        owner, content = self.files.get(asked["input_file_id"], ("", b""))
        if (asked["completion_window"], asked["endpoint"], owner) != ("24h", "/v1/chat/completions", key_of(request)):
            return _openai_error(400, "invalid_request", "no such file, endpoint or window")
        lines = [json.loads(line) for line in content.splitlines()]
        assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
        if error := self._error():
            return _openai_error(error, None, "scripted")
        batch = self._made(request, [(line["custom_id"], line["body"]) for line in lines])
        batch.file, batch.metadata = asked["input_file_id"], asked.get("metadata")
        return self._sent(request, batch)

    async def _make_anthropic(self, request: web.Request) -> web.Response:
        lines = [(line["custom_id"], line["params"]) for line in (await request.json())["requests"]]
        error = self._error() or (413 if len(lines) > self.rules.most_lines else 0)
        if error:
            kinds = {400: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error"}
            return _anthropic_error(error, kinds.get(error, "api_error"), "scripted")
        return self._sent(request, self._made(request, lines))

    def _error(self) -> int:
        if not self.rules.errors or self.rules.errors[0] == "lost":
            return 0
        return int(self.rules.errors.pop(0))

    def _sent(self, request: web.Request, batch: _Batch) -> web.Response:
        if self.rules.errors:  # made, and the answer is lost on its way
            self.rules.errors.pop(0)
            request.transport.close()
        return web.json_response(self._shown(request, batch))

    def _made(self, request: web.Request, lines: list[tuple[str, dict[str, Any]]]) -> _Batch:
        assert len(dict(lines)) == len(lines), "a custom id came twice in one batch"
        ending = self.rules.endings.pop(0) if self.rules.endings else "completed"
        name = "batch_" if request.path == "/v1/batches" else "msgbatch_"
        batch = _Batch(f"{name}{len(self.batches)}", key_of(request), dict(lines), self.rules.polls, ending)
        if ":" in ending:
            batch.failure = ending
        elif len(lines) > self.rules.most_lines:
            batch.failure = "too_many_tasks: The batch input file contains too many requests for the batch."
        elif (queue := self.rules.queue) is not None and self._queued(batch.key) + _size(batch) > queue:
            told = f"Enqueued token limit reached for m in organization org-1. Limit: {queue:,} enqueued tokens."
            batch.failure = f"token_limit_exceeded: {told}"
        else:
            under_way = {line for other in self.batches if not other.is_over for line in other.lines}
            self.twice += [line for line in batch.lines if line in self.answered or line in under_way]
            self.accepted.update([*batch.lines])
        batch.is_over = bool(batch.failure)
        self.batches.append(batch)
        return batch

    def _queued(self, key: str) -> int:
        return sum(_size(batch) for batch in self.batches if batch.key == key and not batch.is_over)

    async def _list(self, request: web.Request) -> web.Response:
        """The newest first; a page ends at `limit`, and begins behind `after` or `after_id`."""
        newest = [self._shown(request, batch) for batch in reversed(self.batches) if batch.key == key_of(request)]
        ids = [batch["id"] for batch in newest]
        behind = request.query.get("after") or request.query.get("after_id")
        start = ids.index(behind) + 1 if behind else 0
        page = newest[start : start + int(request.query.get("limit", 20))]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
        return web.json_response({"data": page, "has_more": start + len(page) < len(newest), **ends})

    async def _look(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        if isinstance(batch, web.Response):
            return batch
        if batch.polls <= 0 and not batch.is_over:
            self._end(batch)
        batch.polls -= 1
        return web.json_response(self._shown(request, batch))

    def _batch(self, request: web.Request) -> _Batch | web.Response:
        named = request.match_info["id"]
        batch = next((each for each in self.batches if each.id == named and each.key == key_of(request)), None)
        if batch is None and request.path.startswith("/v1/messages"):
            return _anthropic_error(404, "not_found_error", f"batch {named} not found")
        return batch or _openai_error(404, None, f"No batch found with id '{named}'.")

    async def _results(self, request: web.Request) -> web.Response:
        batch = self._batch(request)
        if isinstance(batch, web.Response):
            return batch
        return web.Response(body=self.files[batch.file][1], content_type="application/x-jsonl")

    def _shown(self, request: web.Request, batch: _Batch) -> dict[str, Any]:
        total, counts = len(batch.lines), batch.counts
        if batch.id.startswith("msgbatch_"):
            status = "ended" if batch.is_over else "in_progress"
            places = {name: counts[name] for name in ("succeeded", "errored", "canceled", "expired")}
            url = f"{request.url.origin()}/v1/messages/batches/{batch.id}/results" if batch.is_over else None
            return {
                "id": batch.id, "type": "message_batch", "processing_status": status, "created_at": _DAY,
                "expires_at": _DAY, "ended_at": _DAY if batch.is_over else None, "archived_at": None,
                "cancel_initiated_at": None, "results_url": url,
                "request_counts": places | {"processing": total - sum(places.values())},
            }  # fmt: skip
        status = ("failed" if batch.failure else batch.ending) if batch.is_over else "in_progress"
        code, _, message = batch.failure.partition(": ")
        errors = {"object": "list", "data": [{"code": code, "message": message, "line": None, "param": None}]}
        done = {"total": total, "completed": counts["succeeded"], "failed": total - counts["succeeded"]}
        return {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "input_file_id": batch.file, "metadata": batch.metadata, "created_at": 1,
            "status": status,
            "errors": errors if batch.failure else None,
            "output_file_id": f"{batch.id}-output" if f"{batch.id}-output" in self.files else None,
            "error_file_id": f"{batch.id}-errors" if f"{batch.id}-errors" in self.files else None,
            "request_counts": done if batch.is_over else {"total": total, "completed": 0, "failed": 0},
        }  # fmt: skip

    def _end(self, batch: _Batch) -> None:
        """Answer the lines, in an order of the server's own; results of errors go into OpenAI's second file."""
        batch.is_over = True
        output: list[str] = []
        errors: list[str] = []
        is_openai = batch.id.startswith("batch_")
        for number, custom_id in enumerate(sorted(batch.lines, key=lambda each: unit("order", each))):
            body, fault = batch.lines[custom_id], ""
            for text, faults in self.rules.faults.items():
                if faults and text in json.dumps(body):
                    fault = faults.pop(0)
            if batch.ending != "completed" and number >= self.rules.answers:
                fault = "expired" if batch.ending == "expired" else "canceled"
            line, kind = (self._openai_line if is_openai else self._anthropic_line)(custom_id, body, fault)
            batch.counts[kind] += 1
            if fault == "lost":
                continue
            text = json.dumps(line)
            (output if kind == "succeeded" else errors).append(text[: len(text) // 2] if fault == "broken" else text)
        if not is_openai:
            batch.file = self._file(batch.key, "\n".join(errors + output).encode())
            return
        for name, lines in (("output", output), ("errors", errors)):
            if lines:
                self.files[f"{batch.id}-{name}"] = self.files[self._file(batch.key, "\n".join(lines).encode())]

    def _openai_line(self, custom_id: str, body: dict[str, Any], fault: str) -> tuple[dict[str, Any], str]:
        line: dict[str, Any] = {"id": f"batch_req_{custom_id[-6:]}", "custom_id": custom_id, "error": None}
        if fault in ("expired", "canceled", "lost"):
            told = {"code": f"batch_{fault}", "message": "This request could not be executed."}
            return line | {"response": None, "error": told}, "expired"
        status, reply = self._reply(custom_id, body, fault, openai_error, openai_reply)
        line["response"] = {"status_code": status, "request_id": "req_1", "body": reply}
        return line, "succeeded" if status == 200 else "errored"

    def _anthropic_line(self, custom_id: str, body: dict[str, Any], fault: str) -> tuple[dict[str, Any], str]:
        if fault in ("expired", "canceled", "lost"):
            return {"custom_id": custom_id, "result": {"type": fault}}, "canceled" if fault == "canceled" else "expired"
        refuse = lambda body, behaviour: anthropic_error(body, behaviour, "2023-06-01")  # noqa: E731
        status, reply = self._reply(custom_id, body, fault, refuse, anthropic_reply)
        if status == 200:
            return {"custom_id": custom_id, "result": {"type": "succeeded", "message": reply}}, "succeeded"
        return {"custom_id": custom_id, "result": {"type": "errored", "error": reply}}, "errored"

    def _reply(self, custom_id: str, body: dict[str, Any], fault: str, refuse: Any, answer: Any) -> Any:
        if fault.isdigit():
            kind = "api_error" if fault == "500" else "invalid_request_error"
            return int(fault), {"type": "error", "error": {"type": kind, "message": "scripted", "code": None}}
        if error := refuse(body, self._behaviour()):
            return error
        self.answered[custom_id] += 1
        if fault == "malformed":
            return 200, {"object": "list", "content": 7}
        return 200, answer(body, self._behaviour(), self._say(), self.answered[custom_id])

    async def _log(self, request: web.Request) -> web.Response:
        """What a trial asks a server that is another process."""
        return web.json_response({"accepted": self.accepted, "answered": self.answered, "twice": self.twice})


def _size(batch: _Batch) -> int:
    return sum(len(tokens(message["content"])) for body in batch.lines.values() for message in body["messages"])


def key_of(request: web.Request) -> str:
    """The key that a request came with, in the header of either API."""
    return request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")


def _openai_error(status: int, code: str | None, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status)


def _anthropic_error(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"type": "error", "error": {"type": kind, "message": message}}, status=status)
