"""Notebook 08: what methods make of documents that contradict each other, and how reliable the documents' sources are.

The score of RAMDocs (Wang et al. 2025), beside precision, recall and adoption of misinformation (ours); what challenged
proponents of the dialectical debate do; what a model's reading makes of the sources, and how well their reliability is
recovered where it is known. Each as a table, and those tables as figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.figure import Figure
from numpy.typing import NDArray

from srdcr_lab.answers import counts_as
from srdcr_lab.lib import draw
from srdcr_lab.lib.source_reliability import asserted, log_odds, source_reliability, votes_of, weighted_majority
from srdcr_lab.lib.statistics import clustered_interval, contrast_interval, macro_mean, mean_interval, mean_of, shares
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


def gave_way(stands: pd.DataFrame) -> pd.DataFrame:
    """Of `documents.stands`: how often proponents who were right, or wrong, revised or conceded."""
    return shares(stands, stands["state"] != "defend", {"held_right": [True, False]}).assign(held=["right", "wrong"])


def misled(outcomes: pd.DataFrame) -> list[dict[str, Any]]:
    """Of `documents.answer_outcomes`: each method's matches where most documents mislead, less those elsewhere."""
    rows = []
    for method, part in outcomes.dropna(subset="share_misinforming").groupby("method", sort=False):
        most, matched = part["share_misinforming"] > 0.5, part["exact_match"].astype(float)
        ends = contrast_interval(matched, part["question_id"], most, {True: 1.0, False: -1.0}, bounds=(0.0, 1.0))
        found = dict(zip(("difference", "low", "high"), ends, strict=True))
        rows.append({"method": method, **found, "n": min(int(most.sum()), int((~most).sum()))})
    return rows


def recovered(recovery: pd.DataFrame) -> list[dict[str, Any]]:
    """The mean over the seeds of each world's rank correlation."""
    worlds = recovery.dropna(subset="rank_correlation").groupby("world", sort=False)
    return [{"world": world} | mean_of(part["rank_correlation"], part["seed"]) for world, part in worlds]


# Figures

_MEASURES = {"precision": "precision of the answers", "recall": "recall of the right answers"}
_BY = {
    "share_misinforming": "share of misleading documents among those that answer",
    "n_misinforming": "misleading documents",
    "n_documents": "documents",
    "n_gold": "right answers",
}


def draw_summary(table: pd.DataFrame, by: str = "share_misinforming", *, measure: str = "exact_match") -> Figure:
    """A measure of `document_summary` by that column, of one model: a line a method with 95 % intervals. Where nothing
    was answered precision has no point."""
    rows = table[(table["measure"] == measure) & table["value"].notna()].sort_values(by)
    rows, palette = draw.by_name(rows.reset_index(drop=True), "method")
    labels = (_BY[by], _MEASURES.get(measure, measure.replace("_", " ")))
    return draw.lines(rows, by, "value", labels, hue="method", palette=palette, points=True)


def draw_recovery(table: pd.DataFrame) -> Figure:
    """Rank correlation of estimated and true reliability (`recovery`, a row a world and seed): a point a seed, a bar at
    each world's mean; dashed: 0.9."""
    plot = so.Plot(table, x="rank_correlation", y="world").add(so.Dot(pointsize=3, alpha=0.5), so.Jitter(0.4, seed=0))
    plot = plot.add(so.Dash(color=draw.INK, width=0.6), so.Agg(), orient="y").limit(x=(-1.05, 1.05))
    height = 0.8 + 0.3 * table["world"].nunique()
    return draw.line_at(draw.figure(plot.label(x="Spearman correlation with the truth", y=""), height), x=0.9)


def draw_majorities(table: pd.DataFrame) -> Figure:
    """Share of questions that the plain, the estimated and the oracle's majority get right, mean over the seeds."""
    names = {"plain": "one vote a source", "estimated": "weighted by estimate", "oracle": "weighted by true accuracy"}
    means = table.groupby("world", sort=False)[[*names]].mean().rename(columns=names).reset_index()
    rows = means.melt("world", var_name="majority").assign(low=np.nan, high=np.nan)
    palette = dict(zip(names.values(), (draw.GREY, draw.BLUE, draw.ORANGE), strict=True))
    label = "questions whose majority is the truth"
    return draw.rows(rows, "value", "world", label, hue="majority", palette=palette, limits=(0.5, 1.02), apart=False)


def draw_sources(table: pd.DataFrame) -> Figure:
    """`sources_as_read`, or any table with `source`, `accuracy` (the truth) and `reliability` (the estimate): a row a
    source, the most accurate on top; one without an estimate is left out."""
    known = table.dropna(subset=["reliability", "accuracy"]).sort_values("accuracy", ascending=False)
    names = {"accuracy": "true accuracy", "reliability": "estimated", "perfect_reader": "estimated without misreading"}
    present = {name: label for name, label in names.items() if name in known}
    rows = known.rename(columns=present).melt("source", list(present.values()), "what").assign(low=np.nan, high=np.nan)
    palette = dict(zip(names.values(), (draw.INK, draw.BLUE, draw.GREY), strict=True))
    return draw.rows(rows, "value", "source", "accuracy of the source", hue="what", palette=palette, apart=False)
