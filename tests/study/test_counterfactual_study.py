"""Counterfactual methods in a whole study: tables, plan, measures; with a model that answers by script."""

from pathlib import Path
from typing import Any

import pytest

from srdcr_lab import stances
from srdcr_lab.data import ItemSet
from srdcr_lab.data.facts import exemplars
from srdcr_lab.records import Role
from srdcr_lab.study import Results, Study
from tests.protocols.test_counterfactual import SUM, adding, scripted
from tests.scripted import ScriptedModel, finished

ROWS = Path(__file__).parents[1] / "fixtures" / "benchmarks"
METHODS = ("cot", "self_reflection", "self_consistency", "mad", "self_contrast", "cfmad", "cfmad_swapped")


def ran(model: ScriptedModel, items: Any, methods: Any = METHODS, **options: Any) -> Results:
    return finished(Study(model, items, methods, **options))


def test_a_study_of_options_has_table_3_in_its_records() -> None:
    results = ran(scripted(), f"commonsenseqa={ROWS / 'commonsenseqa.jsonl'}")
    costs = stances.cost_by_method(results.records).set_index("method")
    known = costs[costs["paper_prompts"].notna()]
    assert known["prompts_per_sample"].tolist() == known["paper_prompts"].tolist() == [1, 3, 7, 10, 6, 10]
    assert results.records["error"].isna().all()
    assert results.records["n_options"].tolist() == [3] * len(results.records)


def test_option_items_are_asked_nothing_that_no_method_wants() -> None:
    """No prior answer, no context answer, no knowledge draws: not even where evidence stands beside the options."""
    model = scripted()
    results = ran(model, f"cosmosqa={ROWS / 'cosmosqa.csv'}", ("cot",))
    assert model.calls == 2
    assert results.records["prior_answer"].isna().all()
    assert results.turns["saw_passage"].all()


def test_turns_say_who_spoke_for_which_answer() -> None:
    results = ran(scripted(), f"boolq={ROWS / 'boolq.jsonl'}", ("cfmad",))
    spoken = results.turns[results.turns["role"] == Role.DEFENDER]
    assert set(spoken["stance"]) == {"true", "false"}
    assert (spoken["speaker"] == spoken["stance"]).all()
    judged = results.turns[results.turns["role"] == Role.JUDGE]
    assert [list(each) for each in judged["saw_turns"]] == [[0, 1, 2, 3, 4, 5]] * 2
    ends = stances.debate_ends(results.records, results.turns).set_index("end")["share"]
    assert ends.sum() == pytest.approx(1)


@pytest.mark.parametrize("items", [f"commonsenseqa={ROWS / 'commonsenseqa.jsonl'}", f"boolq={ROWS / 'boolq.jsonl'}"])
def test_a_plan_of_options_says_what_a_run_asks(items: str) -> None:
    model = scripted()
    with Study(model, items, METHODS) as study:
        plan = study.plan().table.set_index("methods")
        records = study.run(progress=False).records
    alone = records.groupby("method")["calls_alone"].sum()
    for method in METHODS:
        assert plan.loc[method, "calls_alone_from"] == plan.loc[method, "calls_alone_to"] == alone[method]


def test_a_plan_of_open_questions_reckons_with_a_debate() -> None:
    items = ItemSet("sums", (SUM,), exemplars())
    for drawn, calls in ((("7", "7", "7"), 3), (("7", "8", "9"), 10)):
        with Study(adding(*drawn), items, "cfmad") as study:
            plan = study.plan().table.set_index("methods").loc["cfmad"]
            (row,) = study.run(progress=False).records.to_dict("records")
        assert (plan["calls_alone_from"], plan["calls_alone_to"]) == (3, 10)
        assert row["calls_alone"] == calls


def test_open_questions_are_answered_with_numbers() -> None:
    results = ran(scripted(chain_of_thought="answer: 350", mad_judge="answer: 350"), f"gsm8k={ROWS / 'gsm8k.jsonl'}",
                  ("cot", "mad", "cfmad"))  # fmt: skip
    right = results.records.groupby("method")["correct"].sum()
    assert right.to_dict() == {"cot": 1, "mad": 1, "cfmad": 1}
    recall = stances.candidate_recall(results.records, results.turns)
    assert recall["share"].tolist() == [0.5]
