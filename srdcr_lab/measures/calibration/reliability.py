"""Reliability curves: how often the target holds among questions of about the same confidence."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration.pairs import pairs
from srdcr_lab.measures.knowledge import jeffreys_interval


class Bins(StrEnum):
    """How [0, 1] is cut: into bins of equal width, or of about equally many questions."""

    WIDTH = "width"
    MASS = "mass"


def bin_edges(confidence: NDArray[np.float64], n_bins: int, bins: Bins | str = Bins.WIDTH) -> NDArray[np.float64]:
    """Edges from 0 to 1, ascending, at most n_bins + 1: equal confidences are never parted, so MASS may give fewer."""
    if n_bins < 1:
        raise ValueError(f"a curve has at least one bin, got {n_bins}")
    if Bins(bins) is Bins.WIDTH or not confidence.size:
        return np.arange(n_bins + 1) / n_bins
    inner = mass_cuts(confidence, n_bins)
    return np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])


def mass_cuts(confidence: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """The confidences that open the second, third … of n_bins bins of about equally many questions, without repeats."""
    first = -(-confidence.size * np.arange(1, n_bins) // n_bins)  # rounded up
    return np.unique(np.sort(confidence)[first[first < confidence.size]])


def bin_of(confidence: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The bin of each confidence: from its lower edge, inclusive like Conf ≥ τ, to below the next; the last holds 1."""
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, edges.size - 2)


def reliability_curve(
    confidence: ArrayLike,
    target: ArrayLike,
    *,
    n_bins: int = 10,
    bins: Bins | str = Bins.WIDTH,
    level: float = 0.95,
) -> pd.DataFrame:
    """Share of the target in each bin of confidence.

    Parameters
    ----------
    confidence : shape (q,), in [0, 1], one per unique question; missing ones are left out and counted.
    target : shape (q,), bool or missing.

    Returns
    -------
    DataFrame with one row per bin, ascending, empty ones included: `left` ≤ Conf < `right` (the last bin holds 1),
    `n`, `n_target`, `mean_confidence`, `frequency` = n_target / n, `low`, `high` (Jeffreys); NaN where n = 0; and the
    `n_missing`, `n_unlabelled` of all.
    """
    given = pairs(confidence, target, probabilities=True)
    edges = bin_edges(given.confidence, n_bins, bins)
    place = bin_of(given.confidence, edges)
    n, hits, total = (
        np.bincount(place, weights, minlength=edges.size - 1) for weights in (None, given.target, given.confidence)
    )
    low, high = jeffreys_interval(hits, n, level)
    filled = np.where(n > 0, n, np.nan)
    return pd.DataFrame(
        {
            "left": edges[:-1],
            "right": edges[1:],
            "n": n,
            "n_target": hits.astype(int),
            "mean_confidence": total / filled,
            "frequency": hits / filled,
            "low": low,
            "high": high,
            "n_missing": given.n_missing,
            "n_unlabelled": given.n_unlabelled,
        }
    )
