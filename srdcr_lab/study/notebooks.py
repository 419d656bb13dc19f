"""Run the sequence of notebooks with one's own parameters."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srdcr_lab.records import BadInput, SrdcrError

SEQUENCE = Path(__file__).resolve().parents[2] / "notebooks"


def run_notebooks(out: Path, parameters: Mapping[str, Any], folder: Path = SEQUENCE) -> list[Path]:
    """Execute every notebook of the sequence, in order, into `out`.

    A notebook runs in the folder it lies in. Of the parameters it gets those that its cell `parameters` names, that
    are not None and that differ from what stands there. A notebook that fails is left as NAME.failed.ipynb, and the
    sequence ends.

    Raises
    ------
    BadInput
        If there are no notebooks (an installation without a clone).
    SrdcrError
        If a cell fails.
    """
    import papermill

    notebooks = sorted(folder.glob("[0-9][0-9]_*.ipynb"))
    if not notebooks:
        raise BadInput("the notebooks are part of the repository, not of the installed package; run this in a clone")
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
        part = target.with_suffix(".failed.ipynb")
        try:
            papermill.execute_notebook(str(notebook), str(part), chosen, cwd=str(folder), kernel_name="python3")
        except papermill.PapermillExecutionError as error:
            raise SrdcrError(f"{notebook.name} failed: {error.ename}: {error.evalue}; see {part}") from None
        _without_traces(part)
        part.replace(target)
        written.append(target)
    return written


def _without_traces(path: Path) -> None:
    """Drop what the runner noted about this machine: paths and times."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for part in (notebook, *notebook.cells):
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    nbformat.write(notebook, path)
