"""The sequence of notebooks: executed with one's own parameters, read as data, put into a form to share."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.lib.page import Html, number, render
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.files import one_writer
from srdcr_lab.study.bundle import TABLE_ENDINGS
from srdcr_lab.study.results import load_run

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"
_PARAMETERS = {"parameters", "injected-parameters"}  # tags of cells
WORDS = ("METHODS", "QUESTION", "DOMAIN")  # parameters that are no paths
_LONGEST_VALUE = 2_000  # characters that Python's own parser is given
_WARNED = re.compile(r"^.*[/\\](?=[^/\\\n]+\.py:\d+: )", re.MULTILINE)  # the folder of FILE.py:LINE: SomeWarning
WIDGET = "application/vnd.jupyter.widget-view+json"  # an output that is one
_SPEC = re.compile(r"(hf:|gguf:|[a-z][a-z:_-]*=)?(.*)", re.DOTALL)  # hf:PATH, gguf:FILE, BENCHMARK=FILE


def sequence(folder: Path) -> list[Path]:
    """The notebooks of a folder that are of the sequence, in order."""
    return sorted(folder.glob("[0-9][0-9]*_*.ipynb"))


def run_notebooks(
    out: Path,
    parameters: Mapping[str, Any],
    folder: Path = SEQUENCE,
    only: Path | None = None,
    cannot: Callable[[str], object] | None = None,
) -> list[Path]:
    """Execute every notebook of the sequence, in order, or `only` one of them, into `out`.

    A notebook runs in its own folder. It gets the parameters that its cell `parameters` names, that are not None and
    that differ from its defaults. Where a cell fails, the notebook is left as failed-NAME and `SrdcrError` is raised;
    an installation without notebooks is bad input. With the parameter `RUN`, which is looked up first, those that take
    it are executed; one that says that the run cannot answer its question is left out, and `cannot` is told.
    """
    notebooks = [only] if only else sequence(folder)
    if not notebooks:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
    if find_spec("papermill") is None:
        raise BadInput("running notebooks needs papermill; install it with: pip install 'srdcr-lab[notebooks]'")
    parameters = {name: _whole_path(name, value) for name, value in parameters.items() if value is not None}
    if "RUN" in parameters:
        load_run(parameters["RUN"])
        notebooks = [notebook for notebook in notebooks if "RUN" in parameters_of(notebook)]
    made = []
    with one_writer(out):
        for notebook in notebooks:
            try:
                made.append(_execute(notebook, out.resolve() / notebook.name, parameters, folder))
            except BadInput as reason:
                if cannot is None or "RUN" not in parameters:
                    raise
                cannot(str(reason))
    return made


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
    _tidy(part)
    return part.replace(target)


def _whole_path(name: str, value: Any) -> Any:
    """A parameter that names a file with the file's whole path, since a notebook runs in its own folder."""
    prefix, rest = split_source(value)
    with suppress(OSError):  # too long for a path
        if name not in WORDS and rest and Path(rest).exists():
            return f"{prefix}{Path(rest).resolve()}"
    return value


