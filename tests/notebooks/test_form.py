"""Committed notebooks have the form of `tests/form.py`."""

from pathlib import Path

import pytest

from srdcr_lab.study.notebooks import SEQUENCE, notebooks_in
from tests.form import defects


@pytest.mark.parametrize("path", notebooks_in(SEQUENCE), ids=lambda path: path.name)
def test_a_notebook_has_the_form(path: Path) -> None:
    assert not defects(path)
