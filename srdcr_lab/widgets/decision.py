"""The decision of SR-DCR in one sentence: what followed from what."""

from __future__ import annotations

from srdcr_lab.protocols import Choices, Outcome
from srdcr_lab.records import Decision, Item


def explain(item: Item, outcome: Outcome, choices: Choices) -> str:
    """Why this decision: verdict, confidence against τ, and whether the answer is right."""
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
