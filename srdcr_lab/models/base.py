"""What a model is to a protocol (`ChatModel`), and what adapters share about texts and messages.

A model may also have these; `ApiChat` has all of them:

- ``async complete_counted(request, arrived)``: `complete`, which calls ``arrived`` with completions as they come, so
  that none is lost when a later one fails; returns the completions, and how many attempts went unanswered;
- ``draws_per_request``: how many draws one call to its server brings; may fall while it runs; None: any number;
- ``max_attempts``: how often one request may be sent, and billed, at worst; default 1;
- ``async check()``: raises `BadInput` if nothing answers at its server, or if the key is refused;
- ``sent()``: what was really sent, for ``run.json``;
- ``context_tokens``: how many tokens prompt and reply may have together; None where that is not told;
- ``refused``: the parameters that the model turned out to refuse; ``leave_out(parameter)``: what is known of it so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from srdcr_lab.records import Capabilities, Completion, FinishReason, Message, ModelIdentity, Request
from srdcr_lab.records.types import apart
from srdcr_lab.records.vocabulary import ESCAPES

T = TypeVar("T")
Parameter = Literal[
    "temperature", "logprobs", "top_logprobs", "max_tokens", "seed", "stop", "n"
]  # that a model may refuse
Arrived = Callable[[Sequence[Completion]], None]
LOWEST = -9999.0  # a log-probability: what OpenAI's protocol says for "very unlikely"
_ROUNDED = 1e-3


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a request with one completion per draw.

    The store is a `ChatModel` around another one, so a protocol cannot tell them apart.
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


class WithoutText(Completion):
    """What came in place of a reply's text, such as a tool call: `text` names it. It is paid for and never kept."""


MORE_THAN_ONE = "the server sent more than one reply to a request"
PATIENCE_S = 300.0  # for which an outage of a server, or its rate limit, is waited out
NEAR_TIE = 0.05  # of log-probability: a greedy token with a smaller margin may be another one in another run
FEW_TOKENS = 8  # an end marker and white space; more, without a text or thinking, are something else


def unless_without_text(completion: Completion, instead: str = "") -> Completion:
    """The completion; where it has neither text nor thinking, what came `instead`, or how many tokens did."""
    if completion.text.strip() or completion.thinking or completion.thinking_tokens:
        return completion
    if not instead and completion.completion_tokens > FEW_TOKENS and completion.finish_reason is FinishReason.STOP:
        instead = f"{completion.completion_tokens} tokens that are no text"
    if not instead:
        return completion
    counts = completion.prompt_tokens, completion.completion_tokens
    return WithoutText(instead, completion.draw, prompt_tokens=counts[0], completion_tokens=counts[1])


@contextmanager
def held(variable: ContextVar[T | None], value: T) -> Iterator[T]:
    """The variable has this value inside, also in tasks that are started inside."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def as_dicts(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Messages as every chat protocol and template takes them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the earliest stop string begins, or None."""
    return min((place for place in map(text.find, stop) if place >= 0), default=None)


_MOST_THINKING = 60_000  # characters that are kept: a line of an export holds the thinking of 32 draws
_CONTROL = re.compile(rf"{ESCAPES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # but tab and line feed


def received(completion: Completion) -> Completion:
    """A completion as files, prompts and screens take it: thinking apart, whole characters, of control characters tab
    and line feed alone, no sequence that a terminal obeys, and nothing that reorders words."""
    completion = apart(completion)
    parts = completion.text, completion.thinking[:_MOST_THINKING]
    text, thinking = (_CONTROL.sub("", whole_characters(part)) for part in parts)
    if completion.tokens is None:
        return replace(completion, text=text, thinking=thinking)
    tokens = [whole_characters(token) for token in completion.tokens]
    hidden = {place for match in _CONTROL.finditer("".join(tokens)) for place in range(*match.span())}
    places = count()
    plain = ("".join(letter for letter in token if next(places) not in hidden) for token in tokens)
    return replace(completion, text=text, thinking=thinking, tokens=tuple(plain if hidden else tokens))


def whole_characters(text: str) -> str:
    """The text with lone surrogates replaced: a reply may end within an escaped character, which no file takes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def common_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Length of the common beginning of two texts or two lists of tokens."""
    limit = min(len(a), len(b))
    return limit if a[:limit] == b[:limit] else next(place for place in range(limit) if a[place] != b[place])


def log_probability(value: object) -> float:
    """A natural log-probability that came from outside; what rounding put up to a thousandth above 0 is 0.

    Raises ValueError for anything else: a server that says 0.97 means a probability. −∞, which JSON lacks, is `LOWEST`.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not value <= _ROUNDED:
        raise ValueError(f"a log-probability is {value!r:.40}; expected a number, 0 at most")
    return max(min(float(value), 0.0), LOWEST)
