"""Sampled accuracy, categories and their stability, worked by hand and by a second way [paper 2.2, Table 3]."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import integrate, special
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.knowledge import subset_categories
from srdcr_lab.lib.definitions import category_counts, knowledge_category, redraw_stability, sampled_accuracy
from srdcr_lab.lib.statistics import jeffreys_interval
from srdcr_lab.records import KnowledgeCategory

HIGHLY, MAYBE, WEAKLY, UNKNOWN = KnowledgeCategory


@pytest.mark.parametrize(
    ("right", "n", "category"),
    [
        (28, 32, HIGHLY),  # 0.875, the paper's St. Louis
        (27, 32, MAYBE),  # 0.84375
        (10, 32, MAYBE),  # 0.3125
        (9, 32, WEAKLY),  # 0.28125
        (6, 32, WEAKLY),  # 0.1875, the paper's World Series
        (1, 32, WEAKLY),
        (0, 32, UNKNOWN),
        (32, 32, HIGHLY),
        (17, 20, HIGHLY),  # 0.85 exactly
        (34, 40, HIGHLY),
        (3, 10, MAYBE),  # 0.30 exactly
        (6, 20, MAYBE),
        (1, 1, HIGHLY),
    ],
)
def test_category_of_draws(right: int, n: int, category: KnowledgeCategory) -> None:
    assert knowledge_category(sampled_accuracy([True] * right + [False] * (n - right))) is category


def test_boundaries() -> None:
    assert knowledge_category(0.85) is HIGHLY
    assert knowledge_category(math.nextafter(0.85, 0)) is MAYBE
    assert knowledge_category(0.30) is MAYBE
    assert knowledge_category(math.nextafter(0.30, 0)) is WEAKLY
    assert knowledge_category(math.nextafter(0.0, 1)) is WEAKLY


def test_the_released_thresholds() -> None:
    assert knowledge_category(0.60, highly_from=0.60) is HIGHLY
    assert knowledge_category(0.59, highly_from=0.60) is MAYBE


def test_no_draws_have_no_category() -> None:
    assert math.isnan(sampled_accuracy([]))
    assert knowledge_category(sampled_accuracy([])) is None


@pytest.mark.parametrize("accuracy", [-0.1, 1.1])
def test_an_impossible_accuracy_raises(accuracy: float) -> None:
    with pytest.raises(ValueError, match="lies in"):
        knowledge_category(accuracy)


def test_unknown_depends_on_the_number_of_draws() -> None:
    """One right answer in 33 draws is seen with 32 of them only if it is among those."""
    assert knowledge_category(0 / 32) is UNKNOWN
    assert knowledge_category(1 / 33) is WEAKLY


# -- the interval ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [(25, 0.08462743, 0.176126), (10, 0.02599340, 0.08687509), (50, 0.19387268, 0.31330266)],
)
def test_jeffreys_against_printed_values(k: int, low: float, high: float) -> None:
    """k of 200, as printed in the manual of the R package RSurveillance (binom.jeffreys, example output)."""
    assert jeffreys_interval(k, 200) == pytest.approx((low, high), abs=5e-7)


@pytest.mark.parametrize("k", range(33))
def test_jeffreys_against_statsmodels(k: int) -> None:
    low, high = proportion_confint(k, 32, method="jeffreys")
    expected = (0.0 if k == 0 else low, 1.0 if k == 32 else high)
    assert jeffreys_interval(k, 32) == pytest.approx(expected, abs=1e-12)


def test_jeffreys_holds_95_percent_of_the_posterior_by_integration() -> None:
    low, high = (float(end) for end in jeffreys_interval(28, 32))

    def density(p: float) -> float:
        return p**27.5 * (1 - p) ** 3.5 / special.beta(28.5, 4.5)

    assert integrate.quad(density, 0, low)[0] == pytest.approx(0.025, abs=1e-9)
    assert integrate.quad(density, high, 1)[0] == pytest.approx(0.025, abs=1e-9)


def test_jeffreys_of_nothing_is_missing_and_arrays_go_through() -> None:
    low, high = jeffreys_interval([0, 0, 4], [0, 8, 4])
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[2]) == (0.0, 1.0)


# -- stability -------------------------------------------------------------------------------------------------------


def category_of(right: int, n: int) -> KnowledgeCategory:
    """Table 3, written again."""
    return HIGHLY if right / n >= 0.85 else MAYBE if right / n >= 0.30 else WEAKLY if right > 0 else UNKNOWN


@pytest.mark.parametrize("right", [0, 1, 6, 9, 10, 27, 28, 32])
def test_redraw_stability_by_exact_enumeration(right: int) -> None:
    """The beta-binomial written out with gamma functions."""
    a, b = right + 0.5, 32 - right + 0.5
    same = (k for k in range(33) if category_of(k, 32) is category_of(right, 32))
    expected = sum(math.comb(32, k) * special.beta(k + a, 32 - k + b) / special.beta(a, b) for k in same)
    assert redraw_stability(right, 32) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("right", [0, 9, 28])
def test_redraw_stability_by_simulation(right: int) -> None:
    rng = np.random.default_rng(2025)
    p = rng.beta(right + 0.5, 32 - right + 0.5, 40_000)
    again = rng.binomial(32, p)
    share = np.mean([category_of(k, 32) is category_of(right, 32) for k in again])
    assert redraw_stability(right, 32) == pytest.approx(share, abs=0.01)


def test_a_label_on_the_boundary_is_a_coin_and_a_clear_one_is_not() -> None:
    assert 0.3 < redraw_stability(9, 32) < 0.7
    assert redraw_stability(32, 32) > 0.95
    assert math.isnan(redraw_stability(0, 0))


@pytest.mark.parametrize(("right", "n", "size"), [(7, 8, 4), (6, 8, 4), (2, 8, 3), (1, 6, 2), (0, 6, 3), (6, 6, 3)])
def test_subsets_by_enumeration(right: int, n: int, size: int) -> None:
    draws = [1] * right + [0] * (n - right)
    subsets = list(combinations(range(n), size))
    same = sum(category_of(sum(draws[i] for i in s), size) is category_of(right, n) for s in subsets)
    whole = int(category_counts(n)[right])
    assert subset_categories(n, size)[right, whole] == pytest.approx(same / len(subsets))


def test_subsets_by_hand() -> None:
    """One right of three is Maybe (0.333); a subset of two is Maybe (0.5) where it holds the right one: 2 of 3."""
    assert subset_categories(3, 2)[1, 1] == pytest.approx(2 / 3)


def test_all_draws_are_a_stable_subset_of_themselves() -> None:
    assert subset_categories(32, 32).max(axis=1) == pytest.approx([1.0] * 33)


@pytest.mark.parametrize("size", [0, 33])
def test_a_subset_is_of_one_to_all_draws(size: int) -> None:
    with pytest.raises(ValueError, match="a subset has 1 to 32 draws"):
        subset_categories(32, size)
