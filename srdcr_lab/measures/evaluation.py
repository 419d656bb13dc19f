"""Table 1 with what its denominators hide: n, coverage, both accuracies, and why answers are missing [4.4]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srdcr_lab.measures.knowledge import jeffreys_interval
from srdcr_lab.records import Level, Missing, Verdict

CONDITIONS = ("standard", "perturbed", "overall")


def clustered_interval(
    values: ArrayLike, clusters: ArrayLike, *, level: float = 0.95, n_boot: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Interval of a mean of 0/1 values whose clusters (questions) are the independent units.

    Jeffreys where every cluster has one value, and over the clusters where all values are equal (a bootstrap would see
    no spread); else the percentile bootstrap over clusters, seeded. NaN for no value.
    """
    values, codes = np.asarray(values, float), pd.factorize(np.asarray(clusters))[0]
    if values.size == 0:
        return math.nan, math.nan
    sizes = np.bincount(codes)
    if sizes.max() == 1 or values.min() == values.max():
        low, high = jeffreys_interval(values.sum() * sizes.size / values.size, sizes.size, level)
        return float(low), float(high)
    sums = np.bincount(codes, weights=values)
    means = _resampled_means(sums, sizes, n_boot, np.random.default_rng(seed))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resampled_means(
    sums: NDArray[Any], sizes: NDArray[Any], n_boot: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Mean of each bootstrap sample of clusters, some samples at a time, so that memory stays bounded."""
    means = np.empty(n_boot)
    block = max(1, 1_000_000 // sizes.size)
    for start in range(0, n_boot, block):
        rows = rng.integers(0, sizes.size, (min(block, n_boot - start), sizes.size))
        means[start : start + len(rows)] = sums[rows].sum(axis=1) / sizes[rows].sum(axis=1)
    return means


def accuracy(correct: pd.Series, clusters: pd.Series) -> dict[str, float | int]:
    """n, answered, coverage, risk, both accuracies with intervals, of one set of rows.

    `correct` is True, False or missing. `accuracy` = right / n counts what is missing as wrong; `selective_accuracy`
    = right / answered leaves it out; `risk` = wrong / answered. An empty set has no accuracy: NaN.
    """
    answered = correct.notna()
    right = correct.fillna(False).astype(bool)
    n, n_answered, n_right = len(correct), int(answered.sum()), int(right.sum())
    low, high = clustered_interval(right, clusters)
    selective_low, selective_high = clustered_interval(right[answered], clusters[answered])
    selective = n_right / n_answered if n_answered else math.nan
    return {
        "n": n,
        "n_answered": n_answered,
        "coverage": n_answered / n if n else math.nan,
        "accuracy": n_right / n if n else math.nan,
        "accuracy_low": low,
        "accuracy_high": high,
        "selective_accuracy": selective,
        "selective_accuracy_low": selective_low,
        "selective_accuracy_high": selective_high,
        "risk": 1 - selective,
    }


def summary(records: pd.DataFrame) -> pd.DataFrame:
    """Table 1: one row per model × method × condition (standard, perturbed, overall).

    The overall accuracy is the mean of standard and perturbed accuracy where both were run (the paper's), and its
    interval that of all rows; `n_abstained`, `n_unparsed` and `n_error` say why answers are missing; `verdict_tpr` =
    P(Reasonable | true passage), `verdict_tnr` = P(Unreasonable | false passage), over the debates that were held,
    UNPARSED counted as neither.

    Source: paper 4.4; design.md, section 2.
    """
    standard = records["level"] == Level.STANDARD
    rows = []
    for (model, method), group in records.groupby(["model", "method"], sort=False):
        parts = {
            "standard": group[standard.loc[group.index]],
            "perturbed": group[~standard.loc[group.index]],
            "overall": group,
        }
        measured = {name: accuracy(part["correct"], part["question_id"]) for name, part in parts.items()}
        if measured["standard"]["n"] and measured["perturbed"]["n"]:
            halves = measured["standard"]["accuracy"], measured["perturbed"]["accuracy"]
            measured["overall"]["accuracy"] = sum(halves) / 2
        for condition in CONDITIONS:
            part = parts[condition]
            missing = {f"n_{why.value}": int((part["missing"] == why).sum()) for why in Missing}
            rows.append(
                {
                    "model": model,
                    "method": method,
                    "condition": condition,
                    **measured[condition],
                    **missing,
                    **_verdicts(part),
                }
            )
    return pd.DataFrame(rows)


def _verdicts(part: pd.DataFrame) -> dict[str, float]:
    ruled = part[part["verdict"].notna()]
    true_passage = ruled["level"] == Level.STANDARD
    return {
        "verdict_tpr": _share(ruled.loc[true_passage, "verdict"] == Verdict.REASONABLE),
        "verdict_tnr": _share(ruled.loc[~true_passage, "verdict"] == Verdict.UNREASONABLE),
    }


def _share(hits: pd.Series) -> float:
    return float(hits.mean()) if len(hits) else math.nan
