"""Whom the answers follow: the passage's claim or the model's prior answer [4.1, 4.3; Figures 2, 4, 8, 9].

Preferences and biases are shares of answers; the slopes say how following a claim changes with its offset.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.comparison import Comparison, compare_pairs
from srdcr_lab.measures.estimates import shares
from srdcr_lab.measures.groups import (
    CATEGORY_NAMES,
    RULINGS,
    groups,
    is_standard,
    stack,
    strata,
    with_matches,
    year_offset,
)
from srdcr_lab.measures.rule import decide
from srdcr_lab.measures.verdicts import DESIGN_KEYS, by_round, cells, debates
from srdcr_lab.records import Decision

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
    return _marked(rows[~is_standard(rows)].reset_index(drop=True))


def _marked(rows: pd.DataFrame) -> pd.DataFrame:
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
    return _preference(rows, ("model", "method"), "follows_claim", by)


def _preference(rows: pd.DataFrame, group: Sequence[str], follows: str, by: Sequence[str]) -> pd.DataFrame:
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


def prior_preference_by_round(
    records: pd.DataFrame, by: Sequence[str] = ("stratum",), *, gate: bool = False
) -> pd.DataFrame:
    """Prior preference: on perturbed items, the share of answers equal to the prior one after each round of a debate.

    `debate` is ``judge_debate``, whose judge picks an answer after r rounds, or a design whose verdict of that round
    leads to an answer: Reasonable the context answer, Unreasonable the prior answer (with `gate` only where Conf ≥ τ),
    otherwise none. Items whose prior answer equals the claim have rows of their own. An item without an answer, or
    without a prior answer, is outside the share and in `n_missing`. Source: paper 4.3, Figures 4 and 9; for designs
    with verdicts ours.
    """
    answers = pd.concat([_judge_debates(records), _ended_debates(records, gate)], ignore_index=True)
    return _preference(answers, ("model", "debate", "round"), "follows_prior", by)


def _judge_debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``judge_debate_r``, by r."""
    methods = pd.Series(records["method"].unique(), dtype=object)
    rounds = methods.str.extract(r"^judge_debate_(\d+)$", expand=False).dropna().astype(int).sort_values()
    parts = [perturbed_answers(records, methods[i]).assign(debate="judge_debate", round=r) for i, r in rounds.items()]
    return pd.concat(parts or [perturbed_answers(records.iloc[:0]).assign(debate="", round=0)])


def _ended_debates(records: pd.DataFrame, gate: bool) -> pd.DataFrame:
    """Rows of every design's debates, one per item × round, as if the debate had ended there."""
    held = debates(records)
    held = _marked(held[~is_standard(held)].reset_index(drop=True))
    parts = [by_round(part) for _, part in groups(held, DESIGN_KEYS)]
    rows = pd.concat(parts, ignore_index=True) if parts else held.assign(round=0, symbol="")
    belief, tau = (rows[name].to_numpy(float, na_value=np.nan) for name in ("self_confidence", "tau"))
    ruled = zip(rows["symbol"], belief, tau, strict=True)
    decision = np.array([decide(RULINGS[symbol], conf, tau, gate=gate) for symbol, conf, tau in ruled], object)
    follows = rows["context_is_prior"].where(decision == Decision.USE_CONTEXT)
    follows = follows.mask(decision == Decision.USE_PRIOR, True).where(rows["prior_answer"].notna())
    return rows.assign(debate=rows["design"].astype(object), follows_prior=follows)


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
