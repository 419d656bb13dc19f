"""Parts of the local adapter that need no model: earlier prompts, the row cache, keyed sampling."""

from __future__ import annotations

import itertools
import random
from typing import ClassVar

import numpy as np
import pytest
import torch

from srdcr_lab.models.local.cache import Batch, Beginnings, DistinctTokens, RowCache, RowLayer, joined
from srdcr_lab.models.local.checkpoint import cut_texts
from srdcr_lab.models.local.sampling import Draw, choose, inverse_cdf, uniforms


class History:
    """A one-layer `RowCache` beside plain lists of what each row should hold; a token's state is its own number."""

    numbers = itertools.count(1)
    scratch: ClassVar[list[torch.Tensor]] = []

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        lengths = [generator.randint(1, 12) for _ in range(generator.randint(1, 4))]
        self.rows = [[next(self.numbers) for _ in range(length)] for length in lengths]
        gaps = [max(lengths) - length for length in lengths]
        keys = self.states([[0] * gap + row for gap, row in zip(gaps, self.rows, strict=True)])
        self.mask = torch.tensor([[0] * gap + [1] * length for gap, length in zip(gaps, lengths, strict=True)])
        self.cache = RowCache(layers=[RowLayer(keys, -keys, max(lengths), self.scratch)])

    @staticmethod
    def states(lines: list[list[int]]) -> torch.Tensor:
        return torch.tensor(lines, dtype=torch.float32)[:, None, :, None]

    def batch(self) -> Batch:
        return Batch([], self.mask, self.cache, torch.empty(len(self.rows), 0))

    def step(self) -> None:
        new = [[next(self.numbers)] for _ in self.rows]
        keys, values = self.cache.update(self.states(new), -self.states(new), 0)
        self.mask = torch.cat([self.mask, torch.ones(len(new), 1, dtype=self.mask.dtype)], dim=1)
        self.rows = [row + token for row, token in zip(self.rows, new, strict=True)]
        assert self.cache.get_seq_length() == self.mask.shape[1] == keys.shape[2]
        assert torch.equal(values, -keys)
        held = [line[kept.bool()].tolist() for line, kept in zip(keys[:, 0, :, 0], self.mask, strict=True)]
        assert held == self.rows

    def select(self, parents: list[int]) -> None:
        self.cache.reorder_cache(torch.tensor(parents))
        self.mask, self.rows = self.mask[parents], [self.rows[parent] for parent in parents]

    def split(self) -> None:
        count = min(12, len(self.rows) + self.generator.randint(0, 4))
        self.select(sorted(self.generator.choices(range(len(self.rows)), k=count)))

    def leave(self) -> None:
        self.select(sorted(self.generator.sample(range(len(self.rows)), max(1, len(self.rows) - 1))))

    def join(self) -> None:
        if len(self.rows) > 8:
            return
        other = History(self.generator)
        for action in self.generator.choices([other.step, other.split], k=self.generator.randint(0, 6)):
            action()
        batch = joined([self.batch(), other.batch()])
        self.cache, self.mask = batch.cache, batch.mask
        self.rows += other.rows

    def trim(self) -> None:
        empty = int(self.mask.any(dim=0).int().argmax())
        self.cache.trim(empty)
        self.mask = self.mask[:, empty:]


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_the_cache_keep_their_own_history(seed: int) -> None:
    history = History(random.Random(seed))
    actions = [history.step, history.step, history.step, history.split, history.leave, history.join, history.trim]
    for action in history.generator.choices(actions, k=80):
        action()


def test_what_was_joined_is_let_go() -> None:
    """Else a batch that takes in newcomers is held twice."""
    parts = [History(random.Random(seed)) for seed in range(2)]
    batch = joined([part.batch() for part in parts])
    assert len(batch.cache.layers[0].stems[0]) == sum(len(part.rows) for part in parts)
    for layer in (layer for part in parts for layer in part.cache.layers):
        assert not any(isinstance(held, torch.Tensor) for held in (layer.keys, layer.values, *layer.stems, *layer.own))


def test_uniforms_are_keyed_by_seed_and_step() -> None:
    seeds = np.arange(20_000, dtype=np.uint64)
    first, second = (uniforms(seeds, np.full(20_000, step, dtype=np.uint64)) for step in (0, 1))
    assert 0 <= first.min() < first.max() < 1
    assert abs(first.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.03
    assert np.array_equal(first, uniforms(seeds, np.zeros(20_000, dtype=np.uint64)))


def test_inverse_distribution_function_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.2, 0.0, 0.3, 0.5]]))
    u = np.array([[0.0, 0.1999, 0.2001, 0.4999, 0.5001, 0.9999]])
    assert inverse_cdf(logits, 1.0, u).tolist() == [[0, 0, 2, 2, 3, 3]]
    # T = 0.5 squares the probabilities: 0.04, 0, 0.09, 0.25 of 0.38, with edges at 0.105 and 0.342
    assert inverse_cdf(logits, 0.5, np.array([[0.104, 0.107, 0.341, 0.343]])).tolist() == [[0, 2, 2, 3]]


