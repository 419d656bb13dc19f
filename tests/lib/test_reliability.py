"""Reliability curves, ECE and Brier by hand, against scikit-learn, and by identities that must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from srdcr_lab.lib.calibration import brier, ece, reliability_curve

FEWER = settings(max_examples=60)
QUESTIONS = st.lists(st.tuples(st.integers(0, 20).map(lambda k: k / 20), st.booleans()), min_size=1, max_size=40)


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


def test_every_tenth_opens_its_bin() -> None:
    tenths = [k / 10 for k in range(10)]
    assert reliability_curve(tenths, [True] * 10)["n"].tolist() == [1] * 10


def test_empty_bins_are_shown() -> None:
    curve = reliability_curve([0.95], [True])
    assert curve["n"].tolist() == [0] * 9 + [1]
    assert curve.loc[:8, ["mean_confidence", "frequency", "low", "high"]].isna().all().all()


def test_equal_confidences_are_never_parted() -> None:
    curve = reliability_curve([0.1, 0.9, 0.9, 0.9, 0.9, 0.95], [True] * 6, n_bins=3, bins="mass")
    assert curve["n"].tolist() == [1, 5]


def test_equal_mass_has_equal_counts() -> None:
    confidence, target = drawn(0)
    assert set(reliability_curve(confidence, target, bins="mass")["n"]) == {20}


@pytest.mark.parametrize("bins", ["width", "mass"])
def test_curve_against_scikit_learn(bins: str) -> None:
    """Its bins hold their upper edge, ours their lower one: without ties on an edge they agree."""
    confidence, target = drawn(1)
    frequency, mean = calibration_curve(
        target, confidence, n_bins=8, strategy="uniform" if bins == "width" else "quantile"
    )
    if bins == "width":
        curve = reliability_curve(confidence, target, n_bins=8)
        assert curve["frequency"].tolist() == pytest.approx(frequency.tolist())
        assert curve["mean_confidence"].tolist() == pytest.approx(mean.tolist())
    else:  # its quantiles are interpolated: a question at an edge may change its bin
        curve = reliability_curve(confidence, target, n_bins=8, bins=bins)
        assert curve["mean_confidence"].tolist() == pytest.approx(mean.tolist(), abs=0.01)


def test_a_curve_of_nothing() -> None:
    assert reliability_curve([], [])["n"].tolist() == [0] * 10
    assert reliability_curve([0.3], [None])["n_unlabelled"].tolist() == [1] * 10


@pytest.mark.parametrize("confidence", [1.2, -0.1, math.inf])
def test_a_probability_lies_between_0_and_1(confidence: float) -> None:
    for measure in (reliability_curve, ece, brier):
        with pytest.raises(ValueError, match=r"lies in \[0, 1\]"):
            measure([confidence, 0.5], [True, False])


def test_a_target_is_true_or_false() -> None:
    with pytest.raises(ValueError, match="true or false"):
        reliability_curve([0.5], [0.3])


# -- ECE -------------------------------------------------------------------------------------------------------------


def test_ece_by_hand() -> None:
    """Two bins of two: |0.5 − 0.3| and |1 − 0.75|, each with weight ½."""
    found = ece([0.2, 0.4, 0.5, 1.0], [False, True, True, True], n_bins=2)
    assert found.value == pytest.approx(0.5 * 0.2 + 0.5 * 0.25)
    assert found.curve["n"].tolist() == [2, 2]


@pytest.mark.parametrize("bins", ["width", "mass"])
def test_ece_question_by_question(bins: str) -> None:
    confidence, target = drawn(2)
    found = ece(confidence, target, bins=bins, n_boot=50)
    total = 0.0
    for row in found.curve.itertuples():
        inside = (confidence >= row.left) & ((confidence < row.right) | (row.right == 1))
        total += abs(target[inside].sum() - confidence[inside].sum())
    assert found.value == pytest.approx(total / 200)


def test_debiased_against_resampling() -> None:
    """Kumar, Liang and Ma draw the frequencies; the mean of 200,000 draws is the closed form."""
    confidence, target = drawn(3, 60)
    found = ece(confidence, target, n_bins=5, n_boot=20)
    n, frequency, mean = (found.curve[name].to_numpy(float) for name in ("n", "frequency", "mean_confidence"))
    rng = np.random.default_rng(0)
    redrawn = rng.normal(frequency, np.sqrt(frequency * (1 - frequency) / n), (200_000, 5))
    bias = (np.abs(redrawn - mean) @ n / 60).mean() - found.value
    assert found.debiased == pytest.approx(found.value - bias, abs=5e-4)


def test_debiased_is_nearer_to_the_truth() -> None:
    """A calibrated confidence has ECE 0, over 50 seeds of 100 questions."""
    both = [(found.value, found.debiased) for found in (ece(*drawn(s, 100, 1.0), n_boot=1) for s in range(50))]
    plug_in, debiased = np.mean(both, axis=0)
    assert debiased < 0.75 * plug_in


def test_calibrated_and_not() -> None:
    calibrated, squared = ece(*drawn(4, 300, 1.0)), ece(*drawn(4, 300, 2.0))
    assert (calibrated.p_calibrated > 0.05, calibrated.low) == (True, 0)
    assert squared.p_calibrated < 0.01
    assert squared.low < 1 / 6 < squared.high  # ∫ (c − c²) dc


def test_the_interval_is_seeded() -> None:
    confidence, target = drawn(5)
    first, again, other = (ece(confidence, target, seed=seed) for seed in (0, 0, 1))
    assert (first.low, first.high) == (again.low, again.high) != (other.low, other.high)


def test_one_class_and_nothing() -> None:
    assert ece([1.0, 1.0], [True, True]).value == 0
    assert ece([1.0, 1.0], [False, False]).value == 1
    nothing = ece([math.nan], [True])
    assert math.isnan(nothing.value)
    assert (nothing.n, nothing.n_missing, len(nothing.curve)) == (0, 1, 10)


# -- Brier -----------------------------------------------------------------------------------------------------------


def test_brier_by_hand() -> None:
    """Murphy: two confidences, 0.8 right 3 of 4 times, 0.2 right 0 of 2 times; p = ½."""
    found = brier([0.8] * 4 + [0.2] * 2, [True] * 3 + [False] * 3, n_bins=None)
    assert found.value == pytest.approx((3 * 0.04 + 0.64 + 2 * 0.04) / 6)
    assert found.reliability == pytest.approx((4 * 0.05**2 + 2 * 0.2**2) / 6)
    assert found.resolution == pytest.approx((4 * 0.25**2 + 2 * 0.5**2) / 6)
    assert (found.uncertainty, found.within_bin) == pytest.approx((0.25, 0))


@FEWER
@given(QUESTIONS, st.sampled_from([None, 1, 3, 10]), st.sampled_from(["width", "mass"]))
def test_the_parts_add_up(questions: list[tuple[float, bool]], n_bins: int | None, bins: str) -> None:
    confidence, target = zip(*questions, strict=True)
    found = brier(confidence, target, n_bins=n_bins, bins=bins, n_boot=1)
    assert found.value == pytest.approx(brier_score_loss(target, confidence))
    assert found.value == pytest.approx(
        found.reliability - found.resolution + found.uncertainty + found.within_bin, abs=1e-12
    )
    assert n_bins is not None or found.within_bin == pytest.approx(0, abs=1e-12)


def test_the_interval_of_a_mean() -> None:
    """The bootstrap's against the normal approximation."""
    confidence, target = drawn(6, 400)
    found = brier(confidence, target, n_boot=4000)
    loss = (confidence - target) ** 2
    half = 1.96 * loss.std() / 20
    assert [found.low, found.high] == pytest.approx([loss.mean() - half, loss.mean() + half], abs=0.003)


def test_brier_of_one_class_and_of_nothing() -> None:
    certain = brier([0.9, 0.7], [True, True])
    assert (certain.uncertainty, certain.resolution) == (0, 0)
    assert math.isnan(brier([], []).value)
