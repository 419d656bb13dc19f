"""What sources said about items: votes from the turns of a run, and their reliability beside the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from srdcr_lab.answers import equal
from srdcr_lab.measures.reliability import source_reliability
from srdcr_lab.records import DocumentKind, Item


def votes_of(items: Iterable[Item], turns: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """Item ids, sources and answers of what agents said about single documents.

    Parameters
    ----------
    items : with their documents, whose `source` is the voter.
    turns : `item_id`, `speaker` (a document's id) and `stated_answer` of each; without an answer there is no vote.
    """
    by_id = {item.item_id: item for item in items}
    sources = {
        (item.item_id, document.document_id): document.source for item in by_id.values() for document in item.documents
    }
    votes: tuple[list[str], list[str], list[str]] = ([], [], [])
    told: dict[str, list[str]] = {}
    for turn in turns:
        item_id, speaker, value = turn["item_id"], turn["speaker"], turn["stated_answer"]
        if value is None or value != value or (item_id, speaker) not in sources:
            continue
        known = told.setdefault(item_id, [])
        answer = next(
            (each for each in known if same_answer(each, value, by_id[item_id])), value
        )  # spellings of one answer
        known.append(answer)
        for column, entry in zip(votes, (item_id, sources[item_id, speaker], answer), strict=True):
            column.append(entry)
    return votes


def asserted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The turns of a reader who never misreads: what each document is known to assert, for `votes_of`."""
    return [
        {"item_id": item.item_id, "speaker": document.document_id, "stated_answer": document.answer or None}
        for item in items
        for document in item.documents
    ]


def same_answer(one: str, other: str, item: Item) -> bool:
    """Whether two answers to the question are one: equal, or both of them spellings of the gold answer."""
    if equal(one, other, item.answer_type, item.unit):
        return True
    golds = item.gold_answer, item.answer_type, item.unit, item.aliases
    return bool(item.aliases) and equal(one, *golds) and equal(other, *golds)


def sources_as_read(items: Sequence[Item], turns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The sources of the items' documents: estimated from what was read in them, beside the truth.

    Parameters
    ----------
    items, turns : as `votes_of` takes them.

    Returns
    -------
    DataFrame : the columns of `SourceReliability.table`; `perfect_reader`, the reliability that a reader who never
        misreads would estimate; `accuracy`, the share of the source's documents that are correct, of those that are
        known to be correct or to mislead. Least accurate first. Empty where no document names its source.
    """
    read = source_reliability(*votes_of(items, turns)).table.set_index("source")
    perfect = source_reliability(*votes_of(items, asserted(items))).table.set_index("source")["reliability"]
    kinds: dict[str, list[bool]] = {}
    for document in (document for item in items for document in item.documents):
        if document.source and document.kind in (DocumentKind.CORRECT, DocumentKind.MISINFO):
            kinds.setdefault(document.source, []).append(document.kind is DocumentKind.CORRECT)
    accuracy = pd.Series({source: float(np.mean(right)) for source, right in kinds.items()}, dtype=float)
    table = read.assign(perfect_reader=perfect.reindex(read.index), accuracy=accuracy.reindex(read.index))
    return table.sort_values("accuracy", kind="stable").reset_index(names="source")
