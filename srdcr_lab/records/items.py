"""An item: one question, its gold answer, and what a model is shown with it: a passage, options, or documents."""

from __future__ import annotations

from dataclasses import dataclass

from srdcr_lab.records.vocabulary import AnswerType, DocumentKind, Level, Needs, PerturbationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A worked question for a few-shot prompt. It is never one that is evaluated."""

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
    """One of several documents about a question. Benchmarks also say its `kind` and which `answer` it asserts."""

    document_id: str
    text: str
    source: str = ""
    kind: DocumentKind | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question, its gold answer and its passage: (q, a, c) [2.1]. Or a question with options or several documents.

    `aliases` are accepted spellings of `gold_answer`, which is a label where there are `options`. `claimed_answer` is
    what the passage asserts; on a standard item it is the gold answer. `perturbation_value` is a signed offset in the
    answer's unit or a factor, else None. `context` is empty where there is no single passage. `unit` is a number's.
    `other_gold_answers` are further right answers, `wrong_answers` those that documents assert wrongly.
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
        """Whether the passage tells the truth."""
        return self.perturbation_kind is PerturbationKind.NONE

    @property
    def gold_answers(self) -> tuple[str, ...]:
        """Every right answer, nearly always one."""
        return (self.gold_answer, *self.other_gold_answers)

    def has(self, need: Needs) -> bool:
        """Whether the item has what a method needs. A passage beside options is evidence and not to be doubted."""
        passage = self.context if not self.options else ""
        shown = {Needs.PASSAGE: passage, Needs.OPTIONS: self.options, Needs.DOCUMENTS: self.documents}
        return need is Needs.QUESTION or bool(shown[need])
