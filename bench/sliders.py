"""A slider move on the kernel's side: from the new value to the message with the new picture, at 600 items and at
100,000 rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from statistics import median, quantiles
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

TARGETS = {600: 16, 100_000: 50}  # items → milliseconds
MOVES = 200


def rows() -> list[dict[str, object]]:
    from srdcr_lab.confidence import tuner
    from srdcr_lab.knowledge import category_thresholds

    _serialise_messages()
    found = []
    for n, target in TARGETS.items():
        questions, records = _tables(n)
        manifest = {"asked": {"choices": {"tau": 0.9, "gate": True}}}
        results: Any = SimpleNamespace(records=records, questions=questions, label="", manifest=manifest)
        results.known = results
        charts = {"categories": (category_thresholds(questions), "highly"), "τ": (tuner(results), "tau")}
        controls = {name: (made.shown.params, parameter) for name, (made, parameter) in charts.items()}
        found += [
            _row(f"a slider move, {name}, {n:,} items", _to_and_fro(*control), target)
            for name, control in controls.items()
        ]
    return found


def _row(name: str, milliseconds: list[float], target: int) -> dict[str, object]:
    return {
        "name": name,
        "measured": median(milliseconds),
        "target": f"≤ {target} ms",
        "unit": "ms",
        "detail": f"median of {len(milliseconds)}; 95th percentile {quantiles(milliseconds, n=20)[-1]:.2f} ms",
    }


def _to_and_fro(slider: Any, name: str) -> list[float]:
    """Set the slider to values to and fro, as a drag does."""
    values = np.round(0.5 + 0.45 * np.sin(np.arange(MOVES)), 2)
    return _moves(lambda value: setattr(slider, name, float(value)), values)


def _moves(move: Callable[[Any], object], values: Iterable[Any]) -> list[float]:
    taken = []
    for value in values:
        started = time.perf_counter()
        move(value)
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def _serialise_messages() -> None:
    """Outside a kernel widgets talk to nobody: let each message at least be written as JSON, as a kernel does."""
    import comm

    class Written(comm.base_comm.BaseComm):
        def publish_msg(
            self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
        ) -> None:
            json.dumps([msg_type, data, metadata])

    comm.create_comm = Written


def _tables(n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Made-up tables of n items: half as many questions of six domains, each with a true and a false passage."""
    rng = np.random.default_rng(0)
    q = n // 2
    accuracy = rng.binomial(32, rng.beta(0.4, 0.6, q)) / 32
    names = np.array(["HIGHLY_KNOWN", "MAYBE_KNOWN", "WEAKLY_KNOWN", "UNKNOWN"])
    labels = names[np.where(accuracy >= 0.85, 0, np.where(accuracy >= 0.3, 1, np.where(accuracy > 0, 2, 3)))]
    confidence = np.clip(accuracy + rng.normal(0, 0.1, q), 0, 1)
    domains = rng.choice(["cities", "drugs", "names", "news", "records", "years"], q)
    right = rng.random(q) < confidence
    questions = pd.DataFrame(
        {
            "question_id": np.arange(q).astype(str),
            "question": [f"When was society {k} founded?" for k in range(q)],
            "domain": domains,
            "sampled_accuracy": accuracy,
            "knowledge_category": labels,
            "self_confidence": confidence,
            "confidence_kind": "mean_logprob",
            "prior_correct": right,
        }
    )
    records = pd.DataFrame(
        {
            "item_id": np.arange(2 * q).astype(str),
            "question_id": np.repeat(questions["question_id"].to_numpy(), 2),
            "domain": np.repeat(domains, 2),
            "method": "sr_dcr",
            "model": "pocket",
            "design": "acvd",
            "confidence_kind": "mean_logprob",
            "level": np.tile(["standard", "mild"], q),
            "perturbation_kind": np.tile(["none", "offset"], q),
            "perturbation_value": np.tile([np.nan, 40.0], q),
            "verdict": rng.choice(["REASONABLE", "UNREASONABLE", "UNPARSED"], 2 * q, p=[0.5, 0.45, 0.05]),
            "self_confidence": np.repeat(confidence, 2),
            "context_correct": rng.random(2 * q) < 0.5,
            "prior_correct": np.repeat(right, 2),
            "correct": pd.array([None] * (2 * q), "boolean"),
            "missing": None,
        }
    )
    return questions, records
