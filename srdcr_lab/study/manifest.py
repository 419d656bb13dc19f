"""run.json, the manifest of a results folder: what was asked, checked before a run resumes, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from srdcr_lab.data.items import first_difference, thaw
from srdcr_lab.protocols.choices import DESIGNS, Choices
from srdcr_lab.records import SCHEMA_VERSION, BadInput, Item, ModelIdentity
from srdcr_lab.records.files import LOCK, from_plain, read_json, write_whole

MANIFEST, ITEMS, SUMMARY = "run.json", "items.json", "summary.csv"
TABLES = ("records", "turns", "samples")
FILES = (MANIFEST, ITEMS, SUMMARY, *(f"{table}.parquet" for table in TABLES))  # of a finished run
_OURS = ("store.sqlite", MANIFEST + ".part", ITEMS, LOCK)  # what a run that was killed at its very start leaves
_ELSEWHERE = "run the same into another folder; with --store {}/store.sqlite nothing is asked twice"
_DERIVED = ("items_sha256", "n_items")  # named only where no argument differs


@dataclass(frozen=True)
class _Asked:
    """What is read of a manifest's `asked`; the rest is only compared."""

    items: str
    methods: list[str]
    choices: dict[str, Any]
    seed: int
    models: dict[str, ModelIdentity]


@dataclass(frozen=True)
class _Manifest:
    """What is read of a manifest, which may hold more."""

    asked: _Asked = _Asked("", [], {}, 0, {})
    status: str = ""
    written: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    logprobs: dict[str, bool] = field(default_factory=dict)
    temperature: dict[str, bool] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, Any] = field(default_factory=dict)
    spent_usd: float = 0.0


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's run.json, or None where there is none; one that cannot be read, or of another schema, is bad
    input."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = read_json(path.read_bytes(), str(path))
        version = manifest["schema_version"]
    except (OSError, BadInput, KeyError, TypeError):
        raise BadInput(f"{path} is not the manifest of a run, or was edited; {_ELSEWHERE.format(folder)}") from None
    if version != SCHEMA_VERSION:
        raise BadInput(
            f"{path} is of schema version {version}, this srdcr_lab writes {SCHEMA_VERSION}; give another folder"
        )
    manifest = {**asdict(_Manifest()), **manifest}
    asked = manifest.get("asked")
    try:
        from_plain(_Manifest, _known(_Manifest, {**manifest, "asked": _known(_Asked, asked)}), str(path))
        choices = manifest["asked"]["choices"]
        manifest["asked"]["choices"] = _choices(choices, f"{path}, choices")
        if "answerer" not in manifest["asked"]["models"]:
            raise BadInput(f"{path}, asked, models: there is no answerer")
    except BadInput as error:
        raise BadInput(f"{error}; srdcr run did not write it so: {_ELSEWHERE.format(folder)}") from None
    return manifest


def _choices(recorded: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Recorded choices; one that the version of the run did not know was made as it is by default."""
    of_design = asdict(DESIGNS["acvd"])
    designs = {name: recorded[name] for name in ("design", "also") if name in recorded}
    for name, design in designs.items():
        if isinstance(design, dict):
            designs[name] = of_design | design
        elif isinstance(design, list):
            designs[name] = [of_design | each if isinstance(each, dict) else each for each in design]
    plain = Choices().as_dict() | {**recorded, **designs}
    return dict(json.loads(json.dumps(from_plain(Choices, plain, where).as_dict())))


def _known(kind: type, value: Any) -> Any:
    """Of an object, the entries that `kind` has; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {each.name: value[each.name] for each in fields(kind) if each.name in value}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    content = {"schema_version": SCHEMA_VERSION, **manifest}
    write_whole(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n")


def together(earlier: Any, now: Any) -> Any:
    """What two parts of one run recorded: counts are added, lists joined; of anything else the later one."""
    match earlier, now:
        case dict(), dict():
            return earlier | {name: together(earlier.get(name), value) for name, value in now.items()}
        case list(), list():
            return earlier + [each for each in now if each not in earlier]
        case int(), int() if not isinstance(now, bool):
            return earlier + now
    return now


def check(folder: Path, asked: Mapping[str, Any], items: Iterable[Item] = ()) -> dict[str, Any] | None:
    """The manifest of the run that the folder holds, None for a new folder. A folder that holds something else, or a
    run with other arguments or `items`, is bad input."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; --out names a folder")
    manifest = read_manifest(folder)
    if manifest is None:
        if folder.is_dir() and not all(entry.name.startswith(_OURS) for entry in folder.iterdir()):
            raise BadInput(f"{folder} exists and is not a results folder; give another --out")
        return None
    for name, (before, now) in differing(manifest["asked"], json.loads(json.dumps(dict(asked), default=str))).items():
        other, what = "arguments", f"{name.removeprefix('choices.')} was {short(before)}, is now {short(now)}"
        if name in _DERIVED:
            with suppress(BadInput):  # of a run that was killed at its very start, the items are not known
                other, what = "items", first_difference(thaw(folder / ITEMS), items) or what
        raise BadInput(
            f"{folder} holds a run with other {other} ({what}); repeat those to resume it, or give another --out"
        )
    return manifest


def differing(asked: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two runs were asked differently, by its dotted name; a template that the first did not have was not used."""
    before, now = dict(_leaves(asked)), dict(_leaves(again))
    names = [name for name in {**before, **now} if name in before or not name.startswith("prompts_sha256.")]
    pairs = {name: (before.get(name), now.get(name)) for name in sorted(names, key=lambda name: name in _DERIVED)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested arguments, with its dotted path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def withdraw(folder: Path) -> None:
    """Remove what a run wrote whose input turned out to be bad."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
