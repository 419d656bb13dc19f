"""The items of a benchmark: what cannot be used is left out and counted.

`Passages` have one passage each, `Questions` have options or no passage, `Documents` several documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.option import fault_of, without_repeats
from srdcr_lab.data import facts
from srdcr_lab.data.items import ItemSet, not_evaluated, standard_item, with_exemplars
from srdcr_lab.data.rows import LONGEST_TEXT, Row, unreadable
from srdcr_lab.records import AnswerType, BadInput, Item, Level, Option, PerturbationKind
from srdcr_lab.records.vocabulary import n_of

Options = tuple[Option, ...] | None  # None: an open question
_UNREADABLE = "no reply is read as its gold answer"
_TOO_LONG = f"the passage is longer than {LONGEST_TEXT:,} characters"


class Gathering:
    """Items in the order of the file, and how many were left out for which reason; `notes` are further notes."""

    counted = "questions"  # what is left out, in the plural
    remark = ""  # about all of these items

    def __init__(self, name: str, *notes: str) -> None:
        self.name = name
        self.notes = notes
        self.left_out: Counter[str] = Counter()
        self.items: list[Item] = []
        self._taken: set[object] = set()

    def leave_out(self, reason: str, how_many: int = 1) -> None:
        self.left_out[reason] += how_many

    def _take_once(self, item: Item, key: object, reason: str) -> bool:
        if key in self._taken:
            self.leave_out(reason)
            return False
        self._taken.add(key)
        self.items.append(item)
        return True

    def left_out_sentence(self) -> str:
        """How many were left out, and why; empty where none was."""
        reasons = "; ".join(f"{count} because {reason}" for reason, count in self.left_out.most_common())
        return f"left out {n_of(self.left_out.total(), self.counted)}: {reasons}" if reasons else ""

    def result(self, file: str) -> ItemSet:
        """The items, the shipped exemplars that none of them is, and notes; bad input where no item is left."""
        if not self.items:
            raise BadInput(f"{file}: no row can be used as {self.name}: {self.left_out_sentence()}")
        remarks = (f"{self.name}: {remark}" for remark in (self.remark, self.left_out_sentence()) if remark)
        pool = not_evaluated(facts.exemplars(), self.items)
        return ItemSet(self.name, tuple(self.items), pool, (*self.notes, *remarks))


class Passages(Gathering):
    """Passages, true or false, that each state the answer they are said to claim, or argue for a yes or no."""

    counted = "passages"
    _with_gold = 0  # false passages that mention the gold answer

    def questions(self, rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
        """Each row with its question; a row that asks what an earlier one asks is left out."""
        asked: set[str] = set()
        for row in rows:
            question = row.text("question")
            if question in asked:
                self.leave_out("the question stands in an earlier row")
            else:
                yield row, question
            asked.add(question)

    def take(self, item: Item) -> None:
        """Keep the item if its passage states what it claims, where answers of its type are stated."""
        if item.item_id not in self._taken and (reason := _unfit(item)):
            self.leave_out(reason)
        elif self._take_once(item, item.item_id, "it stands in an earlier row") and not item.is_standard:
            self._with_gold += _mentions_gold(item)

    def result(self, file: str) -> ItemSet:
        """The same, but some items may be set aside as exemplars."""
        notes = super().result(file).notes
        if self._with_gold:
            notes += (f"{self.name}: {self._with_gold} false passages mention the gold answer beside their claim",)
        chosen = with_exemplars(self.name, self.items, (), facts.exemplars())
        return replace(chosen, notes=(*notes, *chosen.notes))


class Questions(Gathering):
    """Questions with options, and open ones, each asked once. A wrong option that repeats another is dropped."""

    _shortened = 0  # questions of which an option was dropped

    def take(
        self, row: Row, question: str, gold: str, options: Options = None, column: str = "question", **fields: Any
    ) -> None:
        """Keep the question of a row, unless an earlier row asks the same of the same passage or two options are one.

        Bad input that names the column: fewer than two options, or a gold answer that is none of them.
        """
        if options is not None:
            offered, options = options, without_repeats(options, gold)
            if len(options) < len(offered):
                self._shortened += 1
                self.remark = f"{self._shortened} questions are asked without an option that repeats a wrong one"
            fields |= {"answer_type": AnswerType.OPTION, "options": options}
        item = standard_item(f"{self.name}-{row.number}", question, gold, **{"domain": self.name, **fields})
        fault = "" if options is None else fault_of(options, gold)
        if "repeats the text" in fault:
            self.leave_out("its right option stands there twice")
        elif fault:
            raise row.bad(column, fault)
        elif len(item.context) > LONGEST_TEXT:
            self.leave_out(_TOO_LONG)
        elif unreadable(item):
            self.leave_out(_UNREADABLE)
        else:
            self._take_once(item, (item.question, item.context, item.options), "an earlier row asks the same")


class Documents(Gathering):
    """Questions with several documents, each asked once; the reasons say what was left out."""

    remark = "documents stand in an order drawn from the question, since the published one follows their types"

    def take(self, item: Item) -> None:
        self._take_once(item, item.question, "questions that stand in an earlier row")

    def left_out_sentence(self) -> str:
        reasons = [f"{what} ({count})" for what, count in self.left_out.items() if count]
        return f"left out were {', '.join(reasons)}" if reasons else ""


def contradicted(true: Item, tag: str, context: str, claim: str) -> Item:
    """The question with a false passage, where nobody tells how far its claim lies from the truth."""
    item_id, kind = f"{true.question_id}@{tag}", PerturbationKind.SUBSTITUTION
    return replace(
        true, item_id=item_id, context=context, claimed_answer=claim, perturbation_kind=kind, level=Level.MODERATE
    )


def _unfit(item: Item) -> str:
    """Why a passage cannot be used; empty where it can."""
    if not (item.question and item.gold_answer and item.claimed_answer and item.context):
        return "question, answer or passage is empty"
    if len(item.context) > LONGEST_TEXT:
        return _TOO_LONG
    if unreadable(item):
        return _UNREADABLE
    same = answers.equal(item.claimed_answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
    if same is not item.is_standard:
        return "the false passage claims a right answer"
    aliases = item.aliases if item.is_standard else ()
    claim = item.claimed_answer, item.answer_type, item.unit, aliases
    if kind_of(item.answer_type).is_stated and not answers.find(item.context, *claim):
        return f"the {'true' if item.is_standard else 'false'} passage does not contain its answer"
    return ""


def _mentions_gold(item: Item) -> bool:
    """Whether the passage has the gold answer as written; other spellings are too slow to look for here."""
    if not any(form.lower() in item.context.lower() for form in (item.gold_answer, *item.aliases)):
        return False
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)
    return any(not span.partial for span in spans)
