"""What a model thinks before it replies, told from the reply: the one place that reads thinking in a text.

Thinking is no part of a reply, and is seen by nobody else in a debate. Servers give it in a field of its own, or within
the text, between marks that differ by model; of some the prompt holds the first mark, so that the text begins inside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab.records.types import Completion

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
