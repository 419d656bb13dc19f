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

    `table`: one row per `source`, with `reliability` in [0, 1], the share of its checked answers that agree with the
    weighted majority (NaN without any); `weight` ≥ 0; `n_votes`; `n_checked`, those on questions with another vote.
    `majority`: question → the answers of greatest weight, several if tied, in the order of the votes. `converged`: the
    last of the `iterations` changed no majority.
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
    are the majority's, over questions with another vote; one of m tied answers counts 1/m. 3. Its weight becomes
    max(0, L rᵢ − 1), where L is the mean number of distinct answers to those questions: an answer picked at random has
    no weight. Where no source would have weight, all stay equal.

    The votes of an unknown source ("", None, NaN) count with the mean weight of the others; nothing is estimated for
    it. A source whose answers nobody checks has the mean weight too.
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
    while not converged and iterations < max_iterations:
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
    """Question → its answers of greatest weight. Without `weights` every source has one vote: the plain majority."""
    votes, options = _votes(questions, sources, answers)
    names = votes["source"].dropna().unique()
    known = pd.Series([1.0 if weights is None else weights[name] for name in names], names, dtype=float)
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
    """Whether an option has the greatest weight of its question."""
    weight = votes["source"].map(weights).fillna(weights.mean() if len(weights) else 1.0)
    totals = weight.groupby(votes["option"]).sum()
    return totals >= totals.groupby(options["question"]).transform("max") - 1e-9  # differences below are ties


def _majority(options: pd.DataFrame, wins: pd.Series) -> dict[Any, tuple[Any, ...]]:
    return dict(options[wins].groupby("question", sort=False)["answer"].agg(tuple))


def log_odds(accuracy: ArrayLike, n_answers: float) -> NDArray[np.float64]:
    """The best weights of a majority where sources err independently and evenly: log(p (L − 1) / (1 − p)).

    The source is right with probability p among L answers; the weight is 0 at chance and below.

    >>> log_odds([0.5, 0.9], 2).round(2).tolist()
    [0.0, 2.2]
    """
    p = np.clip(np.asarray(accuracy, float), 1e-6, 1 - 1e-6)
    return np.asarray(np.maximum(0.0, np.log(p * (n_answers - 1) / (1 - p))))


def votes_of(items: Iterable[Item], turns: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """Item ids, sources and answers of what agents said about single documents.

    `turns` have `item_id`, `speaker` (a document's id, whose source is the voter) and `stated_answer`; without an
    answer there is no vote. Spellings of one answer become the first of them.
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
