"""Chapter 03: whether answers follow the passage's claim or the model's prior answer [4.1; Figures 2, 8]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from srdcr_lab.lib import draw
from srdcr_lab.lib.comparison import Comparison, compare_pairs
from srdcr_lab.lib.groups import (
    CATEGORY_NAMES,
    FEW,
    cells,
    groups,
    is_standard,
    stack,
    strata,
    with_matches,
    year_offset,
)
from srdcr_lab.lib.statistics import contrast_interval, shares
from srdcr_lab.records import KnowledgeCategory

_SHARES = ("n", "n_questions", "n_missing", "share", "low", "high")
PRESENT = 2026  # the year of the shipped facts; a later claim lies in the future, whatever the calendar says


def perturbed_answers(records: pd.DataFrame, method: str = "few_shot") -> pd.DataFrame:
    """The rows of one method whose passage is false, with what the measures below read.

    Adds `stratum`, `offset` (signed, in years, missing for other kinds), `future` (claims a year after `PRESENT`),
    `prior_is_claim` (False where the prior answer was not read), `follows_claim` and `follows_prior` (missing without
    an answer; `follows_prior` also without a prior answer). Where a model's `few_shot` was not run, each item's context
    answer takes its place: it is few-shot's.
    """
    rows = records[records["method"] == method]
    others = records[~records["model"].isin(rows["model"].unique())]
    if method == "few_shot" and (len(others) or rows.empty):
        others = others.drop_duplicates([name for name in ("run", "model", "item_id") if name in records])
        others = with_matches(others).assign(method=method, design=None, final_answer=others["context_answer"])
        others = others.assign(final_is_claim=others["context_is_claim"], final_is_prior=others["context_is_prior"])
        rows = pd.concat([with_matches(rows), others]) if len(rows) else others
    return with_claims(rows[~is_standard(rows)].reset_index(drop=True))


def with_claims(rows: pd.DataFrame) -> pd.DataFrame:
    rows = with_matches(rows)
    return rows.assign(
        stratum=strata(rows),
        offset=year_offset(rows),
        future=_claimed_year(rows) > PRESENT,
        prior_is_claim=rows["prior_is_claim"].fillna(False).astype(bool),
        follows_claim=rows["final_is_claim"],
        follows_prior=rows["final_is_prior"],
    )


def _claimed_year(rows: pd.DataFrame) -> pd.Series:
    return pd.to_numeric(rows["claimed_answer"].astype(object).where(rows["answer_type"] == "year"), errors="coerce")


def context_preference(
    records: pd.DataFrame, by: Sequence[str] = ("stratum", "knowledge_category"), *, method: str = "few_shot"
) -> pd.DataFrame:
    """Context preference: on perturbed items, the share of answers that equal `claimed_answer` [4.1, Figures 2 and 8].

    Items whose prior answer already equals the claim cannot tell a preference: they have rows of their own
    (`prior_is_claim`). An item without an answer follows nothing: it is outside the share and in `n_missing`, though
    accuracies count it as wrong. `by` is any of `stratum`, `offset` (signed), `knowledge_category`, `prior_correct`,
    `domain`, `level`, `future`, `perturbation_kind`. One row per group × cell, empty cells included, except those of
    future claims; columns as in `shares`.
    """
    rows = perturbed_answers(records, method)
    return preference_shares(rows, ("model", "method"), "follows_claim", by)


def preference_shares(rows: pd.DataFrame, group: Sequence[str], follows: str, by: Sequence[str]) -> pd.DataFrame:
    """Shares by group, `prior_is_claim` and `by`, without the empty cells of what is rare."""
    values = cells(rows, ("prior_is_claim", *by))
    tables = []
    for names, part in groups(rows, group):
        table = shares(part, part[follows], values)
        rare = table["prior_is_claim"] | table.get("future", False)
        tables.append((names, table[~rare | (table["n"] + table["n_missing"] > 0)]))
    return stack(tables, (*group, "prior_is_claim", *by, *_SHARES)).astype({"prior_is_claim": bool})


def biases(records: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Context bias P(answer = claimed | prior right, passage false), prior bias P(answer = prior | prior wrong, true).

    Questions weigh alike, however many passages each has. Every item under the condition is in n; one without an answer
    follows neither (`n_missing`). An item whose prior answer could not be read is under neither condition. Source:
    ClashEval.
    """
    tables = []
    for names, part in groups(with_matches(records)):
        standard, prior_right = is_standard(part), part["prior_correct"].astype("boolean")
        conditions = {
            "context": ("final_is_claim", ~standard & prior_right.fillna(False)),
            "prior": ("final_is_prior", standard & ~prior_right.fillna(True)),
        }
        for bias, (match, under) in conditions.items():
            rows = part[under.astype(bool)].assign(stratum=strata)
            values, follows = cells(rows, by), rows[match]
            table = shares(rows, follows.fillna(False), values, questions_alike=True)
            missing = shares(rows, follows, values, intervals=False)["n_missing"]
            tables.append((names | {"bias": bias}, table.assign(n_missing=missing)))
    return stack(tables, ("model", "method", "bias", *by, *_SHARES))


