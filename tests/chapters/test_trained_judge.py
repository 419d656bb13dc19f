"""The judge that is trained: its features by hand, that no question is ruled on by who has seen it, what it learns."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.final_answer import debate_features, distance, stated_certainty, train_judge
from srdcr_lab.lib.definitions import ASKED_AGAIN
from srdcr_lab.records import AnswerType, BadInput


def record(
    n: int, *, true: bool, path: str, prior: str = "1874", context: str = "1934", sure: float = 0.9
) -> dict[str, Any]:
    verdict = {"R": "REASONABLE", "U": "UNREASONABLE", "?": "UNPARSED"}[path[-1]]
    return {
        "method": "sr_dcr", "design": "acvd", "model": "m", "item_id": f"q{n}{'' if true else '@'}",
        "question_id": f"q{n}", "level": "standard" if true else "moderate", "answer_type": "year",
        "verdict_path": path, "verdict": verdict, "prior_answer": prior, "context_answer": context,
        "claimed_answer": context, "final_answer": context, "self_confidence": sure,
    }  # fmt: skip


def turn(record: dict[str, Any], role: str, round_: int, text: str, stated: str | None) -> dict[str, Any]:
    return {name: record[name] for name in ("method", "design", "item_id")} | {
        "role": role, "speaker": role, "round": round_, "text": text, "stated_answer": stated,
    }  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [
    ("1874. I am certain.", 1), ("1874. I am not certain.", -1), ("I am not at all sure.", -1),
    ("It isn't certain.", -1), ("Perhaps 1874.", -1), ("1874.", 0), ("I am sure, or perhaps not.", 0),
    ("Definitely 1874.", 1), ("I do not know; this is a guess.", -1), ("There is uncertainty about certainty.", 0),
])  # fmt: skip
def test_stated_certainty(text: str, value: float) -> None:
    assert stated_certainty(text) == value


@pytest.mark.parametrize(("one", "other", "kind", "value"), [
    ("1874", "1934", AnswerType.YEAR, math.log(61)), ("1874", "1874", AnswerType.YEAR, 0.0),
    ("44 BC", "1874", AnswerType.YEAR, math.log(1919)), ("10", "20", AnswerType.NUMBER, math.log(2)),
    ("0", "20", AnswerType.NUMBER, math.nan), ("Paris", "Rome", AnswerType.CITY, math.nan),
    (None, "1874", AnswerType.YEAR, math.nan),
])  # fmt: skip
def test_distances(one: str | None, other: str, kind: AnswerType, value: float) -> None:
    assert distance(one, other, kind) == pytest.approx(value, nan_ok=True)


def test_the_features_of_one_debate_by_hand() -> None:
    row = record(1, true=False, path="URR?", sure=0.7)
    said = [
        turn(row, "defender", 0, "1934. The passage says so.", "1934"),
        turn(row, "critic", 0, "1874. I am certain.", "1874"),
        turn(row, "judge", 0, "certain", None),
        turn(row, "critic", 1, "1934. I am not certain.", "1934"),
        turn(row, "defender", 1, "1934. I am certain.", "1934"),
    ]
    unheard = turn(row, "critic", 1, "1934. I am certain.", "1934") | {"speaker": ASKED_AGAIN}
    other = turn(record(2, true=True, path="R"), "critic", 0, "1900. Perhaps.", "1900")
    found = debate_features(pd.DataFrame([row]), pd.DataFrame([*said, unheard, other])).iloc[0]
    assert found.to_dict() == pytest.approx(
        {
            "share_R": 2 / 4, "share_U": 1 / 4, "share_unparsed": 1 / 4, "last_R": 0, "last_U": 0, "changes": 2 / 3,
            "critic_certain": 0, "critic_certain_last": -1, "defender_certain": 0.5,
            "critic_agrees": 1 / 2, "critic_steady": 0, "answers_agree": 0, "distance": math.log(61),
            "self_confidence": 0.7,
        }
    )  # fmt: skip


def debates(n: int = 60, *, told_by: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two debates a question, on a true and a false passage. The prompted judge guesses; the Critic's certainty
    (`told_by` "critic") goes with the truth, or nothing does ("nothing")."""
    rng = np.random.default_rng(seed)
    rows, said = [], []
    for q in range(n):
        for true in (True, False):
            row = record(q, true=true, path="".join(rng.choice(["R", "U"], 6)), sure=float(rng.random()))
            doubts = true if told_by == "critic" and rng.random() < 0.9 else bool(rng.random() < 0.5)
            rows.append(row)
            said.append(turn(row, "critic", 0, f"1874. I am {'not ' if doubts else ''}certain.", "1874"))
            said.append(turn(row, "defender", 0, "1934. It says so.", "1934"))
    return pd.DataFrame(rows), pd.DataFrame(said)


