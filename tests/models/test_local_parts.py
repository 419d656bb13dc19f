"""Parts of the local adapter that need no model: earlier prompts, the row cache, keyed sampling."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from srdcr_lab.models.checkpoint import cut_texts
from srdcr_lab.models.decoding import (
    Beginnings,
    DecodingBatch,
    DecodingRow,
    Draw,
    GrowingLayer,
    _Begun,
    choose,
    inverse_cdf,
    joined,
    uniforms,
)


class History:
    """A batch of one layer beside plain lists of what each row should hold; a token's state is its own number."""

    numbers = itertools.count(1)

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        lengths = [generator.randint(1, 12) for _ in range(generator.randint(1, 4))]
        self.held = [[next(self.numbers) for _ in range(length)] for length in lengths]
        gaps = [max(lengths) - length for length in lengths]
        mask = torch.tensor([[0] * gap + [1] * length for gap, length in zip(gaps, lengths, strict=True)])
        cache = DynamicCache()
        cache.layers = [GrowingLayer()]
        self.batch = DecodingBatch(self.rows(len(lengths)), mask, cache, torch.empty(len(lengths), 0))
        self.add([[0] * gap + row for gap, row in zip(gaps, self.held, strict=True)])

    @staticmethod
    def rows(n: int) -> list[DecodingRow]:
        return [DecodingRow(0) for _ in range(n)]

    def add(self, lines: list[list[int]]) -> None:
        keys = torch.tensor(lines, dtype=torch.float32)[:, None, :, None].expand(-1, 2, -1, 3)
        self.batch.cache.update(keys, -keys, 0)

    def step(self) -> None:
        new = [[next(self.numbers)] for _ in self.held]
        self.add(new)
        self.batch.mask = torch.cat([self.batch.mask, torch.ones(len(new), 1, dtype=torch.long)], dim=1)
        self.held = [row + token for row, token in zip(self.held, new, strict=True)]
        self.check()

    def check(self) -> None:
        (layer,) = self.batch.cache.layers
        assert self.batch.cache.get_seq_length() == self.batch.mask.shape[1]
        assert torch.equal(layer.values, -layer.keys)
        assert (layer.keys == layer.keys[:, :1, :, :1]).all()
        lines = zip(layer.keys[:, 1, :, 2], self.batch.mask, strict=True)
        assert [line[kept.bool()].tolist() for line, kept in lines] == self.held

    def select(self, parents: list[int]) -> None:
        self.batch.select(self.rows(len(parents)), parents, trims=True)
        self.held = [self.held[parent] for parent in parents]

    def split(self) -> None:
        count = min(12, len(self.held) + self.generator.randint(0, 4))
        self.select(sorted(self.generator.choices(range(len(self.held)), k=count)))

    def leave(self) -> None:
        self.select(sorted(self.generator.sample(range(len(self.held)), max(1, len(self.held) - 1))))

    def join(self) -> None:
        if len(self.held) > 8:
            return
        other = History(self.generator)
        for action in self.generator.choices([other.step, other.split], k=self.generator.randint(0, 6)):
            action()
        layers = other.batch.cache.layers
        self.batch = joined([self.batch, other.batch])
        assert layers[0].keys is layers[0].values is None  # else a batch that takes in newcomers is held twice
        self.held += other.held


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_the_cache_keep_their_own_history(seed: int) -> None:
    history = History(random.Random(seed))
    actions = [history.step, history.step, history.step, history.split, history.leave, history.join]
    for action in history.generator.choices(actions, k=80):
        action()


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
    assert inverse_cdf(logits, torch.tensor([[1.0]]), u).tolist() == [[0, 0, 2, 2, 3, 3]]
    # T = 0.5 squares the probabilities: 0.04, 0, 0.09, 0.25 of 0.38, with edges at 0.105 and 0.342
    u = np.array([[0.104, 0.107, 0.341, 0.343]])
    assert inverse_cdf(logits, torch.tensor([[0.5]]), u).tolist() == [[0, 2, 2, 3]]


def test_greedy_takes_the_first_of_equals() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0]])
    ((chosen,),) = choose(logits, [DecodingRow(0, [Draw(seed=1, temperature=0.0, max_new=1)])])
    assert chosen[0] == 1


def test_logits_that_are_not_numbers_fail_the_call() -> None:
    with pytest.raises(FloatingPointError, match="finite"):
        choose(torch.full((1, 3), torch.nan), [DecodingRow(0, [Draw(seed=1, temperature=0.5, max_new=1)])])


def test_tokens_after_a_cut_are_left_out() -> None:
    assert cut_texts(("18", "", "74", " and", " more"), 6) == ("18", "", "74", " a")
    assert cut_texts(("18", "", "74"), 2) == ("18",)
    assert cut_texts(("18",), 0) == ()


@pytest.mark.parametrize("most", [3, 20, 60, 1000])
def test_a_beginning_is_found_with_its_own_states_or_not_at_all(most: int) -> None:
    """A token's state is here a number of its whole beginning; prompts are random, short of tokens and much alike."""
    generator, kept, numbers = random.Random(most), Beginnings(most), dict[tuple[int, ...], float]()

    def states_of(prompt: tuple[int, ...]) -> list[float]:
        return [numbers.setdefault(prompt[:end], len(numbers) + 1.0) for end in range(1, len(prompt) + 1)]

    longest_found = 0
    for _ in range(60):
        prompts = [tuple(generator.choices((1, 2), k=generator.randint(1, 12))) for _ in range(3)]
        begun = [_Begun(prompt, *kept.find(prompt)) for prompt in prompts]
        longest = max(each.kept for each in begun)
        for keys, values in kept.states(begun):
            for each, row in zip(begun, keys[:, 0, :, 0].tolist(), strict=True):
                assert row == [0.0] * (longest - each.kept) + states_of(each.prompt[: each.kept])
            assert torch.equal(values, -keys)
        width = max(map(len, prompts))
        keys = torch.tensor([[0.0] * (width - len(each)) + states_of(each) for each in prompts])[:, None, :, None]
        cache = DynamicCache()
        cache.update(keys, -keys, 0)
        kept.keep(prompts, (keys[:, 0, :, 0] > 0).long(), cache)
        assert sum(map(len, kept._states)) == kept._tokens <= most
        assert kept._sorted == sorted(kept._states)
        if len(prompts[-1]) <= most:
            assert kept.find(prompts[-1])[1] == len(prompts[-1])  # the last one is there
        longest_found = max(longest_found, longest)
    assert longest_found >= min(most, 6)


def test_what_was_used_least_recently_goes_first() -> None:
    kept = Beginnings(6)

    def keep(*prompt: int) -> None:
        cache, states = DynamicCache(), torch.zeros(1, 1, len(prompt), 1)
        cache.update(states, states, 0)
        kept.keep([prompt], torch.ones(1, len(prompt)), cache)

    keep(1, 2, 3)
    keep(4, 5, 6)
    assert kept.find((1, 2, 9)) == ((1, 2, 3), 2)  # used again, so 4, 5, 6 goes first
    keep(7, 8)
    assert [kept.find(prompt)[1] for prompt in ((1, 2, 3), (4, 5, 6), (7, 8))] == [3, 0, 2]
    keep(7, 8, 9)  # which holds all of 7, 8
    assert set(kept._states) == {(1, 2, 3), (7, 8, 9)}
