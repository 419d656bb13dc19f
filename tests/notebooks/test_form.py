"""Committed notebooks have the form of `tests/form.py`, and are executed in order."""

from pathlib import Path

import nbformat
import pytest

from srdcr_lab.study.notebooks import SEQUENCE, notebooks_in
from tests.form import defects


@pytest.mark.parametrize("path", notebooks_in(SEQUENCE), ids=lambda path: path.name)
def test_a_notebook_has_the_form(path: Path) -> None:
    assert not defects(path)


@pytest.mark.parametrize("path", notebooks_in(SEQUENCE), ids=lambda path: path.name)
def test_a_notebook_is_executed_from_its_first_cell_to_its_last(path: Path) -> None:
    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum("parameters" in cell.metadata.get("tags", ()) for cell in code) == 1
