"""Collecting items from published rows: what cannot serve is left out and counted, never silently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from srdcr_lab import answers
from srdcr_lab.answers.option import fault_of
from srdcr_lab.data.items import ItemSet, with_exemplars
from srdcr_lab.data.rows import LONGEST_PASSAGE
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item, Level, Option, PerturbationKind

if TYPE_CHECKING:
    import pandas as pd


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class Kept:
    """Items of one benchmark in the file's order, and how many were left out for which reason."""

    counted: ClassVar[str]  # what is left out, in the plural

    def __init__(self, name: str, file: str) -> None:
        self.name, self.file = name, file
        self.items: list[Item] = []
        self.left_out: Counter[str] = Counter()

    def leave_out(self, reason: str, how_many: int = 1) -> None:
        self.left_out[reason] += how_many

    def notes(self) -> list[str]:
        """What was left out, and why, in one sentence; none where nothing was.

        Raises
        ------
        BadInput
            If nothing is left.
        """
        reasons = "; ".join(f"{count} because {reason}" for reason, count in self.left_out.most_common())
        if not self.items:
            raise BadInput(f"{self.file}: no row of {self.name} can be used: {reasons}")
        return [f"{self.name}: left out {self.left_out.total()} {self.counted}: {reasons}"] if reasons else []


class Gathering(Kept):
    """Passages: each is an item, true or false, whose answer stands in it."""

    counted = "passages"

    def __init__(self, name: str, file: str) -> None:
        super().__init__(name, file)
        self.ids: set[str] = set()
        self.gold_beside_the_claim = 0

    def questions(self, frame: pd.DataFrame) -> Iterator[tuple[PublishedRow, str]]:
        """Each row with its question; a row that asks what an earlier one asks is left out."""
        asked: set[str] = set()
        for row in rows_of(frame, self.file):
            question = row.text("question")
            if question in asked:
                self.leave_out("the question stands in an earlier row")
            else:
                yield row, question
            asked.add(question)

    def take(self, item: Item, *, stated: bool = False) -> bool:
        """Keep the item if its passage states what it claims, and say whether it was kept.

        `stated` is for yes-or-no questions, whose passages argue for an answer without containing the word.
        """
        reason = "it stands in an earlier row" if item.item_id in self.ids else _unfit(item, stated)
        if reason:
            self.leave_out(reason)
            return False
        if not item.is_standard and not stated:
            self.gold_beside_the_claim += _mentions_gold(item)
        self.items.append(item)
        self.ids.add(item.item_id)
        return True

    def result(self, exemplar_pool: tuple[Exemplar, ...], *remarks: str) -> ItemSet:
        """The items with exemplars, and notes on what was left out.

        Raises
        ------
        BadInput
            If nothing is left.
        """
        notes = [*remarks, *self.notes()]
        if self.gold_beside_the_claim:
            notes.append(
                f"{self.name}: {self.gold_beside_the_claim} false passages mention the gold answer beside their claim"
            )
        items = with_exemplars(self.name, self.items, (), exemplar_pool)
        return replace(items, notes=(*notes, *items.notes))


def contradicted(true: Item, tag: str, context: str, claim: str) -> Item:
    """The question with a false passage, where nobody tells how far its claim lies from the truth."""
    return replace(
        true,
        item_id=f"{true.question_id}@{tag}",
        context=context,
        claimed_answer=claim,
        perturbation_kind=PerturbationKind.SUBSTITUTION,
        level=Level.MODERATE,
    )


