"""The sequence of notebooks: executed with your own parameters, and written as pages."""

import ast
import atexit
import base64
import io
import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from srdcr_lab.lib.page import Html, render
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.files import one_writer, write_whole
from srdcr_lab.records.vocabulary import must_have
from srdcr_lab.study.results import load_run
from srdcr_lab.study.run import all_at_once, wait_for

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"
_DECLARED, _INJECTED = "parameters", "injected-parameters"  # tags of cells
_LONGEST = ("05", "04b", "06b", "08", "03", "07", "04", "02", "05b", "00")  # to begin with, where several run at once
_MOST_JOBS = 4
_COLOURS, _DPI = 64, 200  # of the figures in an executed notebook
_NOT_PATHS = ("METHODS", "QUESTION", "DOMAIN", "FIGURES")  # parameters that are no paths of inputs
WIDGET = "application/vnd.jupyter.widget-view+json"  # an output that is one
_BEFORE_A_PATH = re.compile(r"\A(hf:|gguf:|[a-z][a-z:_-]*=)")  # hf:PATH, gguf:FILE, BENCHMARK=FILE


def notebooks_in(folder: Path) -> list[Path]:
    """The notebooks of the sequence in a folder, in order."""
    return sorted(folder.glob("[0-9][0-9]*_*.ipynb"))


def number_of(notebook: Path) -> str:
    """A notebook's place in the sequence, such as 04b."""
    return notebook.name.partition("_")[0]


def run_notebooks(
    out: Path, parameters: Mapping[str, Any], folder: Path = SEQUENCE, only: Collection[str] | None = None,
    tell: Callable[[str], object] = lambda _: None, jobs: int | None = None,
) -> list[Path]:  # fmt: skip
    """Execute the notebooks of the sequence, or `only` those of these numbers, into `out`; return their files in order.

    A notebook runs in its own folder. It gets the parameters that its cell `parameters` names, if they are not None and
    differ from its defaults. `BadInput` of a cell is raised as it is; after any other error of a cell the notebook is
    kept as failed-NAME, and `SrdcrError` is raised. An installation without notebooks is bad input. With the parameter
    `RUN`, which is looked up first, the notebooks that take it are executed, at the run's own τ; one that says that the
    run cannot answer its question is left out. `tell` hears of each that is done, and of each that is left out. Up to
    `jobs` (by default one per core, at most 4) run at once, each in a kernel with its share of the cores.
    """
    every = {number_of(notebook): notebook for notebook in notebooks_in(folder)}
    if not every:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
    if unknown := sorted(set(only or ()) - every.keys()):
        raise BadInput(f"there is no notebook {unknown[0]!r}; there are {', '.join(every)}")
    numbers = [number for number in every if number in (only or every)]
    must_have("nbclient", "running notebooks", "notebooks")
    parameters = {name: _whole_path(name, value) for name, value in parameters.items() if value is not None}
    if "RUN" in parameters:
        parameters["TAU"] = load_run(parameters["RUN"]).manifest["asked"]["choices"]["tau"]
        own = [number for number in numbers if "RUN" not in parameters_of(every[number])]
        if only and own:
            raise BadInput(f"notebook {own[0]} takes no --run; leave it out of --only, or set its own parameters")
        numbers = [number for number in numbers if number not in own]
    cores = os.cpu_count() or 1
    jobs = max(1, min(jobs or min(cores, _MOST_JOBS), len(numbers)))
    longest_first = sorted(numbers, key=lambda number: (*_LONGEST, number).index(number))
    todo, made = iter(longest_first if jobs > 1 else numbers), dict[str, Path]()

    async def one_by_one() -> None:
        for number in todo:
            target = out.resolve() / every[number].name
            try:
                made[number] = await _execute(every[number], target, parameters, cores // jobs or 1)
                tell(target.name)
            except BadInput as reason:
                if "RUN" not in parameters:
                    raise
                tell(str(reason))

    with one_writer(out):
        wait_for(all_at_once(one_by_one() for _ in range(jobs)))
    return [made[number] for number in numbers if number in made]


async def _execute(notebook: Path, target: Path, parameters: Mapping[str, Any], threads: int) -> Path:
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
        await in_kernel(content, notebook.parent, threads)
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
    """Put these values into a cell after the notebook's own parameters, replacing those of an earlier execution."""
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
    """Execute a notebook in its own kernel, started in `folder`. Kernel and client communicate through files (IPC) if
    the system can, in a path that is not too long, because a kernel on a port warns that anybody may listen.
    """
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(folder)}}
    with tempfile.TemporaryDirectory(prefix="srdcr-") as place:
        how = {} if os.name == "nt" or len(place) > 80 else {"transport": "ipc", "ip": str(Path(place) / "k")}
        manager = AsyncKernelManager(kernel_name="python3", **how)
        client = NotebookClient(notebook, timeout=None, startup_timeout=120, km=manager, resources=where)
        try:
            await client.async_execute(cleanup_kc=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        finally:
            atexit.unregister(client._cleanup_kernel)  # which it forgets where it was cancelled


def _whole_path(name: str, value: Any) -> Any:
    """A file parameter with its whole path, because a notebook runs in its own folder."""
    rest = _BEFORE_A_PATH.sub("", value) if isinstance(value, str) and name not in _NOT_PATHS else ""
    with suppress(OSError):  # too long for a path
        if rest and Path(rest).exists():
            return f"{value.removesuffix(rest)}{Path(rest).resolve()}"
    return value


def _tidy(notebook: Any) -> None:
    """Remove the times that the runner noted, and widgets, which only a kernel can show: the picture or text beside
    each stays. Figures keep few colours, and are described by the heading above them.
    """
    notebook.metadata.pop("widgets", None)
    for part in (notebook, *notebook.cells):
        part.metadata.pop("execution", None)
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^#+ (.+)", cell.source, re.M)][-1]
        for data in (output["data"] for output in cell.get("outputs", ()) if "data" in output):
            data.pop(WIDGET, None)
            if "image/png" in data:
                named = re.findall(r'FIGURES, "(\w+)"', cell.source)
                alt = f"figure: {heading}" + "".join(f"; numbers: figures/{name}.csv" for name in named)
                data["image/png"], cell.metadata["alt"] = _few_colours(data["image/png"]), alt


def _few_colours(picture: str) -> str:
    """A PNG in Base64 with its own palette, if that is smaller."""
    from PIL import Image

    content, buffer = base64.b64decode(picture), io.BytesIO()
    with Image.open(io.BytesIO(content)) as image:
        few = image.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, 3)
        few.save(buffer, "PNG", optimize=True, dpi=image.info.get("dpi", (_DPI, _DPI)))
    return picture if buffer.tell() >= len(content) else base64.b64encode(buffer.getvalue()).decode()


