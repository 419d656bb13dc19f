"""The shipped notebooks, executed for the tests that look at them.

Two files share the work, so that two workers can: `EARLIER` and `LATER` are all there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks

NOTEBOOKS = sorted(SEQUENCE.glob("[0-9][0-9]_*.ipynb"))
EARLIER, LATER = NOTEBOOKS[:5], NOTEBOOKS[5:]
LIMIT = 4  # items: the fewest of which every figure has something to draw


def executed(folder: Path, notebooks: Sequence[Path]) -> Path:
    """The folder, with these notebooks executed on few items, as `srdcr notebooks` does, and their figures."""
    given = {"LIMIT": LIMIT, "STORE": str(folder / "store.sqlite"), "FIGURES": str(folder / "figures")}
    for notebook in notebooks:
        run_notebooks(folder, given, only=notebook)
    return folder


def code_cells(path: Path) -> list[Any]:
    """The code cells of a notebook."""
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def ran_to_its_end(path: Path) -> None:
    """Every code cell was executed once, in order, and none failed."""
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


def kept_three_ways(figures: Path, name: str, label: str) -> None:
    """The figure is there as PNG, SVG and CSV, the latter two under the label of their model."""
    assert (figures / f"{name}.png").stat().st_size > 0
    for kind in ("svg", "csv"):
        assert label in (figures / f"{name}.{kind}").read_text("utf-8")
