"""The frozen types: an item, a request, a completion (without the thinking in it), and a debate made of turns.

A sampled draw has an address: its stream (knowledge, self_consistency, agent-0 …) and its index in it. Two uses of one
prompt therefore never share a sample by accident. The address is not part of the request's content.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from srdcr_lab.records.vocabulary import (
    AnswerType,
    DocumentKind,
    FinishReason,
    Level,
    Needs,
    PerturbationKind,
    Role,
    Verdict,
)

GREEDY = "greedy"  # the stream of every request at temperature 0: it has one draw
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
PROVIDERS_DEFAULT = "provider's default"  # how a model is drawn from that takes no temperature


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A worked question for a few-shot prompt. It is never one that is evaluated."""

    question: str
    answer: str
    context: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a multiple-choice question, or one side of a binary claim."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One of several documents about a question. Benchmarks also say its `kind` and which `answer` it asserts."""

    document_id: str
    text: str
    source: str = ""
    kind: DocumentKind | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question, its gold answer and its passage: (q, a, c) [2.1]. Or a question with options or several documents.

    `aliases` are accepted spellings of `gold_answer`, which is a label where there are `options`. `claimed_answer` is
    what the passage asserts; on a standard item it is the gold answer. `perturbation_value` is a signed offset in the
    answer's unit or a factor, else None. `context` is empty where there is no single passage. `unit` is a number's.
    `other_gold_answers` are further right answers, `wrong_answers` those that documents assert wrongly. `accepted` are
    other values that count as right beside the gold answer, a range of them as "400..800".
    """

    item_id: str
    question_id: str
    question: str
    gold_answer: str
    context: str
    claimed_answer: str
    domain: str = "general"
    answer_type: AnswerType = AnswerType.TEXT
    aliases: tuple[str, ...] = ()
    unit: str = ""
    perturbation_kind: PerturbationKind = PerturbationKind.NONE
    perturbation_value: float | None = None
    level: Level = Level.STANDARD
    options: tuple[Option, ...] = ()
    documents: tuple[Document, ...] = ()
    other_gold_answers: tuple[str, ...] = ()
    wrong_answers: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    @property
    def is_standard(self) -> bool:
        """Whether the passage tells the truth."""
        return self.perturbation_kind is PerturbationKind.NONE

    @property
    def condition(self) -> str:
        """``standard`` where the passage tells the truth, else ``perturbed``."""
        return "standard" if self.is_standard else "perturbed"

    @property
    def gold_answers(self) -> tuple[str, ...]:
        """Every right answer, nearly always one."""
        return (self.gold_answer, *self.other_gold_answers)

    @property
    def is_closed_book(self) -> bool:
        """Whether there is nothing beside the question: it is asked of memory alone."""
        return not (self.context or self.options or self.documents)

    def has(self, need: Needs) -> bool:
        """Whether the item has what a method needs. A passage beside options is evidence and not to be doubted."""
        passage = self.context if not self.options else ""
        shown = {Needs.PASSAGE: passage, Needs.OPTIONS: self.options, Needs.DOCUMENTS: self.documents}
        return need is Needs.QUESTION or bool(shown[need])


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One prompt and the draws that are wanted of it.

    A system message comes first. `max_tokens` > 0 bounds one completion; `temperature` 0 is greedy, None the provider's
    default: none is sent, and there may be several draws. A completion ends before the first of the `stop` strings. An
    adapter sends a seed that depends on `seed` (the run's), on the stream and on the draw. `logprobs` are needed, and
    part of the content. Of a `scored` request they are welcome and are not: a completion that was kept without them
    serves as well.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = 0.0
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    seed: int = 0
    stream: str = GREEDY
    draws: tuple[int, ...] = (0,)
    scored: bool = False

    def __post_init__(self) -> None:
        if self.temperature == 0 and (self.stream, self.draws) != (GREEDY, (0,)):
            raise ValueError("a greedy request has one draw, of the stream 'greedy'")
        if not self.draws or len(set(self.draws)) != len(self.draws):
            raise ValueError(f"draws must be distinct and at least one, got {self.draws}")

    @property
    def decoding(self) -> str:
        """How its draws are made, as tables say it: ``greedy``, ``T=0.5``, ``provider's default``."""
        if self.temperature is None:
            return PROVIDERS_DEFAULT
        return f"T={self.temperature:g}" if self.temperature else GREEDY

    @property
    def wants_logprobs(self) -> bool:
        """Whether an adapter asks for log-probabilities."""
        return self.logprobs or self.scored

    @cached_property
    def canonical(self) -> str:
        """The request as JSON, without stream, draws and `scored`: equal text, equal request."""
        content = {name: getattr(self, name) for name in ("max_tokens", "temperature", "stop", "logprobs", "seed")}
        content["messages"] = [[message.role, message.content] for message in self.messages]
        return _CANONICAL.encode(content)

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

    `tokens` and `logprobs` (natural log, ≤ 0) leave out the end marker, and ``"".join(tokens) == text``. Both are None
    where the provider gives none. Of several draws of one request the first carries the prompt tokens. `thinking` is
    what the model thought before its reply, where the provider shows it; no part of `text`, `tokens` and `logprobs`.
    `completion_tokens` include `thinking_tokens`, as they are billed; these are 0 where nobody counted them. `margins`
    say by how much the log-probability of each token of a greedy reply exceeds that of the likeliest other token; None
    where that is not known.
    """

    text: str
    draw: int = 0
    tokens: tuple[str, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    finish_reason: FinishReason = FinishReason.STOP
    prompt_tokens: int = 0
    completion_tokens: int = 0
    thinking: str = ""
    thinking_tokens: int = 0
    margins: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Who answers: the name that tables show, and the key under which the store keeps completions.

    `fingerprint` is a local model's hash of weights, tokenizer and chat template; empty for an API. `label` tells apart
    two servers with different models of one name. `settings` is what changes its completions beside the request, as
    canonical JSON (``{"reasoning":"low"}``); empty where nothing is set.
    """

    provider: str
    name: str
    label: str = ""
    fingerprint: str = ""
    settings: str = ""

    def __str__(self) -> str:
        """The specification, and behind it the settings: ``openai:gpt-5.1 (reasoning low)``."""
        if not self.settings:
            return self.spec
        told = json.loads(self.settings).items()
        parts = (f"{name} {value if isinstance(value, str) else json.dumps(value)}" for name, value in told)
        return f"{self.spec} ({', '.join(parts)})"

    @property
    def spec(self) -> str:
        spec = self.name if self.provider == "pocket" else f"{self.provider}:{self.name}"
        return f"{spec}#{self.label}" if self.label else spec

    @property
    def key(self) -> str:
        """Key of its completions in the store: a local model's fingerprint, otherwise the names; and the settings."""
        key = self.fingerprint or "|".join((self.provider, self.name, self.label))
        return f"{key}|{self.settings}" if self.settings else key


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can give. `logprobs` decides which confidence kind ``auto`` means.

    Without `temperature` a model is drawn from at its provider's default. That is known once it has refused one.
    """

    logprobs: bool
    notes: tuple[str, ...] = ()
    temperature: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of one role.

    `saw_passage` and `saw_turns` (positions in `Debate.transcript`) say what was in the prompt, which the store keeps
    under `request_digest`. `verdict` and `stated_answer` are what was read from the text, `p_unreasonable` how likely
    UNREASONABLE was where the verdict was said, `decoding` the request's. `speaker` tells apart several of one role (an
    agent, a stance, a document); `stance` is the answer the speaker was given to defend or to attack.
    """

    round: int
    role: Role
    text: str
    saw_passage: bool
    saw_turns: tuple[int, ...]
    request_digest: str = ""
    verdict: Verdict | None = None
    p_unreasonable: float | None = None
    stated_answer: str | None = None
    speaker: str = ""
    stance: str | None = None
    decoding: str = ""
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


