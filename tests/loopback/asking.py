"""What the adapters' tests ask of the loopback server, and how."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from srdcr_lab.models.base import ChatModel
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.prompts import render
from srdcr_lab.records import Completion, Request
from tests.loopback.server import Loopback

GREEDY = Request(render("answer_from_memory", question="When was the bridge built?"), 16, logprobs=True)
DRAWS = replace(GREEDY, temperature=0.5, stream="knowledge", draws=tuple(range(10)), logprobs=False)
Model = TypeVar("Model", bound=ChatModel)
T = TypeVar("T")


def use(model: Model, call: Callable[[Model], Awaitable[T]]) -> T:
    """The result of the call, in an event loop of its own; the model is closed."""

    async def run() -> T:
        try:
            return await call(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def model_of(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("tested", base_url=server.openai_url, **options)


def ask(server: Loopback, request: Request = GREEDY, **options: Any) -> tuple[Completion, ...]:
    return use(model_of(server, **options), lambda model: model.complete(request))
