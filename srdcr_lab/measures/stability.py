"""How stable categories are: on a fresh set of draws, and on random subsets of the draws at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from srdcr_lab.measures.calibration.estimate import bootstrapped, percentile_interval
from srdcr_lab.measures.knowledge import (
    CATEGORIES,
    HIGHLY_KNOWN_FROM,
    MAYBE_KNOWN_FROM,
    category_counts,
    subset_categories,
)

SIZES = (4, 8, 12, 16, 20, 24, 28, 32)


def redraw_transitions(
    totals: ArrayLike,
    n_draws: int = 32,
    *,
    highly_from: float = HIGHLY_KNOWN_FROM,
    maybe_from: float = MAYBE_KNOWN_FROM,
) -> pd.DataFrame:
    """From which category to which a question would go on a fresh set of N draws.

    P(k′ right | k of N right) is beta-binomial, by Jeffreys' posterior of each question.

    Parameters
    ----------
    totals : shape (q,), right draws of each question, 0 … N.

    Returns
    -------
    DataFrame, one row per category now × category again: `now`, `again`, `n` questions now, `share` of them expected
    there (NaN for n = 0). The sum over again ≠ now, weighted by n, is the expected number of changed labels.

    Source: ours.
    """
    k = np.asarray(totals, int)
    labels = category_counts(n_draws, highly_from=highly_from, maybe_from=maybe_from)
    one_hot = np.eye(len(CATEGORIES))[labels]
    again = _predictive(n_draws) @ one_hot  # (total now, category again)
    rows = []
    for i, now in enumerate(CATEGORIES):
        here = k[labels[k] == i]
        shares = again[here].mean(axis=0) if here.size else np.full(len(CATEGORIES), np.nan)
        rows += [(now.value, of.value, here.size, shares[j]) for j, of in enumerate(CATEGORIES)]
    return pd.DataFrame(rows, columns=["now", "again", "n", "share"])


def _predictive(n: int) -> NDArray[np.float64]:
    """P(k′ of n right | k of n right), at [k, k′]."""
    now, again = np.arange(n + 1)[:, None], np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(again + 1) - gammaln(n - again + 1)
    a, b = now + 0.5, n - now + 0.5
    return np.asarray(np.exp(ways + betaln(again + a, n - again + b) - betaln(a, b)))


def random_subsets(
    draws: ArrayLike,
    sizes: Sequence[int] = SIZES,
    *,
    n_subsets: int = 10,
    seed: int = 0,
    level: float = 0.95,
    highly_from: float = HIGHLY_KNOWN_FROM,
    maybe_from: float = MAYBE_KNOWN_FROM,
) -> pd.DataFrame:
    """Changed labels on random subsets, without replacement, of each question's draws: the "10 random subsets" check.

    Parameters
    ----------
    draws : shape (q, N), bool: each draw is right.
    n_subsets : subsets of each size, drawn for each question by itself, seeded.

    Returns
    -------
    DataFrame, one row per size: `n` questions, `n_subsets`; `changed`, the share of labels that differ from that of
    all N draws, with `least` and `most` over the subsets; `ever_changed`, the share of questions that change in at
    least one of them; `expected`, the share over all subsets (hypergeometric), with `low` and `high` (bootstrap over
    questions, seeded). NaN for no question.

    Source: the check proposed in the summary of the paper (sampling stability); expectation ours.
    """
    right = np.asarray(draws, bool)
    q, n = right.shape
    totals = right.sum(axis=1)
    full = category_counts(n, highly_from=highly_from, maybe_from=maybe_from)[totals]
    rng = np.random.default_rng(seed)
    rows = []
    for size in sizes:
        labels = category_counts(size, highly_from=highly_from, maybe_from=maybe_from)
        exact = subset_categories(n, size, highly_from=highly_from, maybe_from=maybe_from)
        lost = np.maximum(1 - exact[totals, full], 0)
        changed = np.array(
            [labels[rng.permuted(right, axis=1)[:, :size].sum(axis=1)] != full for _ in range(n_subsets)]
        ).reshape(n_subsets, q)
        if q == 0:
            rows.append((size, 0, n_subsets, *[np.nan] * 7))
            continue
        resampled = bootstrapped(lambda weights, lost=lost: weights @ lost / q, q, n_boot=2000, seed=seed)  # type: ignore[misc]
        share = changed.mean(axis=1)
        rows.append(
            (
                *(size, q, n_subsets, share.mean(), share.min(), share.max(), changed.any(axis=0).mean()),
                *(lost.mean(), *percentile_interval(resampled, level)),
            )
        )
    columns = ["size", "n", "n_subsets", "changed", "least", "most", "ever_changed", "expected", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
