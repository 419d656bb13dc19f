"""Recompute every number of a results folder with code that shares nothing with the package.

    python tools/recompute.py results/study [--store results/store.sqlite] [--figures results/figures] [--brief]

It imports numpy, pandas and scipy, and no line of `srdcr_lab`. It starts from the rawest thing that is there: replies'
texts, tokens and log-probabilities in `turns.parquet` and `samples.parquet`, questions in `items.json`, choices in
`run.json`; and, where a store lies in the folder or beside it, the replies that no table shows (the answers with a
passage, and token counts). From these it makes anew what was read from each reply (`recompute_replies.py`), the columns
of `records.parquet` (`recompute_records.py`), every row and column of `summary.csv` with its intervals
(`recompute_tables.py`), the counts of `run.json` and, with `--figures` and `--notebooks`, the tables that notebooks
show of the same items (`recompute_figures.py`). Repeats of a study are made anew one by one.

It prints a line for each number of the tables and of `run.json`, one for each column of replies and records (how many
cells, how many differ) and for the first cells that differ, and what it could not recompute, with the reason. Exit
code 1 where a number differs by more than 1e-9.

Definitions are the paper's and those that the Parquet files carry in their schemas. What the published help texts
alone say is named where it is used.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import recompute_figures as figures
import recompute_tables as tables
from recompute_records import asks, recomputed
from recompute_replies import compare_store, load, meaning, missing, reread

TOLERANCE = 1e-9


class Ledger:
    """Numbers side by side, and what could not be recomputed."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Any, Any, bool]] = []
        self.left_out: Counter[str] = Counter()
        self.of = ""  # what all names begin with

    def number(self, name: str, theirs: Any, ours: Any, tolerance: float = TOLERANCE) -> None:
        self.lines.append((self.of + name, theirs, ours, equal(theirs, ours, tolerance)))

    def column(self, name: str, keys: Any, theirs: Any, ours: Any) -> None:
        """A line for the column, and one for each of the first ten cells that differ."""
        cells = list(zip(keys, theirs, ours, strict=True))
        name = self.of + name
        wrong = [(f"{name}  {key}", a, b, False) for key, a, b in cells if not equal(a, b)]
        self.lines += [*wrong[:10], (f"{name}: cells that differ, of {len(cells)}", len(wrong), 0, not wrong)]

    def leave_out(self, what: str, why: str, n: int = 1) -> None:
        self.left_out[f"{self.of}{what}: {why}"] += n

    def show(self, brief: bool) -> int:
        """Print everything; the exit code."""
        wrong = [line for line in self.lines if not line[3]]
        width = max(len(line[0]) for line in self.lines)
        print(f"{'number':{width}}  {'theirs':>22}  {'ours':>22}  difference")
        for name, theirs, ours, same in wrong if brief else self.lines:
            gap = f"{theirs - ours:.1e}" if is_number(theirs) and is_number(ours) else ""
            shown = ["" if missing(each) else str(each)[:22] for each in (theirs, ours)]
            print(f"{name:{width}}  {shown[0]:>22}  {shown[1]:>22}  {gap}{'' if same else '  <- differs'}")
        for what, n in self.left_out.items():
            print(f"not recomputed ({n}): {what}")
        print(f"{len(self.lines)} lines, {len(wrong)} differ; {sum(self.left_out.values())} cells not recomputed")
        return 1 if wrong else 0


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and not missing(value)


def equal(a: Any, b: Any, tolerance: float = TOLERANCE) -> bool:
    a, b = (each.tolist() if isinstance(each, np.ndarray) else each for each in (a, b))
    if missing(a) or missing(b):
        return missing(a) and missing(b)
    return bool(a == b or (is_number(a) and is_number(b) and abs(a - b) <= tolerance))


def compare_records(folder: SimpleNamespace, ours: pd.DataFrame, ledger: Ledger) -> None:
    """Every column of `records`."""
    theirs = folder.records
    keys = theirs.item_id + " " + theirs.method + " " + theirs.design.fillna("")
    reasons = {
        "calls_paid": "who of those that share a request asks first depends on time; the sum is compared",
        "cost_usd": "follows calls_paid; the sum is compared",
        "n_misinforming": "the kinds of documents are not read here",
    }
    for name in theirs:
        if name not in ours:
            ledger.leave_out(f"records.{name}", reasons.get(name, "no rule here"), len(theirs))
            continue
        counted = name in ("calls_alone", "prompt_tokens", "completion_tokens")
        here = ours[name].notna() if counted else ours.index >= 0
        if not all(here):
            ledger.leave_out(
                f"records.{name}",
                "a reply that is counted is in no table, and not one alone in the store",
                int((~here).sum()),
            )
        a, b = theirs[name][here], ours[name][here]
        ours[name] = ours[name].where(here, theirs[name])  # tables made of it take what is published
        if name in ("prior_answer", "context_answer", "final_answer"):
            a, b = ([meaning(*each) for each in zip(of, ours.answer_type[here], strict=True)] for of in (a, b))
        elif name == "final_answers":
            a, b = ([len(each) for each in of] for of in (a, b))
        ledger.column(f"records.{name}", keys[here], a, b)


