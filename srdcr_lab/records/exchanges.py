"""What goes to a model and what comes back: messages, a request with its draws, completions.

A request names the *stream* its sampled draws belong to (knowledge, self_consistency, agent-0 …) and their indices in
it, so that two uses of the same prompt never share a sample by accident (design: "draws are streams"). Stream and
draws are not part of the request's content: they are the address of one completion of it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from srdcr_lab.records.vocabulary import FinishReason, Role, Verdict

GREEDY = "greedy"  # the stream of temperature 0, where every draw would be the same


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One prompt and the draws wanted of it.

    Parameters
    ----------
    messages : the conversation, system message first.
    max_tokens : bound on the tokens of one completion, > 0.
    temperature : ≥ 0; 0 is greedy.
    stop : strings that end a completion and are not part of it.
    logprobs : whether the log-probability of each completion token is wanted.
    seed : the run's seed; adapters derive from it, the stream and the draw what they send.
    stream, draws : address of the completions: the stream's name and indices ≥ 0 in it.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    seed: int = 0
    stream: str = GREEDY
    draws: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if self.temperature == 0 and (self.stream, self.draws) != (GREEDY, (0,)):
            raise ValueError("a greedy request has one draw, of the stream 'greedy'")
        if not self.draws or len(set(self.draws)) != len(self.draws):
            raise ValueError(f"draws must be distinct and at least one, got {self.draws}")

    @cached_property
    def canonical(self) -> str:
        """The request as JSON, without stream and draws: equal text, equal request."""
        content = {
            "messages": [[m.role, m.content] for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "stop": list(self.stop),
            "logprobs": self.logprobs,
            "seed": self.seed,
        }
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `canonical`, hexadecimal."""
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def draw_seed(self, draw: int, bits: int = 31) -> int:
        """A seed for one draw: a function of request, stream and draw alone, in [0, 2**bits)."""
        address = f"{self.digest}\x1f{self.stream}\x1f{draw}".encode()
        return int.from_bytes(hashlib.blake2b(address, digest_size=8).digest(), "big") >> (64 - bits)


@dataclass(frozen=True, slots=True)
class Completion:
    """One draw of one request.

    `tokens` and `logprobs` (natural log, ≤ 0) run over the completion's tokens without the end marker, or are both
    None where the provider gives none; where they are given, ``"".join(tokens) == text``. Where one request brought
    several draws, its prompt tokens are counted on the first of them.
    """

    text: str
    draw: int = 0
    tokens: tuple[str, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    finish_reason: FinishReason = FinishReason.STOP
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Who answers: what the store keys completions by, and what every table calls the model.

    `fingerprint` is a hash of weights, tokenizer and chat template for a local model, and empty for an API.
    `label` tells apart two servers that serve different models under one name.
    """

    provider: str
    name: str
    label: str = ""
    fingerprint: str = ""

    def __str__(self) -> str:
        spec = self.name if self.provider == "pocket" else f"{self.provider}:{self.name}"
        return f"{spec}#{self.label}" if self.label else spec

    @property
    def key(self) -> str:
        """What completions are stored under: a local model's fingerprint, wherever its files lie; else the names."""
        return self.fingerprint or "|".join((self.provider, self.name, self.label))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can give: `logprobs` decides which confidence `auto` means."""

    logprobs: bool
    notes: tuple[str, ...] = field(default=())


# -- a debate as data: who said what in which round, and what they saw when they said it


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of one role.

    `saw_passage` and `saw_turns` (positions of the transcript's turns that were in the prompt) say what the speaker
    saw; the prompt itself is in the store under `request_digest`. `verdict` is set on the judge's turns alone,
    `stated_answer` on the debaters'. `speaker` tells apart those of one role (an agent, a stance, a document);
    `stance` is the answer a speaker was given to defend or to attack.
    """

    round: int
    role: Role
    text: str
    saw_passage: bool
    saw_turns: tuple[int, ...]
    request_digest: str = ""
    verdict: Verdict | None = None
    stated_answer: str | None = None
    speaker: str = ""
    stance: str | None = None
    completion: Completion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """All turns in the order they were spoken, and the verdict after each round that had one."""

    turns: tuple[Turn, ...]
    verdict_path: tuple[Verdict, ...]
    first_verdict_round: int = 0

    @property
    def transcript(self) -> tuple[Turn, ...]:
        """The debaters' turns alone."""
        return tuple(turn for turn in self.turns if turn.role is not Role.JUDGE)
