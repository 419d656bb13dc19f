"""The shipped notebooks, executed for the tests that look at them.

Two files share the work, so that two workers can: `EARLIER` and `LATER` are all there are. A function stands in for the
kernel, so that torch, pandas and matplotlib are imported once; what a kernel does otherwise has a test of its own.
Figures are neither shown nor saved as PNG, each of which draws them twice more.
"""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot
from matplotlib.figure import Figure
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

import srdcr_lab as lab
from srdcr_lab.data.items import freeze
from srdcr_lab.data.load import load_items
from srdcr_lab.study import notebooks as notebooks_of_the_sequence
from srdcr_lab.study.notebooks import SEQUENCE, notebooks_in, number_of, run_notebooks
from tests.scripted import ScriptedModel

NOTEBOOKS = notebooks_in(SEQUENCE)
EARLIER, LATER = NOTEBOOKS[:5], NOTEBOOKS[5:]
LIMIT, SEEDS = 4, 2  # items: the fewest of which every figure has something to draw; worlds of notebook 08
DOUBLE = ScriptedModel(logprobs=False, name="double")
YEARS_ALONE = ("00", "03", "04", "04b", "05")  # which draw offsets, and debate long over what the model cannot read
METHODS = "few_shot,judge_debate_5,confidence_only,debate_only,sr_dcr"  # of 05; over one's own table it has all


def executed(folder: Path, notebooks: Sequence[Path]) -> Path:
    """The folder, with these notebooks executed on few items, as `srdcr notebooks` does, and their figures."""
    given: dict[str, Any] = {"LIMIT": LIMIT, "SEEDS": SEEDS, "METHODS": METHODS, "REPEATS": 2, "SAMPLE": 2}
    given |= {"QUESTIONS": LIMIT, "ROUNDS": 1, "MODELS": ["GPT-4.1", "Llama 3.1 8B"]}  # models: of 10
    given |= {"STORE": str(folder / "store.sqlite"), "FIGURES": str(folder / "figures")}
    testbed = load_items("facts:testbed")
    years = [item for item in testbed if item.answer_type == "year"][:LIMIT]
    freeze(replace(testbed, items=tuple(years)), folder / "years.json")
    freeze(replace(facts := load_items("facts"), items=facts.items[::30]), folder / "facts.json")
    if NOTEBOOKS[0] in notebooks:
        given |= {"REAL": _run(folder, DOUBLE, samples=0)}
    for notebook in notebooks:
        number = notebook.name.partition("_")[0]
        given |= {"LIMIT": LIMIT}
        if number in YEARS_ALONE:
            given |= {"ITEMS": str(folder / "years.json")}
        elif number == "06b":  # which perturbs all that it is given
            given |= {"ITEMS": str(folder / "facts.json")}
        elif number in ("06", "07"):
            given.pop("ITEMS", None)
        if number in ("04b", "07", "08"):  # which ask most of each item
            given |= {"LIMIT": 2}
        elif number == "09":
            runs = _run(folder, "pocket", store=folder / "store.sqlite"), _run(folder, DOUBLE, samples=0)
            given |= {"RUNS": sorted(runs)}  # on the same years; the double has no log-probabilities and no draws
        with _in_this_process():
            run_notebooks(folder, given, only=[number])
    return folder


def _run(folder: Path, model: str | ScriptedModel, **options: Any) -> str:
    """A run on the years."""
    out = folder / "runs" / str(getattr(model, "identity", model)).replace(":", "-")
    with lab.Study(model, str(folder / "years.json"), "few_shot,sr_dcr", rounds=2, out=out, **options) as study:
        study.run(progress=False)
    return str(out)


def shown(run: Path | str, folder: Path, notebooks: Sequence[Path]) -> list[str]:
    """What these notebooks say that they cannot show of a run; the others are in the folder, with their tables."""
    said: list[str] = []
    given = {"RUN": str(run), "STORE": str(folder / "store.sqlite"), "FIGURES": str(folder / "figures")}
    for notebook in notebooks:
        with _in_this_process(_nothing):
            run_notebooks(folder, given, only=[number_of(notebook)], tell=said.append)
    return [line for line in said if not line.endswith(".ipynb")]


class _Shown(DisplayHook):
    """What a cell ends with is displayed, as a kernel does, in every form that it has."""

    def write_output_prompt(self) -> None:
        """A notebook has none."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self.shell.display_pub.publish(format_dict, md_dict)


class _Shell(InteractiveShell):
    displayhook_class = _Shown

    def enable_gui(self, gui: str | None = None) -> None:
        """There is no window."""


async def _in_shell(notebook: Any, folder: Path, threads: int) -> None:
    """Stands in for a kernel: the cells run in a shell of this process, and outputs are kept as a kernel's are."""
    shell = _Shell.instance(config=Config(HistoryManager={"enabled": False}))
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        with capture_output() as captured, chdir(folder):
            result = shell.run_cell(cell.source, store_history=True)
        pyplot.close("all")
        cell.execution_count = result.execution_count
        streams = {"stdout": captured.stdout, "stderr": captured.stderr}
        cell.outputs = [
            nbformat.v4.new_output("stream", name=name, text=text) for name, text in streams.items() if text
        ]
        cell.outputs += [
            nbformat.v4.new_output("display_data", data=_as_sent(output.data), metadata=output.metadata or {})
            for output in captured.outputs
        ]
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            raise CellExecutionError("", type(error).__name__, str(error))


def _as_sent(data: dict[str, Any]) -> dict[str, Any]:
    """Pictures in Base64, as a kernel sends them."""
    return {kind: b64encode(value).decode() if isinstance(value, bytes) else value for kind, value in data.items()}


def _only_svg(save: Callable[..., None]) -> Callable[..., None]:
    touched = _nothing(save)
    return lambda figure, file, **how: (touched if how.get("format") == "png" else save)(figure, file, **how)


def _nothing(save: Callable[..., None]) -> Callable[..., None]:
    return lambda figure, file, **how: file.touch() if isinstance(file, Path) else None


@contextmanager
def _in_this_process(saves: Callable[..., Callable[..., None]] = _only_svg) -> Iterator[None]:
    """Notebooks are executed here, in their folder; shell, figures and style are gone afterwards."""
    try:
        with pyplot.rc_context(), pytest.MonkeyPatch.context() as patch:
            pyplot.switch_backend("agg")
            patch.setattr(Figure, "savefig", saves(Figure.savefig))
            patch.setattr(notebooks_of_the_sequence, "in_kernel", _in_shell)
            patch.setattr(notebooks_of_the_sequence, "wait_for", asyncio.run)
            yield
    finally:
        pyplot.close("all")
        _Shell.clear_instance()


def code_cells(path: Path) -> list[Any]:
    """The code cells of a notebook."""
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def kept_with_its_label(figures: Path, name: str, label: str) -> None:
    """The figure is there as SVG and CSV, under the label of its model."""
    for kind in ("svg", "csv"):
        assert label in (figures / f"{name}.{kind}").read_text("utf-8")
