"""Several models side by side: what is paired, what is told of models whose truth is known, what a run lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.findings import FAMILY_WISE, sentence
from srdcr_lab.lib.comparison import compare
from srdcr_lab.lib.statistics import holm
from srdcr_lab.models_compared import compare_models, names_apart, what_runs_have
from srdcr_lab.preference import context_preference
from tests.simulated import simulated

BASE = simulated(40)
QUANTITIES = ["prior answers right", "false passages followed", "verdicts right", "Few-Shot answers right",
              "SR-DCR answers right"]  # fmt: skip


def redrawn(model: str, rng: np.random.Generator, skill: float = 0.0) -> pd.DataFrame:
    """A model's records of the questions of `BASE`: all that is compared is right with a probability of each question,
    raised by `skill`."""
    rows = BASE[BASE["method"].isin(["few_shot", "sr_dcr"])]
    ease = pd.Series(np.random.default_rng(1).uniform(0.1, 0.7, 40), [f"q{q}" for q in range(40)])
    likely = np.clip(rows["question_id"].map(ease) + skill, 0, 1).to_numpy()
    right, follows, ruled = (rng.random(len(rows)) < likely for _ in range(3))
    priors = pd.Series(rng.random(40) < np.clip(ease + skill, 0, 1), ease.index)
    wanted = np.where((rows["level"] == "standard") == ruled, "REASONABLE", "UNREASONABLE")
    return rows.assign(
        model=model,
        correct=pd.array(right, "boolean"),
        prior_correct=rows["question_id"].map(priors).astype("boolean"),
        verdict=np.where(rows["method"] == "sr_dcr", wanted, None),
        prior_is_claim=pd.array([False] * len(rows), "boolean"),
        final_is_claim=pd.array(follows, "boolean"),
    )


def two(seed: int, skill: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.concat([redrawn("one", rng, skill), redrawn("other", rng)])


# -- pairs ------------------------------------------------------------------------------------------------------------


def item(model: str, question: str, level: str, method: str = "few_shot", **more: Any) -> dict[str, Any]:
    """An item about a question whose gold answer is 1900: the passage says so, or 1920."""
    return {
        "model": model, "method": method, "design": None, "item_id": f"{question}/{level}", "question_id": question,
        "question": f"When was {question}?", "answer_type": "year", "gold_answer": "1900", "level": level,
        "claimed_answer": "1900" if level == "standard" else "1920", "perturbation_kind": "offset",
        "perturbation_value": 20.0, "prior_answer": "1890", "prior_correct": False, "context_answer": "1920",
        "final_answer": "1920", "correct": False, "verdict": None, "verdict_path": None, "self_confidence": 0.5,
        "confidence_kind": "mean_logprob", "knowledge_category": "UNKNOWN",
    } | more  # fmt: skip


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype({"prior_correct": "boolean", "correct": "boolean"})


def test_models_are_paired_by_hand_on_what_both_were_asked() -> None:
    """A: prior right on q1 alone, follows both lies. B: right on neither, its prior answer to q2 is the lie already."""
    records = frame(
        item("A", "q1", "subtle", prior_answer="1900", prior_correct=True),
        item("A", "q2", "subtle"),
        item("A", "q3", "subtle"),  # B was not asked
        item("B", "q1", "subtle", final_answer="1900", correct=True),
        item("B", "q2", "subtle", prior_answer="1920"),
    )
    table = compare_models(records).set_index("quantity")
    assert list(table.index) == QUANTITIES
    assert table["name"].unique().tolist() == ["A less B"]
    priors, followed, verdicts, right = (table.loc[name] for name in QUANTITIES[:4])
    assert (priors["n"], priors["n_unpaired"], priors["mean_a"], priors["mean_b"]) == (2, 1, 0.5, 0.0)
    assert (followed["n"], followed["mean_a"], followed["mean_b"]) == (1, 1.0, 0.0)
    assert (right["n"], right["difference"]) == (2, -0.5)
    assert verdicts["n"] == 0
    assert np.isnan(verdicts["p_holm"])
    more = pd.concat([records, frame(item("B", "q3", "subtle"))]).drop(columns="level")  # asked without a passage
    (row,) = compare_models(records, questions=more).query("quantity == 'prior answers right'").itertuples()
    assert (row.n, row.n_unpaired, row.mean_a) == (3, 0, pytest.approx(1 / 3))


@pytest.mark.parametrize("other", [{"question": "Who?"}, {"gold_answer": "1899"}, {"claimed_answer": "1960"}])
def test_an_item_of_the_same_id_and_other_words_is_another_item(other: dict[str, str]) -> None:
    """Tables of one's own number their rows alike."""
    records = frame(item("A", "q1", "subtle"), item("B", "q1", "subtle") | other)
    table = compare_models(records).set_index("quantity")
    assert table.loc["Few-Shot answers right", "n"] == 0
    assert table.loc["prior answers right", "n"] == (1 if "claimed_answer" in other else 0)
    assert what_runs_have(records)["n_shared"].tolist() == ([1, 1] if "claimed_answer" in other else [0, 0])


