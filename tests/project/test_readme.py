"""What README.md and the guide tell a reader to type exists: commands, make targets, files, the Python examples."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from srdcr_lab import Results
from srdcr_lab.cli import cli
from srdcr_lab.data.load import BENCHMARKS
from srdcr_lab.protocols import DESIGNS, METHODS
from srdcr_lab.records import ConfidenceKind
from srdcr_lab.records.names import CONFIDENCE_MEANINGS, DESIGN_LABELS, METHOD_LABELS

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
    if page == "docs/index.md":  # whose picture docs/conf.py brings
        link = f"../{link}"
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
