"""RAMDocs (Wang et al. 2025): ambiguous questions with correct, misleading and irrelevant documents.

Here each question gives at most two single-passage items: its first `correct` document that states its answer, and its
first `misinfo` document that states its own. Every gold answer of an ambiguous question is right. Documents of type
`noise` are for protocols that read several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Gathering, PublishedRow, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.records import AnswerType, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet

_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|what year|which year|birth date)(?!\w)", re.IGNORECASE)
_KINDS = ("correct", "misinfo", "noise")


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows."""
    gathering = Gathering("ramdocs", file)
    for row, question in gathering.questions(frame):
        _question(gathering, row, question)
    return gathering.result(exemplar_pool)


def _question(gathering: Gathering, row: PublishedRow, question: str) -> None:
    golds = row.texts("gold_answers")
    documents = row.objects("documents", ("text", "type", "answer"))
    unknown = [each["type"] for each in documents if each["type"] not in _KINDS]
    if unknown:
        raise row.bad("documents", f"the type {unknown[0]!r} is none of {', '.join(_KINDS)}")
    if not golds:
        raise row.bad("gold_answers", "is empty")
    correct = [each for each in documents if each["type"] == "correct"]
    misinfo = [each for each in documents if each["type"] == "misinfo"]
    answer_type, unit = kind_of_answer(question, [*golds, *(each["answer"] for each in misinfo)])
    true = _first_that_states(correct, golds, answer_type, unit)
    gold = true["answer"] if true else golds[0]
    standard = Item(
        item_id=f"ramdocs-{row.number}",
        question_id=f"ramdocs-{row.number}",
        question=question,
        gold_answer=gold,
        context=true["text"] if true else "",
        claimed_answer=gold,
        domain="ramdocs",
        answer_type=answer_type,
        aliases=tuple(other for other in golds if other != gold),
        unit=unit,
    )
    if true:
        gathering.take(standard)
    else:
        gathering.leave_out("no correct document contains its answer")
    if misinfo:
        _misled(gathering, standard, misinfo)


def _misled(gathering: Gathering, standard: Item, misinfo: list[dict[str, str]]) -> None:
    wrong = [each["answer"] for each in misinfo]
    false = _first_that_states(misinfo, wrong, standard.answer_type, standard.unit) or misinfo[0]
    gathering.take(contradicted(standard, "misinfo", false["text"], false["answer"]))


def _first_that_states(
    documents: list[dict[str, str]], allowed: Sequence[str], answer_type: AnswerType, unit: str
) -> dict[str, str] | None:
    """The first document whose answer is among `allowed` and stands in its text."""
    for each in documents:
        if each["answer"] in allowed and answers.find(each["text"], each["answer"], answer_type, unit):
            return each
    return None


def kind_of_answer(question: str, given: Sequence[str]) -> tuple[AnswerType, str]:
    """Answer type and unit of one question, from its wording and all its answers, right and wrong.

    A year where it is asked for and every answer is one; a number where all are, in the unit they share; else text.
    """
    if _ASKS_FOR_A_YEAR.search(question):
        years = all(answers.normalise(each, AnswerType.YEAR) for each in given)
        return (AnswerType.YEAR if years else AnswerType.TEXT), ""
    values = [answers.infer_unit(each) for each in given]
    units = {value[1] for value in values if value is not None and value[1]}
    if None in values or len(units) > 1:
        return AnswerType.TEXT, ""
    return AnswerType.NUMBER, units.pop() if units else ""


RAMDOCS = Benchmark(
    name="ramdocs",
    meaning="ambiguous questions with correct and misleading documents (Wang et al. 2025); here one passage an item",
    home="https://github.com/HanNight/RAMDocs",
    licence="MIT",
    rows=500,
    url="https://huggingface.co/datasets/HanNight/RAMDocs/resolve/9c041bfd158c603b615883d9a931b00cbc141494/RAMDocs_test.jsonl",
    file="RAMDocs_test.jsonl",
    # Not computed by us: two other public projects print it for these 500 rows and 2,766 documents.
    sha256="c67f699c97349f00cf1bd08d1dbf8ca1d0cc38c306715c93a10a4f961dcf28b7",
    columns=("question", "documents", "gold_answers"),
    read=read,
)
