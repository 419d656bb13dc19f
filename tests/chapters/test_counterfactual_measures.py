"""The measures of the CFMAD paper on tables written by hand."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import stances as on
from srdcr_lab.lib.statistics import jeffreys_interval

Turns = list[dict[str, Any]]


def record(question: str, method: str, final: str | None, gold: str = "B", **columns: Any) -> dict[str, Any]:
    return {
        "item_id": question, "question_id": question, "model": "scripted", "method": method, "answer_type": "option",
        "gold_answer": gold, "final_answer": final, "correct": None if final is None else final == gold,
        "missing": "unparsed" if final is None else None, "n_options": 5, "calls_alone": 1, "prompt_tokens": 90,
        "completion_tokens": 10, **columns,
    }  # fmt: skip


def spoken(question: str, method: str, *said: tuple[str, str, int, str | None, str | None]) -> Turns:
    """Turns from (role, speaker, round, stance, stated answer)."""
    return [
        {"item_id": question, "question_id": question, "method": method, "position": place, "role": role,
         "speaker": speaker, "round": round_, "stance": stance, "stated_answer": stated}
        for place, (role, speaker, round_, stance, stated) in enumerate(said)
    ]  # fmt: skip


def agents(question: str, method: str, names: Sequence[str], stated: Sequence[str | None]) -> Turns:
    return spoken(question, method, *[("agent", name, 0, None, each) for name, each in zip(names, stated, strict=True)])


def debate(question: str, method: str, held: dict[str, str | None]) -> Turns:
    """One round: each stance opens, is attacked, and says what it holds."""
    openings = [("defender", stance, 0, stance, None) for stance in held]
    replies = [each for stance, answer in held.items()
               for each in (("critic", stance, 1, stance, None), ("defender", stance, 1, stance, answer))]  # fmt: skip
    return spoken(question, method, *openings, *replies)


def tables(records: Sequence[dict[str, Any]], turns: Turns) -> tuple[pd.DataFrame, pd.DataFrame]:
    columns = ["item_id", "question_id", "method", "position", "role", "speaker", "round", "stance", "stated_answer"]
    typed = pd.DataFrame(records or [record("none", "none", "B")]).astype({"correct": "boolean"})
    return typed.iloc[: len(records)], pd.DataFrame(turns, columns=columns)


def test_reflection_is_overconfident_where_the_revision_repeats_the_initial_error() -> None:
    names = ["cot", "feedback", "revision"]
    said = {"same": ["A", None, "A"], "other": ["C", None, "A"], "unread": [None, None, "A"], "right": ["B", None, "B"]}
    turns = [turn for question, stated in said.items() for turn in agents(question, "self_reflection", names, stated)]
    finals = {"same": "A", "other": "A", "unread": "A", "right": "B", "gone": None}
    rows = [*(record(q, "self_reflection", final) for q, final in finals.items()), record("q", "cfmad", "A")]
    (row,) = on.overconfidence(*tables(rows, turns)).to_dict("records")
    assert (row["method"], row["n"], row["n_missing"]) == ("self_reflection", 3, 1)
    assert row["share"] == pytest.approx(1 / 3)
    assert [row["low"], row["high"]] == pytest.approx([float(end) for end in jeffreys_interval(1, 3)])


@pytest.mark.parametrize(("method", "name", "stated", "share"), [
    *(("self_consistency", "vote", votes, 1) for votes in ("AAAAAAA", "AAAAAAC", "AAAAAA?")),
    *(("self_consistency", "vote", votes, 0) for votes in ("AAAAACC", "AAAAA??", "ACACACA")),
    *((method, name, "AAA", 1) for method, name in (("mad", "agent"), ("self_contrast", "view"))),
    *(("mad", "agent", stated, 0) for stated in ("AAC", "BBB", "AA?")),
])  # fmt: skip
def test_enough_first_answers_agree_on_the_same_error(method: str, name: str, stated: str, share: int) -> None:
    """Six votes of seven, or all of three agents or views; what they say later does not count."""
    names = [f"{name}-{i}" for i in range(len(stated))]
    turns = agents("q", method, names, [None if each == "?" else each for each in stated])
    later = agents("q", method, names, ["C"] * len(stated))
    turns += [turn | {"round": 1, "position": 10 + i} for i, turn in enumerate(later)]
    assert on.overconfidence(*tables([record("q", method, "A")], turns))["share"].tolist() == [share]
    assert on.overconfidence(*tables([record("q", method, "B")], turns)).empty, "no error, no row"


HELD: dict[str, tuple[dict[str, str | None], str | None]] = {
    "convinced": ({"true": "true", "false": "true"}, "true"),
    "misled": ({"false": "false", "true": "false"}, "false"),
    "settled": ({"true": "true", "false": "false"}, "true"),
    "mistaken": ({"true": "true", "false": "false"}, "false"),
    "crossed": ({"true": "false", "false": "true"}, "true"),
    "silent": ({"true": "true", "false": None}, None),
}


def debated() -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = [record(question, "cfmad", final, gold="true", n_options=2) for question, (_, final) in HELD.items()]
    rows.append(record("failed", "cfmad", None, gold="true"))
    return tables(rows, [turn for question, (held, _) in HELD.items() for turn in debate(question, "cfmad", held)])


def test_the_ends_of_debates_are_shares_of_all_debated_and_sum_to_one() -> None:
    found = on.debate_ends(*debated()).set_index("end")
    shares = found["share"] * 6
    assert shares.to_dict() == pytest.approx(
        {"valid_change": 1, "invalid_change": 1, "judge_right": 2, "judge_wrong": 1, "judge_missing": 1}
    )
    assert found["share"].sum() == pytest.approx(1)
    assert set(found["n"]) == {6}
    assert set(found["n_missing"]) == {1}
    (left,) = on.judge_of_debates(*debated()).to_dict("records")
    assert (left["n"], left["share"]) == (4, 0.5)  # two right, one wrong, one that was not read


def test_right_and_wrong_stances_that_change() -> None:
    """Right ones change in "misled" and "crossed", wrong ones in "convinced" and "crossed"; one reply is unread."""
    (gap,) = on.concessions(*debated()).to_dict("records")
    assert gap["difference"] == pytest.approx(2 / 5 - 2 / 6)
    assert gap["low"] < 0 < gap["high"]
    assert gap["n_questions"] == 6


def test_of_several_rounds_the_last_reply_counts() -> None:
    turns = debate("q", "cfmad", {"true": "false", "false": "false"})
    for stance, place in (("true", 6), ("false", 7)):
        turns.append(
            turns[0] | {"speaker": stance, "stance": stance, "round": 2, "stated_answer": "true", "position": place}
        )
    found = on.debate_ends(*tables([record("q", "cfmad", "true", gold="true")], turns)).set_index("end")
    assert found.loc["valid_change", "share"] == 1


def test_the_recall_of_candidates_is_over_the_questions_that_have_some() -> None:
    rows = [record("hit", "cfmad", "B"), record("lost", "cfmad", "A"), record("miss", "cfmad", "C"),
            record("agreed", "cfmad", "B"), record("none", "cfmad", None)]  # fmt: skip
    turns = [
        *debate("hit", "cfmad", {"A": "A", "B": "B"}),
        *debate("lost", "cfmad", {"A": "A", "B": "B"}),
        *debate("miss", "cfmad", {"A": "A", "C": "C"}),
        *agents("agreed", "cfmad", ["cot-0", "cot-1", "cot-2"], ["B", "b", "B"]),
        *agents("none", "cfmad", ["cot-0", "cot-1", "cot-2"], [None, None, None]),
    ]
    (row,) = on.candidate_recall(*tables(rows, turns)).to_dict("records")
    assert (row["n"], row["n_missing"], row["share"]) == (4, 1, 0.75)
    assert (row["mean_candidates"], row["by_chance"]) == (pytest.approx(7 / 4), pytest.approx(7 / 4 / 5))
    assert row["accuracy_recalled"] == pytest.approx(2 / 3)


def both_orders(finals: dict[str, tuple[str | None, str | None]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A is read first by `cfmad` and last by `cfmad_swapped`."""
    rows, turns = [], []
    for question, (straight, swapped) in finals.items():
        rows += [record(question, "cfmad", straight), record(question, "cfmad_swapped", swapped)]
        turns += debate(question, "cfmad", {"A": "A", "B": "B"}) + debate(
            question, "cfmad_swapped", {"B": "B", "A": "A"}
        )
    return tables(rows, turns)


