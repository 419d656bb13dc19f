"""How near a study over an API comes to the bound max(Σ latency / concurrency, longest item), and its own CPU.

The server is another process; its latency (mean 300 ms, log-normal) is a function of the request alone. The longest
item is at most the longest chain of waiting calls: openings, then critic and defender a round, then the last ruling.
CPU is that of this process per request, beside the bare official client sending as many requests.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.serving import requests, server

CONCURRENCY, LATENCY_MS, RATIO, CPU_MS = 64, 300.0, 1.10, 1.0


def rows() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "study.jsonl"
        with server(log, latency_ms=LATENCY_MS) as address:
            wall, study_cpu = _study(address, Path(folder))
        asked = requests(log)
        total = sum(float(request["delay_s"]) for request in asked)  # type: ignore[arg-type]
        bound = max(total / CONCURRENCY, _longest_item(asked))
        bare_log = Path(folder) / "bare.jsonl"
        bodies = [request["body"] for request in asked]
        with server(bare_log, latency_ms=LATENCY_MS) as address:
            bare_wall, bare_cpu = asyncio.run(_bare(address, bodies))
    n = len(asked)
    own = 1000 * (study_cpu - bare_cpu) / n
    return [
        {
            "name": "API scheduling, against its bound",
            "measured": wall / bound,
            "target": f"≤ {RATIO}",
            "holds": wall / bound <= RATIO,
            "unit": "×",
            "detail": f"{n} requests, concurrency {CONCURRENCY}, Σ latency {total:.0f} s: bound {bound:.1f} s, "
            f"study {wall:.1f} s, bare client without order {bare_wall:.1f} s",
        },
        {
            "name": "own CPU a request, beside the SDK's",
            "measured": own,
            "target": f"≤ {CPU_MS} ms",
            "holds": own <= CPU_MS,
            "unit": "ms",
            "detail": f"study {1000 * study_cpu / n:.2f} ms, bare official client {1000 * bare_cpu / n:.2f} ms",
        },
    ]


def _study(address: str, folder: Path) -> tuple[float, float]:
    import srdcr_lab as lab
    from srdcr_lab.models.openai import OpenAIChat

    model = OpenAIChat("timed", base_url=address, concurrency=CONCURRENCY)
    with lab.Study(model, "facts:testbed", "few_shot,sr_dcr", store=folder / "store.sqlite") as study:
        study.setup  # noqa: B018 (opens the store before the clock starts)
        wall, cpu = time.perf_counter(), time.process_time()
        study.run(progress=False)
        return time.perf_counter() - wall, time.process_time() - cpu


async def _bare(address: str, bodies: list[Any]) -> tuple[float, float]:
    import openai

    async with openai.AsyncOpenAI(base_url=address, api_key="none") as client:
        slots = asyncio.Semaphore(CONCURRENCY)

        async def send(body: Any) -> None:
            async with slots:
                await client.chat.completions.create(**body)

        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(send, bodies))
        return time.perf_counter() - wall, time.process_time() - cpu


def _longest_item(asked: list[dict[str, object]]) -> float:
    """Upper bound on one item's chain of debate turns, by question and passage."""
    chains: dict[str, float] = {}
    for request in asked:
        messages: Any = request["body"]["messages"]  # type: ignore[index]
        if "Judge" not in messages[0]["content"] and request["body"].get("max_tokens", 0) > 100:  # type: ignore[index, union-attr]
            last = json.dumps(messages[-1]["content"]).rsplit("Question:", 1)[-1]
            chains[last] = chains.get(last, 0.0) + float(request["delay_s"])  # type: ignore[arg-type]
    return max(chains.values(), default=0.0) / 2  # a question has two items in the testbed
