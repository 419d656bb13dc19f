"""Reading what a server sent: one choice of a chat completion, its text, how it ended and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srdcr_lab.models.token_logprobs import aligned
from srdcr_lab.records import FinishReason, Request

_FINISH = {
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

Choice = tuple[str, tuple[str, ...] | None, tuple[float, ...] | None, FinishReason]


class ReplyError(ValueError):
    """A reply that arrived whole and is not what the protocol promises."""


def read_choice(choice: Any, request: Request) -> Choice:
    """Text, tokens, log-probabilities and end of one choice. Raises ReplyError, KeyError … on anything else."""
    message = choice["message"]
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return _text(message.get("content")) or whole_characters(refusal), None, None, FinishReason.REFUSAL
    text = _text(message.get("content"))
    finish = _FINISH.get(choice.get("finish_reason"), FinishReason.STOP)
    kept = cut_at_stop(text, request.stop)
    if kept != text:
        finish = FinishReason.STOP
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if request.logprobs and isinstance(logprobs, dict) else None
    return kept, *aligned(kept, content), finish


def _text(content: Any) -> str:
    """A message's text: a string, null (a filter stopped it), or text parts as some servers send them."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str | None):
        raise ReplyError("a message whose content is no text")
    return whole_characters(content or "")


def shares(total: int, counts: Sequence[int]) -> list[int]:
    """The completion tokens of a request over its choices: by their own counts where they are known, else evenly."""
    known = sum(counts)
    if not all(counts) or (total and known > total):
        counts = [total // len(counts)] * len(counts)
        known = sum(counts)
    return [counts[0] + max(total - known, 0), *counts[1:]]


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """The text up to the first stop string, for servers that take fewer of them, or none."""
    return text[: min((at for mark in stop if (at := text.find(mark)) >= 0), default=len(text))]


def whole_characters(text: str) -> str:
    """The text with lone surrogates replaced: a reply may end within an escaped character, and no file takes a half."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(usage: Any, *fields: str) -> int:
    """Sum of token counts of a reply's usage block; what is missing or no count is 0."""
    values = [usage.get(field) for field in fields] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)
