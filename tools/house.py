"""How large the package is, and through how many of its files a run passes.

    python tools/house.py                                       sizes and circles; exit 1 above a bound
    python tools/house.py trace run --model pocket --out DIR …  files through which `srdcr run …` passes

`make lint` runs the first. A bound never goes up: a change that makes the house smaller lowers it, one that needs room
takes it from somewhere. Lines are counted without docstrings; a line of code is also not blank, a comment or an import.
What the stub of a lazy floor (`__init__.pyi`) names counts as imported by it, as does what `import_module` names.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "srdcr_lab"
# What stands, and what the second edition aims at.
BOUNDS = {"modules": (97, 100), "lines": (23_284, 20_500), "lines of code": (16_985, 15_500), "circles": (0, 0)}
BOUNDS |= {"lines of tests": (26_953, 27_000)}
FILES_OF_A_RUN = 55  # of `sr_dcr` on pocket


def main(words: list[str]) -> int:
    return trace(words[1:]) if words[:1] == ["trace"] else figures()


def figures() -> int:
    modules = {name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    texts = {module: path.read_text("utf-8") + stub(module, path) for module, path in modules.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    imports = {module: imported(tree, set(modules)) - {module} for module, tree in trees.items()}
    sizes = {module: size(texts[module].splitlines(), trees[module]) for module in modules}
    found = [" ↔ ".join(sorted(circle)) for circle in circles(imports)]
    counts = {
        "modules": len(modules),
        "lines": sum(lines for lines, _ in sizes.values()),
        "lines of code": sum(code for _, code in sizes.values()),
        "circles": len(found),
        "lines of tests": sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py")),
    }
    for what, count in counts.items():
        bound, aim = BOUNDS[what]
        print(f"{count:>7,}  {what} (at most {bound:,}; the aim is {aim:,})" + " TOO MANY" * (count > bound))
    print(*(f"circle: {circle}" for circle in found), sep="\n")
    for floor in sorted({module.split(".")[1] for module in modules if "." in module}):
        inside = [module for module in modules if module.split(".")[1:2] == [floor]]
        lines, code = (sum(sizes[module][place] for module in inside) for place in (0, 1))
        print(f"{floor:>12}: {len(inside):3} modules, {lines:6,} lines, {code:6,} of code")
    return int(any(count > BOUNDS[what][0] for what, count in counts.items()))


def name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def stub(module: str, path: Path) -> str:
    """What the stub beside a lazy `__init__` names, by whole names of modules."""
    beside = path.with_suffix(".pyi")
    text = beside.read_text("utf-8") if beside.is_file() else ""
    return text.replace("from . ", f"from {module} ").replace("from .", f"from {module}.")


def imported(tree: ast.Module, modules: set[str]) -> set[str]:
    found = set()
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {full if (full := f"{node.module}.{a.name}") in modules else node.module for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            if isinstance(node.args[0], ast.JoinedStr):  # "srdcr_lab.models." and a name that stands in the file
                found |= {f"{ast.literal_eval(node.args[0].values[0])}{text}" for text in texts}
            found |= texts
    return found & modules


def size(lines: list[str], tree: ast.Module) -> tuple[int, int]:
    """Lines that are no docstring, and those of them that are code."""
    docs: set[int] = set()
    brought: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            docs |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        if isinstance(node, ast.Import | ast.ImportFrom):
            brought |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    kept = (line.strip() for number, line in enumerate(lines, start=1) if number not in docs | brought)
    return len(lines) - len(docs), sum(bool(line) and not line.startswith("#") for line in kept)


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules that import each other, directly or by others. A floor's map belongs to none."""
    inside = {
        m: {o for o in those if (PACKAGE.parent / Path(*o.split("."))).with_suffix(".py").is_file()}
        for m, those in imports.items()
    }

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(inside[start])
        while ahead:
            if (module := ahead.pop()) not in seen:
                seen.add(module)
                ahead += inside[module]
        return seen

    reach = {module: reached(module) for module in inside}
    found = {frozenset(o for o in reach[m] if m in reach[o]) for m in reach if m in reach[m]}
    return [set(circle) for circle in found]


def trace(words: list[str]) -> int:
    """Run a command and count the package's files in which something was called, in any thread: a function, or the
    body of a class. Bodies of modules, which every import runs, do not count."""
    called: dict[str, set[str]] = defaultdict(set)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and code.co_name != "<module>":
            called[code.co_filename].add(code.co_name)

    sys.path.insert(0, str(ROOT))
    from srdcr_lab.cli import main as srdcr

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        srdcr(words)
    except SystemExit as end:
        print(f"exit code {end.code}")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    for file in sorted(called):
        print(f"{Path(file).relative_to(ROOT)}: {', '.join(sorted(called[file])[:6])}")
    print(f"{len(called)} files (at most {FILES_OF_A_RUN} for a run of sr_dcr on pocket)")
    return int(len(called) > FILES_OF_A_RUN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
