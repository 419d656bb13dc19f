"""Utility of the final answers over costs and shares of false passages, and what a verdict is worth: by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from srdcr_lab import final_answer as on
from srdcr_lab.records import BadInput
from tests.chapters.test_claims_checklist import answered
from tests.simulated import frame, simulated

RECORDS = simulated(80)


def study() -> pd.DataFrame:
    """A: of 4 true passages 3 right, of 4 false ones 1 right, 1 wrong, 2 missing. B: right on all true ones alone."""
    of_a = {0: (True, True, True, False), 20: (True, False, None, None)}
    rows = [answered(q, offset, "a", of_a[offset][i]) for offset in of_a for i, q in enumerate("pqrs")]
    rows += [answered(q, offset, "b", offset == 0) for offset in (0, 20) for q in "pqrs"]
    return frame(*rows)


@pytest.mark.parametrize(
    ("cost", "share", "a", "b"),
    [(0, 0.5, (3 / 4 + 1 / 4) / 2, 0.5), (1, 0.5, (2 / 4 + 0) / 2, 0.0), (2, 0.5, (1 / 4 - 1 / 4) / 2, -0.5),
     (1, 0, 2 / 4, 1.0), (1, 1, 0.0, -1.0)],
)  # fmt: skip
def test_utility_by_hand(cost: float, share: float, a: float, b: float) -> None:
    table = on.utility(study(), [cost], [share]).set_index("method")
    assert table["utility"].to_dict() == pytest.approx({"a": a, "b": b})
    assert table["n_answered"].to_dict() == {"a": 6, "b": 8}
    assert ((table["low"] <= table["utility"]) & (table["utility"] <= table["high"])).all()


def test_two_methods_change_places_where_their_lines_cross() -> None:
    """At cost 1 A is .5 behind on true passages and 1 ahead on false ones: level where π = 1/3. A method that never
    answers is worth neither more nor less: not answering is worth 0, and wrong answers less."""
    table = on.utility_differences(study(), "a", "b")
    assert table["difference"].tolist() == pytest.approx(list(np.linspace(-0.5, 1, 11)))
    assert table["changes_at"].unique().tolist() == pytest.approx([1 / 3])
    assert math.isnan(on.utility_differences(study(), "a", "a")["changes_at"][0])
    silent = study().assign(correct=lambda t: t["correct"].astype("boolean").mask(t["method"] == "a"))
    assert on.utility_differences(silent, "a", "b")[["difference", "low", "high", "changes_at"]].isna().all(axis=None)


def test_the_shares_at_which_two_methods_cannot_be_told_apart() -> None:
    """They hold the share at which the lines cross, and are those whose own interval of the difference contains 0."""
    table = on.changes_of_place(study(), [("a", "b"), ("a", "never run"), ("b", "b")])
    row = table.iloc[0]
    assert row["changes_at"] == pytest.approx(1 / 3)
    assert row["low"] <= 1 / 3 <= row["high"]
    line = on.utility_differences(study(), "a", "b", [1.0], [row["low"], row["high"]])
    assert ((line["low"] <= 0) & (line["high"] >= 0)).all()
    assert len(table) == 2, "who was not run is left out"
    assert math.isnan(table["changes_at"][1])
    assert table.loc[1, ["low", "high"]].tolist() == [0.0, 1.0]


def test_predictive_values_by_hand_and_by_bayes() -> None:
    table = on.predictive_values(RECORDS).set_index("false_share")
    ruled = RECORDS[RECORDS["method"] == "sr_dcr"]
    true = ruled["level"] == "standard"
    p = {(verdict, half): (ruled[true == half]["verdict"] == verdict).mean()
         for verdict in ("REASONABLE", "UNREASONABLE") for half in (True, False)}  # fmt: skip
    for share in (0.1, 0.5, 0.9):
        believed = p["REASONABLE", True] * (1 - share)
        doubted = p["UNREASONABLE", False] * share
        assert table.loc[share, "ppv"] == pytest.approx(believed / (believed + p["REASONABLE", False] * share))
        assert table.loc[share, "npv"] == pytest.approx(doubted / (doubted + p["UNREASONABLE", True] * (1 - share)))
    ends = table[["ppv_low", "ppv", "ppv_high"]]
    assert (ends.diff(axis=1).iloc[:, 1:] >= -1e-12).all(axis=None)
    odds = (ends / (1 - ends)).loc[[0.1, 0.5]].to_numpy()
    assert odds[0] == pytest.approx(9 * odds[1]), "the share of false passages moves all three alike"
    assert ends.loc[[0.0, 1.0]].to_numpy().tolist() == [[1, 1, 1], [0, 0, 0]], "every belief is right, then wrong"


def test_a_half_that_was_not_run_has_no_utility_but_by_itself() -> None:
    true = study().query("level == 'standard'")
    assert on.utility(true, [1], [0.5])["utility"].isna().all()
    assert on.utility(true, [1], [0.0])["utility"].notna().all()


@pytest.mark.parametrize(("costs", "shares"), [([-1], [0.5]), ([math.nan], [0.5]), ([1], [1.5]), ([1], [math.nan])])
def test_impossible_costs_and_shares_are_a_sentence(costs: list[float], shares: list[float]) -> None:
    with pytest.raises(BadInput, match="got"):
        on.utility(study(), costs, shares)


def test_coverage_and_selective_accuracy_at_each_share() -> None:
    """A answers all true passages, 3 of 4 rightly, and half of the false ones, one of 2: at a share of 1/2 it is right
    on 4 of 6, at 0.2 on (.8 · 3/4 + .2 · 1/4) / (.8 + .2 · 1/2)."""
    table = on.utility(study(), [0], [0.2, 0.5]).query("method == 'a'").set_index("false_share")
    assert table["coverage"].tolist() == pytest.approx([0.9, 0.75])
    assert table["selective_accuracy"].tolist() == pytest.approx([0.65 / 0.9, 4 / 6])
    assert (table["selective_accuracy_low"] < table["selective_accuracy"]).all()


def weighed(n: int = 30, seed: int = 0) -> pd.DataFrame:
    """Three methods that follow the passage, memory, or the more probable of the two, on items whose answers have
    probabilities; the last answers half of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(n):
        right = rng.random() < 0.6
        for offset in (0, 20):
            prior, context = "1900" if right else "1890", str(1900 + offset)
            believed = {"self_confidence": 0.5 + 0.4 * right * rng.random(), "context_confidence": rng.random()}
            picks = {
                "few_shot": context,
                "memory": prior,
                "token_probability": prior,
                "sr_dcr": prior if q % 2 else None,
            }
            for method, pick in picks.items():
                correct = None if pick is None else pick == "1900"
                one = answered(f"q{q}", offset, method, correct) | believed
                rows.append(one | {"prior_answer": prior, "context_answer": context, "final_answer": pick})
    return frame(*rows)


