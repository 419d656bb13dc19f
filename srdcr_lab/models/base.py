"""What a model is to a protocol (`ChatModel`), what it may offer beside that, and what adapters share.

A model may also have these:

- ``complete_counted``, ``draws_per_request``, ``max_attempts``: the functions here say what they are, and the default;
- ``async check()``: raises `BadInput` if nothing answers at its server, or if the key is refused;
- ``sent()``: what was really sent, for ``run.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from srdcr_lab.records import Capabilities, Completion, Message, ModelIdentity, Request

Arrived = Callable[[Sequence[Completion]], None]


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a request with one completion per draw.

    The store and the budget are `ChatModel`s around another one, so a protocol cannot tell them apart.
    """

    identity: ModelIdentity

    @property
    def capabilities(self) -> Capabilities:
        """What it can give; may change once a server has refused something."""
        ...

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """Completions in the order of `request.draws`, each with its `draw`.

        Raises
        ------
        CallFailed
            No completion after the bounded retries; the text says why, without keys or addresses.
        BadInput
            The user has to act: a wrong key, an unknown model.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and threads."""
        ...


async def complete_counted(model: ChatModel, request: Request, arrived: Arrived) -> tuple[tuple[Completion, ...], int]:
    """The completions, and how many attempts went unanswered; `arrived` is called with completions as they come.

    So none of several is lost when a later one fails. Default: all arrive at once, and no attempt goes unanswered.
    """
    if counted := getattr(model, "complete_counted", None):
        completions, unanswered = await counted(request, arrived)
        return completions, unanswered
    completions = await model.complete(request)
    arrived(completions)
    return completions, 0


def draws_per_request(model: ChatModel) -> int | None:
    """How many draws one call to its server brings; may change once a server has given fewer. None: any number."""
    draws: int | None = getattr(model, "draws_per_request", None)
    return draws


def max_attempts(model: ChatModel) -> int:
    """How often one request may be sent, and billed, at worst. Default: 1."""
    attempts: int = getattr(model, "max_attempts", 1)
    return attempts


def as_dicts(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Messages as every chat protocol and template takes them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the earliest stop string begins, or None."""
    return min((place for place in map(text.find, stop) if place >= 0), default=None)


class ReplyError(ValueError):
    """A reply that arrived whole and is not what the protocol promises."""


def whole_characters(text: str) -> str:
    """The text with lone surrogates replaced: a reply may end within an escaped character, which no file takes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(usage: Any, *fields: str) -> int:
    """Sum of token counts of a reply's usage block; what is missing or no count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)
