"""Replies written by hand in a model's place: what every speaker says is known, so a protocol can be watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srdcr_lab import prompts
from srdcr_lab.records import Capabilities, Completion, ModelIdentity, Request, SrdcrError

Lines = Mapping[str, Sequence[tuple[str, str]]]


class Script:
    """A `ChatModel` that reads from a script.

    Parameters
    ----------
    lines : template → (words, reply) pairs; the first pair whose words stand in the last user message is the reply.
    name : what the tables call it.
    """

    def __init__(self, lines: Lines, name: str = "a script by hand") -> None:
        self.identity = ModelIdentity("script", name)
        self.capabilities = Capabilities(logprobs=False)
        self._lines = {prompts.system_text(template): pairs for template, pairs in lines.items()}

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """The scripted reply, for every draw.

        Raises
        ------
        SrdcrError
            If the script has none.
        """
        asked = request.messages[-1].content
        for words, reply in self._lines.get(request.messages[0].content, ()):
            if words in asked:
                tokens = [sum(len(m.content.split()) for m in request.messages), len(reply.split())]
                return tuple(Completion(reply, draw, None, None, prompt_tokens=tokens[0], completion_tokens=tokens[1])
                             for draw in request.draws)  # fmt: skip
        raise SrdcrError(f"the script has no reply to the prompt that ends in {asked[-60:]!r}")

    async def aclose(self) -> None:
        """Nothing to let go of."""
