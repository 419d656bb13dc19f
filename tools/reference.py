"""What a change of the code must not change: freeze it once, then check that it is still so.

    make study
    python tools/reference.py freeze           writes tools/reference.json
    python tools/reference.py                  compares this checkout and its results/ with it
    python tools/reference.py compare FOLDER   the same against another checkout, cell by cell: what differs, and where

Frozen are the tables of the run that `make study` leaves, every table, sentence and figure's data of its notebooks, the
keys of its store, the prompts, the columns of the tables, the commands and the public names. Left out is what a run
had to pay and how long it took. What is decoded beside a draw moves its log-probabilities by about 1e-6, so live runs
differ by as much: fractions are frozen to four digits, log-probabilities are not, and `compare`, which counts nine
digits, lets 1e-5 pass. A thing that went on purpose stands under `removed` in reference.json, and CHANGELOG.md says so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FROZEN = Path(__file__).with_suffix(".json")
FLOORS = ("records", "answers", "data", "models", "prompts", "protocols", "study")
OF_THE_RUN = {
    "calls_paid", "calls_paid_per_item", "calls_saved", "share_saved", "cost_usd", "cost_usd_per_item", "wall_s",
    "wall_s_per_item",
}  # fmt: skip
OF_THE_MACHINE = re.compile(r"srdcr_lab \d|\d+(\.\d+)? [kM]B")  # lines that name versions or sizes of files

LIVE = "samples.parquet: logprobs"

Things = dict[str, Any]


def main(words: list[str]) -> int:
    found = {**of_code(), **of_results(ROOT)}
    if words == ["freeze"]:
        removed = json.loads(FROZEN.read_text("utf-8"))["removed"] if FROZEN.is_file() else {}
        said = {"removed": removed, "things": {name: digest(found[name]) for name in found if name != LIVE}}
        FROZEN.write_text(json.dumps(said, ensure_ascii=False, indent=0, sort_keys=True) + "\n", "utf-8")
        print(f"{len(found)} things frozen in {FROZEN.name}")
        return 0
    if words[:1] == ["compare"] and len(words) == 2:
        other = of_results(Path(words[1]))
        lines = [
            f"{name}: {difference(other[name], found.get(name))}"
            for name in other
            if not alike(other[name], found.get(name))
        ]
    else:
        frozen = json.loads(FROZEN.read_text("utf-8"))
        kept = {name: said for name, said in frozen["things"].items() if name not in frozen["removed"]}
        lines = [
            f"{name}: is {'another' if name in found else 'gone'}"
            for name, said in kept.items()
            if digest(found.get(name)) != said
        ]
        print(f"{len(kept) - len(lines)} of {len(kept)} things as frozen, {len(frozen['removed'])} removed on purpose")
    print("\n".join(lines) or "nothing differs")
    return int(bool(lines))


def digest(thing: Any) -> str:
    return hashlib.sha256(json.dumps(_coarse(thing), ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


def _coarse(thing: Any) -> Any:
    """The thing with its fractions to four digits."""
    if isinstance(thing, list):
        return list(map(_coarse, thing))
    try:
        number = float(thing)
    except (TypeError, ValueError):
        return thing
    return thing if number != number or abs(number) == math.inf or number == int(number) else f"{number:.4g}"


def alike(one: Any, other: Any) -> bool:
    """Whether two things are equal, their numbers up to rounding."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    try:
        return bool(one == other or abs(float(one) - float(other)) <= 1e-5)
    except (TypeError, ValueError):
        return False


def difference(before: Any, after: Any) -> str:
    """The first place where two things differ."""
    if after is None:
        return "gone"
    for place, (one, other) in enumerate(zip(before, after, strict=False)):
        if not alike(one, other):
            return f"at {place}: {one!r} became {other!r}"
    return f"{len(before)} became {len(after)}"


