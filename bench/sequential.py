"""Sequential categorisation: draws used and labels changed, against the label of all 32 draws of the same questions.

The rule that judges a question is learnt from other questions. The draws are those of the runs in results/
(`make study-full`, `make study`), where there are any, and of made-up populations: most questions known or unknown;
every accuracy alike; most half known. How many draws it takes depends on the questions: only for real ones is there a
goal, half the draws at 2 % changed labels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.runs import tables
from srdcr_lab.measures.sequential_check import knowledge_matrix, sequential_figures

QUESTIONS, DRAWS, USED, CHANGED = 600, 32, 0.5, 0.02
POPULATIONS = {"mostly known or unknown": (0.19, 0.14), "every accuracy alike": (1.0, 1.0), "half known": (4.0, 4.0)}


def rows() -> list[dict[str, object]]:
    table = []
    for run, samples in tables("samples").items():
        table += _rows(f"draws of results/{run}", _draws_of(samples), goal=True)
    for name, (a, b) in POPULATIONS.items():
        rng = np.random.default_rng(0)
        draws = rng.random((QUESTIONS, DRAWS)) < rng.beta(a, b, (QUESTIONS, 1))
        table += _rows(f"made up, {name}", draws, goal=False)
    return table


def _draws_of(samples: Path) -> NDArray[np.bool_]:
    import pandas as pd

    return np.asarray(knowledge_matrix(pd.read_parquet(samples)).to_numpy(bool))


def _rows(name: str, draws: NDArray[np.bool_], *, goal: bool) -> list[dict[str, object]]:
    if draws.shape[0] < 2 or draws.shape[1] != DRAWS:
        return []
    table: list[dict[str, object]] = []
    for blocks, looks in (("one by one", None), ("in blocks of 4", range(4, DRAWS, 4))):
        found = sequential_figures(draws, looks=looks)
        told = f"{found.n} questions, mean over all orders of their draws; in the order drawn {found.used:.3f} "
        told += f"[{found.used_low:.3f}, {found.used_high:.3f}] of the draws, {found.n_changed} labels changed = "
        told += f"{found.changed:.3f} [{found.changed_low:.3f}, {found.changed_high:.3f}]"
        table.append(
            {
                "name": f"{name}, {blocks}: share of the draws",
                "measured": found.used_any_order,
                "target": f"≤ {USED}" if goal else "none",
                "holds": not goal or found.used_any_order <= USED,
                "unit": "",
                "detail": told,
            }
        )
        table.append(
            {
                "name": f"{name}, {blocks}: labels changed",
                "measured": found.changed_any_order,
                "target": f"≤ {CHANGED}" if goal else f"not significantly above {CHANGED}",
                "holds": (found.changed_any_order if goal else found.changed_low) <= CHANGED,
                "unit": "",
                "detail": told,
            }
        )
    return table
