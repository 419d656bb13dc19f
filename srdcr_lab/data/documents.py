"""Several documents about one question: read from a cell, put into an order that tells nothing, numbered.

Published files often list the right documents first. An order that follows the truth would be an answer, so documents
are shuffled, seeded by the question, and their ids are their places after that.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from srdcr_lab import answers
from srdcr_lab.records import BadInput, Document, DocumentKind, Item

LONGEST_DOCUMENT = 100_000  # characters, as of a passage
MOST_DOCUMENTS = 50
KINDS = tuple(kind.value for kind in DocumentKind)
Bad = Callable[[str], BadInput]
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def checked(text: str, bad: Bad) -> str:
    """The text, if no character of it is half of one."""
    if _HALF_CHARACTER.search(text):
        raise bad("holds half of a character (a lone surrogate); repair the text")
    return text


def shuffled(documents: Iterable[Document], question: str) -> tuple[Document, ...]:
    """The documents in an order drawn from the question alone, with the ids 1, 2, 3 … in that order."""
    order = list(documents)
    random.Random(f"documents|{question}").shuffle(order)
    return tuple(replace(document, document_id=str(i)) for i, document in enumerate(order, start=1))


def documents_of(cell: object, bad: Bad) -> tuple[Document, ...]:
    """The documents in a cell of somebody's own table, in the order that stands there.

    Parameters
    ----------
    cell : a list, or a JSON list, of texts or of objects with `text` and any of `id`, `source`, `type` (correct,
        misinfo, noise) and `answer` (what it asserts). Ids default to 1, 2, 3 …
    bad : makes the error that names file, row and column.

    Raises
    ------
    BadInput
        For no document, more than 50, an empty or too long one, an id that stands twice, an unknown type.
    """
    entries = _entries(cell, bad)
    if not entries:
        raise bad("holds no document; give at least one, or leave the cell empty")
    if len(entries) > MOST_DOCUMENTS:
        raise bad(f"holds {len(entries)} documents, at most {MOST_DOCUMENTS} are taken")
    documents = tuple(_document(number, entry, bad) for number, entry in enumerate(entries, start=1))
    ids = [document.document_id for document in documents]
    twice = [each for each in ids if ids.count(each) > 1]
    if twice:
        raise bad(f"the id {twice[0]!r} stands twice; give each document of a row an id of its own")
    return documents


def as_json(cell: object) -> str:
    """A cell that holds a list, as JSON text; a text stays as it is, and nothing is the empty text."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, (list, tuple)) or type(cell).__name__ == "ndarray":
        return json.dumps(list(cell), default=str, ensure_ascii=False)  # type: ignore[call-overload]
    return "" if cell is None or cell != cell else json.dumps(cell, default=str)


def wrong_answers_of(item: Item, named: Sequence[str]) -> tuple[str, ...]:
    """The named wrong answers and what misleading documents assert, without what is a gold answer after all."""
    asserted = [document.answer for document in item.documents if document.kind is DocumentKind.MISINFO]
    golds = (*item.gold_answers, *item.aliases)
    return tuple(
        each
        for each in dict.fromkeys((*named, *asserted))
        if each and not any(answers.equal(each, gold, item.answer_type, item.unit) for gold in golds)
    )


def _entries(cell: object, bad: Bad) -> list[Any]:
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError as error:
            raise bad(f'is no JSON ({error}); expected a list such as [{{"text": "…"}}, …]') from None
    if not isinstance(cell, (list, tuple)):
        raise bad('is no list; expected one such as [{"text": "…"}, …]')
    return list(cell)


def _document(number: int, entry: object, bad: Bad) -> Document:
    given: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"text": entry}

    def told(key: str) -> str:
        value = given.get(key)
        if value is None or value != value:
            return ""
        if not isinstance(value, (str, int, float)):
            raise bad(f"document {number}: {key} is a {type(value).__name__}, a text was expected")
        return checked(str(value).strip(), bad)

    text, kind = told("text"), told("type")
    if not text:
        raise bad(f"document {number} has no text; fill it in, or take the document out")
    if len(text) > LONGEST_DOCUMENT:
        raise bad(f"document {number} has {len(text):,} characters, at most {LONGEST_DOCUMENT:,} are taken; shorten it")
    if kind and kind not in KINDS:
        raise bad(f"document {number}: the type {kind!r} is none of {', '.join(KINDS)}")
    return Document(
        document_id=told("id") or str(number),
        text=text,
        source=told("source"),
        kind=DocumentKind(kind) if kind else None,
        answer=told("answer"),
    )
