"""Recalibrated confidence of every question from the other questions: no question teaches its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold

from srdcr_lab.measures.calibration.pairs import floats


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

    Parameters
    ----------
    estimator : a recalibration, or a `Pipeline` or search that ends in one; it is cloned for each fold.
    confidence, target : shape (q,); where either is missing the result is NaN.
    questions : shape (q,), question_id of each row; rows of one question are always in one fold. None: one row each.
    n_splits : folds, at most as many as there are questions; seeded.

    Returns
    -------
    NaN, too, for a fold whose other folds hold one class only, and where there are fewer than two questions.

    Source: cross-fitting as in scikit-learn's `CalibratedClassifierCV`, with `GroupKFold`.
    """
    values, labels = floats(confidence), floats(target)
    groups = np.arange(values.size) if questions is None else np.asarray(questions)
    if not values.shape == labels.shape == groups.shape:
        raise ValueError(
            f"one confidence, target and question each, got {values.shape}, {labels.shape}, {groups.shape}"
        )
    found = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values) & ~np.isnan(labels))
    splits = min(n_splits, np.unique(groups[known]).size)
    if splits < 2:
        return found
    folds = GroupKFold(splits, shuffle=True, random_state=seed)
    for others, held_out in folds.split(known, groups=groups[known]):
        learnt_from, shown = known[others], known[held_out]
        if np.unique(labels[learnt_from]).size == 2:
            fitted = clone(estimator).fit(values[learnt_from, None], labels[learnt_from].astype(int))
            found[shown] = fitted.predict_proba(values[shown, None])[:, 1]
    return found
