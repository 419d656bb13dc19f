"""A model that runs here, through transformers: messages in, completions out.

`LocalChat` hands requests to its worker thread and makes completions of the samples that come back. `ChatFormat` lies
between messages and tokens: the chat template on the way in, token texts on the way out.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from srdcr_lab.models.base import as_dicts, first_stop
from srdcr_lab.models.local.checkpoint import fingerprint, load
from srdcr_lab.models.local.decoder import Decoder, Sample, common_length
from srdcr_lab.models.local.sampling import Draw
from srdcr_lab.models.local.worker import Call, Worker
from srdcr_lab.records import (
    BadInput,
    CallFailed,
    Capabilities,
    Completion,
    FinishReason,
    Message,
    ModelIdentity,
    Request,
)

_CPU_CACHE_BYTES = 1 << 30
_WINDOW_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
_NO_WINDOW = 1 << 40  # for a model that names no bound

# What some templates would fill in by themselves: today's date (Llama 3) and a hidden chain of thought (Qwen 3).
# A prompt must not change from one day to the next, and answers are short.
_FIXED_FIELDS = {"date_string": "26 Jul 2024", "enable_thinking": False}


class LocalChat:
    """Chat with local weights.

    Greedy text is the arg max of every step; sampled text is keyed by request, stream and draw. Both are the same
    whatever else is being decoded, up to ties within rounding (`sampling`). Log-probabilities are the model's own, at
    T = 1. `completion_tokens` counts generated tokens, including the end marker and what a stop string cut off;
    `prompt_tokens` is counted on a request's first draw, shared beginnings included. A reply that reaches the end of
    the model's window ends with reason ``length``. One model may serve several event loops.

    Parameters
    ----------
    folder_or_name : a folder with safetensors, a tokenizer and a chat template, or a hub name.
    provider, name, label : of `identity`; the name is by default the hub name, or the folder's own.
    device, dtype : ``auto``: a GPU where there is one; float32 on a CPU, the checkpoint's own type elsewhere.
    max_batch_tokens : bound on the tokens in the key/value caches of what is decoded at once (a larger request runs
        alone); default: what fits into 1 GiB, or into half of a GPU's free memory.
    threads : CPU threads of torch in the worker; default: torch's own choice.
    share_prefixes : compute common beginnings of prompts once.

    Raises
    ------
    BadInput
        Nothing usable there (`srdcr_lab.models.local.checkpoint.load`), or a model without a key/value cache.
    """

    def __init__(
        self,
        folder_or_name: str,
        *,
        provider: str = "hf",
        name: str | None = None,
        label: str = "",
        device: str = "auto",
        dtype: str = "auto",
        max_batch_tokens: int | None = None,
        threads: int | None = None,
        share_prefixes: bool = True,
    ) -> None:
        folder, tokenizer, model = load(folder_or_name, device=device, dtype=dtype)
        if name is None:  # a path's last part alone tells nothing about this machine
            path = Path(folder_or_name).expanduser()
            name = path.resolve().name if path.exists() else folder_or_name
        self.identity = ModelIdentity(provider, name, label, fingerprint(folder))
        self._format = ChatFormat(tokenizer, model.generation_config)
        try:
            self._decoder = Decoder(model, self._format.end_ids, self._format.decode, share_prefixes=share_prefixes)
        except Exception as error:
            raise BadInput(f"{folder_or_name} cannot be decoded step by step here ({type(error).__name__})") from error
        notes = () if self._decoder.pads_anywhere else ("no shared prefixes: its cache allows none",)
        self.capabilities = Capabilities(logprobs=True, notes=notes)
        self._token_texts = lru_cache(maxsize=1 << 12)(self._format.token_texts)  # many draws say the same
        config = model.config.get_text_config()
        windows = (getattr(config, field, None) for field in _WINDOW_FIELDS)
        self._window = next((window for window in windows if isinstance(window, int) and window > 0), _NO_WINDOW)
        on_gpu = model.device.type == "cuda"
        cache_bytes = torch.cuda.mem_get_info(model.device)[0] // 2 if on_gpu else _CPU_CACHE_BYTES
        self._max_batch_tokens = max_batch_tokens or max(1, cache_bytes // self._decoder.bytes_per_token)
        self._threads = threads
        self._worker: Worker | None = None
        self._closing: Worker | None = None
        self._lock = threading.Lock()

    def sent(self) -> dict[str, Any]:
        """For ``run.json``: what was computed since the model was loaded, and what shared beginnings saved."""
        return asdict(self._decoder.stats)

    async def complete(self, request: Request) -> tuple[Completion, ...]:
        """Completions in the order of `request.draws`.

        Raises
        ------
        CallFailed
            The prompt is longer than the model's window, or the computation failed (no memory, logits that are not
            numbers).
        """
        call = Call(request)
        with self._lock:
            if self._worker is None:
                decoder, most = self._decoder, self._max_batch_tokens
                self._worker = Worker(decoder, self._prepare, self._completion, most, self._threads, self._closing)
            self._worker.inbox.put(call)
        return await asyncio.wrap_future(call.future)

    async def aclose(self) -> None:
        """Stop the worker; calls that still wait fail. A later call starts a new one."""
        with self._lock:
            worker, self._worker = self._worker, None
            self._closing = worker or self._closing
        if worker is not None:
            worker.inbox.put(None)
            await asyncio.to_thread(worker.thread.join)

    def _prepare(self, call: Call) -> None:
        request = call.request
        call.prompt = self._format.prompt_ids(request.messages)
        room = self._window - len(call.prompt)
        if room < 1:
            raise CallFailed(
                f"the prompt has {len(call.prompt)} tokens and the window of {self.identity} holds {self._window}, "
                "the reply included; use fewer exemplars, shorter passages or a model with a larger window"
            )
        most, stop = min(request.max_tokens, room), tuple(filter(None, request.stop))
        call.draws = [
            Draw(request.draw_seed(draw, bits=63), request.temperature, most, stop, owner=call, index=draw)
            for draw in request.draws
        ]

    def _completion(self, call: Call, draw: Draw, sample: Sample) -> Completion:
        text = self._format.decode(sample.tokens)
        end = first_stop(text, draw.stop)
        tokens = logprobs = None
        if call.request.logprobs:
            tokens = cut_texts(self._token_texts(sample.tokens), end)
            logprobs = sample.logprobs[: len(tokens)]
        finish = FinishReason.STOP if sample.ended else FinishReason.LENGTH
        prompt_tokens = len(call.prompt) if draw.index == call.request.draws[0] else 0
        return Completion(text[:end], draw.index, tokens, logprobs, finish, prompt_tokens, sample.generated)


def cut_texts(texts: Sequence[str], length: int | None) -> tuple[str, ...]:
    """The token texts of the first `length` characters (None: all); tokens that begin at or after the cut are left
    out."""
    if length is None:
        return tuple(texts)
    kept, start = [], 0
    for text in texts:
        if start >= length:
            break
        kept.append(text[: length - start])
        start += len(text)
    return tuple(kept)


class ChatFormat:
    """A tokenizer with its chat template.

    A template that refuses or drops the system message (Gemma) gets its text at the head of the first user message.
    `end_ids` are the tokens that end a reply: the checkpoint's end tokens, and the special token that the template
    itself writes after an assistant's message.
    """

    def __init__(self, tokenizer: Any, generation_config: Any = None) -> None:
        self._tokenizer = tokenizer
        tokenizer.model_max_length = sys.maxsize  # no warning for long prompts: the adapter has a sentence of its own
        self._folds_system = not self._keeps_system()
        self.end_ids = frozenset(self._ends(generation_config))

    def prompt_ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of the conversation, up to where the assistant speaks next.

        Only the template writes control tokens: those that occur in a message are encoded as ordinary text.
        """
        if self._folds_system:
            messages = fold_system(messages)
        return tuple(self._apply(messages, tokenize=True, add_generation_prompt=True, sanitize_control_tokens=True))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a reply's tokens, without special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def token_texts(self, ids: Sequence[int]) -> tuple[str, ...]:
        """One text per token; together they are `decode(ids)`.

        Token i gets what decoding ``ids[:i + 1]`` adds to the final text: a character that spans several tokens belongs
        to the token that completes it, and the tokens before it get ``""``, as skipped special tokens do.
        """
        whole = self.decode(ids)
        ends = [common_length(self.decode(ids[:count]), whole) for count in range(1, len(ids))]
        texts, start = [], 0
        for end in [*ends, len(whole)] if ids else []:
            texts.append(whole[start : max(start, end)])
            start = max(start, end)
        return tuple(texts)

    def _apply(self, messages: Iterable[Message], **options: Any) -> Any:
        return self._tokenizer.apply_chat_template(as_dicts(messages), return_dict=False, **options, **_FIXED_FIELDS)

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
