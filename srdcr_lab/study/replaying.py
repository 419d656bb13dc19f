"""What a replay meets beside the tables of the run: models, prompts and facts that are others here, and notebooks.

These are executed again: what the bundle may decide of that, and what their tables show differently. A bundle's
notebook is read as data: its parameters must be literals, its code is compared and never run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

from srdcr_lab.data import ItemSet, facts
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.items import first_difference, thaw
from srdcr_lab.data.load import SHIPPED
from srdcr_lab.models import ChatModel
from srdcr_lab.models.gguf import PACKAGED, identity_of
from srdcr_lab.prompts.messages import hashes
from srdcr_lab.records import BadInput, ModelIdentity, SrdcrError
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.study import notebooks
from srdcr_lab.study.folder import Results
from srdcr_lab.study.manifest import ITEMS
from srdcr_lab.study.opening import REPLAYED, as_told

_OFFLINE = {"SRDCR_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}  # nothing is asked, no weights are fetched
# The parameters that a bundle may decide, beside MODEL: sources of items, words, numbers with their bounds. All others
# are where a notebook reads and writes, and a replay decides them.
_SOURCES = ("ITEMS", "CLAIMS", "DOCUMENTS", "BESIDE")
_NUMBERS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("LIMIT", "SAMPLE", "AT_MOST"), (1, 1_000_000)), **dict.fromkeys(("ROUNDS", "REPEATS"), (1, 100)),
    "SEEDS": (1, 10_000), "OFFSET": (-10_000, 10_000),
    **dict.fromkeys(("TAU", "ALPHA", "STRICTER", "DELTA", "FALSE_SHARE"), (0.0, 1.0)),
}  # fmt: skip
_WORD = re.compile(r"(?!\.+$)[\w .,:;@#+&!?'()-]{1,300}")
_OF_THE_RUN = {
    "calls_paid", "calls_paid_per_item", "calls_saved", "share_saved", "cost_usd", "cost_usd_per_item",
    "wall_s", "wall_s_per_item",
}  # fmt: skip

Row = tuple[str, ...]
Table = tuple[Row, ...]


def surroundings(run: Results) -> Iterator[str]:
    """A sentence on each thing that a run was made with and that is another one here: model, prompts, facts."""
    for model in set(run.identities.values()):
        if (here := _fingerprint_here(model)) not in (None, model.fingerprint):
            yield f"its model {model} is not the one here: its SHA-256 is {model.fingerprint:.12}…, here {here:.12}…"
    asked, today = run.manifest["asked"], hashes()
    others = {name for name, told in asked["prompts_sha256"].items() if told != today.get(name)}
    others -= set(run.manifest["prompts"])  # its own, which it brings
    if lost := sorted(others):
        why = "if anything was asked with them, it cannot be made again here; the tables as they were shared hold it"
        yield f"its prompts {', '.join(lost):.250} are none that this version knows: {why}"
    if asked["items"].partition(":")[0] == "facts" and (other := _other_facts(thaw(run.folder / ITEMS))):
        yield f"its facts are not this version's ({other}); it was replayed by its own"


def _fingerprint_here(model: ModelIdentity) -> str | None:
    """Of a model that this installation brings; a file that a bundle names is not looked for."""
    if model.provider == "pocket":
        from srdcr_lab.models.checkpoint import fingerprint

        return fingerprint(shipped("pocket"))
    if (model.provider, model.name) == ("gguf", PACKAGED):
        with suppress(BadInput):  # it is not installed
            return identity_of(PACKAGED).fingerprint
    return None


def _other_facts(items: ItemSet) -> str:
    """The first item, or the exemplars, that this version's facts have otherwise, in words. False passages, and the
    form that options and claims give a question, are not looked at."""
    here = {item.item_id: item for item in facts.standard()}
    today = []
    for item in items:
        if (fact := here.get(item.question_id)) and not item.options:
            context = fact.context if item.context and item.item_id in here else item.context
            item = replace(item, question=fact.question, gold_answer=fact.gold_answer, context=context)
        today += [item] * bool(fact)
    difference = first_difference(items, today)
    return difference or ("" if items.exemplars == facts.exemplars() else "its exemplars are others")


def replayed(shared: Path, store: Path, out: Path, cast: Mapping[str, ChatModel]) -> tuple[list[str], int]:
    """Execute this clone's notebooks with what the bundle may decide: differences in words, and tables compared.

    `cast` are the models whose completions are in the bundle.
    """
    differences, compared = [], 0
    for path in sorted((shared / "notebooks").glob("*.ipynb")):
        try:
            parameters = decided(path, shared / "items", cast)
        except BadInput as error:
            differences.append(f"{path.name}: {error}, so it was not executed")
            continue
        parameters |= {"STORE": str(store.resolve()), "FIGURES": str((out / "figures").resolve())}
        try:
            with _offline(cast):
                (made,) = notebooks.run_notebooks(out / "notebooks", parameters, only=notebooks.SEQUENCE / path.name)
        except SrdcrError as error:
            differences.append(f"{path.name}: {error}")
            continue
        before, after = tables_of(path), tables_of(made)
        compared += len(before)
        if difference := tables_difference(before, after):
            differences.append(f"{path.name}: {difference}")
    return differences, compared


def decided(path: Path, items: Path, cast: Mapping[str, ChatModel]) -> dict[str, Any]:
    """What a bundle's notebook decides of a replay: parameters that are neither a place nor a model of one's own.

    Each is of its kind and within bounds: a known set, or a table by its name in `items`; a model of the `cast`; a
    number; words. Raises `BadInput` for any other value, and where its code or pocket model is not this clone's.
    """
    from srdcr_lab.models.checkpoint import fingerprint

    own = notebooks.SEQUENCE / path.name
    if not own.is_file() or notebooks.code_of(path) != notebooks.code_of(own):
        raise BadInput("its code is not this clone's")
    known = {model.identity.spec: model.identity for model in cast.values()}
    chosen: dict[str, Any] = {}
    for name, value in notebooks.parameters_of(path).items():
        if name not in (*_SOURCES, *notebooks.WORDS, *_NUMBERS, "MODEL") or value is None:
            continue
        if name in _SOURCES:
            value = _in_bundle(value, items)
        elif name in notebooks.WORDS:
            value = value if isinstance(value, str) and _WORD.fullmatch(value) else None
        elif name in _NUMBERS:
            low, high = _NUMBERS[name]
            kinds = (int, float) if isinstance(low, float) else (int,)
            value = value if type(value) in kinds and low <= value <= high else None
        elif not isinstance(value, str) or value not in known:
            value = None
        if value is None:
            raise BadInput(f"its parameter {name} is nothing that a bundle may say")
        chosen[name] = value
    if chosen.get("MODEL") == "pocket" and known["pocket"].fingerprint != fingerprint(shipped("pocket")):
        raise BadInput("it was made with another pocket model than this clone's")
    return chosen


def _in_bundle(value: Any, items: Path) -> str | None:
    """A known set of items as it is; a table of the bundle by its place; None for anything else."""
    prefix, rest = notebooks.split_source(value)
    benchmark, _, form = rest.partition(":")
    if rest and not prefix and (rest in SHIPPED or (benchmark in BENCHMARKS and form in ("", "passages", "documents"))):
        return rest
    there = {file.name: file for file in items.glob("*") if file.is_file()}
    if rest not in there or (prefix and prefix.rstrip("=").partition(":")[0] not in BENCHMARKS):
        return None
    return f"{prefix}{there[rest].resolve()}"


def _offline(cast: Mapping[str, ChatModel]) -> AbstractContextManager[object]:
    """For the kernels that are started meanwhile: they ask nothing, and take who answers from the bundle."""
    return patch.dict(os.environ, {**_OFFLINE, REPLAYED: as_told(cast.values())})


def tables_of(path: Path) -> list[Table]:
    """Every table that a notebook shows, in order, those of widgets apart, without what the run had to pay."""
    outputs = (
        output.get("data", {}) for cell in notebooks.read_notebook(path).cells for output in cell.get("outputs", ())
    )
    pages = ("".join(data.get("text/html", "")) for data in outputs if notebooks.WIDGET not in data)
    return [_without_costs(table) for page in pages for table in html_tables(page)]


def html_tables(html: str, frames: int = 3) -> list[Table]:
    """Every table of a page, those of framed pages included (so many deep), in order: rows of the texts of their cells.

    A caption is a row of its own. A table inside a cell is a table of its own.
    """
    reader = _Tables(frames)
    reader.feed(html)
    reader.close()
    return [tuple(tuple(cell.strip() for cell in row) for row in table if row) for table in reader.tables]


class _Tables(HTMLParser):
    """Reads a page once from its beginning to its end, however its tables are nested."""

    def __init__(self, frames: int) -> None:
        super().__init__()
        self.tables: list[Sequence[Sequence[str]]] = []
        self._open: list[list[list[str]]] = []
        self._frames = frames

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe" and self._frames:
            self.tables += html_tables(dict(attrs).get("srcdoc") or "", self._frames - 1)
        elif tag == "table":
            self._open.append([])
            self.tables.append(self._open[-1])
        elif self._open and tag in ("caption", "tr", "td", "th"):
            if tag in ("caption", "tr") or not self._open[-1]:
                self._open[-1].append([])
            if tag != "tr":
                self._open[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == "table":
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] and (cells := self._open[-1][-1]):
            cells[-1] += data


def _without_costs(table: Table) -> Table:
    dropped = {place for row in table for place, cell in enumerate(row) if cell in _OF_THE_RUN}
    return tuple(tuple(cell for place, cell in enumerate(row) if place not in dropped) for row in table)


def tables_difference(before: list[Table], after: list[Table]) -> str | None:
    """The first cell that differs, in words (rows with the header, from 1); None if there is none."""
    for number, (one, other) in enumerate(zip(before, after, strict=False), start=1):
        for row, (left, right) in enumerate(zip(one, other, strict=False), start=1):
            where = f"table {number}, row {row}"
            for column, (cell, made) in enumerate(zip(left, right, strict=False), start=1):
                if cell != made:
                    return f"{where}, column {column}: {cell!r} became {made!r}"
            if len(left) != len(right):
                return f"{where}: {len(left)} cells became {len(right)}"
        if len(one) != len(other):
            return f"table {number}, {len(one)} rows became {len(other)}"
    return None if len(before) == len(after) else f"{len(before)} tables became {len(after)}"
