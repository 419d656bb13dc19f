"""An item, a request, a completion (its thinking apart), and a debate made of turns; all but completions are frozen.

A sampled draw has an address: its stream (knowledge, self_consistency, agent-0 …) and its index in that stream. Two
uses of one prompt therefore never share a sample by accident. The address is not part of the request's content.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

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
PREVIOUS = "{previous}"  # in the question of a hop: the answer to the hop before
ONE_HOP = "one hop"  # the domain of a hop that is asked by itself, and of its exemplars
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
PROVIDERS_DEFAULT = "provider's default"  # how a model is drawn from that takes no temperature
Place = tuple[str, str, int]  # of a completion: digest of its request, stream and draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A worked example for a few-shot prompt; it is never evaluated.

    Attributes
    ----------
    question : str
        The question.
    answer : str
        Its answer.
    context : str
        A passage that states the answer.
    domain : str
        Domain of the question.
    """

    question: str
    answer: str
    context: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a multiple-choice question, or one side of a binary claim.

    Attributes
    ----------
    label : str
        Its label, such as "A".
    text : str
        Its text.
    """

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One of several documents about a question.

    Attributes
    ----------
    document_id : str
        Its identifier.
    text : str
        Its text.
    source : str, default ""
        Name of its source.
    kind : DocumentKind, optional
        Whether it is correct, misleading or noise, if the benchmark says so.
    answer : str, default ""
        The answer that it asserts, if the benchmark says so.
    """

    document_id: str
    text: str
    source: str = ""
    kind: DocumentKind | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question, its gold answer and its passage (q, a, c) [2.1]; or one with options, several documents or hops.

    Attributes
    ----------
    item_id : str
        Identifier of the item.
    question_id : str
        Identifier of the question; its true and false forms share it.
    question : str
        The question.
    gold_answer : str
        The true answer; a label, if there are `options`.
    context : str
        The passage; empty if there is no single one.
    claimed_answer : str
        The answer that the passage asserts; on a standard item the gold answer.
    domain : str, default "general"
        Domain of the question.
    answer_type : AnswerType, default AnswerType.TEXT
        How answers are read and compared.
    aliases : tuple of str
        Accepted spellings of the gold answer.
    unit : str, default ""
        Unit of a number.
    perturbation_kind : PerturbationKind, default PerturbationKind.NONE
        How the passage was made false.
    perturbation_value : float, optional
        Signed offset in the answer's unit, or factor; otherwise None.
    level : Level, default Level.STANDARD
        How far the claim is from the truth.
    options : tuple of Option
        The options.
    documents : tuple of Document
        The documents.
    other_gold_answers : tuple of str
        Further right answers.
    wrong_answers : tuple of str
        Answers that documents assert wrongly.
    accepted : tuple of str
        Other values that count as right, a range as "400..800".
    flags : tuple of str
        What may give a false passage away, one sentence each; empty if it was accepted without doubt.
    is_control : bool, default False
        Whether the question is about something invented, of which no model can know.
    hops : tuple of Item
        The questions that lead to the answer, in order; from the second on, `PREVIOUS` in a question is the answer to
        the one before. `context` then joins their passages, at most one of which is false.
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
    flags: tuple[str, ...] = ()
    is_control: bool = False
    hops: tuple[Item, ...] = ()

    @property
    def is_standard(self) -> bool:
        """Return whether the passage is true.

        Returns
        -------
        bool
            True if nothing was perturbed.
        """
        return self.perturbation_kind is PerturbationKind.NONE

    @property
    def condition(self) -> str:
        """Return the condition of the item.

        Returns
        -------
        str
            The text "standard" if the passage is true, otherwise "perturbed".
        """
        return "standard" if self.is_standard else "perturbed"

    @property
    def gold_answers(self) -> tuple[str, ...]:
        """Return every right answer, usually one.

        Returns
        -------
        tuple of str
            The gold answer first.
        """
        return (self.gold_answer, *self.other_gold_answers)

    @property
    def is_closed_book(self) -> bool:
        """Return whether the item is a question alone, to be answered from memory.

        Returns
        -------
        bool
            True without passage, options and documents.
        """
        return not (self.context or self.options or self.documents)

    def has(self, need: Needs) -> bool:
        """Return whether the item has what a method needs.

        Parameters
        ----------
        need : Needs
            What the method needs.

        Returns
        -------
        bool
            True if it has. A passage beside options is evidence, and not to be doubted.
        """
        if need is Needs.PASSAGE:
            return bool(self.context and not self.options)
        return need is Needs.QUESTION or bool(getattr(self, need))  # the others are named as their fields

    @property
    def false_hop(self) -> int:
        """Return the number of the hop whose passage is false.

        Returns
        -------
        int
            Counted from 1; 0 if there is none.
        """
        return next((number for number, hop in enumerate(self.hops, start=1) if not hop.is_standard), 0)

    def hop(self, number: int, previous: str | None = None) -> Item:
        """Return one hop as an item of its own, asked about an answer to the hop before.

        Parameters
        ----------
        number : int
            Number of the hop, from 1.
        previous : str, optional
            The answer to the hop before; None for its gold answer.

        Returns
        -------
        Item
            The hop, with identifiers of this chain; all forms of the chain share its `question_id`.
        """
        own, before = self.hops[number - 1], previous or self.hops[number - 2].gold_answer
        question = own.question.replace(PREVIOUS, before)  # which the first hop does not hold
        item_id, question_id = f"{self.item_id}/{number}", f"{self.question_id}/{number}"
        return replace(own, question=question, domain=ONE_HOP, item_id=item_id, question_id=question_id)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt.

    Attributes
    ----------
    role : Literal['system', 'user', 'assistant']
        Who speaks.
    content : str
        The text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One prompt and the draws that are wanted of it.

    The system message comes first. An adapter sends a seed that depends on `seed`, on the stream and on the draw.

    Attributes
    ----------
    messages : tuple of Message
        The messages.
    max_tokens : int
        Most tokens of one completion; more than 0.
    temperature : float, optional
        0 is greedy; None is the provider's default: none is sent, and there may be several draws.
    stop : tuple of str
        A completion ends before the first of these strings.
    logprobs : bool, default False
        Whether log-probabilities are needed; part of the content.
    seed : int, default 0
        Seed of the run.
    stream : str, default GREEDY
        Stream of the draws.
    draws : tuple of int
        Indices of the draws in their stream.
    scored : bool, default False
        Whether log-probabilities are welcome, but not needed: a stored completion without them serves as well. Not part
        of the content.
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
        """Return how the draws are made, as tables say it.

        Returns
        -------
        str
            One of "greedy", "T=0.5" or "provider's default".
        """
        if self.temperature is None:
            return PROVIDERS_DEFAULT
        return f"T={self.temperature:g}" if self.temperature else GREEDY

    @property
    def places(self) -> dict[int, Place]:
        """Return where the store keeps each draw.

        Returns
        -------
        dict of int to tuple of str, str, int
            Draw to digest, stream and draw.
        """
        return {draw: (self.digest, self.stream, draw) for draw in self.draws}

    @property
    def wants_logprobs(self) -> bool:
        """Return whether an adapter asks for log-probabilities.

        Returns
        -------
        bool
            True if they are needed or welcome.
        """
        return self.logprobs or self.scored

    @cached_property
    def canonical(self) -> str:
        """Return the request as JSON, without stream, draws and `scored`: equal text, equal request.

        Returns
        -------
        str
            The JSON text.
        """
        return _CANONICAL.encode(self.content)

    @property
    def content(self) -> dict[str, object]:
        """Return what `canonical` is the JSON text of.

        Returns
        -------
        dict of str to object
            The fields; each message as its role and its text.
        """
        content = {name: getattr(self, name) for name in ("max_tokens", "temperature", "stop", "logprobs", "seed")}
        return content | {"messages": [[message.role, message.content] for message in self.messages]}

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of `canonical`.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def draw_seed(self, draw: int, bits: int = 31) -> int:
        """Compute the seed of one draw from request, stream and draw alone.

        Parameters
        ----------
        draw : int
            Index of the draw.
        bits : int, default 31
            Number of bits.

        Returns
        -------
        int
            The seed, in [0, 2**bits).
        """
        address = f"{self.digest}\x1f{self.stream}\x1f{draw}".encode()
        return int.from_bytes(hashlib.blake2b(address, digest_size=8).digest(), "big") >> (64 - bits)


