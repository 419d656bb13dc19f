"""How far confidence tells what is known: P(Highly-Known | Conf ≥ τ) [4.2]."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.knowledge import jeffreys_interval


def precision_above(confidence: ArrayLike, target: ArrayLike, level: float = 0.95) -> pd.DataFrame:
    """P(target | Conf ≥ τ) = |target ∩ C(τ)| / |C(τ)| for every τ at which it can change.

    Parameters
    ----------
    confidence : shape (q,), one value per *unique question*, in [0, 1]; NaN is never ≥ τ, and those questions are
        counted in `n_missing`.
    target : shape (q,), bool; with `knowledge_category == HIGHLY_KNOWN` this is the paper's curve.

    Returns
    -------
    DataFrame with one row per distinct confidence, descending: `tau`, `n_above` = |C(τ)|, `n_target`, `precision`,
    `low`, `high` (Jeffreys), `coverage` = |C(τ)| / q, `n_missing`. Empty where no confidence is known.
    """
    confidence, target = np.asarray(confidence, float), np.asarray(target, bool)
    if confidence.shape != target.shape or confidence.ndim != 1:
        raise ValueError(
            f"confidence and target are one value per question each, got {confidence.shape} and {target.shape}"
        )
    known = ~np.isnan(confidence)
    order = np.argsort(-confidence[known], kind="stable")
    values, hits = confidence[known][order], np.cumsum(target[known][order])
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True)) if values.size else np.array([], dtype=int)
    n_above, n_target = last + 1, hits[last]
    low, high = jeffreys_interval(n_target, n_above, level)
    return pd.DataFrame(
        {
            "tau": values[last],
            "n_above": n_above,
            "n_target": n_target,
            "precision": n_target / n_above,
            "low": low,
            "high": high,
            "coverage": n_above / max(confidence.size, 1),
            "n_missing": int((~known).sum()),
        }
    )
