"""The tables of a study made anew from its recomputed records: `summary.csv`, and what notebook 05 draws.

Accuracies, coverage and verdict rates are defined in design.md and the paper. The published help texts alone say the
intervals (`clustered_interval`, `contrast_interval`). `contrast_interval` leaves open its degrees of freedom and a
small-sample factor: of nine combinations tried, one gives the published numbers (clusters and what is added to them,
less one; no factor). Where questions were drawn from groups, the published numbers are those with a factor n / (n − 1)
in each group, n its questions and what is added to them, and Satterthwaite's degrees of freedom from n − 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

BOUNDS = (0.025, 0.975)


def moments(
    values: pd.Series, questions: pd.Series, strata: pd.Series, weights: dict[Any, float], bounds: tuple[float, float],
    more: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Σ weight · mean of a stratum with `more` of a question at either bound, its variance, and degrees of freedom."""
    centre, variance = 0.0, 0.0
    influence = pd.Series(0.0, index=pd.unique(questions))
    for stratum, weight in weights.items():
        value, question = values[strata == stratum], questions[strata == stratum]
        added = more * len(value) / question.nunique()
        n = len(value) + 2 * added
        mean = (value.sum() + added * sum(bounds)) / n
        centre += weight * mean
        influence = influence.add((value - mean).groupby(question).sum() * weight / n, fill_value=0)
        variance += sum((weight * added * (bound - mean) / n) ** 2 / more for bound in bounds)
    return centre, (influence**2).sum() + variance, len(influence) + 2 * more - 1


def t_interval(
    values: pd.Series, questions: pd.Series, strata: pd.Series, weights: dict[Any, float], bounds: tuple[float, float],
    *, difference: bool = False, groups: pd.Series | None = None,
) -> tuple[float, float]:  # fmt: skip
    """95 % t interval over questions of Σ weight · mean of a stratum; each of S strata has 2 / S of a question more at
    either bound of a value, for a difference 1 / (S + 1). Groups of questions, drawn each by itself, add up."""
    more, parts = 1 / (len(weights) + 1) if difference else 2 / len(weights), []
    for _, of in [(0, values)] if groups is None else values.groupby(groups):
        part = values[of.index], questions[of.index], strata[of.index]
        own = {name: weight for name, weight in weights.items() if (part[2] == name).any()}
        parts.append(moments(*part, own, bounds, more))
    centre, variances, freedoms = (np.array(each) for each in zip(*parts, strict=True))
    if groups is not None:
        variances *= (freedoms + 1) / freedoms
    freedom = variances.sum() ** 2 / (variances**2 / freedoms).sum()
    half = stats.t.ppf(BOUNDS[1], freedom) * np.sqrt(variances.sum())
    return centre.sum() - half, centre.sum() + half


def jeffreys(k: float, n: int) -> tuple[float, float]:
    low, high = stats.beta.ppf(BOUNDS, k + 0.5, n - k + 0.5)
    return (low if k else 0.0), (high if k < n else 1.0)


def share(values: pd.Series, questions: pd.Series, strata: pd.Series) -> tuple[float, float, float]:
    """The mean over strata of a share of 0/1 values, and its interval: Jeffreys' where questions have one outcome."""
    if not len(values):
        return np.nan, np.nan, np.nan
    means, of = values.groupby(strata).mean(), values.groupby(questions)
    sizes = values.groupby([questions, strata]).size().unstack(fill_value=0)
    if sizes.stack().nunique() == 1 and of.nunique().max() == 1:
        return means.mean(), *jeffreys(of.first().sum(), of.ngroups)
    low, high = t_interval(values, questions, strata, dict.fromkeys(means.index, 1 / len(means)), (0, 1))
    return means.mean(), max(low, 0.0), min(high, 1.0)


def halves(rows: pd.DataFrame) -> pd.Series:
    return (rows.level == "standard").map({True: "standard", False: "perturbed"})


def accuracies(rows: pd.DataFrame, strata: pd.Series) -> dict[str, Any]:
    """Accuracy with what is missing as wrong, selective accuracy, coverage and risk: means over the strata."""
    outcome, given = rows.correct.fillna(False).astype(float), rows.correct.notna()
    row: dict[str, Any] = {"n": len(rows), "n_questions": rows.question_id.nunique(), "n_answered": given.sum()}
    row["coverage"] = given.groupby(strata).mean().mean()
    for name, kept in (("accuracy", outcome.notna()), ("selective_accuracy", given)):
        every = strata[kept].nunique() == strata.nunique()  # a mean needs answers in each
        whole = share(outcome[kept], rows.question_id[kept], strata[kept]) if every else [np.nan] * 3
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), whole, strict=True))
    return row | {"risk": 1 - row["selective_accuracy"], "accuracy_micro": outcome.mean()}


def summary_row(rows: pd.DataFrame) -> dict[str, Any]:
    """One row of Table 1, from the records of one method and condition."""
    strata = halves(rows)
    row = accuracies(rows, strata) | {
        f"n_{why}": (rows.missing == why).sum() for why in ("abstained", "unparsed", "error")
    }
    for name, half, verdict in (("tpr", "standard", "REASONABLE"), ("tnr", "perturbed", "UNREASONABLE")):
        held = rows[(strata == half) & rows.verdict.notna()]
        rate = share((held.verdict == verdict).astype(float), held.question_id, strata[held.index])
        row |= dict(zip((f"verdict_{name}", f"verdict_{name}_low", f"verdict_{name}_high"), rate, strict=True))
        row[f"verdict_{name}_n"] = len(held)
    return row


def chosen(ours: pd.DataFrame, condition: str) -> pd.DataFrame:
    return ours if condition == "overall" else ours[halves(ours) == condition]


def compare_summary(summary: pd.DataFrame, ours: pd.DataFrame, ledger: Any) -> None:
    """Every row and column of `summary.csv`."""
    groups = [name for name in ("model", "method", "design") if name in summary]
    for theirs in summary.to_dict("records"):
        name = " ".join(str(theirs[key]) for key in (*groups, "condition") if theirs[key] == theirs[key])
        same = np.all(
            [(ours[key] == theirs[key]) | (ours[key].isna() & (theirs[key] != theirs[key])) for key in groups], axis=0
        )
        row = summary_row(chosen(ours[same], theirs["condition"]))
        for column in theirs:
            if column in row:
                ledger.number(f"summary.csv {name} {column}", theirs[column], row[column])
            elif column not in (*groups, "condition"):
                ledger.leave_out(f"summary.csv {column}", "no rule here")
    told = {(row["method"], row["condition"]) for row in summary.to_dict("records")}
    wanted = {(method, half) for method, half in zip(ours.method, halves(ours), strict=True)}
    ledger.number("summary.csv methods and conditions without a row", len(wanted - told), 0)
