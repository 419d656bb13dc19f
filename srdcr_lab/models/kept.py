"""What a file keeps of a completion, a fact or what was asked elsewhere, read strictly: a row of the store, and a line
of an export.

A file may be damaged, or written by anybody, so types and ranges are checked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from srdcr_lab.models.base import log_probability, whole_characters
from srdcr_lab.records import BadInput, Completion, FinishReason, Message, ModelIdentity, Request
from srdcr_lab.records.files import from_plain, parse_json
from srdcr_lab.records.types import GREEDY

Kept = tuple[ModelIdentity, Request, list[Completion]]  # the completions of one request and stream
COMPLETION_COLUMNS = (
    "draw, text, tokens, logprobs, finish_reason, prompt_tokens, completion_tokens, thinking, thinking_tokens, margins"
)
INSERT = {
    "model": "INSERT OR IGNORE INTO models (key, provider, name, label, fingerprint, settings) "
    "VALUES (?, ?, ?, ?, ?, ?)",
    "request": "INSERT OR IGNORE INTO requests (digest, canonical) VALUES (?, ?)",
    "completion": f"INSERT OR IGNORE INTO completions (model, request, stream, {COMPLETION_COLUMNS}, created) "  # noqa: S608
    "SELECT models.id, requests.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? "
    "FROM models, requests WHERE models.key = ? AND digest = ?",
    "fact": "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)",
    "asked": "INSERT OR REPLACE INTO elsewhere VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
}
_LONGEST_FACT = 2**16  # characters
_LONGEST_LINE = 2**23  # bytes; decoding takes up to 75 times as much memory


@dataclass(frozen=True)
class _Content:
    """The fields of `Request.canonical`."""

    max_tokens: int
    temperature: float | None
    stop: tuple[str, ...]
    logprobs: bool
    seed: int
    messages: tuple[tuple[Literal["system", "user", "assistant"], str], ...]


@dataclass(frozen=True)
class Fact:
    """What was found out about the model of this key: a JSON text under a name."""

    model: str
    fact: str
    value: str

    def checked(self) -> Fact:
        """The fact. Raises ValueError unless it is a JSON text of bounded length under a name."""
        for part in (self.model, self.fact, self.value):
            if type(part) is not str or part != whole_characters(part) or len(part) > _LONGEST_FACT:
                raise ValueError(f"the fact {self.fact!r:.40} is no text of at most {_LONGEST_FACT:,} characters")
        parse_json(self.value)
        return self


@dataclass(frozen=True)
class Asked:
    """A request, with some of its draws, that was asked elsewhere: in a provider's batch, or by another program.

    `model` is a model's key. `batch` is our name of the batch, as in the fact ``batch NAME`` about the model; empty for
    a line that another program was given. Once it is answered, it is no longer open.
    """

    model: str
    request: Request
    batch: str = ""
    is_open: bool = True

    @property
    def custom_id(self) -> str:
        """Its name elsewhere, the same whenever the same is asked. OpenAI takes 64 characters, Anthropic those that
        match ``^[a-zA-Z0-9_-]{1,64}$`` (https://platform.claude.com/docs/en/api/messages/batches/create)."""
        address = self.model, self.request.digest, self.request.stream, list(self.request.draws)
        return f"srdcr-{hashlib.sha256(json.dumps(address).encode()).hexdigest()[:48]}"

    def row(self) -> tuple[object, ...]:
        """As the table holds it. The request's text is in another table once there are completions of it."""
        asked, text = self.request, self.request.canonical if self.is_open else None
        place = self.model, asked.digest, asked.stream, json.dumps(asked.draws)
        return (self.custom_id, *place, int(asked.scored), self.batch, text)

    @classmethod
    def of(cls, row: Sequence[Any], canonical: Any = None) -> Asked:
        """The reverse of `row`; `canonical` is the text of a request whose row lacks it. Raises ValueError if the row
        cannot be read."""
        _, model, _, stream, draws, scored, batch, text = row
        request = request_of(text or canonical, stream, tuple(parse_json(draws)))
        return cls(model, replace(request, scored=scored == 1), batch, text is not None)


@dataclass(frozen=True)
class _Line:
    """A line of an export."""

    model: ModelIdentity
    request: dict[str, Any]
    stream: str
    completions: tuple[Completion, ...]


def checked(c: Completion) -> Completion:
    """The completion, if it is one that a model can have given. Raises ValueError, which says what is wrong."""
    if not type(c.text) is type(c.thinking) is str:
        raise ValueError("the text is no text")
    for count in (c.draw, c.prompt_tokens, c.completion_tokens, c.thinking_tokens):
        if type(count) is not int or not 0 <= count < 2**63:
            raise ValueError(f"draw or number of tokens is {count!r:.40}; expected a whole number, 0 or more")
    if c.tokens is None and c.logprobs is None:
        return c
    tokens, logprobs = c.tokens or (), c.logprobs or ()
    if len(tokens) != len(logprobs):
        raise ValueError(f"{len(tokens)} tokens have {len(logprobs)} log-probabilities; expected one for each")
    if not all(type(token) is str for token in tokens) or "".join(tokens) != c.text:
        raise ValueError("the tokens do not spell the text")
    margins = None if c.margins is None else tuple(c.margins)
    if margins is not None and (len(margins) != len(tokens) or not all(map(_is_margin, margins))):
        raise ValueError(f"the margins of {len(tokens)} tokens are {margins!r:.60}; expected a number ≥ 0 for each")
    return replace(c, tokens=tuple(tokens), logprobs=tuple(map(log_probability, logprobs)), margins=margins)


def _is_margin(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


def row_of(completion: Completion) -> tuple[object, ...]:
    """A completion as the table holds it, lists as JSON. Raises ValueError if it is malformed."""
    c = checked(completion)
    parts = c.tokens, c.logprobs, c.margins
    lists = (None if part is None else json.dumps(part, ensure_ascii=False) for part in parts)
    tokens, logprobs, margins = (None if text is None else whole_characters(text) for text in lists)
    text, thinking = whole_characters(c.text), whole_characters(c.thinking) or None
    counts = c.prompt_tokens, c.completion_tokens, thinking, c.thinking_tokens or None
    return (c.draw, text, tokens, logprobs, c.finish_reason.value, *counts, margins)


def completion_of(row: Sequence[Any]) -> Completion:
    """The reverse of `row_of`. Raises ValueError if the row is not a completion."""
    draw, text, tokens, logprobs, finish, prompt_tokens, completion_tokens, thinking, thinking_tokens, margins = row
    tokens, logprobs, margins = (None if part is None else _list(part) for part in (tokens, logprobs, margins))
    counts = prompt_tokens, completion_tokens, thinking or "", thinking_tokens or 0
    return checked(Completion(text, draw, tokens, logprobs, FinishReason(finish), *counts, margins))


def _list(text: Any) -> Any:
    values = parse_json(text) if type(text) is str else None
    if type(values) is not list:
        raise ValueError("tokens or log-probabilities are no list")
    return values


def request_of(canonical: object, stream: str | None = None, draws: tuple[int, ...] = (0,)) -> Request:
    """The request of its canonical text. Raises ValueError if it cannot be read."""
    try:
        return _request(parse_json(canonical), stream, draws)  # type: ignore[arg-type]
    except (TypeError, BadInput) as error:
        raise ValueError(f"its request cannot be read ({error})") from None


def lines_of(path: Path) -> Iterator[Kept | Fact]:
    """What an export holds. Bad input names the line that is no record of one."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), start=1):
            try:
                if len(line) == _LONGEST_LINE:
                    raise ValueError(f"it has {_LONGEST_LINE:,} bytes or more")
                record = parse_json(line.decode("utf-8"))
                if isinstance(record, dict) and "fact" in record:
                    yield from_plain(Fact, record, "record").checked()
                    continue
                read = from_plain(_Line, record, "record")
                completions = [checked(completion) for completion in read.completions]
                draws = tuple(completion.draw for completion in completions)
                request = _request(read.request, read.stream, draws)
            except (ValueError, BadInput) as error:
                damaged = "; tools/recover_store.py of the repository saves a damaged store" if number == 1 else ""
                raise BadInput(f"{path}, line {number}: no record of a store export ({error}){damaged}") from None
            yield read.model, request, completions


def _request(content: Any, stream: str | None, draws: tuple[int, ...]) -> Request:
    """The request of its canonical content, with the address of its completions (default: of its own stream)."""
    read = from_plain(_Content, content, "request")
    if read.max_tokens < 1 or not 0 <= (read.temperature or 0) < math.inf:
        raise ValueError(f"{read.max_tokens} tokens at temperature {read.temperature} cannot be asked for")
    fields = content | {"messages": tuple(Message(role, text) for role, text in read.messages), "stop": read.stop}
    return Request(stream=stream or (GREEDY if read.temperature == 0 else "any"), draws=draws, **fields)
