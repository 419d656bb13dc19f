"""The batched decoder: many prompts, many draws of each, one forward pass a token. Exact: nothing is approximated.

A *row* of a batch is one distinct partial sample, with the draws that so far agree on it. The draws of one prompt start
as a single row, so a prompt is computed once; where draws choose different tokens the row splits, and the key/value
cache follows (`cache`). What is finished leaves the batch, and new prompts can join a running one.
Prompts that begin alike are computed on top of one copy of their common beginning, which is also kept for later ones.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from srdcr_lab.models.local.cache import Batch, Row, RowCache, Scratch, join
from srdcr_lab.models.local.sampling import Draw, choose

_PREFILL_TOKENS = 8192  # padded tokens in one forward call of a prefill
_WORTH_USING = 16  # tokens of a kept beginning
_UNKNOWN_BYTES = 1 << 16  # a token's share of a cache that is not keys and values alone


class Padding(StrEnum):
    """Where a model takes padding without a change in what it says."""

    NONE = "none"
    LEFT = "left"
    ANYWHERE = "anywhere"


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
    """What a decoder did so far; tokens are counted without padding.

    `prefill_tokens + shared_prefix_tokens` are the tokens of all distinct prompts: computed, and taken from a shared
    beginning.
    `decode_rows` sums the rows over the `decode_steps`, `batches` counts prefill calls.
    """

    prefill_tokens: int = 0
    shared_prefix_tokens: int = 0
    batches: int = 0
    decode_steps: int = 0
    decode_rows: int = 0


class Decoder:
    """Prefills prompts and advances batches of one model.

    Parameters
    ----------
    model : a decoder-only transformers model in evaluation mode.
    end_ids : tokens that end a sample.
    decode : token ids to text; asked only for draws with stop strings.
    prefix_bytes : bound on the kept keys and values of shared beginnings.
    share_prefixes : False computes every prompt by itself.
    """

    def __init__(
        self,
        model: Any,
        end_ids: frozenset[int],
        decode: Callable[[Sequence[int]], str],
        *,
        prefix_bytes: int = 1 << 28,
        share_prefixes: bool = True,
    ) -> None:
        self._model, self._end_ids, self._decode = model, end_ids, decode
        accepted = inspect.signature(model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._prefixes = PrefixStore(prefix_bytes)
        self._scratch = Scratch()
        self.stats = Stats()
        self.padding, self.bytes_per_token = self._examine()
        self._sharing = share_prefixes and self.padding is Padding.ANYWHERE

    def start(self, prompts: Sequence[tuple[Prompt, Sequence[Draw]]]) -> list[Batch]:
        """Prefill: batches whose rows stand before their first token. Equal prompts share a row."""
        rows: dict[Prompt, Row] = {}
        for prompt, draws in prompts:
            rows.setdefault(prompt, Row(len(prompt))).draws.extend(draws)
        distinct = list(rows)
        if not self._sharing:
            return self.join(self._prefill(0, [], distinct, rows))
        batches: list[Batch] = []
        for group in plan(distinct):
            members = [distinct[place] for place in group.members]
            batches += self._prefill(*self._beginning(group.length, members), members, rows)
        return self.join(batches)

    def join(self, batches: Iterable[Batch]) -> list[Batch]:
        """Fewer batches with the same rows, where the model's cache allows it."""
        return join(batches) if self.padding is Padding.ANYWHERE else list(batches)

    def advance(self, batch: Batch) -> list[tuple[Draw, Sample]]:
        """One token for every row; returns what is finished. A batch without rows is done."""
        chosen = choose(batch.logits, [row.draws for row in batch.rows], [len(row.tokens) for row in batch.rows])
        finished: list[tuple[Draw, Sample]] = []
        children: list[Row] = []
        parents: list[int] = []
        for place, (row, picks) in enumerate(zip(batch.rows, chosen, strict=True)):
            for child in row.children(picks):
                child.draws = self._settle(child, finished)
                if child.draws:
                    children.append(child)
                    parents.append(place)
        batch.select(children, parents)
        if children:
            self.stats.decode_steps += 1
            self.stats.decode_rows += len(children)
            batch.extend_mask()
            ids = self._tensor([[row.tokens[-1]] for row in children])
            positions = self._tensor([[row.position] for row in children])
            batch.logits = self._forward(ids, batch.mask, positions, batch.cache)
        return finished

    def _settle(self, row: Row, finished: list[tuple[Draw, Sample]]) -> list[Draw]:
        """Add the draws that end with this row's last token to `finished`, and return those that go on."""
        count = len(row.tokens)
        if row.tokens[-1] in self._end_ids:
            sample = Sample(tuple(row.tokens[:-1]), tuple(row.logprobs[:-1]), True, count)
            finished += [(draw, sample) for draw in row.draws]
            return []
        text = self._decode(row.tokens) if any(draw.stop for draw in row.draws) else ""
        going_on = []
        for draw in row.draws:
            stopped = any(stop in text for stop in draw.stop)
            if stopped or count >= draw.max_new:
                finished.append((draw, Sample(tuple(row.tokens), tuple(row.logprobs), stopped, count)))
            else:
                going_on.append(draw)
        return going_on

    def _beginning(self, length: int, prompts: Sequence[Prompt]) -> tuple[int, KeyValues]:
        """The beginning to compute these prompts on top of: the planned one, or a kept one where none is planned."""
        first = min(prompts)
        common = first[: length or common_length(first, max(prompts))]
        kept, states = self._prefixes.longest(common)
        if kept < _WORTH_USING:
            kept, states = 0, []
        if kept < length:
            cache = self._cache(states, 1)
            mask = self._tensor([[1] * length])
            self._forward(self._tensor([common[kept:]]), mask, self._tensor([range(kept, length)]), cache)
            states = [(layer.keys, layer.values) for layer in cache.layers]
            self._prefixes.put(common, states)
            self.stats.prefill_tokens += length - kept
        reused = max(kept, length)
        self.stats.shared_prefix_tokens += reused * len(prompts) - (reused - kept)
        return reused, states

    def _prefill(
        self, length: int, states: KeyValues, prompts: Sequence[Prompt], rows: dict[Prompt, Row]
    ) -> list[Batch]:
        """Batches of these prompts, computed after a beginning of `length` tokens that all of them have."""
        batches = []
        for piece in _pieces(prompts, length, padded=self.padding is not Padding.NONE):
            width = max(map(len, piece)) - length
            gaps = [width + length - len(prompt) for prompt in piece]
            lines = list(zip(piece, gaps, strict=True))
            ids = self._tensor([[0] * gap + list(prompt[length:]) for prompt, gap in lines])
            mask = self._tensor([[1] * length + [0] * gap + [1] * (width - gap) for gap in gaps])
            positions = self._tensor([[length] * gap + list(range(length, len(prompt))) for prompt, gap in lines])
            cache = self._cache(states, len(piece))
            logits = self._forward(ids, mask, positions, cache)
            whole = RowCache.of(cache, self._scratch) if self.padding is Padding.ANYWHERE else cache
            batches.append(Batch([rows[prompt] for prompt in piece], mask, whole, logits))
            self.stats.batches += 1
            self.stats.prefill_tokens += int(mask[:, length:].sum())
        return batches

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits after the last token of each row; the cache grows by the width of `ids`."""
        where = {"position_ids": positions} if self._takes_positions else {}
        with torch.inference_mode():
            out = self._model(
                input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **where, **self._last_only
            )
        return out.logits[:, -1]

    def _cache(self, states: KeyValues, rows: int) -> DynamicCache:
        cache = DynamicCache(config=self._model.config)
        for place, (keys, values) in enumerate(states):
            cache.update(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1), place)
        return cache

    def _tensor(self, lines: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor([list(line) for line in lines], device=self._model.device)

    def _examine(self) -> tuple[Padding, int]:
        """What padding leaves this model's logits alone (tried out on twelve tokens), and its cache's bytes a token.

        A cache that forgets (a sliding window) or that is a running state cannot be padded in its middle, whatever the
        trial says; a running state is not padded at all.
        """
        prompt = tuple((3 + 7 * place) % self._model.config.get_text_config().vocab_size for place in range(12))
        (alone,) = self._trial(Padding.NONE, [prompt])
        kinds = {type(layer) for layer in alone.cache.layers}
        if not kinds <= {DynamicLayer, DynamicSlidingWindowLayer}:
            return Padding.NONE, _UNKNOWN_BYTES
        states = [state for layer in alone.cache.layers for state in (layer.keys, layer.values)]
        size = sum(state.numel() * state.element_size() for state in states) // len(prompt)
        tolerance = 1e-3 if alone.logits.dtype == torch.float32 else 0.25
        (left,) = self._trial(Padding.LEFT, [prompt, (*prompt, *prompt[:3])])
        if not _close(alone, left, tolerance):
            return Padding.NONE, size
        if kinds != {DynamicLayer}:
            return Padding.LEFT, size
        shorter = _states_of(alone, 5)
        (middle,) = self._trial(Padding.ANYWHERE, [prompt, (*prompt, *prompt[:3])], 5, shorter)
        return (Padding.ANYWHERE if _close(alone, middle, tolerance) else Padding.LEFT), size

    def _trial(
        self, padding: Padding, prompts: list[Prompt], length: int = 0, states: KeyValues | None = None
    ) -> list[Batch]:
        counted, self.stats, self.padding = self.stats, Stats(), padding
        try:
            return self._prefill(length, states or [], prompts, {prompt: Row(len(prompt)) for prompt in prompts})
        finally:
            self.stats = counted


def _states_of(batch: Batch, length: int) -> KeyValues:
    return [(layer.keys[:, :, :length], layer.values[:, :, :length]) for layer in batch.cache.layers]


def _close(one: Batch, other: Batch, tolerance: float) -> bool:
    first, second = (torch.log_softmax(batch.logits[0].float(), dim=-1) for batch in (one, other))
    return bool(torch.allclose(first, second, rtol=0, atol=tolerance))


def _pieces(prompts: Sequence[Prompt], length: int, *, padded: bool) -> list[list[Prompt]]:
    """Prompts in the order of their lengths, cut where a forward call would grow too large or hold too much padding."""
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


# -- prompts that begin alike: which to prefill behind one shared beginning, and beginnings kept for later

Prompt = tuple[int, ...]
KeyValues = list[tuple[torch.Tensor, torch.Tensor]]  # a layer: keys and values, (1, heads, length, width)

CALL_COST = 128  # what one more forward call costs, in prefilled tokens
_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts (their places in the list) that are prefilled behind their first `length` tokens; 0: nothing shared."""

    length: int
    members: tuple[int, ...]


