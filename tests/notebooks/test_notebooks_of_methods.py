"""Notebooks 05–09 (methods, a new domain and its depths, options, documents, several models) are executed, small."""

from pathlib import Path

import pytest

from srdcr_lab.records.vocabulary import ORGANISM
from tests.executing import LATER, code_cells, executed, kept_with_its_label


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executed(tmp_path_factory.mktemp("notebooks"), LATER)


POCKET, GGUF, HF = f"pocket: {ORGANISM}", "gguf:qwen2.5-coder-1.5b", "hf:qwen2.5-coder-1.5b (dtype bfloat16)"
FIGURES = {  # of a notebook, and the label that each bears
    "05": ("plane accuracy false_passages comparisons cost utility false_share repeats decision_flow surest matched",
           POCKET),
    "06": ("risk_coverage categories reliability passages", GGUF),
    "06b": ("reliability tokens kinds consistency transfer", POCKET),
    "07": ("differences overconfidence debate_ends numbers", POCKET),
    "08": ("misleading sources", POCKET),
    "09": ("leads knowledge plane false_passages models", POCKET),
    "10": ("at_tau over_tau ranks subjects models", "no passage (LLM-Calibration-Study)"),
    "11": ("answers localisation", HF),
}  # fmt: skip


@pytest.mark.parametrize(("figure", "label"), [
    *((f"{number}_{name}", label) for number, (names, label) in FIGURES.items() for name in names.split()),
    ("08_majorities", ""),  # of no model
])  # fmt: skip
def test_a_figure_is_kept_under_the_label_of_its_model(folder: Path, figure: str, label: str) -> None:
    kept_with_its_label(folder / "figures", figure, label)


def test_the_notebook_of_several_models_says_what_was_not_tested(folder: Path) -> None:
    cells = code_cells(folder / "09_models_compared.ipynb")
    html = "".join(str(output.get("data")) for cell in cells for output in cell.outputs)
    assert "knowledge categories (no draws)" in html
    assert "pocket minus scripted:double" in html


@pytest.mark.parametrize("table", ["05_table_1", "05_table_2"])
def test_a_table_of_the_paper_is_kept(folder: Path, table: str) -> None:
    assert (folder / "figures" / f"{table}.csv").stat().st_size > 0
