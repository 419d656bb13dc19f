"""Prompts that begin alike: which to prefill behind one shared beginning, and beginnings kept for later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

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
