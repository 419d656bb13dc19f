"""A model without a model: says what a test wants, when it wants, and remembers what it was asked."""

import asyncio
from collections.abc import Callable, Sequence

from srdcr_lab.records import Capabilities, Completion, Message, ModelIdentity, Request

IDENTITY = ModelIdentity("openai", "double")


def request(text: str = "When?", draws: Sequence[int] | None = None, max_tokens: int = 8) -> Request:
    """A greedy request, or with `draws` one of the stream ``knowledge``."""
    messages = (Message("user", text),)
    if draws is None:
        return Request(messages, max_tokens)
    return Request(messages, max_tokens, temperature=0.5, stream="knowledge", draws=tuple(draws))


def completion(request: Request, draw: int, text: str = "") -> Completion:
    """One that spends ten prompt tokens and five of its own."""
    said = text or f"{request.messages[-1].content} {draw}"
    return Completion(said, draw, prompt_tokens=10, completion_tokens=5)


class ScriptedModel:
    """A `ChatModel` that answers at once, or when `gate` opens; `say` makes a completion, or raises."""

    def __init__(self, say: Callable[[Request, int], Completion] = completion, *, gated: bool = False) -> None:
        self.identity, self.capabilities = IDENTITY, Capabilities(logprobs=False)
        self.asked: list[Request] = []
        self.say, self.gate, self.closed = say, asyncio.Event(), False
        if not gated:
            self.gate.set()

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        self.asked.append(request)
        await self.gate.wait()
        return tuple(self.say(request, draw) for draw in request.draws)

    async def aclose(self) -> None:
        self.closed = True


class PiecemealModel(ScriptedModel):
    """Brings one draw at a time, as adapters do whose server gives one choice a request, and fails after `brings`."""

    def __init__(self, brings: int, failure: Exception) -> None:
        super().__init__()
        self.brings, self.failure = brings, failure

    async def complete_counted(
        self, request: Request, arrived: Callable[[Sequence[Completion]], None]
    ) -> tuple[tuple[Completion, ...], int]:
        self.asked.append(request)
        for draw in request.draws[: self.brings]:
            arrived([self.say(request, draw)])
        raise self.failure
