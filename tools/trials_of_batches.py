"""Kill processes that wait for batches, at random moments, over loopback servers of both providers' APIs.

    python tools/trials_of_batches.py [--kills 40] [--seed 0]

A wave is killed up to five times before it may end. Then each of its completions has to be in the store, nothing may be
under way, and the server counts the lines that it was given although it had them already.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from srdcr_lab.models import Store, batches  # noqa: E402
from srdcr_lab.records import ModelIdentity  # noqa: E402
from tests.asking_batches import main as ask  # noqa: E402
from tests.asking_batches import wave  # noqa: E402
from tests.loopback.server import Loopback  # noqa: E402

REQUESTS, LATENCY_S, LIMIT_S = 12, 0.02, 60


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 40), ("seed", 0)):
        given.add_argument(f"--{name}", type=int, default=default)
    asked = given.parse_args()
    batches._GRACE_S = 20 * LATENCY_S  # for which a batch that was made, and is not listed, may still appear
    chance, began = random.Random(asked.seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="srdcr-batches-") as place, Loopback() as server:
        server.batches.rules.latency_s = LATENCY_S
        length = max(
            trial(provider, f"{provider}-whole", Path(place), server, []) for provider in ("openai", "anthropic")
        )
        kills: Counter[str] = Counter()
        for number in range(10 * asked.kills):
            provider = "openai" if kills["openai"] <= kills["anthropic"] else "anthropic"
            moments = [chance.uniform(0, length) for _ in range(chance.randint(1, 5))]
            kills[provider] += int(trial(provider, f"{provider}-{number}", Path(place), server, moments))
            if kills.total() >= asked.kills:
                break
        twice, accepted = len(server.batches.twice), server.batches.accepted.total()
    told = ", ".join(f"{number} of {provider}" for provider, number in kills.items())
    print(f"batches: {kills.total()} kills ({told}), {accepted:,} requests accepted; {time.monotonic() - began:.0f} s")
    print(f"requests accepted twice: {twice}")
    return int(twice > 0 or kills.total() < asked.kills)


def trial(provider: str, name: str, place: Path, server: Loopback, moments: list[float]) -> float:
    """Ask a wave, killed at these moments, seconds after it began; return how many landed, or how long it took."""
    landed, store = 0, place / f"{name}.sqlite"
    for moment in [*moments, LIMIT_S]:
        began = time.monotonic()
        arguments = provider, server.url, str(store), str(REQUESTS), name
        process = multiprocessing.get_context("fork").Process(target=run, args=arguments)
        process.start()
        process.join(moment)
        landed += process.exitcode is None
        if process.exitcode is None:
            process.kill()
            process.join()
        elif process.exitcode:
            raise SystemExit(f"{name}: exit code {process.exitcode} after {landed} kills")
    with closing(Store(store)) as opened:
        identity = ModelIdentity(provider, name)
        missing = sum(not opened.get(identity, each) for each in wave(REQUESTS))
        if missing or opened.batches(identity.key) or opened.integrity():
            raise SystemExit(f"{name}: {missing} completions are missing after {landed} kills")
    return landed if moments else time.monotonic() - began


def run(*arguments: str) -> None:
    asyncio.run(ask(*arguments, tell=lambda _: None))


if __name__ == "__main__":
    sys.exit(main())
