"""What methods make of documents that contradict each other, and how reliable the documents' sources are.

The score of RAMDocs (Wang et al. 2025), beside precision, recall and adoption of misinformation (ours); what challenged
proponents of the dialectical debate do; the reliability of sources as in RA-RAG (Hwang et al. 2025), estimated without
labels by the iterative weighted majority vote of Li and Yu 2014 (arXiv 1411.4086). Keeping all tied answers is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.answers import counts_as, same_answer
from srdcr_lab.measures.estimates import clustered_interval, macro_mean, mean_interval
from srdcr_lab.records import DocumentKind, Item, Role

MEANS = ("rounds", "calls_alone", "prompt_tokens", "completion_tokens")


def answer_outcomes(records: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """One row per item × method with what its answers are worth; items without documents are left out.

    `share_misinforming` is of the documents known to answer right or wrong, NaN if there is none. Of the `n_given`
    answers `n_right` gold and `n_wrong` known wrong ones are counted, out of `n_gold` and `n_asserted` of the item.
    `exact_match`: every gold answer and no wrong one is given; False without an answer.
    """
    by_id = {item.item_id: item for item in items if item.documents}
    rows = records[records["item_id"].isin(by_id)]
    scores = [_score(by_id[name], given) for name, given in zip(rows["item_id"], rows["final_answers"], strict=True)]
    columns = [name for name in ("item_id", "question_id", "method", "missing", *MEANS) if name in rows]
    return pd.concat([rows[columns].reset_index(drop=True), pd.DataFrame(scores, columns=_SCORE)], axis=1)


_SCORE = ["n_documents", "n_misinforming", "share_misinforming", "n_gold", "n_given", "n_right", "n_wrong",
          "n_asserted", "exact_match"]  # fmt: skip


def _score(item: Item, given: Sequence[str] | None) -> tuple[Any, ...]:
    answers = [] if given is None else list(given)

    def among(wanted: Sequence[str]) -> int:
        return sum(any(counts_as(answer, each, item) for answer in answers) for each in wanted)

    kinds = [document.kind for document in item.documents]
    true, false = kinds.count(DocumentKind.CORRECT), kinds.count(DocumentKind.MISINFO)
    share = false / (true + false) if true + false else math.nan
    right, wrong, n_gold = among(item.gold_answers), among(item.wrong_answers), len(item.gold_answers)
    match = right == n_gold and not wrong
    return len(kinds), false, share, n_gold, len(answers), right, wrong, len(item.wrong_answers), match


def document_summary(outcomes: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    """Each measure of each method, over all items or for each value of the column `by`, with its n and interval.

    `exact_match` and `coverage` (something is answered) are out of n items, missing answers counted as wrong;
    `precision` out of n given answers; `recall` out of n gold answers; `misinformation_adopted` (a known wrong answer
    is given) out of n items that have one. `rounds`, `calls_alone` and tokens are means over n items. A share of
    nothing is NaN, with n = 0. Intervals are clustered on the question.
    """
    keys = ["method"] if by is None else ["method", by]
    rows = []
    for names, part in outcomes.groupby(keys, sort=False, dropna=True):
        for measure, values, questions, interval in _measured(part):
            rows.append((*names, measure, macro_mean(values), *interval(values, questions), len(values), len(part)))
    table = pd.DataFrame(rows, columns=[*keys, "measure", "value", "low", "high", "n", "n_items"])
    return table if by is None else table.sort_values(by, kind="stable", ignore_index=True)


def _measured(part: pd.DataFrame) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], Callable[..., Any]]]:
    """Each measure with its values (of a share 1 or 0 per unit), their questions, and the interval of their mean."""
    questions, every = part["question_id"].to_numpy(), np.ones(len(part), int)
    out_of = {
        "exact_match": (part["exact_match"], every),
        "precision": (part["n_right"], part["n_given"]),
        "recall": (part["n_right"], part["n_gold"]),
        "misinformation_adopted": (part["n_wrong"] > 0, part["n_asserted"] > 0),
        "coverage": (part["n_given"] > 0, every),
    }
    for measure, (hits, units) in out_of.items():
        sizes = np.asarray(units, int)
        values = np.concatenate([np.arange(size) < hit for size, hit in zip(sizes, hits, strict=True)])
        yield measure, values, np.repeat(questions, sizes), clustered_interval
    for measure in (name for name in MEANS if name in part):
        known = part[measure].notna().to_numpy()
        yield measure, part[measure].to_numpy(float, na_value=np.nan)[known], questions[known], mean_interval


_STATES = ["defend", "revise", "concede"]


def stands(turns: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """What challenged proponents of the dialectical debate did, and whether they were right before.

    `held` and `answer` are the answers before and after, `state` is defend, revise or concede. Debates that broke off
    and replies that had to be repaired are left out.
    """
    by_id = {item.item_id: item for item in items}
    debates = turns[(turns["method"] == "dialectical") & turns["item_id"].isin(by_id)]
    whole = debates["item_id"].isin(debates.loc[debates["role"] == Role.JUDGE, "item_id"])
    replies = debates[whole & (debates["role"] == Role.PROPONENT) & (debates["round"] > 0)]
    replies = replies.drop_duplicates(["item_id", "speaker"], keep="last")
    states = replies["text"].astype(str).str.extract(rf'"state"\s*:\s*"({"|".join(_STATES)})"', expand=False)
    rows = []
    for turn, state in zip(replies.itertuples(), states, strict=True):
        item, held = by_id[turn.item_id], turn.stance if isinstance(turn.stance, str) else None
        answer = turn.stated_answer if isinstance(turn.stated_answer, str) else None
        kind = next((document.kind for document in item.documents if document.document_id == turn.speaker), None)
        right = any(counts_as(held, gold, item) for gold in item.gold_answers)
        rows.append((item.item_id, item.question_id, turn.speaker, kind, held, answer, state, right))
    columns = ["item_id", "question_id", "document_id", "kind", "held", "answer", "state", "held_right"]
    return pd.DataFrame(rows, columns=columns).dropna(subset="state", ignore_index=True)


def stand_counts(table: pd.DataFrame) -> pd.DataFrame:
    """From `stands`: how many challenged proponents who were right, or wrong, defended, revised and conceded."""
    counts = pd.crosstab(table["held_right"], table["state"]).reindex(
        index=[True, False], columns=_STATES, fill_value=0
    )
    counts = counts.assign(n=counts.sum(axis=1)).set_axis(["right", "wrong"])
    return counts.rename_axis(columns=None).reset_index(names="held")


@dataclass(frozen=True)
class SourceReliability:
    """The reliability of each source, and the answers that follow.

    `table`: one row per `source`, with `reliability`, the share of its `n_checked` answers, those on questions with
    another vote, that agree with the weighted majority (NaN without any). `majority`: question → the answers of
    greatest weight. `converged`: the last iteration changed no majority.
    """

    table: pd.DataFrame
    majority: Mapping[Any, tuple[Any, ...]]
    iterations: int
    converged: bool


def source_reliability(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], *, max_iterations: int = 100
) -> SourceReliability:
    """Estimate reliabilities and weighted majorities in turn, from equal weights, until no majority changes.

    A vote is which question was answered, by which source, with which answer. 1. The majority of a question is the
    answer of greatest total weight. 2. rᵢ is the share of source i's answers that are the majority's, over questions
    with another vote; one of m tied answers counts 1/m. 3. Its weight becomes max(0, L rᵢ − 1), where L is the mean
    number of distinct answers to those questions. Where no source would have weight, all stay equal. Unknown sources
    ("", None, NaN) and those whose answers nobody checks have the mean weight.
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
    """Question → its answers of greatest weight; without `weights` every source has one vote."""
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
    majority: dict[Any, tuple[Any, ...]] = {}
    for question, answer in options[wins].itertuples(index=False):
        majority[question] = (*majority.get(question, ()), answer)
    return majority


