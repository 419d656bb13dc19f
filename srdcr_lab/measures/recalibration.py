"""Recalibration: from a confidence to the probability of the target, learnt from other questions.

Each recalibration is a scikit-learn classifier of two classes, so it goes into pipelines, searches and scorers.
`cross_fitted` recalibrates every question by the others.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GroupKFold
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from srdcr_lab.measures.calibration import floats, mass_cuts

EDGE = 1e-6  # confidences of exactly 0 and 1 have no log-odds


class Recalibration(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every recalibration shares.

    `X` has a row per unique question, without missing values; its first column holds the confidence. `y` has two
    classes, of which the greater is the target.
    """

    classes_: NDArray[Any]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803
        """Learn from confidences and their targets; `ValueError` unless there are both classes."""
        rows, labels = validate_data(self, X, y)
        check_classification_targets(labels)
        self.classes_, target = np.unique(labels, return_inverse=True)
        if self.classes_.size > 2:
            kind = type_of_target(labels, input_name="y")
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if self.classes_.size < 2:
            raise ValueError("a recalibration is learnt from both classes; these questions have only one class")
        self._learn(np.asarray(rows[:, 0], float), target.astype(float))
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Probability of either class; shape (q, 2), the target's in the second column."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        probability = np.clip(self._probability(np.asarray(rows[:, 0], float)), 0, 1)
        return np.column_stack([1 - probability, probability])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The likelier class of each question."""
        likelier = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[likelier.astype(int)])

    @abstractmethod
    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        """Set what `_probability` needs, from confidences and 0/1 targets of both classes."""

    @abstractmethod
    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the target, for each confidence."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # scikit-learn's checks make up several columns; one says little
        return tags


class PlattScaling(Recalibration):
    """p = 1 / (1 + exp(−(a s + b))), s the confidence [Platt 1999].

    Targets are smoothed: (N₊ + 1)/(N₊ + 2) for 1, 1/(N₋ + 2) for 0; so separated classes have a finite curve.
    """

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.slope_,), self.intercept_ = _logistic_fit(confidence[:, None], target)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(self.slope_ * confidence + self.intercept_))


class BetaCalibration(Recalibration):
    """log-odds of p = a ln c − b ln(1 − c) + m, a, b ≥ 0, fitted like Platt's [Kull, Silva Filho and Flach 2017]."""

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        (self.a_, self.b_), self.m_ = _logistic_fit(self._features(confidence), target, least=0.0)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(self._features(confidence) @ [self.a_, self.b_] + self.m_))

    def _features(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        if ((confidence < 0) | (confidence > 1)).any():
            raise ValueError(f"a confidence lies in [0, 1], got {confidence.min()} to {confidence.max()}")
        inside = np.clip(confidence, EDGE, 1 - EDGE)
        return np.column_stack([np.log(inside), -np.log1p(-inside)])


def _logistic_fit(
    features: NDArray[np.float64], target: NDArray[np.float64], least: float | None = None
) -> tuple[NDArray[np.float64], float]:
    """Coefficients, each at least `least`, and intercept of the curve with least cross-entropy to smoothed targets."""
    n_target = target.sum()
    smoothed = np.where(target == 1, (n_target + 1) / (n_target + 2), 1 / (target.size - n_target + 2))
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    design = np.column_stack([(features - centre) / spread, np.ones(target.size)])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = design @ weights
        entropy = np.logaddexp(0, odds) - smoothed * odds
        return float(entropy.mean()), np.asarray(design.T @ (expit(odds) - smoothed) / target.size)

    bounds = [(least, None)] * features.shape[1] + [(None, None)]
    options = {"gtol": 1e-10, "ftol": 0}
    weights = minimize(loss, np.zeros(design.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    coefficients = weights[:-1] / spread
    return coefficients, float(weights[-1] - coefficients @ centre)


class IsotonicRecalibration(Recalibration):
    """The non-decreasing curve nearest to the targets, flat beyond the confidences seen [Zadrozny and Elkan 2002]."""

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self.curve_ = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(confidence, target)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.curve_.predict(confidence))


class HistogramBinning(Recalibration):
    """The frequency of the target in each of `n_bins` bins of about equally many questions [Zadrozny, Elkan 2001]."""

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self.edges_ = mass_cuts(confidence, self.n_bins)
        place = np.searchsorted(self.edges_, confidence, side="right")
        n, hits = (np.bincount(place, weights, minlength=self.edges_.size + 1) for weights in (None, target))
        self.frequency_ = np.where(n > 0, hits / np.maximum(n, 1), target.mean())

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.frequency_[np.searchsorted(self.edges_, confidence, side="right")])


def cross_fitted(
    estimator: BaseEstimator,
    confidence: ArrayLike,
    target: ArrayLike,
    questions: ArrayLike | None = None,
    *,
    n_splits: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Probability of the target from an estimator fitted on the other folds; shape (q,).

    The estimator is a recalibration, or a `Pipeline` or search that ends in one. Rows of one question (`questions`;
    None: one row each) are in one fold; there are at most as many folds as questions. NaN where confidence or target is
    missing, for a fold whose other folds hold one class only, and where there are fewer than two questions.
    """
    values, labels = floats(confidence), floats(target)
    groups = np.arange(values.size) if questions is None else np.asarray(questions)
    if not values.shape == labels.shape == groups.shape:
        shapes = f"{values.shape}, {labels.shape}, {groups.shape}"
        raise ValueError(f"one confidence, target and question each, got {shapes}")
    probability = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values) & ~np.isnan(labels))
    splits = min(n_splits, np.unique(groups[known]).size)
    if splits < 2:
        return probability
    folds = GroupKFold(splits, shuffle=True, random_state=seed)
    for others, held_out in folds.split(known, groups=groups[known]):
        learnt_from, shown = known[others], known[held_out]
        if np.unique(labels[learnt_from]).size == 2:
            fitted = clone(estimator).fit(values[learnt_from, None], labels[learnt_from].astype(int))
            probability[shown] = fitted.predict_proba(values[shown, None])[:, 1]
    return probability
