"""Risk–coverage, AURC and excess AURC by hand and over every order of the ties."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from srdcr_lab.measures.calibration import aurc, precision_steps, risk_coverage


def test_risk_and_coverage_by_hand() -> None:
    """Four questions, one without confidence: it is never answered and stays in the denominator of coverage."""
    curve = risk_coverage([0.9, 0.8, 0.8, math.nan], [True, False, True, True])
    assert curve["tau"].tolist() == [0.9, 0.8]
    assert curve["n_answered"].tolist() == [1, 3]
    assert curve["n_wrong"].tolist() == [0, 1]
    assert curve["risk"].tolist() == pytest.approx([0, 1 / 3])
    assert curve["coverage"].tolist() == pytest.approx([1 / 4, 3 / 4])


def test_interval_is_that_of_the_risk() -> None:
    curve = risk_coverage([0.9] * 10, [True] * 8 + [False] * 2)
    assert curve["low"][0] < curve["risk"][0] < curve["high"][0]


def test_steps_made_before_give_the_same_curve() -> None:
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(50).round(1), rng.random(50) < 0.7
    assert risk_coverage(precision_steps(confidence, correct)).equals(risk_coverage(confidence, correct))
    with pytest.raises(ValueError, match="takes confidence and correct"):
        risk_coverage(confidence)


def test_aurc_by_hand() -> None:
    """Right, wrong, right: risks 0, 1/2, 1/3. The best order has 0, 0, 1/3."""
    found = aurc([0.9, 0.8, 0.7], [True, False, True])
    assert found.value == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert found.optimal == pytest.approx(1 / 9)
    assert found.excess == pytest.approx(found.value - 1 / 9)
    assert found.risk == pytest.approx(1 / 3)


def area(wrong: list[int]) -> float:
    return float(np.mean(np.cumsum(wrong) / np.arange(1, len(wrong) + 1)))


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_the_mean_over_their_orders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidence, wrong = rng.integers(0, 3, 6) / 2, rng.integers(0, 2, 6)
    orders = [o for o in permutations(range(6)) if all(confidence[a] >= confidence[b] for a, b in pairwise(o))]
    expected = np.mean([area([wrong[i] for i in order]) for order in orders])
    found = aurc(confidence, wrong == 0)
    assert found.value == pytest.approx(expected)
    assert found.optimal == pytest.approx(area(sorted(wrong)))


def test_a_confidence_that_says_nothing_has_the_mean_risk() -> None:
    assert aurc([0.5] * 8, [True, False] * 4).value == pytest.approx(0.5)


def test_the_best_order_has_no_excess() -> None:
    assert aurc([0.9, 0.8, 0.2], [True, True, False]).excess == pytest.approx(0)


@pytest.mark.parametrize("seed", range(2))
def test_interval_resample_by_resample(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidence, correct = np.sort(rng.random(15).round(1))[::-1], rng.random(15) < 0.6
    found = aurc(confidence, correct, n_boot=100, seed=seed)
    resamples = np.random.default_rng(seed).integers(0, 15, (100, 15))
    again = [aurc(confidence[rows], correct[rows], n_boot=1) for rows in resamples]
    assert [found.low, found.high] == pytest.approx(np.quantile([of.value for of in again], [0.025, 0.975]))
    assert [found.excess_low, found.excess_high] == pytest.approx(
        np.quantile([of.excess for of in again], [0.025, 0.975]), abs=1e-12
    )


def test_one_class_and_nothing() -> None:
    right, wrong = aurc([0.9, 0.8], [True, True]), aurc([0.9, 0.8], [False, False])
    assert (right.value, right.excess, wrong.value, wrong.excess) == (0, 0, 1, 0)
    nothing = aurc([math.nan, 0.5], [True, None])
    assert math.isnan(nothing.value)
    assert (nothing.n, nothing.n_missing, nothing.n_unlabelled) == (0, 1, 1)
