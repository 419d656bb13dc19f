"""Reliability curves, and ECE by hand, against scikit-learn, and by identities that must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from srdcr_lab.lib.calibration import ece, reliability_curve


def drawn(seed: int, n: int = 200, power: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and a target whose frequency is confidence ** power."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(n)
    return confidence, rng.random(n) < confidence**power


# -- the curve -------------------------------------------------------------------------------------------------------


def test_curve_by_hand() -> None:
    """0.5 belongs to the upper bin, like Conf ≥ 0.5; 1 to the last."""
    curve = reliability_curve([0.2, 0.4, 0.5, 1.0, math.nan], [False, True, True, True, True], n_bins=2)
    assert curve[["left", "right"]].to_numpy().tolist() == [[0, 0.5], [0.5, 1]]
    assert curve["n"].tolist() == [2, 2]
    assert curve["n_target"].tolist() == [1, 2]
    assert curve["mean_confidence"].tolist() == pytest.approx([0.3, 0.75])
    assert curve["frequency"].tolist() == [0.5, 1]
    assert curve["n_missing"].tolist() == [1, 1]


def test_empty_bins_are_shown() -> None:
    curve = reliability_curve([0.95], [True])
    assert curve["n"].tolist() == [0] * 9 + [1]
    assert curve.loc[:8, ["mean_confidence", "frequency", "low", "high"]].isna().all().all()


def test_curve_against_scikit_learn() -> None:
    """Its bins hold their upper edge, ours their lower one: without ties on an edge they agree."""
    confidence, target = drawn(1)
    frequency, mean = calibration_curve(target, confidence, n_bins=8)
    curve = reliability_curve(confidence, target, n_bins=8)
    assert curve["frequency"].tolist() == pytest.approx(frequency.tolist())
    assert curve["mean_confidence"].tolist() == pytest.approx(mean.tolist())


def test_a_curve_of_nothing() -> None:
    assert reliability_curve([], [])["n"].tolist() == [0] * 10
    assert reliability_curve([0.3], [None])["n_unlabelled"].tolist() == [1] * 10


@pytest.mark.parametrize("confidence", [1.2, -0.1, math.inf])
def test_a_probability_lies_between_0_and_1(confidence: float) -> None:
    for measure in (reliability_curve, ece):
        with pytest.raises(ValueError, match=r"lies in \[0, 1\]"):
            measure([confidence, 0.5], [True, False])


# -- ECE -------------------------------------------------------------------------------------------------------------


def test_ece_by_hand() -> None:
    """Two bins of two: |0.5 − 0.3| and |1 − 0.75|, each with weight ½."""
    found = ece([0.2, 0.4, 0.5, 1.0], [False, True, True, True], n_bins=2)
    assert found.value == pytest.approx(0.5 * 0.2 + 0.5 * 0.25)
    assert found.curve["n"].tolist() == [2, 2]


def test_debiased_against_resampling() -> None:
    """Kumar, Liang and Ma draw the frequencies; the mean of 200,000 draws is the closed form."""
    confidence, target = drawn(3, 60)
    found = ece(confidence, target, n_bins=5, n_boot=20)
    n, frequency, mean = (found.curve[name].to_numpy(float) for name in ("n", "frequency", "mean_confidence"))
    rng = np.random.default_rng(0)
    redrawn = rng.normal(frequency, np.sqrt(frequency * (1 - frequency) / n), (200_000, 5))
    bias = (np.abs(redrawn - mean) @ n / 60).mean() - found.value
    assert found.debiased == pytest.approx(found.value - bias, abs=5e-4)


def test_calibrated_and_not() -> None:
    calibrated, squared = ece(*drawn(4, 300, 1.0)), ece(*drawn(4, 300, 2.0))
    assert (calibrated.p_calibrated > 0.05, calibrated.low) == (True, 0)
    assert squared.p_calibrated < 0.01
    assert squared.low < 1 / 6 < squared.high  # ∫ (c − c²) dc


def test_one_class_and_nothing() -> None:
    assert ece([1.0, 1.0], [True, True]).value == 0
    assert ece([1.0, 1.0], [False, False]).value == 1
    nothing = ece([math.nan], [True])
    assert math.isnan(nothing.value)
    assert (nothing.n, nothing.n_missing, len(nothing.curve)) == (0, 1, 10)
