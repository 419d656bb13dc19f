"""Reliability curves, ECE and AUROC: by hand, against libraries, and by identities that must hold."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, t
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from srdcr_lab.confidence import auroc
from srdcr_lab.lib.calibration import ece, known_pairs, reliability_curve


def drawn(seed: int, n: int = 200, power: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and a target whose frequency is confidence ** power."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(n)
    return confidence, rng.random(n) < confidence**power


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


@pytest.mark.parametrize("confidence", [1.2, -0.1, math.inf])
def test_a_probability_lies_between_0_and_1(confidence: float) -> None:
    for measure in (reliability_curve, ece):
        with pytest.raises(ValueError, match=r"a confidence is (finite|from 0 to 1)"):
            measure([confidence, 0.5], [True, False])


def test_ece_by_hand() -> None:
    """Two bins of two: |0.5 − 0.3| and |1 − 0.75|, each with weight ½."""
    found = ece([0.2, 0.4, 0.5, 1.0], [False, True, True, True], n_bins=2)
    half = 1.96 * math.sqrt(2 * (1 / 4 + 5 / 36 + 2 * 0.025**2)) / 4  # f̃ are 1/2 and 5/6, the gaps 0.225 ∓ 0.025
    assert (found.n, found.high) == pytest.approx((4, found.value + half), abs=1e-4)


def test_debiased_against_resampling() -> None:
    """Kumar, Liang and Ma draw the frequencies; the mean of 200,000 draws is the closed form."""
    confidence, target = drawn(3, 60)
    found = ece(confidence, target, n_bins=5, n_boot=20)
    curve = reliability_curve(confidence, target, n_bins=5)
    n, frequency, mean = (curve[name].to_numpy(float) for name in ("n", "frequency", "mean_confidence"))
    rng = np.random.default_rng(0)
    redrawn = rng.normal(frequency, np.sqrt(frequency * (1 - frequency) / n), (200_000, 5))
    plug_in = np.abs(frequency - mean) @ n / 60
    assert found.value == pytest.approx(2 * plug_in - (np.abs(redrawn - mean) @ n / 60).mean(), abs=5e-4)


def test_calibrated_and_not() -> None:
    calibrated, squared = ece(*drawn(4, 300, 1.0)), ece(*drawn(4, 300, 2.0))
    assert calibrated.low == 0
    assert 0 < squared.low < 1 / 6 < squared.high  # ∫ (c − c²) dc


def test_one_class_and_nothing() -> None:
    assert ece([1.0, 1.0], [True, True]).value == 0
    assert ece([1.0, 1.0], [False, False]).value == 1
    assert str(ece([math.nan], [True])) == "–"


def rounded(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Confidences with ties, and a target that goes with them."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(n).round(1)
    return confidence, rng.random(n) < 0.2 + 0.6 * confidence


def test_auroc_by_hand() -> None:
    """0.9 beats both without the target, 0.7 one of two: 3 of 4 pairs."""
    found = auroc([0.9, 0.8, 0.7, 0.6], [True, False, True, False])
    assert (found.value, found.n) == (0.75, 4)


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
    quantile = t.ppf(0.975, min(kernel.shape) - 1)
    log_odds, half = math.log(area / (1 - area)), quantile * math.sqrt(variance) / (area * (1 - area))
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
    thrice = np.repeat(right, 3)  # of the same questions
    assert auroc(thrice, thrice, np.repeat(np.arange(20), 3)).low == pytest.approx(found.low)


def test_without_the_target_there_is_none() -> None:
    for confidence in ([], [0.4, 0.6], [math.nan]):
        found = auroc(confidence, [False] * len(confidence))
        assert math.isnan(found.value)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_missing_ones_are_left_out_and_counted() -> None:
    whole = auroc([0.9, 0.8, 0.7], [True, False, True])
    some = [0.9, 0.8, 0.7, math.nan, 0.1], [True, False, True, False, None]
    assert known_pairs(*some)[-1] == {"n": 3, "n_target": 2, "n_missing": 1, "n_unlabelled": 1}
    assert auroc(*some) == whole
    with pytest.raises(ValueError, match=r"a target is true or false \(1 or 0\), got 2"):
        auroc([0.9, 0.8], [2, 1])
