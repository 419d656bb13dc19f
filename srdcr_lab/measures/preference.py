"""Whom the answers follow: the passage's claim or the model's prior answer [4.1, 4.3; Figures 2, 4, 8, 9]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from srdcr_lab.measures.groups import (
    CATEGORY_NAMES,
    PERTURBED_LEVELS,
    groups,
    is_standard,
    judge_debate_round,
    stack,
    strata,
    stratum_order,
)
from srdcr_lab.measures.intervals import shares
from srdcr_lab.measures.matches import with_matches
from srdcr_lab.measures.paths import debates, paths_by_round
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
