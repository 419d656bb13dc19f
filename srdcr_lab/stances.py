"""Chapter 07: counterfactual debates, in which each stance is assigned beforehand [CFMAD; its sections in brackets].

Measures and figures of the tables `records` and `turns`. To compare several runs, give both a column `run`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit, logit, stdtrit

from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import compare_all, outcome
from srdcr_lab.lib.groups import COLUMNS_OF_SHARES, answers_equal, by_group, group_columns, group_shares, groups, stack
from srdcr_lab.lib.page import Html
from srdcr_lab.lib.sentences import answer_box, sentences
from srdcr_lab.lib.statistics import Estimate, contrast_interval, jeffreys_interval, share_with, shares
from srdcr_lab.lib.summary import SPENT, accuracy, costs
from srdcr_lab.records import Missing, Role
from srdcr_lab.records.names import called

if TYPE_CHECKING:
    from srdcr_lab.study import Results

BASELINES = ("cot", "self_reflection", "self_consistency", "mad", "self_contrast")
ABLATIONS = ("direct_judge", "replace_with_self_reflection", "replace_with_mad")
VARIANTS = ("cfmad_swapped", "cfmad_stances_3", "cfmad_stances_4", "cfmad_rounds_2", "cfmad_rounds_3")
CLASSES = ("true", "false")
DEBATE_ENDS = {  # how a debate ends: its label and colour
    "valid_change": ("agree, right", draw.RIGHT_COLOUR), "invalid_change": ("agree, wrong", draw.WRONG_COLOUR),
    "judge_right": ("Judge right", draw.PALE_RIGHT), "judge_wrong": ("Judge wrong", draw.PALE_WRONG),
    "judge_missing": ("Judge not read", draw.NO_ANSWER_COLOUR),
}  # fmt: skip
# Table 3's, of questions with options; a claim takes CFMAD seven.
PAPER_PROMPTS = {"cot": 1, "self_reflection": 3, "self_consistency": 7, "mad": 10, "self_contrast": 6, "cfmad": 10}
# Figure 2: the speakers whose first answers are compared, and how many of them have to agree.
OVERCONFIDENT = {
    "self_reflection": (("cot", "revision"), 2), "self_consistency": (tuple(f"vote-{i}" for i in range(7)), 6),
    "mad": (("agent-0", "agent-1", "agent-2"), 3), "self_contrast": (("view-0", "view-1", "view-2"), 3),
}  # fmt: skip


def answer(options: Results, claims: Results) -> Html:
    """Make the answer box of notebook 07: CFMAD against one chain of thought, and whether wrong stances are given up.

    Parameters
    ----------
    options : Results
        A run over questions with options.
    claims : Results
        A run over claims.

    Returns
    -------
    Html
        The answer box of the notebook.
    """
    gaps = method_differences(options, claims)
    by_kind = gaps[gaps["b"] == "cot"].groupby("condition", sort=False)
    claim = "CFMAD is right more often than one chain of thought on"
    lines = [sentences(f"{claim} {what}", rows, "difference") for what, rows in by_kind]
    ends = concessions(claims.records, claims.turns).query("method == 'cfmad'")
    claim = "wrong stances are given up more often than right ones, beyond what answering like CoT would bring"
    gap = round(2 * claims.records.loc[claims.records["method"] == "cot", "correct"].fillna(False).mean() - 1, 2)
    lines.append(sentences(claim, ends, "difference", above=gap, n="n_questions", of="claims"))
    return answer_box(*lines, label=options.label)


def method_differences(options: Results, claims: Results) -> pd.DataFrame:
    """Compare CFMAD with each baseline and ablation on two kinds of questions.

    Parameters
    ----------
    options : Results
        A run over questions with options.
    claims : Results
        A run over claims.

    Returns
    -------
    DataFrame
        The rows of `compare_all` for right answers, with the kind of question in `condition`; Holm's correction is over
        the methods of one kind.
    """
    tables = []
    for kind, results in (("questions with options", options), ("claims", claims)):
        rivals = [name for name in (*BASELINES, *ABLATIONS) if name in set(results.records["method"])]
        table = compare_all(results.records, "cfmad", others=rivals, conditions=["overall"])
        tables.append(table.assign(condition=kind, name=table["b"].map(called)))
    return pd.concat(tables, ignore_index=True)


def macro_f1(gold: pd.Series, final: pd.Series, clusters: pd.Series) -> Estimate:
    """Compute the mean over "true" and "false" of F1 = 2 tp / (2 tp + fp + fn).

    A missing answer is a false negative of its gold class. A class that is neither a gold answer nor a final answer
    anywhere is left out.

    Parameters
    ----------
    gold : Series
        Gold answers.
    final : Series
        Final answers; missing if there is none.
    clusters : Series
        Question of each row.

    Returns
    -------
    Estimate
        Macro-F1 with its 95 % interval: linearised, on the logit scale, with Student's t of the questions in the
        smaller gold class; each class gets one claim more, half of it right. Jeffreys if the mean is 0 or 1.

    References
    ----------
    CFMAD, section 4.1.
    """
    is_gold, is_final = (np.array([(side == label).fillna(False) for label in CLASSES], bool) for side in (gold, final))
    hits, misses = 2.0 * (is_gold & is_final), is_gold ^ is_final  # class × claim
    hits, counted = (each[(hits + misses).any(axis=1)] for each in (hits, hits + misses))
    value = float((hits.sum(axis=1) / counted.sum(axis=1)).mean()) if len(hits) else math.nan
    question, n = pd.factorize(clusters)[0], clusters.nunique()
    if 0 < value < 1:
        total = counted.sum(axis=1, keepdims=True) + 2
        score = (hits.sum(axis=1, keepdims=True) + 1) / total
        parts = np.bincount(question, ((hits - score * counted) / total).sum(axis=0))
        added = (2 * (score**2 + (1 - score) ** 2) / total**2).sum()
        error = math.sqrt(parts @ parts * n / max(n - 1, 1) + added) / len(score)
        t = float(stdtrit(max(clusters.groupby(gold).nunique().min() - 1, 1), 0.975))  # of the smaller class
        half = t * error / (value * (1 - value))
        low, high = expit(logit(value) + np.array([-half, half]))
    else:
        low, high = jeffreys_interval(value * n, n)
    return Estimate(value, float(low), float(high), n)


def accuracy_by_method(records: pd.DataFrame) -> pd.DataFrame:
    """Compute Table 1: accuracy and macro-F1 by model and method.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × method: the columns of `accuracy`; `macro_f1`, NaN unless all gold answers are "true" or
        "false"; `chance`, the score of guessing (½ for macro-F1, the mean of 1 / options for accuracy).

    References
    ----------
    CFMAD, Table 1.
    """

    def rows(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        claims = part if part["gold_answer"].isin(CLASSES).all() else part.iloc[:0]
        f1 = macro_f1(claims["gold_answer"], claims["final_answer"], claims["question_id"])
        options = part["n_options"].astype(float)
        chance = 0.5 if len(claims) else float((1 / options.where(options > 0)).mean(skipna=False))
        yield accuracy(part["correct"], part["question_id"]) | f1.columns("macro_f1") | {"chance": chance}

    return by_group(records, rows)


def by_number(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the accuracy of CFMAD by its number of stances and of rounds.

    Plain CFMAD, with two stances and one round, is a row of either. All questions count; Figure 6 (A) compares where
    the right answer is among the stances (`candidate_recall`).

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        The rows of `accuracy_by_method`, with `what` (stances or rounds) and `number`.

    References
    ----------
    CFMAD, Figure 6.
    """
    tables = []
    for what, default in (("stances", 2), ("rounds", 1)):
        table = accuracy_by_method(records[records["method"].str.fullmatch(rf"cfmad(_{what}_\d)?")])
        number = [int(re.sub(r"\D", "", method) or default) for method in table["method"]]
        tables.append(table.assign(what=f"number of {what}", number=number).sort_values("number", kind="stable"))
    return pd.concat(tables, ignore_index=True)


