"""Notebook 07: counterfactual debates, in which each stance is set beforehand [CFMAD, whose sections are in brackets].

What `records` and `turns` of a run say, as tables, and those tables as figures. Of several runs both need the column
`run`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import stdtrit

from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import outcome
from srdcr_lab.lib.groups import by_group, group_columns, groups, same_answer
from srdcr_lab.lib.statistics import (
    bootstrapped,
    contrast_interval,
    jeffreys_interval,
    percentile_interval,
    shares,
    with_interval,
)
from srdcr_lab.lib.summary import accuracy
from srdcr_lab.records import Missing, Role
from srdcr_lab.records.names import called

CLASSES = ("true", "false")
ENDS = ("valid_change", "invalid_change", "judge_right", "judge_wrong", "judge_missing")
# Table 3's, of questions with options; a claim takes CFMAD seven.
PAPER_PROMPTS = {"cot": 1, "self_reflection": 3, "self_consistency": 7, "mad": 10, "self_contrast": 6, "cfmad": 10}
# Figure 2: the speakers whose first answers are compared, and how many of them have to agree.
OVERCONFIDENT = {
    "self_reflection": (("cot", "revision"), 2),
    "self_consistency": (tuple(f"vote-{i}" for i in range(7)), 6),
    "mad": (("agent-0", "agent-1", "agent-2"), 3),
    "self_contrast": (("view-0", "view-1", "view-2"), 3),
}
_PRESETTING = ("cfmad", "direct_judge", "replace_with")
_SHARE = ("n", "share", "low", "high")


def macro_f1(gold: pd.Series, final: pd.Series, clusters: pd.Series) -> dict[str, float]:
    """Mean over "true" and "false" of F1 = 2 tp / (2 tp + fp + fn), with a bootstrap interval over the clusters [4.1].

    A missing answer is a false negative of its gold class. A class that is neither the truth nor an answer anywhere is
    left out. Where every resample agrees, the interval is Jeffreys.
    """
    if gold.empty:
        return with_interval("macro_f1", math.nan, math.nan, math.nan)
    codes, names = pd.factorize(clusters)
    n = len(names)
    counts = np.zeros((n, len(CLASSES), 2))  # cluster × class × (tp, fp + fn)
    for place, label in enumerate(CLASSES):
        is_gold, is_final = (gold == label).to_numpy(), (final == label).fillna(False).to_numpy(bool)
        np.add.at(counts[:, place, 0], codes, is_gold & is_final)
        np.add.at(counts[:, place, 1], codes, is_gold ^ is_final)

    def f1(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        hits, misses = np.moveaxis(np.tensordot(weights, counts, 1), -1, 0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.nanmean(2 * hits / (2 * hits + misses), axis=-1))

    (value,) = f1(np.ones((1, n)))
    low, high = percentile_interval(bootstrapped(f1, n))
    if low == high:
        low, high = map(float, jeffreys_interval(round(value * n), n))
    return with_interval("macro_f1", float(value), low, high)


def accuracy_by_method(records: pd.DataFrame) -> pd.DataFrame:
    """Table 1, per model × method: the columns of `accuracy`, why answers are missing, macro-F1, and `chance`, what
    guessing has of it: half of macro-F1, the mean of 1 / options of accuracy.

    Macro-F1 is of claims: NaN where a gold answer is something else than "true" or "false".
    """

    def rows(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        claims = part if part["gold_answer"].isin(CLASSES).all() else part.iloc[:0]
        f1 = macro_f1(claims["gold_answer"], claims["final_answer"], claims["question_id"])
        missing = {f"n_{why.value}": int((part["missing"] == why).sum()) for why in Missing}
        options = part["n_options"].astype(float)
        chance = 0.5 if len(claims) else float((1 / options.where(options > 0)).mean(skipna=False))
        yield accuracy(part["correct"], part["question_id"]) | f1 | missing | {"chance": chance}

    return by_group(records, rows)


def by_number(records: pd.DataFrame, what: str) -> pd.DataFrame:
    """Figure 6: `accuracy_by_method` of `cfmad` by its number of `what` (``cfmad_stances_3``, ``cfmad_rounds_2`` …)."""
    numbers = {}
    for method in records["method"].unique():
        variant = re.fullmatch(r"cfmad(?:_(stances|rounds)_(\d))?", str(method))
        if variant and variant[1] in (None, what):
            numbers[method] = int(variant[2] or {"stances": 2, "rounds": 1}[what])
    table = accuracy_by_method(records[records["method"].isin(numbers)])
    table.insert(table.columns.get_loc("method") + 1, what, table["method"].map(numbers))
    return table.sort_values([*(name for name in ("run", "model") if name in table), what], ignore_index=True)


def cost_by_method(records: pd.DataFrame) -> pd.DataFrame:
    """Table 3, per model × method: mean prompts, tokens a prompt and tokens a sample, of the method by itself [A.1].

    Tokens are those of prompts and replies. The interval of the tokens a sample is Student's, over the means of the
    questions. Rows with an error are left out and counted in `n_error`.
    """

    def rows(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        ended = part[part["missing"].fillna("") != Missing.ERROR]
        calls = ended["calls_alone"].astype(float)
        tokens = (ended["prompt_tokens"] + ended["completion_tokens"]).astype(float)
        means = tokens.groupby(ended["question_id"]).mean()
        half = stdtrit(len(means) - 1, 0.975) * means.sem()
        yield {
            "n": len(ended),
            "n_error": len(part) - len(ended),
            "prompts_per_sample": calls.mean(),
            "tokens_per_prompt": tokens.sum() / (calls.sum() or math.nan),
            **with_interval("tokens_per_sample", tokens.mean(), means.mean() - half, means.mean() + half),
        }

    table = by_group(records, rows)
    return table.assign(paper_prompts=[PAPER_PROMPTS.get(method, pd.NA) for method in table["method"]])


def overconfidence(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Figure 2, per model × method of `OVERCONFIDENT`: the `share` of `n` errors that are overconfidence [2.2].

    In these, enough first answers agree on a wrong one. `n_missing` counts questions without an answer.
    """
    rows = []
    for names, part in groups(records):
        if names["method"] not in OVERCONFIDENT:
            continue
        speakers, enough = OVERCONFIDENT[names["method"]]
        first = _turns_of(part, turns)
        first = first[first["speaker"].isin(speakers)].drop_duplicates(["item_id", "speaker"])
        pairs = first.merge(first[["item_id", "stated_answer"]], on="item_id", suffixes=("", "_other"))
        same = same_answer(pairs, "stated_answer", "stated_answer_other").fillna(False)
        agree = same.groupby([pairs["item_id"], pairs["speaker"]]).transform("sum") >= enough
        kept = pairs.loc[agree & ~_is_gold(pairs, "stated_answer"), "item_id"]
        errors = part[part["correct"].astype("boolean").eq(False).fillna(False)]
        hits = errors["item_id"].isin(kept)
        counts = {"n_overconfident": int(hits.sum()), "n_missing": int(part["correct"].isna().sum())}
        rows.append(names | _share(errors, hits) | counts)
    return _table(records, rows, *_SHARE, "n_overconfident", "n_missing")


