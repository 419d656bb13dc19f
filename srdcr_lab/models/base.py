"""The one thing a protocol needs of a model, `ChatModel`, and what a model may offer beside it.

Each of `Piecemeal`, `Batching`, `Retrying`, `Remote` and `Reporting` is looked for where it matters; none is required.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from srdcr_lab.records import Capabilities, Completion, ModelIdentity, Request

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
        """Let go of connections and threads."""
        ...


@runtime_checkable
class Piecemeal(Protocol):
    """Hands on each completion of several as it comes, so that none is lost when a later one fails."""

    async def complete_counted(
        self, request: Request, arrived: Arrived | None = None
    ) -> tuple[tuple[Completion, ...], int]:
        """The completions, and how many attempts were sent in vain; `arrived` is told of completions as they come."""
        ...


@runtime_checkable
class Batching(Protocol):
    """Says how many draws one call to its server brings; may change once a server has given fewer."""

    @property
    def draws_per_request(self) -> int | None:
        """None: any number."""
        ...


@runtime_checkable
class Retrying(Protocol):
    """Says how often one request to its server may be sent, and billed, at worst."""

    @property
    def max_attempts(self) -> int: ...


@runtime_checkable
class Remote(Protocol):
    """Has a server that can be reached before a run begins."""

    async def check(self) -> None:
        """Raise `BadInput` if nothing answers there, or if the key is refused."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """Says what was really sent, for `run.json`."""

    def sent(self) -> dict[str, Any]: ...


def draws_per_request(model: ChatModel) -> int | None:
    """How many draws one call to its server brings; None: any number, also where the model does not say."""
    return model.draws_per_request if isinstance(model, Batching) else None


def max_attempts(model: ChatModel) -> int:
    """How often one request may be sent, and billed, at worst; 1 where the model does not say."""
    return model.max_attempts if isinstance(model, Retrying) else 1
