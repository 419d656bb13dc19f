"""Memory of 10,000 items: a whole SR-DCR run in a process of its own, its peak resident size.

Replies come from a stand-in in the process, with the OpenAI SDK imported; what an API adds to that are its open
connections.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ITEMS, TARGET_MB = 10_000, 500


def rows() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.memory", folder]
        run = subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True)
    peak, completions = map(float, run.stdout.split())
    return [
        {
            "name": f"memory of {ITEMS:,} items",
            "measured": peak,
            "target": f"≤ {TARGET_MB} MB",
            "holds": peak <= TARGET_MB,
            "unit": "MB",
            "detail": f"few_shot and sr_dcr with 6 rounds, {completions:,.0f} completions, peak resident size",
        }
    ]


def main(folder: Path) -> None:
    """Run the study and print peak megabytes and completions."""
    import openai  # noqa: F401 (part of what an API run holds)
    import pandas as pd

    import srdcr_lab as lab
    from bench.standin import StandIn

    frame = pd.DataFrame(
        {
            "question": [f"In what year was bridge number {i} opened?" for i in range(ITEMS)],
            "gold_answer": "1874",
            "context": [
                f"Bridge number {i} crosses a river. " + "It was much admired. " * 20 + "It opened in 1874."
                for i in range(ITEMS)
            ],
            "answer_type": "year",
            "domain": "years",
        }
    )
    with lab.Study(StandIn(), frame, "few_shot,sr_dcr", out=folder / "run") as study:
        study.run(progress=False)
        served = study.setup.cast.answerer.served  # type: ignore[attr-defined]
    print(peak_mb(), served)


def peak_mb() -> float:
    """Peak resident size of this process. Linux counts in `ru_maxrss` what the parent held when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # macOS counts bytes


if __name__ == "__main__":
    main(Path(sys.argv[1]))
