"""The loopback server: in a thread of its own for tests, or as a process.

usage: python -m tests.loopback.server [--latency-ms 300 --sigma 0.5] [--with-parent]

It prints ``listening on http://127.0.0.1:PORT`` once it does. ``GET /log`` returns what was asked.
"""

import argparse
import asyncio
import hashlib
import json
import os
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.loopback import replies
from tests.loopback.batches import Batches, key_of
from tests.loopback.behaviour import Behaviour, Fault
from tests.loopback.protocols import anthropic_error, anthropic_reply, openai_error, openai_reply
from tests.loopback.shapes import shaped
from tests.loopback.temperaments import Temperament

_RETRY = (Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.GATEWAY_TIMEOUT)


@dataclass
class Asked:
    """One HTTP request as the server saw it. `status` is its answer or the fault's name, empty until it is answered."""

    path: str
    body: dict[str, Any]
    key: str  # digest of messages, temperature and seed: equal for a retry
    seen: int  # how often that key came, this time included
    delay_s: float
    start: float
    api_version: str = ""
    end: float = 0.0
    status: str = ""

    @property
    def choices(self) -> int:
        return int(self.body.get("n") or 1)


class Loopback:
    """The server; ``with Loopback() as server:`` runs it in a thread. `asked` holds every request."""

    def __init__(
        self, behaviour: Behaviour | None = None, *, reply: replies.Reply = replies.reply,
        temperament: Temperament | None = None,
    ) -> None:  # fmt: skip
        self.behaviour = behaviour or Behaviour()
        self.reply, self.port = reply, 0
        self.temperament = temperament  # answers instead, over OpenAI's protocol
        self.batches = Batches(lambda: self.behaviour, lambda: self.reply)
        self.asked: list[Asked] = []
        self.turned_away: list[str] = []  # methods of the requests that came while it was away
        self.in_flight = self.most_in_flight = 0
        self._seen: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def completions(self) -> list[Asked]:
        """The requests that asked for completions."""
        return [asked for asked in self.asked if asked.body]

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(ready.set)), daemon=True)
        self._thread.start()
        if not ready.wait(10):
            raise RuntimeError("the loopback server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop and self._stop:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def serve(self, ready: Any) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**26, middlewares=[self._gateway])
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/messages", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/log", self._log)
        self.batches.add_to(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096)
        await site.start()
        self.port = runner.addresses[0][1]
        ready()
        try:
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        content = json.dumps(
            [request.path, body.get("messages"), body.get("system"), body.get("temperature"), body.get("seed")]
        )
        key = hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
        self._seen[key] += 1
        version = request.headers.get("anthropic-version", "")
        asked = Asked(request.path, body, key, self._seen[key], self.behaviour.delay_s(key), time.time(), version)
        self.asked.append(asked)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            response = await self._answer(request, asked)
            asked.status = asked.status or str(response.status)
            return response
        finally:
            self.in_flight -= 1
            asked.end = time.time()

    @web.middleware
    async def _gateway(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if status := self.behaviour.away:
            self.turned_away.append(request.method)
            if self.behaviour.hides_status:
                return web.json_response({"error": {"message": "away", "code": status}})
            return web.Response(status=status, text="<b>away</b>")
        await asyncio.sleep(self.batches.rules.latency_s)
        response: web.StreamResponse = await handler(request)
        await asyncio.sleep(self.batches.rules.latency_s)
        return response

    async def _answer(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        behaviour, body = self.behaviour, asked.body
        if refusal := self._refusal(request):
            return refusal
        if behaviour.faults:
            fault = behaviour.faults.pop(0)
            asked.status = fault.value
            return await self._fault(request, asked, fault)
        await asyncio.sleep(asked.delay_s)
        if request.path == "/v1/messages":
            error = anthropic_error(body, behaviour, asked.api_version)
            answer = anthropic_reply
        else:
            error = openai_error(body, behaviour)
            answer = openai_reply
        if self.temperament and not error:
            error = self.temperament.refusal(body)
        if error:
            return web.json_response(error[1], status=error[0])
        if behaviour.body is not None:
            headers = {"Content-Type": "application/json"} | behaviour.headers
            return web.Response(body=behaviour.body, status=behaviour.status, headers=headers)
        if self.temperament:
            return web.json_response(self.temperament.reply(body))
        said = answer(body, behaviour, self.reply, asked.seen)
        return web.json_response(said if behaviour.reply_shape is None else shaped(said, behaviour.reply_shape))

    async def _fault(self, request: web.Request, asked: Asked, fault: Fault) -> web.StreamResponse:
        if fault in _RETRY:
            error = {"error": {"message": f"scripted {fault.value}", "type": "scripted"}}
            return web.json_response(
                error, status=int(fault.value), headers={"retry-after": str(self.behaviour.retry_after_s)}
            )
        if fault is Fault.BROKEN_JSON:
            return web.Response(text='{"choices": [{"mess', content_type="application/json")
        if fault is Fault.NOT_A_COMPLETION:
            return web.json_response({"object": "list", "data": []})
        if fault is Fault.WRONG_TYPES:
            return web.json_response({"choices": [{"message": "1874"}], "content": "1874", "usage": "many"})
        response: web.StreamResponse
        if fault is Fault.HANG:
            await asyncio.sleep(3600)
        if fault is Fault.ENDLESS:
            response = web.StreamResponse(status=self.behaviour.status, headers=self.behaviour.headers)
            await response.prepare(request)
            while request.transport and not request.transport.is_closing():
                await response.write(self.behaviour.body or 2**20 * b"x")
            return response
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        if fault in (Fault.CUT_MID_BODY, Fault.DRIP):
            await response.prepare(request)
            await response.write(b'{"choices": ')
        while fault is Fault.DRIP:
            await asyncio.sleep(0.02)
            await response.write(b" ")
        if request.transport:
            request.transport.close()
        return response

    def _refusal(self, request: web.Request) -> web.Response | None:
        """What is answered to a key that is not the right one."""
        given = key_of(request)
        if self.behaviour.key in (None, given):
            return None
        error = {
            "message": f"Incorrect API key provided: {given}.",
            "type": "authentication_error",
            "code": "invalid_api_key",
        }
        return web.json_response({"type": "error", "error": error}, status=401)

    async def _models(self, request: web.Request) -> web.Response:
        self.asked.append(Asked(request.path, {}, "", 1, 0.0, time.time(), status="200"))
        if refusal := self._refusal(request):
            return refusal
        return web.json_response(
            {"object": "list", "data": [{"id": name, **self.behaviour.listed} for name in self.behaviour.models]}
        )

    async def _log(self, request: web.Request) -> web.Response:
        return web.json_response([asdict(asked) for asked in self.asked])


async def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started it does")
    given = parser.parse_args()
    server = Loopback(Behaviour(latency_s=given.latency_ms / 1000, sigma=given.sigma))

    async def run() -> None:
        leaving = asyncio.create_task(_leave_with(os.getppid())) if given.with_parent else None
        await server.serve(lambda: print(f"listening on {server.url}", flush=True))
        if leaving:
            leaving.cancel()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
