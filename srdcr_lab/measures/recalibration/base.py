"""What every recalibration is: a scikit-learn classifier of two classes from one column, the confidence."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data


class Recalibration(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """From a confidence to the probability of the target, learnt from questions of both classes.

    `X` has a row per unique question, of the shape (q, k) and without missing values; `column` is the one that holds
    the confidence, so that a search may choose among kinds. `y` has two classes, of which the greater is the target.
    After `fit`: `classes_`, `n_features_in_`.
    """

    classes_: NDArray[Any]

    def __init__(self, column: int = 0) -> None:
        self.column = column

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
        self._learn(np.asarray(rows[:, self.column], float), target.astype(float))
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Probability of either class; shape (q, 2), the target's in the second column."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        probability = np.clip(self._probability(np.asarray(rows[:, self.column], float)), 0, 1)
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
        tags.classifier_tags.poor_score = True  # one column of the several that its checks make up says little
        return tags
