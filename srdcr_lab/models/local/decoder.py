"""The batched decoder: many prompts, many draws of each, one forward pass per token. Nothing is approximated.

A *row* of a batch is one distinct partial sample with the draws that agree on it so far. All draws of a prompt start as
one row, so the prompt is computed once; where draws pick different tokens the row splits, and the cache follows.
Finished draws leave the batch, and new prompts can join it while it runs. What prompts begin with is computed once: of
those that wait and begin alike one goes first, and the others are computed on top of the states that it leaves. These
stay for later prompts (`cache.Beginnings`).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from srdcr_lab.models.base import common_length
from srdcr_lab.models.local.cache import Batch, Beginnings, DistinctTokens, Prompt, Row, RowCache, join, little_padding
from srdcr_lab.models.local.sampling import Draw, choose

_PREFILL_TOKENS = 8192  # padded tokens in one forward call of a prefill
_UNKNOWN_BYTES = 1 << 16  # per token, for a cache that is more than keys and values
_WORTH_WAITING = 32  # tokens in common with a prompt that goes first: one more forward call costs about as much


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished draw: its tokens, natural log-probabilities at T = 1 and margins (`sampling.choose`), all without the
    end marker.

    `generated` counts the end marker too; `ended` is False where the length limit cut the sample.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    margins: tuple[float, ...]
    ended: bool
    generated: int


@dataclass
class Stats:
    """What a decoder has done so far; padding does not count.

    `prefill_tokens` were computed and `shared_prefix_tokens` taken from an earlier prompt: together the tokens of the
    prompts. `distinct_tokens` is the least that could be computed: equal beginnings count once (`DistinctTokens`).
    `batches` counts prefill calls, `decode_rows` sums the rows over all `decode_steps`.
    """

    prefill_tokens: int = 0
    shared_prefix_tokens: int = 0
    distinct_tokens: int = 0
    batches: int = 0
    decode_steps: int = 0
    decode_rows: int = 0


class _Begun(NamedTuple):
    """A prompt that is to be computed, and the nodes of its beginning that need not be."""

    prompt: Prompt
    kept: list[int]

    @property
    def rest(self) -> int:
        """How many of its tokens are to be computed."""
        return len(self.prompt) - len(self.kept)


class Decoder:
    """Prefills prompts and advances batches of one decoder-only transformers model in evaluation mode.

    `end_ids` are the tokens that end a sample; `decode` is called only for draws with stop strings. `pads_left` and
    `pads_anywhere` say whether padding on the left, or anywhere, leaves its logits as they are; shared beginnings and
    joined batches need the second. `bytes_per_token` is the size of its cache; `kept_bytes` bounds the states of
    earlier prompts. Tokens that the checkpoint's `suppress_tokens` (generation_config.json) names are never chosen, and
    log-probabilities are those among the others, as transformers' `generate` has it.
    """

    def __init__(
        self, model: Any, end_ids: frozenset[int], decode: Callable[[Sequence[int]], str], kept_bytes: int
    ) -> None:
        self._model, self._end_ids, self._decode = model, end_ids, decode
        accepted = inspect.signature(model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._suppressed: torch.Tensor | None = None
        if named := getattr(getattr(model, "generation_config", None), "suppress_tokens", None):
            known = range(model.config.get_text_config().vocab_size)  # others are passed over, as transformers does
            self._suppressed = torch.tensor([token for token in named if token in known], device=model.device)
        self._scratch: list[torch.Tensor] = []
        self.in_use = threading.Lock()  # held by the thread that decodes
        self.stats = Stats()
        self.pads_left, self.pads_anywhere, self.bytes_per_token = self._examine()
        self._beginnings = Beginnings(kept_bytes // self.bytes_per_token if self.pads_anywhere else 0)
        self.kept_bytes = self._beginnings.most * self.bytes_per_token
        self._distinct = DistinctTokens()

    def start(self, prompts: Sequence[tuple[Prompt, Sequence[Draw]]]) -> list[Batch]:
        """Prefill: batches whose rows have no token yet. Equal prompts share a row."""
        rows: dict[Prompt, Row] = {}
        for prompt, draws in prompts:
            rows.setdefault(prompt, Row(len(prompt))).draws.extend(draws)
        for prompt in rows:
            self._distinct.add(prompt)
        self.stats.distinct_tokens = len(self._distinct)
        batches: list[Batch] = []
        waiting = list(rows)
        while waiting:
            ready, waiting = self._ready(waiting)
            batches += self._prefill(ready, rows)
        return self.join(batches)

    def join(self, batches: Iterable[Batch]) -> list[Batch]:
        """Fewer batches with the same rows, where the model's cache allows it."""
        return join(batches) if self.pads_anywhere else list(batches)

    def advance(self, batch: Batch) -> list[tuple[Draw, Sample]]:
        """Add one token to every row; return what is finished. A batch without rows is done."""
        chosen = choose(batch.logits, [row.draws for row in batch.rows], [len(row.tokens) for row in batch.rows])
        finished: list[tuple[Draw, Sample]] = []
        children: list[Row] = []
        parents: list[int] = []
        for place, (row, picks) in enumerate(zip(batch.rows, chosen, strict=True)):
            for child in row.children(picks):
                child.draws = self._unfinished(child, finished)
                if child.draws:
                    children.append(child)
                    parents.append(place)
        batch.select(children, parents)
        if children:
            self.stats.decode_steps += 1
            self.stats.decode_rows += len(children)
            batch.mask = pad(batch.mask, (0, 1), value=1)
            ids = self._tensor([[row.tokens[-1]] for row in children])
            positions = self._tensor([[row.prompt_length + len(row.tokens) - 1] for row in children])
            batch.logits = self._forward(ids, batch.mask, positions, batch.cache)
        return finished

    def _unfinished(self, row: Row, finished: list[tuple[Draw, Sample]]) -> list[Draw]:
        """The row's draws that go on after its last token; those that end with it are added to `finished`."""
        count = len(row.tokens)
        if row.tokens[-1] in self._end_ids:
            tokens, logprobs, margins = tuple(row.tokens[:-1]), tuple(row.logprobs[:-1]), tuple(row.margins[:-1])
            sample = Sample(tokens, logprobs, margins, True, count)
            finished += [(draw, sample) for draw in row.draws]
            return []
        text = self._decode(row.tokens) if any(draw.stop for draw in row.draws) else ""
        unfinished = []
        for draw in row.draws:
            stopped = any(stop in text for stop in draw.stop)
            if stopped or count >= draw.max_new:
                parts = tuple(row.tokens), tuple(row.logprobs), tuple(row.margins)
                finished.append((draw, Sample(*parts, stopped, count)))
            else:
                unfinished.append(draw)
        return unfinished

    def _ready(self, prompts: Iterable[Prompt]) -> tuple[list[_Begun], list[Prompt]]:
        """The prompts to compute now, and those that wait to be computed on top of one of these."""
        ready: list[_Begun] = []
        waiting = []
        for prompt in sorted(prompts):  # of those before it, the last has most in common with it
            kept = self._beginnings.find(prompt[:-1])  # what follows a prompt is known once its last token is computed
            common = common_length(ready[-1].prompt, prompt) if ready and self._beginnings.most else 0
            if common - len(kept) >= _WORTH_WAITING:
                waiting.append(prompt)
            else:
                ready.append(_Begun(prompt, kept))
        return ready, waiting

    def _prefill(self, prompts: Iterable[_Begun], rows: dict[Prompt, Row]) -> list[Batch]:
        """Batches of these prompts, none with a token yet. What was computed is kept."""
        batches: list[Batch] = []
        for planned in _pieces(prompts, padded=self.pads_left):
            # Found again: what the piece before it added may have ousted some of it.
            piece = [_Begun(begun.prompt, self._beginnings.find(begun.prompt[:-1])) for begun in planned]
            mask, cache, logits = self._compute(piece, self._beginnings.states([begun.kept for begun in piece]))
            if self.pads_anywhere:
                states = [(layer.keys, layer.values) for layer in cache.layers]
                self._beginnings.keep([begun.prompt for begun in piece], mask, states)
                columns = mask.argsort(dim=1, stable=True)[:, -max(len(begun.prompt) for begun in piece) :]
                mask, cache = mask.gather(1, columns), RowCache.of(states, columns, self._scratch)  # without gaps
            batches.append(Batch([rows[begun.prompt] for begun in piece], mask, cache, logits))
            self.stats.batches += 1
            self.stats.prefill_tokens += sum(begun.rest for begun in piece)
            self.stats.shared_prefix_tokens += sum(len(begun.kept) for begun in piece)
        return batches

    def _compute(
        self, prompts: Sequence[_Begun], states: Iterable[Sequence[torch.Tensor]] = ()
    ) -> tuple[torch.Tensor, DynamicCache, torch.Tensor]:
        """Mask, cache and last logits of prompts whose kept beginnings have these states.

        Shorter beginnings are padded at their left, shorter rests between the two.
        """
        ids, mask, positions = [], [], []
        longest, widest = max(len(begun.kept) for begun in prompts), max(begun.rest for begun in prompts)
        for begun in prompts:
            length, gap = len(begun.kept), widest - begun.rest
            ids.append([0] * gap + list(begun.prompt[length:]))
            mask.append([0] * (longest - length) + [1] * length + [0] * gap + [1] * begun.rest)
            positions.append([length] * gap + list(range(length, len(begun.prompt))))
        cache = DynamicCache(config=self._model.config)
        for place, (keys, values) in enumerate(states):
            cache.update(keys, values, place)
        mask_of_all = self._tensor(mask)
        return mask_of_all, cache, self._forward(self._tensor(ids), mask_of_all, self._tensor(positions), cache)

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits after the last token of each row; the cache grows by the width of `ids`."""
        where = {"position_ids": positions} if self._takes_positions else {}
        with torch.inference_mode():
            out = self._model(
                input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **where, **self._last_only
            )
            logits = out.logits[:, -1]
            return logits if self._suppressed is None else logits.index_fill(1, self._suppressed, -torch.inf)

    def _tensor(self, lines: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(lines, device=self._model.device)

    def _examine(self) -> tuple[bool, bool, int]:
        """`pads_left` and `pads_anywhere`, tried on twelve tokens, and `bytes_per_token`.

        A sliding window or a running state cannot be padded in its middle, whatever the trial says; a running state is
        not padded at all.
        """
        prompt = tuple((3 + 7 * place) % self._model.config.get_text_config().vocab_size for place in range(12))
        _, cache, alone = self._compute([_Begun(prompt, [])])
        kinds = {type(layer) for layer in cache.layers}
        if not kinds <= {DynamicLayer, DynamicSlidingWindowLayer}:
            return False, False, _UNKNOWN_BYTES
        states = [(layer.keys, layer.values) for layer in cache.layers]
        size = sum(each.numel() * each.element_size() for layer in states for each in layer) // len(prompt)

        def padding_is_harmless(length: int) -> bool:
            both = [_Begun(each, [0] * length) for each in (prompt, (*prompt, *prompt[:3]))]
            beginning = [[each[:, :, :length].expand(2, -1, -1, -1) for each in layer] for layer in states]
            _, _, padded = self._compute(both, beginning if length else ())
            first, second = (torch.log_softmax(logits[0].float(), dim=-1) for logits in (alone, padded))
            tolerance = 1e-3 if alone.dtype == torch.float32 else 0.25
            return bool(torch.allclose(first, second, rtol=0, atol=tolerance))

        left = padding_is_harmless(0)
        return left, left and kinds == {DynamicLayer} and padding_is_harmless(5), size


def _pieces(prompts: Iterable[_Begun], *, padded: bool) -> list[list[_Begun]]:
    """Prompts sorted by length, cut where a forward call would grow too large or hold too much padding."""
    pieces: list[list[_Begun]] = []
    for prompt in sorted(prompts, key=lambda begun: (begun.rest, len(begun.kept))):
        piece = pieces[-1] if pieces else []
        shortest = piece[0].rest if piece else 0
        is_alike = prompt.rest <= (1.25 * shortest + 16 if padded else shortest)
        together = [*piece, prompt]
        length = max(len(begun.kept) for begun in together) + prompt.rest
        filled = sum(len(begun.prompt) for begun in together)
        is_small = len(together) * prompt.rest <= _PREFILL_TOKENS and little_padding(filled, len(together) * length)
        if piece and is_alike and is_small:
            piece.append(prompt)
        else:
            pieces.append([prompt])
    return pieces