def debate_ends(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Figures 4 and 5, per model × method with debates: the share of each of the `ENDS` among `n` debated questions.

    A change is valid where all stances hold the gold answer at last, invalid where all hold another; else the judge
    decides.
    """
    rows = []
    for names, part in groups(records):
        debated = _ended(part, turns)
        for end in ENDS if len(debated) else ():
            share = _share(debated, debated["end"] == end)
            rows.append(names | {"end": end} | share | {"n_undebated": len(part) - len(debated)})
    return _table(records, rows, "end", *_SHARE, "n_undebated")


def judge_of_debates(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method with debates: the share that the judge decides rightly of those whose stances do not agree at
    last; a ruling that was not read is wrong."""
    rows = []
    for names, part in groups(records):
        debated = _ended(part, turns)
        left = debated[debated["end"].isin(ENDS[2:])]
        rows += [names | _share(left, left["end"] == ENDS[2])] if len(debated) else []
    return _table(records, rows, *_SHARE, "n_questions")


def _ended(part: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The debated questions of one group, each with its `end`."""
    replies = _last_replies(part, turns)
    replies["other"] = replies.groupby("item_id")["stated_answer"].transform("first")
    same = same_answer(replies, "stated_answer", "other").fillna(False)
    agree = same.groupby(replies["item_id"]).transform("all")
    debated = replies.assign(agree=agree, gold=_is_gold(replies, "stated_answer")).drop_duplicates("item_id")
    agree, right = debated["agree"].astype(bool), debated["correct"].astype("boolean")
    cases = [agree & debated["gold"], agree, right.fillna(False), ~right.fillna(True)]
    return debated.assign(end=np.select([case.to_numpy(bool) for case in cases], ENDS[:4], ENDS[4]))


def stance_changes(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Per model × method: how often a right and a wrong stance holds another answer at the end [4.3.1].

    `n` counts the stances whose last reply could be read, `n_unread` the others.
    """
    rows = []
    for names, part in groups(records):
        replies = _last_replies(part, turns)
        changed, right = ~same_answer(replies, "stance", "stated_answer"), _is_gold(replies, "stance")
        for stance, here in (("right", right), ("wrong", ~right)) if len(replies) else ():
            share = _share(replies[here], changed[here])
            rows.append(names | {"stance": stance} | share | {"n_unread": share["n_missing"]})
    return _table(records, rows, "stance", *_SHARE, "n_unread")


def candidate_recall(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """How often the gold answer is among the candidates: what no judge can make up for [A.2, Table 4].

    Candidates are the preset stances; where nothing was debated, the one answer of the chains of thought. `n_without`
    counts the questions without any. `accuracy_recalled` is the accuracy where the gold answer was among them.
    """
    rows = []
    for names, part in groups(records):
        if not names["method"].startswith(_PRESETTING):
            continue
        spoken = _turns_of(part, turns)
        preset = _defences(spoken).drop_duplicates(["item_id", "stance"]).assign(candidate=lambda rows: rows["stance"])
        drawn = spoken[spoken["speaker"].str.startswith("cot") & ~spoken["item_id"].isin(preset["item_id"])]
        drawn = drawn.assign(candidate=drawn["stated_answer"]).dropna(subset="candidate")
        candidates = pd.concat([preset, drawn])
        having = part[part["item_id"].isin(candidates["item_id"])]
        hits = having["item_id"].isin(candidates.loc[_is_gold(candidates, "candidate"), "item_id"])
        recall = _share(having, hits)
        row = {
            "recall": recall["share"],
            "n_without": len(part) - len(having),
            "mean_candidates": (len(preset) + drawn["item_id"].nunique()) / (len(having) or math.nan),
            "accuracy_recalled": outcome(having[hits], "correct").mean(),
        }
        rows.append(names | recall | row)
    return _table(records, rows, "n", "recall", "low", "high", "n_without", "mean_candidates", "accuracy_recalled")


def position_effect(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Whether the order in which a judge reads the stances sways it: per model, over the same debates in both orders.

    `n` pairs were answered in both orders, `n_missing` were not. `changed` is the share whose answer differs; `first`
    and `last` are the shares of all judgements for the stance read first or last; `effect` = first − last.
    """
    rows = []
    methods = ["cfmad", "cfmad_swapped"]
    for names, part in groups(records[records["method"].isin(methods)], ("model",)):
        if part["method"].nunique() < 2:
            continue
        orders = [_judged(part[part["method"] == name], turns) for name in methods]
        pairs = orders[0].merge(orders[1][["item_id", "final_answer"]], on="item_id", suffixes=("", "_swapped"))
        read = pairs[pairs["final_answer"].notna() & pairs["final_answer_swapped"].notna()]
        changed = _share(read, ~same_answer(read, "final_answer", "final_answer_swapped"))
        judged = pd.concat([order[order["item_id"].isin(read["item_id"])] for order in orders], ignore_index=True)
        first, last = (same_answer(judged, "final_answer", name).astype(float) for name in ("first", "last"))
        effect, *ends = contrast_interval(first - last, judged["question_id"], np.zeros(len(judged)), {0: 1.0})
        row = {
            "n": len(read),
            "n_missing": len(pairs) - len(read),
            **with_interval("changed", changed["share"], changed["low"], changed["high"]),
            "first": first.mean(),
            "last": last.mean(),
            **with_interval("effect", effect, *ends),
        }
        rows.append(names | row)
    return pd.DataFrame(rows, columns=None if rows else ["n", "changed", "first", "last", "effect"])


def _judged(part: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The debated questions, with the stances read first and last."""
    stances = _defences(_turns_of(part, turns)).drop_duplicates(["item_id", "stance"]).groupby("item_id")["stance"]
    return part.merge(stances.agg(["first", "last"]), on="item_id")


def _turns_of(part: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The turns about the questions of one group in order, each with the columns of its row of `records`."""
    keys = [name for name in ("run", "method", "item_id") if name in part and name in turns]
    columns = [*keys, "position", "role", "speaker", "round", "stance", "stated_answer"]
    return part.merge(turns[columns].sort_values("position", kind="stable"), on=keys)


def _defences(spoken: pd.DataFrame) -> pd.DataFrame:
    """The turns of the preset stances."""
    return spoken[(spoken["role"] == Role.DEFENDER) & spoken["stance"].notna()]


def _last_replies(part: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The last reply of each stance to its critic; `stated_answer` is what the stance then holds."""
    defences = _defences(_turns_of(part, turns))
    return defences[defences["round"] > 0].drop_duplicates(["item_id", "stance"], keep="last")


def _is_gold(rows: pd.DataFrame, column: str) -> pd.Series:
    """Whether an answer equals the gold answer; an unread one does not. Aliases are not known here."""
    return same_answer(rows, column, "gold_answer").fillna(False).astype(bool)


def _share(rows: pd.DataFrame, hits: pd.Series) -> dict[str, Any]:
    return dict(shares(rows, hits).to_dict("records")[0])


def _table(records: pd.DataFrame, rows: list[dict[str, Any]], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*group_columns(records), *columns])


def spared(records: pd.DataFrame, turns: pd.DataFrame, method: str = "cfmad_when_unsure") -> pd.DataFrame:
    """Share of the items that this method answers without a debate: nobody defends a preset stance."""
    rows = records[records["method"] == method]
    debated = turns.loc[(turns["method"] == method) & turns["stance"].notna(), "item_id"]
    return shares(
        rows, (~rows["item_id"].isin(debated)).astype("boolean").where(rows["missing"].fillna("") != Missing.ERROR)
    )


# Figures

_END_LOOKS = dict(  # of `ENDS`
    zip(
        ("agree, right", "agree, wrong", "judge right", "judge wrong", "judge not read"),
        ("#0173b2", "#d55e00", "#56b4e9", "#ecb08a", "#bbbbbb"),
        strict=True,
    )
)


def draw_option_accuracy(table: pd.DataFrame) -> Figure:
    """`accuracy_by_method` of one model, a row a method: macro-F1 where every question is a claim, else accuracy, with
    95 % intervals; dashed: guessing. What could not be read is wrong."""
    of_claims = bool(table["macro_f1"].notna().all())
    value, meaning = ("macro_f1", "macro-F1") if of_claims else ("accuracy", "accuracy")
    names = [f"{called(row.method)}  ({row.n_answered}/{row.n} answered)" for row in table.itertuples()]
    return draw.rows(table.assign(name=names), value, "name", meaning, reference=table["chance"].max())


def draw_overconfidence(table: pd.DataFrame) -> Figure:
    """Figure 2 from `overconfidence`: a row a method, with 95 % intervals."""
    names = [f"{called(row.method)}  (errors: {row.n})" for row in table.itertuples()]
    return draw.rows(table.assign(name=names), "share", "name", "share of errors: overconfidence", few="errors")


def draw_debate_ends(table: pd.DataFrame) -> Figure:
    """Figures 4 and 5 in one, from `debate_ends`: a bar a method whose parts sum to 1."""
    names = [f"{called(row.method)}  (n = {row.n})" for row in table.itertuples()]
    rows = table.assign(name=names, end=table["end"].map(dict(zip(ENDS, _END_LOOKS, strict=True))))
    height = 0.9 + 0.3 * rows["name"].nunique()
    labels = ("", "share of debated questions")
    return draw.stacked(rows, "name", "share", "end", labels, _END_LOOKS, across=True, height=height)


def draw_by_number(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Figure 6 from `by_number` of stances and of rounds: accuracy with 95 % intervals, a panel for each."""
    parts = [table.assign(number=table[what], what=f"number of {what}") for what, table in tables.items()]
    rows = pd.concat(parts, ignore_index=True)
    return draw.lines(rows, "number", "accuracy", ("", "accuracy"), panel="what", points=True)
