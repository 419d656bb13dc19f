"""Executed notebooks in a bundle, and the same notebooks executed again, offline, somewhere else."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from srdcr_lab.models.fingerprint import fingerprint
from srdcr_lab.models.pocket import pocket_folder
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.study.html_tables import Table, table_difference, without_columns
from srdcr_lab.study.notebook_files import at_hand, own_tables, parameters_of, same_code, shared_form, tables_of
from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks

_OFFLINE = ("SRDCR_OFFLINE", "HF_HUB_OFFLINE")  # nothing is asked, no weights are fetched
_OF_THE_RUN = (
    "calls_paid", "calls_paid_per_item", "calls_saved", "share_saved", "cost_usd", "cost_usd_per_item",
    "wall_s", "wall_s_per_item",
)  # fmt: skip


def executed(folder: Path, work: Path) -> dict[str, Path]:
    """What a bundle holds of a folder of executed notebooks, by name in it: the notebooks without what ties them to
    this machine (written into `work`), and the tables of one's own that they read."""
    found = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not found:
        raise BadInput(f"{folder} holds no notebook of the sequence; execute them with srdcr notebooks --out {folder}")
    files: dict[str, Path] = {}
    for path in found:
        files[f"notebooks/{path.name}"] = work / path.name
        (work / path.name).write_text(shared_form(path), "utf-8")
        for name, table in own_tables(path, SEQUENCE).items():
            if not table.samefile(files.setdefault(f"items/{name}", table)):
                raise BadInput(f"the notebooks in {folder} read two files called {name}; rename one, run them again")
    return files


def replayed(shared: Path, store: Path, out: Path, fingerprints: Collection[str]) -> tuple[list[str], int]:
    """Execute this clone's notebooks with the parameters of the bundle's: the differences, in words, and the number of
    tables that were compared. `fingerprints` are those of the models that the bundle has completions of."""
    found, compared = [], 0
    for path in sorted((shared / "notebooks").glob("*.ipynb")):
        given = parameters_of(path)
        if reason := _not_executed(path, given, fingerprints):
            found.append(f"{path.name}: {reason}, so it was not executed")
            continue
        parameters = {name: at_hand(value, shared / "items") for name, value in given.items()} | {
            "STORE": str(store.resolve()),
            "FIGURES": str((out / "figures").resolve()),
        }
        try:
            with _offline():
                (made,) = run_notebooks(out / "notebooks", parameters, only=SEQUENCE / path.name)
        except SrdcrError as error:
            found.append(f"{path.name}: {error}")
            continue
        before, after = (_compared(tables_of(each)) for each in (path, made))
        compared += len(before)
        if difference := _difference(before, after):
            found.append(f"{path.name}: {difference}")
    return found, compared


def _not_executed(path: Path, parameters: Mapping[str, Any], fingerprints: Collection[str]) -> str | None:
    own = SEQUENCE / path.name
    if not own.is_file() or not same_code(path, own):
        return "its code is not this clone's"
    if parameters.get("MODEL") == "pocket" and fingerprint(pocket_folder()) not in fingerprints:
        return "it was made with another pocket model than this clone's"
    return None


def _compared(tables: list[Table]) -> list[Table]:
    return [without_columns(table, _OF_THE_RUN) for table in tables]


def _difference(before: list[Table], after: list[Table]) -> str | None:
    for number, (one, other) in enumerate(zip(before, after, strict=False), start=1):
        if difference := table_difference(one, other):
            return f"table {number}, {difference}"
    return None if len(before) == len(after) else f"{len(before)} tables became {len(after)}"


@contextmanager
def _offline() -> Iterator[None]:
    """Studies in notebooks ask nothing meanwhile."""
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
