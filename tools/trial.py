"""Try what strangers may bring: nothing may end in a traceback, hang, write elsewhere, or cost more than its own row.

    python tools/trial.py [inputs servers bundles damages foreign full kills batches]        default: all
    python tools/trial.py --only TEXT             the trials whose names hold TEXT, with what they print

Every trial is a process of its own with a time limit, a bound on memory, and HOME and TMPDIR inside a folder that is
compared before and after. Every fault is printed with how to repeat it, and a line for each kind.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import strangers  # noqa: E402
from strangers import OUTSIDE, Reply, Trial  # noqa: E402

MEMORY, limit_s = 8 << 30, 20.0
LONGEST, LARGEST = 400, 1 << 30
WATCHED = [ROOT / name for name in ("notebooks", "figures", "results")]


@dataclass
class Ended:
    """What a trial left: exit code (None: it had to be killed), output, peak memory, and what is wrong with it."""

    code: int | None
    said: str
    memory: int
    longest: int
    faults: list[str]


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("kinds", nargs="*")
    given.add_argument("--only")
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--limit-s", type=float, default=20.0, help="after which a trial counts as a hang")
    arguments = given.parse_args()
    global limit_s
    limit_s = arguments.limit_s
    _warm()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="srdcr-trial-") as place:
        for kind in arguments.kinds or KINDS:
            made = KINDS[kind](arguments.seed)
            if isinstance(made, int):
                failed += made
                continue
            trials = (trial for trial in made if (arguments.only or "") in trial.name)
            failed += report(kind, trials, Path(place), show=arguments.only is not None)
    return int(failed > 0)


def servers(_: int) -> Iterator[Trial]:
    """The server runs in a process of its own, on every address of `strangers.replies`, while the trials are made."""
    ThreadingHTTPServer.request_queue_size = 128  # of the 5 that are usual, connections are dropped
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)
    if not (child := os.fork()):
        os.closerange(1, 3)
        listening.serve_forever()
    try:
        yield from strangers.servers(listening.server_port)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class Misbehaving(BaseHTTPRequestHandler):
    """``/NUMBER/…``: answers as the reply of that number does where it is asked about the tower, else well."""

    protocol_version = "HTTP/1.1"
    makes = tuple(strangers.replies().items())

    def do_GET(self) -> None:
        self._send(Reply(body=b'{"object": "list", "data": []}'))

    def do_POST(self) -> None:
        name, make = self.makes[int(self.path.split("/")[1])]
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        good = strangers.GOOD[name.partition(":")[0]](asked)
        about_tower = "tower" in str(asked["messages"][-1]["content"])
        with suppress(OSError):  # whoever asked has read enough
            self._send(make(asked) if about_tower else Reply(body=json.dumps(good).encode()))

    def _send(self, reply: Reply) -> None:
        parts = iter([reply.body]) if isinstance(reply.body, bytes) else reply.body()
        self.close_connection = True
        if not reply.raw:
            self.send_response(reply.status)
            headers = {"Content-Type": "application/json", "Connection": "close", **reply.headers}
            if isinstance(reply.body, bytes):
                headers["Content-Length"] = str(len(reply.body))
            for pair in headers.items():
                self.send_header(*pair)
            self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def of_batches(seed: int) -> int:
    """The kind that `trials_of_batches.py` makes and reports; returns its exit code."""
    return subprocess.run([sys.executable, str(ROOT / "tools/trials_of_batches.py"), f"--seed={seed}"]).returncode


def of_stores(kind: str, number: int) -> Callable[[int], int]:
    """A kind that `trials_of_stores.py` makes and reports; returns its exit code."""

    def made(seed: int) -> int:
        if not (script := ROOT / "tools/trials_of_stores.py").is_file():
            print(f"{kind}: not tried, since {script.name} is not there")
            return 1
        numbers = dict.fromkeys(("kills", "full", "damages", "foreign"), 0) | {kind: number, "seed": seed}
        given = [f"--{name}={value}" for name, value in numbers.items()]
        return subprocess.run([sys.executable, str(script), *given]).returncode

    return made


KINDS: dict[str, Callable[[int], Iterator[Trial] | int]] = {
    "inputs": strangers.inputs,
    "servers": servers,
    "bundles": strangers.bundles,
    "damages": of_stores("damages", 500),
    "foreign": of_stores("foreign", 1),
    "full": of_stores("full", 20),
    "kills": of_stores("kills", 100),
    "batches": of_batches,
}


def report(kind: str, trials: Iterable[Trial], place: Path, *, show: bool) -> int:
    began = time.monotonic()
    ended = []
    for number, trial in enumerate(trials):
        result = attempt(trial, place / f"{kind}-{number}")
        ended.append((trial, result))
        if show:
            print(f"--- {trial.name}: exit {result.code}, {result.memory >> 20} MB\n{result.said}")
        if result.faults:
            again = f"python tools/trial.py {kind} --only {shlex.quote(trial.name)}"
            print(f"  {'; '.join(result.faults)[:300]}\n      {again}", flush=True)
    counts = {
        name: sum(any(fault.startswith(name) for fault in result.faults) for _, result in ended)
        for name in ("traceback", "hang", "outside", "lost", "unsaid", "unseen", "left", "long", "memory")
    }
    worst = max((result.memory for _, result in ended), default=0)
    print(
        f"{kind}: {len(ended)} trials; "
        + ", ".join(f"{n} {name}" for name, n in counts.items())
        + f"; longest message {max((result.longest for _, result in ended), default=0)} characters,"
        + f" peak memory {worst >> 20:,} MB; {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return sum(bool(result.faults) for _, result in ended)


def attempt(trial: Trial, place: Path) -> Ended:
    """Run one trial in a process of its own, below `place`."""
    work = place / "work"
    for folder in (work, place / "home", place / "tmp"):
        folder.mkdir(parents=True)
    (place / OUTSIDE).write_text("kept")
    for name, content in trial.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(content)
    before, inside = _outside(place), _tree(work)
    log = place.with_suffix(".log")
    child = os.fork()
    if not child:
        _child(trial, place, log)
    code, memory = _wait(child)
    said = log.read_bytes().decode("utf-8", "replace")
    faults = []
    if code is None:
        faults.append(f"hang: still running after {limit_s:g} s")
    elif code not in (0, 1, 2, 3) or "Traceback (" in said:
        faults.append(f"traceback: exit {code}, {_last_of_trace(said)}")
    faults += [line[2:] for line in said.splitlines() if line.startswith("!!")]
    if trial.says not in said:
        faults.append(f"unsaid: {trial.says!r}")
    if memory > LARGEST:
        faults.append(f"memory: {memory >> 20:,} MB")
    if changes := sorted(set(_outside(place).items()) ^ set(before.items())):
        faults.append(f"outside: {changes[0][0]}")
    complaints = [line for line in said.splitlines() if line.startswith(("srdcr: ", "note: "))]
    longest = max(map(len, complaints), default=0)
    if longest >= LONGEST:
        faults.append(f"long: {longest} characters: {complaints[0][:120]}")
    if unseen := {c for c in said if unicodedata.category(c)[0] == "C" and c not in "\n\t\r"}:
        faults.append(f"unseen: {sorted(map(ascii, unseen))}")
    left = sorted(_tree(work).keys() - inside.keys())
    if code == 2 and left and not any(path.endswith("store.sqlite") for path in left):  # which holds what was paid for
        faults.append(f"left behind by a refusal: {left[:3]}")
    if code in (0, 1) and trial.rows and (lost := trial.rows - _whole_rows(work)) > 0:
        faults.append(f"lost: {lost} rows")
    shutil.rmtree(place, ignore_errors=True)
    log.unlink()
    return Ended(code, said, memory, longest, faults)


def _last_of_trace(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("srdcr: ", " "))]
    return lines[-1][:150] if lines else ""


def _child(trial: Trial, place: Path, log: Path) -> None:
    """The trial's own process: its streams go to `log`, its folders lie below `place`. Does not return."""
    code = 70
    try:
        os.setpgid(0, 0)
        file = os.open(log, os.O_WRONLY | os.O_CREAT)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (file, 1), (file, 2)):
            os.dup2(source, target)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.environ |= {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "OPENAI_API_KEY": "k"}
        tempfile.tempdir = None
        os.chdir(place / "work")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        from srdcr_lab.cli import main as srdcr

        srdcr(list(trial.command))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _wait(child: int) -> tuple[int | None, int]:
    """Exit code and peak memory in bytes; None where it had to be killed."""
    until = time.monotonic() + limit_s
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            _, _, usage = os.wait4(child, 0)
            return None, usage.ru_maxrss * 1024
        time.sleep(0.003)


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (status.st_size, status.st_mtime_ns if not path.is_dir() else 0)
        for path in folder.rglob("*")
        for status in [path.lstat()]
    }


def _outside(place: Path) -> dict[str, tuple[int, int]]:
    """Everything around the working folder, and what of the project a command could write to."""
    work = str(place / "work")
    seen = {name: entry for name, entry in _tree(place).items() if not name.startswith(work)}
    for folder in WATCHED:
        seen |= _tree(folder)
    return seen


def _whole_rows(work: Path) -> int:
    """Rows of the records that carry no error."""
    import pyarrow.parquet as pq

    errors = pq.read_table(work / "out/records.parquet", columns=["error"])["error"]
    return int(errors.null_count)


def _warm() -> None:
    """Import what commands import, so that each trial's process has it."""
    import srdcr_lab.cli
    import srdcr_lab.data.load
    import srdcr_lab.data.perturbing
    import srdcr_lab.models.anthropic
    import srdcr_lab.models.openai
    import srdcr_lab.study.notebooks
    import srdcr_lab.study.share
    from srdcr_lab.records import ModelIdentity

    srdcr_lab.models.spending.price_of(ModelIdentity("openai", "gpt-4o"))  # which reads every price
    for sdk in ("openai", "anthropic"):  # whose first pause is half a second
        import_module(f"{sdk}._base_client").INITIAL_RETRY_DELAY = 0.01  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