PER = 100.0  # years
ALL = "all"
FEW_QUESTIONS = 20  # below, a cluster-robust interval is too narrow
_SLOPE = ("n", "n_questions", "slope", "low", "high", "p_value", "odds_ratio", "note")


def offset_slopes(records: pd.DataFrame, *, future: bool = True) -> pd.DataFrame:
    """logit P(few-shot answer = claimed) = α + β · |offset| / 100 years, for every category and for all items (ours).

    Year offsets only; items whose prior answer equals the claim, and those without an answer, are left out, and where
    `future` is False claims of a year after `PRESENT`, which may be rejected for another reason. A negative
    `slope` β means that a claim is followed less the farther off it is. Standard errors are clustered on the question.
    `note` says why there is no slope, or what weakens it.
    """
    rows = []
    answers = _year_answers(records)
    for names, part in groups(answers if future else answers[~answers["future"]]):
        for category in (*CATEGORY_NAMES, ALL):
            cell = part if category == ALL else part[part["knowledge_category"] == category]
            slope = logistic_slope(cell["offset"].abs() / PER, cell["follows_claim"].astype(bool), cell["question_id"])
            rows.append(names | {"knowledge_category": category} | slope)
    return pd.DataFrame(rows, columns=None if rows else ["model", "method", "knowledge_category", *_SLOPE])


def _year_answers(records: pd.DataFrame) -> pd.DataFrame:
    """Few-shot answers to passages with a year offset whose claim is not the prior answer."""
    rows = perturbed_answers(records)
    return rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]


def logistic_slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike) -> dict[str, Any]:
    """Slope of a logistic regression of the 0/1 values `y` on `x`, with a cluster-robust interval.

    NaN, and a note that says why, where all outcomes or all x are equal, or where x separates the outcomes.
    """
    import statsmodels.api as sm  # takes a second, which the command line would pay at every start

    x, y = np.asarray(x, float), np.asarray(y, bool)
    codes, questions = pd.factorize(np.asarray(clusters))
    n_questions = len(questions)
    slope = low = high = p_value = math.nan
    note = _no_slope(x, y, n_questions)
    if not note:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sm.Logit(y.astype(float), sm.add_constant(x))
            fit = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes})
        slope, p_value = float(fit.params[1]), float(fit.pvalues[1])
        low, high = map(float, fit.conf_int()[1])
        note = f"only {n_questions} questions: the interval is too narrow" if n_questions < FEW_QUESTIONS else ""
    return dict(zip(_SLOPE, (y.size, n_questions, slope, low, high, p_value, math.exp(slope), note), strict=True))


def _no_slope(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], n_questions: int) -> str:
    """Why there is no slope; empty where there is one."""
    if n_questions < 3:
        return "fewer than 3 questions"
    if y.all() or not y.any():
        return "every claim was followed" if y.all() else "no claim was followed"
    if np.ptp(x) == 0:
        return "one offset only"
    if x[y].max() <= x[~y].min() or x[~y].max() <= x[y].min():
        return "the offset separates the outcomes"
    return ""


def future_against_past(records: pd.DataFrame) -> Comparison:
    """Few-shot context preference of claims after `PRESENT` (a) less that of the claims as far off the other way (b).

    Only questions that have an answer to both are compared, and whose prior answer equals neither claim. One model at a
    time; ours.
    """
    rows = _year_answers(records)
    rows = rows.assign(size=rows["offset"].abs(), followed=rows["follows_claim"].astype(float))
    ahead, back = rows[(rows["offset"] > 0) & rows["future"]], rows[rows["offset"] < 0]
    keys = ["question_id", "size"]
    ahead = ahead[[*keys, "item_id", "level", "followed"]].rename(columns={"followed": "a"})
    return compare_pairs(ahead.merge(back[[*keys, "followed"]].rename(columns={"followed": "b"}), on=keys))


def n_future(records: pd.DataFrame) -> int:
    """How many items claim a year after `PRESENT`."""
    false = records[~is_standard(records)].drop_duplicates("item_id")
    return int((_claimed_year(false) > PRESENT).sum())


