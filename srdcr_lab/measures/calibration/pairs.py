"""Confidence and target of unique questions, with what is missing counted: the input of every measure beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions that have a target, those with a confidence first.

    `confidence` and `target` (0 or 1) have the shape (n,); `n_missing` questions have a target and no confidence,
    `n_unlabelled` have no target and are in no other number.
    """

    confidence: NDArray[np.float64]
    target: NDArray[np.float64]
    n_missing: int
    n_unlabelled: int

    @property
    def n(self) -> int:
        return self.confidence.size

    @property
    def n_target(self) -> int:
        return int(self.target.sum())

    @property
    def has_both_classes(self) -> bool:
        return 0 < self.n_target < self.n


def pairs(confidence: ArrayLike, target: ArrayLike, *, probabilities: bool = False) -> Pairs:
    """One confidence and one target per question, without those that lack either.

    Parameters
    ----------
    confidence : shape (q,); NaN or None where there is none. Any real number, unless `probabilities`: then in [0, 1].
    target : shape (q,), bool; missing (None, NaN, NA) where it is not known, as without knowledge draws.

    Raises
    ------
    ValueError
        The shapes differ, a target is neither true nor false, or a confidence is infinite or outside [0, 1].
    """
    values, labels = floats(confidence), floats(target)
    if values.shape != labels.shape or values.ndim != 1:
        raise ValueError(f"confidence and target are one value per question each, got {values.shape}, {labels.shape}")
    labelled = ~np.isnan(labels)
    known = labelled & ~np.isnan(values)
    kept, hits = values[known], labels[known]
    if not ((hits == 0) | (hits == 1)).all():
        raise ValueError("a target is true or false for each question")
    if np.isinf(kept).any() or (probabilities and ((kept < 0) | (kept > 1)).any()):
        raise ValueError(f"a confidence lies in [0, 1], got {kept.min()} to {kept.max()}")
    return Pairs(kept, hits, int(labelled.sum() - known.sum()), int(labels.size - labelled.sum()))


def floats(values: ArrayLike) -> NDArray[np.float64]:
    """Numbers or truth values as floats; None and NA become NaN."""
    array = np.asarray(values)
    if array.dtype.kind in "bfiu":
        return array.astype(float)
    return np.asarray(pd.array(array).to_numpy(float, na_value=np.nan), float)  # None, pd.NA
