"""`make bench`: the speed figures of the project, as ratios measured in one run, each beside its target.

Times of a noisy machine mean little by themselves: each row compares two ways of doing the same work, or a time with
its bound. Seconds are those of the machine for which their targets were set, told by `yardstick`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

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


PER_SECOND = {"s": -1, "ms": -1, "completions/s": 1}  # unit: its power of the slowness of this machine


def main(names: list[str]) -> int:
    """Print the rows of the named modules (default: all); exit code 1 if a target is missed."""
    root = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(root)]
    from bench.yardstick import slowness

    held = True
    for name in names or ROWS:
        before = slowness()
        found = list(importlib.import_module(f"bench.{name}").rows())
        slow = (before + slowness()) / 2
        for row in (_as_there(row, slow) if row["unit"] in PER_SECOND else row for row in found):
            held &= bool(row["holds"])
            mark = "      " if row["target"] == "none" else "holds " if row["holds"] else "MISSED"
            measured = f"{row['name']}: {row['measured']:.3g} {row['unit']}"
            print(f"{mark}  {measured} (target {row['target']})  [{row['detail']}]", flush=True)
    return 0 if held else 1


def _as_there(row: dict[str, Any], slow: float) -> dict[str, Any]:
    """A row with a time, as it would be on the machine for which the targets were set."""
    there = row["measured"] * slow ** PER_SECOND[row["unit"]]
    sense, limit = row["target"].replace(",", "").split()[:2]
    holds = there <= float(limit) if sense == "≤" else there >= float(limit)
    detail = f"{row['measured']:.3g} here, {slow:.2f} × as slow; {row['detail']}"
    return row | {"measured": there, "holds": holds, "detail": detail}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
