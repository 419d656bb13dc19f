"""A decision in one sentence: what followed from what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from srdcr_lab.protocols import METHODS, Choices, Outcome
from srdcr_lab.records import Decision, Item, Verdict


def explain(item: Item, outcome: Outcome, choices: Choices) -> str:
    """Why SR-DCR decided so: verdict, confidence against τ, and whether the answer is right."""
    ruling, confidence = outcome.ruling, outcome.confidence
    if ruling is None or confidence is None:
        return "This method does not use the decision rule."
    relation = "≥" if confidence.value >= choices.tau else "not ≥"
    belief = f"Conf = {confidence.value:.3f} ({confidence.kind}) is {relation} τ = {choices.tau:g}"
    reason = f"V* = {ruling.verdict}" + ("" if outcome.decision is Decision.USE_CONTEXT else f" and {belief}")
    if outcome.answer is None or outcome.missing:
        return (
            f"{reason}, so the decision is {outcome.decision} and there is no answer. The truth is {item.gold_answer}."
        )
    return f"{reason}, so the decision is {outcome.decision}: {outcome.answer.value}. The truth is {item.gold_answer}."


def explain_row(row: Mapping[str, Any]) -> str:
    """The same for a row of the table records, of any method; what is missing is None."""
    truth = f"The truth is {' and '.join(row['gold_answers'])}."
    if row["missing"] == "error":
        return f"There is no answer, and accuracy counts that as wrong: {row['error']}. {truth}"
    answer = " and ".join(row["final_answers"]) if row["final_answer"] is not None else None
    if row["decision"] is None:
        said = "No answer could be read in the reply" if answer is None else f"The method answers {answer}"
        return f"{said}. {truth}"
    end = f": {answer}" if answer is not None else " and there is no answer"
    return f"{_reason(row)}, so the decision is {row['decision']}{end}. {truth}"


def _reason(row: Mapping[str, Any]) -> str:
    if row["method"] == "golden":
        return "This reference knows whether the passage is true"
    if row["context_confidence"] is not None:
        ranked = ", compared by rank among all items" if row["method"].startswith("calibrated") else ""
        return (
            f"Mean token probability is {_number(row['self_confidence'])} for the prior answer and "
            f"{_number(row['context_confidence'])} for the context answer{ranked}"
        )
    method, verdict = METHODS.get(row["method"]), row["verdict"]
    if verdict is None:
        debates = method is None or method.debates
        return "Prior and context answer agree without a debate" if debates else _belief(row)
    weighed = row["decision"] != Decision.USE_CONTEXT and verdict != Verdict.UNPARSED
    believes = method is not None and method.uses_confidence and weighed
    return f"V* = {verdict}" + (f" and {_belief(row)}" if believes else "")


def _belief(row: Mapping[str, Any]) -> str:
    confidence, tau = row["self_confidence"], row["tau"]
    passes = confidence is not None and confidence >= tau
    ignored = row["verdict"] is not None and row["decision"] == Decision.USE_PRIOR and not passes
    compared = f"Conf = {_number(confidence)} ({row['confidence_kind']}) is {'≥' if passes else 'not ≥'} τ = {tau:g}"
    return compared + (" (which this preset leaves out)" if ignored else "")


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.3f}"
