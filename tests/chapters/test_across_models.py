"""Several models side by side: what is paired, what is told of models whose truth is known, what a run lacks."""

from typing import Any

import pandas as pd
import pytest

from srdcr_lab import models_compared as on
from srdcr_lab.evaluation import false_passages
from tests.simulated import frame


def models(
    records: pd.DataFrame, questions: pd.DataFrame | None = None, turns: pd.DataFrame | None = None
) -> on.Models:
    """The records as the runs of their models, without chosen questions."""
    nothing = pd.DataFrame(columns="model item_id question_id method design role speaker position text".split())
    asked = records.drop_duplicates(["model", "question_id"]) if questions is None else questions
    return on.Models(records.reset_index(drop=True), asked, nothing if turns is None else turns, {}, "two models")


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


def test_models_are_paired_by_hand_on_what_both_were_asked() -> None:
    """A: prior right on q1 alone, follows both lies. B: right on neither, its prior answer to q2 is the lie already."""
    records = frame(
        item("A", "q1", "subtle", prior_answer="1900", prior_correct=True),
        item("A", "q2", "subtle"),
        item("A", "q3", "subtle"),  # B was not asked
        item("B", "q1", "subtle", final_answer="1900", correct=True),
        item("B", "q2", "subtle", prior_answer="1920"),
    )
    table = on.compare_models(models(records)).set_index("quantity")
    assert list(table.index) == ["right from memory", "false passages followed", "Few-Shot right"], "no Judge ruled"
    assert table["name"].unique().tolist() == ["A minus B"]
    priors, followed, right = (table.loc[name] for name in table.index)
    assert (priors["n"], priors["n_unpaired"], priors["mean_a"], priors["mean_b"]) == (2, 1, 0.5, 0.0)
    assert (followed["n"], followed["mean_a"], followed["mean_b"]) == (1, 1.0, 0.0)
    assert (right["n"], right["difference"]) == (2, -0.5)
    more = pd.concat([records, frame(item("B", "q3", "subtle"))]).drop(columns="level")  # asked without a passage
    (row,) = on.compare_models(models(records, more)).query("quantity == 'right from memory'").itertuples()
    assert (row.n, row.n_unpaired, row.mean_a) == (3, 0, pytest.approx(1 / 3))


@pytest.mark.parametrize("other", [{"question": "Who?"}, {"gold_answer": "1899"}, {"claimed_answer": "1960"}])
def test_an_item_of_the_same_id_and_other_words_is_another_item(other: dict[str, str]) -> None:
    """Tables of one's own number their rows alike."""
    both = models(frame(item("A", "q1", "subtle"), item("B", "q1", "subtle") | other))
    table = on.compare_models(both).set_index("quantity")
    assert table.loc["Few-Shot right", "n"] == 0
    shared = 1 if "claimed_answer" in other else 0
    assert table.loc["right from memory", "n"] == shared
    assert on.what_was_tested(both)["n_shared"].tolist() == [shared, shared]


def ruled(model: str, question: str, level: str, path: str, **more: Any) -> dict[str, Any]:
    given = {"verdict": {"R": "REASONABLE", "U": "UNREASONABLE", "?": "UNPARSED"}[path[-1]], "verdict_path": path}
    return item(model, question, level, "sr_dcr") | given | more


def said(model: str, role: str, texts: list[str]) -> list[dict[str, Any]]:
    row = {"model": model, "item_id": "q0/subtle", "question_id": "q0", "method": "sr_dcr", "design": None}
    row |= {"role": role, "speaker": ""}
    return [row | {"position": place, "text": text} for place, text in enumerate(texts)]


@pytest.fixture
def tested() -> on.Models:
    """Model "talks" argues and rules; the Judge of "silent" gives no ruling; "bare" holds no debate, reads no lie;
    "lone" rules, and has nothing beside that."""
    right, nothing = {"final_answer": "1900", "correct": True}, {"final_answer": None, "correct": None}
    rows = []
    for question in (f"q{k}" for k in range(12)):
        for level, path in (("standard", "RR"), ("subtle", "RU")):
            rows += [ruled("talks", question, level, path, **right), ruled("silent", question, level, "??", **nothing)]
            rows += [item("talks", question, level), item("silent", question, level)]
    rows += [item("bare", "q99", "standard", knowledge_category=None), ruled("lone", "q0", "subtle", "UU", **right)]
    turns = [
        *said("talks", "defender", ["a", "b", "c"]), *said("talks", "critic", ["x", "x", "y", "z"]),
        *said("silent", "defender", ["a", "a.", "A"]), *said("silent", "critic", ["a", "b"]),
    ]  # fmt: skip
    return models(frame(*rows), turns=pd.DataFrame(turns))


