"""The sequence of notebooks: executed with one's own parameters, read as data, put into a form to share."""

from __future__ import annotations

import ast
import asyncio
import atexit
import base64
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from srdcr_lab.lib.page import Html, number, render
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.files import one_writer, write_whole
from srdcr_lab.study.bundle import TABLE_ENDINGS
from srdcr_lab.study.results import load_run
from srdcr_lab.study.run import gravest, wait_for

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"
_DECLARED, _INJECTED = "parameters", "injected-parameters"  # tags of cells
_LONGEST = ("05", "04b", "06b", "07", "04", "08", "05b", "00")  # to begin with, where several run at once
_MOST_JOBS = 4
_COLOURS, _DPI = 64, 200  # of the figures in an executed notebook
_VEGA = re.compile(r"application/vnd\.vegalite\.v\d+(\+json|\.json)")
WORDS = ("METHODS", "QUESTION", "DOMAIN")  # parameters that are no paths
_LONGEST_VALUE = 2_000  # characters that Python's own parser is given
_WARNED = re.compile(r"^.*[/\\](?=[^/\\\n]+\.py:\d+: )", re.MULTILINE)  # the folder of FILE.py:LINE: SomeWarning
WIDGET = "application/vnd.jupyter.widget-view+json"  # an output that is one
_SPEC = re.compile(r"(hf:|gguf:|[a-z][a-z:_-]*=)?(.*)", re.DOTALL)  # hf:PATH, gguf:FILE, BENCHMARK=FILE


def sequence(folder: Path) -> list[Path]:
    """The notebooks of a folder that are of the sequence, in order."""
    return sorted(folder.glob("[0-9][0-9]*_*.ipynb"))


def number_of(notebook: Path) -> str:
    """A notebook's place in the sequence, such as 04b."""
    return notebook.name.partition("_")[0]


