"""An item: one question, its gold answer and one passage, with how the passage was perturbed."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.records.vocabulary import AnswerType, Level, PerturbationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A worked question for a few-shot prompt; never one that is evaluated."""

    question: str
    answer: str
    context: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One (q, a, c) of the paper [2.1].

    On a standard item `claimed_answer` equals `gold_answer`. `aliases` are accepted spellings of the gold answer,
    `unit` belongs to a number. `perturbation_value` is a signed offset in the answer's unit, a factor, or None (none,
    substitution).
    """

    item_id: str
    question_id: str
    question: str
    gold_answer: str
    context: str
    claimed_answer: str
    domain: str = "general"
    answer_type: AnswerType = AnswerType.TEXT
    aliases: tuple[str, ...] = ()
    unit: str = ""
    perturbation_kind: PerturbationKind = PerturbationKind.NONE
    perturbation_value: float | None = None
    level: Level = Level.STANDARD

    @property
    def is_standard(self) -> bool:
        """True where the passage tells the truth."""
        return self.perturbation_kind is PerturbationKind.NONE