def write_pages(notebooks: list[Path], out: Path) -> Path:
    """Write executed notebooks as HTML pages that load and run nothing, with an index of their titles; return the
    index.
    """
    must_have("nbconvert", "a page of a notebook", "notebooks")
    from nbconvert import HTMLExporter
    from pygments.formatters import HtmlFormatter

    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    contents = {f"{path.stem}.html": read_notebook(path) for path in notebooks}
    titles = {}
    for name, notebook in contents.items():  # a page has its heading itself
        heading, _, notebook.cells[0].source = notebook.cells[0].source.partition("\n")
        titles[name] = heading.lstrip("# ")
    code = Html(HtmlFormatter().get_style_defs(".highlight"))
    page, index = partial(render, "notebook", titles=titles, code=code), out / "index.html"
    with one_writer(out):
        for name, notebook in contents.items():
            body = Html(exporter.from_notebook_node(notebook)[0])
            write_whole(out / name, page(title=titles[name], name=name, body=body))
        write_whole(index, page(title="Notebooks", name="", body=""))
    return index


def parameters_of(path: Path) -> dict[str, Any]:
    """The parameters of a notebook: the values of the lines ``NAME = literal`` in its tagged cells, by name."""
    parameters: dict[str, Any] = {}
    cells = (cell for cell in read_notebook(path).cells if {_DECLARED, _INJECTED} & {*cell.metadata.get("tags", ())})
    for line in (line for cell in cells for line in cell.source.splitlines()):
        name, equals, value = line.partition(" = ")
        if equals and name.isidentifier():
            try:
                parameters[name] = ast.literal_eval(value.partition("  # ")[0])
            except (ValueError, SyntaxError):
                raise BadInput(f"{path}: the parameter {name} is not a plain value") from None
    return parameters


def read_notebook(path: Path) -> Any:
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook
    except Exception as error:  # whatever a damaged or hostile file makes the reader raise
        raise BadInput(f"{path} is not a notebook ({type(error).__name__})") from None
