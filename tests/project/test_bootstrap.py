"""What make says when there is no Python to use, and what uv is told of pip's settings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import bootstrap
import pytest
from pip_settings import read_pip_settings, uv_environment, uv_options

TOOLS = Path(bootstrap.__file__).parent


def _pick(tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run `tools/python.sh` in a tree without an environment, with $PYTHON set, on a script that prints `ran`."""
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOLS / "python.sh", tmp_path / "tools")
    (tmp_path / "tools" / "script.py").write_text("print('ran')", "utf-8")
    command = ["sh", tmp_path / "tools" / "python.sh", "tools/script.py"]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin", "PYTHON": python}, capture_output=True, text=True)


def _fake(folder: Path, refused: str) -> str:
    """A Python, in a folder with a space, that fails on code which contains ``refused``."""
    path = folder / "my tools" / "python"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\ncase "$2" in *{refused}*) exit 1 ;; esac\nexec "{sys.executable}" "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_will_not_do_gets_a_sentence(tmp_path: Path) -> None:
    done = _pick(tmp_path, "/nowhere/python3")
    assert done.returncode == 2
    assert done.stderr.startswith("No Python of version 3.11 or newer was found under the names /nowhere/python3;")
    assert _pick(tmp_path, _fake(tmp_path, "nothing")).stdout == "ran\n"


def test_an_old_python_gets_the_same_sentence(tmp_path: Path) -> None:
    assert _pick(tmp_path, _fake(tmp_path, "version_info")).stderr.startswith("No Python of version 3.11 or newer")


def test_a_python_without_venv_gets_a_sentence(tmp_path: Path) -> None:
    done = _pick(tmp_path, _fake(tmp_path, "ensurepip"))
    assert done.returncode == 2
    assert "has no venv module; install it" in done.stderr


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