def log_odds(accuracy: ArrayLike, n_answers: float) -> NDArray[np.float64]:
    """Best weight of a source right with probability p among L answers: log(p (L − 1) / (1 − p)), at least 0.

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
    item_ids: list[str] = []
    voters: list[str] = []
    answers: list[str] = []
    spellings: dict[str, list[str]] = {}
    for turn in turns:
        item_id, speaker, value = turn["item_id"], turn["speaker"], turn["stated_answer"]
        if isinstance(value, str) and (item_id, speaker) in sources:
            known = spellings.setdefault(item_id, [])
            known.append(next((each for each in known if same_answer(each, value, by_id[item_id])), value))
            item_ids.append(item_id)
            voters.append(sources[item_id, speaker])
            answers.append(known[-1])
    return item_ids, voters, answers


def asserted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The turns of a reader who never misreads: what each document is known to assert, for `votes_of`."""
    return [
        {"item_id": item.item_id, "speaker": document.document_id, "stated_answer": document.answer or None}
        for item in items
        for document in item.documents
    ]


def sources_as_read(items: Sequence[Item], turns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """`SourceReliability.table` of the items' documents, estimated from what was read, beside the truth.

    `perfect_reader` is the reliability that a reader who never misreads would estimate; `accuracy` the share of correct
    documents among those known to be correct or to mislead. Least accurate first.
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
