"""What a move of a calibration slider computes, at 600 and at 100,000 rows; milliseconds of CPU, the least of ten.

τ, α and δ move over steps made before; another domain or kind makes the steps and the reliability curve anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from srdcr_lab.confidence import precision_steps
from srdcr_lab.lib.calibration import reliability_curve
from srdcr_lab.thresholds import learn_then_test, naive_threshold

TARGETS = {600: 16.0, 100_000: 50.0}


def rows() -> list[dict[str, object]]:
    table: list[dict[str, object]] = []
    for n, target in TARGETS.items():
        for name, move in _moves(n).items():
            measured = _least(move)
            table.append(
                {
                    "name": f"{name}, {n:,} rows",
                    "measured": measured,
                    "target": f"≤ {target:g} ms",
                    "unit": "ms",
                    "detail": "kernel's side",
                }
            )
    return table


def _moves(n: int) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    confidence = rng.beta(4, 1, n)
    right = rng.random(n) < confidence
    steps = precision_steps(confidence, right)

    def choose() -> object:
        return learn_then_test(steps), naive_threshold(steps)

    def anew() -> object:
        made = precision_steps(confidence, right)
        return made.at(0.9), learn_then_test(made), reliability_curve(confidence, right)

    return {"move τ": lambda: steps.at(0.9), "move α or δ": choose, "another domain or kind": anew}


def _least(move: Callable[[], object]) -> float:
    def once() -> float:
        started = time.process_time()
        move()
        return 1000 * (time.process_time() - started)

    return min(once() for _ in range(10))
