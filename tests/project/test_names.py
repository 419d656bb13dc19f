"""A public top-level name means one thing in the package."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "srdcr_lab"
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
    for path in PACKAGE.rglob("*.py"):
        for name in _defined(ast.parse(path.read_text("utf-8"))):
            if not name.startswith("_"):
                modules[name].add(str(path.relative_to(PACKAGE)))
    twice = {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in DELIBERATE} == {}
    assert not set(DELIBERATE) - set(twice), "names that have one meaning now"
