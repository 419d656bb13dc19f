"""Ctrl-C and `kill` at any moment: one sentence, exit code 3, and the same command goes on. No test waits for a clock:
a signal comes when a module is imported, or when the server is asked."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import srdcr_lab as lab
from tests.conftest import Srdcr
from tests.loopback.server import Loopback
from tests.scripted import ScriptedModel, finished

ROOT = Path(__file__).parents[2]
AT_IMPORT = """
import builtins, os, sys
real, (number, module) = builtins.__import__, sys.argv[1].split()
def importing(name, *rest, **more):
    if name == module and module not in sys.modules:
        builtins.__import__ = real
        os.kill(os.getpid(), int(number))
    return real(name, *rest, **more)
builtins.__import__ = importing
del sys.argv[1]
from srdcr_lab.cli import main
main()
"""


@pytest.mark.parametrize(
    ("number", "module"), [(signal.SIGINT, "click"), (signal.SIGTERM, "click"), (signal.SIGTERM, "pandas")]
)
def test_while_modules_are_imported(tmp_path: Path, number: signal.Signals, module: str) -> None:
    """Before any command has begun, and while its modules are imported."""
    command = ["run", "--model", "openai:x", "--base-url", "http://127.0.0.1:9", "--out", str(tmp_path / "out")]
    program = [sys.executable, "-c", AT_IMPORT, f"{int(number)} {module}", *command]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.strip().startswith("srdcr: interrupted; run the same command again")
    assert ended.stderr.strip().count("\n") == 0
    assert not (tmp_path / "out").exists()


def test_kill_in_mid_run(tmp_path: Path, loopback: Loopback, items_csv: Path, srdcr: Srdcr) -> None:
    """What was received is kept, and the same command asks for the rest."""
    command = ["run", "--model", "openai:test", "--base-url", loopback.openai_url, "--items", str(items_csv)]
    command += ["--samples", "0", "--rounds", "1", "--concurrency", "1", "--out", str(tmp_path / "out")]
    program = [sys.executable, "-m", "srdcr_lab.cli", *command]
    process = subprocess.Popen(program, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    said = loopback.reply

    def reply(*asked: Any) -> str:
        if len(loopback.completions) == 6:
            process.terminate()
        return said(*asked)

    loopback.reply = reply
    _, err = process.communicate()
    told = [line for line in err.splitlines() if not line.startswith("no price is known for ")]
    assert (process.returncode, len(told)) == (3, 1), err
    assert "what was received is kept, run the same command again to resume" in err
    loopback.reply, before = said, {asked.key for asked in loopback.completions[:5]}
    asked = len(loopback.completions)
    srdcr.ok(*command)
    assert before.isdisjoint(asked.key for asked in loopback.completions[asked:])


def test_a_reader_that_stops_reading() -> None:
    """As `srdcr data list | head -1` does."""
    command = [sys.executable, "-m", "srdcr_lab.cli", "data", "list"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_child_studies_too() -> None:
    """The thread of the parent's event loop does not go on in a child, which waited for it without end."""

    def study(ends: multiprocessing.connection.Connection | None = None) -> None:
        n = len(finished(lab.Study(ScriptedModel(), "facts:testbed", "few_shot", samples=0, limit=1)).records)
        if ends:
            ends.send(n)

    study()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=study, args=(theirs,))
    child.start()
    try:
        assert ours.poll(60), "the child hangs"
        assert ours.recv() == 1
    finally:
        child.kill()
        child.join()
