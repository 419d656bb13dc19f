"""Tables that come in (items of one's own) and tables that are read back (results): checked, never guessed at."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.load import write_items
from srdcr_lab.protocols import choices
from srdcr_lab.records import AnswerType, BadInput, Level, PerturbationKind, arrow_schema, check_schema
from srdcr_lab.records.tables import TABLES
from srdcr_lab.study import load_run
from tests.conftest import Srdcr

ROWS: list[dict[str, Any]] = [
    {
        "question_id": "bridge", "question": "When was the bridge built?", "gold_answer": 1874, "claimed_answer": None,
        "context": "The bridge was built in 1874.", "aliases": None, "perturbation_kind": None,
        "perturbation_value": None,
    },
    {
        "question_id": "bridge", "question": "When was the bridge built?", "gold_answer": 1874, "claimed_answer": 1834,
        "context": "The bridge, « le pont », was built in 1834.", "aliases": None, "perturbation_kind": "offset",
        "perturbation_value": -40,
    },
]  # fmt: skip


def _csv(folder: Path) -> Path:
    pd.DataFrame(ROWS).astype("Int64", errors="ignore").to_csv(folder / "items.csv", index=False)
    return folder / "items.csv"


def _spreadsheet(folder: Path) -> Path:
    path = _csv(folder)
    path.write_bytes("\ufeff\n,,\n".encode() + path.read_bytes())
    return path


def _jsonl(folder: Path) -> Path:
    path = folder / "items.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n\n", "utf-8")
    return path


def _parquet(folder: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "items.parquet")
    return folder / "items.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": _csv, "csv of a spreadsheet": _spreadsheet, "jsonl": _jsonl, "parquet": _parquet,
    "frame": lambda _: pd.DataFrame(ROWS), "nullable frame": lambda _: pd.DataFrame(ROWS).convert_dtypes(),
    "narrow frame": lambda _: pd.DataFrame(ROWS).astype({"gold_answer": "float32", "claimed_answer": "float32"}),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_items_from_every_kind_of_table(tmp_path: Path, source: str) -> None:
    standard, perturbed = load_items(SOURCES[source](tmp_path))
    assert (standard.item_id, standard.gold_answer, standard.claimed_answer) == ("bridge", "1874", "1874")
    assert (standard.answer_type, standard.level, standard.perturbation_value) == (
        AnswerType.YEAR, Level.STANDARD, None,
    )  # fmt: skip
    assert (perturbed.item_id, perturbed.gold_answer, perturbed.claimed_answer) == ("bridge@-40", "1874", "1834")
    assert (perturbed.perturbation_kind, perturbed.level) == (PerturbationKind.OFFSET, Level.MILD)
    assert perturbed.perturbation_value == -40
    assert perturbed.context == "The bridge, « le pont », was built in 1834."
    assert (standard.aliases, perturbed.aliases) == ((), ())


DOSE = {
    "question": "How much?", "gold_answer": "400", "context": "Take 400 mg.", "answer_type": "number", "unit": "mg",
    "accepted": "500 .. 800|1,000", "aliases": ["400 mg|day"],
}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_accepted_values_of_a_table_and_an_alias_with_a_bar(tmp_path: Path, ending: str) -> None:
    items = load_items(pd.DataFrame([DOSE]))
    assert (items.items[0].accepted, items.items[0].aliases) == (("500 .. 800", "1,000"), ("400 mg|day",))
    write_items(items, path := tmp_path / f"items.{ending}")
    assert load_items(path).items == items.items


def test_items_pass_through_and_aliases_come_as_list_or_cell() -> None:
    items = load_items(pd.DataFrame(ROWS))
    assert isinstance(items, ItemSet)
    assert load_items(items) is items
    pd.testing.assert_series_equal(items.frame()["item_id"], pd.Series(["bridge", "bridge@-40"], name="item_id"))
    row = {"question": "Who?", "gold_answer": "William I", "context": "It was William I."}
    lists = load_items(pd.DataFrame([{**row, "aliases": ["William", "the Conqueror"]}]))
    cells = load_items(pd.DataFrame([{**row, "aliases": "William | the Conqueror"}]))
    assert lists.items[0].aliases == cells.items[0].aliases == ("William", "the Conqueror")


def test_rows_marked_as_exemplars_are_shown_and_not_evaluated() -> None:
    rows = [{"question": f"When {i}?", "gold_answer": "1", "context": "1.", "is_exemplar": i < 4} for i in range(6)]
    items = load_items(pd.DataFrame(rows))
    assert [item.question for item in items] == ["When 4?", "When 5?"]
    assert [exemplar.question for exemplar in items.pool(items.items[0])] == [f"When {i}?" for i in range(4)]
    rows = [
        {"item_id": f"e{i}", "question": f"Q{i}?", "gold_answer": "1", "context": "1", "is_exemplar": "1.0"}
        for i in "abcd"
    ]
    rows += [{"item_id": "a", "question": "When?", "gold_answer": "1", "context": "1", "is_exemplar": 0}] * 2
    with pytest.raises(BadInput, match="table, row 6, column item_id: 'a' already occurs in row 5"):
        load_items(pd.DataFrame(rows), strict=True)


@pytest.mark.parametrize(("name", "content", "says"), [
    ("items.jsonl", b"", "items.jsonl is empty; every line is an object with question, gold_answer, context"),
    ("items.jsonl", b'{"question": 1}}\n{"question"\n', "items.jsonl, line 1: not valid JSON"),
    ("items.jsonl", b"[1874]\n", "items.jsonl, line 1: a line is an object"),
    ("items.jsonl", b'{"question": "Caf\xe9?"}\n', "items.jsonl is not UTF-8"),
    ("items.jsonl", b'{"question": "When?", "answer": "1"}\n', "the column gold_answer is missing; needed are"),
    ("items.jsonl", rb'{"question": "When\ud800?", "gold_answer": "1874", "context": "1874"}',
     "row 1, column question: holds half of a character"),
    ("items.parquet", b"PAR1 and no more", "cannot read"),
    ("items.csv", b"question,gold_answer,context\nWhen,1874,In 1874,or so\n",
     "row 1 (line 2): has more cells (4) than the header (3)"),
    ("items.csv", b'"a"b,c\nquestion,gold_answer,context\nWhen?,1874,In 1874.\n',
     "items.csv, line 1: there is a quotation mark inside a quoted cell"),
    ("items.xlsx", b"PK", "items come as .csv, .jsonl or .parquet, not .xlsx"),
    ("items.csv", b"question,gold_anwser,context\nWhen?,1874,In 1874.\n",
     "the column gold_answer is missing; needed are question, gold_answer, context; "
     "found: question, gold_anwser, context (is it gold_anwser?)"),
    ("items.csv", b"question,gold_answer,context,context\nWhen?,1874,In 1874.,In 1875.\n", "context occurs twice"),
    ("items.csv", b"question,gold_answer,context, context\nWhen?,1874,In 1874.,In 1875.\n", "context occurs twice"),
    ("items.jsonl", b'{"question": "When?", "gold_answer": "1", "context": "In 1.", "context": "In 2."}',
     "'context' occurs twice"),
])  # fmt: skip
def test_files_that_are_broken(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(tmp_path / name)


ODD = [
    {"question": "When was it built?", "gold_answer": "1874", "context": "Built in 1874."},
    {"question": "When was it dug?", "gold_answer": "1801", "context": "Nobody knows."},
    {"question": "When was it cut?", "gold_answer": "1851", "context": "Cut in 1851."},
]


def test_a_row_that_cannot_be_used_is_left_out_counted_and_named() -> None:
    """One odd row does not refuse a table; the others are the items that they would be without it."""
    items = load_items(pd.DataFrame(ODD))
    assert [item.item_id for item in items] == ["row-1", "row-3"]
    assert items.notes[:2] == (
        "table: left out 1 row that cannot be used; --strict would refuse",
        "table, row 2, column context: the passage does not contain the answer '1801'; correct it, add its "
        "spelling to aliases, or put what a false one says into claimed_answer",
    )
    with pytest.raises(BadInput, match="row 2, column context: the passage does not contain the answer '1801'"):
        load_items(pd.DataFrame(ODD), strict=True)
    # a table with many odd rows gives no flood of notes.
    notes = load_items(pd.DataFrame([ODD[0], *([{**ODD[1], "question": ""}] * 9)])).notes
    assert notes[0].startswith("table: left out 9 rows that cannot be used; here are 5, srdcr data check lists all")
    assert [note for note in notes if note.endswith("column question: is empty")] == [
        f"table, row {row}, column question: is empty" for row in range(2, 7)
    ]
    # with the first reason.
    with pytest.raises(BadInput, match="table, row 1, column context: the passage does not contain"):
        load_items(pd.DataFrame([ODD[1]] * 3))


@pytest.mark.parametrize(("column", "cell", "says"), [
    *((column, "a " * 100_000, "h") for column in ("gold_answer", "claimed_answer", "aliases", "wrong_answers")),
    *((column, "a" * 1_001, "has 1,001 characters, at most 1,000 are taken")
      for column in ("item_id", "question_id", "domain", "unit")),
    ("aliases", "a|" * 1_001, "holds 1,001 answers, at most 1,000 are taken"),
])  # fmt: skip
def test_a_cell_without_end_is_left_out(column: str, cell: str, says: str) -> None:
    """An answer that is looked for in passages and replies would take minutes."""
    rows = [ODD[0], {**ODD[0], "question": "When was the mill built?", column: cell}]
    assert any(f"row 2, column {column}: {says}" in note for note in load_items(pd.DataFrame(rows)).notes)


@pytest.mark.parametrize("noted", [
    '{"index_columns": 5}', "{", '{"index_columns": ["nope"], "column_indexes": [{}], "columns": [{"name": "x"}]}',
    '{"index_columns": [], "columns": [{"field_name": "question", "pandas_type": "categorical"}]}',
])  # fmt: skip
def test_what_another_program_noted_in_a_parquet_file_is_not_read(noted: str, tmp_path: Path) -> None:
    table = pq.read_table(_parquet(tmp_path)).replace_schema_metadata({"pandas": noted})
    pq.write_table(table, tmp_path / "foreign.parquet")
    assert load_items(tmp_path / "foreign.parquet").items == load_items(_parquet(tmp_path)).items


@pytest.mark.parametrize(("n", "says"), [(1, "question: has 10,000,000 characters"), (999, "more than 4,096 MiB")])
def test_a_huge_value_of_a_parquet_dictionary_is_one_sentence(tmp_path: Path, n: int, says: str) -> None:
    huge = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["a" * 10_000_000])
    table = pa.table({"question": huge, "gold_answer": ["1874"] * n, "context": ["1874"] * n})
    pq.write_table(table, tmp_path / "huge.parquet")
    with pytest.raises(BadInput, match=says):
        load_items(tmp_path / "huge.parquet")


def test_a_parquet_file_whose_texts_are_none_is_one_sentence(tmp_path: Path) -> None:
    """A flipped byte in a text."""
    path = _parquet(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"bridge", b"br\xaddge"))
    assert path.read_bytes() != content
    with pytest.raises(BadInput, match=r"cannot read .*as parquet: .*UTF8"):
        load_items(path)


def test_a_run_tells_what_was_left_out_keeps_it_and_goes_on(tmp_path: Path, srdcr: Srdcr, openai: list[object]) -> None:
    """On the terminal and in run.json; the same command resumes; --strict refuses."""
    pd.DataFrame(ODD).to_csv(tmp_path / "my.csv", index=False)
    asked = (*openai, "--items", tmp_path / "my.csv", "--methods", "few_shot", "--samples", 0)
    told = "note: my.csv, row 2, column context: the passage does not contain the answer '1801'"
    planned = srdcr("plan", *asked)
    assert (planned.code, told in planned.out) == (0, True)
    for _ in range(2):
        ran = srdcr("run", *asked, "--out", tmp_path / "out")
        assert (ran.code, told in ran.out) == (0, True)
    assert load_run(tmp_path / "out").manifest["notes"][0].startswith("my.csv: left out 1 row")
    assert len(load_items(tmp_path / "out" / "items.json")) == 2
    assert told.removeprefix("note: ") in srdcr.refuses("run", *asked, "--strict", "--out", tmp_path / "other")
    assert not (tmp_path / "other").exists()


SOUND = {"question": "When?", "gold_answer": "1874", "context": "In 1874."}
CHOICE = {
    "question_id": "old", "question": "Which is the older one?", "gold_answer": "the tower",
    "options": "the tower|the bridge|The  bridge", "context": "The tower is of 1500.",
}  # fmt: skip


@pytest.mark.parametrize(("row", "cells", "says"), [
    (SOUND, {"question": {"stem": "When?"}}, "column question: is an object, a text was expected"),
    (SOUND, {"question": ["When?"]}, "column question: is a list, a text was expected"),
    (SOUND, {"gold_answer": {"year": 1874}}, "column gold_answer: is an object, a text was expected"),
    (SOUND, {"perturbation_value": "nan"}, "column perturbation_value: 'nan' is not a number; leave the cell empty"),
    (SOUND, {"perturbation_value": float("inf")}, "column perturbation_value: 'inf' is not a number; leave the cell"),
    (SOUND, {"answer_type": "yaer"}, "column answer_type: 'yaer' is none of year, number, name, city, text, "
     "option, date, yes_no (did you mean year?)"),
    (SOUND, {"is_exemplar": "t"}, "column is_exemplar: 't' is neither true nor false; write true, false, 1 or 0"),
    (SOUND, {"argued": "maybe"}, "column argued: 'maybe' is neither true nor false; write true, false, 1 or 0"),
    (SOUND, {"level": "mild"},
     "column level: is mild, but perturbation_kind is none; correct one, or leave level empty"),
    (SOUND, {"gold_answer": "yes", "claimed_answer": "perhaps"},
     "column claimed_answer: 'perhaps' is no answer of type yes_no; correct it"),
    (SOUND, {"unit": "metres"}, "column unit: is 'metres', but an answer of type year has none"),
    (DOSE, {"gold_answer": "5 g", "context": "Take 5 g."}, "column unit: is 'mg', but the gold answer is '5 g'"),
    (DOSE, {"context": "Take 400 g."}, "column context: the passage does not contain the answer '400'"),
    (DOSE, {"accepted": "much"}, "column accepted: 'much' is no answer of type number; it holds values with | between"),
    (DOSE, {"accepted": "0..800"}, "column accepted: '0..800' is no answer of type number"),
    (DOSE, {"claimed_answer": "650", "context": "Take 650 mg."},
     "column claimed_answer: '650' counts as right, see the column accepted; claim another answer"),
    (CHOICE, {"claimed_answer": "D"}, "column claimed_answer: the answer 'D' is none of the labels A, B"),
    (CHOICE, {"claimed_answer": "A", "perturbation_kind": "rewrite"}, "column perturbation_kind: is rewrite, but"),
    (CHOICE, {"options": "the tower|The tower|the bridge"},
     "column options: option B repeats the text of an earlier one"),
])  # fmt: skip
def test_a_cell_that_cannot_be_is_named(row: dict[str, str], cells: dict[str, Any], says: str) -> None:
    """Dicts as questions, NaN and infinite perturbations; near names."""
    with pytest.raises(BadInput, match=re.escape(f"table, row 1, {says}")):
        load_items(pd.DataFrame([{**row, **cells}], dtype=object))


@pytest.mark.parametrize("claim", ["B", "C", "the bridge", "The  bridge"])
def test_options_keep_which_passages_are_false(claim: str) -> None:
    """Each item was standard, whatever it claimed. A repeated option is dropped, as benchmarks do, also as a claim."""
    false = {**CHOICE, "context": "The tower is of 1700.", "claimed_answer": claim}
    true, other = items = load_items(pd.DataFrame([{**CHOICE, "claimed_answer": "A"}, false]))
    assert (true.claimed_answer, true.level) == ("A", Level.STANDARD)
    assert (other.claimed_answer, other.perturbation_kind, other.level) == ("B", "substitution", Level.MODERATE)
    assert [option.label for option in true.options] == ["A", "B"]
    assert "table: 2 rows asked without an option that repeats a wrong one" in items.notes


OLDER = [
    {"question": "Is the tower older?", "gold_answer": True, "context": "The tower is of 1500."},
    {"question": "Is the dam older?", "gold_answer": "no", "context": "The dam is of 1700."},
    {"question": "When was the mill built?", "gold_answer": "1801", "context": "The mill was built in 1801."},
]


def test_a_passage_need_not_say_yes_or_no() -> None:
    """Such rows were left out. The rows of other types are of the type that they are without them."""
    items = load_items(pd.DataFrame(OLDER))
    assert [item.answer_type.value for item in items] == ["yes_no", "yes_no", "year"]
    assert items.notes[0] == (
        "table: taken to be true, since claimed_answer and perturbation_kind are empty: 2 passages that need not "
        "contain the answer (options, yes or no, argued)"
    )
    told = load_items(pd.DataFrame(OLDER).assign(claimed_answer=["false", "no", ""]))
    assert [item.level for item in told] == [Level.MODERATE, Level.STANDARD, Level.STANDARD]
    assert not any("need not contain" in note for note in told.notes)


@pytest.mark.parametrize("row", [OLDER[0], OLDER[1], {**CHOICE, "options": "the tower|the bridge"}])
def test_of_two_answers_a_false_passage_claims_the_other(row: dict[str, Any]) -> None:
    (item,) = load_items(pd.DataFrame([{**row, "perturbation_kind": "rewrite"}]))
    assert item.level is Level.MODERATE
    assert item.claimed_answer == {"True": "no", "no": "yes", "A": "B"}[item.gold_answer]


def test_an_argued_passage_is_kept_where_the_table_says_so(tmp_path: Path) -> None:
    argued = [{**row, "argued": flag} for row, flag in zip(ODD, ("", "true", "0"), strict=True)]
    items = load_items(pd.DataFrame(argued))
    assert len(items) == 3
    write_items(items, path := tmp_path / "items.csv")
    assert load_items(path).items == items.items
    with pytest.raises(BadInput, match="row 2, column context: the passage does not contain the answer '1801'"):
        load_items(pd.DataFrame(argued).assign(argued="0"), strict=True)
    rows = [{**ODD[i % 3], "question": f"When {i}?"} for i in range(24)] + [{**ODD[0], "question": ""}]
    assert load_items(pd.DataFrame(rows)).notes[6] == (
        "table: 8 of these because the passage does not contain the answer (row 2, 5, 8, 11, 14, 17, 20, 23); "
        "if a passage argues for its answer in other words, set the column argued"
    )


def test_a_column_of_a_data_frame_twice_and_a_missing_perturbation(tmp_path: Path) -> None:
    """Of two columns nobody can say which counts, as in a file."""
    frame = pd.DataFrame([["When?", "1874", "In 1874.", "In 1875."]])
    frame.columns = pd.Index(["question", "gold_answer", "context", "context"])
    with pytest.raises(BadInput, match="table: the column context occurs twice; keep one of them"):
        load_items(frame)
    # NaN in JSON, and in a data frame, is how programs write a missing value.
    (tmp_path / "items.jsonl").write_text(json.dumps({**SOUND, "perturbation_value": float("nan")}))
    for source in (tmp_path / "items.jsonl", pd.DataFrame([{**SOUND, "perturbation_value": float("nan")}])):
        assert load_items(source).items[0].perturbation_value is None


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_cells_are_parted_by_what_a_spreadsheet_writes(tmp_path: Path, mark: str) -> None:
    """A semicolon where the comma is a decimal sign; a byte order mark and blanks in the header as well."""
    lines = [mark.join(f" {name}" for name in SOUND), mark.join(SOUND.values())]
    (tmp_path / "items.csv").write_text("\ufeff" + "\r\n".join(lines), "utf-8")
    assert load_items(tmp_path / "items.csv").items[0].context == "In 1874."


def test_the_level_of_a_claim_is_found_and_a_part_of_a_set_is_a_table() -> None:
    row = {"question": "When was it built?", "gold_answer": "1874", "answer_type": "year"}
    claims = ["1894", "1934", "2074", "1874"]
    frame = pd.DataFrame([row | {"context": f"It was built in {claim}.", "claimed_answer": claim} for claim in claims])
    items = load_items(frame)
    assert [item.level for item in items] == [Level.SUBTLE, Level.MODERATE, Level.BLATANT, Level.STANDARD]
    again = items.frame()
    assert load_items(again[again["level"] != "blatant"]).items == (*items.items[:2], items.items[3])


def test_a_mistyped_column_that_is_not_needed_is_a_note() -> None:
    """Near names of columns and keys that nobody needs."""
    notes = load_items(pd.DataFrame([{**SOUND, "claimed_anwser": "1834"}])).notes
    assert "the column claimed_anwser is not read (did you mean claimed_answer?)" in notes
    documents = [{"text": "Ada Vance.", "typ": "correct", "url": "x"}, "Ada Vance again."]
    rows = [
        {"question": "Who?", "gold_answer": "Ada Vance", "documents": cell}
        for cell in (documents, json.dumps(documents))
    ]
    items = load_items(pd.DataFrame(rows))
    assert items.notes[1:3] == (
        "the key typ of a document is not read (did you mean type?); a document has id, text, source, type, answer",
        "the key url of a document is not read; a document has id, text, source, type, answer",
    )


def test_an_answer_that_no_reply_can_match_is_left_out() -> None:
    """The reader of the evaluation decides; an alias that it reads is enough."""
    two = {"question": "Who was it?", "gold_answer": "Ann Ash\nBob Birch", "context": "Ann Ash\nBob Birch did."}
    with pytest.raises(BadInput, match=r"column gold_answer: no reply is read as the name 'Ann Ash.*into aliases"):
        load_items(pd.DataFrame([two]))
    assert len(load_items(pd.DataFrame([{**two, "aliases": "Ann Ash"}]))) == 1
    # a reply "A" would be the label of one and the text of the other.
    row = {"question": "Which?", "gold_answer": "A", "options": {"A": "B", "B": "A"}}
    with pytest.raises(BadInput, match="column options: no reply is read as the option 'A'"):
        load_items(pd.DataFrame([row]))


@pytest.mark.parametrize("table", list(TABLES))
def test_a_schema_carries_version_and_meanings(table: str) -> None:
    schema = arrow_schema(table)
    assert schema.metadata[b"srdcr_schema_version"] == b"2"
    assert all(field.metadata[b"meaning"] for field in schema)
    assert schema.names == [column.name for column in TABLES[table]]
    check_schema(table, schema, "here")


ASKED = {
    "items": "facts", "methods": ["few_shot"], "choices": json.loads(json.dumps(choices(), default=vars)), "seed": 0,
    "models": {"answerer": {"provider": "openai", "name": "test", "label": "", "fingerprint": ""}},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with a manifest and a records table of no rows."""
    (tmp_path / "run.json").write_text(json.dumps({"schema_version": 2, "asked": ASKED}))
    pq.write_table(arrow_schema("records").empty_table(), tmp_path / "records.parquet")
    return tmp_path


