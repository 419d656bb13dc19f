"""Records of an invented model: every method and design on paired years, as a run would write them. For tests alone."""

from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.lib.definitions import knowledge_category

OFFSETS = (-200, -100, -60, -40, -20, 20, 40, 60, 100, 200)
LEVELS = {20: "subtle", 40: "mild", 60: "moderate", 100: "blatant", 200: "blatant"}
DEBATING = ("sr_dcr", "debate_only")
CALLS = {"zero_shot": 1, "few_shot": 1, "self_ask": 1, "rci": 3, "naive_debate": 9, "golden": 2, "confidence_only": 2,
         "judge_debate_1": 7, "judge_debate_3": 11, "judge_debate_5": 15, "debate_only": 20, "sr_dcr": 20}  # fmt: skip
NULLABLE = {"prior_correct": "boolean", "context_correct": "boolean", "correct": "boolean", "stabilised": "boolean",
            "r_star": "Int64", "rounds": "Int64", "n_samples": "Int64", "perturbation_value": float,
            "p_unreasonable": float}  # fmt: skip


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    """Rows in the types that records have, so that what is missing stays apart from what is false or none."""
    table = pd.DataFrame(rows)
    return table.astype({name: kind for name, kind in NULLABLE.items() if name in table})


def simulated(
    n_questions: int = 60, designs: tuple[str, ...] = ("acvd",), seed: int = 0, model: str = "simulated"
) -> pd.DataFrame:
    """Two items a question, true and false; what is known well is followed less and debated better.

    One row in forty has an error, an answer that was not read, or a verdict that was not.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for q in range(n_questions):
        gold, known = int(rng.integers(1000, 1990)), float(rng.choice([0.02, 0.2, 0.6, 0.98]))
        sampled = int(rng.binomial(32, known)) / 32
        right = rng.random() < known
        prior = gold if right else gold + int(rng.integers(3, 30))
        confidence = float(np.clip(known + rng.normal(0, 0.08), 0.01, 0.999))
        question = {
            "question_id": f"q{q}", "domain": ("years", "records")[q % 2], "answer_type": "year",
            "question": f"In what year did event {q} happen?", "gold_answer": str(gold), "model": model,
            "prior_answer": str(prior), "prior_correct": right, "self_confidence": confidence,
            "confidence_kind": "mean_logprob", "sampled_accuracy": sampled, "n_samples": 32, "tau": 0.9,
            "knowledge_category": knowledge_category(sampled), "knowledge_decoding": "T=0.5",
        }  # fmt: skip
        for offset in (0, OFFSETS[q % len(OFFSETS)]):
            rows += _item(question, gold, prior, offset, known, designs, rng)
    rows = [{"final_answers": [row["final_answer"]], "right": bool(row["correct"])} | row for row in rows]
    return frame(*rows)


def _item(
    question: dict[str, Any], gold: int, prior: int, offset: int, known: float, designs: tuple[str, ...],
    rng: np.random.Generator,
) -> list[dict[str, Any]]:  # fmt: skip
    claim = gold + offset
    follows = offset == 0 or rng.random() < 1 - known * (0.3 + 0.6 * min(abs(offset), 100) / 100)
    context = claim if follows else prior
    item = question | {
        "item_id": question["question_id"] + (f"@{offset:+d}" if offset else ""), "claimed_answer": str(claim),
        "perturbation_kind": "offset" if offset else "none", "perturbation_value": float(offset) if offset else np.nan,
        "level": LEVELS[abs(offset)] if offset else "standard", "context_answer": str(context),
        "context_correct": context == gold,
    }  # fmt: skip
    picks = {
        "zero_shot": context, "few_shot": context, "golden": prior if offset else context,
        "self_ask": context if rng.random() < 0.9 else prior, "rci": context if rng.random() < 0.8 else prior,
        "naive_debate": prior if offset and rng.random() < known / 2 else context,
        "confidence_only": prior if question["self_confidence"] >= 0.9 else context,
        **{f"judge_debate_{r}": context if rng.random() < 0.5 + 0.08 * r else prior for r in (1, 3, 5)},
    }  # fmt: skip
    rows = [_row(item, method, str(pick), gold, rng) for method, pick in picks.items()]
    for design in designs:
        rows += _debated(item, design, gold, prior, context, known, rng)
    return rows


def _debated(
    item: dict[str, Any], design: str, gold: int, prior: int, context: int, known: float, rng: np.random.Generator
) -> list[dict[str, Any]]:
    false = item["level"] != "standard"
    reject = (0.2 + 0.7 * known if design == "acvd" else 0.2 + 0.4 * known) if false else 0.08
    path = "".join(rng.choice(["U", "R"], p=[reject, 1 - reject]) for _ in range(2))
    path += path[-1] * 4 if rng.random() > 1 / 40 else "RU" + path[-1] + "?"
    verdict = {"R": "REASONABLE", "U": "UNREASONABLE", "?": "UNPARSED"}[path[-1]]
    r_star = None if verdict == "UNPARSED" else len(path.rstrip(path[-1]))
    ruled = {"design": design, "verdict": verdict, "verdict_path": path, "r_star": r_star, "rounds": len(path)}
    ruled["stabilised"] = r_star is not None and r_star < len(path) - 1
    confident = item["self_confidence"] >= item["tau"]
    chosen = {"REASONABLE": ("USE_CONTEXT", context), "UNREASONABLE": ("USE_PRIOR", prior)}.get(verdict)
    gated = chosen if chosen and (chosen[0] == "USE_CONTEXT" or confident) else ("ABSTAIN", None)
    why = "unparsed" if verdict == "UNPARSED" else "abstained"
    rows = []
    for method, (decision, pick) in {"sr_dcr": gated, "debate_only": chosen or (None, None)}.items():
        missing = None if pick is not None else why
        row = _row(item | ruled, method, None if pick is None else str(pick), gold, rng, missing)
        rows.append(row | ({"decision": decision} if method == "sr_dcr" and row["missing"] != "error" else {}))
    return rows


def _row(
    item: dict[str, Any], method: str, pick: str | None, gold: int, rng: np.random.Generator, missing: str | None = None
) -> dict[str, Any]:
    if method not in DEBATING and rng.random() < 1 / 40:
        pick, missing = None, str(rng.choice(["unparsed", "error"]))
    calls = CALLS[method]
    return {"design": None, "verdict": None, "verdict_path": None, "r_star": None, "rounds": None, "stabilised": None,
            "decision": None, "p_unreasonable": None} | item | {
        "method": method, "final_answer": pick, "correct": None if pick is None else pick == str(gold),
        "missing": missing, "calls_alone": calls, "calls_paid": max(0, calls - 3),
        "prompt_tokens": 150 * calls + int(rng.integers(0, 20)), "completion_tokens": 9 * calls,
        "cost_usd": 0.001 * calls, "error": "the call failed" if missing == "error" else None,
    }  # fmt: skip