def test_a_judge_who_takes_what_it_reads_first_has_the_effect_one() -> None:
    """A pair without an answer is counted and left out."""
    (row,) = on.position_effect(*both_orders({"x": ("A", "B"), "y": ("A", "B")})).to_dict("records")
    assert (row["n"], row["changed"], row["first"], row["last"], row["effect"]) == (2, 1, 1, 0, 1)
    (row,) = on.position_effect(*both_orders({"x": ("A", None), "y": ("B", "A")})).to_dict("records")
    assert (row["n"], row["n_missing"], row["effect"]) == (1, 1, -1)


def test_macro_f1_by_hand_of_nothing_and_of_no_error() -> None:
    """true: tp 2, fp 1, fn 1 → 4/6; false: tp 1, fp 0, fn 2 (one of them missing) → 2/4."""
    gold = pd.Series(["true", "true", "true", "false", "false", "false"])
    final = pd.Series(["true", "true", None, "true", "false", None], dtype=object)
    found = on.macro_f1(gold, final, pd.Series(range(6)))
    assert found.value == pytest.approx((4 / 6 + 2 / 4) / 2)
    assert found.low < found.value < found.high
    nothing = pd.Series([], dtype=object)
    assert math.isnan(on.macro_f1(nothing, nothing, nothing).value)
    same = pd.Series(["true", "false"])
    found = on.macro_f1(same, same, pd.Series([0, 1]))
    assert found.value == 1
    assert found.low < 1


