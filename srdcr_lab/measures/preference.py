"""Whom the answers follow: the passage's claim or the model's prior answer [4.1, 4.3; Figures 2, 4, 8, 9]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srdcr_lab.measures.comparison import Comparison, compare_pairs
from srdcr_lab.measures.estimates import shares
from srdcr_lab.measures.groups import (
    CATEGORY_NAMES,
    PERTURBED_LEVELS,
    group_columns,
    groups,
    is_standard,
    judge_debate_round,
    stack,
    strata,
    stratum_order,
    with_matches,
)
from srdcr_lab.records import PerturbationKind

_SHARES = ("n", "n_questions", "n_missing", "share", "low", "high")
PRESENT = 2026  # the year of the shipped facts; a later claim lies in the future, whatever the calendar says


def perturbed_answers(records: pd.DataFrame, method: str = "few_shot", *, present: int = PRESENT) -> pd.DataFrame:
    """The rows of one method whose passage is false, with what the measures below read.

    Adds `stratum` ("offset 20", "factor mild" …), `offset` (signed, missing for other kinds), `future` (a year claimed
    after `present`), `prior_is_claim` (the prior answer already equals the claim; an unread prior answer does not) and
    `follows_claim`, `follows_prior` (missing where there is no answer; `follows_prior` also where there is no prior
    answer). The context answer is few-shot's: where `few_shot` was not run, each item's context answer stands in.
    """
    if method == "few_shot" and not (records["method"] == method).any():
        keys = [name for name in ("run", "model", "item_id") if name in records]
        rows = records.drop_duplicates(keys)
        matches = with_matches(rows)
        rows = matches.assign(
            method=method,
            design=None,
            final_answer=rows["context_answer"],
            final_is_claim=matches["context_is_claim"],
            final_is_prior=matches["context_is_prior"],
        )
    else:
        rows = records[records["method"] == method]
    rows = with_matches(rows[~is_standard(rows)].reset_index(drop=True))
    year = pd.to_numeric(rows["claimed_answer"].astype(object).where(rows["answer_type"] == "year"), errors="coerce")
    return rows.assign(
        stratum=strata(rows),
        offset=rows["perturbation_value"].where(rows["perturbation_kind"] == PerturbationKind.OFFSET),
        future=year > present,
        prior_is_claim=rows["prior_is_claim"].fillna(False).astype(bool),
        follows_claim=rows["final_is_claim"],
        follows_prior=rows["final_is_prior"],
    )


def cells(rows: pd.DataFrame, by: Sequence[str]) -> dict[str, list[Any]]:
    """Values of each column in the order in which a figure shows them."""
    fixed: dict[str, tuple[Any, ...]] = {"knowledge_category": CATEGORY_NAMES, "level": PERTURBED_LEVELS}
    fixed |= {"future": (False, True), "prior_is_claim": (False, True)}
    found: dict[str, list[Any]] = {}
    for name in by:
        present = rows[name].dropna().unique()
        if name in fixed:
            found[name] = list(fixed[name])
        elif name == "stratum":
            found[name] = stratum_order(present)
        else:
            found[name] = list(present) if name == "domain" else sorted(present)
    return found


def context_preference(
    records: pd.DataFrame,
    by: Sequence[str] = ("stratum", "knowledge_category"),
    *,
    method: str = "few_shot",
    intervals: bool = True,
    present: int = PRESENT,
) -> pd.DataFrame:
    """Context preference: on perturbed items, the share of answers that equal `claimed_answer`.

    Items whose prior answer already equals the claim cannot tell a preference: they have rows of their own
    (`prior_is_claim`), where there are such. Without an answer an item is outside the share and in `n_missing`. One row
    per group × cell, empty cells included (NaN, n = 0), but for claims in the future that nobody makes.

    Parameters
    ----------
    by : of `stratum`, `offset` (signed), `knowledge_category`, `domain`, `level`, `future`, `perturbation_kind`. Items
        without a category are in no cell of it.

    Returns
    -------
    DataFrame : group columns, `prior_is_claim`, the columns of `by`, `n`, `n_questions`, `n_missing`, `share`, `low`,
        `high` (95 %, clustered on the question).

    Source: paper 4.1, Figures 2 and 8.
    """
    rows = perturbed_answers(records, method, present=present)
    inner = cells(rows, ("prior_is_claim", *by))
    parts = [
        (names, _observed(shares(part, part["follows_claim"], inner, intervals=intervals)))
        for names, part in groups(rows)
    ]
    return stack(parts, ("model", "method", "prior_is_claim", *by, *_SHARES)).astype({"prior_is_claim": bool})


def _observed(table: pd.DataFrame) -> pd.DataFrame:
    """Without the cells that are empty as a rule: the items apart, and claims in the future."""
    rare = table["prior_is_claim"] | table.get("future", False)
    return table[~rare | (table["n"] + table["n_missing"] > 0)]


def biases(records: pd.DataFrame, *, by: Sequence[str] = (), intervals: bool = True) -> pd.DataFrame:
    """Context bias P(answer = claimed | prior right, passage false), prior bias P(answer = prior | prior wrong, true).

    Every item under the condition is in n; one without an answer follows neither, and is counted in `n_missing`
    besides. An item whose prior answer could not be read is under neither condition. Rows: group × `bias` (context,
    prior) × `by`.

    Source: ClashEval's two biases, as design.md has them.
    """
    tables = []
    for names, part in groups(with_matches(records)):
        standard, prior_right = is_standard(part), part["prior_correct"].astype("boolean")
        conditions = {
            "context": (part["final_is_claim"], ~standard & prior_right.fillna(False)),
            "prior": (part["final_is_prior"], standard & ~prior_right.fillna(True)),
        }
        for bias, (hit, under) in conditions.items():
            rows = part[under.astype(bool)].assign(stratum=strata)
            hits = hit[rows.index]
            inner = cells(rows, by)
            table = shares(rows, hits.fillna(False), inner, intervals=intervals)
            table["n_missing"] = shares(rows, hits, inner, intervals=False)["n_missing"]
            tables.append(({**names, "bias": bias}, table))
    return stack(tables, ("model", "method", "bias", *by, *_SHARES))


def prior_preference_by_round(
    records: pd.DataFrame, by: Sequence[str] = ("stratum",), *, gate: bool = False, intervals: bool = True
) -> pd.DataFrame:
    """Prior preference of debates that end after round r: on perturbed items, the share of answers equal to the prior.

    `judge_debate_r` gives the answer its judge picks after r rounds. A debate with verdicts gives, after each round,
    what the verdict of that round would lead to: Reasonable the context answer, Unreasonable the prior answer (with
    `gate` only where Conf ≥ τ, else none), UNPARSED none. Items whose prior answer equals the claim are apart; without
    an answer, or without a prior answer, an item is outside the share and in `n_missing`.

    Returns
    -------
    DataFrame : `run`, `model`, `debate` (``judge_debate``, or the design's name), `round`, `prior_is_claim`, `by`, and
        the columns of `shares`.

    Source: paper 4.3, Figures 4 and 9; for designs with verdicts ours.
    """
    answers = pd.concat([_judge_debates(records), _verdicts(records, gate)], ignore_index=True)
    inner = cells(answers, ("prior_is_claim", *by))
    parts = [
        (
            {**names, "round": int(names["round"])},
            _observed(shares(part, part["follows_prior"], inner, intervals=intervals)),
        )
        for names, part in groups(answers, ("model", "debate", "round"))
    ]
    return stack(parts, ("model", "debate", "round", "prior_is_claim", *by, *_SHARES)).astype({"prior_is_claim": bool})


def _judge_debates(records: pd.DataFrame) -> pd.DataFrame:
    rounds = {method: judge_debate_round(method) for method in records["method"].unique()}
    held = sorted((number, method) for method, number in rounds.items() if number is not None)
    parts = [perturbed_answers(records, method).assign(debate="judge_debate", round=number) for number, method in held]
    return pd.concat(parts) if parts else perturbed_answers(records.iloc[:0]).assign(debate="", round=0)


def _verdicts(records: pd.DataFrame, gate: bool) -> pd.DataFrame:
    """Rows of every design's debates, one per item × round, as if the debate had ended there."""
    ruled = debates(records)
    ruled = with_matches(ruled[~is_standard(ruled)].reset_index(drop=True))
    if ruled.empty:
        return perturbed_answers(ruled).assign(debate="", round=0)
    by_round = paths_by_round(ruled)
    rows = ruled.loc[by_round["row"]]
    symbol = by_round["symbol"].set_axis(rows.index)
    confident = (rows["self_confidence"] >= rows["tau"]).fillna(False) if gate else pd.Series(True, rows.index)
    context, prior = symbol == "R", (symbol == "U") & confident
    follows = rows["context_is_prior"].where(context, rows["prior_answer"].notna().astype("boolean").where(prior))
    return rows.assign(
        debate=rows["design"].astype(object),
        round=by_round["round"].to_numpy(),
        stratum=strata(rows),
        prior_is_claim=rows["prior_is_claim"].fillna(False).astype(bool),
        follows_prior=follows.where(rows["prior_answer"].notna()),
    )


# -- how following a false passage changes with its offset: the logistic slope per knowledge category [4.1]

PER = 100.0  # years
_FIELDS = ("n", "n_questions", "slope", "low", "high", "p_value", "odds_ratio", "note")
ALL = "all"
FEW_QUESTIONS = 20  # below, a cluster-robust interval is too narrow


def offset_slopes(records: pd.DataFrame, *, method: str = "few_shot", present: int = PRESENT) -> pd.DataFrame:
    """logit P(answer = claimed) = α + β · |offset| / 100 years, fitted apart for every category, and for all items.

    Year offsets only; items whose prior answer equals the claim, and those without an answer, are left out. A negative
    β: the farther off the claim, the less it is followed. Standard errors are robust to the clustering on the question.

    Returns
    -------
    DataFrame : group columns, `knowledge_category` (or "all"), `n`, `n_questions`, `slope` (β, log-odds per 100
        years), `low`, `high` (95 %), `p_value`, `odds_ratio`, `note` (why there is no slope, or what weakens it).

    Source: the paper shows the curves (Figure 2) and fits none; the model is ours.
    """
    rows = perturbed_answers(records, method, present=present)
    rows = rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    tables = []
    for names, part in groups(rows):
        for category in (*CATEGORY_NAMES, ALL):
            cell = part if category == ALL else part[part["knowledge_category"] == category]
            fitted = logistic_slope(cell["offset"].abs() / PER, cell["follows_claim"].astype(bool), cell["question_id"])
            tables.append(({**names, "knowledge_category": category}, pd.DataFrame([fitted])))
    return stack(tables, ("model", "method", "knowledge_category", *_FIELDS))


def logistic_slope(x: ArrayLike, y: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Mapping[str, Any]:
    """Slope of a logistic regression of the 0/1 values `y` on `x`, with a cluster-robust interval.

    NaN, and a note that says why, where all outcomes or all x are equal, or where x separates the outcomes.
    """
    import statsmodels.api as sm  # takes a second, which the command line would pay at every start

    x, y = np.asarray(x, float), np.asarray(y, bool)
    codes = pd.factorize(np.asarray(clusters))[0]
    n_questions = int(codes.max(initial=-1)) + 1
    found: dict[str, Any] = {
        "n": y.size,
        "n_questions": n_questions,
        "slope": math.nan,
        "low": math.nan,
        "high": math.nan,
    }
    found |= {"p_value": math.nan, "odds_ratio": math.nan, "note": _no_slope(x, y, n_questions)}
    if found["note"]:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.Logit(y.astype(float), sm.add_constant(x))
        fit = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": codes})
    low, high = fit.conf_int(1 - level)[1]
    few = f"only {n_questions} questions: the interval is too narrow" if n_questions < FEW_QUESTIONS else ""
    slope = float(fit.params[1])
    return found | {
        "slope": slope,
        "low": float(low),
        "high": float(high),
        "p_value": float(fit.pvalues[1]),
        "odds_ratio": math.exp(slope),
        "note": few,
    }


def _no_slope(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], n_questions: int) -> str:
    if n_questions < 3:
        return "fewer than 3 questions"
    if y.all() or not y.any():
        return "every claim was followed" if y.all() else "no claim was followed"
    if np.ptp(x) == 0:
        return "one offset only"
    if x[y].max() <= x[~y].min() or x[~y].max() <= x[y].min():
        return "the offset separates the outcomes"
    return ""


# -- are passages that claim a year in the future easier to reject? Each beside its mirror image in the past (ours)


def future_against_past(records: pd.DataFrame, *, method: str = "few_shot", present: int = PRESENT) -> Comparison:
    """Context preference of claims after `present` (a) less that of the claims as far off the other way (b).

    A pair is one question with +k years, which lands after `present`, and the same question with −k years: so question
    and distance are equal, and the direction alone differs. Pairs in which either passage got no answer, or whose prior
    answer equals either claim, are left out. NaN with n = 0 where the table has no such pair. One model at a time.
    """
    rows = perturbed_answers(records, method, present=present)
    rows = rows[rows["offset"].notna() & ~rows["prior_is_claim"] & rows["follows_claim"].notna()]
    rows = rows.assign(size=rows["offset"].abs(), followed=rows["follows_claim"].astype(float))
    ahead, back = rows[(rows["offset"] > 0) & rows["future"]], rows[rows["offset"] < 0]
    keys = ["question_id", "size"]
    columns = [*keys, "item_id", "level", "followed"]
    both = ahead[columns].merge(back[[*keys, "followed"]], on=keys, suffixes=("", "_back"))
    return compare_pairs(both.rename(columns={"followed": "a", "followed_back": "b"}))


def n_future(records: pd.DataFrame, *, present: int = PRESENT) -> int:
    """How many items claim a year after `present`."""
    false = records[~is_standard(records) & (records["answer_type"] == "year")].drop_duplicates("item_id")
    return int((pd.to_numeric(false["claimed_answer"].astype(object), errors="coerce") > present).sum())


def debates(records: pd.DataFrame) -> pd.DataFrame:
    """Rows of debates with verdicts, each once: `debate_only` shares SR-DCR's debate, and is left out beside it."""
    held = records[records["verdict_path"].notna()]
    shared = (held["method"] == "debate_only") & (held["method"] == "sr_dcr").any()
    return held[~shared].reset_index(drop=True)


def first_verdict_round(rows: pd.DataFrame) -> int:
    """The round of a path's first letter: rounds held less its letters; 0 where the table does not tell.

    A table without `rounds` tells by r*, which is that round plus the place from which V* stands.
    """
    if "rounds" in rows and rows["rounds"].notna().any():
        known = rows[rows["rounds"].notna()].iloc[0]
        return int(known["rounds"]) - len(known["verdict_path"])
    known = rows[rows["r_star"].notna()]
    if known.empty:
        return 0
    path = str(known["verdict_path"].iloc[0])
    return int(known["r_star"].iloc[0]) - len(path.rstrip(path[-1]))


def paths_by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per debate × round: `row` (index of the debate's row), `round`, `symbol` (R, U or ?), `held`.

    A debate that stopped early keeps its last verdict in the rounds that its design goes on to; `held` is False there.
    """
    parts = []
    for _, group in rows.groupby(group_columns(rows, ("model", "method", "design")), sort=False, observed=True):
        paths = group["verdict_path"].astype(object)
        first, longest = first_verdict_round(group), int(paths.str.len().max())
        for place in range(longest):
            symbol = paths.map({path: path[min(place, len(path) - 1)] for path in paths.unique()})
            held = paths.str.len() > place
            parts.append(
                pd.DataFrame({"row": group.index, "round": first + place, "symbol": symbol.array, "held": held.array})
            )
    columns = {"row": rows.index[:0], "round": np.array([], int), "symbol": [], "held": np.array([], bool)}
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns)


def path_moves(path: str) -> dict[str, bool]:
    """What a path does, unparsed verdicts left out of the first two.

    `changed`: not all verdicts are equal. `oscillates`: it comes back to a verdict it had left (two changes or more).
    `unstabilised`: V* stood for the last round alone, or there is none. `unparsed`: some verdict was not read.

    >>> path_moves("RUR?RR")
    {'changed': True, 'oscillates': True, 'unstabilised': False, 'unparsed': True}
    """
    read = path.replace("?", "")
    changes = sum(a != b for a, b in pairwise(read))
    last_run = len(path) - len(path.rstrip(path[-1])) if path and path[-1] != "?" else 0
    return {
        "changed": changes >= 1,
        "oscillates": changes >= 2,
        "unstabilised": last_run < 2,
        "unparsed": "?" in path,
    }
