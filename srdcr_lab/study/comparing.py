"""Where two runs that should be one differ, in words."""

from __future__ import annotations

import pandas as pd

from srdcr_lab.study.folder import MANIFEST
from srdcr_lab.study.results import Results

TABLES = ("records", "turns", "samples")
OF_THE_RUN = ("calls_paid", "cost_usd")  # what this run had to ask for: a replay asks for nothing
_COUNTED = ("calls_alone", "prompt_tokens", "completion_tokens")  # until a row failed
_NOT_ASKED_AGAIN = "limit"  # a replay takes the items that were left


def run_differences(before: Results, after: Results) -> list[str]:
    """A sentence a table, and one for each thing that was asked differently.

    A row that failed may have failed with another sentence, and after other calls: a replay cannot know what a server
    said, nor when.
    """
    found = [
        f"{MANIFEST}: {name} is not what was asked when the run was made again"
        for name, said in before.manifest["asked"].items()
        if name != _NOT_ASKED_AGAIN and said != after.manifest["asked"].get(name)
    ]
    counted = before.manifest.get("counts") or {}
    found += [
        f"{MANIFEST}: counts, {name}: {counted.get(name)} became {count}"
        for name, count in after.manifest["counts"].items()
        if name in (*TABLES, "failed") and count != counted.get(name)
    ]
    for table in TABLES:
        left, right = getattr(before, table), getattr(after, table)
        if table == "records":
            left, right = _comparable(left), _comparable(right)
        if difference := _difference(left, right):
            found.append(f"{table}.parquet: {difference}")
    if (before.folder / "summary.csv").read_bytes() != (after.folder / "summary.csv").read_bytes():
        found.append("summary.csv: its bytes differ")
    return found


def _comparable(records: pd.DataFrame) -> pd.DataFrame:
    records = records.drop(columns=list(OF_THE_RUN))
    records.loc[records["error"].notna(), [*_COUNTED]] = pd.NA
    return records.assign(error=records["error"].where(records["error"].isna(), "failed"))


def _difference(left: pd.DataFrame, right: pd.DataFrame) -> str | None:
    if left.shape != right.shape:
        return f"{len(left)} rows of {left.shape[1]} columns became {len(right)} of {right.shape[1]}"
    for column in left.columns:
        for row, (one, other) in enumerate(zip(left[column], right[column], strict=True), start=1):
            if repr(one) != repr(other):
                return f"row {row}, {column}: {one!r} became {other!r}"
    return None
