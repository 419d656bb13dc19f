"""Sampled accuracy, categories and their stability, worked by hand and by a second way [paper 2.2, Table 3]."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import special
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
