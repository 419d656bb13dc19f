"""`make bench`: the speed figures of the project, as ratios measured in one run, each beside its target.

Times of a noisy machine mean little by themselves; each row compares two ways of doing the same work, or a time with
its bound.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROWS = (
    "api_scheduling",
    "store_replay",
    "local_generation",
    "local_study",
    "importing",
    "memory",
    "large_studies",
    "shards",
    "sliders",
    "calibration_sliders",
)


def main(names: list[str]) -> int:
    """Print the rows of the named modules (default: all); exit code 1 if a target is missed."""
    root = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(root)]
    held = True
    for name in names or ROWS:
        for row in importlib.import_module(f"bench.{name}").rows():
            held &= bool(row["holds"])
            mark = "      " if row["target"] == "none" else "holds " if row["holds"] else "MISSED"
            measured = f"{row['name']}: {row['measured']:.3g} {row['unit']}"
            print(f"{mark}  {measured} (target {row['target']})  [{row['detail']}]", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
