"""A user's table as items: CSV, JSON lines, Parquet or a DataFrame, checked row by row. `rows` reads single cells."""

from __future__ import annotations

import csv
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srdcr_lab import answers
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.option import fault_of
from srdcr_lab.data.items import ItemSet, LeftOut, as_exemplar, standard_item, with_exemplars
from srdcr_lab.data.rows import (
    LONGEST_ANSWER,
    Row,
    documents_in,
    listed,
    options_in,
    plain_text,
    unreadable,
    with_wrong_answers,
)
from srdcr_lab.records import AnswerType, BadInput, Exemplar, Item, Level, PerturbationKind
from srdcr_lab.records.files import plain_cell, read_json
from srdcr_lab.records.vocabulary import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("question", "gold_answer", "context")
WRITTEN = (
    "item_id", "question_id", "question", "gold_answer", "context", "claimed_answer", "domain", "answer_type",
    "aliases", "unit", "perturbation_kind", "perturbation_value", "level", "gold_answers", "wrong_answers",
    "is_exemplar",
)  # fmt: skip
COLUMNS = (*WRITTEN, "options", "documents")
LISTS = ("aliases", "gold_answers", "wrong_answers")
_SHOWN = frozenset({"context", "documents", "options"})  # without any of them, a table is closed-book


def read_table(path: Path, needed: Sequence[str] = REQUIRED) -> pd.DataFrame:
    """A file's rows, as text where the format has no types; bad input that it is empty names the columns `needed`.

    A ``.json`` file holds JSON lines or one array of objects; ``.pqt`` is Parquet.
    """
    import pandas as pd

    if not path.is_file():
        raise BadInput(
            f"there is no file {path}; items are a file (.csv, .jsonl, .parquet) or a shipped set such as 'facts'"
        )
    try:
        match path.suffix.lower():
            case ".csv":
                names, mark = _header(path, needed)
                frame = pd.read_csv(path, sep=mark, dtype=str, keep_default_na=False, encoding="utf-8-sig")
                if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first cells for names of the rows
                    raise BadInput(
                        f"{path}: the rows have more cells than the header; quote cells with a {mark!r} inside"
                    )
                if len(names) == len(frame.columns):
                    frame.columns = pd.Index(names)  # pandas gives a name that stands twice a number
                return frame.map(plain_cell)
            case ".jsonl" | ".ndjson" | ".json":
                return pd.DataFrame(_objects(path, needed), dtype=object)
            case ".parquet" | ".pqt":
                import pyarrow.parquet as pq

                table = pq.read_table(path)
                table.validate(full=True)  # also that texts are texts
                return table.to_pandas()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8 (Excel: CSV UTF-8)") from None
    except pd.errors.EmptyDataError:
        raise BadInput(f"{path} is empty; it needs the columns {', '.join(needed)}") from None
    except pd.errors.ParserError as error:
        raise BadInput(f"cannot read {path} ({str(error).strip()}); quote cells with a comma or line break") from None
    except (ValueError, OSError) as error:
        raise BadInput(f"cannot read {path} as {path.suffix[1:]}: {error}") from None
    raise BadInput(f"{path}: items come as .csv, .jsonl or .parquet, not {path.suffix or 'a file without an ending'}")


def _header(path: Path, needed: Sequence[str]) -> tuple[list[str], str]:
    """The names of a CSV file's columns, and the mark between its cells: a comma, or what a spreadsheet writes."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(100_000)
    wanted = {name for column in needed for name in column.split("|")}
    cut = {mark: [name.strip() for name in next(csv.reader([line], delimiter=mark), [])] for mark in ",;\t"}
    mark = max(cut, key=lambda mark: len(wanted.intersection(cut[mark])))
    return cut[mark], mark


def _objects(path: Path, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of a JSON array, or of JSON lines, which end with a line feed alone: others may be in a passage."""
    text = path.read_text("utf-8-sig")
    if path.suffix.lower() == ".json" and text.lstrip().startswith("["):
        unit, objects = "row", dict(enumerate(read_json(text, str(path), distinct_keys=True), start=1))
    else:
        unit, lines = "line", enumerate(text.split("\n"), start=1)
        read = partial(read_json, distinct_keys=True)
        objects = {number: read(line, f"{path}, line {number}") for number, line in lines if line.strip()}
    for number, entry in objects.items():
        if not isinstance(entry, dict):
            raise BadInput(f'{path}, {unit} {number}: a {unit} is an object such as {{"question": "…", …}}')
    if not objects:
        raise BadInput(f"{path} is empty; every {unit} is an object with {', '.join(needed)}")
    return list(objects.values())


