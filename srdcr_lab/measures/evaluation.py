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


def macro_mean(values: ArrayLike, strata: ArrayLike | None = None) -> float:
    """Mean over the strata of each stratum's mean; without strata the mean. NaN for no value."""
    series = pd.Series(np.asarray(values, float))
    return float(series.mean() if strata is None else series.groupby(np.asarray(strata)).mean().mean())


def clustered_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the `macro_mean` of 0/1 values whose clusters (questions) are the independent units.

    Jeffreys where every cluster has one value of the one stratum, and over the clusters where a bootstrap would see no
    spread; else the percentile bootstrap over clusters, seeded. NaN for no value.
    """
    scored = np.asarray(values, float)
    if scored.size == 0:
        return math.nan, math.nan
    codes = pd.factorize(np.asarray(clusters))[0]
    parts = np.zeros(scored.size, int) if strata is None else pd.factorize(np.asarray(strata))[0]
    shape = codes.max() + 1, parts.max() + 1
    sizes, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, (codes, parts), 1)
    np.add.at(sums, (codes, parts), scored)
    if shape[1] > 1 or sizes.max() > 1:
        means = _resampled_means(sums, sizes, n_boot, np.random.default_rng(seed))
        low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
        if low < high:
            return float(low), float(high)
    low, high = jeffreys_interval(macro_mean(scored, strata) * shape[0], shape[0], level)
    return float(low), float(high)


def _resampled_means(
    sums: NDArray[Any], sizes: NDArray[Any], n_boot: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Macro mean of each bootstrap sample of clusters, some samples at a time, so that memory stays bounded.

    `sums` and `sizes` have the shape (clusters, strata). A sample without any value of a stratum gives NaN.
    """
    means = np.empty(n_boot)
    block = max(1, 1_000_000 // sizes.size)
    for start in range(0, n_boot, block):
        rows = rng.integers(0, len(sizes), (min(block, n_boot - start), len(sizes)))
        with np.errstate(invalid="ignore"):
            means[start : start + len(rows)] = (sums[rows].sum(axis=1) / sizes[rows].sum(axis=1)).mean(axis=1)
    return means


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


def summary(records: pd.DataFrame) -> pd.DataFrame:
    """Table 1: one row per model × method × condition (standard, perturbed, overall).

    Overall, every share is the mean of the standard and the perturbed one where both were run (the paper's);
    `n_abstained`, `n_unparsed` and `n_error` say why answers are missing; `verdict_tpr` = P(Reasonable | true
    passage), `verdict_tnr` = P(Unreasonable | false passage), over the debates that were held, UNPARSED counted as
    neither.

    Source: paper 4.4; coverage and risk as in selective prediction.
    """
    standard = records["level"] == Level.STANDARD
    rows = []
    for (model, method), group in records.groupby(["model", "method"], sort=False):
        parts = {
            "standard": group[standard[group.index]],
            "perturbed": group[~standard[group.index]],
            "overall": group,
        }
        halves = {"overall": standard[group.index]}
        measured = {
            name: accuracy(part["correct"], part["question_id"], halves.get(name)) for name, part in parts.items()
        }
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
