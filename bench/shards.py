"""Shards on Ray: what two of them gain, how fast their stores are merged, and what 100,000 items take of the driver.

The server's latencies (mean 300 ms) bound the load: each shard has 16 requests in flight, so that two processes and the
server leave a machine of two cores idle. A shard's speed is taken from the server's own log: requests over the time
from the first to the last, without the seconds that Ray takes to start.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.memory import peak_mb
from bench.serving import completions_asked, server
from bench.standin import StandIn

ITEMS, IN_FLIGHT, LATENCY_MS, GAIN = 64, 16, 300.0, 1.8
MERGED_A_S = 4_000  # each row is read and checked
MANY, MANY_S, MANY_MB = 100_000, 120.0, 1_000.0


def rows() -> Iterator[dict[str, object]]:
    yield _gain()
    yield _merging()
    yield from _many()


def _gain() -> dict[str, object]:
    if find_spec("ray") is None:
        detail = "skipped: needs the package ray (pip install -e '.[ray]')"
        return {
            "name": "two shards on Ray",
            "measured": 0,
            "target": "none",
            "holds": True,
            "unit": "",
            "detail": detail,
        }
    from srdcr_lab.study.cluster import connected

    with connected("local"):
        one, two = _requests_a_second(1), _requests_a_second(2)
    return {
        "name": "two shards on Ray beside one",
        "measured": two / one,
        "target": f"≥ {GAIN}",
        "holds": two / one >= GAIN,
        "unit": "×",
        "detail": f"{IN_FLIGHT} requests in flight a shard, {LATENCY_MS:.0f} ms each: {one:.0f} and {two:.0f} a second",
    }


def _requests_a_second(shards: int) -> float:
    import srdcr_lab as lab

    with server(latency_ms=LATENCY_MS) as address, tempfile.TemporaryDirectory() as folder:
        how: dict[str, Any] = {"base_url": f"{address}/v1", "concurrency": IN_FLIGHT * shards}
        how |= {"limit": ITEMS * shards, "samples": 0, "out": f"{folder}/run"}
        with lab.Study("openai:timed", "facts:grid", "few_shot,sr_dcr", **how) as study:
            study.run(progress=False, ray="local", shards=shards)
        asked = completions_asked(address)
    return len(asked) / float(max(each["end"] for each in asked) - min(each["start"] for each in asked))


def _merging() -> dict[str, object]:
    """A study's completions in the store of a shard, merged as a run merges it."""
    import srdcr_lab as lab

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shards").mkdir()
        with lab.Study(StandIn(), "facts:testbed", "few_shot,sr_dcr", store=folder / "shards/1.sqlite") as study:
            study.run(progress=False)
        completions, seconds = _merged(folder)
    return {
        "name": "merging the stores of shards",
        "measured": completions / seconds,
        "target": f"≥ {MERGED_A_S:,}",
        "unit": "completions/s",
        "detail": f"{completions:,} completions",
    }


def _merged(folder: Path) -> tuple[int, float]:
    """The number of completions that a run merges from the shards in a folder, and the seconds that it takes."""
    from srdcr_lab.models.spending import Budget
    from srdcr_lab.models.store import Store
    from srdcr_lab.study.asking import Asking, Session
    from srdcr_lab.study.cluster import gather

    with closing(Store(folder / "store.sqlite")) as store:
        session = Session(Asking().opened(StandIn()), store, Budget())
        started = time.perf_counter()
        gather(folder, session, "bench")
        seconds = time.perf_counter() - started
        return store.count(), seconds


def _many() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.shards", folder]
        run = subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True)
    took = json.loads(run.stdout)
    seconds = took["planned"] + took["merged"]
    detail = f"planned in {took['planned']:.1f} s, {took['completions']:,} completions merged in {took['merged']:.1f} s"
    common = {"target": "", "detail": f"{detail}; store {took['store_mb']:.0f} MB"}
    return [
        {
            **common,
            "name": f"{MANY:,} items planned and merged",
            "measured": seconds,
            "target": f"≤ {MANY_S:.0f} s",
            "unit": "s",
        },
        {
            **common,
            "name": f"memory of the driver with {MANY:,} items",
            "measured": took["peak_mb"],
            "target": f"≤ {MANY_MB:,.0f} MB",
            "holds": took["peak_mb"] <= MANY_MB,
            "unit": "MB",
        },
    ]


def main(folder: Path) -> None:
    """Plan few_shot over many items, write the completions that it asks for into two stores, and merge these."""
    import pandas as pd

    import srdcr_lab as lab
    from srdcr_lab.models.store import Store
    from srdcr_lab.study.run import run_items, wait_for

    frame = pd.DataFrame(
        {
            "question": [f"In what year was bridge number {i} opened?" for i in range(MANY)],
            "gold_answer": "1874",
            "context": [f"Bridge number {i} crosses a river. It opened in 1874." for i in range(MANY)],
            "answer_type": "year",
            "domain": "years",
        }
    )
    with lab.Study(StandIn(), frame, "few_shot", samples=0) as study:
        started = time.perf_counter()
        study.plan()
        planned = time.perf_counter() - started
        items = study.items
    del frame
    (folder / "shards").mkdir()
    for k in range(2):
        part = replace(items, items=items.items[k::2])

        async def fill(study: lab.Study, store: Store) -> None:
            with store.transaction():  # one for all: it is not the filling that is timed
                async for _ in run_items(study.setup, study.methods, on_done=lambda: None):
                    pass

        path = folder / f"shards/{k}.sqlite"
        with closing(Store(path)) as store, lab.Study(StandIn(), part, "few_shot", samples=0, store=store) as study:
            wait_for(fill(study, store))
    completions, merged = _merged(folder)
    size = (folder / "store.sqlite").stat().st_size / 1e6
    took = {"planned": planned, "merged": merged, "completions": completions, "peak_mb": peak_mb(), "store_mb": size}
    print(json.dumps(took))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
