"""Notebooks 05–09 (methods, a new domain and its depths, options, documents, several models) are executed, small."""

from __future__ import annotations

from pathlib import Path

import pytest

from srdcr_lab.records.vocabulary import ORGANISM
from tests.executing import LATER, code_cells, executed, kept_with_its_label, ran_to_its_end


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executed(tmp_path_factory.mktemp("notebooks"), LATER)


@pytest.mark.parametrize("name", [path.name for path in LATER])
def test_a_notebook_runs_to_its_end(folder: Path, name: str) -> None:
    ran_to_its_end(folder / name)


@pytest.mark.parametrize(
    "figure",
    [
        *("05_plane", "05_accuracy", "05_false_passages", "05_comparisons", "05_cost"),
        *("05_utility", "05_false_share", "05_repeats", "05_decision_flow", "05_surest", "05_matched"),
        *("06b_reliability", "06b_tokens", "06b_kinds", "06b_consistency", "06b_transfer"),
        *("07_differences", "07_overconfidence", "07_debate_ends", "07_numbers"),
        *("08_misleading", "08_sources"),
        *("09_leads", "09_knowledge", "09_plane", "09_false_passages", "09_models"),
    ],
)
def test_a_figure_is_kept_under_the_label_of_its_model(folder: Path, figure: str) -> None:
    kept_with_its_label(folder / "figures", figure, f"pocket: {ORGANISM}")


@pytest.mark.parametrize("figure", ["06_risk_coverage", "06_categories", "06_reliability", "06_passages"])
def test_notebook_06_shows_a_real_model(folder: Path, figure: str) -> None:
    kept_with_its_label(folder / "figures", figure, "gguf:qwen2.5-coder-1.5b")


@pytest.mark.parametrize("figure", ["11_answers", "11_localisation"])
def test_notebook_11_shows_chains_of_a_real_model(folder: Path, figure: str) -> None:
    kept_with_its_label(folder / "figures", figure, "hf:qwen2.5-coder-1.5b (dtype bfloat16)")


def test_a_figure_of_no_model_is_kept_too(folder: Path) -> None:
    kept_with_its_label(folder / "figures", "08_majorities", "")


def test_the_notebook_of_several_models_says_what_was_not_tested(folder: Path) -> None:
    cells = code_cells(folder / "09_models_compared.ipynb")
    html = "".join(str(output.get("data")) for cell in cells for output in cell.outputs)
    assert "knowledge categories (no draws)" in html
    assert "pocket minus scripted:double" in html


@pytest.mark.parametrize("figure", ["10_at_tau", "10_over_tau", "10_ranks", "10_subjects", "10_models"])
def test_the_notebook_of_released_replies_says_whose_they_are(folder: Path, figure: str) -> None:
    kept_with_its_label(folder / "figures", figure, "no passage (LLM-Calibration-Study)")


@pytest.mark.parametrize("table", ["05_table_1", "05_table_2"])
def test_a_table_of_the_paper_is_kept_three_ways(folder: Path, table: str) -> None:
    for kind in ("csv", "html", "md"):
        assert (folder / "figures" / f"{table}.{kind}").stat().st_size > 0
