"""What a method returns for one item."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.protocols.answering import Answer
from srdcr_lab.protocols.confidence import SelfConfidence
from srdcr_lab.protocols.decision import Ruling
from srdcr_lab.records import Debate, Decision, Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer a method settles on, or why there is none, and how it got there.

    `answer` is None where the method abstains; where it was given but could not be read, `missing` is UNPARSED.
    `values` are all its answers where a method may give several, else empty. `agreed_round` is the round in which
    agents who debate as equals agreed. `error` says in words why a method that was answered could not go on (`missing`
    is ERROR then).
    """

    answer: Answer | None
    missing: Missing | None = None
    decision: Decision | None = None
    ruling: Ruling | None = None
    debate: Debate | None = None
    confidence: SelfConfidence | None = None
    values: tuple[str, ...] = ()
    agreed_round: int | None = None
    context_confidence: float | None = None
    error: str | None = None


def given(answer: Answer, debate: Debate | None = None, decision: Decision | None = None) -> Outcome:
    """The outcome of a method that always answers: an answer that cannot be read is UNPARSED."""
    missing = Missing.UNPARSED if answer.value is None else None
    return Outcome(answer=answer, missing=missing, decision=decision, debate=debate)
