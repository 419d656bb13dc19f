"""Shares, contrasts and means with clustered intervals, by hand and against scipy and statsmodels."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, mean_interval, shares


def test_a_contrast_is_the_weighted_sum_of_the_strata_means() -> None:
    values, clusters, strata = [1, 1, 0, 1, 0, 0, 0, 0], list("abcdabcd"), ["x"] * 4 + ["y"] * 4
    value, low, high = contrast_interval(values, clusters, strata, {"x": 1, "y": -1})
    assert value == pytest.approx(3 / 4)
    assert low < value < high


def test_a_contrast_of_both_halves_takes_what_they_share_into_account() -> None:
    """A 3: nearly the t interval of the questions' differences, however the halves hang together."""
    rng = np.random.default_rng(5)
    chance = rng.random(40)
    first, alike = (rng.random(40) < chance).astype(float), (rng.random(40) < chance * 0.5).astype(float)
    clusters, strata = np.tile(np.arange(40), 2), np.repeat(["true", "false"], 40)
    for second in (alike, first, 1 - first):
        both = np.concatenate([first, second])
        _, low, high = contrast_interval(both, clusters, strata, {"true": 1, "false": -1}, bounds=(0, 1))
        usual = ttest_1samp(first - second, 0).confidence_interval(0.95) if (first != second).any() else 0
        assert (low, high) == pytest.approx((usual.low, usual.high) if usual else (0, 0), abs=0.06)


def test_halves_at_both_ends_have_the_interval_of_agresti_and_caffo() -> None:
    """60 of 60 right on true passages and none on false ones, with a right and a wrong one more in each: no question
    is unlike another, so the four that were added are all the variance. 0.515 is likely enough to give such a study."""
    low, high = clustered_interval([1.0] * 60 + [0.0] * 60, [*range(60)] * 2, [0] * 60 + [1] * 60)
    half = t.ppf(0.975, 61) * math.sqrt(2 * ((61 / 62) ** 2 + (1 / 62) ** 2)) * 0.5 / 62
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    assert high > 0.515


def test_groups_add_up_their_variances_by_hand() -> None:
    """Right are 3 of 4 questions of a group that weighs a quarter, and 1 of 3 of the other. With a right and a wrong
    one more in each the means are 4/6 and 2/5, the variances 6/5 · 12/9 / 6² and 5/4 · 30/25 / 5²."""
    values, group = [1, 1, 1, 0, 1, 0, 0], list("aaaabbb")
    found = contrast_interval(values, range(7), group, {"a": 0.25, "b": 0.75}, bounds=(0, 1), groups=group)
    of_a, of_b = 2 / 45 / 16, 0.06 * 9 / 16
    df = (of_a + of_b) ** 2 / (of_a**2 / 5 + of_b**2 / 4)
    centre, half = 0.25 * 4 / 6 + 0.75 * 2 / 5, t.ppf(0.975, df) * math.sqrt(of_a + of_b)
    assert 4 < df < 5
    assert found == pytest.approx((0.25 * 3 / 4 + 0.75 / 3, max(0.0, centre - half), centre + half))


def test_equal_pairs_are_no_proof_of_equality() -> None:
    value, low, high = contrast_interval([0.0] * 20, range(20), [0] * 20, {0: 1})
    assert value == 0
    assert low < -0.05 < 0.05 < high


def test_a_contrast_without_a_stratum_and_the_interval_of_one_question_are_missing() -> None:
    assert np.isnan(mean_interval([3.0, 4.0], ["a", "a"])).all()
    assert np.isnan(contrast_interval([1, 0], ["a", "b"], ["x", "x"], {"x": 1, "y": -1})).all()


def test_a_mean_of_any_numbers_has_the_t_interval() -> None:
    values = np.random.default_rng(0).gamma(2, 100, 50)
    usual = ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values, range(50)) == pytest.approx((usual.low, usual.high))


ROWS = pd.DataFrame(
    [("a", "x", True), ("b", "x", False), ("b", "x", None), ("c", "y", True), ("c", "other", True)],
    columns=["question_id", "kind", "hit"],
)


def test_shares_by_hand() -> None:
    """In x one of two known hits and one missing; in y one of one; z is empty; "other" is in no cell."""
    table = shares(ROWS, ROWS["hit"].astype("boolean"), {"kind": ["x", "y", "z"]}).set_index("kind")
    assert table["n"].tolist() == [2, 1, 0]
    assert table["n_questions"].tolist() == [2, 1, 0]
    assert table["n_missing"].tolist() == [1, 0, 0]
    assert table["share"].tolist()[:2] == [0.5, 1.0]
    assert table.loc["z", ["share", "low", "high"]].isna().all()
    assert tuple(table.loc["x", ["low", "high"]]) == pytest.approx(proportion_confint(1, 2, method="jeffreys"))


def test_shares_of_no_rows_are_one_empty_cell() -> None:
    table = shares(ROWS.iloc[:0], ROWS["hit"].iloc[:0].astype("boolean"))
    assert table["n"].tolist() == [0]
    assert table["share"].isna().all()
