"""The runs that benches read: those of `make study-full` and `make study`, in results/."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results"
RUNS = ("study-full", "study")


def tables(name: str, results: Path = RESULTS) -> dict[str, Path]:
    """A table's file in each run that is there, by the run; where none is, says what to run first."""
    found = {run: results / run / f"{name}.parquet" for run in RUNS if (results / run / f"{name}.parquet").is_file()}
    if found:
        print(f"reads {name}.parquet of {', '.join(f'results/{run}' for run in found)}", flush=True)
    else:
        print(f"no {name}.parquet in results/study-full or results/study: nothing real to read; run `make study` first")
    return found
