"""Run the sequence of notebooks with one's own parameters."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from srdcr_lab.records import BadInput, SrdcrError

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
