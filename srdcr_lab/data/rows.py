"""Read the rows of a file, and the cells of one row: texts, numbers, lists, options and documents.

An error in a cell raises `BadInput` with one sentence that names file, row and column.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from srdcr_lab.records import BadInput, Document, DocumentKind, Option
from srdcr_lab.records.files import check_decoded_size, plain_cell, read_json
from srdcr_lab.records.vocabulary import HALF_CHARACTER, did_you_mean

REQUIRED = ("question", "gold_answer", "context")
LONGEST_TEXT = 100_000  # characters of a passage or a document
LONGEST_ANSWER = 1_000  # also of an id, a unit, a domain
MOST_ANSWERS = 1_000  # in one cell
MOST_DOCUMENTS = 50
DOCUMENT_KEYS = ("id", "text", "source", "type", "answer")  # of the fields of a `Document`, in their order
_LETTERS = "ABCDEFGHIJ"
_FLAGS = {"": None, **dict.fromkeys("true 1 1.0 yes".split(), True), **dict.fromkeys("false 0 0.0 no".split(), False)}
_EXPECTED_OPTIONS = 'texts with bars between them, or {"A": "…", "B": "…"}'


def read_table(path: Path, needed: Sequence[str] = REQUIRED, *, strict: bool = True) -> pd.DataFrame:
    """A file's rows, as text if the format has no types; for an empty file, `BadInput` names the `needed` columns.

    A ``.json`` file holds JSON lines or one array of objects; ``.pqt`` is Parquet. A broken line raises `BadInput`;
    unless `strict`, every cell of its row is that `BadInput` instead, and `Row` raises it.
    """
    if not path.is_file():
        told = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise BadInput(f"{told}; items are a file (.csv, .jsonl, .parquet) or a shipped set such as 'facts'")
    names = None
    try:
        match path.suffix.lower():
            case ".csv":
                names, *rows = _lines(path, needed)
            case ".jsonl" | ".ndjson" | ".json":
                rows = _objects(path, needed)
            case ".parquet" | ".pqt":
                return _parquet(path)
            case ending:
                raise BadInput(f"{path}: items come as .csv, .jsonl or .parquet, not {ending or 'without an ending'}")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8 (Excel: CSV UTF-8)") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"cannot read {path} as {path.suffix[1:]}: {error}") from None
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    faults = [cell for cell in frame.iloc[:, :1].to_numpy().flat if isinstance(cell, BadInput)]
    if faults and (strict or len(faults) == len(frame)):
        raise faults[0]
    return frame


def _parquet(path: Path) -> pd.DataFrame:
    """A Parquet file's rows, without another program's index columns; raises `ValueError` for a broken file."""
    check_decoded_size(path)
    try:
        table = pq.read_table(path)
        table.validate(full=True)  # also that texts are texts
        return table.replace_schema_metadata().to_pandas()
    except (pa.ArrowException, LookupError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _lines(path: Path, needed: Sequence[str]) -> Iterator[Any]:
    """The column names of a CSV file, then the cells of each row."""
    csv.field_size_limit(2**31 - 1)  # the rows say which texts are too long
    names: list[str] = []
    n_rows = 0
    with path.open(encoding="utf-8-sig", newline="") as file:
        mark = _mark(next(filter(str.strip, iter(lambda: file.readline(100_000), "")), ""), needed)
        file.seek(0)
        reader = csv.reader(file, delimiter=mark, strict=True)
        while True:
            line, cells, fault = reader.line_num + 1, [], ""
            try:
                cells = [plain_cell(cell) for cell in next(reader)]
            except StopIteration:
                break
            except csv.Error as error:
                if "end of data" in str(error):
                    raise BadInput(f"cannot read {path}: a quotation mark in line {line} is never closed") from None
                fault = 'there is a quotation mark inside a quoted cell; write it twice ("")'
                if not names:
                    raise BadInput(f"{path}, line {line}: {fault}") from None
            if not names and any(cells):  # lines before the header may be blank
                names = [cell.strip() for cell in cells]
                yield names
            elif names and (cells or fault):
                n_rows += 1
                if any(cells[len(names) :]):
                    fault = f"has more cells ({len(cells)}) than the header ({len(names)}); quote cells with a {mark!r}"
                row: list[Any] = (cells + [""] * len(names))[: len(names)]
                yield [BadInput(f"{path.name}, row {n_rows} (line {line}): {fault}")] * len(names) if fault else row
    if not names:
        raise BadInput(f"{path} is empty; it needs the columns {', '.join(needed)}")


def _mark(header: str, needed: Sequence[str]) -> str:
    """The separator of a CSV file: a comma, or another one that a spreadsheet writes."""
    wanted = {name for column in needed for name in column.split("|")}
    cut = {mark: [name.strip() for name in next(csv.reader([header], delimiter=mark), [])] for mark in ",;\t"}
    return max(cut, key=lambda mark: len(wanted.intersection(cut[mark])))


def _objects(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of a JSON array or of JSON lines, which end with a line feed only: passages may hold other line
    breaks.
    """
    text = path.read_text("utf-8-sig")
    is_array = path.suffix.lower() == ".json" and text.lstrip().startswith("[")
    unit = "row" if is_array else "line"
    entries = read_json(text, str(path), distinct_keys=True) if is_array else text.split("\n")
    objects = [_object(entry, unit, number, path.name) for number, entry in enumerate(entries, 1) if str(entry).strip()]
    if not objects:
        raise BadInput(f"{path} is empty; every {unit} is an object with {', '.join(needed)}")
    keys = next((each for each in objects if isinstance(each, dict)), needed)
    return [dict.fromkeys(keys, each) if isinstance(each, BadInput) else each for each in objects]


