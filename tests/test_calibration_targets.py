"""One row per question from a records table, and measures by domain."""

from __future__ import annotations

import pandas as pd
import pytest

from srdcr_lab.measures.calibration import auroc, by_group, ece, precision_above, question_targets

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


def test_two_models_are_refused() -> None:
    row = ("i", "q", "sr_dcr", True, True, "UNKNOWN", None)
    both = pd.concat([records(row), records(("j", *row[1:])).assign(model="other")])
    with pytest.raises(ValueError, match="several values of model"):
        question_targets(both)


def test_by_domain() -> None:
    confidence, target = [0.9, 0.1, 0.9, 0.1, 0.5], [True, False, False, True, True]
    found = by_group(auroc, confidence, target, ["a", "a", "b", "b", "c"])
    assert found["domain"].tolist() == ["a", "b", "c", "all"]
    assert found["value"].tolist()[:2] == [1, 0]
    assert found["value"].isna().tolist() == [False, False, True, False]
    assert found["n"].tolist() == [2, 2, 1, 5]


def test_tables_by_domain() -> None:
    found = by_group(precision_above, [0.9, 0.8, 0.9], [True, False, True], ["a", "a", "b"], name="model")
    assert found["model"].tolist() == ["a", "a", "b", "all", "all"]
    assert found.loc[found["model"] == "all", "n_above"].tolist() == [2, 3]
    assert "curve" not in by_group(ece, [0.9], [True], ["a"])


def test_rows_are_matched_by_place_not_by_index() -> None:
    confidence = pd.Series([0.9, 0.1], index=[7, 3])
    assert by_group(auroc, confidence, [True, False], ["a", "a"])["value"].tolist() == [1, 1]


def test_one_domain_per_question() -> None:
    with pytest.raises(ValueError, match="one domain per question"):
        by_group(auroc, [0.9, 0.1], [True, False], ["a"])
