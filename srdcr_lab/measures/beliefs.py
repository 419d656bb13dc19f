"""Which tokens count: the same greedy replies believed by their answer, all their tokens, or the first one alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab import answers
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
from srdcr_lab.measures.calibration import bootstrapped, percentile_interval
from srdcr_lab.measures.estimates import jeffreys_interval
from srdcr_lab.measures.knowledge import rank_correlation
from srdcr_lab.records import GREEDY, AnswerType


class Counted(StrEnum):
    """The tokens a confidence is made of. The paper says answer tokens [2.3]; the others are what code often takes.

    `REPLY_AND_END` counts the end marker too. A completion is kept without it, whichever model gave it
    (`srdcr_lab.records.Completion`), so no run has this one; a table of one's own may.
    """

    ANSWER = "answer"
    REPLY = "reply"
    FIRST = "first"
    REPLY_AND_END = "reply_and_end"


def confidence_variants(
    samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None, *, stream: str = GREEDY
) -> pd.DataFrame:
    """Confidence of each reply by every choice of tokens and of mean.

    Parameters
    ----------
    samples : a samples table. No run's table has the log-probability of the end marker; where one has it, in a column
        `end_logprob`, there is a `reply_and_end` as well.
    answer_types : of each question_id, as in the records table; text by default. Where the answer is not found in the
        reply in its type, the reply without surrounding space counts as the answer.

    Returns
    -------
    DataFrame, one row per question × counted tokens × kind: `question_id`, `counted`, `confidence_kind`
    (`mean_logprob`, `sequence`, `mean_probability`; one token has them all equal), `confidence` in [0, 1] (NaN for a
    reply without log-probabilities or without tokens), `n_tokens`.
    """
    types = answer_types or {}
    rows: list[tuple[Any, ...]] = []
    for reply in samples[samples["stream"] == stream].to_dict("records"):
        answer_type = AnswerType(types.get(reply["question_id"], AnswerType.TEXT))
        for counted, logprobs in _counted(reply, answer_type).items():
            for kind, confidence_of in FROM_LOGPROBS.items():
                rows.append((reply["question_id"], counted.value, kind.value, confidence_of(logprobs), len(logprobs)))
    return pd.DataFrame(rows, columns=["question_id", "counted", "confidence_kind", "confidence", "n_tokens"])


def _counted(reply: Mapping[str, Any], answer_type: AnswerType) -> dict[Counted, list[float]]:
    tokens, logprobs = (_list(reply[column]) for column in ("tokens", "logprobs"))
    answer = None if pd.isna(reply["answer"]) else str(reply["answer"])
    of_answer = answer_tokens(str(reply["text"]), tokens, logprobs, answer, answer_type)
    chosen = {Counted.ANSWER: list(of_answer), Counted.REPLY: logprobs, Counted.FIRST: logprobs[:1]}
    marker = reply.get("end_logprob")
    if marker is not None and not pd.isna(marker):
        chosen[Counted.REPLY_AND_END] = [*logprobs, float(marker)]
    return chosen


def _list(values: Any) -> list[Any]:
    return [] if values is None or values is pd.NA or isinstance(values, float) else list(values)


def compared_at(confidences: pd.DataFrame, tau: float = 0.90, level: float = 0.95, **options: Any) -> pd.DataFrame:
    """For each two columns of confidence: do they rank questions alike, and on how many do they part at τ?

    Parameters
    ----------
    confidences : one row per question, a column per confidence: `confidence_variants(…).pivot(…)`, kinds of several
        runs joined on question_id, few-shot beside zero-shot.
    options : `n_boot`, `seed` of `rank_correlation`.

    Returns
    -------
    DataFrame, one row per pair: `first`, `second`, `n` questions that have both, `spearman`, `low`, `high` (bootstrap
    over questions), `n_flipped` questions on one side of τ by the first and on the other by the second, their share
    `flipped` with `flipped_low`, `flipped_high` (Jeffreys). NaN for n = 0.
    """
    rows = []
    for first, second in combinations(confidences.columns, 2):
        both = confidences[[first, second]].dropna()
        rank = rank_correlation(both[first], both[second], level=level, **options)
        flipped = int(((both[first] >= tau) != (both[second] >= tau)).sum())
        low, high = (float(end) for end in jeffreys_interval(flipped, len(both), level))
        share = flipped / len(both) if len(both) else np.nan
        rows.append((first, second, len(both), rank.value, rank.low, rank.high, flipped, share, low, high))
    columns = ["first", "second", "n", "spearman", "low", "high", "n_flipped", "flipped", "flipped_low", "flipped_high"]
    return pd.DataFrame(rows, columns=columns)


# -- self-consistency against the number of draws [C.1]: what fewer than all draws would have decided at τ

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