def compare_causes(theirs: dict[str, dict[str, int]], ours: pd.DataFrame, ledger: Ledger) -> None:
    """Why answers could not be read: cut, or read to the end in vain, which has several names; no turns."""
    unread, cut = ours[ours.missing == "unparsed"], theirs.get("cut at its length", {})
    rows = "rows of " + unread.method + (" (" + unread.design + ")").fillna("")
    in_vain: Counter[str] = sum((Counter(of) for of in theirs.values() if of is not cut), Counter())
    for cause, of, chosen in (("cut at its length", cut, True), ("nothing to read in it", in_vain, False)):
        counted = rows[unread.cut.astype(bool) == chosen].value_counts()
        for name in {*counted.index, *(name for name in of if name.startswith("rows of"))}:
            ledger.number(f"run.json causes {cause}, {name}", of.get(name, 0), counted.get(name, 0))


def compare_counts(folder: SimpleNamespace, ours: pd.DataFrame, ledger: Ledger) -> None:
    """The counts of `run.json`."""
    run, counts = folder.run, folder.run.get("counts", {})
    known = {name: len(getattr(folder, name)) for name in ("records", "turns", "samples")}
    known["failed"] = int(ours.error.notna().sum())
    needed = [asks(row) for row in ours.to_dict("records")]
    asks_memory = any(each is None or "memory" in each for each in needed)
    streams = {"knowledge"} if asks_memory else {"knowledge", "greedy"}
    paid = folder.records.calls_paid.sum() + int(folder.samples.stream.isin(streams).sum())
    for name, theirs in counts.items():
        if name == "causes":
            compare_causes(theirs, ours, ledger)
        elif name in known:
            ledger.number(f"run.json counts {name}", theirs, known[name])
        elif name == "calls_paid" and theirs == counts.get("completions_in_store"):  # the store began empty
            ledger.number("run.json counts calls_paid, of all rows and draws", theirs, paid)
        elif name == "completions_in_store" and folder.in_store is not None:
            ledger.number("run.json counts completions_in_store, when it was written", theirs, folder.in_store)
        else:
            ledger.leave_out(f"run.json counts {name}", "a clock, or what the store held before the run")
    ledger.number("run.json asked n_items", run["asked"]["n_items"], len(folder.items))
    if all(price and price["input_usd"] == price["output_usd"] == 0 for price in run["prices"].values()):
        ledger.number("run.json spent_usd, at a price of 0", run["spent_usd"], folder.records.cost_usd.sum())
    ledger.leave_out("run.json sent, versions, checksums", "the engine's own counters, and no results")


def audited(folder: SimpleNamespace, ledger: Ledger) -> pd.DataFrame:
    """Compare everything in one folder; its records, recomputed."""
    reread(folder, ledger)
    if folder.replies:
        compare_store(folder, ledger)
    ours = recomputed(folder, ledger)
    compare_records(folder, ours, ledger)
    tables.compare_summary(folder.summary, ours, ledger)
    compare_counts(folder, ours, ledger)
    return ours


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="a results folder")
    parser.add_argument("--store", type=Path, help="default: store.sqlite in DIR or beside it, where there is one")
    parser.add_argument("--figures", type=Path, help="the folder with the CSV files of the notebooks on the same items")
    parser.add_argument("--notebooks", type=Path, help="the folder with the notebooks executed on the same items")
    parser.add_argument("--brief", action="store_true", help="print only what differs or could not be recomputed")
    arguments = parser.parse_args()
    if not (arguments.folder / "run.json").is_file():
        parser.error(f"{arguments.folder}: no results folder, it has no run.json; name what `srdcr run --out` wrote")
    folders = [arguments.folder, *sorted(arguments.folder.glob("repeat-*"))]
    beside = [path / "store.sqlite" for path in (arguments.folder, arguments.folder.parent)]
    store, ledger = arguments.store or next((path for path in beside if path.is_file()), None), Ledger()
    for path in reversed(folders):  # the study itself last
        ledger.of = f"{path.name} " if path != arguments.folder else ""
        folder = load(path, store)
        if any(item["documents"] for item in folder.items.values()):
            parser.error(f"{path}: its items have several documents; this recomputes studies of one passage an item")
        ours = audited(folder, ledger)
    if (arguments.folder / "repeats.csv").is_file():
        ledger.leave_out("repeats.csv", "measures over repeats have no rule here")
    if arguments.figures:
        bounds = folder.choices["highly_known_from"], folder.choices["maybe_known_from"]
        figures.compare_figures(arguments.figures, ours, bounds, ledger)
    if arguments.notebooks:
        figures.compare_notebooks(arguments.notebooks, ours, ledger)
    return ledger.show(arguments.brief)


if __name__ == "__main__":
    sys.exit(main())