def _tidy(path: Path) -> None:
    """Drop the paths and times of this machine that the runner noted; show widgets where no kernel runs."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for part in (notebook, *notebook.cells):
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    _with_pictures(notebook)
    with_stills(notebook)
    nbformat.write(notebook, path)


def _with_pictures(notebook: Any) -> None:
    """A widget that brings a picture of itself is kept as that picture: its state holds a library of a megabyte."""
    views = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    for data in views:
        if WIDGET in data and "image/png" in data:
            del data[WIDGET]
    if not any(WIDGET in data for data in views):
        notebook.metadata.pop("widgets", None)


def with_stills(notebook: Any) -> list[Any]:
    """Give each widget of the notebook as HTML too, as it stood: the values of its controls, and what they made.
    Returns the outputs that are widgets."""
    states = dict(notebook.metadata.get("widgets", {}).get(WIDGET.replace("view", "state"), {}).get("state", {}))
    widgets = [each for cell in notebook.cells for each in cell.get("outputs", ()) if WIDGET in each.get("data", {})]
    for output in widgets:
        parts = list(_parts(states, output["data"][WIDGET]["model_id"]))
        output["data"]["text/html"] = render("parts", "still", parts=parts)
    return widgets


def _parts(states: dict[str, Any], model: str) -> Iterator[tuple[str, str]]:
    """What stands beside a control and its value, or nothing and HTML; `states` loses what was shown."""
    held = states.pop(model.removeprefix("IPY_MODEL_"), None)
    if held is None:
        return
    state, kind = held["state"], held["model_name"]
    if kind in ("HTMLModel", "LabelModel"):
        yield "", Html(state["value"]) if kind == "HTMLModel" else state["value"]
    elif value := _value(state):
        yield state.get("description", ""), value
    for child in state.get("children", ()):
        yield from _parts(states, child)


def _value(state: Mapping[str, Any]) -> str:
    """The value of a control as its reader sees it: a number, a text, or the names that are chosen."""
    names, index = state.get("_options_labels"), state.get("index")
    if names:
        return ", ".join(names[place] for place in (index if isinstance(index, list) else [index]) if place is not None)
    value = state.get("value", "")
    return number(value, "g") if isinstance(value, float) else str(value)


def executed(folder: Path, work: Path) -> dict[str, Path]:
    """What a bundle holds of a folder of executed notebooks, by name in the bundle: the notebooks in their shared form
    (written into `work`), the tables of their figures, and the user's tables that they read. One that reads other runs
    is about more than a bundle holds, and is left out."""
    notebooks = [path for path in sequence(folder) if "RUNS" not in parameters_of(path)]
    if not notebooks:
        raise BadInput(f"{folder} holds no notebook of the sequence; execute them with srdcr notebooks --out {folder}")
    files: dict[str, Path] = {}
    for path in notebooks:
        files[f"notebooks/{path.name}"] = work / path.name
        (work / path.name).write_text(shared_form(path), "utf-8")
        parameters = parameters_of(path)
        if isinstance(figures := parameters.get("FIGURES"), str):
            of_this = (SEQUENCE / figures).glob(f"{path.name.partition('_')[0]}_*.csv")
            files |= {f"figures/{table.name}": table for table in sorted(of_this)}
        tables = (rest for value in parameters.values() if _is_table(rest := split_source(value)[1]))
        for table in (SEQUENCE / rest for rest in tables if (SEQUENCE / rest).is_file()):
            if not table.samefile(files.setdefault(f"items/{table.name}", table)):
                raise BadInput(
                    f"the notebooks in {folder} read two files called {table.name}; rename one, run them again"
                )
    return files


def parameters_of(path: Path) -> dict[str, Any]:
    """The parameters a notebook was executed with: literals, by name."""
    parameters: dict[str, Any] = {}
    for cell in filter(_has_parameters, read_notebook(path).cells):
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

    notebook = read_notebook(path)
    files = [rest for value in parameters_of(path).values() if _is_absolute(rest := split_source(value)[1])]
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
    prefix, rest = split_source(value)
    return prefix + _last(rest) if _is_absolute(rest) or _is_table(rest) else value


def split_source(value: Any) -> tuple[str, str]:
    """``hf:``, ``gguf:`` or ``BENCHMARK=`` and the rest, which may be a path; empty for what is no text."""
    match = _SPEC.fullmatch(value if isinstance(value, str) else "")
    prefix, rest = match.groups(default="") if match else ("", "")
    return prefix, rest


def _is_table(rest: str) -> bool:
    return rest.lower().endswith(TABLE_ENDINGS)


def _is_absolute(rest: str) -> bool:
    return rest.startswith("~") or PurePosixPath(rest).is_absolute() or PureWindowsPath(rest).is_absolute()


def _last(rest: str) -> str:
    return PureWindowsPath(rest).name  # takes both kinds of slash


def _has_parameters(cell: Any) -> bool:
    return not _PARAMETERS.isdisjoint(cell.metadata.get("tags", ()))


def read_notebook(path: Path) -> Any:
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is no notebook ({type(error).__name__})") from None
