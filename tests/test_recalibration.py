"""Recalibrations as scikit-learn estimators, and each against a second way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from srdcr_lab.calibration_in_depth import (
    BetaCalibration,
    HistogramBinning,
    IsotonicRecalibration,
    PlattScaling,
    cross_fitted,
)
from srdcr_lab.lib.calibration import ece

EVERY = [PlattScaling(), IsotonicRecalibration(), BetaCalibration(), HistogramBinning()]


def drawn(seed: int = 0, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident: right with probability confidence³."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1, n)
    return confidence[:, None], rng.random(n) < confidence**3


class BetaOfAnyNumber(BetaCalibration):
    """The checks feed any real number; a beta calibration takes confidences: squash them before."""

    def _learn(self, confidence: np.ndarray, target: np.ndarray) -> None:
        super()._learn(expit(confidence), target)

    def _probability(self, confidence: np.ndarray) -> np.ndarray:
        return super()._probability(expit(confidence))


@pytest.mark.parametrize(
    "estimator", [PlattScaling(), IsotonicRecalibration(), HistogramBinning(), BetaOfAnyNumber()], ids=repr
)
def test_scikit_learns_own_checks(estimator) -> None:  # type: ignore[no-untyped-def]
    results = check_estimator(estimator, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 50


# -- each against a second way ---------------------------------------------------------------------------------------


def test_platt_against_scikit_learn() -> None:
    """Its sigmoid calibration of a classifier whose decision function is the confidence."""

    class Confidence(LogisticRegression):
        def decision_function(self, X):  # type: ignore[no-untyped-def]  # noqa: N803
            return X[:, 0]

    confidence, target = drawn()
    told = FrozenEstimator(Confidence().fit(confidence, target))
    theirs = CalibratedClassifierCV(told, method="sigmoid", ensemble=False, cv=2).fit(confidence, target)
    ours = PlattScaling().fit(confidence, target)
    assert ours.predict_proba(confidence) == pytest.approx(theirs.predict_proba(confidence), abs=1e-4)


def test_platt_of_two_confidences_by_hand() -> None:
    """Two confidences, two parameters: each gets the mean of its smoothed targets, 1 → 5/6, 0 → 1/6 (N₊ = N₋ = 4)."""
    confidence = np.array([[0.9]] * 4 + [[0.2]] * 4)
    target = [True, True, True, False, True, False, False, False]
    found = PlattScaling().fit(confidence, target).predict_proba([[0.9], [0.2]])[:, 1]
    assert found == pytest.approx([(3 * 5 / 6 + 1 / 6) / 4, (5 / 6 + 3 / 6) / 4], abs=1e-6)


def test_beta_against_another_optimiser() -> None:
    """Nelder–Mead on the likelihood as the paper writes it, a and b as squares."""
    confidence, target = drawn(1)
    c, n = confidence[:, 0], target.sum()
    smoothed = np.where(target, (n + 1) / (n + 2), 1 / (target.size - n + 2))

    def loss(parts: np.ndarray) -> float:
        odds = parts[0] ** 2 * np.log(c) - parts[1] ** 2 * np.log(1 - c) + parts[2]
        return float(np.mean(np.logaddexp(0, odds) - smoothed * odds))

    best = minimize(loss, [1, 1, 0], method="Nelder-Mead", options={"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-13})
    found = BetaCalibration().fit(confidence, target)
    assert [found.a_, found.b_, found.m_] == pytest.approx([best.x[0] ** 2, best.x[1] ** 2, best.x[2]], abs=2e-3)


def test_beta_never_falls() -> None:
    """Where less confident is better the constraint makes it flat."""
    confidence, target = drawn(2)
    found = BetaCalibration().fit(confidence, ~target)
    curve = found.predict_proba(np.linspace(0, 1, 50)[:, None])[:, 1]
    assert (np.diff(curve) >= 0).all()
    assert curve == pytest.approx(np.mean(~target), abs=0.01)


def test_isotonic_against_scikit_learn() -> None:
    confidence, target = drawn(3)
    found = IsotonicRecalibration().fit(confidence, target).predict_proba(confidence)[:, 1]
    assert found == pytest.approx(IsotonicRegression().fit_transform(confidence[:, 0], target))


def test_histogram_by_hand() -> None:
    """Two bins of three: 1 of 3, then 2 of 3."""
    confidence = np.array([0.3, 0.4, 0.45, 0.6, 0.7, 0.9])[:, None]
    target = [True, False, False, True, True, False]
    halves = HistogramBinning(n_bins=2).fit(confidence, target)
    assert halves.predict_proba([[0.1], [0.44], [0.95]])[:, 1] == pytest.approx([1 / 3, 1 / 3, 2 / 3])


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_the_recalibrated_are_calibrated(estimator) -> None:  # type: ignore[no-untyped-def]
    confidence, target = drawn(4, 2000)
    fitted = estimator.fit(*drawn(5, 2000))
    before, after = ece(confidence[:, 0], target), ece(fitted.predict_proba(confidence)[:, 1], target)
    assert before.debiased > 0.1
    assert after.debiased < before.debiased / 3


# -- what may go wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_one_class_only(estimator) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="only one class"):
        estimator.fit([[0.4], [0.9]], [True, True])


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_a_missing_confidence_is_refused(estimator) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit([[0.4], [math.nan]], [True, False])


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_separated_classes_and_the_ends_of_the_range(estimator) -> None:  # type: ignore[no-untyped-def]
    fitted = estimator.fit([[0.0], [0.1], [0.9], [1.0]], [False, False, True, True])
    found = fitted.predict_proba([[0.0], [0.5], [1.0]])
    assert np.isfinite(found).all()
    assert found[0, 1] < 0.5 < found[2, 1]


def test_log_odds_take_probabilities() -> None:
    with pytest.raises(ValueError, match=r"lies in \[0, 1\]"):
        BetaCalibration().fit([[1.2], [0.3]], [True, False])


# -- as parts of scikit-learn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_in_a_pipeline(estimator) -> None:  # type: ignore[no-untyped-def]
    """From the paper's log form to probabilities."""
    confidence, target = drawn(6)
    pipeline = make_pipeline(FunctionTransformer(np.exp), estimator).fit(np.log(confidence), target)
    assert pipeline.predict_proba(np.log(confidence)) == pytest.approx(
        estimator.fit(confidence, target).predict_proba(confidence), abs=1e-6
    )


