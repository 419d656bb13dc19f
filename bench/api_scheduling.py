"""How near a study over an API comes to the bound max(Σ latency / concurrency, longest item), and its own CPU.

The server is another process; its latency (log-normal) is a function of the request alone. Its mean is 300 ms on the
machine for which the target was set; on a slower one it is as much longer (`yardstick`), for there the official client
alone would need more CPU than the bound leaves. The longest item is at most the longest chain of waiting calls:
openings, then critic and defender a round, then the last ruling. Whoever does not know the latencies ends above the
bound, since the last requests end one by one; the detail says how far above without any CPU. CPU is that of this
process per request, beside the bare official client sending as many requests.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from typing import Any

from bench.serving import completions_asked, server
from bench.yardstick import slowness

ITEMS, CONCURRENCY, LATENCY_MS, RATIO, CPU_MS = 150, 64, 300.0, 1.05, 1.0


def rows() -> list[dict[str, object]]:
    latency_ms = LATENCY_MS * max(1.0, slowness())
    with server(latency_ms=latency_ms) as address:
        wall, study_cpu = _study(f"{address}/v1")
        asked = completions_asked(address)
    total = sum(request["delay_s"] for request in asked)
    bound = max(total / CONCURRENCY, _longest_item(asked))
    with server(latency_ms=latency_ms) as address:
        bare_wall, bare_cpu = asyncio.run(_bare(f"{address}/v1", [request["body"] for request in asked]))
    blind = _without_cpu([request["delay_s"] for request in asked])
    n = len(asked)
    own = 1000 * (study_cpu - bare_cpu) / n
    return [
        {
            "name": "API scheduling, against its bound",
            "measured": wall / bound,
            "target": f"≤ {RATIO}",
            "holds": wall / bound <= RATIO,
            "unit": "×",
            "detail": f"{n} requests, concurrency {CONCURRENCY}, mean latency {latency_ms:.0f} ms: "
            f"bound {bound:.1f} s, study {wall:.1f} s, bare client without order {bare_wall:.1f} s, without any CPU "
            f"{blind[50]:.1f} s (in 9 of 10 orders {blind[5]:.1f} to {blind[95]:.1f} s)",
        },
        {
            "name": "API scheduling, beside a bare client that waits for nothing",
            "measured": wall / bare_wall,
            "target": "≤ 1",
            "holds": wall <= bare_wall,
            "unit": "×",
            "detail": f"the same requests: study {wall / bound:.3f} × the bound, bare client {bare_wall / bound:.3f} ×",
        },
        {
            "name": "own CPU a request, beside the SDK's",
            "measured": own,
            "target": f"≤ {CPU_MS} ms",
            "unit": "ms",
            "detail": f"study {1000 * study_cpu / n:.2f} ms, bare official client {1000 * bare_cpu / n:.2f} ms",
        },
    ]


def _study(address: str) -> tuple[float, float]:
    import srdcr_lab as lab
    from srdcr_lab.models.openai import OpenAIChat

    model = OpenAIChat("timed", base_url=address, concurrency=CONCURRENCY)
    with lab.Study(model, "facts:grid", "few_shot,sr_dcr", limit=ITEMS) as study:
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


def _without_cpu(latencies: list[float]) -> list[float]:
    """How long these requests take in each of 101 random orders if a free slot is filled at once, sorted."""
    took = []
    for seed in range(101):
        slots = [0.0] * CONCURRENCY
        for latency in random.Random(seed).sample(latencies, len(latencies)):
            heapq.heapreplace(slots, slots[0] + latency)
        took.append(max(slots))
    return sorted(took)


def _longest_item(asked: list[dict[str, Any]]) -> float:
    """The longest chain of waiting calls of one item: its defender's turns, with the critic's turns they answer."""
    chains: dict[str, float] = {}
    for request in asked:
        messages = request["body"]["messages"]
        speaks = messages[0]["content"].startswith("You are the Defender")
        if speaks:  # the passage, which only the defender sees, names the item
            passage = messages[-1]["content"].partition("</passage>")[0]
            chains[passage] = chains.get(passage, 0.0) + request["delay_s"]
    return 2 * max(chains.values(), default=0.0)