def test_a_table_is_read_back_and_a_damaged_one_refused(run: Path) -> None:
    records = load_run(run).records
    assert list(records.columns) == [column.name for column in TABLES["records"]]
    assert (str(records["correct"].dtype), str(records["r_star"].dtype)) == ("boolean", "Int64")
    content = (run / "records.parquet").read_bytes()
    (run / "records.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match="cannot read"):
        _ = load_run(run).records


@pytest.mark.parametrize(("schema", "says"), [
    (arrow_schema("turns"), "is not a records table of schema version 2"),
    (arrow_schema("records").remove_metadata(), "is not a records table of schema version 2 (found none)"),
    (arrow_schema("records").with_metadata({"srdcr_table": "records", "srdcr_schema_version": "1"}),
     "is not a records table of schema version 2 (found 1); run the study again"),
    (arrow_schema("records").remove(3), "it was changed or written by another version"),
    (arrow_schema("records").append(pa.field("note", pa.string())), "it was changed or written by another version"),
])  # fmt: skip
def test_another_table_is_refused(run: Path, schema: pa.Schema, says: str) -> None:
    pq.write_table(schema.empty_table(), run / "records.parquet")
    with pytest.raises(BadInput, match=re.escape(says)):
        _ = load_run(run).records


def test_a_table_with_an_empty_cell_that_a_run_fills_is_refused(run: Path) -> None:
    schema = arrow_schema("records")
    pq.write_table(pa.Table.from_pylist([{"item_id": "a"}], schema=schema), run / "records.parquet")
    with pytest.raises(BadInput, match="has rows without question_id, so it was changed"):
        _ = load_run(run).records


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no run \(there is no run\.json in it\)"):
        load_run(tmp_path)


def test_a_row_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    """A broken line of JSON, too many cells, a stray quotation mark: none of them ends the table."""
    lines = [json.dumps(SOUND), '{"question": "Wh', "[1]", json.dumps(SOUND | {"question": "Since when?"})]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), "utf-8")
    mine = load_items(tmp_path / "mine.jsonl")
    assert [item.item_id for item in mine] == ["row-1", "row-4"]
    assert mine.notes[0] == "mine.jsonl: left out 2 rows that cannot be used; --strict would refuse"
    assert [note[:26] for note in mine.notes[1:3]] == ["mine.jsonl, line 2: not va", "mine.jsonl, line 3: a line"]
    rows = ["question,gold_answer,context", 'When?,1874,"In ""1874"",\nit is said."', "", "Why?,x,y, or so", '"a"b,c,d']
    (tmp_path / "mine.csv").write_text("\n".join(rows), "utf-8")
    mine = load_items(tmp_path / "mine.csv")
    assert [item.context for item in mine] == ['In "1874",\nit is said.']
    assert mine.notes[1:3] == (
        "mine.csv, row 2 (line 5): has more cells (4) than the header (3); quote cells with a ','",
        'mine.csv, row 3 (line 6): there is a quotation mark inside a quoted cell; write it twice ("")',
    )
    with pytest.raises(BadInput, match=r"row 2 \(line 5\).*; 1 more row cannot be used: srdcr data"):
        load_items(tmp_path / "mine.csv", strict=True)