def of_code() -> Things:
    """Prompts, columns, presets, requests, public names and commands of the package that is imported."""
    import click

    from srdcr_lab import prompts, protocols, records
    from srdcr_lab.cli import cli
    from srdcr_lab.records.tables import SCHEMA_VERSION, TABLES

    asked = records.Request((records.Message("user", "Wann?"),), 9, 0.5, ("\n",), True, 7, "knowledge", (0, 3))
    floors = {floor: import_module(floor) for floor in ("srdcr_lab", *(f"srdcr_lab.{floor}" for floor in FLOORS))}

    def options(command: click.Command, name: str) -> Iterator[tuple[str, list[str]]]:
        if isinstance(command, click.Group):
            for each in command.commands.values():
                yield from options(each, f"{name} {each.name}")
        yield name, [f"{p.opts} {p.default} {p.required} {p.type.name}" for p in command.params]

    return {
        "prompts": prompts.hashes(),
        "presets": {name: asdict(protocols.choices(name)) for name in ("paper", "released")},
        "request": [asked.canonical, asked.draw_seed(3)],
        "columns": [SCHEMA_VERSION, {t: [[c.name, c.type, c.meaning] for c in table] for t, table in TABLES.items()}],
        **{f"name: {where}.{name}": True for where, module in floors.items() for name in _public(module)},
        **{f"name: {name}": True for name in _of_chapters()},
        **{f"command: {name}": said for name, said in options(cli, "srdcr")},
    }  # fmt: skip


def _public(module: ModuleType) -> list[str]:
    """The names of a floor. `__all__` of the package itself is short, so that help() is."""
    names: list[str] = dir(module) if module.__name__ == "srdcr_lab" else getattr(module, "__all__", dir(module))
    return [name for name in names if not name.startswith("_")]


def _of_chapters() -> Iterator[str]:
    """The public names that each notebook's chapter, or what the chapters share, defines."""
    package = ROOT / "srdcr_lab"
    for path in sorted([*package.glob("*.py"), *package.glob("lib/*.py")]):
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        for name, value in vars(module).items():
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
                yield f"{module.__name__}.{name}"


def of_results(root: Path) -> Things:
    """What `make study` left in a checkout."""
    things: Things = {}
    run = root / "results" / "study"
    for path in sorted(run.glob("*.parquet")):
        things |= {f"{path.name}: {name}": cells for name, cells in _parquet(path).items() if name not in OF_THE_RUN}
    manifest = json.loads((run / "run.json").read_text("utf-8"))
    things["run.json"] = {name: manifest[name] for name in ("asked", "notes", "logprobs") if name in manifest}
    things["items.json"] = json.loads((run / "items.json").read_text("utf-8"))
    things["summary.csv"] = _csv(run / "summary.csv")
    things["store"] = _store(root / "results" / "store.sqlite")
    for path in sorted((root / "results" / "notebooks").glob("*.ipynb")):
        tables, lines = _notebook(path)
        things |= {f"{path.stem}, table {place}": table for place, table in enumerate(tables, start=1)}
        things |= {f"{path.stem} says: {line}": lines.count(line) for line in lines}
    for path in sorted((root / "results" / "figures").glob("*.csv")):
        things[path.name] = _csv(path)
    return things


def _parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq

    return {name: list(map(_rounded, cells)) for name, cells in pq.read_table(path).to_pydict().items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_rounded, value))
    return float(f"{value:.9g}") if isinstance(value, float) and value == value else repr(value)


def _csv(path: Path) -> list[list[str]]:
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    kept = [place for place, name in enumerate(head) if name not in OF_THE_RUN]
    return [[_text(row[place]) for place in kept] for row in [head, *rows]]


def _text(cell: str) -> str:
    try:
        return f"{float(cell):.9g}"
    except ValueError:
        return cell


def _store(path: Path) -> list[Any]:
    """Keys alone: whose completion, of which request, which draw."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        rows = db.execute(
            "SELECT key, digest, stream, draw FROM completions JOIN models ON models.id = model "
            "JOIN requests ON requests.id = request ORDER BY 1, 2, 3, 4"
        )
        return [list(row) for row in rows]


def _notebook(path: Path) -> tuple[list[list[list[str]]], list[str]]:
    """Every table a notebook shows, those of framed pages included, without what was paid; every line it prints."""
    tables: list[list[list[str]]] = []
    lines: list[str] = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            tables += _tables("".join(output.get("data", {}).get("text/html", "")))
            if output.get("name") == "stdout":
                lines += [line for line in "".join(output["text"]).splitlines() if not OF_THE_MACHINE.search(line)]
    return tables, lines


def _tables(html: str) -> list[list[list[str]]]:
    from bs4 import BeautifulSoup

    page = BeautifulSoup(html, "html.parser")
    found = []
    for table in page.find_all("table"):
        rows = [[cell.get_text(" ", strip=True) for cell in row.find_all(("td", "th"))] for row in table.find_all("tr")]
        dropped = {place for row in rows for place, cell in enumerate(row) if cell in OF_THE_RUN}
        found.append([[cell for place, cell in enumerate(row) if place not in dropped] for row in rows if row])
    return found + [inner for frame in page.find_all("iframe") for inner in _tables(str(frame.get("srcdoc", "")))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
