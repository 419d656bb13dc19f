"""Questions with options, claims and open questions: published files, and the column `options` of one's own table."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab.answers import extract_option
from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.benchmarks import BENCHMARKS
from srdcr_lab.data.readers import final_number
from srdcr_lab.records import AnswerType, BadInput, Needs, Option

ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
FILES = {
    "commonsenseqa": "commonsenseqa.jsonl", "cosmosqa": "cosmosqa.csv", "boolq": "boolq.jsonl", "hover": "hover.json",
    "gsm8k": "gsm8k.jsonl",
}  # fmt: skip


def loaded(name: str) -> ItemSet:
    return load_items(f"{name}={ROWS / FILES[name]}")


@pytest.mark.parametrize("name", FILES)
def test_each_has_two_items_and_two_rows_left_out(name: str) -> None:
    items = loaded(name)
    assert items.name == name
    assert [item.item_id for item in items] == [f"{name}-1", f"{name}-2"]
    assert any(re.search("left out 2 questions: ", note) for note in items.notes)
    assert len(items.exemplars) >= 4


def test_a_published_place_from_nought_becomes_a_letter() -> None:
    flat, nested = loaded("commonsenseqa")
    assert (flat.gold_answer, flat.options[1]) == ("B", Option(label="B", text="pilot boat"))
    assert (nested.question, nested.gold_answer) == ("What keeps a kite in the air?", "A")
    assert not nested.has(Needs.PASSAGE)
    assert {item.answer_type for item in (flat, nested)} == {AnswerType.OPTION}
    first, second = loaded("cosmosqa")
    assert (first.gold_answer, second.gold_answer) == ("A", "D")
    assert second.options[3].text == "Light the lamp again ."
    assert first.context.startswith("The lamp")
    assert not first.has(Needs.PASSAGE)  # evidence beside options, which SR-DCR's methods do not read


def test_a_question_with_a_wrong_option_twice_is_asked_without_the_second(tmp_path: Path) -> None:
    """F 7: only a right option that stands twice makes a question that nobody can answer."""
    choices = {"label": ["A", "B", "C", "D"], "text": ["shaker", "Shaker", "shoe", "shaker "]}
    rows = [{"question": q, "choices": choices, "answerKey": gold} for q, gold in (("Which?", "C"), ("Where?", "A"))]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    items = load_items(f"commonsenseqa={tmp_path / 'rows.jsonl'}")
    (asked,) = items
    assert [(option.label, option.text) for option in asked.options] == [("A", "shaker"), ("C", "shoe")]
    assert [extract_option(reply, asked.options) for reply in ("shaker", "C", "shoe")] == ["A", "C", "C"]
    assert items.notes == (
        "commonsenseqa: 1 questions are asked without an option that repeats a wrong one",
        "commonsenseqa: left out 1 question: 1 because its right option stands there twice",
    )


def test_yes_and_no_are_true_and_false() -> None:
    lock, bridge = loaded("boolq")
    assert lock.question == "is the lower lock of marnow older than the upper one?"
    assert [(each.label, each.text) for each in lock.options] == [("true", "yes"), ("false", "no")]
    assert (lock.gold_answer, bridge.gold_answer) == ("true", "false")
    assert bridge.context.startswith("Swing bridge. While")


@pytest.mark.parametrize("name", ["boolq", "commonsenseqa"])
def test_parquet_without_titles_and_with_arrays_reads_the_same(tmp_path: Path, name: str) -> None:
    """The shapes in which the same rows are published elsewhere."""
    rows = [json.loads(line) for line in (ROWS / FILES[name]).read_text("utf-8").splitlines()]
    rows = [row for row in rows if isinstance(row["question"], str)]
    frame = pd.DataFrame(rows).drop(columns="title", errors="ignore")
    frame.to_parquet(tmp_path / "rows.parquet")
    items = load_items(f"{name}={tmp_path / 'rows.parquet'}")
    assert items.items[0].gold_answer == loaded(name).items[0].gold_answer
    assert items.items[0].options == loaded(name).items[0].options


def test_a_claim_stands_alone_without_a_table_of_evidence() -> None:
    first, second = loaded("hover")
    assert first.question == "Is this claim true or false? The engineer of the Harrow Bridge was born in Marnow."
    assert (first.gold_answer, second.gold_answer) == ("true", "false")
    assert (first.domain, second.domain, first.context) == ("hover 2-hop", "hover 3-hop", "")
    assert "every claim stands alone" in loaded("hover").notes[0]


def test_evidence_is_joined_by_title_and_sentence_and_a_gap_is_counted() -> None:
    items = load_items(f"hover={ROWS / FILES['hover']}+{ROWS / 'hover-evidence.csv'}")
    (claim,) = items
    assert claim.context.splitlines() == [
        "Harrow Bridge: Its engineer was Ines Holt.",
        "Ines Holt: Ines Holt was born in Marnow. She also built lighthouses.",
    ]
    assert "1 because its evidence is not in the table" in items.notes[0]


def test_the_final_number_is_the_gold_answer() -> None:
    assert [item.gold_answer for item in loaded("gsm8k")] == ["1200", "350"]
    assert {item.answer_type for item in loaded("gsm8k")} == {AnswerType.NUMBER}


@pytest.mark.parametrize(
    ("worked", "number"),
    [
        ("so\n#### -1,250", "-1250"), ("#### 3.50", "3.5"), ("no marker 7", ""), ("#### many", ""),
        ("a #### b #### 9", "9"),
    ],
)  # fmt: skip
def test_the_number_after_the_last_marker(worked: str, number: str) -> None:
    assert final_number(worked) == number


def first_row(name: str) -> dict[str, Any]:
    if FILES[name].endswith(".csv"):
        return dict(pd.read_csv(ROWS / FILES[name], dtype=str).to_dict("records")[0])
    text = (ROWS / FILES[name]).read_text("utf-8")
    return dict(json.loads(text)[0] if FILES[name].endswith(".json") else json.loads(text.splitlines()[0]))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("commonsenseqa", {"answerKey": "F"}, "row 1, column choices: the answer 'F' is none of the labels A, B, C"),
        ("commonsenseqa", {"answerKey": ""}, "row 1, column answerKey: is empty; the test split"),
        ("commonsenseqa", {"choices": {"label": ["A"], "text": ["x", "y"]}},
         "column choices: has 1 labels and 2 texts"),
        ("commonsenseqa", {"choices": {"label": ["A"], "text": ["x"]}}, "needs at least two options, found 1"),
        ("commonsenseqa", {"choices": {"label": ["B", "B"], "text": ["x", "y"]}}, "the label 'B' stands twice"),
        ("commonsenseqa", {"choices": "A, B"}, "column choices: a question needs at least two options, found 1"),
        ("commonsenseqa", {"question": ""}, "row 1, column question: is empty"),
        ("cosmosqa", {"label": "4"}, "row 1, column label: '4' is none of 0, 1, 2, 3"),
        ("cosmosqa", {"answer2": ""}, "row 1, column answer0: option C is empty"),
        ("cosmosqa", {"context": ""}, "row 1, column context: is empty"),
        ("boolq", {"answer": "maybe"}, "row 1, column answer: 'maybe' is neither true nor false"),
        ("boolq", {"passage": ""}, "row 1, column passage: is empty"),
        ("hover", {"label": "REFUTED"}, "row 1, column label: 'REFUTED' is none of SUPPORTED, NOT_SUPPORTED"),
        ("hover", {"claim": ""}, "row 1, column claim: is empty"),
        ("hover", {"num_hops": "two"}, "row 1, column num_hops: 'two' is not a whole number"),
        ("gsm8k", {"answer": "It is 42."}, "row 1, column answer: has no number after ####"),
    ],
)  # fmt: skip
def test_a_cell_that_is_wrong_is_named(tmp_path: Path, name: str, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**first_row(name), **change}), "utf-8")
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"{name}={path}")


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_its_columns_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.csv").write_text("question_text\nWhere?\n", "utf-8")
    with pytest.raises(BadInput, match=f"is missing; {name} as published has"):
        load_items(f"{name}={tmp_path / 'rows.csv'}")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("title,body\nHarrow Bridge,x\n", "the column text is missing; evidence has title, text and perhaps sentence"),
        ("title,sentence,text\nHarrow Bridge,one,x\n", "row 1, column sentence: 'one' is not a whole number from 0"),
    ],
)
def test_a_damaged_table_of_evidence_is_refused(tmp_path: Path, table: str, says: str) -> None:
    (tmp_path / "pages.csv").write_text(table, "utf-8")
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"hover={ROWS / FILES['hover']}+{tmp_path / 'pages.csv'}")


def test_a_second_file_is_for_claims_with_supporting_facts(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{**first_row("hover"), "supporting_facts": "none"}]), "utf-8")
    with pytest.raises(BadInput, match="row 1, column supporting_facts: a list of"):
        load_items(f"hover={path}+{ROWS / 'hover-evidence.csv'}")
    with pytest.raises(BadInput, match="boolq takes no second file"):
        load_items(f"boolq={ROWS / FILES['boolq']}+{ROWS / 'hover-evidence.csv'}")
    with pytest.raises(BadInput, match=r"columns of boolq as published; write boolq="):
        load_items(ROWS / FILES["boolq"])


# The column `options` of one's own table ------------------------------------------------------------------------------


def table(**columns: Any) -> pd.DataFrame:
    rows = {"question": "Where are books lent?", "gold_answer": "B", "options": "a bank|a library|a canal", **columns}
    return pd.DataFrame([rows])


@pytest.mark.parametrize(
    "options",
    [
        "a bank|a library|a canal",
        '["a bank", "a library", "a canal"]',
        '{"A": "a bank", "B": "a library", "C": "a canal"}',
        '[{"label": "A", "text": "a bank"}, {"label": "B", "text": "a library"}, {"label": "C", "text": "a canal"}]',
        [{"label": "A", "text": "a bank"}, {"label": "B", "text": "a library"}, {"label": "C", "text": "a canal"}],
        ["a bank", "a library", "a canal"],
    ],
)
def test_options_are_read_in_each_spelling(options: Any) -> None:
    (item,) = load_items(table(options=options))
    assert [(each.label, each.text) for each in item.options] == [("A", "a bank"), ("B", "a library"), ("C", "a canal")]
    assert (item.gold_answer, item.answer_type, item.context) == ("B", AnswerType.OPTION, "")


def test_the_gold_answer_may_be_an_options_text_and_a_passage_stand_beside() -> None:
    (item,) = load_items(table(gold_answer="a canal"))
    assert item.gold_answer == "C"
    (item,) = load_items(table(context="One borrows and brings back."))
    assert item.context == "One borrows and brings back."
    assert item.is_standard


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"gold_answer": "D"}, "table, row 1, column gold_answer: the answer 'D' is none of the labels A, B, C"),
        ({"options": "a bank"}, "column options: a question needs at least two options, found 1"),
        ({"gold_answer": "libary"}, "none of the labels A, B, C and no option's text (did you mean a library?)"),
        ({"options": "a bank; a canal"}, "found 1; bars stand between them (a bank|a library)"),
        ({"options": "a bank||a canal"}, "column options: option B is empty"),
        ({"options": "a bank|A bank"}, "column options: option B repeats the text of an earlier one"),
        ({"options": '{"A": "x"'}, "column options: no JSON"),
        ({"options": '{"A": "x", "a": "y"}', "gold_answer": "A"}, "column options: the label 'A' stands twice"),
        ({"options": '{"A": "x", "B": "y", "B": "z"}'}, "column options: no JSON ('B' stands twice"),
        ({"options": '["x", NaN]'}, "column options: option B is empty"),
        ({"options": '["x", "\\ud800"]'}, "column options, option 2, text: holds half of a character"),
        ({"options": "[]"}, "column options: a question needs at least two options, found 0"),
        ({"documents": ["It is a library."]}, "column documents: stands beside options"),
        ({"options": '[{"label": "A"}, {"label": "B", "text": "y"}]'}, "column options: option A is empty"),
        ({"options": "|".join("abcdefghijk")}, "column options: holds 11 options, at most 10 get letters"),
        ({"answer_type": "text"}, "column answer_type: is text, but a question with options has the type option"),
        (
            {"options": "", "answer_type": "option", "context": "B"},
            "column options: is empty, but answer_type is option",
        ),
    ],
)
def test_wrong_options_are_a_sentence(columns: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(table(**columns))


# Excerpts of the real files ------------------------------------------------------------------------------------------

EXCERPTS = {
    "commonsenseqa": ("commonsenseqa-dev.jsonl", 198),
    "cosmosqa": ("cosmosqa-valid.csv", 190),
    "hover": ("hover-dev.json", 190),
}


@pytest.mark.parametrize("name", EXCERPTS)
def test_the_real_files_load(name: str) -> None:
    file, at_least = EXCERPTS[name]
    path = Path(os.environ.get("SRDCR_DATASETS", "")) / file
    if not os.environ.get("SRDCR_DATASETS") or not path.is_file():
        pytest.skip(f"SRDCR_DATASETS names no folder with {file}")
    items = load_items(f"{name}={path}")
    assert at_least <= len(items) <= 200
    labels = {"commonsenseqa": 5, "cosmosqa": 4, "hover": 2}[name]
    assert {len(item.options) for item in items} <= {labels, labels - 1}  # an option that repeats another is dropped
    assert {item.gold_answer for item in items} <= {option.label for option in items.items[0].options}
    assert BENCHMARKS[name].rows > 200
