"""A key/value cache whose rows share what they have in common: a prompt's states are stored once for all its draws.

A layer holds *stems*, (stems, heads, length, width), and, once rows have split, each row's stem and its *own* states
after it. Attention wants one tensor for all rows, so a layer assembles it when it is asked, in scratch buffers that all
layers use in turn. As long as rows and stems are the same, new states are written in place, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicLayer

from srdcr_lab.models.local.sampling import Draw

ROOM = 16  # columns kept free after the stems; a row with more of its own becomes a stem


class Scratch:
    """Two buffers, for keys and for values, that grow to what is asked of them."""

    def __init__(self) -> None:
        self._flat: dict[str, torch.Tensor] = {}

    def shaped(self, which: str, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        size = torch.Size(shape).numel()
        flat = self._flat.get(which)
        if flat is None or flat.numel() < size or flat.dtype != like.dtype or flat.device != like.device:
            flat = self._flat[which] = torch.empty(size, dtype=like.dtype, device=like.device)
        return flat[:size].view(*shape)


class RowLayer(DynamicLayer):  # type: ignore[misc]  # transformers has no types here
    """One layer of a `RowCache`; `keys` and `values` are its stems, with free columns after the first `length`."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int, scratch: Scratch) -> None:
        super().__init__()
        self.keys, self.values, self.length = keys, values, length
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self.stem_of: torch.Tensor | None = None
        self.own_keys = self.own_values = keys[:, :, :0]
        self._scratch = scratch

    @property
    def own_length(self) -> int:
        return int(self.own_keys.shape[2]) if self.stem_of is not None else 0

    def get_seq_length(self) -> int:
        return self.length + self.own_length

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the states of one more token to each row; all states of all rows."""
        if self.stem_of is not None and self.own_length == ROOM:
            self._make_stems()
        if self.stem_of is None:
            self._make_room(1)
            self.keys[:, :, self.length], self.values[:, :, self.length] = key_states[:, :, 0], value_states[:, :, 0]
            self.length += 1
            return self.keys[:, :, : self.length], self.values[:, :, : self.length]
        self.own_keys = torch.cat([self.own_keys, key_states], dim=2)
        self.own_values = torch.cat([self.own_values, value_states], dim=2)
        return self._assembled("keys", self.keys, self.own_keys), self._assembled(
            "values", self.values, self.own_values
        )

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Row i continues the old row ``beam_idx[i]``; there may be more rows than before, or fewer."""
        if self.stem_of is not None:
            self.stem_of = self.stem_of[beam_idx]
            self.own_keys, self.own_values = self.own_keys[beam_idx], self.own_values[beam_idx]
        elif len(beam_idx) <= len(self.keys):
            self.keys, self.values = self.keys[beam_idx], self.values[beam_idx]
        else:
            self.share(beam_idx)

    def share(self, stem_of: torch.Tensor) -> torch.Tensor:
        """From rows that are stems to rows that have stems; returns `stem_of`."""
        self._make_room(ROOM)
        self.stem_of = stem_of
        self.own_keys = self.keys.new_empty(len(stem_of), self.keys.shape[1], 0, self.keys.shape[3])
        self.own_values = self.values.new_empty(len(stem_of), self.values.shape[1], 0, self.values.shape[3])
        return stem_of

    def trim(self, columns: int) -> None:
        """Drop the first columns of the stems."""
        self.keys, self.values = self.keys[:, :, columns:].contiguous(), self.values[:, :, columns:].contiguous()
        self.length -= columns

    def release(self) -> None:
        """Let go of all states: another layer has them now."""
        self.keys = self.values = self.own_keys = self.own_values = self.keys[:0, :, :0].clone()

    def _make_room(self, columns: int) -> None:
        if self.keys.shape[2] - self.length < columns:
            self.keys, self.values = (_widened(states[:, :, : self.length]) for states in (self.keys, self.values))

    def _make_stems(self) -> None:
        keys, values = (
            self._assembled("keys", self.keys, self.own_keys),
            self._assembled("values", self.values, self.own_values),
        )
        self.keys, self.values, self.length = _widened(keys), _widened(values), self.get_seq_length()
        self.stem_of = None

    def _assembled(self, which: str, stems: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        whole = self._scratch.shaped(which, (len(own), *stems.shape[1:]), stems)
        torch.index_select(stems, 0, self.stem_of, out=whole)
        end = self.length + own.shape[2]
        whole[:, :, self.length : end] = own
        return whole[:, :, :end]


class RowCache(Cache):  # type: ignore[misc]
    """The cache of a batch, for models whose layers all keep the keys and values of all tokens."""

    layers: list[RowLayer]

    @classmethod
    def of(cls, prefilled: Any, scratch: Scratch) -> RowCache:
        """A prefilled `DynamicCache`, each of whose rows becomes a stem."""
        length = prefilled.get_seq_length()
        return cls(layers=[RowLayer(layer.keys, layer.values, length, scratch) for layer in prefilled.layers])

    def trim(self, columns: int) -> None:
        for layer in self.layers:
            layer.trim(columns)


def joined(caches: Sequence[RowCache], masks: Sequence[torch.Tensor]) -> tuple[RowCache, torch.Tensor]:
    """One cache for all rows, and their mask; shorter stems and shorter own parts are padded at their left.

    The old caches are emptied layer by layer, so that no more than one layer is held twice.
    """
    shapes = [(cache.layers[0].length, cache.layers[0].own_length) for cache in caches]
    length, own = (max(sizes) for sizes in zip(*shapes, strict=True))
    mask = torch.cat(
        [
            torch.cat([pad(mask[:, :n], (length - n, 0)), pad(mask[:, n:], (own - t, 0))], dim=1)
            for mask, (n, t) in zip(masks, shapes, strict=True)
        ]
    )
    layers = []
    for parts in zip(*(cache.layers for cache in caches), strict=True):
        layers.append(_joined_layer(parts, length, own))
        for part in parts:
            part.release()
    return RowCache(layers=layers), mask


def _joined_layer(parts: Sequence[RowLayer], length: int, own: int) -> RowLayer:
    sharing = any(part.stem_of is not None for part in parts)
    first = 0
    stems_of = []
    for part in parts if sharing else ():
        stem_of = part.stem_of
        if stem_of is None:
            stem_of = part.share(torch.arange(len(part.keys), device=part.keys.device))
        stems_of.append(stem_of + first)
        first += len(part.keys)
    keys, values = (
        _stacked([states[:, :, : part.length] for states, part in pairs], length)
        for pairs in ([(part.keys, part) for part in parts], [(part.values, part) for part in parts])
    )
    layer = RowLayer(keys, values, length, parts[0]._scratch)
    if sharing:
        layer.stem_of = torch.cat(stems_of)
        layer.own_keys = torch.cat([pad(part.own_keys, (0, 0, own - part.own_length, 0)) for part in parts])
        layer.own_values = torch.cat([pad(part.own_values, (0, 0, own - part.own_length, 0)) for part in parts])
    return layer


def _stacked(parts: Sequence[torch.Tensor], length: int) -> torch.Tensor:
    """All stems of the parts, each with zeros before up to `length` columns, and free columns after."""
    _, heads, _, width = parts[0].shape
    whole = parts[0].new_empty(sum(map(len, parts)), heads, length + ROOM, width)
    first = 0
    for part in parts:
        rows = whole[first : first + len(part)]
        gap = length - part.shape[2]
        rows[:, :, :gap] = 0
        rows[:, :, gap:length] = part
        first += len(part)
    return whole


def _widened(states: torch.Tensor) -> torch.Tensor:
    """A copy with free columns after."""
    return pad(states, (0, 0, 0, ROOM))


# -- what is being decoded together: rows of distinct partial samples, their attention mask, their key/value cache

_WASTE, _SLACK = 1.5, 4096  # padding that a joint batch may bring: a factor, and cells that do not matter
_TRIM = 8


@dataclass(eq=False, slots=True)
class Row:
    """One partial sample and the draws that agree on it so far."""

    prompt_length: int
    draws: list[Draw] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def position(self) -> int:
        """Place of the last generated token in the whole sequence."""
        return self.prompt_length + len(self.tokens) - 1

    def children(self, picks: Sequence[tuple[int, float]]) -> Iterator[Row]:
        """The rows after one more token: one for each distinct token that the draws picked."""
        by_token: dict[tuple[int, float], list[Draw]] = {}
        for draw, pick in zip(self.draws, picks, strict=True):
            by_token.setdefault(pick, []).append(draw)
        for (token, logprob), draws in by_token.items():
            yield Row(self.prompt_length, draws, [*self.tokens, token], [*self.logprobs, logprob])


@dataclass(eq=False)
class Batch:
    """Rows that take their next token together.

    `mask` is (rows, length) with 0 at padding; `logits` (rows, vocabulary) are those after each row's last token.
    """

    rows: list[Row]
    mask: torch.Tensor
    cache: Any
    logits: torch.Tensor

    def select(self, rows: list[Row], parents: Sequence[int]) -> None:
        """Go on with `rows`; row i continues the old row ``parents[i]``, which may have several children or none."""
        unchanged = list(parents) == list(range(len(self.rows)))
        self.rows = rows
        if unchanged or not rows:
            return
        indices = torch.tensor(parents, device=self.mask.device)
        self.cache.reorder_cache(indices)
        self.mask = self.mask[indices]
        empty = int(self.mask.any(dim=0).int().argmax())
        if empty >= _TRIM and isinstance(self.cache, RowCache):
            self.mask = self.mask[:, empty:]
            self.cache.trim(empty)

    def drop(self, is_unwanted: Callable[[Draw], bool]) -> None:
        """Go on without some draws, and without the rows that have no others."""
        for row in self.rows:
            row.draws = [draw for draw in row.draws if not is_unwanted(draw)]
        kept = [place for place, row in enumerate(self.rows) if row.draws]
        if len(kept) < len(self.rows):
            self.logits = self.logits[kept]
            self.select([self.rows[place] for place in kept], kept)

    def extend_mask(self) -> None:
        """The mask with one more column, for the token that is about to be fed."""
        self.mask = pad(self.mask, (0, 1), value=1)


def join(batches: Iterable[Batch]) -> list[Batch]:
    """The same rows in few batches, with bounded padding; their caches are `RowCache`s."""
    together: list[list[Batch]] = []
    for batch in sorted(batches, key=lambda batch: batch.mask.shape[1]):
        if together and _little_padding([*together[-1], batch]):
            together[-1].append(batch)
        else:
            together.append([batch])
    return [parts[0] if len(parts) == 1 else _joined(parts) for parts in together]


def _little_padding(parts: Sequence[Batch]) -> bool:
    filled: int = sum(part.mask.numel() for part in parts)
    padded: int = sum(len(part.rows) for part in parts) * parts[-1].mask.shape[1]
    return padded <= _WASTE * filled + _SLACK


def _joined(parts: Sequence[Batch]) -> Batch:
    cache, mask = joined([part.cache for part in parts], [part.mask for part in parts])
    rows = [row for part in parts for row in part.rows]
    return Batch(rows, mask, cache, torch.cat([part.logits for part in parts]))
