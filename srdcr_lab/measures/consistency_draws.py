"""Self-consistency against the number of draws [C.1]: what fewer than all draws would have decided at τ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab import answers
from srdcr_lab.measures.calibration.estimate import bootstrapped, percentile_interval
from srdcr_lab.records import GREEDY, AnswerType

SIZES = (2, 4, 6, 8, 10, 12, 14, 16)


def agreement_matrix(
    samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None, *, stream: str = "self_consistency"
) -> pd.DataFrame:
    """Whether each draw of the stream equals the question's greedy answer; index `question_id`, a column per draw.

    An answer that could not be read equals nothing. Questions without a greedy answer or without all draws are left
    out. `answer_types` as in `confidence_variants`.
    """
    types = answer_types or {}
    greedy = samples[samples["stream"] == GREEDY].set_index("question_id")["answer"].dropna()
    drawn = samples[(samples["stream"] == stream) & samples["question_id"].isin(greedy.index)]
    agrees = [
        answers.equal(draw.answer, greedy[draw.question_id], AnswerType(types.get(draw.question_id, AnswerType.TEXT)))
        if isinstance(draw.answer, str)
        else False
        for draw in drawn.itertuples()
    ]
    matrix = drawn.assign(agrees=agrees).pivot(index="question_id", columns="draw", values="agrees")
    return matrix.dropna().astype(bool)


def consistency_by_draws(
    agrees: ArrayLike, tau: float = 0.90, sizes: Sequence[int] = SIZES, *, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """How far the self-consistency of n draws is from that of all N, and how often it is on the other side of τ.

    Parameters
    ----------
    agrees : shape (q, N), bool: each draw equals the greedy answer.
    sizes : numbers of draws n, at most N; expectations are over all subsets without replacement (hypergeometric).

    Returns
    -------
    DataFrame, one row per size: `size`, `n` questions, `difference` = E|share of n − share of N| in [0, 1], `flipped`
    = share of questions whose Conf ≥ τ is answered otherwise, `low`, `high` (bootstrap over questions, seeded),
    `least_agreeing` = ⌈τ n⌉, the draws that must agree to reach τ. NaN for no question.
    """
    from scipy.stats import hypergeom

    right = np.asarray(agrees, bool)
    q, n = right.shape
    totals = right.sum(axis=1)
    rows = []
    for size in sizes:
        k = np.arange(size + 1)
        probability = hypergeom.pmf(k, n, np.arange(n + 1)[:, None], size)
        above = k / size >= tau
        flips = np.where(np.arange(n + 1) / n >= tau, probability @ ~above, probability @ above)[totals]
        distance = (probability * np.abs(k / size - np.arange(n + 1)[:, None] / n)).sum(axis=1)[totals]
        least = int(np.argmax(above)) if above.any() else size + 1
        if q == 0:
            rows.append((size, 0, np.nan, np.nan, np.nan, np.nan, least))
            continue
        resampled = bootstrapped(lambda weights, flips=flips: weights @ flips / q, q, n_boot=2000, seed=seed)  # type: ignore[misc]
        ends = percentile_interval(resampled, level)
        rows.append((size, q, distance.mean(), flips.mean(), *ends, least))
    return pd.DataFrame(rows, columns=["size", "n", "difference", "flipped", "low", "high", "least_agreeing"])