def test_in_a_search_over_bins_and_kinds() -> None:
    """The second kind is noise: the search finds the first, scored question by question."""
    confidence, target = drawn(7)
    kinds = np.column_stack([confidence[:, 0], np.random.default_rng(0).random(target.size)])
    first, second = (ColumnTransformer([("kind", "passthrough", [column])]) for column in (0, 1))
    search = GridSearchCV(
        Pipeline([("kind", first), ("binning", HistogramBinning())]),
        {"binning__n_bins": [2, 5, 100], "kind": [first, second]}, scoring="neg_brier_score", cv=GroupKFold(5),
    ).fit(kinds, target, groups=np.arange(target.size))  # fmt: skip
    assert search.best_params_["kind"] is first
    assert search.best_params_["binning__n_bins"] < 100


def test_search_inside_cross_fitting() -> None:
    confidence, target = drawn(8)
    search = GridSearchCV(HistogramBinning(), {"n_bins": [2, 5]}, scoring="neg_brier_score", cv=3)
    found = cross_fitted(search, confidence[:, 0], target)
    assert log_loss(target, found) < log_loss(target, confidence[:, 0])


# -- cross-fitting ---------------------------------------------------------------------------------------------------


class Remembers(IsotonicRecalibration):
    """Says 1 for a confidence it has learnt from, else 0."""

    def _learn(self, confidence: np.ndarray, target: np.ndarray) -> None:
        self.seen_ = confidence

    def _probability(self, confidence: np.ndarray) -> np.ndarray:
        return np.isin(confidence, self.seen_).astype(float)


def test_no_question_teaches_its_own() -> None:
    """Two rows of each question share a confidence: neither is learnt from when the other is shown."""
    confidence = np.repeat(np.linspace(0.1, 0.9, 20), 2)
    target, questions = np.tile([True, False], 20), np.repeat(np.arange(20), 2)
    assert cross_fitted(Remembers(), confidence, target, questions).tolist() == [0.0] * 40
    assert cross_fitted(Remembers(), confidence, target, n_splits=40).tolist() == [1.0] * 40


def test_missing_ones_stay_missing() -> None:
    confidence, target = drawn(9, 40)
    values = np.append(confidence[:, 0], [math.nan, 0.5])
    found = cross_fitted(PlattScaling(), values, [*target, True, None])
    assert np.isnan(found).tolist() == [False] * 40 + [True, True]
    assert found[:40] == pytest.approx(cross_fitted(PlattScaling(), confidence[:, 0], target))


def test_folds_are_seeded() -> None:
    confidence, target = drawn(10, 60)
    first, again, other = (cross_fitted(IsotonicRecalibration(), confidence[:, 0], target, seed=s) for s in (0, 0, 1))
    assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_one_class_or_too_few_have_no_recalibration(n: int) -> None:
    assert np.isnan(cross_fitted(PlattScaling(), [0.5] * n, [True] * n)).all()


def test_one_target_per_confidence() -> None:
    with pytest.raises(ValueError, match="one "):
        cross_fitted(PlattScaling(), [0.5, 0.6], [True])
