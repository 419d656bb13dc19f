"""A study with local weights: what is computed of its prompts, in what time and memory; and two engines side by side.

`rows`: every method on a few items with the pocket model, with the states of all earlier prompts kept, and with room
for those of a fifth of their tokens. Each study has a process and a store of its own.

    python -m bench.local_study hf:FOLDER gguf:FILE [--limit 10] [--methods few_shot,sr_dcr] [--samples 8] [--rounds 6]

runs the same items through each model named, such as the same weights in this package's engine and in llama.cpp, and
prints wall, CPU, peak memory, tokens and accuracy. It may take an hour: use a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.memory import peak_mb

ITEMS, TARGET = 20, 1.15
BYTES_A_TOKEN = 4096  # of the pocket model: keys and values of 4 layers, 128 numbers each


def rows() -> list[dict[str, object]]:
    study = {"methods": "all", "limit": ITEMS}
    kept = measured("pocket", study)
    a_fifth = kept["distinct_tokens"] // 5
    small = {"kept_bytes": a_fifth * BYTES_A_TOKEN, "max_batch_tokens": a_fifth}
    short = measured("pocket", study, **small)
    ratio, of_few = (each["prefill_tokens"] / each["distinct_tokens"] for each in (kept, short))
    costs, of_short = (
        f"{each['wall_s']:.0f} s ({each['cpu_s']:.0f} of CPU), {each['peak_mb']:,.0f} MB" for each in (kept, short)
    )
    return [
        {
            "name": f"prompt tokens computed in a study of {ITEMS} items with every method, to distinct ones",
            "measured": ratio,
            "target": f"≤ {TARGET}",
            "holds": ratio <= TARGET,
            "unit": "times",
            "detail": f"pocket model: {kept['prefill_tokens']:,} for {kept['distinct_tokens']:,}, {costs}; with room "
            f"for the states of a fifth of these tokens {of_few:.3g} times, {of_short}",
        }
    ]


def measured(spec: str, study: dict[str, Any], **options: Any) -> dict[str, Any]:
    """What a study of this model costs; `study` holds arguments of `Study`, `options` those of the model's adapter."""
    command = [sys.executable, "-m", "bench.local_study", "--one", json.dumps([spec, study, options])]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(spec: str, study: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    import srdcr_lab as lab
    from srdcr_lab.models import Store
    from srdcr_lab.study.run import wait_for

    with tempfile.TemporaryDirectory() as folder:
        model = lab.load_model(spec, **options)
        wall = time.perf_counter()
        with lab.Study(model, "facts:testbed", out=f"{folder}/run", store=f"{folder}/store.sqlite", **study) as asked:
            results = asked.run(progress=False)
            sent = model.sent() if hasattr(model, "sent") else {}
            chat = getattr(getattr(model, "_chat", None), "_format", None)  # gone once the study closes its model
            right = results.records["correct"].fillna(False).astype(float)
            accuracy = right.groupby(results.records["method"]).mean().round(3).to_dict()
        wall = time.perf_counter() - wall
        if chat:
            with closing(Store(f"{folder}/store.sqlite")) as store:
                sent["distinct_tokens"] = distinct_tokens(
                    chat.prompt_ids(request.messages) for _, request, _ in store.contents()
                )
        wait_for(model.aclose())  # llama.cpp has a process of its own, which is counted once it has ended
        cpu, peak = sum(os.times()[:4]), max(peak_mb(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
        store = Store(f"{folder}/store.sqlite")
        ((identity, completions, prompt_tokens, completion_tokens),) = store.models()
        store.close()
    counts = {"completions": completions, "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    costs = {"wall_s": round(wall, 1), "cpu_s": round(cpu, 1), "peak_mb": round(peak)}
    return {"model": str(identity), **costs, **counts, "accuracy": accuracy, **sent}


def distinct_tokens(prompts: Iterable[Sequence[int]]) -> int:
    """How many tokens are to be computed at least: equal beginnings count once."""
    beginnings = set()
    for prompt in prompts:
        beginning = 0
        for token in prompt:
            beginning = hash((beginning, token))
            beginnings.add(beginning)
    return len(beginnings)


def main() -> None:
    parser = argparse.ArgumentParser(description="the same items through several local models")
    parser.add_argument("models", nargs="*", help="as in --model of srdcr run")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--methods", default="few_shot,sr_dcr")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(*json.loads(asked.one))))
        return
    study = {"methods": asked.methods, "limit": asked.limit, "samples": asked.samples, "rounds": asked.rounds}
    for spec in asked.models:
        for name, value in measured(spec, study).items():
            print(f"{name:>24}  {value}", flush=True)
        print()


if __name__ == "__main__":
    main()