def test_an_answer_is_believed_as_what_it_equals() -> None:
    table = weighed()
    found, first = on.beliefs(table), table["method"] == "few_shot"
    both = table["prior_answer"] == table["context_answer"]
    assert (found[first & ~both] == table["context_confidence"][first & ~both]).all()
    assert (found[first & both] == table[["self_confidence", "context_confidence"]].max(axis=1)[first & both]).all()
    memory = (table["method"] == "memory") & ~both
    assert (found[memory] == table["self_confidence"][memory]).all()
    assert found[table["final_answer"].isna()].isna().all()
    assert on.beliefs(table[first]).isna().all(), "nobody weighed these answers"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("ties", [1, 4])
def test_risk_and_its_area_by_a_sum_over_thin_slices(share: float, ties: int) -> None:
    """Answers one after the other, the most believed first, each as wide as its weight; equal ones mixed."""
    rng = np.random.default_rng(ties)
    right = np.where(rng.random(40) < 0.2, np.nan, rng.random(40) < 0.7)
    belief, true = rng.integers(0, 40 // ties, 40) / 10, np.tile([True, False], 20)
    answers = on.FinalAnswers(right, np.repeat(np.arange(20), 2), true, belief)
    weight, given = np.where(true, (1 - share) / 20, share / 20), ~np.isnan(right)
    edges, missed = [0.0], [0.0]
    for value in np.unique(belief[given])[::-1]:
        here = given & (belief == value)
        edges.append(edges[-1] + weight[here].sum())
        missed.append(missed[-1] + weight[here & (right == 0)].sum())
    for coverage in (0.2, 0.5, answers.coverage(share).value):
        slices = (np.arange(40_000) + 0.5) * coverage / 40_000
        risks = np.interp(slices, edges, missed) / slices
        found = answers.surest(coverage, share)
        assert found.aurc == pytest.approx(risks.mean(), abs=1e-4)
        assert 1 - found.accuracy == pytest.approx(np.interp(coverage, edges, missed) / coverage)


def test_the_error_of_the_surest_half_counts_that_its_last_answer_is_another_in_another_study() -> None:
    """Answers right at 0.9 down to the median belief, and at 0.3 below it."""
    rng, ends = np.random.default_rng(0), []
    for _ in range(400):
        belief = rng.random(200)
        right = (rng.random(200) < np.where(belief > 0.5, 0.9, 0.3)).astype(float)
        half = on.FinalAnswers(right, np.arange(200), np.arange(200) < 100, belief).surest(0.5, 0.5)
        ends.append((half.accuracy, half.on_accuracy.std() / math.sqrt(200)))
    assert np.mean(ends, axis=0)[1] == pytest.approx(np.std(ends, axis=0)[0], rel=0.08)


def test_at_full_coverage_the_risk_is_that_of_all_answers() -> None:
    last = on.surest_answers(RECORDS).groupby("method").last()
    known = on.utility(RECORDS, [0]).set_index("method")
    assert (1 - last["risk"]).to_dict() == pytest.approx(known["selective_accuracy"].to_dict())
    assert last["coverage"].to_dict() == pytest.approx(known["coverage"].to_dict())
    assert (last["n_without_belief"] == last["n_answered"]).all(), "no method weighed an answer"
    assert last["aurc"].to_dict() == pytest.approx(last["risk"].to_dict()), "in any order the risk is the same"
    assert on.matched_coverage(RECORDS).empty, "nothing is said of answers whose order is chance"


def test_methods_meet_where_both_answer_as_many() -> None:
    """SR-DCR answers half of the items, each as memory does: what memory is surest of is at least as often right."""
    table = on.matched_coverage(weighed()).set_index("b")
    assert set(table["coverage"]) == {0.5}
    assert (table["n"].unique(), table["n_unpaired"].sum()) == ([60], 0)
    row = table.loc["memory"]
    assert row["accuracy_a"] == pytest.approx(weighed().query("method == 'sr_dcr'")["correct"].mean())
    assert row["difference"] == pytest.approx(row["accuracy_a"] - row["accuracy_b"])
    assert row["low"] <= row["difference"] <= row["high"] < 0.5
    assert ((table["p_value"] < 0.05) == ((table["low"] > 0) | (table["high"] < 0))).all()
    assert (table["p_holm"] >= table["p_value"]).all()
    assert table["p_holm"].min() == pytest.approx(min(1, len(table) * table["p_value"].min()))
    assert row["aurc_difference"] == pytest.approx(row["aurc_a"] - row["aurc_b"])
    assert row["aurc_difference_low"] <= row["aurc_difference"] <= row["aurc_difference_high"]
    same = on.matched_coverage(pd.concat([t := weighed(), t[t["method"] == "memory"].assign(method="again")]), "memory")
    assert same.set_index("b").loc["again", ["difference", "aurc_difference"]].tolist() == [0, 0]
