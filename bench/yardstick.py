"""What a fixed piece of plain work takes here and now, so that a target in seconds means the same on every machine."""

from __future__ import annotations

import json
import re
import sqlite3
import time

# What the work takes on the machine for which the targets in seconds were set, an estimate: there the version of 22
# November 2026 resumed 20,000 items in 28 s, on another machine in 74 s, where this work took 0.51 s.
THERE_S = 0.19


def slowness() -> float:
    """CPU seconds of the work here by those there: 2 on a machine, or in an hour, half as fast. The least of three."""
    return min(_once() for _ in range(3)) / THERE_S


def _once() -> float:
    started = time.process_time()
    word = re.compile(r"[a-z]+(?=\d)")
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE said (name TEXT PRIMARY KEY, text TEXT)")
        for i in range(20_000):
            text = json.dumps({"item_id": f"bridge{i}", "text": "It opened in 1874. " * 4, "logprobs": [-0.5] * 8})
            db.execute("INSERT INTO said VALUES (?, ?)", (f"bridge{i}", text))
        for i in range(20_000):
            ((text,),) = db.execute("SELECT text FROM said WHERE name = ?", (f"bridge{i}",)).fetchall()
            said = json.loads(text)
            {name: word.sub(" ", value) if isinstance(value, str) else tuple(value) for name, value in said.items()}
    db.close()
    return time.process_time() - started
