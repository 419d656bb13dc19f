"""Key/value states: of the beginnings of earlier prompts, and of what is decoded together.

`Beginnings` keeps the states of prompts over time, as a tree and within a bound.

Of the rows of a batch, a layer holds *stems* and, once rows have split, each row's stem and its *own* states after
that stem. So a prompt's states exist once for all its draws. Attention wants one tensor for all rows: a layer assembles
it on demand, in buffers that all layers use in turn. While each row is a stem, new states are written in place and
nothing is copied.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch.nn.functional import pad
from transformers.cache_utils import Cache, DynamicLayer

from srdcr_lab.models.local.sampling import Draw

_ROOM = 16  # free columns after the stems; a row with more own states becomes a stem
_WASTE, _SLACK = 1.5, 4096  # padding that putting rows together may add: a factor, and cells that are always allowed
_TRIM = 8  # empty columns worth removing
_MOST_HASHES = 1 << 16  # beginnings that are counted exactly

Prompt = tuple[int, ...]
KeyValues = Sequence[Sequence[torch.Tensor]]  # per layer: keys and values, (prompts, heads, columns, width)


class Beginnings:
    """The states of earlier prompts, for later prompts that begin alike: at most `most` tokens.

    A tree. A token's *node* lies under the node of the token before it; its number is its place in the *pools*, which
    hold the keys and the values of each layer, (places, heads, width); on a CPU they take memory as they are written.
    Place 0 is the root; it is all zeros and serves as padding. In a full tree the least recently used node gives up its
    place. Nodes are used from a prompt's end to its beginning, so that this one is a leaf.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._nodes: OrderedDict[tuple[int, int], int] = OrderedDict()  # (node above, token), least recently used first
        self._pools: list[list[torch.Tensor]] = []

    def find(self, prompt: Prompt) -> list[int]:
        """The nodes of the longest beginning of the prompt that is kept."""
        found: list[int] = []
        for token in prompt:
            node = self._nodes.get((found[-1] if found else 0, token))
            if node is None:
                break
            found.append(node)
        self._use(prompt, found)
        return found

    def states(self, found: Sequence[Sequence[int]]) -> Iterator[list[torch.Tensor]]:
        """States of such beginnings, layer by layer, shorter ones padded at their left; nothing where all are empty."""
        length = max(map(len, found))
        padded = [[0] * (length - len(nodes)) + list(nodes) for nodes in found]
        for pools in self._pools if length else ():
            places = torch.tensor(padded, device=pools[0].device)
            yield [pool[places].transpose(1, 2) for pool in pools]

    def keep(self, prompts: Sequence[Prompt], mask: torch.Tensor, states: KeyValues) -> None:
        """Add prompts with the columns of `states` where their row of `mask`, (prompts, columns), is 1."""
        sources: dict[int, tuple[int, int]] = {}  # place → row and column; in a small tree one prompt may oust another
        try:
            for row, prompt in enumerate(prompt[: self.most] for prompt in prompts):
                nodes, columns = self.find(prompt), mask[row].nonzero()[:, 0].tolist()
                for token, column in list(zip(prompt, columns, strict=False))[len(nodes) :]:
                    full = len(self._nodes) >= self.most
                    node = self._nodes.popitem(last=False)[1] if full else len(self._nodes) + 1
                    self._nodes[nodes[-1] if nodes else 0, token] = node
                    sources[node] = row, column
                    nodes.append(node)
                self._use(prompt, nodes)
            if sources:
                self._write(sources, states)
        except BaseException:  # out of memory: no node may be left without its states
            self._nodes.clear()
            raise

    def _write(self, sources: dict[int, tuple[int, int]], states: KeyValues) -> None:
        if not self._pools:
            self._pools = [[each.new_empty(self.most + 1, *each.shape[1::2]) for each in layer] for layer in states]
            for pool in chain(*self._pools):
                pool[0] = 0
        places = torch.tensor(list(sources), device=self._pools[0][0].device)
        rows, columns = torch.tensor(list(sources.values()), device=places.device).T
        for pool, each in zip(chain(*self._pools), chain(*states), strict=True):
            pool[places] = each[rows, :, columns]

    def _use(self, prompt: Prompt, nodes: Sequence[int]) -> None:
        for above in reversed(list(zip([0, *nodes[:-1]], prompt, strict=False))[: len(nodes)]):
            self._nodes.move_to_end(above)