def cost_by_method(records: pd.DataFrame) -> pd.DataFrame:
    """Compute prompts and tokens by model and method, of the method by itself.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.

    Returns
    -------
    DataFrame
        One row per model × method: means of `prompts_per_sample` and `tokens_per_sample` (prompts and replies), the
        latter with its 95 % t interval over questions; `paper_prompts` is the paper's number. Items that failed count
        in `n` alone.

    References
    ----------
    CFMAD, Table 3 and appendix A.1.
    """
    ended = records["missing"].fillna("") != Missing.ERROR
    table = costs(records.assign(**records[[*SPENT]].where(ended))).rename(columns={"calls": "prompts_per_sample"})
    table = table.rename(columns=lambda name: name.replace("tokens", "tokens_per_sample"))
    return table.assign(paper_prompts=[PAPER_PROMPTS.get(method, pd.NA) for method in table["method"]])


def overconfidence(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of errors due to overconfidence: enough first answers agree on a wrong one.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model × method of `OVERCONFIDENT`, with the columns of `shares` over the errors; `n_missing` counts
        questions without an answer.

    References
    ----------
    CFMAD, section 2.2 and Figure 2.
    """
    rows = _numbered(records[records["method"].isin(OVERCONFIDENT)])
    spoken = _spoken(rows, turns)
    first = {(method, speaker) for method, (speakers, _) in OVERCONFIDENT.items() for speaker in speakers}
    is_first = [pair in first for pair in zip(spoken["method"], spoken["speaker"], strict=True)]
    spoken = spoken[np.array(is_first, bool)].drop_duplicates(["row", "speaker"])
    pairs = spoken.merge(spoken[["row", "stated_answer"]], on="row", suffixes=("", "_other"))
    same = answers_equal(pairs, "stated_answer", "stated_answer_other").fillna(False)
    agreeing = same.groupby([pairs["row"], pairs["speaker"]]).transform("sum")
    enough = agreeing >= pairs["method"].map({method: least for method, (_, least) in OVERCONFIDENT.items()})
    hits = rows["row"].isin(pairs.loc[enough & ~_is_gold(pairs, "stated_answer"), "row"]).astype("boolean")
    wrong = ~rows["correct"].astype("boolean")
    return group_shares(rows[wrong.fillna(True)], hits.mask(rows["correct"].isna()))


def debate_ends(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Tabulate how debates end.

    A change is valid if all stances finally hold the gold answer, invalid if all hold another; otherwise the judge
    decides.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model × method × `end` (see `DEBATE_ENDS`), with the columns of `shares` over the debated questions;
        `n_missing` counts the questions without a debate.

    References
    ----------
    CFMAD, Figures 4 and 5.
    """
    return stack([
        (names | {"end": end}, share_with(part, "end", end))
        for names, part in groups(_ended(records, turns)) if part["end"].notna().any() for end in DEBATE_ENDS
    ], ["model", "method", "end", *COLUMNS_OF_SHARES])  # fmt: skip


def judge_of_debates(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compute how often the judge is right if the stances do not agree in the end.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model × method, with the columns of `shares` over these questions; an unread ruling is wrong.
    """
    ended = _ended(records, turns)
    left = ended[ended["end"].str.startswith("judge", na=False)]
    return group_shares(left, left["end"] == "judge_right")


def _ended(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Each record with the `end` of its debate, None without one."""
    rows = _numbered(records)
    held = _last_replies(rows, turns)
    held["other"] = held.groupby("row")["stated_answer"].transform("first")
    same = answers_equal(held, "stated_answer", "other").fillna(False)
    agree = rows["row"].map(same.groupby(held["row"]).all()).astype("boolean").fillna(False).astype(bool)
    gold = rows["row"].isin(held.loc[_is_gold(held, "stated_answer"), "row"])
    right = rows["correct"].astype("boolean")
    cases = [~rows["row"].isin(held["row"]), agree & gold, agree, right.fillna(False), ~right.fillna(True)]
    end = np.select([case.to_numpy(bool) for case in cases], ["", *list(DEBATE_ENDS)[:4]], "judge_missing")
    return rows.assign(end=pd.Series(end, rows.index, dtype=object).replace("", None))


def concessions(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compare how often wrong and right stances are given up.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model × method: `difference` (wrong minus right) with its 95 % interval over `n_questions`, of the
        last replies that could be read.
    """

    def gap_of(part: pd.DataFrame) -> Iterator[dict[str, Any]]:
        changed, questions = part["changed"].astype(float), part["question_id"]
        gap = contrast_interval(changed, questions, part["right"], {False: 1.0, True: -1.0}, bounds=(0.0, 1.0))
        yield gap.columns("difference", alone=True) | {"n_questions": questions.nunique()}

    held = _last_replies(_numbered(records), turns)
    held = held.assign(changed=~answers_equal(held, "stance", "stated_answer"), right=_is_gold(held, "stance"))
    return by_group(held.dropna(subset="changed"), gap_of)


def candidate_recall(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compute how often the gold answer is among the candidates, without which no judge can be right.

    Candidates are the preset stances or, if nothing was debated, the answers of the chains of thought, which then agree
    and count as one.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model × method, with the columns of `shares`; `mean_candidates`; `by_chance`, the share if they were
        options drawn at random; `accuracy_recalled`, the accuracy if the gold answer is among them. `n_missing` counts
        questions without candidates.

    References
    ----------
    CFMAD, appendix A.2 and Table 4.
    """
    rows = _numbered(records[records["method"].str.startswith(("cfmad", "direct_judge", "replace_with"))])
    spoken = _spoken(rows, turns)
    preset = _defences(spoken).drop_duplicates(["row", "stance"]).assign(candidate=lambda rows: rows["stance"])
    drawn = spoken[spoken["speaker"].str.startswith("cot") & ~spoken["row"].isin(preset["row"])]
    drawn = drawn.assign(candidate=drawn["stated_answer"]).dropna(subset="candidate")
    candidates = pd.concat([preset, drawn])
    hits = rows["row"].isin(candidates.loc[_is_gold(candidates, "candidate"), "row"]).astype("boolean")
    hits = hits.where(rows["row"].isin(candidates["row"]))
    number = rows["row"].map(preset.groupby("row").size()).fillna(1).where(hits.notna())
    right = outcome(rows, "correct").where(hits.fillna(False))
    chance = (number / rows["n_options"]).clip(upper=1)
    values = {"mean_candidates": number, "by_chance": chance, "accuracy_recalled": right}
    means = rows.assign(**values).groupby(group_columns(rows), observed=True)[[*values]].mean()
    return group_shares(rows, hits).join(means, on=group_columns(rows))


def position_effect(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Measure whether the order in which a judge reads the stances sways it, over the same debates in both orders.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row per model: `n` pairs answered in both orders, `n_missing` others; `changed`, the share with a different
        answer; `first` and `last`, the shares of judgements for the stance read first or last; `effect` = first − last
        with its 95 % interval.
    """
    tables = []
    methods = ["cfmad", "cfmad_swapped"]
    for names, part in groups(records[records["method"].isin(methods)], ("model",)):
        if part["method"].nunique() < 2:
            continue
        orders = [_judged(part[part["method"] == name], turns) for name in methods]
        pairs = orders[0].merge(orders[1][["item_id", "final_answer"]], on="item_id", suffixes=("", "_swapped"))
        changed = shares(pairs, ~answers_equal(pairs, "final_answer", "final_answer_swapped"))
        read = pairs.loc[pairs["final_answer"].notna() & pairs["final_answer_swapped"].notna(), "item_id"]
        judged = pd.concat([order[order["item_id"].isin(read)] for order in orders], ignore_index=True)
        first, last = (answers_equal(judged, "final_answer", name).astype(float) for name in ("first", "last"))
        effect = contrast_interval(first - last, judged["question_id"], np.zeros(len(judged)), {0: 1.0})
        row = {"first": first.mean(), "last": last.mean()} | effect.columns("effect")
        names_of = {"share": "changed", "low": "changed_low", "high": "changed_high"}
        tables.append((names, changed.rename(columns=names_of).assign(**row)))
    return stack(tables, ["n", "changed", "first", "last", "effect"])


def _judged(part: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The debated questions, with the stances read first and last."""
    stances = _defences(_spoken(part, turns)).drop_duplicates(["item_id", "stance"]).groupby("item_id")["stance"]
    return part.merge(stances.agg(["first", "last"]), on="item_id")


def spared(records: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Compute the share of items that `cfmad_when_unsure` answers without a debate.

    Parameters
    ----------
    records : DataFrame
        One row per item × method, as `Results.records`.
    turns : DataFrame
        One row per utterance, as `Results.turns`.

    Returns
    -------
    DataFrame
        One row, as `shares` returns it; failed items are in `n_missing`.
    """
    rows = records[records["method"] == "cfmad_when_unsure"]
    debated = turns.loc[(turns["method"] == "cfmad_when_unsure") & turns["stance"].notna(), "item_id"]
    return shares(rows, (~rows["item_id"].isin(debated)).astype("boolean").mask(rows["missing"] == Missing.ERROR))


def _numbered(records: pd.DataFrame) -> pd.DataFrame:
    """With a number for each row, by which its turns are found again."""
    return records.assign(row=range(len(records)))


def _spoken(rows: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The turns about the questions of these rows in order, each with the columns of its row of `records`."""
    keys = [name for name in ("run", "method", "item_id") if name in rows and name in turns]
    columns = [*keys, "position", "role", "speaker", "round", "stance", "stated_answer"]
    return rows.merge(turns[columns].sort_values("position", kind="stable"), on=keys)


def _defences(spoken: pd.DataFrame) -> pd.DataFrame:
    """The turns of the preset stances."""
    return spoken[(spoken["role"] == Role.DEFENDER) & spoken["stance"].notna()]


def _last_replies(rows: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """The last reply of each stance to its critic; `stated_answer` is what the stance then holds."""
    defences = _defences(_spoken(rows, turns))
    return defences[defences["round"] > 0].drop_duplicates(["row", "stance"], keep="last").copy()


def _is_gold(rows: pd.DataFrame, column: str) -> pd.Series:
    """Whether an answer equals the gold answer or a final answer that is right, which may be an alias; an unread one
    does not.
    """
    right = rows["correct"].astype("boolean") & answers_equal(rows, column, "final_answer")
    return (answers_equal(rows, column, "gold_answer").fillna(False) | right.fillna(False)).astype(bool)


def draw_overconfidence(table: pd.DataFrame) -> Figure:
    """Draw the share of errors due to overconfidence, with 95 % intervals.

    Parameters
    ----------
    table : DataFrame
        As returned by `overconfidence`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    names = [f"{called(row.method)}  (errors: {row.n})" for row in table.itertuples()]
    return draw.rows(table.assign(name=names), "share", "name", "share of errors due to overconfidence", few="errors")


def draw_debate_ends(table: pd.DataFrame) -> Figure:
    """Draw how debates end, a bar per method whose parts sum to 1.

    Parameters
    ----------
    table : DataFrame
        As returned by `debate_ends`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    ends = table["end"].map({end: label for end, (label, _) in DEBATE_ENDS.items()})
    rows, labels = table.assign(name=table["method"].map(called), end=ends), ("", "share of debated questions")
    return draw.stacked(rows, "name", "share", "end", labels, dict(DEBATE_ENDS.values()), across=True, n="n")


def draw_by_number(table: pd.DataFrame) -> Figure:
    """Draw the accuracy of CFMAD by its number of stances and of rounds, with 95 % intervals.

    Parameters
    ----------
    table : DataFrame
        As returned by `by_number`.

    Returns
    -------
    Figure
        The figure, not yet saved.
    """
    return draw.lines(table, "number", "accuracy", ("", "accuracy"), panel="what", points=True)
