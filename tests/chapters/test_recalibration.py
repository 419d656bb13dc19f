"""Recalibrated confidence: each map against a second way, and no question that teaches its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from srdcr_lab.calibration_in_depth import _isotonic, _platt, recalibrated


def drawn(seed: int = 0, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and outcomes for which they are too high."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1, n)
    return confidence, (rng.random(n) < confidence**3).astype(float)


def test_platt_against_scikit_learn() -> None:
    """Its sigmoid calibration of a classifier whose decision function is the confidence."""

    class Confidence(LogisticRegression):
        def decision_function(self, X):  # type: ignore[no-untyped-def]  # noqa: N803
            return X[:, 0]

    confidence, target = drawn()
    fitted = FrozenEstimator(Confidence().fit(confidence[:, None], target))
    theirs = CalibratedClassifierCV(fitted, method="sigmoid", ensemble=False, cv=2).fit(confidence[:, None], target)
    expected = theirs.predict_proba(confidence[:, None])[:, 1]
    assert _platt(confidence, target)(confidence) == pytest.approx(expected, abs=1e-4)


def test_isotonic_against_scikit_learn() -> None:
    confidence, target = drawn(3)
    assert _isotonic(confidence, target)(confidence) == pytest.approx(IsotonicRegression().fit_transform(*drawn(3)))


def test_no_question_teaches_its_own() -> None:
    """Of each question one row is right and one wrong, at the same confidence: in one fold they say nothing of it."""
    confidence, target = np.repeat(np.linspace(0.1, 0.9, 20), 2), np.tile([1.0, 0.0], 20)
    own = recalibrated(confidence, target, "isotonic", np.repeat(np.arange(20), 2))
    assert own == pytest.approx(np.full(40, 0.5))
    assert set(recalibrated(confidence, target, "isotonic", n_splits=40)) != {0.5}


def test_missing_ones_stay_missing_and_folds_are_seeded() -> None:
    confidence, target = drawn(9, 40)
    values = np.append(confidence, [math.nan, 0.5])
    found = recalibrated(values, [*target, True, None])
    assert np.isnan(found).tolist() == [False] * 40 + [True, True]
    assert found[:40] == pytest.approx(recalibrated(confidence, target))
    first, again, other = (recalibrated(confidence, target, "isotonic", seed=seed) for seed in (0, 0, 1))
    assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_one_class_or_too_few_have_no_recalibration(n: int) -> None:
    assert np.isnan(recalibrated([0.5] * n, [True] * n)).all()
