"""P(Highly-Known | Conf ≥ τ) by hand and against a loop over τ [paper 4.2]."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.measures import precision_above


def test_by_hand() -> None:
    """Five questions; two share a confidence, one has none."""
    found = precision_above([0.95, 0.90, 0.90, 0.40, math.nan], [True, True, False, False, True])
    assert found["tau"].tolist() == [0.95, 0.90, 0.40]
    assert found["n_above"].tolist() == [1, 3, 4]
    assert found["n_target"].tolist() == [1, 2, 2]
    assert found["precision"].tolist() == pytest.approx([1, 2 / 3, 1 / 2])
    assert found["coverage"].tolist() == pytest.approx([1 / 5, 3 / 5, 4 / 5])
    assert found["n_missing"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_against_a_loop_over_tau(seed: int) -> None:
    """Rounded confidences, so that there are ties; one in ten is missing."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(60).round(1)
    confidence[rng.random(60) < 0.1] = np.nan
    target = rng.random(60) < 0.5
    found = precision_above(confidence, target).set_index("tau")
    assert list(found.index) == sorted(set(confidence[~np.isnan(confidence)]), reverse=True)
    for tau in found.index:
        above = [bool(t) for c, t in zip(confidence, target, strict=True) if c >= tau]
        row = found.loc[tau]
        assert (row.n_above, row.n_target) == (len(above), sum(above))
        assert row.precision == pytest.approx(sum(above) / len(above))
        assert row.coverage == pytest.approx(len(above) / 60)
        low, high = proportion_confint(sum(above), len(above), method="jeffreys")
        assert row.low == pytest.approx(0 if not any(above) else low)
        assert row.high == pytest.approx(1 if all(above) else high)


def test_equal_confidences_are_one_threshold_whatever_their_order() -> None:
    once = precision_above([0.5, 0.5, 0.5], [True, False, False])
    again = precision_above([0.5, 0.5, 0.5], [False, False, True])
    assert once.equals(again)
    assert (len(once), once["precision"][0]) == (1, pytest.approx(1 / 3))


@pytest.mark.parametrize("confidence", [[], [math.nan], [math.nan, math.nan]])
def test_no_confidence_has_no_curve(confidence: list[float]) -> None:
    assert precision_above(confidence, [True] * len(confidence)).empty


def test_one_value_per_question_each() -> None:
    with pytest.raises(ValueError, match="one value per question"):
        precision_above([0.5, 0.6], [True])
