"""The reliability of the documents' sources, estimated without labels.

As in RA-RAG (Hwang et al. 2025), by the iterative weighted majority vote of Li and Yu 2014 (arXiv 1411.4086). Keeping
all tied answers, no weight below 0, and one vote each on a question whose voters all weigh nothing are ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.answers import says_the_same
from srdcr_lab.records import Item

MOST_ITERATIONS = 100


@dataclass(frozen=True)
class SourceReliability:
    """The reliability of each source, and the majorities that follow.

    Attributes
    ----------
    table : DataFrame
        One row per `source`: `reliability`, the share of its `n_checked` answers (on questions with another vote) that
        agree with the weighted majority, NaN without any; `weight`; `n_votes`.
    majority : mapping of object to tuple of object
        Question → the answers with the greatest weight.
    iterations : int
        Number of iterations.
    converged : bool
        Whether the last iteration changed no majority.
    """

    table: pd.DataFrame
    majority: Mapping[Any, tuple[Any, ...]]
    iterations: int
    converged: bool


def source_reliability(questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any]) -> SourceReliability:
    """Estimate reliabilities and weighted majorities in turn, from equal weights, until no majority changes.

    1. The majority of a question is the answer with the greatest total weight. 2. The reliability rᵢ of source i is the
    share of its answers that equal the majority, over questions with another vote; one of m tied answers counts 1/m. 3.
    Its weight becomes max(0, L rᵢ − 1), where L is the mean number of distinct answers to those questions. If every
    weight would be 0, all stay equal. Unknown sources ("", None, NaN), and those whose answers nobody checks, have the
    mean weight.

    Parameters
    ----------
    questions : sequence of object
        Question of each vote.
    sources : sequence of object
        Source of each vote.
    answers : sequence of object
        Answer of each vote.

    Returns
    -------
    SourceReliability
        The estimate.
    """
    votes, options = _votes(questions, sources, answers)
    contested = votes.groupby("question")["option"].transform("size") > 1
    checked = votes[contested & votes["source"].notna()]
    n_answers = votes[contested].groupby("question")["option"].nunique().mean()
    equal = pd.Series(1.0, votes["source"].dropna().unique())

    def reliability(wins: pd.Series) -> pd.Series:
        credit = wins / wins.groupby(options["question"]).transform("sum")
        return checked["option"].map(credit).groupby(checked["source"]).mean().reindex(equal.index)

    weights, wins = equal, _wins(votes, options, equal)
    iterations, converged = 0, False
    while not converged and iterations < MOST_ITERATIONS:
        raw = (n_answers * reliability(wins) - 1).clip(lower=0)
        weights = raw.fillna(raw.mean()) if raw.sum() > 0 else equal
        before, wins = wins, _wins(votes, options, weights)
        iterations, converged = iterations + 1, wins.equals(before)
    columns = {"reliability": reliability(wins), "weight": weights}
    for name, part in (("n_votes", votes), ("n_checked", checked)):
        columns[name] = part["source"].value_counts().reindex(equal.index, fill_value=0)
    table = pd.DataFrame(columns).reset_index(names="source")
    return SourceReliability(table, _majority(options, wins), iterations, converged)


def weighted_majority(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], weights: Mapping[Any, float] | None = None
) -> dict[Any, tuple[Any, ...]]:
    """Find the answers with the greatest weight for each question.

    Parameters
    ----------
    questions : sequence of object
        Question of each vote.
    sources : sequence of object
        Source of each vote.
    answers : sequence of object
        Answer of each vote.
    weights : mapping of object to float, optional
        Source → its weight; a source without one has their mean. None for one vote per source.

    Returns
    -------
    dict of object to tuple of object
        Question → its answers.
    """
    votes, options = _votes(questions, sources, answers)
    names = votes["source"].dropna().unique()
    known = pd.Series([1.0 if weights is None else weights.get(name) for name in names], names, dtype=float)
    return _majority(options, _wins(votes, options, known))


def _votes(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The votes, and the options: the distinct answers to each question, numbered in order of first appearance."""
    known = [None if source == "" else source for source in sources]
    votes = pd.DataFrame({"question": questions, "source": known, "answer": answers})
    votes["option"] = votes.groupby(["question", "answer"], sort=False).ngroup()
    return votes, votes.drop_duplicates("option").set_index("option")[["question", "answer"]]


def _wins(votes: pd.DataFrame, options: pd.DataFrame, weights: pd.Series) -> pd.Series:
    """Whether an option has the greatest weight of its question, or most votes if all its voters weigh nothing."""
    weight = votes["source"].map(weights).fillna(weights.mean() if len(weights) else 1.0)
    weight = weight.where(weight.groupby(votes["question"]).transform("sum") > 0, 1.0)
    totals = weight.groupby(votes["option"]).sum()
    return totals >= totals.groupby(options["question"]).transform("max") - 1e-9  # differences below are ties


def _majority(options: pd.DataFrame, wins: pd.Series) -> dict[Any, tuple[Any, ...]]:
    return dict(options[wins].groupby("question", sort=False)["answer"].agg(tuple))


def log_odds(accuracy: ArrayLike, n_answers: float) -> NDArray[np.float64]:
    """Compute the best weight of a source that is right with probability p among L answers: log(p (L − 1) / (1 − p)).

    Parameters
    ----------
    accuracy : array-like
        The probability p of each source.
    n_answers : float
        The number of answers L.

    Returns
    -------
    ndarray of float
        The weights, at least 0.

    Examples
    --------
    >>> log_odds([0.5, 0.9], 2).round(2).tolist()
    [0.0, 2.2]
    """
    p = np.clip(np.asarray(accuracy, float), 1e-6, 1 - 1e-6)
    return np.asarray(np.maximum(0.0, np.log(p * (n_answers - 1) / (1 - p))))


def votes_of(items: Iterable[Item], turns: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """Read votes from what agents said about single documents.

    Parameters
    ----------
    items : iterable of Item
        The items.
    turns : iterable of mapping of str to object
        Turns with `item_id`, `speaker` (a document, whose source is the voter) and `stated_answer`; without an answer
        there is no vote.

    Returns
    -------
    tuple of tuple of str
        Item ids, sources and answers; spellings of one answer become the first of them.
    """
    by_id = {item.item_id: item for item in items}
    sources = {(item.item_id, each.document_id): each.source for item in by_id.values() for each in item.documents}
    votes: list[tuple[str, str, str]] = []
    spellings: dict[str, list[str]] = {}
    for turn in turns:
        item_id, speaker, value = turn["item_id"], turn["speaker"], turn["stated_answer"]
        if isinstance(value, str) and (item_id, speaker) in sources:
            known = spellings.setdefault(item_id, [])
            known.append(next((each for each in known if says_the_same(each, value, by_id[item_id])), value))
            votes.append((item_id, sources[item_id, speaker], known[-1]))
    return tuple(zip(*votes, strict=True)) or ((), (), ())


def asserted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Make the turns of a reader who never misreads.

    Parameters
    ----------
    items : iterable of Item
        The items.

    Returns
    -------
    list of dict of str to object
        What each document is known to assert, for `votes_of`.
    """
    said = ((item.item_id, each.document_id, each.answer or None) for item in items for each in item.documents)
    return [dict(zip(("item_id", "speaker", "stated_answer"), each, strict=True)) for each in said]
