"""The house holds no room without a door and no name of two meanings; contracts of the imports name its chapters."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat
import pytest

from srdcr_lab.models.load import API
from srdcr_lab.records import AnswerType
from tools import house

ROOT = Path(__file__).resolve().parents[2]
NO_CHAPTERS = {"__init__", "cli", "transcripts"}  # what chapters share lies below them


@cache
def imports() -> dict[str, set[str]]:
    """Module → the modules of the package that it imports, and the packages that it lies in."""
    paths = {house.name(path): path for path in sorted(house.PACKAGE.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text("utf-8") + house.stub(name, path)) for name, path in paths.items()}
    found = {name: house.imported(tree, set(paths)) | parents(name) for name, tree in trees.items()}
    found["srdcr_lab.models.load"] |= {f"srdcr_lab.models.{provider}" for provider in API}
    found["srdcr_lab.answers.kinds"] |= {f"srdcr_lab.answers.{kind}" for kind in AnswerType} & set(paths)
    return found


def parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts))}


def reached(roots: set[str]) -> set[str]:
    ahead, seen = list(roots), set()
    while ahead:
        if (module := ahead.pop()) not in seen:
            seen.add(module)
            ahead += imports()[module]
    return seen


def in_notebooks() -> set[str]:
    modules = set(imports())
    cells = [
        re.sub(r"(?m)^\s*[%!].*$", "", cell.source)
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        for cell in nbformat.read(path, 4).cells
        if cell.cell_type == "code"
    ]
    return set.union(*(house.imported(ast.parse(cell), modules) for cell in cells))


def test_every_module_is_reached_from_a_notebook_a_command_or_a_public_name() -> None:
    roots = {"srdcr_lab", "srdcr_lab.cli"} | in_notebooks()
    assert sorted(set(imports()) - reached(roots)) == []


def chapters() -> set[str]:
    return {path.stem for path in house.PACKAGE.glob("*.py")} - NO_CHAPTERS


def contract(name: str) -> dict[str, list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in settings if each["name"].startswith(name)]
    return dict(found)


def test_the_contracts_about_chapters_name_each_of_them_once() -> None:
    layers = [name for layer in contract("a chapter uses earlier chapters")["layers"] for name in layer.split(" | ")]
    assert sorted(layers) == sorted(chapters() | {"lib"})
    sources = contract("chapters may be called with any table")["source_modules"]
    assert sorted(sources) == sorted(f"srdcr_lab.{name}" for name in chapters())


@pytest.mark.parametrize("contract_", ["floors import downward only", "models and prompts know nothing of answers"])
def test_a_contract_names_modules_that_there_are(contract_: str) -> None:
    found = contract(contract_)
    names = [f"srdcr_lab.{name.strip('()')}" for layer in found.get("layers", []) for name in layer.split(" | ")]
    for name in [*names, *found.get("source_modules", []), *found.get("forbidden_modules", [])]:
        assert name in imports()


DELIBERATE = {
    "answer": "the answer box of each chapter's notebook",
    "render": "a template: of a prompt into messages, of a page into HTML",
}


def _defined(tree: ast.Module) -> Iterator[str]:
    """What a module defines at its top level; what it imports from elsewhere is no second meaning."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name)) if target else ()


def test_no_public_name_has_two_meanings() -> None:
    modules = defaultdict(set)
    for path in house.PACKAGE.rglob("*.py"):
        for name in _defined(ast.parse(path.read_text("utf-8"))):
            if not name.startswith("_"):
                modules[name].add(str(path.relative_to(house.PACKAGE)))
    twice = {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in DELIBERATE} == {}
    assert not set(DELIBERATE) - set(twice), "names that have one meaning now"
