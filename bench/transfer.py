"""τ chosen on one domain, or on all but one, and used on another: coverage and risk there, of the runs in results/.

Nothing here has a target: a τ that is carried to other questions has no guarantee.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from srdcr_lab.measures.calibration import question_targets
from srdcr_lab.measures.thresholds import learn_then_test, leave_one_domain_out, target_precision, transfer_matrix

RUNS, ALPHA, DELTA = ("study-full", "study"), 0.10, 0.10
CHOICES = {
    "Learn-then-Test": partial(learn_then_test, alpha=ALPHA, delta=DELTA),
    "target precision": partial(target_precision, alpha=ALPHA),
}


def rows() -> list[dict[str, object]]:
    root = Path(__file__).resolve().parent.parent / "results"
    table = []
    for run in RUNS:
        records = root / run / "records.parquet"
        if records.is_file():
            table += _rows(run, question_targets(pd.read_parquet(records)))
    return table


def _rows(run: str, questions: pd.DataFrame) -> list[dict[str, object]]:
    given = questions["self_confidence"], questions["prior_correct"], questions["domain"]
    if questions["domain"].nunique() < 2:
        return []
    return [
        {
            "name": f"{run}: τ by {name} on {row.chosen_on}, risk on {row.applied_to}",
            "measured": row.risk,
            "target": "none",
            "holds": True,
            "unit": "",
            "detail": f"τ {row.tau:.3g}; risk [{row.risk_low:.3f}, {row.risk_high:.3f}]; {row.n_above} of {row.n} "
            f"above τ, coverage {row.coverage:.2f} [{row.coverage_low:.2f}, {row.coverage_high:.2f}]; {row.guarantee}",
        }
        for name, choose in CHOICES.items()
        for found in (transfer_matrix(*given, choose), leave_one_domain_out(*given, choose))
        for row in found.itertuples()
    ]
