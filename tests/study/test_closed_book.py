"""Closed-book tables, a question and an answer a row: memory and belief; what needs a passage is refused."""

from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.data import load_items
from srdcr_lab.protocols import METHODS
from srdcr_lab.records import BadInput
from srdcr_lab.study import Study
from tests.scripted import ScriptedModel, kind_of

ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
TABLE = pd.DataFrame({"question": ["When was it founded?", "When did it close?"], "gold_answer": ["1874", "1901"]})
FROM_MEMORY = ("few_shot", "zero_shot", "confidence_only")


def test_a_table_without_passages_has_categories_and_confidence() -> None:
    """The columns question and gold_answer are enough for everything that asks memory alone."""
    model = ScriptedModel()
    with Study(model, TABLE, FROM_MEMORY) as study:
        plan = study.plan().table.set_index("methods").loc["the whole run"]
        results = study.run(progress=False)
    assert plan["calls_from"] == plan["calls_to"] == model.calls == 2 * (32 + 2), "draws, prior and zero-shot answer"
    assert {kind_of(request) for request in model.requests} == {"answer_from_memory"}
    questions = results.questions.set_index("gold_answer")
    assert questions["knowledge_category"].to_dict() == {"1874": "HIGHLY_KNOWN", "1901": "UNKNOWN"}
    assert (questions["self_confidence"] > 0.98).all()
    assert results.records["context_answer"].isna().all()
    assert results.records["error"].isna().all()
    right = results.records.groupby("method")["correct"].sum()
    assert right.to_dict() == dict.fromkeys(FROM_MEMORY, 1)
    assert "the questions are asked of memory alone (closed-book)" in " ".join(results.manifest["notes"])


@pytest.mark.parametrize(
    "method", [name for name, method in METHODS.items() if method.needs == "passage" and name not in FROM_MEMORY]
)
def test_a_method_that_needs_a_passage_is_refused(method: str) -> None:
    """With what the items have and which methods fit."""
    fit = "methods that fit table: few_shot, zero_shot, confidence_only,"
    with pytest.raises(BadInput, match=f"^{method} needs items with a passage and no options; {fit}"):
        Study(ScriptedModel(), TABLE, method)


@pytest.mark.parametrize(("items", "fit"), [
    (f"boolq={ROWS / 'boolq.jsonl'}", "methods that fit boolq: cot,"),
    (f"ramdocs:documents={ROWS / 'ramdocs.jsonl'}", "methods that fit ramdocs:documents: concatenate,"),
])  # fmt: skip
def test_a_refusal_says_which_methods_fit(items: str, fit: str) -> None:
    """A passage beside options is evidence, and not to be doubted."""
    with pytest.raises(BadInput, match=fit):
        Study(ScriptedModel(), items, "few_shot")


def test_an_empty_passage_in_a_table_of_passages_is_left_out() -> None:
    """Only a table without the column is closed-book; elsewhere an empty cell is a fault of its row."""
    items = load_items(TABLE.assign(context=["Founded in 1874.", ""]))
    assert [item.gold_answer for item in items] == ["1874"]
    assert "table, row 2, column context: is empty" in items.notes
