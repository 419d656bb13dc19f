"""`import srdcr_lab` and the start of the command line, in fresh interpreters; the least of five."""

from __future__ import annotations

import subprocess
import sys
import time

TARGET = 0.7


def rows() -> list[dict[str, object]]:
    bare, package, study = (_least(code) for code in ("pass", "import srdcr_lab", "import srdcr_lab; srdcr_lab.Study"))
    return [
        {
            "name": "import srdcr_lab",
            "measured": package - bare,
            "target": f"≤ {TARGET} s",
            "holds": package - bare <= TARGET,
            "unit": "s",
            "detail": f"bare interpreter {bare:.2f} s; with Study, pandas and scipy {study - bare:.2f} s",
        }
    ]


def _least(code: str) -> float:
    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    return min(once() for _ in range(5))
