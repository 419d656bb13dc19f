"""How far two who rule on the same debates agree: a reader and the judge (ours)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from srdcr_lab.measures.intervals import clustered_interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n_agree` of `n` pairs are equal; the share's 95 % interval is over questions.

    `kappa` is Cohen's, (share − chance) / (1 − chance); NaN where both always say one and the same thing.
    """

    n: int
    n_questions: int
    n_agree: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike, questions: ArrayLike) -> Agreement:
    """Agreement of two raters, item by item; leave out beforehand what either of them has not decided.

    Parameters
    ----------
    one, other : labels, one an item.
    questions : each item's question, the independent unit.

    >>> agreement(["R", "R", "U", "U"], ["R", "U", "U", "U"], ["a", "b", "c", "d"]).kappa
    0.5
    """
    first, second = np.asarray(one, object), np.asarray(other, object)
    if first.size == 0:
        return Agreement(0, 0, 0, *(math.nan,) * 4)
    same = first == second
    low, high = clustered_interval(same, questions)
    n_questions = len(set(np.asarray(questions, object)))
    return Agreement(
        first.size, n_questions, int(same.sum()), float(same.mean()), low, high, _kappa(list(first), list(second))
    )


def _kappa(one: list[str], other: list[str]) -> float:
    from sklearn.metrics import cohen_kappa_score

    return math.nan if len({*one, *other}) < 2 else float(cohen_kappa_score(one, other))