def _object(entry: Any, unit: str, number: int, file: str) -> dict[str, Any] | BadInput:
    """The object of a line or an entry; otherwise why it is not one."""
    where = f"{file}, {unit} {number}"
    try:
        value = read_json(entry, where, distinct_keys=True) if unit == "line" else entry
    except BadInput as error:
        return error
    if isinstance(value, dict) and HALF_CHARACTER.search("".join(value)):
        return BadInput(f"{where}: a name holds half of a character (a lone surrogate); repair the text")
    return value if isinstance(value, dict) else BadInput(f'{where}: a {unit} is an object such as {{"question": "…"}}')


@dataclass(slots=True)
class Row:
    """A row with its position in the table; `number` counts from 1, `cells` are as in the file.

    An entry of a list in a cell is a row too, and `within` says where it is. For a table that `is_ours`, it is known
    that answers are found in their passages and read in replies.
    """

    file: str
    number: int
    cells: dict[Any, Any]
    within: str = ""
    is_ours: bool = False

    def place(self, column: str) -> str:
        return f"{self.file}, row {self.number}, column {self.within}{column}"

    def bad(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.place(column)}: {what}")

    def text(self, column: str, default: str = "") -> str:
        """The cell without surrounding white space, 1874.0 as "1874"; the default if it is missing or empty."""
        cell = self.cells.get(column, "")
        if type(cell) is str and cell.isascii():
            return cell.strip() or default
        if isinstance(cell := listed(cell), BadInput):  # the row could not be read: see `read_table`
            raise cell
        if isinstance(cell, (list, dict)):
            raise self.bad(column, f"is {'an object' if isinstance(cell, dict) else 'a list'}, a text was expected")
        text = plain_text(cell)
        if HALF_CHARACTER.search(text):
            raise self.bad(column, "holds half of a character (a lone surrogate); repair the text")
        return text or default

    def short(self, column: str, most: int = LONGEST_TEXT) -> str:
        """The text of a cell, which must fit into a prompt."""
        if (length := len(text := self.text(column))) > most:
            raise self.bad(column, f"has {length:,} characters, at most {most:,} are taken; shorten it")
        return text

    def filled(self, column: str) -> str:
        """The text of a cell, which must not be empty."""
        if not (text := self.text(column)):
            raise self.bad(column, "is empty")
        return text

    def one_of(self, column: str, known: Iterable[str], default: str = "") -> str:
        """The text of a cell, which must be one of the known values."""
        text = self.text(column, default)
        if text not in (names := list(known)):
            raise self.bad(column, f"{text!r:.40} is none of {', '.join(names)}{did_you_mean(text, names)}")
        return text

    def number_in(self, column: str) -> float | None:
        """The finite number in a cell; None if it is empty."""
        if not (text := self.text(column)):
            return None
        with suppress(ValueError):
            if math.isfinite(number := float(text)):
                return number
        raise self.bad(column, f"{text!r:.40} is not a number; leave the cell empty where there is none")

    def flag(self, column: str) -> bool | None:
        """Whether a cell says true (or 1) or false (or 0); None if it is empty."""
        if (text := self.text(column).lower()) not in _FLAGS:
            raise self.bad(column, f"{text!r:.40} is neither true nor false; write true, false, 1 or 0")
        return _FLAGS[text]

    def between_bars(self, column: str) -> tuple[str, ...]:
        """The texts of a cell such as "William|the Conqueror" or a list, each short enough for an answer."""
        cell = listed(self.cells.get(column))
        if isinstance(cell, list) or str(cell).startswith(('["', "['")):
            entries = [part.text("text") for part in self.parts(column, "entry", '["…", "…"]')]
        else:
            entries = [text.strip() for text in self.text(column).split("|")]
        texts = tuple(filter(None, entries))
        if long := [len(text) for text in texts if len(text) > LONGEST_ANSWER]:
            raise self.bad(column, f"holds an answer of {long[0]:,} characters, at most {LONGEST_ANSWER:,} are taken")
        if len(texts) > MOST_ANSWERS:
            raise self.bad(column, f"holds {len(texts):,} answers, at most {MOST_ANSWERS:,} are taken; leave some out")
        return texts

    def texts(self, column: str) -> tuple[str, ...]:
        """The texts of a cell that holds a list, without repetitions."""
        return tuple(dict.fromkeys(filter(None, (str(entry).strip() for entry in self._list(column)))))

    def parts(self, column: str, name: str, example: str = "") -> list[Row]:
        """The entries of a cell that holds a list (with an `example`, also as JSON), each as a row; a plain value
        becomes its cell `text`.
        """
        if example and isinstance(cell := self.cells[column], str):
            self.cells[column] = read_json(cell, self.place(column), f"a list such as {example}")
        cells = (entry if isinstance(entry, dict) else {"text": entry} for entry in self._list(column))
        return [Row(self.file, self.number, each, f"{column}, {name} {i}, ") for i, each in enumerate(cells, start=1)]

    def _list(self, column: str) -> list[Any]:
        if isinstance(cell := listed(self.cells.get(column)), list):
            return cell
        raise self.bad(column, f"a list was expected, found {cell!r:.40}")