def test_it_learns_what_the_prompted_judge_does_not_see() -> None:
    judge = train_judge(*debates(told_by="critic"))
    rates = judge.rates.set_index("judge")
    assert rates.loc["trained", "accuracy"] > 0.85
    assert rates.loc["trained", "brier"] < 0.15 < rates.loc["prompted", "brier"]
    assert judge.comparison.difference.low > 0
    assert judge.comparison.difference.value == pytest.approx(
        rates.loc["trained", "accuracy"] - rates.loc["prompted", "accuracy"]
    )
    assert judge.weights.index[0] in ("critic_certain", "critic_certain_last")
    assert judge.weights.iloc[0] < 0  # a certain Critic speaks against the passage
    assert (rates["n"] == 120).all()
    assert (rates["n_questions"] == 60).all()


def test_a_feature_that_a_fold_knows_nothing_of_takes_no_weight_of_another() -> None:
    records, turns = debates(told_by="critic")
    records.loc[2:, "context_answer"] = "?"  # the distance of answers is known for one question
    assert train_judge(records, turns).weights["distance"] == pytest.approx(0, abs=1e-3)


def test_a_held_out_label_has_no_part_in_its_own_ruling() -> None:
    """Turn one question's truth around: the rulings on it stay as they were."""
    records, turns = debates(30, told_by="critic")
    before = train_judge(records, turns).rulings
    here = records["question_id"] == "q7"
    swapped = records.assign(
        level=records["level"].where(~here, records["level"].map({"standard": "moderate", "moderate": "standard"}))
    )
    after = train_judge(swapped, turns).rulings
    assert before["fold"].eq(after["fold"]).all()
    assert np.allclose(before.loc[here.to_numpy(), "p_reasonable"], after.loc[here.to_numpy(), "p_reasonable"])


def test_unparsed_verdicts_are_wrong_of_the_prompted_judge_and_debates_that_were_not_held_are_left_out() -> None:
    records, turns = debates(told_by="critic")
    records["verdict_path"], records["verdict"] = "?", "UNPARSED"
    records.loc[:9, ["verdict_path", "verdict"]] = None
    rates = train_judge(records, turns).rates.set_index("judge")
    assert (rates.loc["prompted", "accuracy"], rates.loc["prompted", "brier"]) == (0, 1)
    assert rates.loc["trained", "n"] == 110


@pytest.mark.parametrize(("change", "says"), [
    (lambda r: r.assign(verdict=None), "there are no debates to train a judge on"),
    (lambda r: r[r["level"] == "standard"], "with either kind of passage; one has 0"),
    (lambda r: r[(r["level"] != "standard") | (r["question_id"] == "q7")], "one has 1"),
    (lambda r: r.head(20), "trained on 20 questions or more, and there are 10"),
    (lambda r: pd.concat([r, r.assign(design="symmetric")]), "debates of one design at a time"),
])  # fmt: skip
def test_what_a_judge_cannot_be_trained_on(change: Any, says: str) -> None:
    records, turns = debates(told_by="critic")
    with pytest.raises(BadInput, match=says):
        train_judge(change(records), turns)