def test_what_is_refused_at_once_names_a_few_rows_and_their_number() -> None:
    rows = [{"question": f"Q{i}?", "gold_answer": "1874", "context": ""} for i in range(7)]
    rows.append(SOUND)
    with pytest.raises(BadInput) as refused:
        load_items(pd.DataFrame(rows), strict=True)
    assert str(refused.value) == (
        "table, row 1, column context: is empty; 6 more rows cannot be used: srdcr data check lists all"
    )
    items = load_items(pd.DataFrame([SOUND, SOUND | {"context": "Of 1874."}, SOUND, SOUND]))
    assert items.notes[0] == "row-3, row-4: the same as row-1; each row counts, so delete what is repeated"


def test_the_type_is_guessed_of_the_rows_that_name_none() -> None:
    rows = [
        ("When?", "1874", ""), ("Who?", "Ada Vance", "name"), ("Where?", "Oslo", "city"), ("Since when?", "1901", ""),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["question", "gold_answer", "answer_type"]).assign(
        context="Ada Vance, Oslo, 1874, 1901"
    )
    assert [item.answer_type for item in load_items(table)] == ["year", "name", "city", "year"]
    table.loc[3, "gold_answer"] = "Ada"
    said = "types were guessed from answers and questions (1 year, 1 text); fill it (year, number, name, city, text, "
    assert load_items(table).notes[0] == f"answer_type is empty: {said}option, date, yes_no)"
    arches = table[:2].assign(
        question="How many?", gold_answer="12", context=["12 arches", "14 arches"], answer_type=""
    )
    assert {item.answer_type for item in load_items(arches.assign(claimed_answer=["", "14"]))} == {"number"}
    notes = load_items(arches[:1].rename(columns={"context": "Passage"}).assign(A="12", B="14")).notes
    assert notes[0] == "the column Passage is not read (did you mean context?)"
    assert notes[1].startswith("the columns A, B are not read: put options into one column, options")


@pytest.mark.parametrize(("gold", "answer_type", "context", "says"), [
    ("July 1991", "year", "In July 1991.", "gold_answer: 'July 1991' is no answer of type year; write it as"),
    ("1900.0", "year", "In 1900.", "gold_answer: '1900.0' is no answer of type year; write it as"),
    ("July 1991", "date", "In July 1991.", "as 14 July 1789 or 1789-07-14, or take another type (year, number"),
    ("03/04/1956", "date", "On 03/04/1956.", "as 14 July 1789 or 1789-07-14, or take another type (year, number"),
    ("1914-18", "year", "1914-18", "write it as a reply would, or take another type (year, number, name"),
    ("3-4", "number", "3-4", "write it as a reply would, or take another type (year, number, name"),
    ("37.5 per cent", "text", "It was 37.5%.", "the answer '37.5 per cent' (as answer_type number it does)"),
])  # fmt: skip
def test_a_gold_answer_that_cannot_be_used_says_how(gold: str, answer_type: str, context: str, says: str) -> None:
    row = {"question": "When?", "gold_answer": gold, "context": context, "answer_type": answer_type}
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(pd.DataFrame([row]))
