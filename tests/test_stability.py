"""Category flips on a redraw and on random subsets, against what is known of each question alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from srdcr_lab.measures import redraw_stability, subset_stability
from srdcr_lab.measures.stability import random_subsets, redraw_transitions


def draws_of(totals: list[int], n: int = 32, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.permuted(np.arange(n) < np.array(totals)[:, None], axis=1)


@pytest.mark.parametrize("total", [0, 6, 9, 10, 28, 32])
def test_staying_is_what_one_question_s_stability_says(total: int) -> None:
    table = redraw_transitions([total])
    here = table[(table["n"] == 1) & (table["now"] == table["again"])]
    assert here["share"].item() == pytest.approx(redraw_stability(total, 32))


def test_transitions_by_simulation() -> None:
    rng = np.random.default_rng(3)
    again = rng.binomial(32, rng.beta(9.5, 23.5, 50_000))
    table = redraw_transitions([9]).set_index(["now", "again"])["share"]
    assert table["WEAKLY_KNOWN", "MAYBE_KNOWN"] == pytest.approx(np.mean((again >= 10) & (again < 28)), abs=0.01)
    assert table["WEAKLY_KNOWN", "UNKNOWN"] == pytest.approx(np.mean(again == 0), abs=0.005)


def test_each_row_of_transitions_adds_up_or_is_of_no_question() -> None:
    table = redraw_transitions([0, 0, 5, 32])
    sums = table.groupby("now", sort=False)["share"].sum(min_count=1)
    assert sums.drop("MAYBE_KNOWN").to_numpy() == pytest.approx([1, 1, 1])
    assert math.isnan(sums["MAYBE_KNOWN"])
    assert table.groupby("now", sort=False)["n"].first().tolist() == [1, 0, 1, 2]


def test_expected_is_the_mean_over_questions() -> None:
    totals = [0, 5, 9, 28, 32]
    found = random_subsets(draws_of(totals), sizes=(4, 16)).set_index("size")
    for size in (4, 16):
        expected = np.mean([1 - subset_stability(total, 32, size) for total in totals])
        assert found.loc[size, "expected"] == pytest.approx(expected)


def test_many_subsets_come_near_the_expectation() -> None:
    found = random_subsets(draws_of([1, 8, 10, 27, 29] * 10), sizes=(8, 20), n_subsets=300)
    assert found["changed"].to_numpy() == pytest.approx(found["expected"].to_numpy(), abs=0.01)
    assert (found["least"] < found["changed"]).all()
    assert (found["most"] > found["changed"]).all()


def test_ten_subsets() -> None:
    found = random_subsets(draws_of([9, 10, 28, 27]), sizes=(16,)).iloc[0]
    assert (found["n"], found["n_subsets"]) == (4, 10)
    assert found["ever_changed"] >= found["most"] >= found["changed"] >= found["least"]
    assert found["low"] <= found["expected"] <= found["high"]


def test_all_draws_change_nothing_and_certain_questions_never_do() -> None:
    assert random_subsets(draws_of([0, 9, 27, 32]), sizes=(32,))["ever_changed"].item() == 0
    certain = random_subsets(draws_of([0, 32]))
    assert certain["ever_changed"].tolist() == [0] * 8
    assert certain["expected"].tolist() == pytest.approx([0] * 8)


def test_subsets_are_seeded() -> None:
    draws = draws_of([9, 10, 27, 28])
    assert random_subsets(draws, seed=1).equals(random_subsets(draws, seed=1))
    assert not random_subsets(draws, seed=1).equals(random_subsets(draws, seed=2))


def test_no_question() -> None:
    found = random_subsets(np.zeros((0, 32), bool), sizes=(4, 8))
    assert found["n"].tolist() == [0, 0]
    assert found[["changed", "expected", "low"]].isna().all().all()
    assert redraw_transitions([])["n"].sum() == 0