def _unfit(item: Item, stated: bool) -> str:
    """Why an item cannot serve; empty where it can."""
    if not item.question or not item.gold_answer or not item.claimed_answer or not item.context:
        return "question, answer or passage is empty"
    if len(item.context) > LONGEST_PASSAGE:
        return f"the passage is longer than {LONGEST_PASSAGE:,} characters"
    if answers.normalise(item.gold_answer, item.answer_type, item.unit) is None:
        return f"the gold answer is no answer of type {item.answer_type}"
    same = answers.equal(item.claimed_answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if same is not item.is_standard:
        return "the false passage claims a right answer"
    aliases = item.aliases if item.is_standard else ()
    if not stated and not answers.find(item.context, item.claimed_answer, item.answer_type, item.unit, aliases):
        return f"the {'true' if item.is_standard else 'false'} passage does not contain its answer"
    return ""


def _mentions_gold(item: Item) -> bool:
    """True where the passage has the gold answer as it is written; other spellings are too slow to look for here."""
    if not any(form.lower() in item.context.lower() for form in (item.gold_answer, *item.aliases)):
        return False
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return any(not span.partial for span in spans)


class PublishedRow:
    """One row of a published file, which knows its place for the sentence that says what is wrong."""

    def __init__(self, file: str, number: int, cells: Mapping[Hashable, Any]) -> None:
        self.file, self.number, self.cells = file, number, cells

    def text(self, column: str) -> str:
        """The cell as text, without white space around it; empty where it is missing."""
        value = self.cells.get(column)
        if value is None or value != value:
            return ""
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if isinstance(value, (list, dict)) or type(value).__name__ == "ndarray":
            raise self.bad(column, "is a list, a text was expected")
        text = str(value).strip()
        if _HALF_CHARACTER.search(text):
            raise self.bad(column, "holds half of a character (a lone surrogate); repair the text")
        return text

    def _list(self, column: str) -> list[Any]:
        value = self.cells.get(column)
        if not isinstance(value, (list, tuple)) and type(value).__name__ != "ndarray":
            raise self.bad(column, f"a list was expected, found {value!r:.40}")
        return list(cast("list[Any]", value))

    def texts(self, column: str) -> tuple[str, ...]:
        """The cell as distinct texts."""
        value = self._list(column)
        return tuple(dict.fromkeys(str(each).strip() for each in value if str(each).strip()))

    def objects(self, column: str, keys: Sequence[str]) -> list[dict[str, str]]:
        """The cell as a list of objects with these keys, as texts."""
        value = self._list(column)
        for number, each in enumerate(value, start=1):
            absent = [key for key in keys if not isinstance(each, dict) or not isinstance(each.get(key), str)]
            if absent:
                raise self.bad(column, f"entry {number} has no text {absent[0]!r}; expected {', '.join(keys)}")
        return [{key: each[key].strip() for key in keys} for each in value]

    def bad(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.file}, row {self.number}, column {column}: {what}")


def rows_of(frame: Any, file: str) -> list[PublishedRow]:
    """The rows of a published table, numbered from 1."""
    return [PublishedRow(file, number, cells) for number, cells in enumerate(frame.to_dict("records"), start=1)]


# -- collecting questions that need no single passage: with options, claims that are true or false, open ones

REPEATED = "repeats the text"


class Questions(Kept):
    """Questions: each is an item, asked once."""

    counted = "questions"

    def __init__(self, name: str, file: str) -> None:
        super().__init__(name, file)
        self.asked: set[object] = set()

    def take(self, item: Item, row: PublishedRow, column: str) -> None:
        """Keep the item, unless an earlier row asks the same of the same passage or two of its options are one.

        Raises
        ------
        BadInput
            If it cannot be a question at all: no text, fewer than two options, an answer that is none of them.
        """
        if not item.question:
            raise row.bad(column, "the question is empty")
        fault = fault_of(item.options, item.gold_answer) if item.options else ""
        if REPEATED in fault:
            self.leave_out("two of its options are the same")
        elif fault:
            raise row.bad(column, fault)
        elif len(item.context) > LONGEST_PASSAGE:
            self.leave_out(f"the passage is longer than {LONGEST_PASSAGE:,} characters")
        elif (key := (item.question, item.context, item.options)) in self.asked:
            self.leave_out("an earlier row asks the same")
        else:
            self.asked.add(key)
            self.items.append(item)

    def result(self, exemplar_pool: tuple[Exemplar, ...], *remarks: str) -> ItemSet:
        """The items with exemplars that none of them is, and notes on what was left out.

        Raises
        ------
        BadInput
            If nothing is left.
        """
        notes = (*remarks, *self.notes())
        evaluated = {item.question for item in self.items}
        pool = tuple(each for each in exemplar_pool if each.question not in evaluated)
        return ItemSet(self.name, tuple(self.items), pool, notes)


def with_options(
    item_id: str, question: str, options: Sequence[Option], gold: str, *, context: str = "", domain: str
) -> Item:
    """A question with options, whose gold answer is a label."""
    return Item(
        item_id=item_id,
        question_id=item_id,
        question=question,
        gold_answer=gold,
        context=context,
        claimed_answer=gold,
        domain=domain,
        answer_type=AnswerType.OPTION,
        options=tuple(options),
    )


def final_number(worked: str) -> str:
    """The number after the last ``####`` of a worked solution; empty where there is none."""
    _, marker, last = worked.rpartition("####")
    return (answers.normalise(last, AnswerType.NUMBER) or "") if marker else ""
