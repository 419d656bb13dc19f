"""Benchmarks whose questions come with several documents, one item a question: `ramdocs:documents` and
`conflictqa:documents`.

RAMDocs (Wang et al. 2025): every document of a question, correct, misleading or beside the point; all gold answers are
right together, the wrong ones are listed. ConflictQA (Xie et al. 2024): two documents, the evidence for what a model
remembers and the evidence against it, and these are their sources.

The published order of documents follows their types, so it is shuffled (`srdcr_lab.data.cells`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks import conflictqa
from srdcr_lab.data.benchmarks.gathering import PublishedRow, rows_of
from srdcr_lab.data.benchmarks.published import Reader
from srdcr_lab.data.benchmarks.ramdocs import kind_of_answer
from srdcr_lab.data.cells import KINDS, LONGEST_DOCUMENT, MOST_DOCUMENTS, checked, shuffled, wrong_answers_of
from srdcr_lab.data.items import ItemSet
from srdcr_lab.records import BadInput, Document, DocumentKind, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd

_EVIDENCE = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}


def ramdocs(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """An item a question of RAMDocs, with all its documents.

    A question without documents or gold answers, with more than 50 documents, or that stands in an earlier row is left
    out; so is an empty document. How many, and why, stands in the notes.
    """
    left_out: dict[str, int] = defaultdict(int)
    items: dict[str, Item] = {}
    for row in rows_of(frame, file):
        item = _ramdocs_item(row, left_out)
        if item is not None and item.question in items:
            left_out["questions that stand in an earlier row"] += 1
        elif item is not None:
            items[item.question] = item
    return _set("ramdocs:documents", file, items.values(), exemplar_pool, left_out)


def _ramdocs_item(row: PublishedRow, left_out: dict[str, int]) -> Item | None:
    question, golds = row.text("question"), row.texts("gold_answers")
    documents = [_ramdocs_document(row, entry) for entry in row.objects("documents", ("text", "type", "answer"))]
    told = [document for document in documents if document.text]
    left_out["empty documents"] += len(documents) - len(told)
    if not question or not golds or not 0 < len(told) <= MOST_DOCUMENTS:
        many = len(told) > MOST_DOCUMENTS
        left_out[f"questions with{' more than 50 documents' if many else 'out text, gold answer or document'}"] += 1
        return None
    named = row.texts("wrong_answers") if "wrong_answers" in row.cells else ()
    asserted = [document.answer for document in told if document.kind is DocumentKind.MISINFO]
    answer_type, unit = kind_of_answer(question, [*golds, *filter(None, (*named, *asserted))])
    item_id = f"ramdocs-{row.number}"
    item = Item(
        item_id=item_id,
        question_id=item_id,
        question=question,
        gold_answer=golds[0],
        other_gold_answers=golds[1:],
        context="",
        claimed_answer=golds[0],
        domain="ramdocs",
        answer_type=answer_type,
        unit=unit,
        documents=shuffled(told, question),
    )
    # two of the first 150 questions list a gold answer among the wrong ones: no output could be right
    return replace(item, wrong_answers=wrong_answers_of(item, named))


def _ramdocs_document(row: PublishedRow, entry: Mapping[str, str]) -> Document:
    if entry["type"] not in KINDS:
        raise row.bad("documents", f"the type {entry['type']!r} is none of {', '.join(KINDS)}")
    if len(entry["text"]) > LONGEST_DOCUMENT:
        raise row.bad("documents", f"a document is longer than {LONGEST_DOCUMENT:,} characters; shorten it")
    for text in entry.values():
        checked(text, partial(row.bad, "documents"))
    kind = DocumentKind(entry["type"])
    # "unknown" is how the benchmark says that a noise document answers nothing
    return Document(
        document_id="", text=entry["text"], kind=kind, answer="" if kind is DocumentKind.NOISE else entry["answer"]
    )


def conflicts(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """An item a question of ConflictQA with its two documents; questions of which one is left out are left out."""
    sides = _texts_of_sides(frame, file)
    passages = conflictqa.read(frame, file, exemplar_pool)
    pairs: dict[str, list[Item]] = defaultdict(list)
    for item in passages:
        pairs[item.question_id].append(item)
    items = [_two_documents(pair[0], pair[1], sides) for pair in pairs.values() if len(pair) == 2]
    alone = {"questions of which one document cannot serve": sum(len(pair) != 2 for pair in pairs.values())}
    found = _set("conflictqa:documents", file, items, exemplar_pool, alone)
    return ItemSet(found.name, found.items, found.exemplars, (*passages.notes, *found.notes))


def _texts_of_sides(frame: pd.DataFrame, file: str) -> dict[tuple[str, str], str]:
    """(question, text) → "memory" or "counter"."""
    return {
        (row.text("question"), row.text(column)): side
        for row in rows_of(frame, file)
        for side, column in _EVIDENCE.items()
    }


def _two_documents(one: Item, other: Item, sides: Mapping[tuple[str, str], str]) -> Item:
    true, false = (one, other) if one.is_standard else (other, one)
    documents = [
        Document(
            document_id="",
            text=item.context,
            source=sides[item.question, item.context],
            kind=DocumentKind.CORRECT if item.is_standard else DocumentKind.MISINFO,
            answer=item.claimed_answer,
        )
        for item in (true, false)
    ]
    return Item(
        item_id=true.question_id,
        question_id=true.question_id,
        question=true.question,
        gold_answer=true.gold_answer,
        aliases=true.aliases,
        wrong_answers=(false.claimed_answer,),
        context="",
        claimed_answer=true.gold_answer,
        domain=true.domain,
        answer_type=true.answer_type,
        unit=true.unit,
        documents=shuffled(documents, true.question),
    )


def _set(
    name: str, file: str, items: Iterable[Item], pool: tuple[Exemplar, ...], left_out: Mapping[str, int]
) -> ItemSet:
    kept = tuple(items)
    reasons = [f"{what} ({count})" for what, count in left_out.items() if count]
    if not kept:
        raise BadInput(f"{file}: no row can be used as {name}; left out were {', '.join(reasons)}")
    evaluated = {item.question for item in kept}
    notes = [
        f"{name}: documents stand in an order drawn from the question, since the published one follows their types"
    ]
    if reasons:
        notes.append(f"{name}: left out were {', '.join(reasons)}")
    return ItemSet(name, kept, tuple(each for each in pool if each.question not in evaluated), tuple(notes))


DOCUMENT_READERS: Mapping[str, Reader] = {"ramdocs": ramdocs, "conflictqa": conflicts, "conflictqa-popqa": conflicts}
