"""Recalibration by steps: isotonic regression and histogram binning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from srdcr_lab.measures.calibration.reliability import Bins, mass_cuts
from srdcr_lab.measures.recalibration.base import Recalibration


class IsotonicRecalibration(Recalibration):
    """The non-decreasing curve nearest to the targets; between questions it is interpolated, beyond them it is flat.

    Source: Zadrozny and Elkan 2002; scikit-learn's `IsotonicRegression`.
    """

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        self.curve_ = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(confidence, target)

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.curve_.predict(confidence))


class HistogramBinning(Recalibration):
    """In each bin of confidence the frequency of the target there; that of all questions in a bin without any.

    Parameters
    ----------
    n_bins : at most so many; equal confidences are never parted.
    bins : "mass" for about equally many questions a bin, "width" for [0, 1] cut equally.

    Source: Zadrozny and Elkan 2001.
    """

    def __init__(self, n_bins: int = 10, bins: str = "mass", column: int = 0) -> None:
        super().__init__(column)
        self.n_bins = n_bins
        self.bins = bins

    def _learn(self, confidence: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        equal_mass = Bins(self.bins) is Bins.MASS
        self.edges_ = mass_cuts(confidence, self.n_bins) if equal_mass else np.arange(1, self.n_bins) / self.n_bins
        place = self._bin(confidence)
        n = np.bincount(place, minlength=self.edges_.size + 1)
        hits = np.bincount(place, target, minlength=self.edges_.size + 1)
        self.frequency_ = np.where(n > 0, hits / np.maximum(n, 1), target.mean())

    def _probability(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.frequency_[self._bin(confidence)])

    def _bin(self, confidence: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.searchsorted(self.edges_, confidence, side="right")
