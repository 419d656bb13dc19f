"""What is being decoded together: rows of distinct partial samples, their attention mask, their key/value cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import pad

from srdcr_lab.models.row_cache import RowCache, joined
from srdcr_lab.models.sampling import Draw

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
