"""The rows of a table that somebody brings: CSV, JSON lines or Parquet, read as they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab import answers
from srdcr_lab.data.items import ItemSet, answer_types, as_exemplar, with_exemplars
from srdcr_lab.data.rows import LONGEST_PASSAGE, TableRow, item_of
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd


REQUIRED = ("question", "gold_answer", "context")


def read_table(path: Path, needed: Sequence[str] = REQUIRED) -> pd.DataFrame:
    """A file's rows, as text where the format has no types. `needed` are the columns an empty file is told to have.

    A ``.json`` file holds JSON lines or one array of objects; ``.pqt`` is Parquet.

    Raises
    ------
    BadInput
        If the file is missing, empty, not UTF-8, broken or of another format.
    """
    import pandas as pd

    if not path.is_file():
        raise BadInput(
            f"there is no file {path}; items are a file (.csv, .jsonl, .parquet) or a shipped set such as 'facts'"
        )
    try:
        match path.suffix.lower():
            case ".csv":
                frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
                if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first cells for names of the rows
                    raise BadInput(f"{path}: the rows have more cells than the header; quote cells that hold a comma")
                return frame
            case ".jsonl" | ".ndjson" | ".json":
                return pd.DataFrame(_objects(path, needed), dtype=object)
            case ".parquet" | ".pqt":
                return pd.read_parquet(path)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except pd.errors.EmptyDataError:
        raise BadInput(f"{path} is empty; it needs the columns {', '.join(needed)}") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"cannot read {path} as {path.suffix[1:]}: {error}") from None
    raise BadInput(f"{path}: items come as .csv, .jsonl or .parquet, not {path.suffix or 'a file without an ending'}")


def _objects(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; lines end with a line feed alone, other separators may stand in a passage."""
    text = path.read_text("utf-8-sig")
    if path.suffix.lower() == ".json" and text.lstrip().startswith("["):
        return _array(path, text)
    objects = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: no JSON ({error})") from None
        if not isinstance(found, dict):
            raise BadInput(f'{path}, line {number}: a line is an object such as {{"question": "…", …}}')
        objects.append(found)
    if not objects:
        raise BadInput(f"{path} is empty; every line is an object with {', '.join(needed)}")
    return objects


def _array(path: Path, text: str) -> list[dict[str, Any]]:
    """The objects of a file that is one JSON array."""
    try:
        objects = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{path}: no JSON ({error})") from None
    for number, found in enumerate(objects, start=1):
        if not isinstance(found, dict):
            raise BadInput(f'{path}, row {number}: a row is an object such as {{"question": "…", …}}')
    return list(objects)


# -- questions from a table somebody brings: CSV, JSONL, Parquet or a DataFrame, checked row by row

__all__ = ["LONGEST_PASSAGE", "REQUIRED", "checked_rows", "items_from_frame", "read_table", "with_exemplars"]


def items_from_frame(frame: pd.DataFrame, name: str, exemplar_pool: tuple[Exemplar, ...] = ()) -> ItemSet:
    """Items of a table with `question, gold_answer, context` and any of the optional columns in README.md.

    Exemplars are the rows whose column `is_exemplar` is true; else those of `exemplar_pool` in the same domain; else
    some questions of each large enough domain are set aside for it; else the pool serves across domains. What was
    done stands in the notes.

    Raises
    ------
    BadInput
        Naming file, row and column of what is wrong.
    """
    items: list[Item] = []
    exemplars: list[Exemplar] = []
    for found in checked_rows(frame, name):
        if isinstance(found, BadInput):
            raise found
        if isinstance(found, Item):
            items.append(found)
        else:
            exemplars.append(found)
    if not items:
        raise BadInput(f"{name}: every row is an exemplar; none is left to evaluate")
    chosen = with_exemplars(name, items, tuple(exemplars), exemplar_pool)
    return replace(chosen, notes=(*_type_not_told(frame, items), *chosen.notes))


def _type_not_told(frame: pd.DataFrame, items: Sequence[Item]) -> list[str]:
    """A note where no column says how answers are compared, some are numbers, and they have no one type."""
    numbers = sum(answers.infer_unit(item.gold_answer) is not None for item in items)
    told = "answer_type" in frame.columns or any(item.answer_type is not AnswerType.TEXT for item in items)
    if told or not numbers:
        return []
    return [
        f"{numbers} of {len(items)} gold answers are numbers, and no column answer_type tells how to compare the "
        f"answers: all are compared as text; add it ({answer_types()})"
    ]


def checked_rows(frame: pd.DataFrame, name: str) -> Iterator[Item | Exemplar | BadInput]:
    """Each row as what it is: an item, an exemplar, or the sentence that says what is wrong with it.

    Raises
    ------
    BadInput
        If a needed column or every row is missing.
    """
    beside = {"documents", "options"} & set(frame.columns)  # with one of them a passage is not needed
    absent = [column for column in REQUIRED if column not in frame.columns and not (column == "context" and beside)]
    if absent:
        raise BadInput(
            f"{name}: the column {absent[0]} is missing; needed are {', '.join(REQUIRED)}, "
            f"found {', '.join(map(str, frame.columns))}"
        )
    if frame.empty:
        raise BadInput(f"{name} has no rows")
    rows = [TableRow(name, number, record) for number, record in enumerate(frame.to_dict("records"), start=1)]
    guessed = answers.guess_type([row.get("gold_answer") for row in rows])
    names: dict[str, str] = {}  # question → the id of the first row that asks it
    for row in rows:
        names.setdefault(row.get("question"), row.get("question_id") or row.get("item_id") or row.place)
    rows_of: dict[str, int] = {}
    questions: dict[str, Item] = {}
    for row in rows:
        try:
            yield _checked(row, item_of(row, guessed, names[row.get("question")]), rows_of, questions)
        except BadInput as error:
            yield error


def _checked(row: TableRow, item: Item, rows_of: dict[str, int], questions: dict[str, Item]) -> Item | Exemplar:
    """The item itself, or as an exemplar; refused where an earlier row has its id, or gives its question otherwise."""
    if row.get("is_exemplar").lower() in ("true", "1", "yes"):
        return as_exemplar(item)
    if item.item_id in rows_of:
        raise row.bad("item_id", f"{item.item_id!r} stands in row {rows_of[item.item_id]} already; make it unique")
    _refuse_another_question(row, item, questions.setdefault(item.question_id, item))
    rows_of[item.item_id] = row.number
    return item


def _refuse_another_question(row: TableRow, item: Item, first: Item) -> None:
    """Forms of one question share its text and its gold answer, as they share what is drawn without a passage."""
    same_gold = answers.equal(item.gold_answer, first.gold_answer, first.answer_type, first.unit, first.aliases)
    if item.question != first.question or not same_gold:
        raise row.bad(
            "question_id",
            f"{item.question_id!r} stands for another question or gold answer in an earlier row; "
            "give each question an id of its own",
        )