def missing_columns(frame: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns that a table lacks; "a|b" is a column of either name."""
    return [column for column in columns if not set(frame.columns) & set(column.split("|"))]


def check_columns(frame: pd.DataFrame, columns: Sequence[str], file: str, needs: str) -> None:
    """Raise `BadInput` where a table lacks a column, has one twice or no rows; `needs` says what it must have."""
    if twice := [str(name) for name in frame.columns[frame.columns.duplicated()] if str(name)]:
        raise BadInput(f"{file}: the column {twice[0]} stands twice; keep one of them, or rename the other")
    if missing := missing_columns(frame, columns):
        name, found = missing[0].replace("|", " or "), [str(column) for column in frame.columns]
        near = did_you_mean(missing[0], found).replace("did you mean", "is it")
        raise BadInput(f"{file}: the column {name} is missing; {needs}, found {', '.join(found)}{near}")
    if frame.empty:
        raise BadInput(f"{file} has no rows")


def items_from_frame(
    frame: pd.DataFrame, name: str, exemplar_pool: Sequence[Exemplar] = (), *, strict: bool = False
) -> ItemSet:
    """Items of a table; its exemplars are the rows whose column `is_exemplar` is true, and what `with_exemplars` adds.

    Rows that cannot be used are left out, and notes name them; with `strict`, or where nothing is left, the first of
    them is bad input.
    """
    rows, left_out = list(checked_rows(frame, name)), LeftOut(name)
    items = [row for row in rows if isinstance(row, Item)]
    exemplars = [row for row in rows if isinstance(row, Exemplar)]
    for row in rows:
        if isinstance(row, BadInput):
            if strict or not items:
                raise row
            left_out.leave_out(row)
    if not items:
        raise BadInput(f"{name}: every row is an exemplar; none is left to evaluate")
    whole = with_exemplars(name, items, exemplars, exemplar_pool)
    return replace(whole, notes=(*left_out.left_out_notes(), *_doubts(frame, items), *whole.notes))


def _doubts(frame: pd.DataFrame, items: Sequence[Item]) -> Iterator[str]:
    """What a table may not mean as it is read."""
    columns = [str(column) for column in frame.columns]
    for column in columns:
        if column not in COLUMNS and (near := did_you_mean(column, set(COLUMNS) - set(columns))):
            yield f"the column {column} is not read{near}"
    if not _SHOWN & set(columns):
        yield "there is no column context, options or documents: the questions are asked of memory alone (closed-book)"
    numbers = sum(answers.infer_unit(item.gold_answer) is not None for item in items)
    if numbers and "answer_type" not in columns and all(item.answer_type is AnswerType.TEXT for item in items):
        yield (
            f"{numbers} of {len(items)} gold answers are numbers, and no column answer_type tells how to compare the "
            f"answers: all are compared as text; add it ({', '.join(AnswerType)})"
        )


def checked_rows(frame: pd.DataFrame, name: str) -> Iterator[Item | Exemplar | BadInput]:
    """Each row as an item, an exemplar, or the sentence that says what is wrong with it.

    A table without passages, documents and options is closed-book: its questions are asked of memory alone.
    """
    check_columns(frame, REQUIRED[:2], name, f"needed are {', '.join(REQUIRED)}")
    rows = [Row(name, number, _cells(record)) for number, record in enumerate(frame.to_dict("records"), start=1)]
    guessed = answers.guess_type([gold for row in rows if isinstance(gold := row.cells["gold_answer"], str)])
    ids: dict[str, str] = {}  # question → the id of the first row that asks it
    row_of: dict[str, int] = {}  # item_id → its row
    first: dict[str, Item] = {}  # question_id → its first item
    for row in rows:
        try:
            own_id = row.text("question_id") or row.text("item_id") or f"row-{row.number}"
            question_id = ids.setdefault(row.text("question"), own_id)
            item = _item(row, guessed, question_id)
            if row.text("is_exemplar").lower() in ("true", "1", "yes"):
                yield as_exemplar(item)
                continue
            if earlier := row_of.get(item.item_id):
                raise row.bad("item_id", f"{item.item_id!r} stands in row {earlier} already; make it unique")
            _refuse_another_question(row, item, first.setdefault(item.question_id, item))
            row_of[item.item_id] = row.number
            yield item
        except BadInput as error:
            yield error


def _cells(record: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Cells as texts, lists of texts with bars between them; other lists and objects as they are."""
    cells = {column: listed(cell) for column, cell in record.items()}
    for column, cell in cells.items():
        if not isinstance(cell, (list, dict)) or (column in LISTS and isinstance(cell, list)):
            cells[column] = plain_text(cell)
    return cells


def _refuse_another_question(row: Row, item: Item, first: Item) -> None:
    """Forms of one question share its text and its gold answer, as they share what is drawn without a passage."""
    same_gold = answers.equal(item.gold_answer, first.gold_answer, first.answer_type, first.unit, first.aliases)
    if item.question != first.question or not same_gold:
        another = f"{item.question_id!r} stands for another question or gold answer in an earlier row"
        raise row.bad("question_id", f"{another}; give each question an id of its own")


def _item(row: Row, guessed: AnswerType, question_id: str) -> Item:
    """The item of a row; `guessed` is its answer type, and `question_id` its question's, where the row names none."""
    documents = documents_in(row)
    question, gold = row.filled("question"), row.filled("gold_answer")
    row.short("question")
    for column in ("gold_answer", "claimed_answer"):
        row.short(column, LONGEST_ANSWER)
    for column in LISTS:
        if long := [text for text in row.between_bars(column) if len(text) > LONGEST_ANSWER]:
            raise row.bad(
                column, f"holds an answer of {len(long[0]):,} characters, at most {LONGEST_ANSWER:,} are taken"
            )
    has_options = row.cells.get("options", "") != ""
    if not documents and not has_options and _SHOWN & set(row.cells):
        row.filled("context")
    item = standard_item(
        row.text("question_id", question_id),
        question,
        gold,
        row.short("context"),
        item_id=row.text("item_id", f"row-{row.number}"),
        domain=row.text("domain", "general"),
        documents=documents,
    )
    return _with_options(row, item) if has_options else _with_answer(row, item, guessed)


def _with_options(row: Row, item: Item) -> Item:
    """The item with its options and the label of its gold answer; a passage need not contain the words of an option."""
    if item.documents:
        raise row.bad("documents", "stands beside options; give a question one of the two and leave the other empty")
    options, label = options_in(row, "options"), item.gold_answer
    by_text = [option.label for option in options if option.text == label]
    if len(by_text) == 1 and label not in [option.label for option in options]:
        label = by_text[0]
    if fault := fault_of(options, label):
        raise row.bad("gold_answer" if fault.startswith("the answer") else "options", fault)
    if (named := row.one_of("answer_type", AnswerType, AnswerType.OPTION)) != AnswerType.OPTION:
        raise row.bad("answer_type", f"is {named}, but a question with options has the type option; leave it empty")
    item = replace(item, gold_answer=label, claimed_answer=label, answer_type=AnswerType.OPTION, options=options)
    if why := unreadable(item):
        raise row.bad("options", f"{why}: its label or text is another option's too; change one of them")
    return item


def _with_answer(row: Row, item: Item, guessed: AnswerType) -> Item:
    """The item with how its answer is compared, what else is right or wrong, and what its passage claims."""
    answer_type, unit = AnswerType(row.one_of("answer_type", AnswerType, guessed)), row.text("unit")
    if answer_type is AnswerType.OPTION:
        raise row.bad("options", "is empty, but answer_type is option; name the options")
    gold = item.gold_answer
    canonical = answers.normalise(gold, answer_type, unit)
    if canonical is None:
        told = f"{gold!r:.60} is no answer of type {answer_type}; write it as a reply would, or take another type"
        raise row.bad("gold_answer", f"{told} ({', '.join(AnswerType)})")
    if unit and not kind_of(answer_type).has_unit:
        raise row.bad("unit", f"is {unit!r}, but an answer of type {answer_type} has none; leave it empty")
    if unit and " " in canonical:  # the canonical form keeps a unit that disagrees
        raise row.bad("unit", f"is {unit!r}, but the gold answer is {gold!r}; write both in one unit")
    value = row.number_in("perturbation_value")
    if row.text("question_id") and value:
        item = replace(item, item_id=row.text("item_id", f"{item.question_id}@{value:+g}"))
    others = tuple(answer for answer in row.between_bars("gold_answers") if answer != gold)
    aliases = row.between_bars("aliases")
    item = replace(item, answer_type=answer_type, unit=unit, aliases=aliases, other_gold_answers=others)
    if why := unreadable(item):
        raise row.bad("gold_answer", f"{why}; write it as a reply would, or put a shorter form into aliases")
    item = with_wrong_answers(item, row.between_bars("wrong_answers"))
    return _with_claim(row, item, value) if item.context else item


def _with_claim(row: Row, item: Item, value: float | None) -> Item:
    """The item with what its passage claims, and how far that is from the truth."""
    claim = row.text("claimed_answer", item.gold_answer)
    perturbed = not answers.equal(claim, item.gold_answer, item.answer_type, item.unit, item.aliases)
    default = PerturbationKind.SUBSTITUTION if perturbed else PerturbationKind.NONE
    kind = PerturbationKind(row.one_of("perturbation_kind", PerturbationKind, default))
    if perturbed == (kind is PerturbationKind.NONE):
        negation = "not " if perturbed else ""
        raise row.bad("perturbation_kind", f"is {kind}, but claimed_answer {claim!r} is {negation}the gold answer")
    if not answers.find(item.context, claim, item.answer_type, item.unit, () if perturbed else item.aliases):
        missing = f"the passage does not contain the answer {claim!r}"
        raise row.bad("context", f"{missing}; correct it, or put what it says into claimed_answer")
    level = Level(row.one_of("level", Level, kind_of(item.answer_type).level(kind, value)))
    return replace(item, claimed_answer=claim, perturbation_kind=kind, perturbation_value=value, level=level)


def checked_ending(path: Path, endings: Sequence[str]) -> Path:
    """The path; bad input where its ending is none of these, or its folder does not exist."""
    if path.suffix.lower() not in endings:
        raise BadInput(f"{path}: expected a name that ends in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no folder {path.parent}; make it first")
    return path
