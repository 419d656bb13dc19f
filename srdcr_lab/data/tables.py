"""Questions from a table somebody brings: CSV, JSONL, Parquet or a DataFrame, checked row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab import answers
from srdcr_lab.data.itemset import ItemSet, answer_types
from srdcr_lab.data.levels import level_of_factor, level_of_offset
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item, Level, PerturbationKind

if TYPE_CHECKING:
    import pandas as pd

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
REQUIRED = ("question", "gold_answer", "context")
LONGEST_PASSAGE = 100_000
_DEFAULT_POOL = 8  # exemplars set aside per domain where the table brings none


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
    absent = [column for column in REQUIRED if column not in frame.columns]
    if absent:
        raise BadInput(
            f"{name}: the column {absent[0]} is missing; needed are {', '.join(REQUIRED)}, "
            f"found {', '.join(map(str, frame.columns))}"
        )
    if frame.empty:
        raise BadInput(f"{name} has no rows")
    rows = [_Row(name, number, _texts(record)) for number, record in enumerate(frame.to_dict("records"), start=1)]
    guessed = answers.guess_type([row.get("gold_answer") for row in rows])
    rows_of: dict[str, int] = {}
    questions: dict[str, Item] = {}
    for row in rows:
        try:
            yield _checked(row, guessed, rows_of, questions)
        except BadInput as error:
            yield error


def _checked(row: _Row, guessed: AnswerType, rows_of: dict[str, int], questions: dict[str, Item]) -> Item | Exemplar:
    item = _item(row, guessed)
    if row.get("is_exemplar").lower() in ("true", "1", "yes"):
        return _as_exemplar(item)
    if item.item_id in rows_of:
        raise row.bad("item_id", f"{item.item_id!r} stands in row {rows_of[item.item_id]} already; make it unique")
    _refuse_another_question(row, item, questions.setdefault(item.question_id, item))
    rows_of[item.item_id] = row.number
    return item


class _Row:
    """One row of somebody's table, which knows its place for the sentence that says what is wrong."""

    def __init__(self, file: str, number: int, cells: Mapping[str, str]) -> None:
        self.file, self.number, self.cells = file, number, cells

    def refuse_half_characters(self) -> None:
        for column, cell in self.cells.items():
            if _HALF_CHARACTER.search(cell):
                raise self.bad(column, "holds half of a character (a lone surrogate); repair the text")

    def get(self, column: str, default: str = "") -> str:
        return self.cells.get(column, "") or default

    def text(self, column: str) -> str:
        if not (value := self.get(column)):
            raise self.bad(column, "is empty")
        return value

    def bad(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.file}, row {self.number}, column {column}: {what}")

    def choice(self, column: str, vocabulary: type[StrEnum], default: Any) -> Any:
        value = self.get(column)
        try:
            return vocabulary(value) if value else default
        except ValueError:
            raise self.bad(column, f"{value!r} is none of {', '.join(vocabulary)}") from None


def _texts(record: Mapping[Hashable, Any]) -> dict[str, str]:
    import numpy as np
    import pandas as pd

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
            return "|".join(map(text, value))
        if pd.isna(value):
            return ""
        if isinstance(value, (float, np.floating)) and value.is_integer():
            return str(int(value))
        return str(value).strip()

    return {str(column): text(value) for column, value in record.items()}


