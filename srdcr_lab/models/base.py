"""What a model is to a protocol (`ChatModel`), and what adapters share: texts, secrets, and room for thinking.

A model may also have these; `ApiChat` has all of them:

- ``async complete_counted(request, arrived)``: `complete`, which calls ``arrived`` with completions as they come, so
  that none is lost when a later one fails; returns the completions and the number of unanswered attempts;
- ``draws_per_request``: how many draws one call to its server returns; may fall while it runs; None: any number;
- ``max_attempts``: how often one request may be sent, and billed, at worst; default 1;
- ``async check()``: raises `BadInput` if nothing answers at its server, or if the key is refused;
- ``sent()``: what was really sent, for ``run.json``;
- ``context_tokens``: how many tokens prompt and reply may have together; None if unknown;
- ``refused``: the parameters that the model has refused; ``leave_out(parameter)``: records one that is known already.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from srdcr_lab.records import BadInput, Capabilities, Completion, FinishReason, Message, ModelIdentity, Request
from srdcr_lab.records.files import parse_json
from srdcr_lab.records.types import apart
from srdcr_lab.records.vocabulary import ESCAPES, KEY, visible

_Held = TypeVar("_Held")
Parameter = Literal["temperature", "logprobs", "top_logprobs", "max_tokens", "seed", "stop", "n", "system"]  # refusable
Arrived = Callable[[Sequence[Completion]], None]
LOWEST = -9999.0  # a log-probability: what OpenAI's protocol says for "very unlikely"
_ROUNDED = 1e-3


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a request with one completion per draw.

    The store is a `ChatModel` around another one, so a protocol does not notice the difference.

    Attributes
    ----------
    identity : ModelIdentity
        Who answers.
    """

    identity: ModelIdentity

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model can give; this may change once a server has refused something.

        Returns
        -------
        Capabilities
            The capabilities.
        """

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """Answer a request.

        Parameters
        ----------
        request : Request
            The prompt and the draws.

        Returns
        -------
        tuple of Completion
            Completions in the order of `request.draws`.

        Raises
        ------
        CallFailed
            No completion after the bounded retries; the text says why, without keys or addresses.
        BadInput
            The user has to act: a wrong key, an unknown model.
        """

    async def aclose(self) -> None:
        """Release connections and threads."""


class WithoutText(Completion):
    """A reply without text, such as a tool call, which `text` names. It is paid for and never kept."""


# Providers asked over HTTP: the class, in the module of its name, which needs the SDK of that name; then, for offline
# runs, which need no SDK, whether it can give log-probabilities, and how many draws a request brings if that is fixed.
API = {"openai": ("OpenAIChat", True, None), "anthropic": ("AnthropicChat", False, 1)}
PATIENCE_S = 300.0  # for which a server that went away is waited for
NEAR_TIE = 0.05  # of log-probability: a greedy token with a smaller margin may be another one in another run
FEW_TOKENS = 8  # an end marker and white space; more, without a text or thinking, are something else


def unless_without_text(completion: Completion, instead: str = "") -> Completion:
    """The completion; if it has neither text nor thinking, what came `instead`, or how many tokens did."""
    if completion.text.strip() or completion.thinking or completion.thinking_tokens:
        return completion
    if not instead and completion.completion_tokens > FEW_TOKENS and completion.finish_reason is FinishReason.STOP:
        instead = f"{completion.completion_tokens} tokens that are no text"
    if not instead:
        return completion
    counts = completion.prompt_tokens, completion.completion_tokens
    return WithoutText(instead, completion.draw, prompt_tokens=counts[0], completion_tokens=counts[1])


@contextmanager
def held(variable: ContextVar[_Held | None], value: _Held) -> Iterator[_Held]:
    """Give a variable this value inside the block, also in tasks started there."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def as_dicts(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Messages in the form that chat protocols and templates take."""
    return [{"role": message.role, "content": message.content} for message in messages]


def text_of(parts: Iterable[Mapping[str, Any]]) -> str:
    """The text of a content that servers send in parts."""
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation without a system message: its text stands before the first user message's own."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if system and rest and rest[0].role == "user":
        rest[0] = Message("user", "\n\n".join([*system, rest[0].content]))
    return tuple(rest)


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """The position of the earliest stop string, or None."""
    return min((place for place in map(text.find, stop) if place >= 0), default=None)


