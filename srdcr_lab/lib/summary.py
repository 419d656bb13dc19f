"""Accuracy beside n, coverage and the reasons for missing answers; Table 1 of the paper [4.4]."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from srdcr_lab.lib.comparison import condition_rows, outcome
from srdcr_lab.lib.groups import RATES, by_group, is_standard
from srdcr_lab.lib.statistics import clustered_interval, macro_mean, with_interval
from srdcr_lab.records import PROVIDERS_DEFAULT, Missing

CONDITIONS = ("standard", "perturbed", "overall")
MACRO, MICRO, CALIBRATED = "macro", "micro", "calibrated_token_probability"
NO_INTERVAL = (math.nan, math.nan)
_READ = "run model method design level question_id correct missing verdict decoding".split()  # of some sixty columns


def accuracy(
    correct: pd.Series, clusters: pd.Series, strata: pd.Series | None = None, *, intervals: bool = True
) -> dict[str, float | int]:
    """Accuracy of one set of rows, with coverage, risk, and 95 % intervals clustered on the question.

    `accuracy` = right / n counts a missing answer as wrong, `selective_accuracy` = right / answered leaves it out;
    `coverage` = answered / n; `risk` = wrong / answered. With `strata`, every share is the mean of the strata's. A
    share of nothing is NaN.
    """
    answered = correct.notna()
    right = correct.astype("boolean").fillna(False).astype(bool)
    measured: dict[str, float | int] = {
        "n": len(correct),
        "n_answered": int(answered.sum()),
        "coverage": macro_mean(answered, strata),
    }
    for name, here in (("accuracy", slice(None)), ("selective_accuracy", answered)):
        parts = None if strata is None else strata[here]
        ends = clustered_interval(right[here], clusters[here], parts) if intervals else NO_INTERVAL
        measured |= with_interval(name, macro_mean(right[here], parts), *ends)
    return measured | {"risk": 1 - measured["selective_accuracy"]}


def summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 1 [4.4]: one row per model × method (× run, × design, where there are several) × condition.

    Overall, every share is the mean of the standard and the perturbed one where both were run (as in the paper);
    `accuracy_micro` is right / n over all rows; `n_questions` counts the questions behind the n items. `n_abstained`,
    `n_unparsed` and `n_error` count why answers are missing. `verdict_tpr` = P(Reasonable | true passage) and
    `verdict_tnr` = P(Unreasonable | false passage) are over the debates held (`verdict_tpr_n`, `verdict_tnr_n`);
    UNPARSED counts as neither. Where a model takes no temperature, `decoding` says of each row how its replies were
    drawn.
    """
    records = records.filter(items=_READ)
    table = by_group(records, lambda part: [_of_condition(part, condition, intervals) for condition in CONDITIONS])
    if "decoding" not in records or not records["decoding"].astype("string").str.contains(PROVIDERS_DEFAULT).any():
        return table
    ways = by_group(records, lambda part: [{"decoding": "; ".join(sorted(set(part["decoding"].dropna())))}])
    return table.merge(ways, how="left")


def _of_condition(records: pd.DataFrame, condition: str, intervals: bool) -> dict[str, Any]:
    rows = condition_rows(records, condition)
    halves = is_standard(rows) if condition == "overall" else None
    measured: dict[str, Any] = {"condition": condition}
    measured |= accuracy(rows["correct"], rows["question_id"], halves, intervals=intervals)
    measured["n_questions"] = rows["question_id"].nunique()
    measured["accuracy_micro"] = outcome(rows, "correct").mean()
    measured |= {f"n_{why.value}": int((rows["missing"] == why).sum()) for why in Missing}
    ruled = rows[rows["verdict"].notna()]
    for rate, (verdict, true) in RATES.items():
        own = ruled[is_standard(ruled) == true]
        right = own["verdict"] == verdict
        ends = clustered_interval(right, own["question_id"]) if intervals else NO_INTERVAL
        measured |= {**with_interval(rate, right.mean(), *ends), f"{rate}_n": len(own)}
    return measured
