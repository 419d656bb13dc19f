"""The loopback server as a process of its own, so that its CPU is not ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def server(log: Path, *, latency_ms: float, sigma: float = 0.5) -> Iterator[str]:
    """Address of a fresh server whose latencies are a function of the request alone."""
    command = [sys.executable, "-m", "tests.loopback.server", "--log", str(log), "--latency-ms", str(latency_ms)]
    with subprocess.Popen(
        [*command, "--sigma", str(sigma), "--with-parent"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101
        found = re.search(r"http://\S+", process.stdout.readline())
        try:
            if found is None:
                raise RuntimeError("the loopback server did not start")
            yield found[0] + "/v1"
        finally:
            process.terminate()


def requests(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]
