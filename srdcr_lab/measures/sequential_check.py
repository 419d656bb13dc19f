"""What stopping early would have cost and saved, against the label of all draws of the same questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.calibration.estimate import bootstrapped, percentile_interval
from srdcr_lab.measures.knowledge import CATEGORIES, jeffreys_interval
from srdcr_lab.measures.sequential import MAX_CHANGED, StoppingRule, learnt_totals, stopping_rule


def knowledge_matrix(samples: pd.DataFrame, stream: str = "knowledge") -> pd.DataFrame:
    """Whether each draw of each question is right, from a samples table; index `question_id`, a column per draw.

    Questions without all of the draws (failed calls) are left out.
    """
    of = samples[samples["stream"] == stream]
    matrix = of.pivot(index="question_id", columns="draw", values="correct")
    return matrix.dropna().astype(bool)


def categorised_sequentially(draws: ArrayLike, rule: StoppingRule) -> pd.DataFrame:
    """Each question's category where the rule stops, its draws taken in their order.

    Parameters
    ----------
    draws : shape (q, N), bool: each draw is right.

    Returns
    -------
    DataFrame, one row per question: `n_used`, `n_correct` among them, `knowledge_category`, `full_category` of all N,
    `changed`.
    """
    right = _matrix(draws, rule.n_draws)
    correct = np.cumsum(right, axis=1)
    drawn = np.arange(1, rule.n_draws + 1)
    used = rule.stop[drawn, correct].argmax(axis=1) + 1
    at_stop = correct[np.arange(len(right)), used - 1]
    label, full = rule.label[used, at_stop], rule.label[rule.n_draws, correct[:, -1]]
    names = np.array([category.value for category in CATEGORIES])
    return pd.DataFrame(
        {
            "n_used": used,
            "n_correct": at_stop,
            "knowledge_category": names[label],
            "full_category": names[full],
            "changed": label != full,
        }
    )


def over_orders(rule: StoppingRule) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expected draws used, and P(changed label), over the orders of N draws of which 0 … N are right; exact."""
    n = rule.n_draws
    used, changed = np.zeros(n + 1), np.zeros(n + 1)
    reaching = np.zeros((n + 1, n + 1))  # P(still drawing with so many right, columns: total right)
    reaching[0] = 1
    total = np.arange(n + 1)
    for drawn in range(1, n + 1):
        correct = np.arange(n + 1)[:, None]
        right_next = np.clip((total - correct) / (n - drawn + 1), 0, 1)
        moved = reaching * (1 - right_next)
        moved[1:] += (reaching * right_next)[:-1]
        stopping = moved * rule.stop[drawn][:, None]
        used += drawn * stopping.sum(axis=0)
        changed += (stopping * (rule.label[drawn][:, None] != rule.label[n])).sum(axis=0)
        reaching = moved - stopping
    return used, changed


@dataclass(frozen=True, slots=True)
class SequentialFigures:
    """Over `n` questions: share of the N draws used and share of labels changed, with intervals over questions.

    `used` and `changed` are of the draws in their order; `used_any_order` and `changed_any_order` their expectation
    over all orders of the same draws, which chance does not move.
    """

    n: int
    n_draws: int
    used: float
    used_low: float
    used_high: float
    n_changed: int
    changed: float
    changed_low: float
    changed_high: float
    used_any_order: float
    changed_any_order: float


def sequential_figures(
    draws: ArrayLike,
    *,
    max_changed: float = MAX_CHANGED,
    looks: Sequence[int] | None = None,
    n_folds: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> SequentialFigures:
    """Draws used and labels changed where each question is judged by a rule learnt from the other folds' questions.

    Parameters
    ----------
    draws : shape (q, N), bool: every draw of every question.
    max_changed, looks : see `stopping_rule`.
    n_folds : questions are dealt into so many folds, seeded; with fewer than two questions the rule is Jeffreys'.

    Returns
    -------
    SequentialFigures; the interval of the share used is the bootstrap over questions, that of the changed labels
    Jeffreys. NaN for no question.
    """
    right = np.asarray(draws, bool)
    q, n_draws = right.shape
    if q == 0:
        nan = math.nan
        return SequentialFigures(0, n_draws, nan, nan, nan, 0, nan, nan, nan, nan, nan)
    totals = right.sum(axis=1)
    fold = np.random.default_rng(seed).permutation(q) % min(n_folds, q)
    used, changed = np.zeros(q), np.zeros(q, bool)
    used_orders, changed_orders = np.zeros(q), np.zeros(q)
    for of in np.unique(fold):
        shown = fold == of
        rule = stopping_rule(
            learnt_totals(totals[~shown], n_draws), n_draws=n_draws, max_changed=max_changed, looks=looks
        )
        found = categorised_sequentially(right[shown], rule)
        used[shown], changed[shown] = found["n_used"], found["changed"]
        by_total = over_orders(rule)
        used_orders[shown], changed_orders[shown] = (part[totals[shown]] for part in by_total)
    resampled = bootstrapped(lambda weights: weights @ used / (q * n_draws), q, n_boot=2000, seed=seed)
    used_low, used_high = percentile_interval(resampled, level)
    low, high = (float(end) for end in jeffreys_interval(changed.sum(), q, level))
    return SequentialFigures(
        n=q,
        n_draws=n_draws,
        used=float(used.mean() / n_draws),
        used_low=used_low,
        used_high=used_high,
        n_changed=int(changed.sum()),
        changed=float(changed.mean()),
        changed_low=low,
        changed_high=high,
        used_any_order=float(used_orders.mean() / n_draws),
        changed_any_order=float(changed_orders.mean()),
    )


def _matrix(draws: ArrayLike, n_draws: int) -> NDArray[np.bool_]:
    right = np.asarray(draws, bool)
    if right.ndim != 2 or right.shape[1] != n_draws:
        raise ValueError(f"the rule is for {n_draws} draws of each question, got the shape {right.shape}")
    return right
