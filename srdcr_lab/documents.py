"""Chapter 08: documents that contradict each other, and the reliability of their sources.

Measures are the score of RAMDocs (Wang et al. 2025) and, ours, precision, recall and adoption of misinformation; what
challenged proponents of the dialectical debate do; and how well the reliability of sources is recovered without labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from srdcr_lab.answers import counts_as
from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import compare_all
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentence, sentences
from srdcr_lab.lib.source_reliability import asserted, log_odds, source_reliability, votes_of, weighted_majority
from srdcr_lab.lib.statistics import Estimate, clustered_interval, contrast_interval, mean_interval, rank_correlation
from srdcr_lab.records import DocumentKind, Item, Missing, Role
from srdcr_lab.records.names import MEASURES, called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

MAJORITIES = {"plain": "one vote a source", "estimated": "weighted by estimate", "oracle": "weighted by true accuracy"}
PRICES = ("rounds", "calls_alone", "prompt_tokens", "completion_tokens")


def answer(results: Results) -> Html:
    """Make the answer box of notebook 08: the dialectical debate, SR-DCR per document, and the order of the sources.

    Parameters
    ----------
    results : Results
        A run over items with several documents.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    outcomes = answer_outcomes(results.records, results.items.values())
    n, whole = (each["item_id"].nunique() for each in (outcomes, where_debated(outcomes)))
    why = "where a speaker twice gave no valid JSON; that counts as wrong"
    debate = compare_all(outcomes, "dialectical", conditions=["overall"])
    each = compare_all(outcomes.query("share_misinforming > 0.5"), "sr_dcr_per_document", conditions=["overall"])
    how: dict[str, Any] = {"column": "difference", "by": ["b"], "before": "than"}
    return answer_box(
        sentences("the dialectical debate answers more questions rightly", debate, **how),
        *([f"The dialectical debate broke off on {n - whole} of {n} questions, {why}."] if n > whole else []),
        sentences("SR-DCR per document answers more questions rightly where most documents mislead", each, **how),
        order_of_sources(sources_as_read(results.items.values(), results.turns)), label=results.label,
    )  # fmt: skip