class DistinctTokens:
    """How many tokens a tree of all prompts has, whatever became of it: exact at first, later within about 1 %.

    A token with all that precedes it has a hash. Of many hashes, those that end in so many zero bits are kept and stand
    for the others. Source: Flajolet 1990, "On adaptive sampling".
    """

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._bits = 0

    def add(self, prompt: Prompt) -> None:
        beginning = 0
        for token in prompt:
            beginning = hash((beginning, token))
            if beginning & self._bits == 0:
                self._hashes.add(beginning)
        while len(self._hashes) > _MOST_HASHES:
            self._bits = 2 * self._bits + 1
            self._hashes = {each for each in self._hashes if each & self._bits == 0}

    def __len__(self) -> int:
        return len(self._hashes) * (self._bits + 1)


class RowLayer(DynamicLayer):  # type: ignore[misc]  # transformers has no types here
    """One layer of a `RowCache`.

    `stems` are keys and values, each (stems, heads, columns, width), of which the first `length` columns are in use.
    After a split `stem_of` is each row's stem, and `own` are keys and values, each (rows, heads, own length, width).
    `scratch` holds two buffers, once they are needed; all layers of all batches share them.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int, scratch: list[torch.Tensor]) -> None:
        super().__init__()
        self.stems, self.length, self.scratch = [keys, values], length, scratch
        self.stem_of: torch.Tensor | None = None
        self.own: list[torch.Tensor] = []
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True

    @property
    def own_length(self) -> int:
        return int(self.own[0].shape[2]) if self.own else 0

    def get_seq_length(self) -> int:
        return self.length + self.own_length

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the states of one more token to each row; return all states of all rows."""
        if self.own_length == _ROOM:
            self._make_stems()
        new = (key_states, value_states)
        if self.stem_of is None:
            self._make_room(1)
            for stems, states in zip(self.stems, new, strict=True):
                stems[:, :, self.length] = states[:, :, 0]
            self.length += 1
            keys, values = (stems[:, :, : self.length] for stems in self.stems)
        else:
            self.own = [torch.cat(states, dim=2) for states in zip(self.own, new, strict=True)]
            keys, values = self._assembled()
        return keys, values

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Row i continues the old row ``beam_idx[i]``; there may be more rows than before, or fewer."""
        if self.stem_of is not None:
            self.stem_of = self.stem_of[beam_idx]
            self.own = [own[beam_idx] for own in self.own]
        elif len(beam_idx) <= len(self.stems[0]):
            self.stems = [stems[beam_idx] for stems in self.stems]
        else:
            self._make_room(_ROOM)
            self.split(beam_idx)

    def split(self, stem_of: torch.Tensor) -> None:
        """Give each row a stem to continue, and no states of its own yet."""
        self.stem_of = stem_of
        self.own = [stems[stem_of, :, :0] for stems in self.stems]

    def trim(self, columns: int) -> None:
        """Drop the first columns of the stems."""
        self.stems = [stems[:, :, columns:].contiguous() for stems in self.stems]
        self.length -= columns

    def _make_room(self, columns: int) -> None:
        if self.stems[0].shape[2] - self.length < columns:
            self.stems = [_widened(stems[:, :, : self.length]) for stems in self.stems]

    def _make_stems(self) -> None:
        self.stems, self.length = [_widened(states) for states in self._assembled()], self.get_seq_length()
        self.stem_of, self.own = None, []

    def _assembled(self) -> list[torch.Tensor]:
        if not self.scratch:
            self.scratch += [stems.new_empty(0) for stems in self.stems]
        end = self.get_seq_length()
        states = []
        for buffer, stems, own in zip(self.scratch, self.stems, self.own, strict=True):
            whole = buffer.resize_(len(own), *stems.shape[1:])  # allocates only where it has to grow
            torch.index_select(stems, 0, self.stem_of, out=whole)
            whole[:, :, self.length : end] = own
            states.append(whole[:, :, :end])
        return states


class RowCache(Cache):  # type: ignore[misc]
    """The cache of a batch, for models whose layers all keep the keys and values of all tokens."""

    layers: list[RowLayer]

    @classmethod
    def of(cls, states: KeyValues, columns: torch.Tensor, scratch: list[torch.Tensor]) -> RowCache:
        """These `columns`, (rows, length), of prefilled states; each row becomes a stem."""
        rows, length = torch.arange(len(columns), device=columns.device)[:, None], columns.shape[1]
        stems = ([each.transpose(1, 2)[rows, columns].transpose(1, 2) for each in layer] for layer in states)
        return cls(layers=[RowLayer(keys, values, length, scratch) for keys, values in stems])

    def trim(self, columns: int) -> None:
        for layer in self.layers:
            layer.trim(columns)


@dataclass(eq=False, slots=True)
class Row:
    """A partial sample, and the draws that agree on it so far."""

    prompt_length: int
    draws: list[Draw] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)

    def children(self, picks: Sequence[tuple[int, float, float]]) -> Iterator[Row]:
        """The rows after one more token: one for each distinct token that the draws picked."""
        by_token: dict[tuple[int, float, float], list[Draw]] = {}
        for draw, pick in zip(self.draws, picks, strict=True):
            by_token.setdefault(pick, []).append(draw)
        for (token, logprob, margin), draws in by_token.items():
            parts = [*self.tokens, token], [*self.logprobs, logprob], [*self.margins, margin]
            yield Row(self.prompt_length, draws, *parts)


@dataclass(eq=False)
class Batch:
    """Rows that take their next token together.

    `mask` is (rows, length), 0 at padding; `logits` (rows, vocabulary) follow each row's last token.
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


