"""AUROC by hand, against scikit-learn and scipy, and their intervals the long way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm
from sklearn.metrics import roc_auc_score

from srdcr_lab.confidence import auroc


def rounded(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Confidences with ties, and a target that goes with them."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(n).round(1)
    return confidence, rng.random(n) < 0.2 + 0.6 * confidence


def test_auroc_by_hand() -> None:
    """0.9 beats both without the target, 0.7 one of two: 3 of 4 pairs."""
    found = auroc([0.9, 0.8, 0.7, 0.6], [True, False, True, False])
    assert (found.value, found.n, found.n_target) == (0.75, 4, 2)


def test_equal_confidences_count_half() -> None:
    assert auroc([0.5, 0.5, 0.9], [True, False, False]).value == 0.25
    assert auroc([0.5] * 4, [True, False, True, False]).value == 0.5


@pytest.mark.parametrize("seed", range(4))
def test_auroc_against_two_libraries(seed: int) -> None:
    confidence, target = rounded(seed)
    found = auroc(confidence, target)
    assert found.value == pytest.approx(roc_auc_score(target, confidence))
    statistic = mannwhitneyu(confidence[target], confidence[~target]).statistic
    assert found.value == pytest.approx(statistic / (target.sum() * (~target).sum()))


@pytest.mark.parametrize("seed", range(4))
def test_delong_pair_by_pair(seed: int) -> None:
    confidence, target = rounded(seed)
    kernel = np.array([[(x > y) + 0.5 * (x == y) for y in confidence[~target]] for x in confidence[target]])
    variance = kernel.mean(1).var(ddof=1) / len(kernel) + kernel.mean(0).var(ddof=1) / kernel.shape[1]
    area = kernel.mean()
    log_odds, half = math.log(area / (1 - area)), norm.ppf(0.975) * math.sqrt(variance) / (area * (1 - area))
    expected = [1 / (1 + math.exp(-end)) for end in (log_odds - half, log_odds + half)]
    assert [auroc(confidence, target).low, auroc(confidence, target).high] == pytest.approx(expected)


def test_separated_classes_still_have_an_interval() -> None:
    """Newcombe's: its end solves |1 − θ| = z √Var(θ), here with Hanley and McNeil's variance as they wrote it."""
    found = auroc([0.9, 0.8, 0.7, 0.2, 0.1], [True, True, True, False, False])
    assert (found.value, found.high) == (1.0, 1.0)
    theta, pooled = found.low, (3 + 2) / 2 - 1
    first, second = theta / (2 - theta), 2 * theta**2 / (1 + theta)
    variance = (theta * (1 - theta) + pooled * (first - theta**2) + pooled * (second - theta**2)) / 6
    assert 1 - theta == pytest.approx(norm.ppf(0.975) * math.sqrt(variance))


@pytest.mark.parametrize(("n_target", "least"), [(1, 0.42), (2, 0.57), (5, 0.75)])
def test_twenty_separated_questions_are_no_certainty(n_target: int, least: float) -> None:
    """Of 20 questions few are right, and all of these are ranked above the wrong ones; then below them."""
    right = np.arange(20) < n_target
    found, mirrored = auroc(right, right), auroc(~right, right)
    assert (found.value, found.low, found.high) == pytest.approx((1, least, 1), abs=0.005)
    assert (mirrored.low, mirrored.high) == pytest.approx((0, 1 - found.low), abs=1e-9)


def test_wrong_way_round_is_the_mirror_image() -> None:
    there = auroc([0.9, 0.8, 0.2, 0.1], [True, True, False, False])
    back = auroc([0.9, 0.8, 0.2, 0.1], [False, False, True, True])
    assert (back.value, back.low, back.high) == pytest.approx((0, 1 - there.high, 1 - there.low))


def test_without_the_target_there_is_none() -> None:
    for confidence in ([], [0.4, 0.6], [math.nan]):
        found = auroc(confidence, [False] * len(confidence))
        assert math.isnan(found.value)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_missing_ones_are_left_out_and_counted() -> None:
    whole = auroc([0.9, 0.8, 0.7], [True, False, True])
    found = auroc([0.9, 0.8, 0.7, math.nan, 0.1], [True, False, True, False, None])
    assert (found.n_missing, found.n_unlabelled) == (1, 1)
    assert (found.value, found.low, found.high, found.n) == (whole.value, whole.low, whole.high, 3)
