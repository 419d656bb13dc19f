"""Between messages and tokens: the chat template on the way in, token texts and stop strings on the way out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from srdcr_lab.records import BadInput, Message

# What some templates would fill in by themselves: today's date (Llama 3) and a hidden chain of thought (Qwen 3).
# A prompt must not change from one day to the next, and answers are short.
FIXED_FIELDS = {"date_string": "26 Jul 2024", "enable_thinking": False}


class ChatFormat:
    """A tokenizer with its chat template.

    A template that refuses or drops the system message (Gemma) gets its text at the head of the first user message.
    `end_ids` are the tokens that end a reply: the checkpoint's end tokens, and the special token that the template
    itself writes after an assistant's message.
    """

    def __init__(self, tokenizer: Any, generation_config: Any = None) -> None:
        self._tokenizer = tokenizer
        tokenizer.model_max_length = sys.maxsize  # else it warns of a long prompt, for which the adapter has a sentence
        self._folds_system = not self._keeps_system()
        self.end_ids = frozenset(self._ends(generation_config))

    def prompt_ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of the conversation, up to where the assistant speaks next.

        Only the template writes control tokens: one that stands in a message is encoded as ordinary text.
        """
        if self._folds_system:
            messages = fold_system(messages)
        return tuple(self._apply(messages, tokenize=True, add_generation_prompt=True, sanitize_control_tokens=True))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a reply's tokens, special tokens left out."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def token_texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        """One text a token; together they are `decode(ids)`.

        Token i gets what decoding ``ids[:i + 1]`` adds to the final text: so a character that spans several tokens
        belongs to the token that completes it, and the tokens before it get ``""``, as skipped special tokens do.
        """
        whole = self.decode(ids)
        ends = [_common_length(self.decode(ids[:count]), whole) for count in range(1, len(ids))]
        texts, start = [], 0
        for end in [*ends, len(whole)] if ids else []:
            texts.append(whole[start : max(start, end)])
            start = max(start, end)
        return tuple(texts)

    def _apply(self, messages: Iterable[Message], **options: Any) -> Any:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return self._tokenizer.apply_chat_template(turns, return_dict=False, **options, **FIXED_FIELDS)

    def _keeps_system(self) -> bool:
        try:
            text = self._apply([Message("system", "xyzzy"), Message("user", "a")], tokenize=False)
        except Exception:  # a template raises whatever its author chose
            return False
        return "xyzzy" in text

    def _ends(self, generation_config: Any) -> Iterable[int]:
        named = getattr(generation_config, "eos_token_id", None)
        yield from [named] if isinstance(named, int) else named or ()
        if self._tokenizer.eos_token_id is not None:
            yield self._tokenizer.eos_token_id
        try:
            text = self._apply([Message("user", "a"), Message("assistant", "xyzzy")], tokenize=False)
        except Exception as error:
            raise BadInput(f"the chat template fails on a plain exchange ({error})") from error
        after = self._tokenizer.encode(text.rpartition("xyzzy")[2].lstrip(), add_special_tokens=False)
        added = self._tokenizer.added_tokens_decoder
        if after and after[0] in added and added[after[0]].special:
            yield after[0]


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same conversation without a system message: its text stands before the first user message's own."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if system and rest and rest[0].role == "user":
        rest[0] = Message("user", "\n\n".join([*system, rest[0].content]))
    return tuple(rest)


def _common_length(a: str, b: str) -> int:
    limit = min(len(a), len(b))
    return limit if a[:limit] == b[:limit] else next(place for place in range(limit) if a[place] != b[place])


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the earliest stop string begins, or None."""
    found = [place for place in map(text.find, stop) if place >= 0]
    return min(found, default=None)


def cut_texts(texts: Sequence[str], length: int) -> tuple[str, ...]:
    """The token texts of the first `length` characters; tokens that begin at or after the cut are left out."""
    kept, start = [], 0
    for text in texts:
        if start >= length:
            break
        kept.append(text[: length - start])
        start += len(text)
    return tuple(kept)
