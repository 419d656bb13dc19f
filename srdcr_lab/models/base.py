"""The one thing a protocol needs of a model."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from srdcr_lab.records import Capabilities, Completion, ModelIdentity, Request


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
