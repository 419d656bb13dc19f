"""Notebooks 00–04 are executed, with the real pocket model, at a small size; and what is committed is in order."""

import re
from pathlib import Path

import nbformat
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput, SrdcrError
from srdcr_lab.records.vocabulary import ORGANISM
from srdcr_lab.study import notebooks as sequence
from srdcr_lab.study.notebooks import SEQUENCE, WIDGET, parameters_of, run_notebooks, write_pages
from srdcr_lab.study.share import share
from tests.conftest import Srdcr
from tests.executing import EARLIER, code_cells, executed, kept_with_its_label
from tests.loopback.server import Loopback
from tests.scripted import finished, reader


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executed(tmp_path_factory.mktemp("notebooks"), EARLIER)


@pytest.mark.parametrize("figure", [
    "00_first_study",
    *("01_categories", "01_redraws", "01_draws", "01_models"),
    *("02_confidence", "02_precision", "02_reliability"),
    *("03_context_preference", "03_endings", "03_biases"),
    *("04_verdicts", "04_r_star", "04_graded", "04_prior_preference", "04_answers"),
])  # fmt: skip
def test_a_figure_is_kept_under_the_label_of_its_model(folder: Path, figure: str) -> None:
    kept_with_its_label(folder / "figures", figure, f"pocket: {ORGANISM}")


def _printed(path: Path) -> str:
    """What the cells of an executed notebook printed."""
    outputs = [output for cell in code_cells(path) for output in cell.outputs]
    return "".join(output.text for output in outputs if output.output_type == "stream")


def _html(path: Path) -> str:
    """What the cells of an executed notebook show as HTML."""
    return "".join(output.get("data", {}).get("text/html", "") for cell in code_cells(path) for output in cell.outputs)


def test_notebook_00_shows_one_question_debated_by_two_models(folder: Path) -> None:
    html = _html(folder / "00_start_here.ipynb")
    columns = re.findall(r"<th style=[^>]+>([^<]+ · SR-DCR \(ACVD\))</th>", html)
    assert columns == [f"pocket: {ORGANISM} · SR-DCR (ACVD)", "scripted:double · SR-DCR (ACVD)"]
    assert "1934. The passage says so." in html


def test_notebook_04_shows_one_item_debated_both_ways(folder: Path) -> None:
    html = _html(folder / "04_debates.ipynb")
    assert re.findall(r"· SR-DCR \((\w+)\)</th>", html) == ["ACVD", "Symmetric"]


def _notebook(path: Path, *cells: str) -> None:
    """A notebook of these cells, the first of them its parameters."""
    parameters, *others = map(nbformat.v4.new_code_cell, cells)
    parameters.metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters, *others], metadata=kernel), path)


def test_in_a_kernel_a_study_runs_and_figures_and_sliders_are_kept(
    tmp_path: Path, items_csv: Path, loopback: Loopback
) -> None:
    """A kernel's event loop is running when a study begins."""
    _notebook(
        tmp_path / "00_first.ipynb",
        'ITEMS = "facts"\nURL = ""',
        "import matplotlib.pyplot as plt\nimport srdcr_lab as lab\nimport ipywidgets",
        'study = lab.Study("openai:test", ITEMS, "few_shot", base_url=URL, samples=2)\nresults = study.run()',
        "plt.plot([0, 1]);",
        "print(len(results.records), 'rows')\nipywidgets.FloatSlider(0.9, description='τ', max=1.0)",
    )
    given = {"ITEMS": str(items_csv), "URL": loopback.openai_url}
    (written,) = run_notebooks(tmp_path / "out", given, tmp_path)
    code = code_cells(written)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert _printed(written).endswith("3 rows\n")
    shown = {kind for cell in code for output in cell.outputs for kind in output.get("data", ())}
    assert "image/png" in shown
    assert WIDGET not in shown  # its text stays, since no kernel runs where the file is read
    assert "widgets" not in nbformat.read(written, 4).metadata
    index = write_pages([written], tmp_path / "html")
    assert 'href="00_first.html"' in index.read_text("utf-8")
    page = (tmp_path / "html/00_first.html").read_text("utf-8")
    assert "3 rows" in page
    assert "<script" not in page


