"""One row of somebody's table as an item, or the sentence that names file, row and column of what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.data.cells import as_json, documents_of, options_of, wrong_answers_of
from srdcr_lab.data.items import answer_types
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind

LONGEST_PASSAGE = 100_000
_LISTS = ("documents", "options")  # columns whose cells are lists of objects, or JSON
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class TableRow:
    """One row of somebody's table, which knows its place for the sentence that says what is wrong."""

    def __init__(self, file: str, number: int, record: Mapping[Hashable, Any]) -> None:
        self.file, self.number, self.cells = file, number, _texts(record)

    @property
    def place(self) -> str:
        """What the row is called where it has no id of its own."""
        return f"row-{self.number}"

    def refuse_half_characters(self) -> None:
        for column, cell in self.cells.items():
            if _HALF_CHARACTER.search(cell):
                raise self.bad(column, "holds half of a character (a lone surrogate); repair the text")

    def get(self, column: str, default: str = "") -> str:
        return self.cells.get(column, "") or default

    def text(self, column: str) -> str:
        if not (value := self.get(column)):
            raise self.bad(column, "is empty")
        return value

    def several(self, column: str) -> tuple[str, ...]:
        """What stands between the bars of a cell."""
        return tuple(each.strip() for each in self.get(column).split("|") if each.strip())

    def bad(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.file}, row {self.number}, column {column}: {what}")

    def choice(self, column: str, vocabulary: type[StrEnum], default: Any) -> Any:
        value = self.get(column)
        try:
            return vocabulary(value) if value else default
        except ValueError:
            raise self.bad(column, f"{value!r} is none of {', '.join(vocabulary)}") from None


def _texts(record: Mapping[Hashable, Any]) -> dict[str, str]:
    import numpy as np
    import pandas as pd

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
            return "|".join(map(text, value))
        if pd.isna(value):
            return ""
        if isinstance(value, (float, np.floating)) and value.is_integer():
            return str(int(value))
        return str(value).strip()

    return {str(name): as_json(value) if name in _LISTS else text(value) for name, value in record.items()}


def item_of(row: TableRow, guessed: AnswerType, question_id: str) -> Item:
    """The item of a row; `guessed` is its answer type and `question_id` names its question where the row does not.

    Raises
    ------
    BadInput
        Naming file, row and column of what is wrong.
    """
    row.refuse_half_characters()
    documents = documents_of(row.get("documents"), partial(row.bad, "documents")) if row.get("documents") else ()
    question, gold = row.text("question"), row.text("gold_answer")
    context = row.get("context") if documents or row.get("options") else row.text("context")
    if row.get("options"):
        return _with_options(row, question, gold, context, question_id)
    answer_type = row.choice("answer_type", AnswerType, guessed)
    if answer_type is AnswerType.OPTION:
        raise row.bad("options", "is empty, but answer_type is option; name the options")
    unit = row.get("unit")
    if answers.normalise(gold, answer_type, unit) is None:
        raise row.bad("gold_answer", f"{gold!r} is no answer of type {answer_type}; types are {answer_types()}")
    _refuse_another_unit(row, gold, answer_type, unit)
    value = _number(row, "perturbation_value")
    item = Item(
        item_id=row.get(
            "item_id",
            f"{row.get('question_id')}@{value:+g}" if row.get("question_id") and value else row.place,
        ),
        question_id=row.get("question_id", question_id),
        question=question,
        gold_answer=gold,
        context=context,
        claimed_answer=row.get("claimed_answer", gold),
        domain=row.get("domain", "general"),
        answer_type=answer_type,
        aliases=row.several("aliases"),
        unit=unit,
        documents=documents,
        other_gold_answers=tuple(each for each in row.several("gold_answers") if each != gold),
    )
    item = replace(item, wrong_answers=wrong_answers_of(item, row.several("wrong_answers")))
    return _with_passage(row, item, value) if context else replace(item, claimed_answer=gold)


def _with_options(row: TableRow, question: str, gold: str, context: str, question_id: str) -> Item:
    """The item of a row with options; its passage, where there is one, need not contain the words of an option."""
    if row.get("documents"):
        raise row.bad("documents", "stands beside options; give a question one of the two and leave the other empty")
    options, label = options_of(row.get("options"), gold, partial(row.bad, "options"), partial(row.bad, "gold_answer"))
    if len(context) > LONGEST_PASSAGE:
        raise row.bad("context", f"the passage has {len(context):,} characters, at most {LONGEST_PASSAGE:,} are taken")
    if (named := row.choice("answer_type", AnswerType, AnswerType.OPTION)) is not AnswerType.OPTION:
        raise row.bad("answer_type", f"is {named}, but a question with options has the type option; leave it empty")
    return Item(
        item_id=row.get("item_id", row.place),
        question_id=row.get("question_id", question_id),
        question=question,
        gold_answer=label,
        context=context,
        claimed_answer=label,
        domain=row.get("domain", "general"),
        answer_type=AnswerType.OPTION,
        options=options,
    )


def _with_passage(row: TableRow, item: Item, value: float | None) -> Item:
    """The item with how far its passage departs from the truth."""
    if len(item.context) > LONGEST_PASSAGE:
        raise row.bad(
            "context",
            f"the passage has {len(item.context):,} characters, at most {LONGEST_PASSAGE:,} are taken; shorten it",
        )
    claim, gold = item.claimed_answer, item.gold_answer
    perturbed = not answers.equal(claim, gold, item.answer_type, item.unit, item.aliases)
    kind = row.choice(
        "perturbation_kind", PerturbationKind, PerturbationKind.SUBSTITUTION if perturbed else PerturbationKind.NONE
    )
    if perturbed == (kind is PerturbationKind.NONE):
        raise row.bad(
            "perturbation_kind",
            f"is {kind}, but claimed_answer {claim!r} is {'not ' if perturbed else ''}the gold answer",
        )
    if not answers.find(item.context, claim, item.answer_type, item.unit, () if perturbed else item.aliases):
        raise row.bad(
            "context",
            f"the passage does not contain the answer {claim!r}; correct it, or put what it says into claimed_answer",
        )
    level = row.choice("level", Level, kind_of(item.answer_type).level(kind, value))
    return replace(item, perturbation_kind=kind, perturbation_value=value, level=level)


def _refuse_another_unit(row: TableRow, gold: str, answer_type: AnswerType, unit: str) -> None:
    """A gold answer that names a unit names the one of the column."""
    if not unit:
        return
    if not kind_of(answer_type).has_unit:
        raise row.bad("unit", f"is {unit!r}, but an answer of type {answer_type} has none; leave it empty")
    if " " in (answers.normalise(gold, answer_type, unit) or ""):  # the canonical form keeps a unit that disagrees
        raise row.bad("unit", f"is {unit!r}, but the gold answer is {gold!r}; write both in one unit")


def _number(row: TableRow, column: str) -> float | None:
    value = row.get(column)
    try:
        return float(value) if value else None
    except ValueError:
        raise row.bad(column, f"{value!r} is not a number") from None
