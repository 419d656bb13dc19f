"""The sequence of notebooks: executed with one's own parameters, put into a form to share, executed again and compared.

A notebook from a bundle is read as data: its parameters must be literals, its code is compared and never run.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from unittest.mock import patch

from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.load import SHIPPED
from srdcr_lab.models import ChatModel
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.files import folder as shipped
from srdcr_lab.records.files import one_writer
from srdcr_lab.study.bundle import TABLE_ENDINGS
from srdcr_lab.study.opening import REPLAYED, as_told

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"
_PARAMETERS = {"parameters", "injected-parameters"}  # tags of cells
_OFFLINE = {"SRDCR_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}  # nothing is asked, no weights are fetched
# The parameters that a bundle may decide, beside MODEL: sources of items, words, numbers with their bounds. All others
# are where a notebook reads and writes, and a replay decides them.
_SOURCES = ("ITEMS", "CLAIMS", "DOCUMENTS", "BESIDE")
_WORDS = ("METHODS", "QUESTION", "DOMAIN")
_NUMBERS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("LIMIT", "SAMPLE", "AT_MOST"), (1, 1_000_000)), **dict.fromkeys(("ROUNDS", "REPEATS"), (1, 100)),
    "SEEDS": (1, 10_000), "OFFSET": (-10_000, 10_000),
    **dict.fromkeys(("TAU", "ALPHA", "DELTA", "FALSE_SHARE"), (0.0, 1.0)),
}  # fmt: skip
_LONGEST_VALUE, _LONGEST_CELL = 2_000, 20_000  # characters that Python's own parser is given
_WORD = re.compile(r"(?!\.+$)[\w .,:;@#+&!?'()-]{1,300}")
_OF_THE_RUN = {
    "calls_paid", "calls_paid_per_item", "calls_saved", "share_saved", "cost_usd", "cost_usd_per_item",
    "wall_s", "wall_s_per_item",
}  # fmt: skip
_WARNED = re.compile(r"^.*[/\\](?=[^/\\\n]+\.py:\d+: )", re.MULTILINE)  # the folder of FILE.py:LINE: SomeWarning
_SPEC = re.compile(r"(hf:|[a-z][a-z:_-]*=)?(.*)", re.DOTALL)  # hf:PATH, BENCHMARK=FILE

Row = tuple[str, ...]
Table = tuple[Row, ...]


def run_notebooks(
    out: Path, parameters: Mapping[str, Any], folder: Path = SEQUENCE, only: Path | None = None
) -> list[Path]:
    """Execute every notebook of the sequence, in order, or `only` one of them, into `out`.

    A notebook runs in its own folder. It gets the parameters that its cell `parameters` names, that are not None and
    that differ from its defaults. Where a cell fails, the notebook is left as failed-NAME and `SrdcrError` is raised;
    an installation without notebooks is bad input.
    """
    notebooks = [only] if only else sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not notebooks:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
    if find_spec("papermill") is None:
        raise BadInput("running notebooks needs papermill; install it with: pip install 'srdcr-lab[notebooks]'")
    parameters = {name: _whole_path(name, value) for name, value in parameters.items() if value is not None}
    with one_writer(out):
        return [_execute(notebook, out.resolve() / notebook.name, parameters, folder) for notebook in notebooks]


def _execute(notebook: Path, target: Path, parameters: Mapping[str, Any], folder: Path) -> Path:
    import papermill

    defaults = parameters_of(notebook)
    chosen = {name: value for name, value in parameters.items() if name in defaults and defaults[name] != value}
    part = target.with_name(f"failed-{notebook.name}")
    try:
        papermill.execute_notebook(str(notebook), str(part), chosen, cwd=str(folder), kernel_name="python3")
    except papermill.PapermillExecutionError as error:
        if error.ename == BadInput.__name__:
            part.unlink()
            raise BadInput(f"{notebook.name}: {error.evalue}") from None
        raise SrdcrError(f"{notebook.name} failed: {error.ename}: {error.evalue}; see {part}") from None
    _drop_runner_notes(part)
    return part.replace(target)


def _whole_path(name: str, value: Any) -> Any:
    """A parameter that names a file with the file's whole path, since a notebook runs in its own folder."""
    prefix, rest = _split(value)
    with suppress(OSError):  # too long for a path
        if name not in _WORDS and rest and Path(rest).exists():
            return f"{prefix}{Path(rest).resolve()}"
    return value


def _drop_runner_notes(path: Path) -> None:
    """Drop the paths and times of this machine that the runner noted."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for part in (notebook, *notebook.cells):
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    nbformat.write(notebook, path)


def executed(folder: Path, work: Path) -> dict[str, Path]:
    """What a bundle holds of a folder of executed notebooks, by name in the bundle: the notebooks in their shared form
    (written into `work`), and the user's tables that they read."""
    notebooks = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not notebooks:
        raise BadInput(f"{folder} holds no notebook of the sequence; execute them with srdcr notebooks --out {folder}")
    files: dict[str, Path] = {}
    for path in notebooks:
        files[f"notebooks/{path.name}"] = work / path.name
        (work / path.name).write_text(shared_form(path), "utf-8")
        tables = (rest for value in parameters_of(path).values() if _is_table(rest := _split(value)[1]))
        for table in (SEQUENCE / rest for rest in tables if (SEQUENCE / rest).is_file()):
            if not table.samefile(files.setdefault(f"items/{table.name}", table)):
                raise BadInput(
                    f"the notebooks in {folder} read two files called {table.name}; rename one, run them again"
                )
    return files


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
                (made,) = run_notebooks(out / "notebooks", parameters, only=SEQUENCE / path.name)
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
    from srdcr_lab.models.local.checkpoint import fingerprint

    own = SEQUENCE / path.name
    if not own.is_file() or code_of(path) != code_of(own):
        raise BadInput("its code is not this clone's")
    known = {str(model.identity): model.identity for model in cast.values()}
    chosen: dict[str, Any] = {}
    for name, value in parameters_of(path).items():
        if name not in (*_SOURCES, *_WORDS, *_NUMBERS, "MODEL") or value is None:
            continue
        if name in _SOURCES:
            value = _in_bundle(value, items)
        elif name in _WORDS:
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
    prefix, rest = _split(value)
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


