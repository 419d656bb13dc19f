"""`make reliability`: how well RA-RAG's estimate recovers the true accuracy of sources, without labels.

Ten sources with accuracies from 0.50 to 0.95 report on 200 shipped facts, 20 seeds: independently, with many lies or
one, and with sources that collude. Beside it the plain majority, and an oracle that weighs by the true accuracies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

TARGET, HALF = 0.9, "the 5 least accurate collude"
QUESTIONS, SEEDS = 200, range(20)


def main() -> int:
    """Print a line for each world; exit code 1 where the target is missed."""
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
    import pandas as pd

    from srdcr_lab.data import SOURCES, reports
    from srdcr_lab.documents import recovery

    weakest = sorted(SOURCES, key=SOURCES.__getitem__)
    worlds: dict[str, dict[str, Any]] = {"independent, many lies": {}, "independent, one lie a question": {"lies": 1}}
    worlds |= {f"the {n} least accurate collude": {"colluding": weakest[:n]} for n in (3, 4, 5)}
    drawn = [
        {"world": world, "seed": seed} | recovery(*reports(seed, n_questions=QUESTIONS, **settings))
        for world, settings in worlds.items()
        for seed in SEEDS
    ]
    table = pd.DataFrame(drawn)
    print(f"10 sources, accuracy 0.50 to 0.95, {QUESTIONS} questions, {table['seed'].nunique()} seeds")
    print(f"{'world':33}{'Spearman, median (min)':>24}   right: estimated   oracle    plain   rounds, mean (most)")
    medians = {}
    for world, rows in table.groupby("world", sort=False):
        medians[world] = rows["rank_correlation"].median()
        right = "".join(f"{rows[name].mean():9.3f}" for name in ("estimated", "oracle", "plain"))
        lasted = f"{rows['iterations'].mean():.1f} ({rows['iterations'].max()})"
        spearman = f"{medians[world]:+.3f} ({rows['rank_correlation'].min():+.3f})"
        print(
            f"{world:33}{spearman:>24}          {right}   {lasted}" + ("" if rows["converged"].all() else ", not all")
        )
    held = all(median >= TARGET for world, median in medians.items() if world != HALF)
    print(f"target: median ≥ {TARGET} wherever fewer than half of the sources collude: {'holds' if held else 'MISSED'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
