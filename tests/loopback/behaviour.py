"""What the loopback server can do to a client: standing behaviour, and faults for the next requests, one each."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from tests.loopback.replies import unit


class Fault(StrEnum):
    """One bad answer. The values are what the log calls them."""

    RATE_LIMIT = "429"
    SERVER_ERROR = "500"
    GATEWAY_TIMEOUT = "504"
    CUT = "cut"  # the connection closes before any byte of an answer
    CUT_MID_BODY = "cut_mid_body"
    BROKEN_JSON = "broken_json"
    NOT_A_COMPLETION = "not_a_completion"  # valid JSON of another kind
    WRONG_TYPES = "wrong_types"
    HANG = "hang"  # accepts and does not answer
    DRIP = "drip"  # sends white space for ever, so that no single read times out
    ENDLESS = "endless"  # sends a text for ever, as fast as it is read


@dataclass
class Behaviour:
    """Settings of a server; tests change them while it runs.

    Parameters
    ----------
    key : the only key it takes; None takes any and none.
    models : the only model names it knows; empty knows every name. `listed`: what its list of models says of each.
    refuses : parameters it refuses as a provider does (``temperature``, ``logprobs``, ``max_tokens``, ``seed``,
        ``n``, ``stop``, ``reasoning_effort``, ``chat_template_kwargs``), or a kind of thinking (``adaptive``,
        ``enabled``, ``disabled``).
    choices : most choices it gives for one request, whatever ``n`` says; None honours ``n``.
    logprobs : what it returns where log-probabilities are asked for.
    finish : the protocol's own word for how every completion ends; ``content_filter`` empties it.
    max_characters : texts are cut there and end with ``length``.
    latency_s, sigma : mean and log-normal spread of its delay, a function of the request alone.
    retry_after_s : what a 429 or 500 asks for; any text.
    body : sent for every completion, as it is, with this `status` and these `headers`.
    reply_shape : a reply of another server, whose fields and thinking its own replies take on (`shapes`).
    away : the status of every answer while the server is away behind its gateway; None: it is there.
    hides_status : whether that status is in the reply alone, as at OpenRouter.
    """

    key: str | None = None
    models: tuple[str, ...] = ()
    listed: dict[str, Any] = field(default_factory=lambda: {"object": "model"})
    refuses: frozenset[str] = frozenset()
    choices: int | None = None
    logprobs: Literal["full", "null", "missing", "short", "end_marker", "bytes", "wrong_types"] = "full"
    finish: str = "stop"
    refusal: str | None = None
    filters_prompts: bool = False
    max_characters: int | None = None
    usage: bool = True
    version: str = "2026-01-01"  # of the model, as its replies name it
    latency_s: float = 0.0
    sigma: float = 0.0
    retry_after_s: float | str = 0.05
    body: bytes | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reply_shape: dict[str, Any] | None = None
    away: int | None = None
    hides_status: bool = False
    faults: list[Fault] = field(default_factory=list)

    def delay_s(self, key: str) -> float:
        """The delay of a request: mean `latency_s`, log-normal with `sigma`."""
        if not self.sigma:
            return self.latency_s
        z = math.sqrt(-2 * math.log(unit("a", key))) * math.cos(2 * math.pi * unit("b", key))
        return self.latency_s * math.exp(self.sigma * z - self.sigma**2 / 2)