def parameters_of(path: Path) -> dict[str, Any]:
    """The parameters a notebook was executed with: literals, by name."""
    parameters: dict[str, Any] = {}
    for cell in filter(_has_parameters, _read(path).cells):
        parameters |= _literals(cell.source, path)
    return parameters


def _literals(source: str, path: Path) -> dict[str, Any]:
    """The values of ``NAME = literal`` lines; nothing else is evaluated."""
    values = {}
    for line in source.splitlines():
        name, equals, value = line.partition(" = ")
        if not equals or not name.isidentifier():
            continue
        try:
            if len(value) > _LONGEST_VALUE:
                raise ValueError
            values[name] = ast.literal_eval(value.partition("  # ")[0])
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise BadInput(f"{path}: the parameter {name} is no plain value") from None
    return values


def shared_form(path: Path) -> str:
    """The notebook without this machine's folders: in its parameters, in outputs that name them, in warnings."""
    import nbformat

    notebook = _read(path)
    files = [rest for value in parameters_of(path).values() if _is_absolute(rest := _split(value)[1])]
    for cell in notebook.cells:
        if _has_parameters(cell):
            lines = cell.source.splitlines()
            for name, value in _literals(cell.source, path).items():
                if (cut := portable(value)) != value:
                    lines = [f"{name} = {cut!r}" if line.startswith(f"{name} = ") else line for line in lines]
            cell.source = "\n".join(lines)
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                output["text"] = _WARNED.sub("", output["text"])
    text = str(nbformat.writes(notebook)) + "\n"
    for folder in sorted({file[: -len(_last(file))] for file in files}, key=len, reverse=True):
        if len(PureWindowsPath(folder).parts) > 1:  # not the root alone
            text = text.replace(json.dumps(folder, ensure_ascii=False)[1:-1], "")
    return text


def portable(value: Any) -> Any:
    """A parameter without the folder of the file that it names."""
    prefix, rest = _split(value)
    return prefix + _last(rest) if _is_absolute(rest) or _is_table(rest) else value


def _split(value: Any) -> tuple[str, str]:
    """``hf:`` or ``BENCHMARK=`` and the rest, which may be a path; empty for what is no text."""
    match = _SPEC.fullmatch(value if isinstance(value, str) else "")
    prefix, rest = match.groups(default="") if match else ("", "")
    return prefix, rest


def _is_table(rest: str) -> bool:
    return rest.lower().endswith(TABLE_ENDINGS)


def _is_absolute(rest: str) -> bool:
    return rest.startswith("~") or PurePosixPath(rest).is_absolute() or PureWindowsPath(rest).is_absolute()


def _last(rest: str) -> str:
    return PureWindowsPath(rest).name  # takes both kinds of slash


def code_of(path: Path) -> list[object]:
    """The code of a notebook's cells, apart from parameters and from where the package keeps a name."""
    cells = (cell for cell in _read(path).cells if cell.cell_type == "code" and not _has_parameters(cell))
    return [_without_homes(cell.source) for cell in cells]


def _without_homes(source: str) -> object:
    if len(source) > _LONGEST_CELL:
        return source
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # or a line that only a notebook understands
        return source
    ours = [n for n in tree.body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("srdcr_lab")]
    names = {(alias.name, alias.asname) for node in ours for alias in node.names}
    tree.body = [node for node in tree.body if node not in ours]
    return ast.unparse(tree), names


def _has_parameters(cell: Any) -> bool:
    return not _PARAMETERS.isdisjoint(cell.metadata.get("tags", ()))


def _read(path: Path) -> Any:
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is no notebook ({type(error).__name__})") from None


def tables_of(path: Path) -> list[Table]:
    """Every table that a notebook shows, in order, without the columns of what the run had to pay."""
    outputs = (output for cell in _read(path).cells for output in cell.get("outputs", ()))
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    return [_without_costs(table) for page in pages for table in html_tables(page)]


def html_tables(html: str, frames: int = 3) -> list[Table]:
    """Every table of a page, those of framed pages included (so many deep), in order: rows of the texts of their cells.

    A caption is a row of its own. A table inside a cell is a table of its own.
    """
    reader = _Tables(frames)
    reader.feed(html)
    reader.close()
    return [tuple(tuple("".join(cell).strip() for cell in row) for row in table if row) for table in reader.tables]


class _Tables(HTMLParser):
    """Reads a page once from its beginning to its end, however its tables are nested."""

    def __init__(self, frames: int) -> None:
        super().__init__()
        self.tables: list[Sequence[Sequence[Sequence[str]]]] = []  # a cell is the pieces of its text
        self._open: list[list[list[list[str]]]] = []
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
                self._open[-1][-1].append([])

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == "table":
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] and (cells := self._open[-1][-1]):
            cells[-1].append(data)


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
