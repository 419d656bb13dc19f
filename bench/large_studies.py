"""Large tables and studies: seconds of CPU and peak memory, each step in a process of its own.

The table has true and false passages about years, numbers and names, as a user's CSV with answer types. The study asks
few_shot of a stand-in, with 32 knowledge draws a question; it is run once, and then resumed, shared and shown.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.memory import peak_mb
from bench.standin import StandIn

ROWS, ITEMS = 100_000, 20_000
# Step: its targets in seconds, in megabytes of memory, and of the page that it makes.
TARGETS: dict[str, tuple[float, float, float]] = {
    "check": (15, 0, 0),
    "plan": (10, 0, 0),
    "resume": (10, 300, 0),
    "share": (20, 0, 0),
    "explorer": (3, 0, 5),
}


def rows() -> list[dict[str, object]]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder) / "rows.csv")
        for step in ("check", "plan", "run", "resume", "share", "explorer"):
            command = [sys.executable, "-m", "bench.large_studies", step, folder]
            made = subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True)
            took = json.loads(made.stdout.splitlines()[-1])
            size = f"{ROWS:,} rows" if step in ("check", "plan") else f"{ITEMS:,} items × few_shot"
            detail = f"peak {took['peak_mb']:.0f} MB" + (f", page {took['page_mb']:.1f} MB" if took["page_mb"] else "")
            for unit, target in zip(("s", "MB", "MB of page"), TARGETS.get(step, ()), strict=False):
                measured = took[{"s": "cpu_s", "MB": "peak_mb"}.get(unit, "page_mb")]
                if target:
                    row = {"name": f"{step} of {size}", "measured": measured, "target": f"≤ {target:g} {unit}"}
                    found.append(row | {"holds": measured <= target, "unit": unit, "detail": f"CPU; {detail}"})
    return found


def _write(path: Path) -> None:
    kinds = (
        ("In what year was bridge number {} opened?", "It was opened in {}.", "year", "offset", 20),
        ("How many people live in town number {}?", "Its population is {} by the last census.", "number", "factor", 2),
        ("Who designed hall number {}?", "It was designed by {} after a fire.", "name", "substitution", ""),
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow("question question_id gold_answer context claimed_answer domain answer_type".split())
        for i in range(ROWS // 2):
            question, sentence, answer_type, _, _ = kinds[i % 3]
            gold, false = {
                "year": (str(1700 + i % 200), str(1720 + i % 200)),
                "number": (f"{1000 + 7 * i:,}", f"{2 * (1000 + 7 * i):,}"),
                "name": (f"Ada {chr(65 + i % 26)}. Byron", "Karl Peter Gauss"),
            }[answer_type]
            for claim in (gold, false):
                context = f"Number {i} lies in the valley. {sentence.format(claim)} Much was written about it."
                table.writerow([question.format(i), f"q{i}", gold, context, claim, answer_type, answer_type])


def main(step: str, folder: Path) -> None:
    """Do one step, and print what it took."""
    import srdcr_lab as lab
    import srdcr_lab.cli

    page: list[str] = []
    steps: dict[str, Callable[[], Any]] = {
        "check": lambda: _check(folder / "rows.csv"),
        "plan": lambda: lab.Study(StandIn(), folder / "rows.csv", "few_shot").plan(),
        "run": lambda: _run(folder),
        "resume": lambda: _run(folder),
        "share": lambda: _share(folder),
        "explorer": lambda: page.append(_page(folder)),
    }
    started = time.process_time()
    steps[step]()
    took = {"cpu_s": time.process_time() - started, "peak_mb": peak_mb()}
    print(json.dumps(took | {"page_mb": sum(len(each.encode()) for each in page) / 1e6}))


def _check(path: Path) -> None:
    from srdcr_lab.data.load import check_source

    check_source(path)


def _run(folder: Path) -> None:
    import pandas as pd

    import srdcr_lab as lab

    numbers = range(ITEMS)
    frame = pd.DataFrame({"question": [f"In what year was bridge number {i} opened?" for i in numbers]})
    frame["context"] = [f"Bridge number {i} crosses a river. " + "It was much admired. " * 20 for i in numbers]
    frame["context"] += "It opened in 1874."
    frame = frame.assign(gold_answer="1874", answer_type="year", domain="years")
    with lab.Study(StandIn(), frame, "few_shot", out=folder / "run") as study:
        study.run(progress=False)


def _share(folder: Path) -> None:
    from srdcr_lab.study.share import share

    share(folder / "run", folder / "run.zip")


def _page(folder: Path) -> str:
    from srdcr_lab.study.results import load_run
    from srdcr_lab.transcripts import explorer_html

    return explorer_html(load_run(folder / "run"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
