"""τ chosen on one domain, or on all but one, and used on another: coverage and risk there, of the runs in results/
(`make study-full`, `make study`; without one there is nothing to print).

Nothing here has a target: a τ that is carried to other questions has no guarantee. A domain on which no threshold can
be chosen is one row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pandas as pd

import srdcr_lab as lab
from bench.runs import tables
from srdcr_lab.thresholds import learn_then_test, naive_threshold, transfer

ALPHA, DELTA = 0.10, 0.10
CHOICES = {
    "Learn-then-Test": partial(learn_then_test, alpha=ALPHA, delta=DELTA),
    "naive": partial(naive_threshold, alpha=ALPHA),
}


def rows() -> list[dict[str, object]]:
    table = []
    for run, records in tables("records").items():
        table += _rows(run, lab.load_run(records.parent).known.questions)
    return table


def _rows(run: str, questions: pd.DataFrame) -> list[dict[str, object]]:
    given = questions["self_confidence"], questions["prior_correct"], questions["domain"]
    if questions["domain"].nunique() < 2:
        return []
    table: list[dict[str, object]] = []
    for name, choose in CHOICES.items():
        found = transfer(*given, choose)
        without = found[found["tau"].isna()].drop_duplicates("chosen_on")
        table += [
            _row(f"{run}: τ by {name} on {row.chosen_on}", math.nan, row.guarantee) for row in without.itertuples()
        ]
        table += [
            _row(f"{run}: τ by {name} on {row.chosen_on}, risk on {row.applied_to}", row.risk, _told(row))
            for row in found.dropna(subset="tau").itertuples()
        ]
    return table


def _told(row: Any) -> str:
    risk = f"risk [{row.risk_low:.3f}, {row.risk_high:.3f}]" if row.n_above else "no risk"
    return (
        f"τ {row.tau:.3g}; {risk}; {row.n_above} of {row.n} above τ, coverage {row.coverage:.2f} "
        f"[{row.coverage_low:.2f}, {row.coverage_high:.2f}]; {row.guarantee}"
    )


def _row(name: str, measured: float, detail: str) -> dict[str, object]:
    return {"name": name, "measured": measured, "target": "none", "holds": True, "unit": "", "detail": detail}
