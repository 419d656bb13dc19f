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
        text = _ARGUMENT if request.max_tokens > 100 else "1874"
        if "the Judge" in system:
            text = "final decision: UNREASONABLE"
        count = len(text.split())
        tokens, logprobs = ((text,), (-0.05,)) if request.wants_logprobs else (None, None)
        return tuple(
            Completion(text, draw, tokens, logprobs, prompt_tokens=100, completion_tokens=count)
            for draw in request.draws
        )

    async def aclose(self) -> None:
        """Nothing to let go of."""
