"""The sequence of notebooks: executed with one's own parameters, put into a form to share, executed again and compared.

A notebook from a bundle is read as data: its parameters must be literals, its code is compared and never run.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.study.bundle import TABLE_ENDINGS

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"
_PARAMETERS = {"parameters", "injected-parameters"}  # tags of cells
_OFFLINE = ("SRDCR_OFFLINE", "HF_HUB_OFFLINE")  # nothing is asked, no weights are fetched
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
    import papermill

    parameters = {name: _whole_path(value) for name, value in parameters.items() if value is not None}
    out.mkdir(parents=True, exist_ok=True)
    targets = []
    for notebook in notebooks:
        defaults = parameters_of(notebook)
        chosen = {name: value for name, value in parameters.items() if name in defaults and defaults[name] != value}
        target = out.resolve() / notebook.name
        part = target.with_name(f"failed-{notebook.name}")
        try:
            papermill.execute_notebook(str(notebook), str(part), chosen, cwd=str(folder), kernel_name="python3")
        except papermill.PapermillExecutionError as error:
            if error.ename == BadInput.__name__:
                part.unlink()
                raise BadInput(f"{notebook.name}: {error.evalue}") from None
            raise SrdcrError(f"{notebook.name} failed: {error.ename}: {error.evalue}; see {part}") from None
        _drop_runner_notes(part)
        part.replace(target)
        targets.append(target)
    return targets


def _whole_path(value: Any) -> Any:
    """A parameter that names a file with the file's whole path, since a notebook runs in its own folder."""
    prefix, rest = _split(value)
    return f"{prefix}{Path(rest).resolve()}" if rest and Path(rest).exists() else value


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


def replayed(shared: Path, store: Path, out: Path, fingerprints: Collection[str]) -> tuple[list[str], int]:
    """Execute this clone's notebooks with the bundle's parameters: differences in words, and tables compared.

    `fingerprints` are those of the models whose completions are in the bundle.
    """
    differences, compared = [], 0
    for path in sorted((shared / "notebooks").glob("*.ipynb")):
        parameters = parameters_of(path)
        if reason := _not_executed(path, parameters, fingerprints):
            differences.append(f"{path.name}: {reason}, so it was not executed")
            continue
        parameters = {name: at_hand(value, shared / "items") for name, value in parameters.items()} | {
            "STORE": str(store.resolve()),
            "FIGURES": str((out / "figures").resolve()),
        }
        try:
            with _offline():
                (made,) = run_notebooks(out / "notebooks", parameters, only=SEQUENCE / path.name)
        except SrdcrError as error:
            differences.append(f"{path.name}: {error}")
            continue
        before, after = tables_of(path), tables_of(made)
        compared += len(before)
        if difference := tables_difference(before, after):
            differences.append(f"{path.name}: {difference}")
    return differences, compared


def _not_executed(path: Path, parameters: Mapping[str, Any], fingerprints: Collection[str]) -> str | None:
    from srdcr_lab.models.local.checkpoint import fingerprint
    from srdcr_lab.records.files import folder

    own = SEQUENCE / path.name
    if not own.is_file() or code_of(path) != code_of(own):
        return "its code is not this clone's"
    if parameters.get("MODEL") == "pocket" and fingerprint(folder("pocket")) not in fingerprints:
        return "it was made with another pocket model than this clone's"
    return None


@contextmanager
def _offline() -> Iterator[None]:
    before = {name: os.environ[name] for name in _OFFLINE if name in os.environ}
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        yield
    finally:
        for name in _OFFLINE:
            del os.environ[name]
        os.environ.update(before)


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
            values[name] = ast.literal_eval(value.partition("  # ")[0])
        except (ValueError, SyntaxError):
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


def at_hand(value: Any, folder: Path) -> Any:
    """A parameter of the shared form, with the place in `folder` of the file that it names, if it is there."""
    value = portable(value)
    prefix, rest = _split(value)
    return f"{prefix}{(folder / rest).resolve()}" if rest and (folder / rest).is_file() else value


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
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a line that only a notebook understands
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
        return nbformat.read(path, as_version=4)
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is no notebook ({type(error).__name__})") from None


def tables_of(path: Path) -> list[Table]:
    """Every table that a notebook shows, in order, without the columns of what the run had to pay."""
    outputs = (output for cell in _read(path).cells for output in cell.get("outputs", ()))
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    return [_without_costs(table) for page in pages for table in html_tables(page)]


def html_tables(html: str) -> list[Table]:
    """Every table of a page, those of framed pages included, in order: rows of the texts of their cells.

    A caption is a row of its own. A table inside a cell is a table of its own.
    """
    from bs4 import BeautifulSoup

    tables: list[Table] = []
    for element in BeautifulSoup(html, "html.parser").find_all(("table", "iframe")):
        if element.name == "iframe":
            tables += html_tables(str(element.get("srcdoc", "")))
            continue

        def own(part: Any, table: Any = element) -> bool:
            return part.find_parent("table") is table

        rows = []
        for row in filter(own, element.find_all(("caption", "tr"))):
            cells = [row] if row.name == "caption" else filter(own, row.find_all(("td", "th")))
            rows.append(tuple("".join(filter(own, cell.strings)) for cell in cells))
        tables.append(tuple(row for row in rows if row))
    return tables


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