def run_notebooks(
    out: Path,
    parameters: Mapping[str, Any],
    folder: Path = SEQUENCE,
    only: Collection[str] | None = None,
    cannot: Callable[[str], object] | None = None,
    jobs: int | None = None,
) -> list[Path]:
    """Execute the notebooks of the sequence, or `only` those of these numbers, into `out`; return their files in order.

    A notebook runs in its own folder. It gets the parameters that its cell `parameters` names, that are not None and
    that differ from its defaults. Where a cell fails, the notebook is left as failed-NAME and `SrdcrError` is raised;
    an installation without notebooks is bad input. With the parameter `RUN`, which is looked up first, those that take
    it are executed; one that says that the run cannot answer its question is left out, and `cannot` is told. As many
    as `jobs` (default: the cores, at most 4) run at once, each in a kernel with its part of the cores.
    """
    every = {number_of(notebook): notebook for notebook in sequence(folder)}
    if not every:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
    if unknown := sorted(set(only or ()) - every.keys()):
        raise BadInput(f"there is no notebook {unknown[0]!r}; there are {', '.join(every)}")
    notebooks = [notebook for number, notebook in every.items() if number in (only or every)]
    if find_spec("nbclient") is None:
        raise BadInput("running notebooks needs nbclient; install it with: pip install 'srdcr-lab[notebooks]'")
    parameters = {name: _whole_path(name, value) for name, value in parameters.items() if value is not None}
    if "RUN" in parameters:
        load_run(parameters["RUN"])
        notebooks = [notebook for notebook in notebooks if "RUN" in parameters_of(notebook)]
    cores = os.cpu_count() or 1
    jobs = max(1, min(jobs or min(cores, _MOST_JOBS), len(notebooks)))
    with one_writer(out):
        made = wait_for(_execute_all(notebooks, out.resolve(), parameters, folder, cannot, jobs, cores // jobs or 1))
    return [made[notebook] for notebook in notebooks if notebook in made]


async def _execute_all(
    notebooks: list[Path],
    out: Path,
    parameters: Mapping[str, Any],
    folder: Path,
    cannot: Callable[[str], object] | None,
    jobs: int,
    threads: int,
) -> dict[Path, Path]:
    """The executed notebooks, the longest begun first; the first that fails ends the others."""
    free, made, ended = asyncio.Semaphore(jobs), dict[Path, Path](), False

    async def one(notebook: Path) -> None:
        nonlocal ended
        async with free:
            if ended:
                return
            try:
                made[notebook] = await _execute(notebook, out / notebook.name, parameters, folder, threads)
            except BadInput as reason:
                if cannot is None or "RUN" not in parameters:
                    ended = True
                    raise
                cannot(str(reason))
            except BaseException:
                ended = True
                raise

    try:
        async with asyncio.TaskGroup() as group:
            for notebook in sorted(notebooks, key=_turn) if jobs > 1 else notebooks:
                group.create_task(one(notebook))
    except BaseExceptionGroup as errors:
        raise gravest(errors) from None
    return made


def _turn(notebook: Path) -> int:
    number = number_of(notebook)
    return _LONGEST.index(number) if number in _LONGEST else len(_LONGEST)


async def _execute(notebook: Path, target: Path, parameters: Mapping[str, Any], folder: Path, threads: int) -> Path:
    import nbformat
    from nbclient.exceptions import CellExecutionError

    defaults = parameters_of(notebook)
    chosen = {name: value for name, value in parameters.items() if name in defaults and defaults[name] != value}
    if {"MODEL", "ITEMS"} & set(chosen) and "STUDY" in defaults:
        chosen["STUDY"] = None  # what it opens by itself is another study
    content = read_notebook(notebook)
    _inject(content, chosen)
    part = target.with_name(f"failed-{notebook.name}")
    try:
        await in_kernel(content, folder, threads)
    except CellExecutionError as error:
        if error.ename == BadInput.__name__:
            raise BadInput(f"{notebook.name}: {error.evalue}") from None
        nbformat.write(content, part)
        raise SrdcrError(f"{notebook.name} failed: {error.ename}: {error.evalue}; see {part}") from None
    _tidy(content)
    write_whole(target, nbformat.writes(content) + "\n")
    part.unlink(missing_ok=True)
    return target


def _inject(notebook: Any, chosen: Mapping[str, Any]) -> None:
    """Put these values into a cell behind the notebook's own parameters, in place of those of an earlier execution."""
    import nbformat

    cells = [cell for cell in notebook.cells if _INJECTED not in cell.metadata.get("tags", ())]
    if chosen:
        lines = "\n".join(f"{name} = {value!r}" for name, value in chosen.items())
        cell = nbformat.v4.new_code_cell(f"# Parameters\n{lines}", metadata={"tags": [_INJECTED]})
        cell.id = "injected"
        place = next(k for k, each in enumerate(cells) if _DECLARED in each.metadata.get("tags", ()))
        cells.insert(place + 1, cell)
    notebook.cells = cells


async def in_kernel(notebook: Any, folder: Path, threads: int) -> None:
    """Execute a notebook in a kernel of its own, started in `folder`. Kernel and client talk over files (IPC) where
    the system can, since a kernel on a port warns that anybody may listen."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(folder)}}
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        how = {} if os.name == "nt" else {"transport": "ipc", "ip": str(Path(place) / "k")}
        manager = AsyncKernelManager(kernel_name="python3", **how)
        client = NotebookClient(notebook, timeout=None, startup_timeout=120, km=manager, resources=where)
        try:
            await client.async_execute(cleanup_kc=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        finally:
            atexit.unregister(client._cleanup_kernel)  # which it forgets where it was cancelled


def _whole_path(name: str, value: Any) -> Any:
    """A parameter that names a file with the file's whole path, since a notebook runs in its own folder."""
    prefix, rest = split_source(value)
    with suppress(OSError):  # too long for a path
        if name not in WORDS and rest and Path(rest).exists():
            return f"{prefix}{Path(rest).resolve()}"
    return value


def _tidy(notebook: Any) -> None:
    """Drop the times that the runner noted, and what only a kernel or a network can show: widgets and charts are kept
    as they stood, figures with few colours."""
    for part in (notebook, *notebook.cells):
        part.metadata.pop("execution", None)
    states = notebook.metadata.pop("widgets", {}).get(WIDGET.replace("view", "state"), {}).get("state", {})
    for output in (each for cell in notebook.cells for each in cell.get("outputs", ()) if "data" in each):
        data = output["data"]
        if widget := data.pop(WIDGET, None):
            chart = states.get(widget["model_id"], {}).get("state", {}).get("spec")
            data |= _chart_png(chart) if chart else {}
            if "image/png" not in data:
                parts = list(_parts(dict(states), widget["model_id"]))
                data["text/html"] = render("parts", "still", parts=parts)
        for kind in [kind for kind in data if _VEGA.fullmatch(kind)]:
            if picture := _chart_png(data[kind]):
                data |= picture
                del data[kind]
        if "image/png" in data:
            data["image/png"] = _few_colours(data["image/png"])


def _chart_png(spec: Any) -> dict[str, str]:
    """A Vega-Lite chart as a picture; nothing where the package vl-convert-python is missing or cannot draw it."""
    try:
        import vl_convert

        return {"image/png": base64.b64encode(vl_convert.vegalite_to_png(spec, ppi=_DPI)).decode()}
    except (ImportError, ValueError):
        return {}


def _few_colours(picture: str) -> str:
    """A PNG in Base64 with a palette of its own, where that is smaller."""
    from PIL import Image

    content, buffer = base64.b64decode(picture), io.BytesIO()
    with Image.open(io.BytesIO(content)) as image:
        resolution = image.info.get("dpi", (_DPI, _DPI))
        flat = image.convert("RGBA")
        white = Image.new("RGBA", flat.size, "white")
        few = Image.alpha_composite(white, flat).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(buffer, "PNG", optimize=True, dpi=resolution)
    return picture if buffer.tell() >= len(content) else base64.b64encode(buffer.getvalue()).decode()


def write_pages(notebooks: list[Path], out: Path) -> Path:
    """Executed notebooks as pages of HTML that load and run nothing, and an index of their titles; the index."""
    try:
        from nbconvert import HTMLExporter
        from pygments.formatters import HtmlFormatter
    except ImportError:
        raise BadInput("pages need nbconvert; install it with: pip install 'srdcr-lab[notebooks]'") from None
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    contents = {f"{path.stem}.html": read_notebook(path) for path in notebooks}
    titles = {}
    for name, notebook in contents.items():  # a page has its heading itself
        heading, _, notebook.cells[0].source = notebook.cells[0].source.partition("\n")
        titles[name] = heading.lstrip("# ")
    code = Html(HtmlFormatter().get_style_defs(".highlight"))
    with one_writer(out):
        for name, notebook in contents.items():
            body = Html(exporter.from_notebook_node(notebook)[0])
            page = render("notebook", title=titles[name], name=name, titles=titles, body=body, code=code)
            write_whole(out / name, page)
        write_whole(
            out / "index.html", render("notebook", title="Notebooks", name="", titles=titles, body="", code=code)
        )
    return out / "index.html"


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
    return not {_DECLARED, _INJECTED}.isdisjoint(cell.metadata.get("tags", ()))


def read_notebook(path: Path) -> Any:
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is no notebook ({type(error).__name__})") from None
