"""Accuracy of options, macro-F1 of claims [CFMAD 4.1, Table 1], and both by number of stances and rounds [Figure 6]."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.evaluation import accuracy
from srdcr_lab.measures.groups import groups
from srdcr_lab.measures.intervals import N_BOOT
from srdcr_lab.measures.knowledge import jeffreys_interval

CLASSES = ("true", "false")
_VARIANT = re.compile(r"cfmad(?:_(stances|rounds)_(\d))?")


def macro_f1(
    gold: pd.Series, final: pd.Series, clusters: pd.Series, *, level: float = 0.95, seed: int = 0
) -> dict[str, float]:
    """Mean over "true" and "false" of F1 = 2 tp / (2 tp + fp + fn), with a bootstrap interval over the clusters.

    What is missing is a false negative of its gold class and a false positive of none. A class that is neither the
    truth nor an answer anywhere has no F1 and is left out. Where every resample agrees, the interval is accuracy's
    Jeffreys interval. NaN for no row.
    """
    if gold.empty:
        return {"macro_f1": math.nan, "macro_f1_low": math.nan, "macro_f1_high": math.nan}
    codes, names = pd.factorize(clusters)
    counts = np.zeros((len(names), len(CLASSES), 2))  # cluster × class × (tp, fp + fn)
    for place, label in enumerate(CLASSES):
        is_gold, is_final = (gold == label).to_numpy(), (final == label).fillna(False).to_numpy(bool)
        np.add.at(counts[:, place, 0], codes, is_gold & is_final)
        np.add.at(counts[:, place, 1], codes, is_gold ^ is_final)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), N_BOOT)
    low, high = np.nanquantile(_mean_f1(np.tensordot(drawn, counts, 1)), [(1 - level) / 2, (1 + level) / 2])
    value = float(_mean_f1(counts.sum(axis=0)[None])[0])
    if low == high:
        low, high = jeffreys_interval(round(value * len(names)), len(names), level)
    return {"macro_f1": value, "macro_f1_low": float(low), "macro_f1_high": float(high)}


def _mean_f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    hits, misses = counts[..., 0], counts[..., 1]
    with np.errstate(invalid="ignore"):
        f1 = 2 * hits / (2 * hits + misses)
    return np.asarray(np.nanmean(f1, axis=-1))


def table_1(records: pd.DataFrame) -> pd.DataFrame:
    """Per model × method: n, accuracy (missing counts as wrong), selective accuracy, coverage; of claims macro-F1 too.

    Macro-F1 is NaN where a gold answer is something else than "true" or "false".
    """
    rows = []
    for names, part in groups(records):
        binary = part["gold_answer"].isin(CLASSES).all()
        measured = accuracy(part["correct"], part["question_id"])
        f1 = macro_f1(
            part["gold_answer"] if binary else part["gold_answer"].iloc[:0], part["final_answer"], part["question_id"]
        )
        missing = {f"n_{why}": int((part["missing"] == why).sum()) for why in ("abstained", "unparsed", "error")}
        rows.append({**names, **measured, **f1, **missing})
    return pd.DataFrame(rows)


def by_number(records: pd.DataFrame, what: str) -> pd.DataFrame:
    """Figure 6: accuracy of CFMAD by number of `stances` or of `rounds`, the other as in the paper (2, 1).

    The methods are `cfmad` and ``cfmad_stances_N`` or ``cfmad_rounds_N``. Columns: model …, the number, n, accuracy and
    its interval, selective accuracy and coverage.
    """
    base = {"stances": 2, "rounds": 1}[what]
    numbers = {}
    for method in records["method"].unique():
        found = _VARIANT.fullmatch(str(method))
        if found and found[1] in (None, what):
            numbers[method] = int(found[2]) if found[1] else base
    chosen = table_1(records[records["method"].isin(numbers)]) if numbers else pd.DataFrame()
    if chosen.empty:
        return pd.DataFrame(columns=["method", what, "n", "accuracy", "accuracy_low", "accuracy_high"])
    chosen.insert(chosen.columns.get_loc("method") + 1, what, chosen["method"].map(numbers))
    return chosen.sort_values([*(name for name in ("run", "model") if name in chosen), what], ignore_index=True)
