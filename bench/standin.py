"""A stand-in for a model: instant replies of a debate's usual length, so that what is measured is our own work."""

from __future__ import annotations

from srdcr_lab.records import Capabilities, Completion, ModelIdentity, Request

_ARGUMENT = (
    "1874. I am certain. " + "The passage names the event, its place and its year, and nothing speaks against it. " * 4
)


class StandIn:
    """Answers every prompt in its format."""

    identity = ModelIdentity("hf", "stand-in")
    capabilities = Capabilities(logprobs=True)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        system = request.messages[0].content
        text = (
            "final decision: UNREASONABLE"
            if "the Judge" in system
            else _ARGUMENT
            if request.max_tokens > 100
            else "1874"
        )
        tokens = tuple(text.split(" "))
        spaced = tokens[:1] + tuple(" " + token for token in tokens[1:])
        logprobs = (-0.05,) * len(spaced)
        return tuple(
            Completion(text, draw, spaced, logprobs, prompt_tokens=100, completion_tokens=len(spaced))
            for draw in request.draws
        )

    async def aclose(self) -> None:
        """Nothing to let go of."""
