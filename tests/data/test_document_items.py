"""Items with several documents: a benchmark as published, a table of one's own, and what is wrong with them."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.data import load_items
from srdcr_lab.data.rows import shuffled
from srdcr_lab.records import AnswerType, BadInput, Document, DocumentKind, Item, Needs
from srdcr_lab.study import Study
from tests.scripted import ScriptedModel

RAMDOCS = Path(__file__).parents[1] / "fixtures" / "benchmarks" / "ramdocs.jsonl"


def test_ramdocs_as_documents_has_one_item_a_question_with_all_of_them() -> None:
    items = load_items(f"ramdocs:documents={RAMDOCS}")
    assert (items.name, len(items)) == ("ramdocs:documents", 4)
    by_id = {item.item_id: item for item in items}
    snow, people, gate = (by_id[f"ramdocs-{number}"] for number in (3, 1, 4))
    assert snow.gold_answers == ("American football", "Baseball")
    assert snow.wrong_answers == ("Football", "Chess")
    assert (snow.context, snow.has(Needs.PASSAGE), snow.has(Needs.DOCUMENTS)) == ("", False, True)
    assert Counter((each.kind, each.answer) for each in snow.documents) == {
        (DocumentKind.CORRECT, "Baseball"): 1,
        (DocumentKind.MISINFO, "Football"): 1,
        (DocumentKind.MISINFO, "Chess"): 1,
    }
    assert (people.answer_type, people.unit) == (AnswerType.NUMBER, "people")
    assert [each.answer for each in people.documents if each.kind is DocumentKind.NOISE] == [""]
    assert (gate.gold_answer, gate.wrong_answers) == ("Ines Holt", ())


def test_no_question_with_documents_is_an_exemplar() -> None:
    rows = [{"question": f"Q{i}?", "gold_answer": "1874", "documents": [{"text": "In 1874."}]} for i in range(40)]
    items = load_items(pd.DataFrame(rows))
    assert (len(items), all(exemplar.context for exemplar in items.exemplars)) == (40, True)


def test_the_form_follows_from_the_method() -> None:
    model = ScriptedModel()
    assert Study(model, f"ramdocs={RAMDOCS}", "concatenate").items.name == "ramdocs:documents"
    assert Study(model, f"ramdocs={RAMDOCS}", "few_shot").items.name == "ramdocs"
    assert Study(model, f"ramdocs:passages={RAMDOCS}", "few_shot").items.name == "ramdocs"


@pytest.mark.parametrize(("source", "methods", "said"), [
    (f"ramdocs:passages={RAMDOCS}", "concatenate",
     "concatenate needs items with several documents; methods that fit ramdocs: "),
    (f"ramdocs={RAMDOCS}", "few_shot,concatenate",
     "few_shot needs items with a passage and no options; methods that fit ramdocs:documents: "),
    (f"clasheval:documents={RAMDOCS}", "concatenate", "clasheval has no form 'documents'; write clasheval:passages"),
])  # fmt: skip
def test_a_form_that_does_not_fit_is_refused(source: str, methods: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Study(ScriptedModel(), source, methods)


GOOD = {
    "question": "When was the hall opened?",
    "documents": [{"text": "It opened in 1874.", "type": "correct", "answer": "1874"}],
    "gold_answers": ["1874"],
    "wrong_answers": [],
}


def test_what_cannot_serve_is_left_out_and_counted(tmp_path: Path) -> None:
    crowd = [{**GOOD["documents"][0], "text": f"No. {i}"} for i in range(51)]
    empty = {"text": " ", "type": "noise", "answer": "unknown"}
    rows = [
        {}, {}, {"question": "None?", "documents": []}, {"question": "Many?", "documents": crowd},
        {"question": "Empty?", "documents": [*GOOD["documents"], empty]},
        {"question": "Fifty?", "documents": crowd[:50]},
    ]  # fmt: skip
    (tmp_path / "ramdocs.jsonl").write_text("\n".join(json.dumps({**GOOD, **row}) for row in rows), "utf-8")
    items = load_items(f"ramdocs:documents={tmp_path / 'ramdocs.jsonl'}")
    assert [(item.question, len(item.documents)) for item in items] == [
        ("When was the hall opened?", 1), ("Empty?", 1), ("Fifty?", 50),
    ]  # fmt: skip
    assert [note.removeprefix("ramdocs:documents: ") for note in items.notes[1:]] == [
        "left out 4 rows that cannot be used; --strict would refuse",
        "2 rows, column documents: holds … documents, … to … are taken",
        "1 row, column question: an earlier row asks the same", "1 row, column documents: a document is empty",
    ]  # fmt: skip


def test_the_order_of_documents_is_drawn_by_the_question() -> None:
    """Correct documents stand first in the file; shuffled by question, each place holds one about as often."""
    two = Document(document_id="", text="a", kind=DocumentKind.CORRECT), Document(document_id="", text="b")
    first = [shuffled(two, f"Question {i}?")[0].text for i in range(400)]
    assert 160 < first.count("a") < 240
    many = [Document(document_id="", text=str(i)) for i in range(20)]
    assert shuffled(many, "One?") == shuffled(many, "One?") != shuffled(many, "Another?")
    assert [each.document_id for each in shuffled(many, "One?")] == [str(i) for i in range(1, 21)]


FULL = [
    {"id": "gazette-9", "text": "It opened in 1874.", "source": "Gazette", "type": "correct", "answer": "1874"},
    {"text": "It opened in 1901.", "type": "misinfo", "answer": "1901"},
    {"text": "Geese."},
]


def table(**cells: object) -> pd.DataFrame:
    return pd.DataFrame([{"question": "When was the hall opened?", "gold_answer": "1874", **cells}])


def own_item(**cells: object) -> Item:
    (item,) = load_items(table(**cells))
    return item


def test_a_table_may_bring_documents_instead_of_a_passage_or_beside_it() -> None:
    item = own_item(documents=FULL, gold_answers="1874|1880", wrong_answers="1890|1874")
    assert [(each.document_id, each.source, each.kind) for each in item.documents] == [
        ("gazette-9", "Gazette", DocumentKind.CORRECT), ("2", "", DocumentKind.MISINFO), ("3", "", None),
    ]  # fmt: skip
    assert (item.context, item.gold_answers, item.wrong_answers) == ("", ("1874", "1880"), ("1890", "1901"))
    item = own_item(documents=["It opened in 1874.", "Or later."], context="The hall opened in 1874.")
    assert [each.text for each in item.documents] == ["It opened in 1874.", "Or later."]
    assert item.has(Needs.PASSAGE)
    assert item.has(Needs.DOCUMENTS)
    with pytest.raises(BadInput, match="row 1, column context: is empty"):
        own_item(documents=None)
    assert own_item().is_closed_book  # no such column at all: a question asked of memory alone


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_documents_come_the_same_from_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"own.{kind}"
    match kind:
        case "csv":
            table(documents=json.dumps(FULL)).to_csv(path, index=False)
        case "jsonl":
            table(documents=FULL).to_json(path, orient="records", lines=True)
        case "parquet":
            table(documents=FULL).to_parquet(path)
    (item,) = load_items(path)
    assert item.documents == own_item(documents=FULL).documents


@pytest.mark.parametrize(("cell", "said"), [
    ([], "holds 0 documents, 1 to 50 are taken"),
    ([f"No. {i}" for i in range(51)], "holds 51 documents, 1 to 50 are taken"),
    (["It opened in 1874.", " "], "document 2, text: is empty"), ([{"txt": "x"}], "document 1, text: is empty"),
    ([{"text": ["x"]}], "document 1, text: is a list, a text was expected"),
    ([{"text": "x", "type": "right"}], "document 1, type: 'right' is none of correct, misinfo, noise"),
    ([{"text": "x", "id": "a"}, {"text": "y", "id": "a"}], "document 1, id: 'a' occurs twice"),
    (["x" * 100_001], "document 1, text: has 100,001 characters, at most 100,000 are taken"), ("[{", "not valid JSON"),
    ('"a text"', "a list was expected, found"), ({"text": "x"}, "a list was expected, found"),
    (["\ud800"], "half of a character"), ('["\\ud800"]', "half of a character"),
])  # fmt: skip
def test_wrong_documents_get_a_sentence_with_the_row(cell: object, said: str) -> None:
    with pytest.raises(BadInput, match=f"^table, row 1, column documents[:,] .*{said}"):
        own_item(documents=cell)
