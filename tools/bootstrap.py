"""Make the environment in .venv, or bring it up to date: every extra, in the versions of requirements.lock.

uv installs it; where uv is not to be had or fails, pip does, more slowly. Needs the standard library only. Does nothing
when the environment is up to date: a stamp in it holds the hash of what it was made from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pip_settings import read_pip_settings, uv_environment, uv_options

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "made-from"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

EVERYTHING = ["--constraint", LOCK.name, "--editable", ".[all]"]
NO_ANSWER = re.compile(
    r"name resolution|name or service not known|dns error|failed to establish|connection refused|connection timed out"
    r"|network is unreachable|no route to host|error sending request|proxyerror|sslerror|read timed out|offline",
    re.IGNORECASE,
)


class InstallFailed(Exception):
    """An installer ended with an error; the text is what it said."""


def fingerprint() -> str:
    """Hash of what decides the environment: requirements, build settings, lock, Python version and place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    settings = {"project": project["project"], "build": project["build-system"], "hatch": project["tool"]["hatch"]}
    parts = [json.dumps(settings, sort_keys=True), LOCK.read_text("utf-8"), VERSION, str(ROOT)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def up_to_date() -> bool:
    """Whether there is nothing to do; a `.venv` that is a link is the environment of another checkout."""
    if VENV.is_symlink():
        return True
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text("utf-8") == fingerprint()


def usable() -> bool:
    """Whether .venv holds pip and the Python version that runs this script, and was made here, not copied or moved."""
    script = VENV / "bin" / "pip"
    if not (PYTHON.exists() and script.exists() and str(VENV) in script.read_text("utf-8")):
        return False
    probe = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return subprocess.run([PYTHON, "-c", probe], capture_output=True).returncode == 0


def make_venv() -> None:
    if usable():
        return
    if VENV.exists() and not (VENV / "pyvenv.cfg").exists():
        sys.exit(f"{VENV} is in the way and is no Python environment; move it and run make again.")
    print(f"Making the environment in .venv with Python {VERSION}.", flush=True)
    base = getattr(sys, "_base_executable", sys.executable)  # the Python behind the environment this may run in
    made = subprocess.run([base, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"{base} could not make an environment in .venv: {(made.stdout + made.stderr).strip()}")


def run(command: Sequence[str | Path], environment: dict[str, str]) -> None:
    """Run an installer to its end, with a sign of life twice a minute.

    Raises
    ------
    InstallFailed
        If it ends with an error.
    """
    started = time.monotonic()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        while True:
            try:
                said, _ = process.communicate(timeout=30)
                break
            except subprocess.TimeoutExpired:
                print(f"  … {time.monotonic() - started:.0f} s", flush=True)
    if process.returncode:
        raise InstallFailed(said.decode(errors="replace"))


def pip_install(*arguments: str) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--retries", "2", "--constraint", LOCK.name]
    run([PYTHON, "-m", "pip", "install", *options, *arguments], dict(os.environ))


def uv(*arguments: str | Path) -> list[str | Path]:
    """A command of uv, which is installed first where it is missing."""
    pip_install("uv", "--only-binary", "uv")
    return [PYTHON, "-m", "uv", *arguments]


def install() -> None:
    """Everything, with uv if possible.

    Raises
    ------
    InstallFailed
        If pip failed too.
    """
    try:
        settings = read_pip_settings(PYTHON)
        options = ["--quiet", "--build-constraint", LOCK.name, *uv_options(settings)]
        run(uv("pip", "install", "--python", PYTHON, *options, *EVERYTHING), uv_environment(settings))
    except InstallFailed:
        print("uv could not do it; trying pip, which takes some minutes more.", flush=True)
        pip_install("--editable", ".[all]")


def explain(failure: InstallFailed) -> str:
    """What the user can do about it, without the addresses that were asked."""
    said = str(failure)
    if NO_ANSWER.search(said):
        return "No package index answered; check the network (or pip's settings: pip config list) and run make again."
    for value in sorted(" ".join(read_pip_settings(PYTHON).values()).split(), key=len, reverse=True):
        said = said.replace(value, "<address>") if "/" in value else said
    said = re.sub(r"\b[a-z+]+://[^\s'\"`)>]+", "<address>", said)
    return "The packages could not be installed; the installer ended with:\n" + "\n".join(said.splitlines()[-15:])


def main() -> None:
    if up_to_date():
        return
    started = time.monotonic()
    make_venv()
    STAMP.unlink(missing_ok=True)
    print("Installing the packages of requirements.lock: once, a few minutes.", flush=True)
    try:
        install()
    except InstallFailed as failure:
        sys.exit(explain(failure))
    except KeyboardInterrupt:
        sys.exit("Interrupted; run make again to go on.")
    STAMP.write_text(fingerprint(), "utf-8")
    print(f"The environment is ready ({time.monotonic() - started:.0f} s).", flush=True)


if __name__ == "__main__":
    main()