_MOST_THINKING = 60_000  # characters that are kept: a line of an export holds the thinking of 32 draws
_CONTROL = re.compile(rf"{ESCAPES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # but tab and line feed


def received(completion: Completion) -> Completion:
    """Clean a completion for files, prompts and screens: thinking apart, whole characters, no control characters except
    tab and line feed, no sequence that a terminal obeys, and nothing that reorders words.
    """
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
    """Replace lone surrogates: a reply may end within an escaped character, which no file takes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def common_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Length of the common beginning of two texts or two lists of tokens."""
    limit = min(len(a), len(b))
    return limit if a[:limit] == b[:limit] else next(place for place in range(limit) if a[place] != b[place])


def log_probability(value: object) -> float:
    """Check a natural log-probability from outside; a value up to a thousandth above 0 is rounding and becomes 0.

    Raises ValueError for anything else: a server that says 0.97 means a probability. −∞, which JSON lacks, is `LOWEST`.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not value <= _ROUNDED:
        raise ValueError(f"a log-probability is {value!r:.40}; expected a number, 0 at most")
    return max(min(float(value), 0.0), LOWEST)


# Secrets: servers quote the key that they refuse, and SDKs the address they called

HIDDEN = "[hidden]"
_SECRET_VARIABLES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")  # how their names end
_SHORTEST_SECRET = 8  # a value such as "x" or "none" hides nothing, and would blank ordinary words
_ANY_CASE = {
    # scheme://user:password@host → scheme://host; and ?query or #fragment of a URL
    r"(\b[a-z][a-z0-9+.-]*://)[^\s/?#'\"<>]*@": r"\1",
    r"(\b[a-z][a-z0-9+.-]*://[^\s?#'\"<>]*)[?#][^\s'\"<>]*": r"\1",
    r"\b(Bearer\s+|Basic\s+(?=[A-Za-z0-9+/]{12,}=*))(?!\[hidden\])[^\s'\",;]+": rf"\1{HIDDEN}",
    # header or JSON field: x-api-key: …, "api_key": "…", token=…
    r"((?:x-api-key|api[-_ ]?key|authorization|access[-_]?token|auth[-_]?token|secret|password)['\"]?\s*[:=]\s*['\"]?)"
    r"(?!Bearer\b|Basic\b|\[hidden\])[^\s'\",;}]+": rf"\1{HIDDEN}",
}


def redact(text: str) -> str:
    """Replace whatever looks like a secret by ``[hidden]``. Idempotent; other text is unchanged.

    Hidden are: values of environment variables named …_KEY, …_TOKEN, …_SECRET or …_PASSWORD (8 characters and longer),
    ``sk-…`` and similar keys, bearer tokens, ``x-api-key`` and ``api_key`` fields; user names, passwords and queries of
    URLs.
    """
    values = [value for name, value in os.environ.items() if name.upper().endswith(_SECRET_VARIABLES)]
    for secret in sorted(values, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    for pattern, replacement in _ANY_CASE.items():
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return KEY.sub(HIDDEN, text)


def address(url: object) -> str:
    """``host:port`` of a URL, all that an error needs of it."""
    parts = urlsplit(str(url))
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.hostname}:{port}" if parts.hostname else HIDDEN


# Tokens for thinking at each level: the budgets that Gemini's OpenAI-compatible API gives these words
# (https://ai.google.dev/gemini-api/docs/openai#thinking). OpenAI publishes none; Anthropic's least budget is 1,024.
ROOM = {"none": 0, "low": 1024, "medium": 8192, "high": 24576}
_OURS = "model messages system temperature max_tokens max_completion_tokens n seed stop stop_sequences logprobs".split()
_OURS += ["top_logprobs", "stream", "stream_options", "reasoning_effort"]  # what a request says by itself


def settings_of(reasoning: str | None = None, extra_body: Mapping[str, Any] | str | None = None) -> str:
    """`ModelIdentity.settings` for a level of `ROOM` and for further fields (or their JSON text); "" for neither.

    Raises `BadInput` for another level, and for fields that are not a JSON object, that a request sets itself, or that
    hold a key.
    """
    settings: dict[str, Any] = {}
    if extra_body is not None:
        try:
            text = extra_body if isinstance(extra_body, str) else json.dumps(extra_body, allow_nan=False)
            fields = parse_json(text, distinct_keys=True)
        except (TypeError, ValueError):
            fields = None
        if not isinstance(fields, dict):
            raise BadInput(f'--extra-body is {visible(extra_body, 60)}; expected a JSON object such as {{"top_k": 20}}')
        if ours := [name for name in fields if name in _OURS]:
            raise BadInput(f"--extra-body sets {ours[0]}, which a study sets by itself (reasoning_effort: --reasoning)")
        settings |= {"extra_body": fields} if fields else {}
    if reasoning is not None:
        if reasoning not in tuple(ROOM):
            raise BadInput(f"--reasoning is {visible(reasoning, 60)!r}; expected {', '.join(ROOM)}, or ROLE=LEVEL")
        settings["reasoning"] = reasoning
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":")) if settings else ""
    if redact(canonical) != canonical:
        raise BadInput("--extra-body holds what looks like a key; put it into the provider's environment variable")
    return canonical


def room(model: ModelIdentity) -> int:
    """The tokens that a model may think before each reply, on top of the reply's own `max_tokens`."""
    return ROOM[json.loads(model.settings or "{}").get("reasoning", "none")]
