"""Parts of the local adapter that need no model: keyed sampling, and tokens after a cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from srdcr_lab.models.decoding import DecodingRow, Draw, choose, inverse_cdf, uniforms
from srdcr_lab.records.types import cut


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
    assert cut(("18", "", "74", " and", " more"), range(9), 0, 6)[0] == ("18", "", "74", " a")
    assert cut(("18", "", "74"), range(9), 0, 2)[0] == ("18",)
    assert cut(("18",), range(9), 0, 0)[0] == ()