def test_a_difference_between_models_is_that_of_the_comparison_of_methods() -> None:
    """A second way: two methods of one model, named as two models."""
    both = BASE[BASE["method"].isin(["few_shot", "zero_shot"])]
    as_models = both.assign(model=both["method"], method="few_shot")
    table = compare_models(as_models).set_index("quantity")
    found = compare(both, "few_shot", "zero_shot")
    for name in ("n", "n_questions", "difference", "low", "high", "p_value"):
        assert table.loc["Few-Shot answers right", name] == getattr(found, name)


def test_a_model_without_few_shot_is_compared_by_its_context_answers() -> None:
    records = frame(item("A", "q1", "subtle"), item("B", "q1", "subtle", "sr_dcr", final_answer="1900", correct=True))
    assert compare_models(records).set_index("quantity").loc["false passages followed", "mean_b"] == 1.0
    shown = context_preference(records, ())
    assert shown.loc[~shown["prior_is_claim"], ["model", "share"]].values.tolist() == [["A", 1.0], ["B", 1.0]]


# -- what is told of a known truth ------------------------------------------------------------------------------------


def test_identical_models_are_rarely_told_apart() -> None:
    told = [bool((compare_models(two(seed, 0.0))["p_holm"] < FAMILY_WISE).any()) for seed in range(40)]
    assert sum(told) <= FAMILY_WISE * len(told)


def differ(table: pd.DataFrame) -> str:
    claim = "the first of two models has more {quantity} than the second"
    return sentence(claim, table, "difference", above=0, by=["name"], of="items")


def test_a_real_difference_is_found_and_said() -> None:
    tables = [compare_models(two(seed, 0.35)) for seed in range(6)]
    told = pd.concat(tables).groupby("quantity", sort=False)["p_holm"].agg(lambda p: (p < FAMILY_WISE).mean())
    assert list(told.index) == QUANTITIES
    assert told["prior answers right"] > 0.3  # of 40 questions; the next two have 80 items
    assert (told[["verdicts right", "SR-DCR answers right"]] > 0.8).all()
    table = tables[0]
    assert table["p_holm"].tolist() == holm(table["p_value"]).tolist()
    said = differ(table[table["quantity"] == "verdicts right"])
    assert said.startswith("the first of two models has more verdicts right than the second (above 0): Supported: ")
    assert "one less other (+0." in said


def test_of_one_model_alone_nothing_is_told() -> None:
    table = compare_models(redrawn("one", np.random.default_rng(0)))
    assert table.empty
    assert "Not measured" in differ(table)


# -- names, and what a run lacks --------------------------------------------------------------------------------------


def test_runs_of_one_model_have_names_of_their_own() -> None:
    assert names_apart(["m", "m", "m", "n"], ["a", "a", "b", "a"]) == ["m (a) 1", "m (a) 2", "m (b)", "n"]


def test_a_run_says_what_it_lacks() -> None:
    nothing = {"knowledge_category": None, "self_confidence": None, "confidence_kind": None}
    records = frame(
        item("whole", "q1", "standard", "sr_dcr", verdict="REASONABLE"),
        item("whole", "q1", "subtle"),
        item("whole", "q1", "subtle", item_id="q1/other"),
        item("bare", "q9", "standard", "golden", **nothing),
        item("draws", "q1", "subtle", confidence_kind="self_consistency"),
    )
    lacks = what_runs_have(records).set_index("model")["lacks"]
    assert lacks["whole"] == ""
    for what in ("few-shot", "knowledge draws", "confidence", "false passages", "debates", "question that another"):
        assert f"no {what}" in lacks["bare"]
    assert "no true passages" in lacks["draws"]
    assert "no log-probabilities (its confidence is self_consistency)" in lacks["draws"]
    assert "no second false passage" in lacks["draws"]
