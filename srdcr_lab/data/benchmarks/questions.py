"""Collecting questions that need no single passage: with options, claims that are true or false, open ones."""

from __future__ import annotations

from collections.abc import Sequence

from srdcr_lab import answers
from srdcr_lab.answers.options import fault_of
from srdcr_lab.data.benchmarks.gathering import Kept, PublishedRow
from srdcr_lab.data.item_rows import LONGEST_PASSAGE
from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.records import AnswerType, Exemplar, Item, Option

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