@dataclass(slots=True, unsafe_hash=True)  # a large study makes a million: frozen, they would take three times as long
class Completion:
    """One draw of one request.

    Attributes
    ----------
    text : str
        The reply, without thinking.
    draw : int, default 0
        Index of the draw.
    tokens : tuple of str, optional
        Its tokens, without the end marker, so that joined they are `text`; None if the provider returns none.
    logprobs : tuple of float, optional
        Natural logarithms of their probabilities, at most 0; None if the provider returns none.
    finish_reason : FinishReason, default FinishReason.STOP
        Why it ended.
    prompt_tokens : int, default 0
        Tokens of the prompt; only the first of several draws of a request carries them.
    completion_tokens : int, default 0
        Tokens of the reply, with `thinking_tokens`, as they are billed.
    thinking : str, default ""
        What the model thought before its reply, if the provider shows it.
    thinking_tokens : int, default 0
        Their number; 0 if nobody counted them.
    margins : tuple of float, optional
        By how much the log-probability of each token of a greedy reply exceeds that of the likeliest other token; None
        if unknown.
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
    """Who answers: the name in tables, and the key under which the store keeps completions.

    Attributes
    ----------
    provider : str
        The provider, such as "openai".
    name : str
        Name of the model.
    label : str, default ""
        Tells two servers with different models of one name apart.
    fingerprint : str, default ""
        Hash of a local model's weights, tokenizer and chat template; empty for an API.
    settings : str, default ""
        What changes its completions besides the request, as canonical JSON; empty if nothing is set.
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
        """Return the specification of the model.

        Returns
        -------
        str
            Text such as "openai:gpt-4o#desk".
        """
        spec = self.name if self.provider == "pocket" else f"{self.provider}:{self.name}"
        return f"{spec}#{self.label}" if self.label else spec

    @property
    def key(self) -> str:
        """Return the key of its completions in the store.

        Returns
        -------
        str
            The fingerprint of a local model, otherwise the names; then the settings.
        """
        key = self.fingerprint or "|".join((self.provider, self.name, self.label))
        return f"{key}|{self.settings}" if self.settings else key


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can give.

    Attributes
    ----------
    logprobs : bool
        Whether it returns log-probabilities, which decides the kind of confidence that "auto" means.
    temperature : bool, default True
        Whether it takes a temperature; known once it has refused one. Without it, draws are made at the provider's
        default.
    """

    logprobs: bool
    temperature: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of one role.

    Attributes
    ----------
    round : int
        The round, from 0.
    role : Role
        The role.
    text : str
        The whole reply.
    saw_passage : bool
        Whether the passage was in the prompt.
    saw_turns : tuple of int
        Positions in `Debate.transcript` of the turns in the prompt.
    request_digest : str, default ""
        Key of the prompt in the store.
    verdict : Verdict, optional
        The verdict read from the text.
    p_unreasonable : float, optional
        P(UNREASONABLE) where the verdict is stated.
    stated_answer : str, optional
        The answer read from the text.
    speaker : str, default ""
        Tells several speakers of one role apart: an agent, a stance, a document.
    stance : str, optional
        The answer that the speaker had to defend or attack.
    decoding : str, default ""
        How the reply was drawn.
    completion : Completion, optional
        The completion.
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
    """All turns in the order in which they were spoken, and the verdict after each round that had one.

    Attributes
    ----------
    turns : tuple of Turn
        The turns.
    verdict_path : tuple of Verdict
        The verdicts.
    first_verdict_round : int, default 0
        The round of the first verdict.
    """

    turns: tuple[Turn, ...]
    verdict_path: tuple[Verdict, ...]
    first_verdict_round: int = 0

    @property
    def transcript(self) -> tuple[Turn, ...]:
        """Return the debaters' turns.

        Returns
        -------
        tuple of Turn
            All turns that are not the Judge's.
        """
        return tuple(turn for turn in self.turns if turn.role is not Role.JUDGE)


# What a model thinks before it replies is no part of its reply, and is seen by nobody else in a debate. Servers give it
# in a field of its own, or within the text, between marks that differ by model; of some the prompt holds the first
# mark, so that the text begins inside.
_V = TypeVar("_V")
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
    """Split a text into what it thinks aloud and what it says.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    tuple of str, str
        Thinking and reply; thinking that does not end leaves no reply.
    """
    if not _MARK.search(text):
        return "", text
    thoughts: list[str] = []
    said = text
    for pattern in _THOUGHTS:
        thoughts += pattern.findall(said)
        said = pattern.sub("", said)
    return _MARK.sub("", "\n".join(thoughts)).strip(), said.strip()


def apart(completion: Completion) -> Completion:
    """Move the thinking in a completion's text apart from it, with the reply's tokens and log-probabilities.

    Parameters
    ----------
    completion : Completion
        The completion.

    Returns
    -------
    Completion
        The completion without thinking in `text`.
    """
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


def cut(pieces: Sequence[str], values: Sequence[_V], start: int, end: int) -> tuple[tuple[str, ...], tuple[_V, ...]]:
    """Cut tokens to a range of the characters that they spell.

    Parameters
    ----------
    pieces : sequence of str
        The tokens.
    values : sequence
        A value of each, such as its log-probability.
    start : int
        First character.
    end : int
        End of the range.

    Returns
    -------
    tuple of str, tuple
        The tokens within the range, with their values.
    """
    tokens, kept, at = [], [], 0
    for piece, value in zip(pieces, values, strict=False):
        part = piece[max(start - at, 0) : max(end - at, 0)]
        if part or (not piece and start <= at < end):  # an empty piece inside is the first part of a character
            tokens.append(part)
            kept.append(value)
        at += len(piece)
    return tuple(tokens), tuple(kept)
