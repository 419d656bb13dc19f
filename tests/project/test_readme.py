"""What README.md and the guide tell a reader to type exists; and what a newcomer asks Python itself is answered."""

import html
import inspect
import pydoc
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

import srdcr_lab as lab
from srdcr_lab import Results
from srdcr_lab.cli import cli
from srdcr_lab.data.load import BENCHMARKS
from srdcr_lab.protocols import DESIGNS, METHODS, choices
from srdcr_lab.records import ConfidenceKind
from srdcr_lab.records.names import CONFIDENCE_MEANINGS, DESIGN_LABELS, METHOD_LABELS
from srdcr_lab.records.tables import COLUMNS_OF

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guide").glob("*.md"))]
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PAGES}
COMMANDS = sorted({line for text in TEXTS.values() for line in re.findall(r"^\$ (srdcr .+)$", text, re.MULTILINE)})
LINKS = [(page, link) for page, text in TEXTS.items() for link in re.findall(r"\]\((?!http)([^)#]+)\)", text)]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line: str) -> None:
    command: click.Command = cli
    name, *arguments = shlex.split(line, comments=True)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(name, arguments)  # raises UsageError


@pytest.mark.parametrize(("page", "names", "labels"), [
    ("methods", METHODS, METHOD_LABELS), ("methods", DESIGNS, DESIGN_LABELS),
    ("confidence", ConfidenceKind, CONFIDENCE_MEANINGS), ("questions", BENCHMARKS, BENCHMARKS),
])  # fmt: skip
def test_the_guide_and_the_labels_have_every_name(page: str, names: Any, labels: Any) -> None:
    """Of a series such as judge_debate_1, _3, _5 the guide may shorten names."""
    assert {*labels} == {*names}
    told = {re.sub(r"\d$", "N", name) for name in re.findall(r"`([\w-]+)`", TEXTS[f"docs/guide/{page}.md"])}
    assert [name for name in names if re.sub(r"\d$", "N", name) not in told] == []


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z-]+)", README)) <= targets


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_a_link_leads_to_a_file(page: str, link: str) -> None:
    assert (ROOT / page).parent.joinpath(link).exists()


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 150
    assert len(README.split()) <= 1_200


@pytest.mark.parametrize("page", [page for page, text in TEXTS.items() if "```python" in text])
def test_the_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.+?)```", TEXTS[page], re.DOTALL):
        exec(example.replace("limit=60", "limit=2"), names)  # noqa: S102
    if "results" in names:
        assert isinstance(names["results"], Results)
        assert len(names["results"].records) == 4
    if "search" in names:
        assert names["search"].best_params_["tau"] in names["taus"]


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
    shown = re.sub(r"(?<=[(,])\n[ |]+|\n[ |]+(?=\) ->)", "", pydoc.plain(pydoc.render_doc(lab.Study)))
    assert len(shown.splitlines()) <= SCREEN
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
    for shown in (html.unescape(meanings._repr_html_()), repr(meanings)):
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
