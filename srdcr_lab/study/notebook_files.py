"""Executed notebooks as files: their parameters, their tables, their code, and the form in which they are shared."""

from __future__ import annotations

from ast import literal_eval
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.records import BadInput

_INJECTED, _WRITTEN = "injected-parameters", "parameters"
_TABLE = 'class="dataframe"'


def parameters_of(path: Path) -> dict[str, Any]:
    """The parameters a notebook was executed with: plain values, by name."""
    found: dict[str, Any] = {}
    for tag in (_WRITTEN, _INJECTED):
        for cell in _read(path).cells:
            if tag in cell.metadata.get("tags", ()):
                found |= _assigned(cell.source, path)
    return found


def tables_of(path: Path) -> list[str]:
    """The HTML of every DataFrame that a notebook shows, in order."""
    shown = []
    for cell in _read(path).cells:
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ""))
            if _TABLE in html:
                shown.append(html)
    return shown


def same_code(one: Path, other: Path) -> bool:
    """Whether two notebooks have the same cells of code, parameters apart."""
    return _code(one) == _code(other)


def shared_form(path: Path) -> str:
    """The notebook with absolute paths among its parameters cut to the file's name."""
    import nbformat

    notebook = _read(path)
    for cell in notebook.cells:
        if _INJECTED in cell.metadata.get("tags", ()):
            lines = [f"{name} = {_cut(value)!r}" for name, value in _assigned(cell.source, path).items()]
            cell.source = "# Parameters\n" + "\n".join(lines)
    return str(nbformat.writes(notebook)) + "\n"


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


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        for kind in (PurePosixPath, PureWindowsPath):
            if kind(value).is_absolute():
                return kind(value).name
    return value