def _item(row: _Row, guessed: AnswerType) -> Item:
    row.refuse_half_characters()
    question, gold, context = (row.text(column) for column in REQUIRED)
    if len(context) > LONGEST_PASSAGE:
        raise row.bad(
            "context", f"the passage has {len(context):,} characters, at most {LONGEST_PASSAGE:,} are taken; shorten it"
        )
    answer_type = row.choice("answer_type", AnswerType, guessed)
    unit = row.get("unit")
    aliases = tuple(alias.strip() for alias in row.get("aliases").split("|") if alias.strip())
    if answers.normalise(gold, answer_type, unit) is None:
        raise row.bad("gold_answer", f"{gold!r} is no answer of type {answer_type}; types are {answer_types()}")
    _refuse_another_unit(row, gold, answer_type, unit)
    claim = row.get("claimed_answer", gold)
    perturbed = not answers.equal(claim, gold, answer_type, unit, aliases)
    kind = row.choice(
        "perturbation_kind", PerturbationKind, PerturbationKind.SUBSTITUTION if perturbed else PerturbationKind.NONE
    )
    if perturbed == (kind is PerturbationKind.NONE):
        raise row.bad(
            "perturbation_kind",
            f"is {kind}, but claimed_answer {claim!r} is {'not ' if perturbed else ''}the gold answer",
        )
    if not answers.find(context, claim, answer_type, unit, () if perturbed else aliases):
        raise row.bad(
            "context",
            f"the passage does not contain the answer {claim!r}; correct it, or put what it says into claimed_answer",
        )
    value = _number(row, "perturbation_value")
    return Item(
        item_id=row.get(
            "item_id",
            f"{row.get('question_id')}@{value:+g}" if row.get("question_id") and value else f"row-{row.number}",
        ),
        question_id=row.get("question_id", question),
        question=question,
        gold_answer=gold,
        context=context,
        claimed_answer=claim,
        domain=row.get("domain", "general"),
        answer_type=answer_type,
        aliases=aliases,
        unit=unit,
        perturbation_kind=kind,
        perturbation_value=value,
        level=row.choice("level", Level, _level(kind, value)),
    )


def _refuse_another_unit(row: _Row, gold: str, answer_type: AnswerType, unit: str) -> None:
    """A gold answer that names a unit names the one of the column."""
    if not unit:
        return
    if answer_type is not AnswerType.NUMBER:
        raise row.bad("unit", f"is {unit!r}, but an answer of type {answer_type} has none; leave it empty")
    if " " in (answers.normalise(gold, answer_type, unit) or ""):  # the canonical form keeps a unit that disagrees
        raise row.bad("unit", f"is {unit!r}, but the gold answer is {gold!r}; write both in one unit")


def _level(kind: PerturbationKind, value: float | None) -> Level:
    if kind is PerturbationKind.NONE:
        return Level.STANDARD
    if kind is PerturbationKind.OFFSET and value is not None:
        return level_of_offset(value)
    if kind is PerturbationKind.FACTOR and value is not None and value > 0:
        return level_of_factor(value)
    return Level.MODERATE


def _number(row: _Row, column: str) -> float | None:
    value = row.get(column)
    try:
        return float(value) if value else None
    except ValueError:
        raise row.bad(column, f"{value!r} is not a number") from None


def _refuse_another_question(row: _Row, item: Item, first: Item) -> None:
    """Forms of one question share its text and its gold answer, as they share what is drawn without a passage."""
    same_gold = answers.equal(item.gold_answer, first.gold_answer, first.answer_type, first.unit, first.aliases)
    if item.question != first.question or not same_gold:
        raise row.bad(
            "question_id",
            f"{item.question_id!r} stands for another question or gold answer in an earlier row; "
            "give each question an id of its own",
        )


def _as_exemplar(item: Item) -> Exemplar:
    return Exemplar(question=item.question, answer=item.gold_answer, context=item.context, domain=item.domain)


def with_exemplars(name: str, items: list[Item], own: tuple[Exemplar, ...], pool: tuple[Exemplar, ...]) -> ItemSet:
    """Give items a disjoint pool of exemplars, by the rules of `items_from_frame`."""
    evaluated = {item.question for item in items}
    exemplars = list(own) + [exemplar for exemplar in pool if exemplar.question not in evaluated]
    notes = []
    for domain in dict.fromkeys(item.domain for item in items):
        if sum(exemplar.domain == domain for exemplar in exemplars) >= 4:
            continue
        questions = list(
            dict.fromkeys(item.question_id for item in items if item.domain == domain and item.is_standard)
        )
        if len(questions) < 5 * _DEFAULT_POOL:
            notes.append(
                f"domain {domain}: fewer than four exemplars of its own, so those of other domains are shown with it"
            )
            continue
        aside = set(questions[:: len(questions) // _DEFAULT_POOL][:_DEFAULT_POOL])
        exemplars += [_as_exemplar(item) for item in items if item.question_id in aside and item.is_standard]
        items = [item for item in items if item.question_id not in aside]
        notes.append(
            f"domain {domain}: {len(aside)} of its questions were set aside as exemplars and are not evaluated"
        )
    if len(exemplars) < 4:
        raise BadInput(f"{name}: a few-shot prompt needs four exemplars; mark rows with the column is_exemplar")
    return ItemSet(name, tuple(items), tuple(exemplars), tuple(notes))
