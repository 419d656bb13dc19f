"""RAMDocs (Wang et al. 2025): ambiguous questions with correct, misleading and irrelevant documents.

As passages, a question becomes at most two items: its first `correct` document that states its answer, and its first
`misinfo` document that states its own; each gold answer is right. As documents, it is one item with all of them; all
gold answers are right together, and the wrong ones are listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Documents, Passages, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.items import standard_item
from srdcr_lab.data.rows import MOST_DOCUMENTS, Row, document_of, shuffled, with_wrong_answers
from srdcr_lab.records import AnswerType, Document, DocumentKind

_ASKS_FOR_A_YEAR = re.compile(r"(?<!\w)(?:when|what year|which year|birth date)(?!\w)", re.IGNORECASE)


def read(rows: Sequence[Row]) -> Passages:
    """Items of the published rows, each with one passage."""
    passages = Passages("ramdocs")
    for row, question in passages.questions(rows):
        golds = row.texts("gold_answers")
        documents = _documents(row)
        if not golds:
            raise row.bad("gold_answers", "is empty")
        correct = [document for document in documents if document.kind is DocumentKind.CORRECT]
        misinfo = [document for document in documents if document.kind is DocumentKind.MISINFO]
        wrong = [document.answer for document in misinfo]
        answer_type, unit = kind_of_answer(question, [*golds, *wrong])
        true = _first_that_states(correct, golds, answer_type, unit)
        gold = true.answer if true else golds[0]
        item = standard_item(
            f"ramdocs-{row.number}",
            question,
            gold,
            true.text if true else "",
            domain="ramdocs",
            answer_type=answer_type,
            unit=unit,
            aliases=tuple(other for other in golds if other != gold),
        )
        if true:
            passages.take(item)
        else:
            passages.leave_out("no correct document contains its answer")
        if misinfo:
            false = _first_that_states(misinfo, wrong, answer_type, unit) or misinfo[0]
            passages.take(contradicted(item, "misinfo", false.text, false.answer))
    return passages


def read_documents(rows: Sequence[Row]) -> Documents:
    """An item a question with all its documents, except empty ones."""
    questions = Documents("ramdocs:documents")
    for row in rows:
        question, golds = row.text("question"), row.texts("gold_answers")
        published = _documents(row)
        for part in row.parts("documents", "document"):
            part.short("text")
        documents = [document for document in published if document.text]
        questions.leave_out("empty documents", len(published) - len(documents))
        if len(documents) > MOST_DOCUMENTS:
            questions.leave_out(f"questions with more than {MOST_DOCUMENTS} documents")
            continue
        if not question or not golds or not documents:
            questions.leave_out("questions without text, gold answer or document")
            continue
        named = row.texts("wrong_answers") if "wrong_answers" in row.cells else ()
        asserted = [document.answer for document in documents if document.kind is DocumentKind.MISINFO]
        answer_type, unit = kind_of_answer(question, [*golds, *filter(None, (*named, *asserted))])
        item = standard_item(
            f"ramdocs-{row.number}",
            question,
            golds[0],
            other_gold_answers=golds[1:],
            domain="ramdocs",
            answer_type=answer_type,
            unit=unit,
            documents=shuffled(documents, question),
        )
        # two of the first 150 questions list a gold answer among the wrong ones: no output could be right
        questions.take(with_wrong_answers(item, named))
    return questions


def _documents(row: Row) -> list[Document]:
    """The documents of a row; one of type noise answers nothing, which the benchmark writes as "unknown"."""
    documents = []
    for part in row.parts("documents", "document"):
        for key in ("text", "type", "answer"):
            if not isinstance(part.cells.get(key), str):
                raise part.bad(key, "a text was expected")
        document = document_of(part)
        documents.append(replace(document, answer="") if document.kind is DocumentKind.NOISE else document)
    return documents


def _first_that_states(
    documents: Sequence[Document], allowed: Sequence[str], answer_type: AnswerType, unit: str
) -> Document | None:
    """The first document whose answer is among `allowed` and stands in its text."""
    allowed_ones = (document for document in documents if document.answer in allowed)
    return next((each for each in allowed_ones if answers.find(each.text, each.answer, answer_type, unit)), None)


def kind_of_answer(question: str, given: Sequence[str]) -> tuple[AnswerType, str]:
    """Answer type and unit of one question, from its wording and all its answers, right and wrong.

    A year where it is asked for and every answer is one; a number where all are, in the unit they share; else text.
    """
    if _ASKS_FOR_A_YEAR.search(question):
        years = all(answers.normalise(answer, AnswerType.YEAR) for answer in given)
        return (AnswerType.YEAR if years else AnswerType.TEXT), ""
    values = [answers.infer_unit(answer) for answer in given]
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
    # Not computed by us: two other public projects print it for these 500 rows and 2,766 documents.
    sha256="c67f699c97349f00cf1bd08d1dbf8ca1d0cc38c306715c93a10a4f961dcf28b7",
    columns=("question", "documents", "gold_answers"),
    read=read,
    read_documents=read_documents,
)
