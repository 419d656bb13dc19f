"""A results folder: run.json says what was run, the tables appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from srdcr_lab import prompts
from srdcr_lab.data import ItemSet
from srdcr_lab.models import ChatModel
from srdcr_lab.models.base import Reporting
from srdcr_lab.models.budget import Budget
from srdcr_lab.protocols import Choices, Method
from srdcr_lab.records import SCHEMA_VERSION, BadInput, arrow_schema
from srdcr_lab.study.opening import price_for
from srdcr_lab.study.rows import ItemRows, Row

if TYPE_CHECKING:
    import pyarrow.parquet as pq


MANIFEST, ITEMS = "run.json", "items.json"
_OURS = ("store.sqlite", MANIFEST + ".part", ITEMS)  # what a run that was killed at its very start leaves
_DERIVED = ("items_sha256", "n_items")  # named only where no argument differs
_ROWS_A_GROUP = 5000


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's run.json, or None where there is none.

    Raises
    ------
    BadInput
        If it cannot be read or is of another version.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = json.loads(path.read_text("utf-8"))
        version = manifest["schema_version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{path} is not the manifest of a run; give another --out") from None
    if version != SCHEMA_VERSION:
        raise BadInput(
            f"{path} is of schema version {version}, this srdcr_lab writes {SCHEMA_VERSION}; give another --out"
        )
    return manifest  # type: ignore[no-any-return]


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    write_text(
        folder / MANIFEST,
        json.dumps({"schema_version": SCHEMA_VERSION, **manifest}, indent=1, ensure_ascii=False, default=str) + "\n",
    )


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(path)


def check(folder: Path, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of the run that the folder already holds, None for a folder that is new; nothing is written.

    Raises
    ------
    BadInput
        If it holds something else, or a run with other arguments.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; --out names a folder")
    manifest = read_manifest(folder)
    if manifest is None:
        if folder.is_dir() and not all(entry.name.startswith(_OURS) for entry in folder.iterdir()):
            raise BadInput(f"{folder} exists and is not a results folder; give another --out")
        return None
    before = dict(_flat(manifest.get("asked", {})))
    now = dict(_flat(json.loads(json.dumps(dict(asked), default=str))))
    for name in sorted({**before, **now}, key=lambda name: name in _DERIVED):
        if before.get(name) != now.get(name):
            raise BadInput(
                f"{folder} holds a run with other arguments ({name.removeprefix('choices.')} was "
                f"{_short(before.get(name))}, is now {_short(now.get(name))}); repeat those to resume it, or give "
                "another --out"
            )
    return manifest


def make(folder: Path) -> bool:
    """Make the folder if it does not exist; True if it did not."""
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder {folder} ({error.strerror}); give another --out") from None
    return created


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested arguments with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


class TableWriter:
    """Writes the three tables row group by row group into .part files; `commit` gives them their names, leaving
    without it removes them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._buffers: dict[str, list[Row]] = {"records": [], "turns": [], "samples": []}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._sampled: set[tuple[str, str]] = set()

    def __enter__(self) -> TableWriter:
        import pyarrow.parquet as pq

        for table in self._buffers:
            self._writers[table] = pq.ParquetWriter(self._part(table), arrow_schema(table), compression="zstd")
        return self

    def add(self, rows: ItemRows) -> None:
        """Add an item's rows; each stream of a question's samples is taken from the first of its items that has it."""
        self._extend("records", rows.records)
        self._extend("turns", rows.turns)
        new = [row for row in rows.samples if (row["question_id"], row["stream"]) not in self._sampled]
        self._sampled |= {(row["question_id"], row["stream"]) for row in new}
        self._extend("samples", new)

    def add_records(self, rows: list[Row]) -> None:
        """Add rows of methods that have waited for every item to end."""
        self._extend("records", rows)

    def commit(self) -> None:
        for table in self._buffers:
            self._flush(table)
            self._writers.pop(table).close()
        for table in self._buffers:
            self._part(table).replace(self._folder / f"{table}.parquet")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for table in self._buffers:
            if writer := self._writers.pop(table, None):
                writer.close()
            self._part(table).unlink(missing_ok=True)

    def _part(self, table: str) -> Path:
        return self._folder / f"{table}.parquet.part"

    def _extend(self, table: str, rows: list[Row]) -> None:
        self._buffers[table] += rows
        if len(self._buffers[table]) >= _ROWS_A_GROUP:
            self._flush(table)

    def _flush(self, table: str) -> None:
        import pyarrow as pa

        if rows := self._buffers[table]:
            self._writers[table].write_table(pa.Table.from_pylist(rows, schema=arrow_schema(table)))
            rows.clear()


def withdraw(folder: Path, created: bool) -> None:
    """Take back what a run wrote that could not begin: its manifest, and the folder where the run made it."""
    for name in (MANIFEST, ITEMS):
        (folder / name).unlink(missing_ok=True)
    if created:
        with suppress(OSError):  # not empty: not only ours
            folder.rmdir()


# -- what run.json says: what was asked, with which versions and prices, what came of it

_PACKAGES = ("srdcr-lab", "numpy", "pandas", "pyarrow", "torch", "transformers", "openai", "anthropic", "genai-prices")
ROLES = ("answerer", "defender", "critic", "judge")
_POCKET = (
    "made with the pocket model, a model organism trained to know, half-know and not know: "
    "no evidence about any large model"
)


def asked(
    items: ItemSet,
    methods: Sequence[Method],
    choices: Choices,
    models: Sequence[ChatModel],
    players: Mapping[str, ChatModel],
    *,
    limit: int | None,
    seed: int,
) -> dict[str, Any]:
    """What decides the numbers: a results folder resumes only under the same. `players` are the models that designs
    name, by specification."""
    roles = dict(zip(ROLES, models, strict=True)) | dict(players)
    content = json.dumps([asdict(item) for item in items], sort_keys=True).encode()
    return {
        "items": items.name,
        "items_sha256": hashlib.sha256(content).hexdigest(),
        "n_items": len(items),
        "limit": limit,
        "methods": [method.name for method in methods],
        "choices": choices.as_dict(),
        "seed": seed,
        "models": {role: asdict(model.identity) for role, model in roles.items()},
        "prompts_sha256": dict(prompts.hashes()),
    }


def manifest(
    status: str, asked: dict[str, Any], items: ItemSet, models: Sequence[ChatModel], budget: Budget
) -> dict[str, Any]:
    """Everything but the counts, which a finished run adds."""
    prices = {str(model.identity): price_for(model.identity, None) for model in models}
    return {
        "status": status,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": asked,
        "notes": [*items.notes, *([_POCKET] if any(m.identity.provider == "pocket" for m in models) else [])],
        "logprobs": {str(model.identity): model.capabilities.logprobs for model in models},
        "sent": {str(model.identity): model.sent() for model in models if isinstance(model, Reporting)},
        "prices": {name: asdict(price) if price else None for name, price in prices.items()},
        "budget_usd": budget.limit_usd,
        "spent_usd": budget.spent_usd,
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