def test_greedy_takes_the_first_of_equals() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0]])
    ((chosen,),) = choose(logits, [[Draw(seed=1, temperature=0.0, max_new=1)]], [0])
    assert chosen[0] == 1


def test_logits_that_are_not_numbers_fail_the_call() -> None:
    with pytest.raises(FloatingPointError, match="finite"):
        choose(torch.full((1, 3), torch.nan), [[Draw(seed=1, temperature=0.5, max_new=1)]], [0])


def test_tokens_after_a_cut_are_left_out() -> None:
    assert cut_texts(("18", "", "74", " and", " more"), 6) == ("18", "", "74", " a")
    assert cut_texts(("18", "", "74"), 2) == ("18",)
    assert cut_texts(("18",), 0) == ()


@pytest.mark.parametrize("most", [3, 20, 60, 1000])
def test_a_beginning_is_found_with_its_own_states_or_not_at_all(most: int) -> None:
    """A token's state is here a number of its whole beginning; prompts are random, short of tokens and much alike."""
    generator, tree, told = random.Random(most), Beginnings(most), {}

    def states_of(prompt: tuple[int, ...], width: int) -> list[float]:
        numbers = [told.setdefault(prompt[:end], len(told) + 1.0) for end in range(1, len(prompt) + 1)]
        return [-1.0] * (width - len(numbers)) + numbers

    longest_found = 0
    for _ in range(60):
        prompts = [tuple(generator.choices((1, 2), k=generator.randint(1, 12))) for _ in range(3)]
        found = [tree.find(prompt) for prompt in prompts]
        longest = max(map(len, found))
        for keys, values in tree.states(found):
            for prompt, nodes, row in zip(prompts, found, keys[:, 0, :, 0].tolist(), strict=True):
                assert row == [0.0] * (longest - len(nodes)) + states_of(prompt[: len(nodes)], 0)
            assert torch.equal(values, -keys)
        width = max(map(len, prompts))
        keys = torch.tensor([states_of(prompt, width) for prompt in prompts])[:, None, :, None]
        tree.keep(prompts, (keys[:, 0, :, 0] > 0).long(), [(keys, -keys)])
        assert len(tree._nodes) <= most
        assert len(tree.find(prompts[-1])) == min(len(prompts[-1]), most)  # the last one is there
        longest_found = max(longest_found, longest)
    assert longest_found >= min(most, 6)


def test_what_was_used_least_recently_goes_first() -> None:
    tree = Beginnings(6)

    def keep(*prompt: int) -> None:
        states = torch.zeros(1, 1, len(prompt), 1)
        tree.keep([prompt], torch.ones(1, len(prompt)), [(states, states)])

    keep(1, 2, 3)
    keep(4, 5, 6)
    assert len(tree.find((1, 2, 9))) == 2  # used again, so 4, 5, 6 are older, and 3 is the oldest
    keep(7, 8)
    assert [len(tree.find(prompt)) for prompt in ((1, 2, 3), (4, 5, 6), (7, 8))] == [2, 2, 2]


def test_what_could_not_be_written_is_not_found() -> None:
    tree, states = Beginnings(9), torch.ones(1, 1, 3, 1)
    tree.keep([(1, 2, 3)], torch.ones(1, 3), [(states, states)])
    with pytest.raises(IndexError):
        tree.keep([(1, 2, 4)], torch.ones(1, 3), [(states[:, :, :1], states[:, :, :1])])
    assert tree.find((1, 2, 4)) == []
    tree.keep([(1, 2, 4)], torch.ones(1, 3), [(states, states)])
    assert len(tree.find((1, 2, 4))) == 3


def test_distinct_tokens_are_counted_exactly_at_first_and_nearly_later() -> None:
    generator, few, many = random.Random(0), DistinctTokens(), DistinctTokens()
    prompts = [tuple(generator.choices(range(3), k=9)) for _ in range(500)]
    for prompt in prompts * 2:
        few.add(prompt)
    assert len(few) == len({prompt[:end] for prompt in prompts for end in range(1, 10)})
    for n in range(3000):
        many.add((7, 7, 7, n, *range(100)))
    assert len(many) == pytest.approx(3 + 3000 * 101, rel=0.02)
    assert len(many._hashes) <= 1 << 16