def join(batches: Iterable[Batch]) -> list[Batch]:
    """The same rows in few batches, with bounded padding; their caches are `RowCache`s."""
    groups: list[list[Batch]] = []
    for batch in sorted(batches, key=lambda batch: batch.mask.shape[1]):
        parts = [*groups[-1], batch] if groups else [batch]
        filled, rows = sum(part.mask.numel() for part in parts), sum(len(part.rows) for part in parts)
        if groups and little_padding(filled, rows * batch.mask.shape[1]):
            groups[-1].append(batch)
        else:
            groups.append([batch])
    return [joined(group) if len(group) > 1 else group[0] for group in groups]


def little_padding(filled: int, padded: int) -> bool:
    """Whether so many cells, padding included, are few enough for what is in them."""
    return padded <= _WASTE * filled + _SLACK


def joined(parts: Sequence[Batch]) -> Batch:
    """One batch of all rows; shorter stems and shorter own parts are padded at their left.

    The old caches are emptied layer by layer, so that no more than one layer is held twice.
    """
    shapes = [(part.cache.layers[0].length, part.cache.layers[0].own_length) for part in parts]
    length, own = (max(sizes) for sizes in zip(*shapes, strict=True))
    masks = [
        torch.cat([pad(part.mask[:, :n], (length - n, 0)), pad(part.mask[:, n:], (own - t, 0))], dim=1)
        for part, (n, t) in zip(parts, shapes, strict=True)
    ]
    layers = []
    for old in zip(*(part.cache.layers for part in parts), strict=True):
        layers.append(_joined_layer(old, length, own))
        for layer in old:
            layer.stems, layer.own = [], []
    rows = [row for part in parts for row in part.rows]
    return Batch(rows, torch.cat(masks), RowCache(layers=layers), torch.cat([part.logits for part in parts]))


def _joined_layer(parts: Sequence[RowLayer], length: int, own: int) -> RowLayer:
    gaps = [(0, 0, length - part.length, _ROOM) for part in parts]  # empty columns before, free ones after
    keys, values = (
        torch.cat([pad(part.stems[which][:, :, : part.length], gap) for part, gap in zip(parts, gaps, strict=True)])
        for which in (0, 1)
    )
    layer = RowLayer(keys, values, length, parts[0].scratch)
    if all(part.stem_of is None for part in parts):
        return layer
    stems_of = []
    first = 0
    for part in parts:
        stem_of = part.stem_of
        if stem_of is None:
            stem_of = torch.arange(len(part.stems[0]), device=keys.device)
            part.split(stem_of)
        stems_of.append(first + stem_of)
        first += len(part.stems[0])
    layer.stem_of = torch.cat(stems_of)
    layer.own = [
        torch.cat([pad(part.own[which], (0, 0, own - part.own_length, 0)) for part in parts]) for which in (0, 1)
    ]
    return layer


def _widened(states: torch.Tensor) -> torch.Tensor:
    """A copy with free columns after it."""
    return pad(states, (0, 0, 0, _ROOM))