def test_table_1_has_macro_f1_for_claims_alone() -> None:
    rows = [record("x", "cot", "true", gold="true"), record("y", "cot", None, gold="false"), record("x", "mad", "B")]
    found = on.accuracy_by_method(tables(rows, [])[0]).set_index("method")
    assert found.loc["cot", ["n", "accuracy", "coverage", "chance"]].tolist() == [2, 0.5, 0.5, 0.5]
    assert found.loc["cot", "macro_f1"] == pytest.approx((1 + 0) / 2)
    assert found.loc["mad", "chance"] == pytest.approx(1 / 5)
    assert math.isnan(found.loc["mad", "macro_f1"])


def test_table_3_counts_prompts_and_tokens_of_what_ended() -> None:
    rows = [
        record("x", "mad", "B", calls_alone=10, prompt_tokens=900, completion_tokens=100),
        record("y", "mad", "B", calls_alone=10, prompt_tokens=1800, completion_tokens=200),
        record("z", "mad", None, missing="error", calls_alone=3),
    ]
    (row,) = on.cost_by_method(tables(rows, [])[0]).to_dict("records")
    assert (row["n"], row["prompts_per_sample"], row["paper_prompts"]) == (3, 10, 10)
    assert row["tokens_per_sample"] == 1500
    assert row["tokens_per_sample_low"] == pytest.approx(1500 - 12.7062 * 500, rel=1e-4)


def test_accuracy_by_number_of_stances_and_of_rounds() -> None:
    finals = {"cfmad": "B", "cfmad_stances_3": "A", "cfmad_rounds_2": "B", "cfmad_swapped": "A", "cot": "A"}
    rows, _ = tables([record("q", method, final) for method, final in finals.items()], [])
    found = on.by_number(rows)[["what", "number", "accuracy"]].to_numpy().tolist()
    stances, rounds = "number of stances", "number of rounds"
    assert found == [[stances, 2, 1], [stances, 3, 0], [rounds, 1, 1], [rounds, 2, 1]]


def test_several_runs_are_told_apart() -> None:
    two_runs = [pd.concat([table.assign(run=name) for name in ("one", "two")]) for table in debated()]
    found = on.debate_ends(*(table.reset_index(drop=True) for table in two_runs))
    assert found.groupby("run")["share"].sum().tolist() == pytest.approx([1, 1])
    assert set(found["n"]) == {6}
