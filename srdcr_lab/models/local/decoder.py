"""The batched decoder: many prompts, many draws of each, one forward pass per token. Nothing is approximated.

A *row* of a batch is one distinct partial sample with the draws that agree on it so far. All draws of a prompt start as
one row, so the prompt is computed once; where draws pick different tokens the row splits, and the cache follows.
Finished draws leave the batch, and new prompts can join it while it runs. Prompts that begin alike are computed on top
of one copy of their common beginning, which is also kept for later prompts.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from srdcr_lab.models.base import common_length
from srdcr_lab.models.local.cache import Batch, Row, RowCache, join
from srdcr_lab.models.local.sampling import Draw, choose

Prompt = tuple[int, ...]
KeyValues = Sequence[tuple[torch.Tensor, torch.Tensor]]  # per layer: keys and values, (1, heads, length, width)

_PREFILL_TOKENS = 8192  # padded tokens in one forward call of a prefill
_UNKNOWN_BYTES = 1 << 16  # per token, for a cache that is more than keys and values
_WORTH_USING = 16  # tokens of a kept beginning
_KEPT_BYTES = 1 << 28  # bound on all kept beginnings
_CALL_COST = 128  # cost of one more forward call, in prefilled tokens
_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished draw: its tokens and natural log-probabilities at T = 1, both without the end marker.

    `generated` counts the end marker too; `ended` is False where the length limit cut the sample.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    ended: bool
    generated: int


@dataclass
class Stats:
    """What a decoder has done so far; padding does not count.

    `prefill_tokens` were computed and `shared_prefix_tokens` taken from a shared beginning: together the tokens of all
    distinct prompts. `batches` counts prefill calls, `decode_rows` sums the rows over all `decode_steps`.
    """

    prefill_tokens: int = 0
    shared_prefix_tokens: int = 0
    batches: int = 0
    decode_steps: int = 0
    decode_rows: int = 0


class Decoder:
    """Prefills prompts and advances batches of one decoder-only transformers model in evaluation mode.

    `end_ids` are the tokens that end a sample; `decode` is called only for draws with stop strings. `pads_left` and
    `pads_anywhere` say whether padding on the left, or anywhere, leaves its logits as they are; shared beginnings and
    joined batches need the second. `bytes_per_token` is the size of its cache.
    """

    def __init__(
        self, model: Any, end_ids: frozenset[int], decode: Callable[[Sequence[int]], str], share_prefixes: bool = True
    ) -> None:
        self._model, self._end_ids, self._decode = model, end_ids, decode
        accepted = inspect.signature(model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._beginnings: dict[Prompt, KeyValues] = {}  # least recently used first
        self._scratch: list[torch.Tensor] = []
        self.in_use = threading.Lock()  # held by the thread that decodes
        self.stats = Stats()
        self.pads_left, self.pads_anywhere, self.bytes_per_token = self._examine()
        self._sharing = share_prefixes and self.pads_anywhere

    def start(self, prompts: Sequence[tuple[Prompt, Sequence[Draw]]]) -> list[Batch]:
        """Prefill: batches whose rows have no token yet. Equal prompts share a row."""
        rows: dict[Prompt, Row] = {}
        for prompt, draws in prompts:
            rows.setdefault(prompt, Row(len(prompt))).draws.extend(draws)
        batches: list[Batch] = []
        for length, members in plan(list(rows)) if self._sharing else [(0, list(rows))]:
            batches += self._prefill(members, *self._beginning(length, members), rows)
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
            sample = Sample(tuple(row.tokens[:-1]), tuple(row.logprobs[:-1]), True, count)
            finished += [(draw, sample) for draw in row.draws]
            return []
        text = self._decode(row.tokens) if any(draw.stop for draw in row.draws) else ""
        unfinished = []
        for draw in row.draws:
            stopped = any(stop in text for stop in draw.stop)
            if stopped or count >= draw.max_new:
                finished.append((draw, Sample(tuple(row.tokens), tuple(row.logprobs), stopped, count)))
            else:
                unfinished.append(draw)
        return unfinished

    def _prefill(
        self, prompts: Sequence[Prompt], length: int, states: KeyValues, rows: dict[Prompt, Row]
    ) -> list[Batch]:
        """Batches of these prompts, computed after a beginning of `length` tokens that all of them have."""
        batches = []
        for piece in _pieces(prompts, length, padded=self.pads_left):
            mask, cache, logits = self._compute(piece, length, states)
            kept = RowCache.of(cache, self._scratch) if self.pads_anywhere else cache
            batches.append(Batch([rows[prompt] for prompt in piece], mask, kept, logits))
            self.stats.batches += 1
            self.stats.prefill_tokens += sum(map(len, piece)) - length * len(piece)
        return batches

    def _beginning(self, length: int, prompts: Sequence[Prompt]) -> tuple[int, KeyValues]:
        """The beginning to compute these prompts on top of: of the planned `length`, or where that is 0 a kept one."""
        first = min(prompts)
        common = first[: length or _shared_length(first, max(prompts))]
        kept = max((known for known in self._beginnings if common[: len(known)] == known), key=len, default=())
        states: KeyValues = ()
        if kept:
            states = self._beginnings[kept] = self._beginnings.pop(kept)  # now the most recently used
        if len(kept) < _WORTH_USING:
            kept, states = (), ()
        if len(kept) < length:
            _, cache, _ = self._compute([common], len(kept), states)
            states = [(layer.keys, layer.values) for layer in cache.layers]
            self._beginnings[common] = states
            while sum(map(_bytes, self._beginnings.values())) > _KEPT_BYTES:
                del self._beginnings[next(iter(self._beginnings))]
            self.stats.prefill_tokens += length - len(kept)
        reused = max(len(kept), length)
        self.stats.shared_prefix_tokens += reused * len(prompts) - (reused - len(kept))
        return reused, states

    def _compute(
        self, prompts: Sequence[Prompt], length: int = 0, states: KeyValues = ()
    ) -> tuple[torch.Tensor, DynamicCache, torch.Tensor]:
        """Mask, cache and last logits of prompts whose first `length` tokens have these states already.

        A shorter prompt is padded between that beginning and its rest.
        """
        width = max(map(len, prompts))
        padded = [(prompt, width - len(prompt)) for prompt in prompts]
        ids = self._tensor([[0] * gap + list(prompt[length:]) for prompt, gap in padded])
        mask = self._tensor([[1] * length + [0] * gap + [1] * (len(prompt) - length) for prompt, gap in padded])
        positions = self._tensor([[length] * gap + list(range(length, len(prompt))) for prompt, gap in padded])
        cache = DynamicCache(config=self._model.config)
        for place, (keys, values) in enumerate(states):
            rows = (len(prompts), -1, -1, -1)
            cache.update(keys.expand(rows), values.expand(rows), place)
        return mask, cache, self._forward(ids, mask, positions, cache)

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits after the last token of each row; the cache grows by the width of `ids`."""
        where = {"position_ids": positions} if self._takes_positions else {}
        with torch.inference_mode():
            out = self._model(
                input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **where, **self._last_only
            )
        return out.logits[:, -1]

    def _tensor(self, lines: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(lines, device=self._model.device)

    def _examine(self) -> tuple[bool, bool, int]:
        """`pads_left` and `pads_anywhere`, tried on twelve tokens, and `bytes_per_token`.

        A sliding window or a running state cannot be padded in its middle, whatever the trial says; a running state is
        not padded at all.
        """
        prompt = tuple((3 + 7 * place) % self._model.config.get_text_config().vocab_size for place in range(12))
        both = [prompt, (*prompt, *prompt[:3])]
        _, cache, alone = self._compute([prompt])
        kinds = {type(layer) for layer in cache.layers}
        if not kinds <= {DynamicLayer, DynamicSlidingWindowLayer}:
            return False, False, _UNKNOWN_BYTES
        states = [(layer.keys, layer.values) for layer in cache.layers]
        size = _bytes(states) // len(prompt)

        def padding_is_harmless(length: int) -> bool:
            beginning = [(keys[:, :, :length], values[:, :, :length]) for keys, values in states]
            _, _, padded = self._compute(both, length, beginning if length else ())
            first, second = (torch.log_softmax(logits[0].float(), dim=-1) for logits in (alone, padded))
            tolerance = 1e-3 if alone.dtype == torch.float32 else 0.25
            return bool(torch.allclose(first, second, rtol=0, atol=tolerance))

        left = padding_is_harmless(0)
        return left, left and kinds == {DynamicLayer} and padding_is_harmless(5), size


def _pieces(prompts: Sequence[Prompt], length: int, *, padded: bool) -> list[list[Prompt]]:
    """Prompts sorted by length, cut where a forward call would grow too large or hold too much padding."""
    pieces: list[list[Prompt]] = []
    for prompt in sorted(prompts, key=len):
        width = len(prompt) - length
        shortest = len(pieces[-1][0]) - length if pieces else 0
        is_alike = width <= (1.25 * shortest + 16 if padded else shortest)
        if pieces and is_alike and (len(pieces[-1]) + 1) * width <= _PREFILL_TOKENS:
            pieces[-1].append(prompt)
        else:
            pieces.append([prompt])
    return pieces


def plan(prompts: Sequence[Prompt]) -> list[tuple[int, list[Prompt]]]:
    """Groups (length of the shared beginning, prompts) that together need few prefilled tokens; 0 shares nothing.

    A group costs ``length + _CALL_COST + Σ (prompt length − length)``. In sorted order, prompts that share a beginning
    are neighbours. The beginnings form a tree: at each node a child stays in the node's group or, where that is
    cheaper, makes groups of its own.
    """
    ordered = sorted(prompts)
    shared = [0, *(_shared_length(a, b) for a, b in pairwise(ordered))]

    def solve(start: int, end: int, length: int, depth: int) -> tuple[int, list[tuple[int, list[Prompt]]]]:
        cuts = [start, *(place for place in range(start + 1, end) if shared[place] <= length), end]
        joined: list[Prompt] = []
        groups: list[tuple[int, list[Prompt]]] = []
        cost = 0
        for first, last in pairwise(cuts):
            joining = sum(len(prompt) - length for prompt in ordered[first:last])
            if last - first > 1 and depth < _DEPTH:
                apart, own = solve(first, last, min(shared[first + 1 : last]), depth + 1)
                if apart < joining:
                    cost += apart
                    groups += own
                    continue
            cost += joining
            joined += ordered[first:last]
        if joined:
            cost += length + _CALL_COST
            groups.append((length, joined))
        return cost, groups

    return solve(0, len(ordered), 0, 0)[1] if ordered else []


def _shared_length(a: Prompt, b: Prompt) -> int:
    """Length of the beginning that two prompts can share: at least one token of each stays outside it."""
    return min(common_length(a, b), len(a) - 1, len(b) - 1)


def _bytes(states: KeyValues) -> int:
    return sum(tensor.numel() * tensor.element_size() for layer in states for tensor in layer)