def common_length(a: Prompt, b: Prompt) -> int:
    """Length of the common beginning; at least one token of each prompt stays outside it."""
    limit = min(len(a), len(b)) - 1
    return next((place for place in range(limit) if a[place] != b[place]), limit)


def plan(prompts: Sequence[Prompt], call_cost: int = CALL_COST) -> list[Group]:
    """Groups with shared beginnings that together need few prefilled tokens.

    A group costs ``length + call_cost + Σ (prompt length − length)``. In sorted order, prompts that share a beginning
    are neighbours; the beginnings form a tree, and at each of its nodes a child stays in the node's group
    or, where that is cheaper, makes groups of its own.
    """
    order = sorted(range(len(prompts)), key=prompts.__getitem__)
    shared = [0, *(common_length(prompts[a], prompts[b]) for a, b in pairwise(order))]

    def solve(start: int, end: int, length: int, depth: int) -> tuple[int, list[Group]]:
        cuts = [start, *(place for place in range(start + 1, end) if shared[place] <= length), end]
        joined: list[int] = []
        groups: list[Group] = []
        cost = 0
        for first, last in pairwise(cuts):
            joining = sum(len(prompts[order[place]]) - length for place in range(first, last))
            if last - first > 1 and depth < _DEPTH:
                apart, own = solve(first, last, min(shared[first + 1 : last]), depth + 1)
                if apart < joining:
                    cost += apart
                    groups += own
                    continue
            cost += joining
            joined += order[first:last]
        if joined:
            cost += length + call_cost
            groups.append(Group(length, tuple(joined)))
        return cost, groups

    return solve(0, len(order), 0, 0)[1] if order else []


class PrefixStore:
    """Keys and values of shared beginnings, least recently used out first, bounded in bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Prompt, KeyValues] = OrderedDict()
        self._bytes = 0

    def longest(self, tokens: Prompt) -> tuple[int, KeyValues]:
        """The longest kept beginning of `tokens`: its length (0 if there is none), its keys and values."""
        fitting = [kept for kept in self._kept if tokens[: len(kept)] == kept]
        if not fitting:
            return 0, []
        best = max(fitting, key=len)
        self._kept.move_to_end(best)
        return len(best), self._kept[best]

    def put(self, tokens: Prompt, states: KeyValues) -> None:
        self._kept[tokens] = states
        self._bytes += _bytes(states)
        while self._bytes > self._max_bytes and self._kept:
            self._bytes -= _bytes(self._kept.popitem(last=False)[1])


def _bytes(states: KeyValues) -> int:
    return sum(tensor.numel() * tensor.element_size() for layer in states for tensor in layer)
