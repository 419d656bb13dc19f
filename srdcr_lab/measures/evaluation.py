"""Table 1 with what its denominators hide: n, coverage, both accuracies, and why answers are missing [4.4]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.estimates import clustered_interval, macro_mean, positions
from srdcr_lab.measures.groups import group_columns, is_standard, strata, stratum_order
from srdcr_lab.records import Missing, Verdict

CONDITIONS = ("standard", "perturbed", "overall")
_SHARES = ("coverage", "accuracy", "selective_accuracy")


def accuracy(correct: pd.Series, clusters: pd.Series, strata: pd.Series | None = None) -> dict[str, float | int]:
    """n, answered, coverage, risk, both accuracies with intervals, of one set of rows.

    `correct` is True, False or missing. `accuracy` = right / n counts what is missing as wrong; `selective_accuracy`
    = right / answered leaves it out; `risk` = wrong / answered. With `strata`, every share is the mean of the strata's.
    An empty set has no accuracy: NaN.
    """
    answered = correct.notna()
    right = correct.fillna(False).astype(bool)
    of_answered = None if strata is None else strata[answered]
    selective = macro_mean(right[answered], of_answered)
    low, high = clustered_interval(right, clusters, strata)
    selective_low, selective_high = clustered_interval(right[answered], clusters[answered], of_answered)
    return {
        "n": len(correct),
        "n_answered": int(answered.sum()),
        "coverage": macro_mean(answered, strata),
        "accuracy": macro_mean(right, strata),
        "accuracy_low": low,
        "accuracy_high": high,
        "selective_accuracy": selective,
        "selective_accuracy_low": selective_low,
        "selective_accuracy_high": selective_high,
        "risk": 1 - selective,
    }


def summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 1: one row per model × method (× run, × design, where there are several) × condition.

    Conditions are standard, perturbed and overall. Overall, every share is the mean of the standard and the perturbed
    one where both were run (the paper's); `accuracy_micro` is right / n over all rows instead. `n_abstained`,
    `n_unparsed` and `n_error` say why answers are missing. `verdict_tpr` = P(Reasonable | true passage), `verdict_tnr`
    = P(Unreasonable | false passage), over the debates that were held (`verdict_tpr_n`, `verdict_tnr_n`), UNPARSED
    counted as neither. Intervals are clustered on the question; without them (`intervals=False`) the table is made in
    milliseconds, and their columns are NaN.

    Source: paper 4.4; coverage and risk as in selective prediction.
    """
    keys = group_columns(records)
    group = records.groupby(keys, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    names = records.iloc[np.unique(group, return_index=True)[1]][keys].reset_index(drop=True)
    table = _counted(records, group, len(names))
    table = pd.concat([names.loc[table.pop("group")].reset_index(drop=True), table], axis=1)
    table = table.assign(**{f"{name}_{end}": math.nan for name in _INTERVALS for end in ("low", "high")})
    if intervals:
        _fill_intervals(table, records, group)
    return table[keys + _COLUMNS]


_INTERVALS = ("accuracy", "selective_accuracy", "verdict_tpr", "verdict_tnr")
_COLUMNS = [
    *("condition", "n", "n_answered", "coverage", "accuracy", "accuracy_low", "accuracy_high", "selective_accuracy"),
    *("selective_accuracy_low", "selective_accuracy_high", "risk", "accuracy_micro"),
    *(f"n_{why.value}" for why in Missing),
    *("verdict_tpr", "verdict_tpr_low", "verdict_tpr_high", "verdict_tpr_n"),
    *("verdict_tnr", "verdict_tnr_low", "verdict_tnr_high", "verdict_tnr_n"),
]


def _counted(records: pd.DataFrame, group: NDArray[np.intp], n_groups: int) -> pd.DataFrame:
    """Everything but the intervals, three rows a group, from counts per group × half."""
    cell = 2 * group + ~is_standard(records).to_numpy(bool)
    correct = records["correct"].astype("boolean")

    def count(where: Any) -> NDArray[np.int64]:
        """Shape (groups, 3): standard, perturbed, both."""
        halves = np.bincount(cell[np.asarray(where, bool)], minlength=2 * n_groups).reshape(n_groups, 2)
        return np.column_stack([halves, halves.sum(axis=1)])

    n = count(np.ones(len(cell), bool))
    answered = count(correct.notna())
    right = count(correct.fillna(False))
    verdict = records["verdict"]
    ruled = count(verdict.notna())
    reasonable, unreasonable = (count(verdict == one) for one in (Verdict.REASONABLE, Verdict.UNREASONABLE))
    reasons = {f"n_{why.value}": count(records["missing"] == why) for why in Missing}
    with np.errstate(invalid="ignore"):
        parts = {
            "n": n,
            "n_answered": answered,
            "coverage": _macro(answered / n),
            "accuracy": _macro(right / n),
            "selective_accuracy": _macro(right / answered),
            "accuracy_micro": right / n,
            **reasons,
            "verdict_tpr": _one_half(reasonable / ruled, 0),
            "verdict_tpr_n": _one_half(ruled, 0),
            "verdict_tnr": _one_half(unreasonable / ruled, 1),
            "verdict_tnr_n": _one_half(ruled, 1),
        }
    table = pd.DataFrame({name: values.ravel() for name, values in parts.items()})
    table["risk"] = 1 - table["selective_accuracy"]
    return table.assign(group=np.repeat(np.arange(n_groups), 3), condition=list(CONDITIONS) * n_groups)


def _macro(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Overall as the mean of the halves that have a value."""
    halves, known = np.nan_to_num(values[:, :2]), ~np.isnan(values[:, :2])
    return np.column_stack([values[:, :2], halves.sum(axis=1) / known.sum(axis=1)])


def _one_half(values: NDArray[Any], half: int) -> NDArray[Any]:
    """A verdict rate belongs to one half; the other has none, and overall shows it again."""
    nothing = 0 if values.dtype.kind == "i" else math.nan
    own, other = values[:, half], np.full(len(values), nothing)
    return np.column_stack([own, other, own] if half == 0 else [other, own, own])


def _fill_intervals(table: pd.DataFrame, records: pd.DataFrame, group: NDArray[np.intp]) -> None:
    for i in range(len(table) // 3):
        rows = records[group == i]
        standard = is_standard(rows)
        parts = {"standard": rows[standard], "perturbed": rows[~standard], "overall": rows}
        for place, condition in enumerate(CONDITIONS):
            part = parts[condition]
            halves = standard if condition == "overall" else None
            for name, ends in _intervals(part, halves).items():
                table.loc[3 * i + place, [f"{name}_low", f"{name}_high"]] = ends


def _intervals(part: pd.DataFrame, halves: pd.Series | None) -> dict[str, tuple[float, float]]:
    measured = accuracy(part["correct"], part["question_id"], halves)
    ends = {name: (measured[f"{name}_low"], measured[f"{name}_high"]) for name in ("accuracy", "selective_accuracy")}
    ruled = part[part["verdict"].notna()]
    for name, wanted, true in (("verdict_tpr", Verdict.REASONABLE, True), ("verdict_tnr", Verdict.UNREASONABLE, False)):
        own = ruled[is_standard(ruled) == true]
        ends[name] = clustered_interval(own["verdict"] == wanted, own["question_id"])
    return ends


# -- table 2: accuracy by how far the passage departs from the truth, macro and micro [4.4]

MACRO, MICRO = "macro", "micro"
_ENDS = ["accuracy_low", "accuracy_high", "selective_accuracy_low", "selective_accuracy_high"]


def accuracy_by_stratum(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """One row per group × stratum of the perturbed items, then `macro` (mean of the strata, the paper's) and `micro`.

    Strata are year offsets by size and, for the other kinds, levels. Columns as in `accuracy`: `n`, `n_answered`,
    `coverage`, both accuracies with clustered intervals, `risk`. A stratum that a method was not run on has n = 0 and
    NaN, and is outside its macro mean. Without intervals the table is made in milliseconds.
    """
    keys = group_columns(records)
    groups = records.groupby(keys, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    names = records.iloc[np.unique(groups, return_index=True)[1]][keys].reset_index(drop=True)
    false = ~is_standard(records).to_numpy(bool)
    rows, group = records[false].reset_index(drop=True), groups[false]
    label = strata(rows)
    order = stratum_order(label.unique())
    place = positions(label, order)
    correct = rows["correct"].astype("boolean")

    def count(where: Any) -> NDArray[np.float64]:
        cell = group * len(order) + place
        counts = np.bincount(cell, np.asarray(where, float), len(names) * len(order)).astype(float)
        return counts.reshape(len(names), len(order))

    n, answered, right = count(np.ones(len(rows))), count(correct.notna()), count(correct.fillna(False))
    columns = [*order, MACRO, MICRO]
    table = pd.DataFrame(
        {
            "stratum": columns * len(names),
            "n": _with_both_sums(n),
            "n_answered": _with_both_sums(answered),
            "coverage": _with_means(answered, n),
            "accuracy": _with_means(right, n),
            "selective_accuracy": _with_means(right, answered),
        }
    ).assign(**dict.fromkeys(_ENDS, math.nan))
    table["risk"] = 1 - table["selective_accuracy"]
    named = names.loc[np.repeat(np.arange(len(names)), len(columns))].reset_index(drop=True)
    table = pd.concat([named, table], axis=1)
    if not intervals:
        return table
    for i in range(len(names)):
        for j, column in enumerate(columns):
            part = rows[(group == i) & ((place == j) | (j >= len(order)))]
            measured = accuracy(part["correct"], part["question_id"], label[part.index] if column == MACRO else None)
            table.loc[i * len(columns) + j, _ENDS] = [measured[end] for end in _ENDS]
    return table


def _with_both_sums(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Counts per stratum, then twice over all strata, flattened row by row."""
    total = counts.sum(axis=1, keepdims=True)
    return np.hstack([counts, total, total]).astype(np.int64).ravel()


def _with_means(hits: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares per stratum, then their mean over the strata with any value, then the pooled share."""
    with np.errstate(invalid="ignore"):
        share = hits / n
        macro = np.nansum(share, axis=1) / (~np.isnan(share)).sum(axis=1)
        micro = hits.sum(axis=1) / n.sum(axis=1)
    return np.column_stack([share, macro, micro]).ravel()
