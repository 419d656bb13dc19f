"""The notebooks are executed, with the real pocket model, at a small size; and what is committed is in order."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.labels import ORGANISM
from srdcr_lab.study.notebooks import SEQUENCE, run_notebooks

NOTEBOOKS = sorted(SEQUENCE.glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every notebook, executed on six items, and their figures."""
    folder = tmp_path_factory.mktemp("notebooks")
    run_notebooks(folder, {"LIMIT": 6, "STORE": str(folder / "store.sqlite"), "FIGURES": str(folder / "figures")})
    return folder


@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_a_notebook_runs_to_its_end(executed: Path, name: str) -> None:
    cells = [cell for cell in nbformat.read(executed / name, 4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


def test_notebook_00_keeps_its_figures_three_ways(executed: Path) -> None:
    names = {path.name for path in (executed / "figures").iterdir()}
    assert names >= {
        f"00_{figure}.{kind}" for figure in ("one_question", "first_study") for kind in ("png", "svg", "csv")
    }


@pytest.mark.parametrize(
    "figure",
    [
        *("01_categories", "01_sampled_accuracy", "01_redraws", "01_draws"),
        *("02_confidence", "02_precision", "02_self_consistency", "02_reliability", "02_decisions"),
        *("06_reliability", "06_risk_coverage", "06_tokens", "06_kinds", "06_shots", "06_consistency"),
        *("06_sequential", "06_transfer"),
    ],
)
def test_a_figure_is_kept_three_ways_under_the_label_of_its_model(executed: Path, figure: str) -> None:
    assert (executed / "figures" / f"{figure}.png").stat().st_size > 0
    for kind in ("svg", "csv"):
        assert f"pocket: {ORGANISM}" in (executed / "figures" / f"{figure}.{kind}").read_text("utf-8")


def test_notebook_01_draws_exposure_or_says_that_it_skips_it(executed: Path) -> None:
    """Where the model's training told none of these few questions, there is nothing to draw."""
    skipped = "skipped: training's tellings" in _printed(executed / "01_knowledge_categories.ipynb")
    assert skipped != (executed / "figures" / "01_exposure.csv").is_file()


def _printed(path: Path) -> str:
    """What the cells of an executed notebook printed."""
    outputs = [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", ())]
    return "".join(output.text for output in outputs if output.output_type == "stream")


def test_notebook_00_says_that_the_model_is_a_model_organism(executed: Path) -> None:
    text = (executed / "00_start_here.ipynb").read_text("utf-8")
    assert "no evidence about any large model" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_committed_notebook_is_executed_small_and_free_of_paths(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert notebook.cells[0].source.startswith("# ")
    assert sum("parameters" in cell.metadata.get("tags", ()) for cell in code) == 1
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert path.stat().st_size < 500_000
    assert not re.search(r"(?<![\w.:/])/(home|root|tmp|Users|work)/", path.read_text("utf-8"))


def test_a_failing_notebook_is_kept_and_named(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "00_broken.ipynb")
    with pytest.raises(SrdcrError, match=r"00_broken\.ipynb failed: ZeroDivisionError"):
        run_notebooks(tmp_path / "out", {}, tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["failed-00_broken.ipynb"]


def test_a_table_of_ones_own_is_found_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`srdcr notebooks --items my.csv`: the path is the caller's, the question the table's first about a year."""
    rows = [f"When was mill {i} built?,{1800 + i},Mill {i} was built in {1800 + i}." for i in range(3)]
    (tmp_path / "my.csv").write_text("question,gold_answer,context\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    given = {"ITEMS": "my.csv", "STORE": str(tmp_path / "s.sqlite"), "FIGURES": str(tmp_path / "figures")}
    written, *_ = run_notebooks(tmp_path / "out", given)
    assert "When was mill 0 built?" in written.read_text("utf-8")


def test_bad_input_in_a_notebook_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"00_start_here\.ipynb: .*no-such-items"):
        run_notebooks(tmp_path / "out", {"ITEMS": "no-such-items", "STORE": str(tmp_path / "s.sqlite")})
    assert not list((tmp_path / "out").iterdir())