def answer_outcomes(records: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """Score the answers to items with documents.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    items : iterable of Item
        The items, as `Results.items.values()`.

    Returns
    -------
    DataFrame
        The records of these items with further columns. `share_misinforming`: misleading documents as a share of those
        known to answer right or wrong, NaN if there is none. `n_right` gold and `n_wrong` known wrong answers among the
        `n_given` answers, out of `n_gold` and `n_asserted` of the item; `n_given_right` of the answers are gold (two
        may be one answer in two spellings). `exact_match`: all gold answers and no wrong one are given; false without
        an answer.
    """
    by_id = {item.item_id: item for item in items if item.documents}
    rows = records[records["item_id"].isin(by_id)].reset_index(drop=True)
    pairs = zip(rows["item_id"], rows["final_answers"], strict=True)
    scores = pd.DataFrame([_score(by_id[name], answers) for name, answers in pairs], columns=_SCORE)
    return rows.assign(**dict(scores.items()))


_SCORE = ["n_documents", "n_misinforming", "share_misinforming", "n_gold", "n_given", "n_given_right",
          "n_right", "n_wrong", "n_asserted", "exact_match"]  # fmt: skip


def _score(item: Item, final_answers: Sequence[str] | None) -> tuple[Any, ...]:
    answers = [] if final_answers is None else list(final_answers)

    def among(wanted: Sequence[str]) -> int:
        return sum(any(counts_as(answer, each, item) for answer in answers) for each in wanted)

    kinds = [document.kind for document in item.documents]
    true, false = kinds.count(DocumentKind.CORRECT), kinds.count(DocumentKind.MISINFO)
    share = false / (true + false) if true + false else math.nan
    right, wrong, n_gold = among(item.gold_answers), among(item.wrong_answers), len(item.gold_answers)
    match = right == n_gold and not wrong
    given_right = sum(any(counts_as(answer, gold, item) for gold in item.gold_answers) for answer in answers)
    return len(kinds), false, share, n_gold, len(answers), given_right, right, wrong, len(item.wrong_answers), match


def where_debated(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Select the outcomes of questions whose dialectical debate did not break off.

    Parameters
    ----------
    outcomes : DataFrame
        As returned by `answer_outcomes`.

    Returns
    -------
    DataFrame
        The selected rows.
    """
    broke = (outcomes["method"] == "dialectical") & (outcomes["missing"] == Missing.ERROR)
    return outcomes[~outcomes["item_id"].isin(outcomes.loc[broke, "item_id"])]


def document_summary(outcomes: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    """Compute each measure of each method with its interval, clustered on the question. Designs are not told apart.

    Parameters
    ----------
    outcomes : DataFrame
        As returned by `answer_outcomes`.
    by : str, optional
        A column whose values are compared; None for all items together.

    Returns
    -------
    DataFrame
        One row per method × measure: `value`, its 95 % interval and `n`. `exact_match` and `coverage` (something is
        answered) are out of n items, with missing answers counted as wrong; `precision` is out of n given answers;
        `recall` out of n gold answers; `misinformation_adopted` (a known wrong answer is given) out of n items that
        have one. `rounds`, `calls_alone` and tokens are means over n items. A share of nothing is NaN with n = 0.
    """
    keys = ["method"] if by is None else ["method", by]
    rows = []
    for names, part in outcomes.groupby(keys, sort=False, dropna=True):
        rows += [(*names, measure, *found) for measure, found in _measured(part)]
    table = pd.DataFrame(rows, columns=[*keys, "measure", "value", "low", "high", "n"])
    return table if by is None else table.sort_values(by, kind="stable", ignore_index=True)


def _measured(part: pd.DataFrame) -> Iterator[tuple[str, Estimate]]:
    """Each measure with the mean of its values (of a share 1 or 0 per unit), and the number of these."""
    questions, every = part["question_id"].to_numpy(), np.ones(len(part), int)
    out_of = {
        "exact_match": (part["exact_match"], every),
        "misinformation_adopted": (part["n_wrong"] > 0, part["n_asserted"] > 0),
        "precision": (part["n_given_right"], part["n_given"]), "recall": (part["n_right"], part["n_gold"]),
        "coverage": (part["n_given"] > 0, every),
    }  # fmt: skip
    for measure, (hits, units) in out_of.items():
        sizes = np.asarray(units, int)
        values = np.concatenate([np.arange(size) < hit for size, hit in zip(sizes, hits, strict=True)])
        yield measure, clustered_interval(values, np.repeat(questions, sizes))._replace(n=len(values))
    for measure in (name for name in PRICES if name in part):
        known = part[measure].notna().to_numpy()
        mean = mean_interval(part[measure].to_numpy(float, na_value=np.nan)[known], questions[known])
        yield measure, mean._replace(n=int(known.sum()))


def stands(turns: pd.DataFrame, items: Iterable[Item]) -> pd.DataFrame:
    """Tabulate what challenged proponents of the dialectical debate did, and whether they were right before.

    Parameters
    ----------
    turns : DataFrame
        One row per utterance, as `Results.turns`.
    items : iterable of Item
        The items, as `Results.items.values()`.

    Returns
    -------
    DataFrame
        One row per challenged proponent: `held` and `answer`, its answers before and after; `state` (defend, revise or
        concede); `held_right`, None if it held no answer. Debates that broke off and replies that had to be repaired
        are left out.
    """
    by_id = {item.item_id: item for item in items}
    debates = turns[(turns["method"] == "dialectical") & turns["item_id"].isin(by_id)]
    whole = debates["item_id"].isin(debates.loc[debates["role"] == Role.JUDGE, "item_id"])
    replies = debates[whole & (debates["role"] == Role.PROPONENT) & (debates["round"] > 0)]
    replies = replies.drop_duplicates(["item_id", "speaker"], keep="last")
    states = replies["text"].astype(str).str.extract(r'"state"\s*:\s*"(defend|revise|concede)"', expand=False)
    rows = []
    for turn, state in zip(replies.itertuples(), states, strict=True):
        item, held = by_id[turn.item_id], turn.stance if isinstance(turn.stance, str) else None
        answer = turn.stated_answer if isinstance(turn.stated_answer, str) else None
        kind = next((document.kind for document in item.documents if document.document_id == turn.speaker), None)
        right = any(counts_as(held, gold, item) for gold in item.gold_answers) if held else None
        rows.append((item.item_id, item.question_id, turn.speaker, kind, held, answer, state, right))
    columns = ["item_id", "question_id", "document_id", "kind", "held", "answer", "state", "held_right"]
    return pd.DataFrame(rows, columns=columns).dropna(subset="state", ignore_index=True)


def concession_gap(stood: pd.DataFrame) -> Estimate:
    """Compare how often challenged proponents give way if they are wrong and if they are right.

    Parameters
    ----------
    stood : DataFrame
        As returned by `stands`.

    Returns
    -------
    Estimate
        The share if wrong minus the share if right, with its 95 % interval and the number of questions; proponents that
        held no answer do not count.
    """
    stood = stood.dropna(subset="held_right")
    gave = (stood["state"] != "defend").astype(float)
    return contrast_interval(gave, stood["question_id"], stood["held_right"], {False: 1.0, True: -1.0}, bounds=(0, 1))


def sources_as_read(items: Iterable[Item], turns: pd.DataFrame) -> pd.DataFrame:
    """Estimate the reliability of the documents' sources from what the agents of RA-RAG read.

    Parameters
    ----------
    items : iterable of Item
        The items, as `Results.items.values()`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per source, the least accurate first: the columns of `SourceReliability.table`; `perfect_reader`, the
        estimate of a reader who never misreads; `accuracy`, the share of correct documents among those known to be
        correct or to mislead.
    """
    items = list(items)
    spoken = turns[turns["method"] == "ra_rag"].to_dict("records")
    read = source_reliability(*votes_of(items, spoken)).table.set_index("source")
    perfect = source_reliability(*votes_of(items, asserted(items))).table.set_index("source")["reliability"]
    known = (DocumentKind.CORRECT, DocumentKind.MISINFO)
    documents = [each for item in items for each in item.documents if each.source and each.kind in known]
    right = pd.Series([each.kind is DocumentKind.CORRECT for each in documents], dtype=float)
    accuracy = right.groupby([each.source for each in documents]).mean()
    table = read.assign(perfect_reader=perfect.reindex(read.index), accuracy=accuracy.reindex(read.index))
    return table.sort_values("accuracy", kind="stable").reset_index(names="source")


def order_of_sources(sources: pd.DataFrame) -> str:
    """Say whether more accurate sources are estimated to be more reliable (Spearman).

    Parameters
    ----------
    sources : DataFrame
        As returned by `sources_as_read`.

    Returns
    -------
    str
        One sentence with its verdict.
    """
    claim = "more accurate sources get higher reliability estimates, from what the model read (rank correlation)"
    return sentence(claim, *rank_correlation(sources["reliability"], sources["accuracy"]), above=0, of="sources")


def recovery(
    questions: Sequence[Any], sources: Sequence[Any], answers: Sequence[Any], truth: Mapping[Any, Any],
    accuracy: Mapping[Any, float],
) -> dict[str, float]:  # fmt: skip
    """Measure how well an estimate from the votes alone recovers the known accuracies of the sources.

    Parameters
    ----------
    questions : sequence of object
        Question of each vote.
    sources : sequence of object
        Source of each vote.
    answers : sequence of object
        Answer of each vote.
    truth : mapping of object to object
        Question → the true answer.
    accuracy : mapping of object to float
        Source → its true accuracy.

    Returns
    -------
    dict of str to float
        `rank_correlation`, Spearman's between estimated reliability and true accuracy; `estimated`, `oracle` (weighted
        by `log_odds` of the true accuracies) and `plain`, the shares of questions whose majority is the truth and
        nothing else; `iterations` and `converged`.
    """
    estimate = source_reliability(questions, sources, answers)
    reliability = estimate.table.set_index("source")["reliability"]
    n_answers = len(set(zip(questions, answers, strict=True))) / len(set(questions))
    weights = dict(zip(accuracy, log_odds(list(accuracy.values()), n_answers), strict=True))

    def right(majority: Mapping[Any, tuple[Any, ...]]) -> float:
        return float(np.mean([majority.get(question) == (answer,) for question, answer in truth.items()]))

    return {
        "rank_correlation": float(reliability.corr(pd.Series(accuracy), method="spearman")),
        "estimated": right(estimate.majority),
        "oracle": right(weighted_majority(questions, sources, answers, weights)),
        "plain": right(weighted_majority(questions, sources, answers)), "iterations": estimate.iterations,
        "converged": estimate.converged,
    }  # fmt: skip


def draw_summary(table: pd.DataFrame) -> Figure:
    """Draw how many questions each method answers rightly, and how often it adopts a misleading answer.

    Parameters
    ----------
    table : DataFrame
        As returned by `document_summary` by `share_misinforming`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    drawn = table["measure"].isin(["exact_match", "misinformation_adopted"]) & table["value"].notna()
    rows = table[drawn].sort_values("share_misinforming", ignore_index=True)
    rows = rows.assign(method=rows["method"].map(called), measure=rows["measure"].map(MEASURES))
    palette = dict(zip(MEASURES.values(), (draw.RIGHT_COLOUR, draw.FOLLOWED_COLOUR), strict=False))
    look: dict[str, Any] = {"hue": "measure", "palette": palette, "panel": "method", "points": True, "height": 1.9}
    labels = ("share of misleading documents", "share of questions")
    return draw.lines(rows, "share_misinforming", "value", labels, **look)


def draw_majorities(table: pd.DataFrame) -> Figure:
    """Draw the share of questions that three kinds of majority get right, mean over the seeds.

    They are the plain majority, the one weighted by estimated reliability, and the one weighted by true accuracy.

    Parameters
    ----------
    table : DataFrame
        One row per `world` and seed, with the values of `recovery`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    means = table.groupby("world", sort=False)[[*MAJORITIES]].mean().rename(columns=MAJORITIES).reset_index()
    rows = means.melt("world", var_name="majority")
    palette = dict(zip(MAJORITIES.values(), (draw.GREY, draw.BLUE, draw.ORANGE), strict=True))
    return draw.rows(rows, "value", "world", "share of questions with a true majority", hue="majority", palette=palette)


def draw_sources(table: pd.DataFrame) -> Figure:
    """Draw true and estimated accuracy, a row per source; a source without an estimate is left out.

    Parameters
    ----------
    table : DataFrame
        As returned by `sources_as_read`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    known = table.dropna(subset=["reliability", "accuracy"]).sort_values("accuracy", ascending=False)
    names = {"accuracy": "true accuracy", "reliability": "estimated", "perfect_reader": "estimated without misreading"}
    rows = known.rename(columns=names).melt("source", list(names.values()), "what")
    palette = dict(zip(names.values(), (draw.INK, draw.BLUE, draw.GREY), strict=True))
    return draw.rows(rows, "value", "source", "accuracy of the source", hue="what", palette=palette)
