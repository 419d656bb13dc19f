"""How often answers are right, beside what that share hides: n, coverage, and why answers are missing [4.4].

`summary` holds the numbers of the paper's Table 1, `accuracy_by_stratum` those of its Table 2. Their layout is in
`paper_tables`.
"""

from __future__ import annotations

import math

import pandas as pd

from srdcr_lab.measures.comparison import condition_rows
from srdcr_lab.measures.estimates import clustered_interval, macro_mean
from srdcr_lab.measures.groups import group_columns, groups, is_standard, strata, stratum_order
from srdcr_lab.measures.verdicts import RATES
from srdcr_lab.records import Missing

CONDITIONS = ("standard", "perturbed", "overall")
MACRO, MICRO = "macro", "micro"


def with_ends(name: str, value: float, ends: tuple[float, float]) -> dict[str, float]:
    """A value and its interval as columns `name`, `name_low`, `name_high`."""
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def accuracy(
    correct: pd.Series, clusters: pd.Series, strata: pd.Series | None = None, *, intervals: bool = True
) -> dict[str, float | int]:
    """Accuracy of one set of rows, with coverage, risk, and 95 % intervals clustered on the question.

    `correct` is True, False or missing. `accuracy` = right / n counts a missing answer as wrong, `selective_accuracy` =
    right / answered leaves it out; `coverage` = answered / n; `risk` = wrong / answered. With `strata`, every share is
    the mean of the strata's shares. A share of nothing is NaN.
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
        ends = clustered_interval(right[here], clusters[here], parts) if intervals else (math.nan, math.nan)
        measured |= with_ends(name, macro_mean(right[here], parts), ends)
    return measured | {"risk": 1 - measured["selective_accuracy"]}


def summary(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 1: one row per model × method (× run, × design, where there are several) × condition.

    The conditions are standard, perturbed and overall. Overall, every share is the mean of the standard and the
    perturbed one where both were run (as in the paper); `accuracy_micro` is right / n over all rows. `n_abstained`,
    `n_unparsed` and `n_error` count why answers are missing. `verdict_tpr` = P(Reasonable | true passage) and
    `verdict_tnr` = P(Unreasonable | false passage) are over the debates that were held (`verdict_tpr_n`,
    `verdict_tnr_n`); UNPARSED counts as neither. Without intervals their columns are NaN.

    Source: paper 4.4; coverage and risk as in selective prediction.
    """
    keys = group_columns(records)
    rows = [
        {**names, "condition": condition, **_of_condition(part, condition, intervals)}
        for names, part in groups(records)
        for condition in CONDITIONS
    ]
    return pd.DataFrame(rows, columns=None if rows else [*keys, "condition", *_of_condition(records, "overall", False)])


def _of_condition(records: pd.DataFrame, condition: str, intervals: bool) -> dict[str, float | int]:
    rows = condition_rows(records, condition)
    halves = is_standard(rows) if condition == "overall" else None
    measured = accuracy(rows["correct"], rows["question_id"], halves, intervals=intervals)
    measured["accuracy_micro"] = macro_mean(rows["correct"].astype("boolean").fillna(False))
    measured |= {f"n_{why.value}": int((rows["missing"] == why).sum()) for why in Missing}
    ruled = rows[rows["verdict"].notna()]
    for rate, (verdict, true) in RATES.items():
        own = ruled[is_standard(ruled) == true]
        right = own["verdict"] == verdict
        ends = clustered_interval(right, own["question_id"]) if intervals else (math.nan, math.nan)
        measured |= {**with_ends(rate, macro_mean(right), ends), f"{rate}_n": len(own)}
    return measured


def accuracy_by_stratum(records: pd.DataFrame, *, intervals: bool = True) -> pd.DataFrame:
    """Table 2: one row per group × stratum of the perturbed items, then `macro` and `micro`.

    Strata are year offsets by size and, for the other kinds, levels. `macro` is the mean of the strata (the paper's),
    `micro` pools the items. Columns as in `accuracy`. A stratum on which a method was not run has n = 0 and NaN, and is
    outside its macro mean.
    """
    order = stratum_order(strata(condition_rows(records, "perturbed")).unique())
    rows = []
    for names, part in groups(records):
        false = condition_rows(part, "perturbed")
        stratum = strata(false)
        for column in (*order, MACRO, MICRO):
            here = false[stratum == column] if column in order else false
            parts = stratum if column == MACRO else None
            measured = accuracy(here["correct"], here["question_id"], parts, intervals=intervals)
            rows.append({**names, "stratum": column, **measured})
    return pd.DataFrame(rows, columns=[*group_columns(records), *_STRATUM_COLUMNS])


_STRATUM_COLUMNS = [
    *("stratum", "n", "n_answered", "coverage", "accuracy", "selective_accuracy", "accuracy_low", "accuracy_high"),
    *("selective_accuracy_low", "selective_accuracy_high", "risk"),
]
