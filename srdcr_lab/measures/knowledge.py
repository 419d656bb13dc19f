"""What a model's own answers say, without a passage: knowledge categories [2.2, Table 3] and kinds of confidence.

`bounds` are the `highly_from` and `maybe_from` of `categorise` throughout. What other draws, or fewer, would have said
is counted exactly, without simulation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab import answers
from srdcr_lab.answers.token_confidence import FROM_LOGPROBS, answer_tokens
from srdcr_lab.measures.estimates import bootstrapped, jeffreys_interval, percentile_interval
from srdcr_lab.records import GREEDY, AnswerType, KnowledgeCategory

HIGHLY_KNOWN_FROM, MAYBE_KNOWN_FROM = 0.85, 0.30
CATEGORIES = tuple(KnowledgeCategory)  # from highly known to unknown
ALL_DOMAINS, ALL_CATEGORIES = "all domains", "all"
SIZES = (4, 8, 12, 16, 20, 24, 28, 32)  # of the knowledge draws
CONSISTENCY_SIZES = (2, 4, 6, 8, 10, 12, 14, 16)


def sampled_accuracy(correct: Sequence[bool]) -> float:
    """Acc = (1/N) Σ 1[âᵢ = a] over N draws; an unread draw is not correct. NaN for no draw.

    >>> sampled_accuracy([True] * 28 + [False] * 4)
    0.875
    """
    return float(np.mean(np.asarray(correct, dtype=float))) if len(correct) else math.nan


def categorise(
    accuracy: ArrayLike, *, highly_from: float = HIGHLY_KNOWN_FROM, maybe_from: float = MAYBE_KNOWN_FROM
) -> NDArray[np.intp]:
    """The position in `CATEGORIES` of each sampled accuracy in [0, 1]; −1 for NaN.

    Highly ≥ 0.85; Maybe [0.30, 0.85); Weakly (0, 0.30); Unknown = 0, so with more draws fewer questions are Unknown.

    >>> categorise([0.875, 0.19, 0.0]).tolist()
    [0, 2, 3]
    """
    if not 0 < maybe_from <= highly_from <= 1:
        raise ValueError(f"categories need 0 < maybe ≤ highly ≤ 1, got {maybe_from} and {highly_from}")
    values = np.asarray(accuracy, float)
    passed = np.searchsorted([np.nextafter(0, 1), maybe_from, highly_from], values, side="right")
    return np.where(np.isnan(values), -1, len(CATEGORIES) - 1 - passed)


def knowledge_category(accuracy: float, **bounds: float) -> KnowledgeCategory | None:
    """The category of one sampled accuracy; None for NaN (no draws)."""
    if math.isnan(accuracy):
        return None
    if not 0 <= accuracy <= 1:
        raise ValueError(f"a sampled accuracy lies in [0, 1], got {accuracy}")
    return CATEGORIES[int(categorise(accuracy, **bounds))]


def category_counts(n_draws: int, **bounds: float) -> NDArray[np.intp]:
    """The position in `CATEGORIES` for each number of correct draws 0 … n; shape (n_draws + 1,)."""
    return categorise(np.arange(n_draws + 1) / n_draws, **bounds)


def redraw_stability(successes: int, n: int, **bounds: float) -> float:
    """P(same category on n new draws | k of n correct), k′ ~ BetaBinomial(n, k + ½, n − k + ½); NaN for n = 0. Ours."""
    from scipy.stats import betabinom  # takes a second to import, which the command line would pay at every start

    if n == 0:
        return math.nan
    labels = category_counts(n, **bounds)
    probabilities = betabinom.pmf(np.arange(n + 1), n, successes + 0.5, n - successes + 0.5)
    return float(probabilities[labels == labels[successes]].sum())


def subset_shares(n: int, size: int) -> NDArray[np.float64]:
    """P(j correct in a subset of `size` draws | k of n correct), drawn without replacement, at [k, j]."""
    from scipy.stats import hypergeom

    if not 0 < size <= n:
        raise ValueError(f"a subset has 1 to {n} draws, got {size}")
    return np.asarray(hypergeom.pmf(np.arange(size + 1), n, np.arange(n + 1)[:, None], size))


def subset_categories(n: int, size: int, **bounds: float) -> NDArray[np.float64]:
    """P(category c by a subset of `size` draws | k of n correct), at [k, c]; shape (n + 1, 4)."""
    probabilities = subset_shares(n, size)
    labels = category_counts(size, **bounds)
    return np.stack([probabilities[:, labels == c].sum(axis=1) for c in range(len(CATEGORIES))], axis=1)


def categories_by_draws(questions: pd.DataFrame, sizes: Sequence[int] = SIZES, **bounds: float) -> pd.DataFrame:
    """What fewer draws would have said: expected over the subsets, without replacement, of the draws at hand. Ours.

    One row per size × category of all draws, "all" included: `n` questions of that category, `agreement` = share of
    subsets that give them the same category, `share` = share of all questions that a subset of this size would put into
    the category. A question, with `sampled_accuracy` and `n_samples`, counts at the sizes it has draws for.
    """
    n = questions["n_samples"].to_numpy(float, na_value=0).astype(int)
    right = np.rint(questions["sampled_accuracy"].to_numpy(float, na_value=0) * n).astype(int)
    rows = []
    for size in sizes:
        label, probability = [np.array([], int)], [np.empty((0, len(CATEGORIES)))]
        for n_draws in np.unique(n[n >= size]):
            k = right[n == n_draws]
            label.append(category_counts(n_draws, **bounds)[k])
            probability.append(subset_categories(n_draws, size, **bounds)[k])
        category, by_subsets = np.concatenate(label), np.concatenate(probability)
        same = by_subsets[np.arange(category.size), category]
        for c, named in enumerate(CATEGORIES):
            rows.append((size, named.value, *_mean(same[category == c]), _mean(by_subsets[:, c])[1]))
        rows.append((size, ALL_CATEGORIES, *_mean(same), 1.0 if same.size else np.nan))
    return pd.DataFrame(rows, columns=["size", "knowledge_category", "n", "agreement", "share"])


def _mean(values: NDArray[np.float64]) -> tuple[int, float]:
    return values.size, float(values.mean()) if values.size else np.nan


def categories_by_domain(questions: pd.DataFrame, **bounds: float) -> pd.DataFrame:
    """Share of the questions of a domain, and of all domains where there are several, in each category.

    `n_category` of the `n` questions with draws, `share` with its Jeffreys interval, `n_missing` without draws.
    """
    place = categorise(questions["sampled_accuracy"].to_numpy(float, na_value=np.nan), **bounds)
    codes, names = pd.factorize(questions["domain"])
    counts = count_categories(codes, place, len(names))
    missing = np.bincount(codes[place < 0], minlength=len(names))
    domains = list(names)
    if len(domains) != 1:
        counts, missing = np.vstack([counts, counts.sum(axis=0)]), np.append(missing, missing.sum())
        domains.append(ALL_DOMAINS)
    of_each, n = counts.ravel(), counts.sum(axis=1).repeat(len(CATEGORIES))
    low, high = jeffreys_interval(of_each, n)
    columns = {
        "domain": np.repeat(domains, len(CATEGORIES)),
        "knowledge_category": [category.value for category in CATEGORIES] * len(domains),
        "n_category": of_each,
        "n": n,
        "n_missing": missing.repeat(len(CATEGORIES)),
    }
    return pd.DataFrame(columns).assign(share=of_each / np.where(n > 0, n, np.nan), low=low, high=high)


def count_categories(groups: NDArray[np.intp], place: NDArray[np.intp], n_groups: int) -> NDArray[np.intp]:
    """Questions of each group in each category, shape (n_groups, 4); those without a category (−1) are in none."""
    here = place >= 0
    cells = np.bincount(groups[here] * len(CATEGORIES) + place[here], minlength=n_groups * len(CATEGORIES))
    return cells.reshape(n_groups, len(CATEGORIES))


def highly_known(questions: pd.DataFrame) -> pd.Series:
    """Whether each question is Highly-Known; missing without draws: the target of P(Highly-Known | Conf ≥ τ) [4.2]."""
    category = questions["knowledge_category"]
    return (category == CATEGORIES[0]).astype("boolean").mask(category.isna())


class Counted(StrEnum):
    """The tokens a confidence is made of. The paper says answer tokens [2.3]; the others are what code often takes."""

    ANSWER = "answer"
    REPLY = "reply"
    FIRST = "first"


def confidence_variants(samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Confidence of each greedy reply of a samples table, by every choice of tokens (`Counted`) and of mean.

    Where nothing was asked greedily, of the first consistency draw. NaN for a reply without log-probabilities or
    tokens. `answer_types` are those of each question_id, text by default; where the answer is not found in the reply,
    the reply without surrounding space counts as the answer.
    """
    greedy = samples[samples["stream"] == GREEDY]
    first = samples[(samples["stream"] == "self_consistency") & (samples["draw"] == 0)]
    rows = [
        (reply["question_id"], counted.value, kind.value, confidence_of(logprobs), len(logprobs))
        for reply in (first if greedy.empty else greedy).to_dict("records")
        for counted, logprobs in _counted(reply, _answer_type(answer_types, reply["question_id"]))
        for kind, confidence_of in FROM_LOGPROBS.items()
    ]
    return pd.DataFrame(rows, columns=["question_id", "counted", "confidence_kind", "confidence", "n_tokens"])


