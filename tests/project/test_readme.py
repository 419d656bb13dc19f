"""What README.md tells a newcomer to type exists: commands and options, make targets, files, the Python examples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from srdcr_lab import Results
from srdcr_lab.cli import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ (srdcr .+)$", README, re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line: str) -> None:
    command: click.Command = cli
    name, *arguments = shlex.split(line, comments=True)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(name, arguments)  # raises UsageError


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z-]+)", README)) <= targets


@pytest.mark.parametrize("path", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_a_link_leads_to_a_file(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec("\n".join(examples).replace("limit=60", "limit=6"), names)  # noqa: S102
    assert isinstance(names["results"], Results)
    assert len(names["results"].records) == 12
    assert names["outcome"]
    assert names["search"].best_params_["tau"] in names["taus"]
