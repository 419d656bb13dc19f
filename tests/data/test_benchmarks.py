"""Published benchmarks as items: rows in the published columns, what is left out, and what is wrong with a file."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.readers import kind_of_answer
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind

ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
FILES = {
    "clasheval": "clasheval.csv",
    "conflictqa": "conflictqa-strategyqa.json",
    "conflictqa-popqa": "conflictqa-popqa.json",
    "ramdocs": "ramdocs.jsonl",
}


def loaded(name: str) -> ItemSet:
    return load_items(f"{name}={ROWS / FILES[name]}")


def by_id(items: ItemSet) -> dict[str, Item]:
    return {item.item_id: item for item in items}


@pytest.mark.parametrize("name", FILES)
def test_forms_of_a_question_share_its_gold_answer_and_ids_are_unique(name: str) -> None:
    items = loaded(name)
    assert items.name == name
    assert len(by_id(items)) == len(items) > 0
    golds = {(item.question_id, item.question, item.gold_answer) for item in items}
    assert len(golds) == len({item.question_id for item in items})
    assert all(item.is_standard == (item.claimed_answer == item.gold_answer) for item in items)


@pytest.mark.parametrize("name", FILES)
def test_what_is_left_out_is_counted_with_its_reason(name: str) -> None:
    items = loaded(name)
    assert re.search(rf"{name.removesuffix('-popqa')}: left out 2 passages: \d because ", items.notes[0])


PUBLISHED = {
    "ramdocs": "ramdocs.jsonl", "ramdocs:documents": "ramdocs.jsonl",
    "conflictqa": "conflictqa-strategyqa-chatgpt.jsonl", "conflictqa:documents": "conflictqa-strategyqa-chatgpt.jsonl",
    "commonsenseqa": "commonsenseqa-dev.jsonl", "cosmosqa": "cosmosqa-valid.csv", "hover": "hover-dev.json",
}  # fmt: skip


@pytest.mark.parametrize("name", ["facts", "facts:grid", *PUBLISHED])
def test_every_answer_reads_as_itself(name: str) -> None:
    """Right, accepted and false ones, and the text of every option."""
    path = Path(os.environ.get("SRDCR_DATASETS", "")) / PUBLISHED.get(name, "")
    if name in PUBLISHED and not (os.environ.get("SRDCR_DATASETS") and path.is_file()):
        pytest.skip(f"SRDCR_DATASETS names no folder with {PUBLISHED[name]}")
    cases = {}
    for item in load_items(f"{name}={path}" if name in PUBLISHED else name):
        given = [*item.gold_answers, *item.aliases, *item.accepted, item.claimed_answer, *item.wrong_answers]
        cases |= {(item.question_id, each): (item, each, each) for each in given if ".." not in each}
        cases |= {(item.question_id, each.text): (item, each.text, each.label) for each in item.options}
    read = [(text, answers.read(text, item), answer, item) for item, text, answer in cases.values()]
    unlike = [(text, said) for text, said, answer, item in read if not _is_answer(said, answer, item)]
    assert (unlike, len(read) > 100) == ([], True)


def _is_answer(said: str | None, answer: str, item: Item) -> bool:
    return said is not None and answers.equal(said, answer, item.answer_type, item.unit)


# ClashEval -----------------------------------------------------------------------------------------------------------


def test_clasheval_has_one_standard_item_a_question_and_one_per_modification() -> None:
    items = loaded("clasheval")
    years = [item for item in items if item.domain == "years"]
    assert [item.item_id for item in years] == [f"clasheval-years-1{end}" for end in ("", "@-77", "@20", "@100")]
    assert [item.perturbation_value for item in years] == [None, -77, 20, 100]
    assert [item.level for item in years] == [Level.STANDARD, Level.BLATANT, Level.SUBTLE, Level.BLATANT]
    assert years[1].context.count("1797") == 2


@pytest.mark.parametrize(
    ("item_id", "domain", "answer_type", "kind", "level", "claim"),
    [
        ("names-1@slight", "names", AnswerType.NAME, "substitution", Level.SUBTLE, "Irene Hult"),
        ("names-1@comical", "names", AnswerType.NAME, "substitution", Level.BLATANT, "Lighty McBeacon"),
        ("locations-1@significant", "cities", AnswerType.CITY, "substitution", Level.MODERATE, "Drumsk"),
        ("records-1@10.0", "records", AnswerType.NUMBER, "factor", Level.BLATANT, "16:49.10"),
        ("news-1@2.0", "news", AnswerType.NUMBER, "factor", Level.MILD, "278"),
        ("drugs-1@0.4", "drugs", AnswerType.NUMBER, "factor", Level.MODERATE, "12"),
    ],
)
def test_clasheval_tells_domain_type_kind_and_level(
    item_id: str, domain: str, answer_type: AnswerType, kind: str, level: Level, claim: str
) -> None:
    item = by_id(loaded("clasheval"))[f"clasheval-{item_id}"]
    assert (item.domain, item.answer_type, item.level, item.claimed_answer) == (domain, answer_type, level, claim)
    assert item.perturbation_kind is PerturbationKind(kind)


def test_clasheval_model_responses_load_as_the_data_set_does(tmp_path: Path) -> None:
    """Parquet, `mod_type` for `mod_degree`, and the columns that responses add."""
    frame = pd.read_csv(ROWS / FILES["clasheval"], dtype=str, keep_default_na=False)
    frame = frame.rename(columns={"mod_degree": "mod_type"}).assign(
        prior_response="1874", prior_correct=1, prior_logprobs="[-0.1, -0.2]", context_correct=0
    )
    frame.to_parquet(tmp_path / "gpt4.pqt")
    assert load_items(f"clasheval={tmp_path / 'gpt4.pqt'}").items == loaded("clasheval").items


# ConflictQA ----------------------------------------------------------------------------------------------------------


def test_conflictqa_takes_its_true_passage_from_the_side_that_agrees_with_the_truth() -> None:
    items = by_id(loaded("conflictqa"))
    ferry, airport = items["conflictqa-1"], items["conflictqa-2"]
    assert (ferry.answer_type, ferry.gold_answer, ferry.context) == (
        AnswerType.YES_NO,
        "yes",
        "Train ferries have rails on deck. (counter)",
    )
    assert (airport.gold_answer, airport.context) == ("no", "The nearest runway is in Marnow. (memory)")
    assert (items["conflictqa-1@conflict"].claimed_answer, items["conflictqa-2@conflict"].claimed_answer) == (
        "no",
        "yes",
    )
    items = by_id(loaded("conflictqa-popqa"))
    assert items["conflictqa-1"].context == "The engineer Ines Holt built lighthouses. (counter)"
    assert items["conflictqa-1"].aliases == ("lighthouse engineer",)
    assert items["conflictqa-1@conflict"].claimed_answer == "a photographer"


# RAMDocs -------------------------------------------------------------------------------------------------------------


def test_ramdocs_takes_the_first_document_that_states_its_answer() -> None:
    items = by_id(loaded("ramdocs"))
    assert items["ramdocs-2"].context == "The viaduct was opened in 1874."
    assert items["ramdocs-2@misinfo"].claimed_answer == "1900"
    assert items["ramdocs-3"].aliases == ("American football",)


@pytest.mark.parametrize(
    ("question", "given", "kind"),
    [
        ("When was it built?", ["1874", "about 1820"], (AnswerType.YEAR, "")),
        ("When was it built?", ["1874", "May 1820"], (AnswerType.TEXT, "")),
        ("What is the population?", ["1874", "1900"], (AnswerType.NUMBER, "")),
        ("What is the population?", ["3,559 people", "10,000 people"], (AnswerType.NUMBER, "people")),
        ("How long is it?", ["98 km", "60 miles"], (AnswerType.TEXT, "")),
        ("Who?", ["Ines Holt", "1874"], (AnswerType.TEXT, "")),
    ],
)
def test_type_and_unit_of_one_question(question: str, given: list[str], kind: tuple[AnswerType, str]) -> None:
    assert kind_of_answer(question, given) == kind


# Files that are wrong ------------------------------------------------------------------------------------------------

RAMDOCS: dict[str, Any] = json.loads((ROWS / FILES["ramdocs"]).read_text("utf-8").splitlines()[0])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("ramdocs", b"", "is empty; every line is an object with question, documents, gold_answers"),
        ("ramdocs", b'{"question": "When?"}\n{"question"\n', ".jsonl, line 2: no JSON"),
        ("ramdocs", b'{"question": "Caf\xe9?"}\n', "is not UTF-8"),
        ("ramdocs", b'{"question": "When?", "documents": []}\n',
         "the column gold_answers is missing; ramdocs as published has"),
        ("ramdocs", {**RAMDOCS, "gold_answers": "3,559"},
         "row 1, column gold_answers: a list was expected, found '3,559'"),
        ("ramdocs", {**RAMDOCS, "gold_answers": []}, "row 1, column gold_answers: is empty"),
        ("ramdocs", {**RAMDOCS, "documents": [{"text": "…"}]}, "row 1, column documents, document 1, type: a text"),
        ("ramdocs", {**RAMDOCS, "documents": [{"text": "…", "type": "rumour", "answer": "1"}]},
         "row 1, column documents, document 1, type: 'rumour' is none of correct, misinfo, noise"),
        ("ramdocs", {**RAMDOCS, "question": ["a"]}, "row 1, column question: is a list, a text was expected"),
        ("ramdocs", {**RAMDOCS, "documents": []},
         "no row can be used as ramdocs: left out 1 passage: 1 because no correct"),
        ("conflictqa", {**RAMDOCS},
         "the column ground_truth is missing; conflictqa as published has question, ground_truth"),
        ("clasheval", {**RAMDOCS}, "the column context_original is missing; clasheval as published has question"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_as_published(tmp_path: Path, name: str, content: Any, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"{name}={path}")


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("dataset", "sports", "row 1, column dataset: 'sports' is none of names, locations, years"),
        ("mod_degree", "", "row 1, column mod_degree: is empty"),
        ("mod_degree", "much", "row 1, column mod_degree: 'much' is not a number"),
    ],
)
def test_a_clasheval_cell_that_is_wrong(tmp_path: Path, column: str, value: str, says: str) -> None:
    frame = pd.read_csv(ROWS / FILES["clasheval"], dtype=str, keep_default_na=False).head(1)
    frame.assign(**{column: value}).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(BadInput, match=re.escape(says)):
        load_items(f"clasheval={tmp_path / 'rows.csv'}")


def test_an_array_is_read_as_json_lines_are(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (ROWS / FILES["ramdocs"]).read_text("utf-8").splitlines()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert load_items(f"ramdocs={tmp_path / 'rows.json'}").items == loaded("ramdocs").items
    long = {
        **RAMDOCS,
        "question": "How many?",
        "documents": [{**RAMDOCS["documents"][0], "text": "3,559 people " * 9000}],
    }
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(RAMDOCS)}\n{json.dumps(long)}\n")
    items = load_items(f"ramdocs={tmp_path / 'rows.jsonl'}")
    assert items.notes[0] == "ramdocs: left out 1 passage: 1 because the passage is longer than 100,000 characters"


# Excerpts of the real files ------------------------------------------------------------------------------------------

EXCERPTS = {"ramdocs": "ramdocs.jsonl", "conflictqa": "conflictqa-strategyqa-chatgpt.jsonl"}


@pytest.mark.parametrize("name", EXCERPTS)
def test_the_real_files_load(name: str) -> None:
    path = Path(os.environ.get("SRDCR_DATASETS", "")) / EXCERPTS[name]
    if not os.environ.get("SRDCR_DATASETS") or not path.is_file():
        pytest.skip(f"SRDCR_DATASETS names no folder with {EXCERPTS[name]}")
    rows = len(path.read_text("utf-8").splitlines())
    items = load_items(f"{name}={path}")
    questions = Counter(item.question_id for item in items)
    assert len(questions) >= 0.9 * (rows - 8)  # eight are set aside as exemplars
    assert set(questions.values()) <= {1, 2}
    assert {item.level for item in items} == {Level.STANDARD, Level.MODERATE}
    assert items.notes