def _answer_type(answer_types: Mapping[str, str] | None, question_id: str) -> AnswerType:
    return AnswerType((answer_types or {}).get(question_id, AnswerType.TEXT))


def _counted(reply: Mapping[str, Any], answer_type: AnswerType) -> Iterator[tuple[Counted, list[float]]]:
    """Log-probabilities of the tokens that each choice counts."""
    tokens, logprobs = (_list(reply[column]) for column in ("tokens", "logprobs"))
    answer = None if pd.isna(reply["answer"]) else str(reply["answer"])
    yield Counted.ANSWER, list(answer_tokens(str(reply["text"]), tokens, logprobs, answer, answer_type))
    yield Counted.REPLY, logprobs
    yield Counted.FIRST, logprobs[:1]


def _list(values: Any) -> list[Any]:
    return [] if values is None or values is pd.NA or isinstance(values, float) else list(values)


def agreement_matrix(samples: pd.DataFrame, answer_types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Whether each consistency draw equals its question's prior answer (an unread one does not): questions × draws.

    That is the greedy answer, or where nothing was asked greedily the most frequent draw. Questions without one or
    without all draws are left out. `answer_types` as in `confidence_variants`.
    """
    greedy = samples[samples["stream"] == GREEDY].set_index("question_id")["answer"]
    drawn = samples[samples["stream"] == "self_consistency"].sort_values("draw", kind="stable")
    prior = greedy.to_dict()
    for question, own in drawn.dropna(subset=["answer"]).groupby("question_id")["answer"]:
        if question not in prior:
            kind = _answer_type(answer_types, str(question))
            prior[question] = max(own, key=lambda one: sum(answers.equal(one, other, kind) for other in own))
    drawn = drawn[drawn["question_id"].map(prior).notna()]
    agrees = [
        isinstance(draw.answer, str)
        and answers.equal(draw.answer, prior[draw.question_id], _answer_type(answer_types, draw.question_id))
        for draw in drawn.itertuples()
    ]
    matrix = drawn.assign(agrees=agrees).pivot(index="question_id", columns="draw", values="agrees")
    return matrix.dropna().astype(bool)


def consistency_by_draws(
    agrees: ArrayLike, tau: float = 0.90, sizes: Sequence[int] = CONSISTENCY_SIZES
) -> pd.DataFrame:
    """How far the self-consistency of n draws is from that of all N, and how often it is on the other side of τ [C.1].

    `agrees` (q, N) says that a draw equals the greedy answer. Expected over all subsets of `size` draws: `difference` =
    E|share of the subset − share of N|, `flipped` = share of questions on the other side of τ (bootstrap over
    questions); `least_agreeing` = ⌈τ n⌉, the draws that must agree to reach τ.
    """
    right = np.asarray(agrees, bool)
    q, n = right.shape
    totals, whole = right.sum(axis=1), np.arange(n + 1) / n
    rows = []
    for size in sizes:
        share, probability = np.arange(size + 1) / size, subset_shares(n, size)
        above = share >= tau
        least = int(np.argmax(above)) if above.any() else size + 1
        if q == 0:
            rows.append((size, 0, np.nan, np.nan, np.nan, np.nan, least))
            continue
        flips = np.where(whole >= tau, probability @ ~above, probability @ above)[totals]
        distance = (probability * np.abs(share - whole[:, None])).sum(axis=1)[totals]
        resampled = bootstrapped(lambda weights, flips=flips: weights @ flips / q, q)  # type: ignore[misc]
        rows.append((size, q, distance.mean(), flips.mean(), *percentile_interval(resampled), least))
    return pd.DataFrame(rows, columns=["size", "n", "difference", "flipped", "low", "high", "least_agreeing"])
