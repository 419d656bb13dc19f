"""What the adapters' tests ask of the loopback server, and how."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from srdcr_lab.models.api import ApiChat
from srdcr_lab.prompts import render
from srdcr_lab.records import Request

GREEDY = Request(render("answer_from_memory", question="When was the bridge built?"), 16, logprobs=True)
DRAWS = replace(GREEDY, temperature=0.5, stream="knowledge", draws=tuple(range(10)), logprobs=False)
Model = TypeVar("Model", bound=ApiChat)
T = TypeVar("T")


def use(model: Model, call: Callable[[Model], Awaitable[T]]) -> T:
    """The result of the call, in an event loop of its own; the model is closed."""

    async def run() -> T:
        try:
            return await call(model)
        finally:
            await model.aclose()

    return asyncio.run(run())
