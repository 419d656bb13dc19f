"""A slider move on the kernel's side: from the new value to the message with the new picture, at 600 items and at
100,000 rows; of the full evaluation (both tables and the flow, of every method) at 600 items."""

from __future__ import annotations

import json
import time
from statistics import median, quantiles
from typing import Any

import numpy as np
import pandas as pd

TARGETS = {600: 16, 100_000: 50}  # items → milliseconds
MOVES = 200


def rows() -> list[dict[str, object]]:
    from srdcr_lab.widgets import (
        category_sliders,
        confidence_slider,
        evaluation_controls,
        final_answer_controls,
        threshold_controls,
    )

    _serialise_messages()
    found = []
    for n, target in TARGETS.items():
        questions, records = _tables(n)
        boxes = {
            "categories": category_sliders(questions),
            "τ": confidence_slider(questions, records),
            "α": threshold_controls({"mean_logprob": questions}, records),
        }
        if n == min(TARGETS):
            boxes["τ of the full evaluation"] = evaluation_controls(_run(n))
            boxes["cost of a wrong answer"] = final_answer_controls(_run(n))
        for name, box in boxes.items():
            milliseconds = _moves(box.children[0])
            found.append(
                {
                    "name": f"a slider move, {name}, {n:,} items",
                    "measured": median(milliseconds),
                    "target": f"≤ {target} ms",
                    "holds": median(milliseconds) <= target,
                    "unit": "ms",
                    "detail": f"median of {MOVES}; 95th percentile {quantiles(milliseconds, n=20)[-1]:.2f} ms",
                }
            )
    return found


def _moves(slider: Any) -> list[float]:
    """Set the slider to values to and fro, as a drag does."""
    values = np.round(0.5 + 0.45 * np.sin(np.arange(MOVES)), 2)
    taken = []
    for value in values:
        started = time.perf_counter()
        slider.value = float(value)
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


def _run(n: int) -> pd.DataFrame:
    """A made-up run of every method: n items, half of them false by one of five offsets, so 14 n rows."""
    from srdcr_lab.measures import METHOD_LABELS

    questions, records = _tables(n)
    rng = np.random.default_rng(1)
    false = np.tile([False, True], n // 2)
    one = records.assign(
        perturbation_value=np.where(false, rng.choice([20.0, 40.0, 60.0, 100.0, 200.0], n), np.nan),
        sampled_accuracy=np.repeat(questions["sampled_accuracy"].to_numpy(), 2),
        answer_type="year",
        prior_answer="1900",
        context_answer=np.where(false, "1940", "1900"),
        context_confidence=rng.random(n),
    )
    methods = [
        one.assign(
            method=name,
            verdict=one["verdict"] if name in ("sr_dcr", "debate_only") else None,
            correct=pd.array(rng.random(n) < 0.5, "boolean"),
            final_answer=np.where(rng.random(n) < 0.5, "1900", "1940"),
        )
        for name in METHOD_LABELS
    ]
    return pd.concat(methods, ignore_index=True)


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
            "domain": domains,
            "sampled_accuracy": accuracy,
            "knowledge_category": labels,
            "self_confidence": confidence,
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