# Context preference [Figures 2, 4], prior preference [Figures 8, 9], biases

TOGETHER = "all together"


def preference_by(
    records: pd.DataFrame, by: str = "stratum", *, hue: str = "knowledge_category", method: str = "few_shot"
) -> pd.DataFrame:
    """`context_preference` by a column along the axis and one that the colour shows, without the answers whose prior
    answer is the claim (their number is in `n_left_out`).

    The distances of a model and colour that all have fewer than `FEW` questions are one place, "all together".
    """
    if by == "offset":
        records = records[year_offset(records).notna()]
    table, whole = (context_preference(records, names, method=method) for names in ((by, hue), (hue,)))
    if table.empty:
        return table
    left_out = int(table.loc[table["prior_is_claim"], "n"].sum())
    table, whole = (each[~each["prior_is_claim"]] for each in (table, whole))
    if by in ("stratum", "offset"):
        most = table.groupby(["model", hue])["n_questions"].max()
        pooled = most[(most < FEW) & (most > 0)].index
        together, apart = (each.set_index(["model", hue]).index.isin(pooled) for each in (whole, table))
        parts = [table[~apart].astype({by: object}), whole[together].assign(**{by: TOGETHER})]
        table = pd.concat(parts, ignore_index=True)[table.columns]
        table[by] = pd.Categorical(table[by], table[by].unique())
    return table.assign(n_left_out=left_out)


def biases_by(records: pd.DataFrame, by: str = "domain", *, method: str = "few_shot") -> pd.DataFrame:
    """`biases` of one method by a column; last, of all items."""
    rows = records[records["method"] == method]
    parts = [biases(rows, by=(by,)), biases(rows).assign(**{by: "all"})]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def follow_known(records: pd.DataFrame) -> list[dict[str, Any]]:
    """Context preference of few-shot answers to false passages about Highly-Known questions, less that about Unknown
    ones; n counts the questions of the side with fewer."""
    answers = perturbed_answers(records, "few_shot")
    answers = answers[~answers["prior_is_claim"] & answers["follows_claim"].notna()]
    category = answers["knowledge_category"].astype(str)
    here = category.isin([KnowledgeCategory.HIGHLY_KNOWN, KnowledgeCategory.UNKNOWN])
    answers, category = answers[here], category[here]
    weights = {KnowledgeCategory.HIGHLY_KNOWN.value: 1.0, KnowledgeCategory.UNKNOWN.value: -1.0}
    n = min(answers.loc[category == name, "question_id"].nunique() for name in weights)
    if not n:
        return []
    follows, questions = answers["follows_claim"].astype(float), answers["question_id"]
    ends = contrast_interval(follows, questions, category, weights, bounds=(0.0, 1.0))
    about = "questions about years" if (answers["answer_type"] == "year").all() else ""
    return [dict(zip(("difference", "low", "high"), ends, strict=True)) | {"n": n, "about": about}]


# Figures [2, 4, 8]


def draw_preference(
    table: pd.DataFrame, by: str = "stratum", *, hue: str = "knowledge_category", panel: str = ""
) -> Figure:
    """Share of answers that follow the passage's claim, from `preference_by`, with 95 % intervals."""
    rows = table[table["n"] > 0] if len(table) else table
    if rows.empty:
        return draw.nothing("no false passage in these records")
    rows = rows.assign(**{by: [_tick(value) for value in rows[by]]}).reset_index(drop=True)
    palette = None
    if hue == "knowledge_category":
        rows, palette = draw.by_category(rows)
        rows, hue = rows.reset_index(drop=True), "category"
    labels = (
        {"stratum": "how far off the claim is", "offset": "offset of the claim in years"}.get(by, by),
        "context preference",
    )
    if by == "domain":
        return draw.rows(rows, "share", by, labels[1], hue=hue, palette=palette, panel=panel)
    return draw.lines(rows, by, "share", labels, hue=hue, palette=palette, panel=panel, points=True)


def draw_biases(table: pd.DataFrame, by: str = "domain") -> Figure:
    """Share of answers with the context bias and the prior bias, from `biases_by`, with 95 % intervals."""
    rows = table.dropna(subset="share").assign(bias=table["bias"] + " bias")
    palette = {"context bias": draw.BLUE, "prior bias": draw.ORANGE}
    return draw.rows(rows.reset_index(drop=True), "share", by, "share of answers", hue="bias", palette=palette)


def _tick(value: Any) -> str:
    if isinstance(value, str):
        return value.removeprefix("offset ").replace(" ", "\n")
    return f"{value:+g}".replace("-", "−")
