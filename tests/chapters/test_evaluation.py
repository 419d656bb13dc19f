"""Accuracy, coverage, risk, verdict rates, their intervals, and costs: by hand and by a second way [paper 4.4]."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from srdcr_lab.evaluation import (
    among_all,
    answer,
    answer_in_brief,
    cost_accuracy,
    draw_cost,
    pareto_front,
    weighted_back,
    weighted_leads,
)
from srdcr_lab.lib.statistics import clustered_interval
from srdcr_lab.lib.summary import accuracy, costs, summary
from srdcr_lab.study.results import load_run
from tests.simulated import frame, simulated

ABSTAINED, UNPARSED, ERROR = "abstained", "unparsed", "error"


def test_nothing_answered_has_no_selective_accuracy_and_no_risk() -> None:
    found = accuracy(pd.Series([None, None], dtype="boolean"), pd.Series(["q0", "q1"]))
    assert (found["n"], found["coverage"], found["accuracy"]) == (2, 0.0, 0.0)
    assert math.isnan(found["selective_accuracy"])
    assert math.isnan(found["risk"])


@pytest.mark.parametrize(("value", "right"), [(1, 10), (0, 0)])
def test_equal_values_have_the_interval_of_their_questions_and_not_none(value: int, right: int) -> None:
    found = clustered_interval([value] * 20, [*range(10), *range(10)])
    assert found == pytest.approx(clustered_interval([value] * 10, range(10)))
    assert found.high - found.low > 0.2
    assert (right / 10) in found


def test_an_overall_interval_holds_its_overall_share() -> None:
    """Halves of very different size: 10 true passages, all right; 100 false ones, 30 right."""
    rows = {"standard": [1] * 10, "perturbed": [1] * 30 + [0] * 70}
    values = np.array(rows["standard"] + rows["perturbed"])
    strata = np.array(["standard"] * 10 + ["perturbed"] * 100)
    questions = np.concatenate([np.arange(10), np.repeat(np.arange(10), 10)])
    mean, low, high, _ = clustered_interval(values, questions, strata)
    assert low <= mean == (1.0 + 0.3) / 2 <= high
    assert high - low < 0.6


def row(question: str, level: str, correct: bool | None, missing: str | None = None, verdict: str | None = None,
        method: str = "sr_dcr") -> dict[str, Any]:  # fmt: skip
    return {"model": "m", "method": method, "question_id": question, "level": level, "correct": correct,
            "missing": missing, "verdict": verdict}  # fmt: skip


R, U, X = "REASONABLE", "UNREASONABLE", "UNPARSED"
ROWS = [
    row("a", "standard", True, verdict=R), row("b", "standard", True, verdict=R),
    row("c", "standard", None, ABSTAINED, U), row("d", "standard", None, UNPARSED, X),
    row("a", "subtle", True, verdict=U), row("b", "mild", False, verdict=R), row("c", "moderate", None, ABSTAINED, U),
    row("d", "blatant", None, ERROR),
]  # fmt: skip


def table(rows: list[dict[str, Any]], method: str = "sr_dcr") -> pd.DataFrame:
    found = summary(frame(*rows))
    return found[found["method"] == method].set_index("condition")


def test_table_1_by_hand() -> None:
    """Missing counts as wrong in accuracy and not at all in selective accuracy; each reason is counted by itself."""
    found = table(ROWS)
    assert list(found.index) == ["standard", "perturbed", "overall"]
    assert found["n"].tolist() == [4, 4, 8]
    assert found["n_answered"].tolist() == [2, 2, 4]
    assert found["accuracy"].tolist() == pytest.approx([2 / 4, 1 / 4, (2 / 4 + 1 / 4) / 2])
    assert found["selective_accuracy"].tolist() == pytest.approx([1.0, 1 / 2, 3 / 4])
    assert found["risk"].tolist() == pytest.approx([0.0, 1 / 2, 1 / 4])
    assert found["coverage"].tolist() == pytest.approx([1 / 2] * 3)
    assert found["n_abstained"].tolist() == [1, 1, 2]
    assert found["n_unparsed"].tolist() == [1, 0, 1]
    assert found["n_error"].tolist() == [0, 1, 1]


def test_verdict_rates_keep_unparsed_in_their_denominators_and_leave_out_debates_that_failed() -> None:
    found = table(ROWS)
    assert found.loc["overall", "verdict_tpr"] == pytest.approx(2 / 4)  # R R U ? of the true passages
    assert found.loc["overall", "verdict_tnr"] == pytest.approx(2 / 3)  # U R U of the false ones; one never ended
    assert found.loc["standard", "verdict_tpr"] == pytest.approx(2 / 4)
    assert math.isnan(found.loc["standard", "verdict_tnr"])
    assert math.isnan(found.loc["perturbed", "verdict_tpr"])


def test_accuracies_weighted_back_by_hand() -> None:
    """Of two known questions both are right on either passage, of two unknown ones none; 3 of 4 facts are unknown."""
    names = ["HIGHLY_KNOWN", "HIGHLY_KNOWN", "UNKNOWN", "UNKNOWN"]
    first = pd.DataFrame({"question_id": list("abcd"), "knowledge_category": names})
    first["share_first_pass"] = [0.25, 0.25, 0.75, 0.75]
    right = pd.array([True, True, False, None] * 2, dtype="boolean")
    records = pd.DataFrame({"model": "m", "method": "few_shot", "question_id": list("abcd") * 2, "correct": right})
    (row,) = weighted_back(records.assign(level=["standard"] * 4 + ["mild"] * 4), first).itertuples()
    assert (row.accuracy, row.weighted) == (0.5, 0.25)
    assert (row.coverage, row.coverage_weighted) == (0.75, 0.625)
    # Half a right and half a wrong one more in each of four cells: means of 5/6 and 1/6, and two degrees of freedom
    # each. The unknown weigh three times as much, so their variance is nine times that of the known.
    known = 3 / 2 * (2 * (1 / 6) ** 2 + ((5 / 6) ** 2 + (1 / 6) ** 2) / 4) * (1 / 4 / 3) ** 2
    half = t.ppf(0.975, 2 * 10**2 / (1 + 9**2)) * math.sqrt(10 * known)
    assert (row.weighted_low, row.weighted_high) == pytest.approx((0, 1 / 3 + half))
    both = records.assign(level=["standard"] * 4 + ["mild"] * 4, item_id=range(8))
    both = pd.concat([both, both.assign(method="sr_dcr", correct=False)], ignore_index=True)
    (lead,) = weighted_leads(both, first, "few_shot").itertuples()
    assert (lead.a, lead.b, lead.difference, lead.n, lead.n_questions) == ("few_shot", "sr_dcr", 0.25, 8, 4)
    assert lead.low < 0.25 < lead.high
    assert math.isnan(lead.changes_at)  # ahead on both halves
    memory = both.assign(correct=both["correct"].mask(both["method"] == "sr_dcr", both["level"] == "mild"))
    (lead,) = weighted_leads(memory, first, "few_shot").itertuples()  # +1/4 on true passages, −3/4 on false ones
    assert lead.changes_at == pytest.approx(0.25)


def test_calibrated_token_probability_is_weighted_back_with_weighted_ranks() -> None:
    """The beliefs are those of `test_ranks_take_weights_by_hand`: as it ran, a took its passage and was wrong; among
    five questions, three of them like c, it takes its memory. Right are then half of the known and all unknown ones."""
    first = pd.DataFrame({"question_id": list("abc"), "knowledge_category": ["HIGHLY_KNOWN"] * 2 + ["UNKNOWN"]})
    first["share_first_pass"] = [0.4, 0.4, 0.6]
    rows = pd.DataFrame(
        {
            "model": "m", "method": "calibrated_token_probability", "question_id": list("abc"), "missing": None,
            "self_confidence": [0.5, 0.9, 0.1], "context_confidence": [0.7, 0.6, 0.95],
            "prior_correct": [True, False, False], "context_correct": [False, False, True],
            "correct": [False, False, True],
        }
    ).astype({f"{answer}correct": "boolean" for answer in ("prior_", "context_", "")})  # fmt: skip
    records = pd.concat([rows.assign(level=level) for level in ("standard", "mild")], ignore_index=True)
    records["item_id"] = records["question_id"] + records["level"]
    (row,) = weighted_back(records, first).itertuples()
    assert (row.accuracy, row.weighted) == pytest.approx((1 / 3, 0.4 / 2 + 0.6))
    both = pd.concat([records, records.assign(method="few_shot", correct=False)], ignore_index=True)
    (lead,) = weighted_leads(both, first, "few_shot").itertuples()
    assert lead.difference == pytest.approx(-0.8)


def test_costs_by_hand() -> None:
    spent = {"calls_alone": [1, 3, 3], "prompt_tokens": [100, 400, 440], "completion_tokens": [4, 20, None]}
    records = pd.DataFrame(spent | {"model": "m", "method": ["few_shot", "rci", "rci"], "question_id": list("aab")})
    few, rci = costs(records).to_dict("records")
    assert (few["n"], few["calls"], few["tokens"]) == (1, 1, 104)
    assert (rci["n"], rci["calls"], rci["tokens"]) == (2, 3, 420), "what took an unknown number is in no mean"
    known = costs(records.assign(completion_tokens=[4, 20, 40])).iloc[1]
    assert known["tokens"] - known["tokens_low"] == pytest.approx(12.7062 * 30, rel=1e-4)


def test_the_pareto_front_by_hand() -> None:
    """(1, .5) and (3, .9) stand; (2, .5) costs more for nothing; (3, .8) is beaten at its price; NaN is nowhere."""
    assert pareto_front([1, 2, 3, 3, np.nan], [0.5, 0.5, 0.9, 0.8, 1.0]).tolist() == [True, False, True, False, False]


def test_fewer_than_ten_questions_put_nothing_ahead() -> None:
    row = {"condition": "overall", "b": "few_shot", "difference": 0.5, "p_holm": 0.004, "n_questions": 10}
    compared = pd.DataFrame([row, row | {"b": "rci", "difference": 0.0, "p_holm": 1.0}])
    assert among_all(compared.iloc[:1]).startswith("The only other method is Few-Shot; SR-DCR is ahead of it, by")
    assert "ahead of Few-Shot and behind none" in among_all(compared)
    assert "All 2 comparisons with other methods" in among_all(compared.assign(n_questions=9))
    assert "compared with none" in among_all(compared.iloc[:0])


@pytest.mark.usefixtures("figures_closed")
def test_golden_is_shown_last_and_never_on_the_front() -> None:
    table = cost_accuracy(simulated(30)).set_index("method")
    others = table.drop(index="golden")
    assert others["on_front"].tolist() == pareto_front(others["cost"], others["accuracy"]).tolist()
    assert others["on_front"].any() > table.loc["golden", "on_front"]
    assert draw_cost(table.reset_index()).axes[0].get_yticklabels()[-1].get_text().startswith("Golden Baseline")


def test_no_rows_have_no_cost_and_the_usual_columns() -> None:
    some, nothing = simulated(4), simulated(4).iloc[:0]
    for measure in (costs, cost_accuracy):
        assert measure(nothing).empty
        assert list(measure(nothing)) == list(measure(some))


def test_without_false_passages_nothing_is_said_of_both() -> None:
    run = load_run("pocket")
    vars(run)["records"] = run.records[run.records["condition"] == "standard"]
    for said in map(str, (answer_in_brief(run), answer(run))):
        assert "All passages are true, or all are false" in said
        assert not [text for text in ("mean of both", "means of true", "of the false", "with none") if text in said]
    assert "Compared with 9 other methods on true passages, SR-DCR is ahead of none" in said