# What a model thinks before it replies is no part of its reply, and is seen by nobody else in a debate. Servers give it
# in a field of its own, or within the text, between marks that differ by model; of some the prompt holds the first
# mark, so that the text begins inside.
Scored = tuple[tuple[str, ...], tuple[float, ...]]  # tokens, and the log-probability of each
# Of DeepSeek, Qwen and others; Seed-OSS (<seed:think>), Magistral ([THINK]), Kimi (◁think▷), OpenThinker, gpt-oss.
_NAMES = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning)"
_BEGINS = rf"(?:<{_NAMES}>|(?-i:\[THINK\])|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>)"
_ENDS = rf"(?:</{_NAMES}>|(?-i:\[/THINK\])|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>)"
_MARK = re.compile(f"{_BEGINS}|{_ENDS}", re.IGNORECASE)
_THOUGHTS = (
    re.compile(rf"{_BEGINS}(?:(?!{_BEGINS}).)*?{_ENDS}", re.IGNORECASE | re.DOTALL),
    re.compile(rf"\A.*{_ENDS}", re.IGNORECASE | re.DOTALL),  # the prompt had begun it
    re.compile(rf"{_BEGINS}.*\Z", re.IGNORECASE | re.DOTALL),  # it did not end
)


def parted(text: str) -> tuple[str, str]:
    """What a text thinks aloud, and what it says; thinking that does not end leaves nothing after it."""
    if not _MARK.search(text):
        return "", text
    thoughts: list[str] = []
    said = text
    for pattern in _THOUGHTS:
        thoughts += pattern.findall(said)
        said = pattern.sub("", said)
    return _MARK.sub("", "\n".join(thoughts)).strip(), said.strip()


def apart(completion: Completion) -> Completion:
    """The completion with the thinking in its text apart from it, and of tokens and log-probabilities the reply's."""
    thinking, said = parted(completion.text)
    if said == completion.text:
        return completion
    start, tokens, logprobs = completion.text.rfind(said), completion.tokens, completion.logprobs
    margins = completion.margins
    if tokens is not None and logprobs is not None:
        if margins is not None:
            margins = cut(tokens, margins, start, start + len(said))[1] if said and start >= 0 else None
        tokens, logprobs = cut(tokens, logprobs, start, start + len(said)) if said and start >= 0 else (None, None)
    thinking = "\n".join(dict.fromkeys(filter(None, (completion.thinking.strip(), thinking))))  # some say it twice
    spent = completion.thinking_tokens or len(completion.tokens or ()) - len(tokens or ())
    kept = replace(completion, tokens=tokens, logprobs=logprobs, margins=margins)
    return replace(kept, text=said, thinking=thinking, thinking_tokens=spent)


def cut(pieces: Sequence[str], logprobs: Sequence[float], start: int, end: int) -> Scored:
    """Tokens cut to the characters from `start` to `end` of what they spell, with their log-probabilities."""
    tokens, values, at = [], [], 0
    for piece, logprob in zip(pieces, logprobs, strict=False):
        part = piece[max(start - at, 0) : max(end - at, 0)]
        if part or (not piece and start <= at < end):  # an empty piece inside is the first part of a character
            tokens.append(part)
            values.append(logprob)
        at += len(piece)
    return tuple(tokens), tuple(values)
