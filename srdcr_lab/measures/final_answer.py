"""What the answers that a method gives are worth: for any cost of a wrong one, and any share of false passages.

A right answer counts 1, a missing one 0, a wrong one −c: u(c) = (right − c · wrong) / n. Half of a testbed's passages
are false; at a share π of them any mean is (1 − π) · standard + π · perturbed. All of it is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srdcr_lab.measures.comparison import side_by_side
from srdcr_lab.measures.estimates import bootstrapped, contrast_interval, percentile_interval
from srdcr_lab.measures.groups import groups, is_standard, stack
from srdcr_lab.measures.verdicts import DESIGN_KEYS, debates
from srdcr_lab.records import BadInput, Verdict

COSTS = (0.0, 0.5, 1.0, 2.0, 4.0)
SHARES = tuple(round(share, 1) for share in np.linspace(0, 1, 11))


def worth(records: pd.DataFrame, cost: float) -> pd.Series:
    """What each row's answer is worth: 1, 0 or −`cost`, which is at least 0."""
    if not (math.isfinite(cost) and cost >= 0):
        raise BadInput(f"the cost of a wrong answer is a number of at least 0, got {cost}")
    right = records["correct"].astype("boolean")
    return right.map({True: 1.0, False: -cost}).astype("Float64").fillna(0.0).astype(float)


def utility(
    records: pd.DataFrame, costs: Sequence[float] = COSTS, false_shares: Sequence[float] = (0.5,)
) -> pd.DataFrame:
    """Utility of each method (and run, model, design, where there are several) at each cost and share of false items.

    Columns `cost`, `false_share`, `utility`, `low`, `high` (95 %, over questions), `n`, `n_questions`, `n_answered`. A
    share that needs a half which was not run is NaN.
    """
    tables = []
    for names, rows in groups(records):
        answered, questions = int(rows["correct"].notna().sum()), rows["question_id"].nunique()
        sizes = {"n": len(rows), "n_questions": questions, "n_answered": answered}
        found = [
            {"cost": cost, "false_share": share, **_ends(worth(rows, cost), rows, share, (-cost, 1.0)), **sizes}
            for cost in costs
            for share in false_shares
        ]
        tables.append((names, pd.DataFrame(found)))
    return stack(tables)


def utility_differences(
    records: pd.DataFrame, a: str, b: str, costs: Sequence[float] = (1.0,), false_shares: Sequence[float] = SHARES
) -> pd.DataFrame:
    """Utility of method A less that of B on the items both have: columns as in `utility`, of one model, run and design.

    `changes_at`: the share of false passages at which the two change places at this cost; NaN where they do not.
    """
    tables = []
    for cost in costs:
        both = side_by_side(records, a, b, worth(records, cost))
        gap, bounds = both["a"] - both["b"], (-1.0 - cost, 1.0 + cost)
        rows = [
            {"cost": cost, "false_share": share, **_ends(gap, both, share, bounds, name="difference")}
            for share in false_shares
        ]
        means = gap.groupby(is_standard(both)).mean()
        true, false = means.get(True, math.nan), means.get(False, math.nan)
        change = true / (true - false) if true * false < 0 else math.nan
        table = pd.DataFrame(rows).assign(n=len(both), n_questions=both["question_id"].nunique(), changes_at=change)
        tables.append(({"a": a, "b": b}, table))
    return stack(tables)


def _ends(
    values: pd.Series, rows: pd.DataFrame, share: float, bounds: tuple[float, float], *, name: str = "utility"
) -> dict[str, float]:
    """The mean at a share of false passages with its interval."""
    weights = {half: weight for half, weight in zip((True, False), _weights(share), strict=True) if weight}
    estimate = contrast_interval(values, rows["question_id"], is_standard(rows), weights, bounds=bounds)
    return dict(zip((name, "low", "high"), estimate, strict=True))


def _weights(share: float) -> tuple[float, float]:
    if not 0 <= share <= 1:
        raise BadInput(f"a share of false passages lies in [0, 1], got {share}")
    return 1 - share, share


def predictive_values(records: pd.DataFrame, false_shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """What a verdict is worth to who reads it, by design and share of false passages.

    `ppv` = P(passage true | Reasonable), `npv` = P(passage false | Unreasonable); intervals resample questions.
    UNPARSED is neither. `n` debates. NaN where no such verdict was given.
    """
    shares = np.array([_weights(share)[1] for share in false_shares])
    tables = []
    for names, rows in groups(debates(records), DESIGN_KEYS):
        counts = _by_question(rows)

        def values(weights: NDArray[np.float64], counts: NDArray[np.float64] = counts) -> NDArray[np.float64]:
            """Both values at every share, shape (resamples, 2 · shares)."""
            n_true, n_false, *ruled = (weights @ counts).T
            with np.errstate(invalid="ignore", divide="ignore"):
                accepted, missed = (count / n for count, n in zip(ruled[:2], (n_true, n_false), strict=True))
                accused, caught = (count / n for count, n in zip(ruled[2:], (n_true, n_false), strict=True))
                believed = np.outer(accepted, 1 - shares), np.outer(missed, shares)
                doubted = np.outer(caught, shares), np.outer(accused, 1 - shares)
                return np.hstack([right / (right + wrong) for right, wrong in (believed, doubted)])

        measured = values(np.ones((1, len(counts))))[0].reshape(2, -1)
        resampled = bootstrapped(values, len(counts)).reshape(-1, 2, len(shares))
        table = pd.DataFrame({"false_share": shares})
        for i, name in enumerate(("ppv", "npv")):
            ends = [percentile_interval(column) for column in resampled[:, i].T]
            table[[name, f"{name}_low", f"{name}_high"]] = np.column_stack([measured[i], ends])
        tables.append((names, table.assign(n=len(rows), n_questions=len(counts))))
    return stack(tables)


def _by_question(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Of each question: its true and its false passages, then of either kind those ruled Reasonable, Unreasonable."""
    true = is_standard(rows).to_numpy(bool)
    columns = [true, ~true]
    for verdict in (Verdict.REASONABLE, Verdict.UNREASONABLE):
        ruled = (rows["verdict"] == verdict).to_numpy(bool)
        columns += [ruled & true, ruled & ~true]
    table = pd.DataFrame(np.column_stack(columns).astype(float))
    return np.asarray(table.groupby(rows["question_id"].to_numpy(), sort=False).sum(), float)
