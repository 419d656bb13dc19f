"""One row of a table, a user's own or a published one: its cells as texts, numbers, lists, options and documents.

What is wrong with a cell becomes one sentence (`BadInput`) that names file, row and column.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srdcr_lab import answers
from srdcr_lab.records import BadInput, Document, DocumentKind, Item, Option
from srdcr_lab.records.files import read_json
from srdcr_lab.records.vocabulary import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

LONGEST_TEXT = 100_000  # characters of a passage or a document
LONGEST_ANSWER = 1_000
MOST_DOCUMENTS = 50
DOCUMENT_KEYS = ("id", "text", "source", "type", "answer")
_LETTERS = "ABCDEFGHIJ"
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_EXPECTED_OPTIONS = 'texts with bars between them, or {"A": "…", "B": "…"}'


@dataclass
class Row:
    """A row with its place in the table; `number` counts from 1, `cells` are as the file holds them.

    An entry of a list inside a cell is a row too; `within` then says where it is.
    """

    file: str
    number: int
    cells: dict[Hashable, Any]
    within: str = ""

    def place(self, column: str) -> str:
        return f"{self.file}, row {self.number}, column {self.within}{column}"

    def bad(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.place(column)}: {what}")

    def text(self, column: str, default: str = "") -> str:
        """The cell without white space around it, 1874.0 as "1874"; the default where it is missing or empty."""
        cell = listed(self.cells.get(column))
        if isinstance(cell, BadInput):  # the row could not be read: see `tables.read_table`
            raise cell
        if isinstance(cell, (list, dict)):
            raise self.bad(column, f"is {'an object' if isinstance(cell, dict) else 'a list'}, a text was expected")
        text = plain_text(cell)
        if _HALF_CHARACTER.search(text):
            raise self.bad(column, "holds half of a character (a lone surrogate); repair the text")
        return text or default

    def short(self, column: str, most: int = LONGEST_TEXT) -> str:
        """The text of a cell that must not be too long for a prompt."""
        if (length := len(text := self.text(column))) > most:
            raise self.bad(column, f"has {length:,} characters, at most {most:,} are taken; shorten it")
        return text

    def filled(self, column: str) -> str:
        """The text of a cell that must not be empty."""
        if not (text := self.text(column)):
            raise self.bad(column, "is empty")
        return text

    def one_of(self, column: str, known: Iterable[str], default: str = "") -> str:
        """The text of a cell that must be one of those known."""
        if (text := self.text(column, default)) not in (names := list(known)):
            raise self.bad(column, f"{text!r:.40} is none of {', '.join(names)}{did_you_mean(text, names)}")
        return text

    def number_in(self, column: str) -> float | None:
        """The number in a cell, which is finite; None where it is empty."""
        text = self.text(column)
        try:
            number = float(text) if text else None
        except ValueError:
            number = math.nan
        if number is not None and not math.isfinite(number):
            raise self.bad(column, f"{text!r:.40} is not a number; leave the cell empty where there is none")
        return number

    def between_bars(self, column: str) -> tuple[str, ...]:
        """The texts of a cell such as "William|the Conqueror"."""
        return tuple(text.strip() for text in self.text(column).split("|") if text.strip())

    def texts(self, column: str) -> tuple[str, ...]:
        """The texts of a cell that holds a list, each once."""
        return tuple(dict.fromkeys(filter(None, (str(entry).strip() for entry in self._list(column)))))

    def parts(self, column: str, name: str) -> list[Row]:
        """The entries of a cell that holds a list, each as a row; a bare value is its cell `text`."""
        parts = []
        for i, entry in enumerate(self._list(column), start=1):
            cells = entry if isinstance(entry, dict) else {"text": entry}
            parts.append(Row(self.file, self.number, cells, f"{column}, {name} {i}, "))
        return parts

    def _list(self, column: str) -> list[Any]:
        if isinstance(cell := listed(self.cells.get(column)), list):
            return cell
        raise self.bad(column, f"a list was expected, found {cell!r:.40}")


def rows_of(frame: pd.DataFrame, file: str) -> list[Row]:
    return [Row(file, number, cells) for number, cells in enumerate(frame.to_dict("records"), start=1)]


def plain_text(value: Any) -> str:
    """A value without white space around it: a missing one is empty, 1874.0 is "1874", a list has bars between."""
    import pandas as pd

    if isinstance(value := listed(value), list):
        return "|".join(map(plain_text, value))
    if pd.isna(value):
        return ""
    return str(int(value) if pd.api.types.is_float(value) and value.is_integer() else value).strip()


def listed(cell: Any) -> Any:
    """An array or a tuple, as Parquet and data frames hold them, as a list; any other cell as it is."""
    if type(cell).__name__ == "ndarray":
        return cell.tolist()
    return list(cell) if isinstance(cell, tuple) else cell


def options_in(row: Row, column: str) -> tuple[Option, ...]:
    """The options in a cell; whether they make a question is for `answers.option.fault_of` to say.

    The cell holds texts with bars between them ("a bank|a library"), labelled A, B, C …; or, as JSON or as a value, a
    list of texts, an object of label → text, or a list of objects with `label` and `text`.
    """
    entries = listed(row.cells.get(column))
    if isinstance(entries, str) and entries.lstrip().startswith(("[", "{")):
        entries = read_json(entries, row.place(column), _EXPECTED_OPTIONS, distinct_keys=True)
    elif isinstance(entries, str):
        entries = [text.strip() for text in entries.split("|")]
    if isinstance(entries, list) and not all(isinstance(entry, dict) for entry in entries):
        if (many := len(entries)) > len(_LETTERS):
            raise row.bad(column, f"holds {many} options, at most 10 get letters; give labels of your own")
        entries = dict(zip(_LETTERS, entries, strict=False))
    if isinstance(entries, dict):
        entries = [{"label": label, "text": text} for label, text in entries.items()]
    row.cells[column] = entries
    return tuple(Option(label=part.text("label"), text=part.text("text")) for part in row.parts(column, "option"))


def documents_in(row: Row, column: str = "documents") -> tuple[Document, ...]:
    """The documents in a cell of a user's own table, in their order.

    The cell is empty, or a list (also as JSON) of texts or of objects with `text` and perhaps `id` (default: its
    number), `source`, `type` (correct, misinfo, noise) and `answer` (what the document asserts).
    """
    if (cell := row.cells.get(column, "")) == "":
        return ()
    if isinstance(cell, str):
        row.cells[column] = read_json(cell, row.place(column), 'a list such as [{"text": "…"}, …]')
    parts = row.parts(column, "document")
    if not 0 < len(parts) <= MOST_DOCUMENTS:
        raise row.bad(column, f"holds {len(parts)} documents, 1 to {MOST_DOCUMENTS} are taken; or leave the cell empty")
    documents = [document_of(part, str(number)) for number, part in enumerate(parts, start=1)]
    ids = [document.document_id for document in documents]
    for part, name in zip(parts, ids, strict=True):
        part.filled("text")
        part.short("text")
        if ids.count(name) > 1:
            raise part.bad("id", f"{name!r} stands twice; give each document of a row an id of its own")
    return tuple(documents)


def document_of(part: Row, document_id: str = "") -> Document:
    return Document(
        document_id=part.text("id", document_id),
        text=part.text("text"),
        source=part.text("source"),
        kind=DocumentKind(part.one_of("type", DocumentKind)) if part.text("type") else None,
        answer=part.text("answer"),
    )


def shuffled(documents: Iterable[Document], question: str) -> tuple[Document, ...]:
    """The documents in an order drawn from the question alone, with the ids 1, 2, 3 … in that order."""
    order = list(documents)
    random.Random(f"documents|{question}").shuffle(order)
    return tuple(replace(document, document_id=str(i)) for i, document in enumerate(order, start=1))


def unreadable(item: Item) -> str:
    """Why no reply can ever be read as the item's gold answer or an alias; empty where one can."""
    given = item.answer_type, item.unit
    for text in (item.gold_answer, *item.aliases):
        read = answers.read(text, item)
        if read is not None and answers.equal(read, item.gold_answer, *given, item.aliases):
            return ""
    return f"no reply is read as the {item.answer_type} {item.gold_answer[:50]!r}, so no answer could be right"


def with_wrong_answers(item: Item, named: Sequence[str]) -> Item:
    """The item with the wrong answers that are named or that misleading documents assert, and that are not right."""
    asserted = [document.answer for document in item.documents if document.kind is DocumentKind.MISINFO]
    right = (*item.gold_answers, *item.aliases)
    distinct = dict.fromkeys(filter(None, (*named, *asserted)))
    wrong = (each for each in distinct if not answers.equal(each, right[0], item.answer_type, item.unit, right[1:]))
    return replace(item, wrong_answers=tuple(wrong))
