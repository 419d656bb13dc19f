"""The tables of a page of HTML as texts, so that two notebooks' tables can be compared cell by cell."""

from __future__ import annotations

import json
import os
import re
from ast import literal_eval
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.models.local.checkpoint import fingerprint, pocket_folder
from srdcr_lab.records import BadInput, SrdcrError

Row = tuple[str, ...]
Table = tuple[Row, ...]


def html_tables(html: str) -> list[Table]:
    """Every table of the page, those of pages framed inside it included, in order: rows of the texts of their cells.

    A caption is a row of its own. A table inside a cell is a table of its own.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return [tuple(tuple(row) for row in table if row) for table in reader.tables]


def without_columns(table: Table, names: Sequence[str]) -> Table:
    """The table without the columns whose name, in whichever row has it, is one of these."""
    dropped = {place for row in table for place, cell in enumerate(row) if cell in names}
    return tuple(tuple(cell for place, cell in enumerate(row) if place not in dropped) for row in table)


def table_difference(before: Table, after: Table) -> str | None:
    """The first cell in which two tables differ, in words (rows with the header, from 1); None if there is none."""
    for row, (one, other) in enumerate(zip(before, after, strict=False), start=1):
        for column, (left, right) in enumerate(zip(one, other, strict=False), start=1):
            if left != right:
                return f"row {row}, column {column}: {left!r} became {right!r}"
        if len(one) != len(other):
            return f"row {row}: {len(one)} cells became {len(other)}"
    return None if len(before) == len(after) else f"{len(before)} rows became {len(after)}"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._open: list[tuple[list[list[str]], bool]] = []  # tables not yet closed, and whether a cell of theirs is

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
            self._open.append((self.tables[-1], False))
        elif tag == "iframe":
            inside = _Reader()
            inside.feed(dict(attrs).get("srcdoc") or "")
            inside.close()
            self.tables += inside.tables
        elif self._open and tag in ("tr", "caption"):
            self._open[-1][0].append([])
        if self._open and tag in ("td", "th", "caption"):
            rows, _ = self._open[-1]
            if not rows:
                rows.append([])
            rows[-1].append("")
            self._open[-1] = rows, True

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == "table":
            self._open.pop()
        elif self._open and tag in ("td", "th", "caption"):
            self._open[-1] = self._open[-1][0], False

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][1]:
            self._open[-1][0][-1][-1] += data


# -- executed notebooks as files: their parameters, their tables, their code, and the form in which they are shared

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


# -- run the sequence of notebooks with one's own parameters

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"


def run_notebooks(
    out: Path, parameters: Mapping[str, Any], folder: Path = SEQUENCE, only: Path | None = None
) -> list[Path]:
    """Execute every notebook of the sequence, in order, or `only` one of them, into `out`.

    A notebook runs in the folder it lies in. Of the parameters it gets those that its cell `parameters` names, that
    are not None and that differ from what stands there. A notebook that fails is left as failed-NAME, and the
    sequence ends.

    Raises
    ------
    BadInput
        If there are no notebooks (an installation without a clone).
    SrdcrError
        If a cell fails.
    """
    notebooks = [only] if only else sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not notebooks:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
    if find_spec("papermill") is None:
        raise BadInput("running notebooks needs papermill; install it with: pip install 'srdcr-lab[notebooks]'")
    import papermill

    parameters = {name: _from_anywhere(value) for name, value in parameters.items()}
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for notebook in notebooks:
        written_there = {name: found["default"] for name, found in papermill.inspect_notebook(str(notebook)).items()}
        chosen = {
            name: value
            for name, value in parameters.items()
            if value is not None and name in written_there and literal_eval(written_there[name]) != value
        }
        target = out.resolve() / notebook.name
        part = target.with_name(f"failed-{notebook.name}")
        try:
            papermill.execute_notebook(str(notebook), str(part), chosen, cwd=str(folder), kernel_name="python3")
        except papermill.PapermillExecutionError as error:
            if error.ename == BadInput.__name__:
                part.unlink()
                raise BadInput(f"{notebook.name}: {error.evalue}") from None
            raise SrdcrError(f"{notebook.name} failed: {error.ename}: {error.evalue}; see {part}") from None
        _without_traces(part)
        part.replace(target)
        written.append(target)
    return written


def _from_anywhere(value: Any) -> Any:
    """A file of the user's own by its whole path, since a notebook runs in its own folder."""
    prefix, _, rest = value.rpartition(":") if isinstance(value, str) and value.startswith("hf:") else ("", "", value)
    if isinstance(rest, str) and Path(rest).exists():
        return f"{prefix}:{Path(rest).resolve()}" if prefix else str(Path(rest).resolve())
    return value


def _without_traces(path: Path) -> None:
    """Drop what the runner noted about this machine: paths and times."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for part in (notebook, *notebook.cells):
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    nbformat.write(notebook, path)


# -- executed notebooks in a bundle, and the same notebooks executed again, offline, somewhere else

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
