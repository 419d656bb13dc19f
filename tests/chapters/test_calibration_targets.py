"""One row per question from a records table, and measures by domain."""

from __future__ import annotations

import pandas as pd
import pytest

from srdcr_lab.confidence import question_targets

COLUMNS = ["item_id", "question_id", "method", "prior_correct", "context_correct", "knowledge_category", "error"]


def records(*rows: tuple[object, ...]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.assign(domain="years", self_confidence=0.8, confidence_kind="mean_logprob", model="pocket")


def test_a_question_counts_once_however_many_passages_and_methods() -> None:
    table = question_targets(
        records(
            ("q1-standard", "q1", "few_shot", True, True, "HIGHLY_KNOWN", None),
            ("q1-standard", "q1", "sr_dcr", True, True, "HIGHLY_KNOWN", None),
            ("q1-plus20", "q1", "sr_dcr", True, False, "HIGHLY_KNOWN", None),
            ("q2-standard", "q2", "sr_dcr", False, True, "UNKNOWN", None),
        )
    )
    assert table["question_id"].tolist() == ["q1", "q2"]
    assert table["highly_known"].tolist() == [True, False]
    assert table["prior_correct"].tolist() == [True, False]
    assert table["prior_better"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("prior", "context", "better"),
    [(True, True, False), (True, False, True), (True, None, True), (False, False, False), (None, False, False)],
)
def test_prior_better_than_context(prior: bool | None, context: bool | None, better: bool) -> None:
    """An answer that could not be read is not right."""
    table = question_targets(records(("i", "q", "sr_dcr", prior, context, "UNKNOWN", None)))
    assert table["prior_better"].tolist() == [better]


def test_a_failed_call_leaves_a_target_missing() -> None:
    table = question_targets(records(("i", "q", "sr_dcr", None, True, None, "prior answer: no reply")))
    assert table[["highly_known", "prior_correct", "prior_better"]].isna().to_numpy().tolist()[0][:2] == [True, True]


@pytest.mark.parametrize("order", [["token_probability", "few_shot"], ["few_shot", "token_probability"]])
def test_the_kind_does_not_depend_on_the_order_of_the_methods(order: list[str]) -> None:
    """A 5: ClashEval's method writes the mean probability it compares into its rows."""
    rows = {name: records(("i", "q", name, True, True, "UNKNOWN", None)) for name in order}
    rows["token_probability"] = rows["token_probability"].assign(
        self_confidence=0.3, confidence_kind="mean_probability"
    )
    both = pd.concat([rows[name] for name in order])
    assert question_targets(both)["self_confidence"].tolist() == [0.8]
    assert question_targets(both, "mean_probability")["self_confidence"].tolist() == [0.3]
    assert question_targets(rows["token_probability"])["confidence_kind"].tolist() == ["mean_probability"]
    with pytest.raises(ValueError, match="name one of"):
        question_targets(both, "verbalized")


def test_two_models_are_refused() -> None:
    row = ("i", "q", "sr_dcr", True, True, "UNKNOWN", None)
    both = pd.concat([records(row), records(("j", *row[1:])).assign(model="other")])
    with pytest.raises(ValueError, match="several values of model"):
        question_targets(both)
