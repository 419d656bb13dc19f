"""Executed notebooks as files: their parameters, their tables, their code, and the form in which they are shared."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.records import BadInput
from srdcr_lab.study.html_tables import Table, html_tables

TABLE_ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".pqt")  # what `load_items` reads
_INJECTED, _WRITTEN = "injected-parameters", "parameters"
_WARNED = re.compile(r"^.*[/\\](?=[^/\\\n]+\.py:\d+: )", re.MULTILINE)  # the folder of FILE.py:LINE: SomeWarning
_SPEC = re.compile(r"(hf:|[a-z][a-z:_-]*=)?(.*)", re.DOTALL)  # hf:PATH, BENCHMARK=FILE


def parameters_of(path: Path) -> dict[str, Any]:
    """The parameters a notebook was executed with: plain values, by name."""
    found: dict[str, Any] = {}
    for tag in (_WRITTEN, _INJECTED):
        for cell in _read(path).cells:
            if tag in cell.metadata.get("tags", ()):
                found |= _assigned(cell.source, path)
    return found


def tables_of(path: Path) -> list[Table]:
    """Every table that a notebook shows, in order: DataFrames, the paper's tables, those of a page inside it."""
    outputs = (output for cell in _read(path).cells for output in cell.get("outputs", ()))
    shown = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    return [table for html in shown for table in html_tables(html)]


def same_code(one: Path, other: Path) -> bool:
    """Whether two notebooks have the same cells of code, parameters apart."""
    return _code(one) == _code(other)


def own_tables(path: Path, folder: Path) -> dict[str, Path]:
    """The files among a notebook's parameters that its items come from, by the name the shared form has for them;
    `folder` is where the notebook ran."""
    found = {}
    for value in parameters_of(path).values():
        if isinstance(value, str) and _is_table(rest := _split(value)[1]) and (folder / rest).is_file():
            found[_last(rest)] = folder / rest
    return found


def shared_form(path: Path) -> str:
    """The notebook with the paths among its parameters cut to the file's name, also where its outputs say them, and
    those of the modules that warned."""
    import nbformat

    notebook = _read(path)
    folders = {
        rest[: -len(_last(rest))] for value in parameters_of(path).values() if _is_absolute(rest := _rest(value))
    }
    for cell in notebook.cells:
        if {_INJECTED, _WRITTEN} & set(cell.metadata.get("tags", ())):
            lines = cell.source.splitlines()
            for name, value in _assigned(cell.source, path).items():
                if (cut := portable(value)) != value:
                    lines = [f"{name} = {cut!r}" if line.startswith(f"{name} = ") else line for line in lines]
            cell.source = "\n".join(lines)
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                output["text"] = _WARNED.sub("", output["text"])
    text = str(nbformat.writes(notebook)) + "\n"
    for folder in sorted(folders, key=len, reverse=True):
        if len(PureWindowsPath(folder).parts) > 1:  # not the root alone
            text = text.replace(json.dumps(folder, ensure_ascii=False)[1:-1], "")
    return text


def portable(value: Any) -> Any:
    """A parameter without the folder of a file that it names; everything else as it is."""
    if not isinstance(value, str):
        return value
    prefix, rest = _split(value)
    return prefix + _last(rest) if _is_absolute(rest) or _is_table(rest) else value


def at_hand(value: Any, folder: Path) -> Any:
    """A parameter of the shared form that names a file, with that file's place in `folder`, if it is there."""
    value = portable(value)
    prefix, rest = _split(value) if isinstance(value, str) else ("", "")
    return f"{prefix}{(folder / rest).resolve()}" if rest and (folder / rest).is_file() else value


def _split(value: str) -> tuple[str, str]:
    prefix, rest = _SPEC.fullmatch(value).groups(default="")  # type: ignore[union-attr]  # it matches every text
    return prefix, rest


def _rest(value: Any) -> str:
    return _split(value)[1] if isinstance(value, str) else ""


def _is_table(rest: str) -> bool:
    return rest.lower().endswith(TABLE_ENDINGS)


def _is_absolute(rest: str) -> bool:
    return rest.startswith("~") or PurePosixPath(rest).is_absolute() or PureWindowsPath(rest).is_absolute()


def _last(rest: str) -> str:
    return PureWindowsPath(rest).name  # which takes both kinds of slash


def _read(path: Path) -> Any:
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is no notebook ({type(error).__name__})") from None


def _code(path: Path) -> list[str]:
    cells = (cell for cell in _read(path).cells if cell.cell_type == "code")
    return [cell.source for cell in cells if not {_INJECTED, _WRITTEN} & set(cell.metadata.get("tags", ()))]


def _assigned(source: str, path: Path) -> dict[str, Any]:
    """``NAME = literal`` lines as values; nothing is evaluated but literals."""
    found = {}
    for line in source.splitlines():
        name, equals, value = line.partition(" = ")
        if not equals or not name.isidentifier():
            continue
        try:
            found[name] = literal_eval(value.partition("  # ")[0])
        except (ValueError, SyntaxError):
            raise BadInput(f"{path}: the parameter {name} is no plain value") from None
    return found
