"""What a newcomer asks Python itself: help(), the meaning of a column, a plan or results as a notebook shows them."""

import html
import inspect
import pydoc
from pathlib import Path

import pytest

import srdcr_lab as lab
from srdcr_lab.protocols import choices
from srdcr_lab.records.tables import COLUMNS_OF

SCREEN = 60  # lines
API = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")


@pytest.fixture(scope="module")
def results() -> lab.Results:
    return lab.load_run("pocket")


def test_the_map_of_the_package_is_short_and_names_what_exists() -> None:
    said = pydoc.plain(pydoc.render_doc(lab))
    assert len(said.splitlines()) <= SCREEN
    head = (lab.__doc__ or "").splitlines()[2:]
    names = {name.strip(", ") for line in head if line.startswith("    ") for name in line[4:35].split()}
    assert names - {"…"} <= set(dir(lab))


def test_help_of_study_fits_a_screen_and_the_api_page_explains_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(lab.Study, "__slotnames__", raising=False)  # what copying a study leaves on its class
    assert len(pydoc.render_doc(lab.Study).splitlines()) <= SCREEN
    arguments = API.partition("### Arguments of `Study`")[2]
    assert [name for name in inspect.signature(lab.Study).parameters if f"`{name}`" not in arguments] == ["more"]
    assert [name for name in inspect.signature(choices).parameters if f"`{name}`" not in arguments] == []


@pytest.mark.parametrize("table", COLUMNS_OF)
def test_every_column_has_a_meaning(table: str, results: lab.Results) -> None:
    meanings = lab.columns(table)
    held = set(getattr(results, table))
    if table == "summary":  # these two only where there is something to tell apart
        held |= {"run", "decoding"}
    assert held == set(meanings.index)
    assert meanings["meaning"].str.len().min() > 3
    shown = html.unescape(meanings._repr_html_())
    assert all(meaning in shown for meaning in meanings["meaning"])  # pandas would cut them


def test_an_unknown_table_is_one_sentence() -> None:
    with pytest.raises(lab.BadInput, match="did you mean records"):
        lab.columns("record")


def test_results_show_their_summary(results: lab.Results) -> None:
    shown = results._repr_html_()
    assert shown.count("<tr") == len(results.summary) + 1
    assert all(title in shown for title in (">coverage<", ">accuracy [95 % interval]<", "no evidence about any large"))


def test_a_plan_shows_each_quantity_once() -> None:
    with lab.Study(limit=2) as study:
        shown = study.plan()._repr_html_()
    for title in ("calls alone", "shared", "prompt tokens", "completion tokens", "cost USD"):
        assert shown.count(f">{title}<") == 1
    assert "the whole run" in shown
