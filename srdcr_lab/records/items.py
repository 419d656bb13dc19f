"""An item: one question, its gold answer, and what a model is shown with it: a passage, options, or documents."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.records.vocabulary import AnswerType, DocumentKind, Level, Needs, PerturbationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A worked question for a few-shot prompt; never one that is evaluated."""

    question: str
    answer: str
    context: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a multiple-choice question, or one side of a binary claim."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One of several documents about a question. `kind` and `answer` (what it asserts) are known for benchmarks."""

    document_id: str
    text: str
    source: str = ""
    kind: DocumentKind | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One (q, a, c) of the paper [2.1]; or a question with options, or with several documents.

    On a standard item `claimed_answer` equals `gold_answer`. `aliases` are accepted spellings of the gold answer,
    `unit` belongs to a number. `perturbation_value` is a signed offset in the answer's unit, a factor, or None (none,
    substitution). `context` is empty where there is no single passage. With `options`, `gold_answer` is a label and
    `answer_type` OPTION. `other_gold_answers` are further right answers, not spellings; `wrong_answers` are those that
    documents assert wrongly.
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
    options: tuple[Option, ...] = ()
    documents: tuple[Document, ...] = ()
    other_gold_answers: tuple[str, ...] = ()
    wrong_answers: tuple[str, ...] = ()

    @property
    def is_standard(self) -> bool:
        """True where the passage tells the truth."""
        return self.perturbation_kind is PerturbationKind.NONE

    @property
    def gold_answers(self) -> tuple[str, ...]:
        """Every right answer; nearly always the one."""
        return (self.gold_answer, *self.other_gold_answers)

    def has(self, need: Needs) -> bool:
        """Whether the item has what a method needs. Beside options a passage is evidence, not the one to be doubted."""
        doubted = self.context if not self.options else ""
        given = {Needs.PASSAGE: doubted, Needs.OPTIONS: self.options, Needs.DOCUMENTS: self.documents}
        return need is Needs.QUESTION or bool(given[need])