def test_several_notebooks_run_at_once_each_with_its_part_of_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In kernels that say nothing on the terminal; their files come in the order of the sequence."""
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    meets = "import os, pathlib, time\npathlib.Path(f'at-{N}').touch()\nwhile not pathlib.Path(f'at-{1 - N}').exists():"
    for number in (0, 1):
        code = f"{meets}\n    time.sleep(0.05)\nprint(os.environ['OMP_NUM_THREADS'])"
        _notebook(tmp_path / f"0{number}_of_two.ipynb", f"N = {number}", code)
    made = run_notebooks(tmp_path / "out", {}, tmp_path, jobs=2)
    assert [path.name for path in made] == ["00_of_two.ipynb", "01_of_two.ipynb"]
    assert [_printed(path) for path in made] == ["3\n", "3\n"]
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == "" or "ZMQStream callback" in said.err  # which ipykernel says where it ends a moment too early


def test_a_failing_notebook_is_kept_and_named(tmp_path: Path) -> None:
    _notebook(tmp_path / "00_broken.ipynb", "LIMIT = 1", "1 / 0")
    with pytest.raises(SrdcrError, match=r"00_broken\.ipynb failed: ZeroDivisionError"):
        run_notebooks(tmp_path / "out", {}, tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["failed-00_broken.ipynb"]


def test_bad_input_in_a_notebook_is_bad_input(tmp_path: Path) -> None:
    """The rest of the sequence is not executed, and nothing half done is left."""
    code = "from srdcr_lab.data import load_items; load_items(ITEMS)"
    _notebook(tmp_path / "00_first.ipynb", 'ITEMS = "facts"', code)
    _notebook(tmp_path / "01_second.ipynb", 'ITEMS = "facts"', "1 / 0")
    with pytest.raises(BadInput, match=r"00_first\.ipynb: .*no-such-items"):
        run_notebooks(tmp_path / "out", {"ITEMS": "no-such-items"}, tmp_path, jobs=1)
    assert not (tmp_path / "out").exists()


def test_a_table_of_ones_own_is_found_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`srdcr notebooks --items my.csv`: a notebook runs in its own folder, and the path is the caller's."""
    (tmp_path / "sequence").mkdir()
    parameters = 'ITEMS = "facts"\nOTHER = "facts"'
    _notebook(tmp_path / "sequence/00_first.ipynb", parameters, "print(open(ITEMS).read(), OTHER)")
    (tmp_path / "my.csv").write_text("question,gold_answer\nWhen was the mill built?,1800\n")
    monkeypatch.chdir(tmp_path)
    tables = {"ITEMS": "my.csv", "OTHER": "ramdocs=my.csv"}
    (written,) = run_notebooks(tmp_path / "out", tables, tmp_path / "sequence")
    assert "When was the mill built?" in written.read_text("utf-8")
    assert f" ramdocs={tmp_path.resolve()}/my.csv" in written.read_text("utf-8")


def test_a_notebook_that_a_run_cannot_answer_is_left_out_with_its_sentence(
    tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that take no run are not executed at all."""
    finished(lab.Study(reader(), "facts", "few_shot", limit=1, samples=0, tau=0.8, out=tmp_path / "run"))
    share(tmp_path / "run", tmp_path / "run.zip")
    (tmp_path / "sequence").mkdir()
    cannot = 'import srdcr_lab as lab\nif RUN:\n    raise lab.BadInput("it holds no debates")'
    shows = "import srdcr_lab as lab\nprint(len(lab.load_run(RUN).records), TAU)"
    for name, code in (("00_first", cannot), ("01_second", shows)):
        _notebook(tmp_path / f"sequence/{name}.ipynb", "RUN = None\nTAU = 0.9", code)
    _notebook(tmp_path / "sequence/06_other.ipynb", 'MODEL = "pocket"', "1 / 0")
    monkeypatch.setattr(sequence, "SEQUENCE", tmp_path / "sequence")
    monkeypatch.setattr(sequence.run_notebooks, "__defaults__", (tmp_path / "sequence", None, None, None))
    monkeypatch.chdir(tmp_path)
    ended = srdcr("notebooks", "--run", "run.zip", "--out", "out")
    assert (ended.code, ended.out) == (0, "00_first.ipynb: it holds no debates\n01_second.ipynb\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["01_second.ipynb"]
    assert _printed(tmp_path / "out/01_second.ipynb") == "1 0.8\n"
    assert "leave --model out" in srdcr.refuses("notebooks", "--run", "run.zip", "--model", "pocket")
    assert "there is no run no-such-study" in srdcr.refuses("notebooks", "--run", "no-such-study", "--out", "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("given", "drawn_into"), [
    (["--out", "results/notebooks"], "results/figures"),
    (["--out", "results/notebooks", "--figures", "elsewhere"], "elsewhere"),
    (["--out", str(SEQUENCE)], None),
])  # fmt: skip
def test_only_the_committed_notebooks_draw_into_the_tracked_figures(
    given: list[str], drawn_into: str | None, srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make study` and a user's own run leave figures/ alone; `make notebooks` changes it."""
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(
        "srdcr_lab.study.notebooks.run_notebooks", lambda out, parameters, **_: asked.append(parameters) or []
    )
    monkeypatch.chdir(tmp_path)
    srdcr.ok("notebooks", *given)
    assert asked[0]["FIGURES"] == (drawn_into and str(tmp_path.resolve() / drawn_into))
    makefile = (SEQUENCE.parent / "Makefile").read_text("utf-8")
    assert re.findall(r"notebooks .*--out (\S+)(?: --figures (\S+))?", makefile) == [
        ("results/notebooks", ""), ("results/notebooks-full", "results/figures-full"), ("notebooks", ""),
    ]  # fmt: skip


def test_parameters_of_a_notebook_are_those_it_ran_with(tmp_path: Path) -> None:
    _notebook(tmp_path / "a.ipynb", 'ITEMS = "facts"\nLIMIT = None  # all', "LIMIT = 7")
    assert parameters_of(tmp_path / "a.ipynb") == {"ITEMS": "facts", "LIMIT": None}
    _notebook(tmp_path / "a.ipynb", "LIMIT = open('x')")
    with pytest.raises(BadInput, match="LIMIT is not a plain value"):
        parameters_of(tmp_path / "a.ipynb")


@pytest.mark.parametrize("content", ["[" * 100_000, "7", '{"cells": 7, "metadata": {}, "nbformat": 4}'])
def test_a_file_that_is_no_notebook_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    with pytest.raises(BadInput, match="is not a notebook"):
        parameters_of(tmp_path / "a.ipynb")
