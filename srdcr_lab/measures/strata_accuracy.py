"""Table 2: accuracy by how far the passage departs from the truth, macro and micro [4.4]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.evaluation import accuracy
from srdcr_lab.measures.groups import group_columns, is_standard, strata, stratum_order
from srdcr_lab.measures.intervals import positions

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
