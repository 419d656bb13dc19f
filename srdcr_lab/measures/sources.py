"""How reliable sources are, estimated without labels from how often they agree, and majorities weighted by it.

Votes are three columns of equal length: which question was answered, by which source, with which answer. RA-RAG (Hwang
et al. 2025, arXiv 2410.22954) takes the estimate over from the iterative weighted majority vote of Li and Yu 2014
(arXiv 1411.4086); keeping every one of several tied answers is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.documents import same_answer
from srdcr_lab.records import DocumentKind, Item


@dataclass(frozen=True)
class SourceReliability:
    """The reliability of each source, and the answers that follow.

    Parameters
    ----------
    table : one row per source: `source`; `reliability`, the share of its cross-checked answers that agree with the
        weighted majority, in [0, 1], NaN without any; `weight` ≥ 0; `n_votes`; `n_checked`, those on questions that
        another source answered too.
    majority : question → the answers of greatest weight, several if tied, in the order of the votes.
    iterations : how often weights were estimated.
    converged : whether the last iteration changed no majority.
    """

    table: pd.DataFrame
    majority: Mapping[Any, tuple[Any, ...]]
    iterations: int
    converged: bool


def source_reliability(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], *, max_iterations: int = 100
) -> SourceReliability:
    """Estimate reliabilities and weighted majorities in turn, from equal weights, until no majority changes.

    1. The majority of a question is the answer of greatest total weight. 2. rᵢ is the share of source i's answers that
    are the majority's, over questions that another source answered too; one of m tied answers counts 1/m. 3. Its weight
    becomes max(0, L rᵢ − 1), where L is the mean number of distinct answers to those questions: an answer picked at
    random has no weight. Where no source would have weight, all stay equal.

    Equal answers are equal values. The votes of an unknown source ("", None, NaN) count with the mean weight of the
    others, and nothing is estimated for it.
    """
    votes = _Votes(questions, sources, answers)
    weights = np.ones(len(votes.sources))
    wins, credit = votes.majority(weights)
    iterations, converged = 0, False
    while not converged and iterations < max_iterations:
        before, iterations = wins, iterations + 1
        weights = votes.weights(votes.agreement(credit))
        wins, credit = votes.majority(weights)
        converged = bool(np.array_equal(before, wins))
    table = pd.DataFrame(
        {
            "source": votes.sources,
            "reliability": votes.agreement(credit),
            "weight": weights,
            "n_votes": votes.per_source(votes.source >= 0),
            "n_checked": votes.per_source(votes.checked),
        }
    )
    return SourceReliability(table, votes.answers_of(wins), iterations, converged)


def weighted_majority(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], weights: Mapping[Any, float] | None = None
) -> dict[Any, tuple[Any, ...]]:
    """Question → its answers of greatest weight. Without `weights` every source has one vote: the plain majority."""
    votes = _Votes(questions, sources, answers)
    wins, _ = votes.majority(np.array([1.0 if weights is None else weights[name] for name in votes.sources]))
    return votes.answers_of(wins)


def log_odds(accuracy: ArrayLike, n_answers: float) -> NDArray[np.float64]:
    """The best weights of a majority where sources err independently and evenly: log(p (L − 1) / (1 − p)).

    The source is right with probability p among L answers; the weight is 0 at chance and below.

    >>> log_odds([0.5, 0.9], 2).round(2).tolist()
    [0.0, 2.2]
    """
    p = np.clip(np.asarray(accuracy, float), 1e-6, 1 - 1e-6)
    return np.asarray(np.maximum(0.0, np.log(p * (n_answers - 1) / (1 - p))))


class _Votes:
    """Votes by number. An option is a distinct answer to a question; arrays run over votes or over options."""

    def __init__(self, questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any]) -> None:
        if not len(questions) == len(sources) == len(answers):
            raise ValueError(f"votes are as many questions as sources as answers, got {len(questions)}, {len(sources)}")
        self.question, self.questions = _numbered(questions)
        self.source, self.sources = _numbered([None if name == "" else name for name in sources])
        self.option, self.options = _numbered(list(zip(self.question.tolist(), answers, strict=True)))
        self.question_of_option = np.array([question for question, _ in self.options], np.intp)
        self.checked = (self.source >= 0) & (np.bincount(self.question)[self.question] > 1)

    def per_source(self, chosen: NDArray[np.bool_], values: NDArray[np.float64] | None = None) -> NDArray[Any]:
        """Number (or sum of values) of the chosen votes of each source."""
        weights = None if values is None else values[chosen]
        return np.bincount(self.source[chosen], weights, len(self.sources))

    def majority(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Per option whether it wins its question, and the credit of a vote for it: 1/m with m winners."""
        of_unknown = weights.mean() if len(weights) else 1.0
        of_vote = np.append(weights, of_unknown)[self.source]  # −1, the unknown source, is the last
        totals = np.bincount(self.option, of_vote, len(self.options))
        most = np.full(len(self.questions), -np.inf)
        np.maximum.at(most, self.question_of_option, totals)
        wins: NDArray[np.bool_] = totals >= most[self.question_of_option] - 1e-9  # less is a tie
        return wins, wins / np.bincount(self.question_of_option, wins, len(self.questions))[self.question_of_option]

    def agreement(self, credit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean credit of each source's checked votes; NaN without any."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.per_source(self.checked, credit[self.option]) / self.per_source(self.checked))

    def weights(self, reliability: NDArray[np.float64]) -> NDArray[np.float64]:
        """max(0, L r − 1), the mean of the others where r is unknown; all equal where no source would have weight."""
        contested = np.bincount(self.question) > 1
        n_answers = np.bincount(self.question_of_option)[contested].mean() if contested.any() else 1.0
        raw = np.maximum(0.0, n_answers * reliability - 1)
        if not np.nansum(raw) > 0:
            return np.ones(len(self.sources))
        return np.where(np.isnan(raw), np.nanmean(raw), raw)

    def answers_of(self, wins: NDArray[np.bool_]) -> dict[Any, tuple[Any, ...]]:
        answers: dict[Any, tuple[Any, ...]] = dict.fromkeys(self.questions, ())
        for (question, answer), won in zip(self.options, wins, strict=True):
            if won:
                answers[self.questions[question]] += (answer,)
        return answers


def _numbered(values: Sequence[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Each value's number in order of first appearance, −1 for none, and the values by number."""
    numbers: dict[Any, int] = {}
    codes = [-1 if value is None or value != value else numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(codes, np.intp), list(numbers)


def votes_of(items: Iterable[Item], turns: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """Item ids, sources and answers of what agents said about single documents.

    Parameters
    ----------
    items : with their documents, whose `source` is the voter.
    turns : `item_id`, `speaker` (a document's id) and `stated_answer` of each; without an answer there is no vote.
        Spellings of one answer become the first of them.
    """
    by_id = {item.item_id: item for item in items}
    sources = {(item.item_id, each.document_id): each.source for item in by_id.values() for each in item.documents}
    votes: list[tuple[str, str, str]] = []
    spellings: dict[str, list[str]] = {}
    for turn in turns:
        item_id, speaker, value = turn["item_id"], turn["speaker"], turn["stated_answer"]
        if isinstance(value, str) and (item_id, speaker) in sources:
            known = spellings.setdefault(item_id, [])
            answer = next((each for each in known if same_answer(each, value, by_id[item_id])), value)
            known.append(answer)
            votes.append((item_id, sources[item_id, speaker], answer))
    item_ids, voters, answers = (list(column) for column in zip(*votes, strict=True)) if votes else ([], [], [])
    return item_ids, voters, answers


def asserted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The turns of a reader who never misreads: what each document is known to assert, for `votes_of`."""
    return [
        {"item_id": item.item_id, "speaker": document.document_id, "stated_answer": document.answer or None}
        for item in items
        for document in item.documents
    ]


def sources_as_read(items: Sequence[Item], turns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The sources of the items' documents: their reliability as estimated from what was read, beside the truth.

    Parameters
    ----------
    items, turns : as `votes_of` takes them.

    Returns
    -------
    DataFrame : the columns of `SourceReliability.table`; `perfect_reader`, the reliability that a reader who never
        misreads would estimate; `accuracy`, the share of correct documents among the source's documents that are known
        to be correct or to mislead. Least accurate first. Empty where no document names its source.
    """
    read = source_reliability(*votes_of(items, turns)).table.set_index("source")
    perfect = source_reliability(*votes_of(items, asserted(items))).table.set_index("source")["reliability"]
    known = (DocumentKind.CORRECT, DocumentKind.MISINFO)
    documents = [each for item in items for each in item.documents if each.source and each.kind in known]
    right = pd.Series([each.kind is DocumentKind.CORRECT for each in documents], dtype=float)
    accuracy = right.groupby([each.source for each in documents]).mean()
    table = read.assign(perfect_reader=perfect.reindex(read.index), accuracy=accuracy.reindex(read.index))
    return table.sort_values("accuracy", kind="stable").reset_index(names="source")


def recovery(
    questions: Sequence[Any],
    sources: Sequence[Any],
    answers: Sequence[Any],
    truth: Mapping[Any, Any],
    accuracy: Mapping[Any, float],
) -> dict[str, float]:
    """How well an estimate from the votes alone recovers the known accuracies of the sources.

    `rank_correlation` is Spearman's, of estimated reliability and true accuracy. `estimated`, `oracle` (weighted by
    `log_odds` of the accuracies) and `plain` are shares of questions whose majority is the truth and nothing else.
    `iterations` and `converged` as in `SourceReliability`.
    """
    estimate = source_reliability(questions, sources, answers)
    reliability = estimate.table.set_index("source")["reliability"]
    n_answers = len(set(zip(questions, answers, strict=True))) / len(set(questions))
    weights = dict(zip(accuracy, log_odds(list(accuracy.values()), n_answers), strict=True))

    def right(majority: Mapping[Any, tuple[Any, ...]]) -> float:
        return float(np.mean([majority[question] == (answer,) for question, answer in truth.items()]))

    return {
        "rank_correlation": float(reliability.corr(pd.Series(accuracy), method="spearman")),
        "estimated": right(estimate.majority),
        "oracle": right(weighted_majority(questions, sources, answers, weights)),
        "plain": right(weighted_majority(questions, sources, answers)),
        "iterations": estimate.iterations,
        "converged": estimate.converged,
    }