def rows_of(frame: pd.DataFrame, file: str, *, is_ours: bool = False) -> list[Row]:
    """The rows with cells as texts; lists and objects stay."""

    def plain(cell: Any) -> Any:
        if type(cell) is str:
            return cell.strip()
        if type(cell) is tuple and not cell:  # as in `ItemSet.frame`
            return ""
        return cell if isinstance(cell := listed(cell), (list, dict, BadInput)) else plain_text(cell)

    names = list(frame)  # once: pandas makes each name anew whenever they are gone through
    columns = [[plain(cell) for cell in frame.iloc[:, place].tolist()] for place in range(len(names))]
    cells = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    numbers = frame.attrs.get("numbers") or range(1, len(frame) + 1)  # the first, of a file with rows left out
    return [Row(file, number, each, is_ours=is_ours) for number, each in zip(numbers, cells, strict=True)]


def plain_text(value: Any) -> str:
    """A value as text without surrounding white space: missing is empty, 1874.0 is "1874", a list is joined by bars."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value := listed(value), list):
        return "|".join(map(plain_text, value))
    if pd.isna(value):
        return ""
    return str(int(value) if pd.api.types.is_float(value) and value.is_integer() else value).strip()


def listed(cell: Any) -> Any:
    """An array or tuple, as in Parquet and data frames, as a list; any other cell unchanged."""
    if type(cell).__name__ == "ndarray":
        return cell.tolist()
    return list(cell) if isinstance(cell, tuple) else cell


def options_in(row: Row, column: str) -> tuple[Option, ...]:
    """The options in a cell; `answers.option.fault_of` checks them.

    The cell holds texts separated by bars ("a bank|a library"), which get the labels A, B, C …; or, as JSON or as a
    value, a list of texts, an object of label → text, or a list of objects with `label` and `text`.
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
    parts = row.parts(column, "option")
    return tuple(Option(label=part.short("label", LONGEST_ANSWER), text=part.short("text")) for part in parts)


def documents_in(row: Row) -> tuple[Document, ...]:
    """The documents in a cell of a user's own table, in their order.

    The cell is empty, or a list (also as JSON) of texts or of objects with `text` and optionally `id` (default: its
    number), `source`, `type` (correct, misinfo, noise) and `answer` (what the document claims).
    """
    if row.cells.get("documents", "") == "":
        return ()
    parts = row.parts("documents", "document", '[{"text": "…"}, …]')
    if not 0 < len(parts) <= MOST_DOCUMENTS:
        raise row.bad("documents", f"holds {len(parts)} documents, 1 to {MOST_DOCUMENTS} are taken; or leave it empty")
    documents = [document_of(part, str(number)) for number, part in enumerate(parts, start=1)]
    ids = [document.document_id for document in documents]
    for part, name in zip(parts, ids, strict=True):
        part.filled("text")
        for key in DOCUMENT_KEYS:
            part.short(key, LONGEST_TEXT if key == "text" else LONGEST_ANSWER)
        if ids.count(name) > 1:
            raise part.bad("id", f"{name!r} occurs twice; give each document of a row an id of its own")
    return tuple(documents)


def document_of(part: Row, document_id: str = "") -> Document:
    kind = DocumentKind(part.one_of("type", DocumentKind)) if part.text("type") else None
    texts = {name: part.text(name) for name in ("text", "source", "answer")}
    return Document(document_id=part.text("id", document_id), kind=kind, **texts)


def shuffled(documents: Iterable[Document], question: str) -> tuple[Document, ...]:
    """The documents in a random order that depends only on the question, with the ids 1, 2, 3 … in that order."""
    order = list(documents)
    random.Random(f"documents|{question}").shuffle(order)
    return tuple(replace(document, document_id=str(i)) for i, document in enumerate(order, start=1))
