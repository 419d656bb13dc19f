"""The loopback server as a process of its own, so that its CPU is not ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def server(*, latency_ms: float, sigma: float = 0.5) -> Iterator[str]:
    """Address of a fresh server whose latencies are a function of the request alone."""
    command = [sys.executable, "-m", "tests.loopback.server", "--latency-ms", str(latency_ms), "--sigma", str(sigma)]
    with subprocess.Popen([*command, "--with-parent"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        found = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        try:
            if found is None:
                raise RuntimeError("the loopback server did not start")
            yield found[0]
        finally:
            process.terminate()


def completions_asked(address: str) -> list[dict[str, Any]]:
    """The server's record of every request for completions, with its body and its delay."""
    with urlopen(f"{address}/log") as reply:  # noqa: S310 (our own server)
        return [asked for asked in json.load(reply) if asked["body"]]
