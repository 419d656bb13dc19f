"""The same study with other seeds: how much a number varies over repeats, beside how much it varies over questions.

A seed chooses exemplars, orders and draws. The records of all repeats are one table with the column `repeat`, as
`load_repeats` reads it. Questions and repeats are crossed random effects; an interval over questions alone, as that of
a single study, says nothing of what another seed would have given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from srdcr_lab.lib.groups import of_one_kind
from srdcr_lab.lib.statistics import shares
from srdcr_lab.records import BadInput


def over_both(
    pooled: ArrayLike, each: ArrayLike, n_questions: int, *, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float, float, int]:
    """Carry the variation over repeats into an interval over questions: the standard deviation over repeats, both ends
    of the 95 % interval over questions and repeats, and how many repeats have a value; NaN for fewer than two.

    `pooled`, a value and its interval over questions, is of all K repeats together; `each`, shape (K, 3), of each by
    itself. Answers that waver from repeat to repeat make each single interval wider than the pooled one:
    Vₑ = (mean V − V_pooled) · K / (K − 1). The questions' own part is V_q = V_pooled − Vₑ / K, at least 0; all that
    repeats vary is in their standard deviation. Each half is √(half² · V_q / V_pooled + t²ₖ₋₁ · sd² / K), within
    `bounds`; where repeats happen to agree, it may be less than the pooled half. 3 repeats make it wide (two degrees of
    freedom). `make guarantees` prints the coverage: .93 to .97, and up to .98 with 30 questions or 3 repeats.

    Source: variance components of two crossed factors (Searle, Casella and McCulloch 1992), halves combined as in Howe
    1974; Satterthwaite's degrees of freedom gave .90 with 3 repeats that differ much.
    """
    all_of_them, known = np.asarray(pooled, float), np.asarray(each, float).reshape(-1, 3)
    known = known[~np.isnan(known).any(axis=1)]
    k = len(known)
    if k < 2 or np.isnan(all_of_them).any():
        return math.nan, math.nan, math.nan, k
    value, low, high = all_of_them
    of_one_study = 2 * stdtrit(max(n_questions - 1, 1), 0.975)
    single, together = (((ends[..., 2] - ends[..., 1]) / of_one_study) ** 2 for ends in (known, all_of_them))
    wavering = max(0.0, float(single.mean() - together)) * k / (k - 1)
    own = max(0.0, 1 - wavering / k / float(together)) if together else 0.0
    variance = float(known[:, 0].var(ddof=1))
    over = float(stdtrit(k - 1, 0.975)) ** 2 * variance / k
    below, above = (math.sqrt(own * half**2 + over) for half in (value - low, high - value))
    return math.sqrt(variance), max(bounds[0], value - below), min(bounds[1], value + above), k


def has_repeats(records: pd.DataFrame) -> bool:
    return "repeat" in records and records["repeat"].nunique() > 1


def each_repeat(records: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """The records of all repeats as if of one study, with as many items for each question as there are repeats; and
    those of each. Repeats that do not have the same items, models, methods and designs are bad input."""
    if "repeat" not in records:
        raise BadInput("the records have no column repeat; srdcr run --repeats K makes them, load_repeats reads them")
    parts = [part for _, part in records.groupby("repeat")]
    for part in parts[1:]:
        which = f"repeats {parts[0]['repeat'].iloc[0]} and {part['repeat'].iloc[0]} are not of one study"
        for name in ("model", "method", "design", "item_id"):
            if unlike := set(part[name].dropna()) ^ set(parts[0][name].dropna()):
                raise BadInput(f"{which}: {name} {min(unlike)!r} is in one of them alone")
        if len(part) != len(parts[0]):
            raise BadInput(f"{which}: one has {len(parts[0])} rows, the other {len(part)}")
    told_apart = records["item_id"] + " in repeat " + records["repeat"].astype(str)
    return records.assign(item_id=told_apart), parts


def over_repeats(
    measure: Callable[[pd.DataFrame], pd.DataFrame],
    records: pd.DataFrame,
    names: Sequence[str] = ("accuracy", "selective_accuracy"),
    by: Sequence[str] = ("method", "condition"),
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> pd.DataFrame:
    """Numbers of a measure's table, such as `summary`, over repeats: one row for each of its rows, which `by` tells
    apart, and each of the columns `names`.

    Columns: those of `by`; `measure`, the name; `value` of all repeats together, which is their mean where none leaves
    rows out; `low`, `high` (95 %, over questions, these repeats given); `sd` over repeats; `both_low`, `both_high`
    (95 %, over questions and repeats, see `over_both`; within `bounds`, for a difference −1 and 1); `n` rows of one
    repeat, `n_questions`, `n_repeats` that have the number.
    """
    pooled, each = each_repeat(records)
    together, *alone = (measure(part).set_index(list(by)) for part in (pooled, *each))
    alone = [table.reindex(together.index) for table in alone]
    if (sum(table["n"].fillna(0) for table in alone) != together["n"]).any():
        raise ValueError("the measure reads one row a question, so that it would see one repeat alone")
    n_questions, rows = records["question_id"].nunique(), []
    for name in names:
        ends = [name, *(f"{name}_{end}" if f"{name}_{end}" in together else end for end in ("low", "high"))]
        of_all, *single = (table[ends].to_numpy(float, na_value=np.nan) for table in (together, *alone))
        for place, pooled_ends in enumerate(of_all):
            both = over_both(pooled_ends, [found[place] for found in single], n_questions, bounds=bounds)
            rows.append([name, *pooled_ends, *both])
    columns = ["measure", "value", "low", "high", "sd", "both_low", "both_high", "n_repeats"]
    repeated = pd.concat([together[["n"]] // len(each)] * len(names)).assign(n_questions=n_questions).reset_index()
    return repeated[list(by)].join(pd.DataFrame(rows, columns=columns)).join(repeated[["n", "n_questions"]])


_OF_AN_ITEM = ("prior_answer", "self_confidence", "sampled_accuracy", "knowledge_category", "context_answer")
_OF_A_METHOD = ("verdict", "decision", "final_answer", "correct")


def what_varied(records: pd.DataFrame) -> pd.DataFrame:
    """How often something is not the same in all repeats (numbers to four digits, a machine's last ones vary): columns
    `what`, `method` (empty for what every method shares) and those of `shares`, over items.

    The prior answer's prompt shows fixed exemplars: greedy, it varies only where the server does. The context answer
    has other exemplars in each repeat, sampled accuracy and category other exemplars and draws. Ours.
    """
    each_repeat(records)
    records = records.round(4)
    shared = of_one_kind(records).drop_duplicates(["repeat", "item_id"])
    wanted = [("", name, shared) for name in _OF_AN_ITEM]
    wanted += [(method, name, rows) for method, rows in records.groupby("method", sort=False) for name in _OF_A_METHOD]
    tables = []
    for method, name, rows in wanted:
        if rows[name].notna().any():
            keys = ["item_id", "design"] if method else ["item_id"]
            values = rows.assign(value=rows[name].astype(str)).groupby(keys, sort=False, dropna=False)
            found = values.agg(question_id=("question_id", "first"), n_values=("value", "nunique")).reset_index()
            tables.append(shares(found, found["n_values"] > 1).assign(what=name, method=method))
    columns = ["what", "method", "n", "n_questions", "share", "low", "high"]
    return pd.concat(tables, ignore_index=True)[columns]
