"""The options of a question in somebody's own table: read from a cell, and checked with the gold answer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.option import fault_of
from srdcr_lab.records import BadInput, Document, DocumentKind, Item, Option

LETTERS = "ABCDEFGHIJ"
Bad = Callable[[str], BadInput]


def options_of(cell: str, gold: str, bad: Bad, bad_gold: Bad) -> tuple[tuple[Option, ...], str]:
    """The options in a cell, and the label of the gold answer.

    Parameters
    ----------
    cell : texts with bars between them ("a bank|a library"), which get the labels A, B, C …; or JSON: a list of texts,
        an object of label → text, or a list of objects with `label` and `text`.
    gold : a label, or the text of one option as it stands there.
    bad, bad_gold : make the errors that name file, row and column.

    Raises
    ------
    BadInput
        For fewer than two options, an empty one, a label or a text that stands twice, a gold answer that is none.
    """
    options = tuple(_options(cell, bad))
    by_text = [option.label for option in options if option.text == gold]
    label = gold if gold in [option.label for option in options] else by_text[0] if len(by_text) == 1 else gold
    if fault := fault_of(options, label):
        raise (bad_gold if fault.startswith("the answer") else bad)(fault)
    return options, label


def _options(cell: str, bad: Bad) -> list[Option]:
    if not cell.lstrip().startswith(("[", "{")):
        return _lettered([text.strip() for text in cell.split("|")], bad)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise bad(f"{twice!r} stands twice; give each option a label of its own")
        return dict(pairs)

    try:
        found = json.loads(cell, object_pairs_hook=distinct)
    except ValueError as error:
        raise bad(f'is no JSON ({error}); expected texts with bars between them, or {{"A": "…", "B": "…"}}') from None
    if isinstance(found, dict):
        return [Option(label=_text(label, bad), text=_text(text, bad)) for label, text in found.items()]
    if all(isinstance(each, Mapping) for each in found):
        return [Option(label=_text(each.get("label"), bad), text=_text(each.get("text"), bad)) for each in found]
    return _lettered([_text(each, bad) for each in found], bad)


def _text(value: Any, bad: Bad) -> str:
    if not isinstance(value, (str, int, float)) or value != value:
        raise bad(f"a label or text is {value!r:.20}; an option has a label and a text")
    return checked(str(value).strip(), bad)


def _lettered(texts: list[str], bad: Bad) -> list[Option]:
    if len(texts) > len(LETTERS):
        raise bad(f"holds {len(texts)} options, at most {len(LETTERS)} get letters; give labels of your own")
    return [Option(label=label, text=text) for label, text in zip(LETTERS, texts, strict=False)]


# -- several documents about one question: read from a cell, put into an order that tells nothing, numbered

LONGEST_DOCUMENT = 100_000  # characters, as of a passage
MOST_DOCUMENTS = 50
KINDS = tuple(kind.value for kind in DocumentKind)
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