def test_what_was_not_tested_is_said_model_by_model(tested: on.Models) -> None:
    table = on.what_was_tested(tested).set_index("model")
    assert table["rulings_read"].to_list()[:2] == [1.0, 0.0]
    assert table.loc["talks", ["defender_repeats", "critic_repeats", "verdict_changes"]].tolist() == [0, 1 / 3, 0.5]
    assert pd.isna(table.loc["talks", "not_tested"])
    assert table.loc["silent", "not_tested"] == (
        "SR-DCR (no ruling could be read); what arguments are worth (debaters repeat themselves)"
    )
    for what in ("SR-DCR (no debate by ACVD)", "knowledge categories", "false passages", "any other model"):
        assert what in table.loc["bare", "not_tested"]


def test_a_model_whose_judge_is_silent_enters_no_claim_about_sr_dcr(tested: on.Models) -> None:
    gains = on.leads(tested)
    assert gains[["model", "a", "b", "difference"]].values.tolist() == [["talks", "sr_dcr", "few_shot", 1.0]]
    box = on.answer(tested)
    assert "On 12 questions, a missing answer counted as wrong: <b>Supported</b>: SR-DCR is right more often" in box
    assert "for talks (+1.00" in box
    reasons = {
        "lone": "it was not run beside Few-Shot",
        "bare": "no debate (ACVD) was held",
        "silent": "no ruling could be read",
    }
    assert " ".join(f"SR-DCR was not tested for {name}: {why}." for name, why in reasons.items()) in box
    assert "talks: Defender 0%, Critic 33%; silent: Defender 100%, Critic 0%" in box
    assert "what arguments are worth was not tested for silent." in box


def test_a_false_passage_has_one_of_four_ends(tested: on.Models) -> None:
    table = false_passages(tested.records).set_index(["model", "method", "end"])["share"]
    assert table[("talks", "sr_dcr", "right")] == 1
    assert table[("talks", "few_shot", "followed")] == 1
    assert table[("silent", "sr_dcr", "missing")] == 1
    assert list(false_passages(tested.records, ["rci"])) == list(false_passages(tested.records))
    other = frame(item("A", "q1", "subtle", final_answer="1700"))
    assert false_passages(other).set_index("end")["share"].to_dict() == {
        "right": 0, "followed": 0, "other": 1, "missing": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("known", "ranked"), [(10, True), (11, False), (9, False)])
def test_confidence_is_ranked_from_ten_questions_of_either_class_on(known: int, ranked: bool) -> None:
    names = ["HIGHLY_KNOWN" if k < known else "UNKNOWN" for k in range(20)]
    rows = [item("A", f"q{k}", "", knowledge_category=name, self_confidence=k % 7 / 7) for k, name in enumerate(names)]
    assert on.knowledge(models(frame(*rows)))["auroc"].notna().tolist() == [ranked]


def test_weighted_accuracy_has_the_shares_of_the_first_pass() -> None:
    """Half of the first pass is Unknown, of which one question was chosen of three: right there alone."""
    rows = [item("A", f"q{k}", level, final_answer="1900", correct=k == 0)
            for k in range(4) for level in ("standard", "subtle")]  # fmt: skip
    known = ["UNKNOWN", *["HIGHLY_KNOWN"] * 3]
    weights = pd.DataFrame({"question_id": [f"q{k}" for k in range(4)], "knowledge_category": known,
                            "share_first_pass": [0.5] * 4})  # fmt: skip
    chosen = on.Models(frame(*rows), frame(*rows), pd.DataFrame(), {"A": weights}, "A")
    (row,) = on.weighted_accuracy(chosen).to_dict("records")
    assert (row["accuracy"], row["weighted"], row["coverage"]) == (0.25, pytest.approx(0.5), 1)
    assert row["utility"] == pytest.approx(0.25 - 0.75)
    assert chosen.asked == "4 chosen questions"
