"""Paired comparisons, sample sizes and intervals: by hand, against scipy, statsmodels, a textbook and brute force."""

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm, t, ttest_1samp
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.lib import comparison, statistics
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import BadInput
from tests.simulated import frame, simulated


def row(question: str, method: str, correct: bool | None, level: str = "subtle", **more: Any) -> dict[str, Any]:
    return {"model": "m", "method": method, "design": None, "question_id": question, "level": level,
            "item_id": f"{question}/{level}", "correct": correct, "verdict": None} | more  # fmt: skip


def two_methods(a: str, b: str, level: str = "subtle") -> pd.DataFrame:
    """Answers of methods a and b, one question a letter: r(ight), w(rong), m(issing)."""
    means = {"r": True, "w": False, "m": None}
    return frame(
        *(row(f"q{i}", "a", means[x], level) for i, x in enumerate(a)),
        *(row(f"q{i}", "b", means[x], level) for i, x in enumerate(b)),
    )


def test_a_comparison_by_hand() -> None:
    """Eight questions: A right on 6, B on 3; A alone on 4, B alone on 1; a missing answer counts as wrong."""
    found = comparison.compare(two_methods("rrrrrrwm", "rrwwwmrw"), "a", "b", condition="perturbed")
    assert (found.n, found.difference.n, found.n_unpaired) == (8, 8, 0)
    assert (found.mean_a, found.mean_b) == (6 / 8, 3 / 8)
    assert found.difference.value == pytest.approx(3 / 8)
    assert (found.only_a, found.only_b) == (4, 1)
    assert found.p_value == pytest.approx(binomtest(1, 5).pvalue)  # with ±1 alone, sign flips are the sign test


def test_overall_is_macro_over_true_and_false_passages() -> None:
    """True: A 1 of 1, B 0 of 1. False: A 0 of 3, B 1 of 3. Difference (1 − 1/3) / 2."""
    records = pd.concat([two_methods("r", "w", "standard"), two_methods("www", "rww")])
    found = comparison.compare(records, "a", "b")
    assert found.difference.value == pytest.approx((1 - 1 / 3) / 2)
    assert found.mean_a == pytest.approx(1 / 2)


def test_no_pair_is_nan_with_n_0() -> None:
    found = comparison.compare(two_methods("rr", ""), "a", "golden", condition="perturbed")
    assert found.n == 0
    assert all(math.isnan(value) for value in (*found.difference[:3], found.p_value))


def test_several_rows_for_an_item_are_bad_input() -> None:
    twice = pd.concat([two_methods("rr", "rw")] * 2)
    with pytest.raises(BadInput, match="several rows of one method and item"):
        summary(twice)
    with pytest.raises(BadInput, match=r"unknown method 'goldn' \(did you mean golden\?\)"):
        comparison.compare(twice, "a", "goldn")
    with pytest.raises(BadInput, match=r"unknown method 'SR-DCR' \(did you mean sr_dcr\?\)"):
        comparison.compare_all(twice, "SR-DCR")
    with pytest.raises(BadInput, match="unknown design 'acdv'"):
        comparison.compare(twice, "acdv", "acvd", column="design")
    with pytest.raises(BadInput, match=r"unknown condition 'standrd' \(did you mean"):
        comparison.compare(twice, "a", "b", condition="standrd")
    with pytest.raises(BadInput, match="several rows for an item"):
        comparison.compare(twice, "a", "b")
    with pytest.raises(BadInput, match="column is method or design, got 'model'"):
        comparison.compare_all(twice, "a", column="model")
    with pytest.raises(BadInput, match=r"no column 'methods' \(did you mean method\?\)"):
        comparison.compare(twice, "a", "b", column="methods")


def test_runs_are_paired_by_what_was_asked_and_not_by_the_number_of_a_row() -> None:
    one, other = (two_methods("rwr", "").assign(run=name, claimed_answer="1", question=list("xyz")) for name in "AB")
    assert comparison.compare(pd.concat([one, other]), "A", "B", column="run").n == 3
    found = comparison.compare(pd.concat([one, other.assign(question=list("yxz"))]), "A", "B", column="run")
    assert (found.n, found.n_unpaired) == (1, 4)


def test_sign_flips_against_every_pattern_of_signs() -> None:
    """Clusters of unequal size, enumerated by hand: 2⁵ patterns of whole clusters."""
    d = np.array([1, 1, 0, -1, 1, 1, 0, 1.0])
    clusters = np.array([0, 0, 1, 1, 2, 3, 3, 4])
    totals = np.array([d[clusters == c].sum() for c in range(5)])
    patterns = np.array(list(product([-1, 1], repeat=5)))
    by_hand = np.mean(np.abs(patterns @ totals) >= abs(totals.sum()) - 1e-9)
    assert statistics.sign_flip_test(d, clusters) == pytest.approx(by_hand)


def test_macro_sign_flips_weigh_the_strata_equally() -> None:
    d, clusters, strata = np.array([1.0, 1, 1, -1, 1]), [0, 1, 2, 0, 1], [0, 0, 0, 1, 1]
    weight = np.array([1 / 6] * 3 + [1 / 4] * 2) * d
    totals = np.array([weight[0] + weight[3], weight[1] + weight[4], weight[2]])
    patterns = np.array(list(product([-1, 1], repeat=3)))
    by_hand = np.mean(np.abs(patterns @ totals) >= abs(totals.sum()) - 1e-9)
    assert statistics.sign_flip_test(d, clusters, strata) == pytest.approx(by_hand)


def test_differences_without_a_common_step_are_flipped_at_random() -> None:
    """Next to whole numbers of a step, the exact p is what random patterns give but for their noise."""
    d = np.array([1.0] * 12 + [-1.0] * 4 + [0.5] * 3)
    drifted = d * (1 + 1e-3 * np.random.default_rng(0).random(d.size))
    exact, simulated = (statistics.sign_flip_test(each, range(d.size)) for each in (d, drifted))
    assert exact == pytest.approx(simulated, abs=0.02)
    assert simulated * 10_000 == pytest.approx(round(simulated * 10_000))  # of 9,999 patterns and the one seen


@pytest.mark.parametrize(("gained", "lost", "both"), [(4, 12, 0), (2, 4, 7), (5, 5, 6)])
def test_interval_of_many_differences_has_0_in_it_unless_the_test_rejects(gained: int, lost: int, both: int) -> None:
    """One verdict, one test. `both`: questions of which both forms gain."""
    once = [1.0] * gained + [-1.0] * lost
    same = [1.0] * both + [0.0] * (30 - len(once) - both)
    d, questions, half = np.array([*once, *same, *[0.0] * len(once), *same]), np.arange(60) % 30, np.arange(60) >= 30
    weights = {False: 0.5, True: 0.5}
    alone, together = (
        interval(d, questions, half, weights) for interval in (statistics.contrast_interval, statistics.paired_interval)
    )
    assert statistics.sign_flip_test(d, questions, half) > 0.05
    assert alone.low > 0 or alone.high < 0
    assert together.low <= 0 <= together.high


def test_the_interval_of_one_half_asks_the_test_of_that_half() -> None:
    """Nine true passages lost are too many for chance, whatever happens on the false ones."""
    d = np.array([-1.0] * 9 + [0.0] * 21 + [0.0] * 26 + [1.0] * 4)
    half, questions = np.arange(60) >= 30, np.arange(60) % 30
    assert statistics.sign_flip_test(d, questions, half) > 0.05
    assert statistics.paired_interval(d, questions, half, {False: 1.0}).high < 0


def test_repeating_each_item_makes_no_difference_surer_and_no_difference_has_p_1() -> None:
    d = np.array([1.0] * 5 + [-1.0])
    assert statistics.sign_flip_test(np.tile(d, 4), np.tile(range(6), 4)) == statistics.sign_flip_test(d, range(6))
    assert statistics.sign_flip_test([0.0, 0.0], [0, 1]) == 1
    assert math.isnan(statistics.sign_flip_test([], []))


def test_holm_by_hand() -> None:
    """.01 × 3, then max(.03, .02 × 2), then max(.04, .5); a missing p is not of the family."""
    assert statistics.holm([0.02, 0.5, np.nan, 0.01])[[0, 1, 3]] == pytest.approx([0.04, 0.5, 0.03])
    assert math.isnan(statistics.holm([0.02, np.nan])[1])


def test_a_family_is_all_comparisons_of_a_condition_without_golden() -> None:
    table = comparison.compare_all(simulated(40), conditions=("perturbed",), others=["few_shot", "rci", "golden"])
    family = table[table["b"] != "golden"]
    assert family["p_holm"].tolist() == pytest.approx(multipletests(family["p_value"], method="holm")[1].tolist())
    assert table.loc[table["b"] == "golden", "p_holm"].isna().all()
    assert table["difference"].notna().all()


def test_designs_are_compared_by_their_verdicts() -> None:
    records = frame(
        row("a", "sr_dcr", None, design="acvd", verdict="UNREASONABLE"),
        row("b", "sr_dcr", None, design="acvd", verdict="UNPARSED"),
        row("a", "sr_dcr", None, design="symmetric", verdict="REASONABLE"),
        row("b", "sr_dcr", None, design="symmetric", verdict="REASONABLE"),
    )
    found = comparison.compare(
        records, "acvd", "symmetric", column="design", condition="perturbed", name="verdict_right"
    )
    assert (found.mean_a, found.mean_b, found.only_a) == (0.5, 0.0, 1)


def test_a_factors_effect_is_over_the_pairs_that_differ_in_it_alone() -> None:
    """Two factors, four designs: seeing nothing is right on q0 and q1, seeing all on q0 alone, whatever the order."""
    designs = {f"{sees}/{order}": {"sees": sees, "order": order} for sees in ("never", "always") for order in "cd"}
    rows = [
        row(question, "sr_dcr", None, design=name, verdict="UNREASONABLE" if right else "REASONABLE")
        for name, factors in designs.items()
        for question, right in (("q0", True), ("q1", factors["sees"] == "never"))
    ]
    table = comparison.factor_effects(frame(*rows), designs, condition="perturbed").set_index("factor")
    assert table["n_pairs"].to_dict() == {"sees": 2, "order": 2}
    assert table.loc["sees", ["a", "b"]].tolist() == ["always", "never"]
    assert table.loc["sees", ["mean_a", "mean_b", "difference"]].tolist() == [0.5, 1.0, -0.5]
    assert table.loc["order", "difference"] == 0


def compared(n: int, chances: tuple[float, float, float], items: int = 1) -> comparison.Comparison:
    """A against B on n questions of equal items: right alone is A, B, neither with these chances."""
    gaps = np.repeat(np.random.default_rng(1).choice([1, -1, 0], size=n, p=chances), items)
    questions = [f"q{i}" for i in np.repeat(np.arange(n), items)]
    pairs = pd.DataFrame({"question_id": questions, "a": gaps == 1, "b": gaps == -1, "level": "mild"})
    return comparison.compare_pairs(pairs)


@pytest.mark.parametrize(("a", "b", "difference"), [(0.125, 0.075, 0.05), (0.20, 0.10, 0.10), (0.06, 0.04, 0.02)])
def test_questions_needed_agree_with_connors_formula(a: float, b: float, difference: float) -> None:
    """n = (z₁ √ψ + z₂ √(ψ − d²))² / d² (Connor 1987), where ψ = a + b: from as many questions, within one in ten."""
    z = norm.ppf([0.975, 0.8])
    connor = (z[0] * math.sqrt(a + b) + z[1] * math.sqrt(a + b - difference**2)) ** 2 / difference**2
    found = comparison.questions_needed(compared(4000, (a, b, 1 - a - b)), difference)
    assert found == pytest.approx(connor, rel=0.1)


def test_questions_needed_after_six_by_hand() -> None:
    """Differences of 1 and −1, three each: variance 1 by (6 + 1 of added values) / 7, of the mean 1 / 7."""
    pairs = pd.DataFrame(
        {"question_id": [*"abcdef"], "a": [1, 1, 1, 0, 0, 0], "b": [0, 0, 0, 1, 1, 1], "level": "mild"}
    )
    expected = (norm.ppf([0.975, 0.8]).sum() / 0.1) ** 2 * 6 / 7
    assert comparison.questions_needed(comparison.compare_pairs(pairs), 0.1) == math.ceil(expected)


def test_the_family_is_the_one_that_holm_corrects_for() -> None:
    """Whatever the condition: as many comparisons as `compare_all` adjusts; golden is in no family."""
    records = simulated(12).query("method != 'rci' or level == 'standard'")
    for condition in ("standard", "perturbed", "overall"):
        decided = comparison.compare_all(records, conditions=(condition,))["p_holm"].notna().sum()
        table = comparison.required_sample_size(records, condition=condition)
        assert table["family"].unique().tolist() == [decided]
        assert table["questions_needed"].is_monotonic_decreasing


def test_the_sample_size_of_nothing_is_missing() -> None:
    assert comparison.required_sample_size(two_methods("rr", ""), "a", "golden")["questions_needed"].isna().all()


def test_a_contrast_is_the_weighted_sum_of_the_strata_means() -> None:
    values, clusters, strata = [1, 1, 0, 1, 0, 0, 0, 0], list("abcdabcd"), ["x"] * 4 + ["y"] * 4
    value, low, high, n = statistics.contrast_interval(values, clusters, strata, {"x": 1, "y": -1})
    assert (value, n) == pytest.approx((3 / 4, 4))
    assert low < value < high


def test_a_contrast_of_both_halves_takes_what_they_share_into_account() -> None:
    """Nearly the t interval of the questions' differences, however the halves hang together."""
    rng = np.random.default_rng(5)
    chance = rng.random(40)
    first, alike = (rng.random(40) < chance).astype(float), (rng.random(40) < chance * 0.5).astype(float)
    clusters, strata = np.tile(np.arange(40), 2), np.repeat(["true", "false"], 40)
    for second in (alike, first, 1 - first):
        both = np.concatenate([first, second])
        _, low, high, _ = statistics.contrast_interval(both, clusters, strata, {"true": 1, "false": -1}, bounds=(0, 1))
        usual = ttest_1samp(first - second, 0).confidence_interval(0.95) if (first != second).any() else 0
        assert (low, high) == pytest.approx((usual.low, usual.high) if usual else (0, 0), abs=0.06)


def test_halves_at_both_ends_have_the_interval_of_agresti_and_caffo() -> None:
    """60 of 60 right on true passages and none on false ones, with a right and a wrong one more in each: no question
    is unlike another, so the four that were added are all the variance. 0.515 is likely enough to give such a study."""
    _, low, high, _ = statistics.clustered_interval([1.0] * 60 + [0.0] * 60, [*range(60)] * 2, [0] * 60 + [1] * 60)
    half = t.ppf(0.975, 61) * math.sqrt(2 * ((61 / 62) ** 2 + (1 / 62) ** 2)) * 0.5 / 62
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    assert high > 0.515


def test_groups_add_up_their_variances_by_hand() -> None:
    """Right are 3 of 4 questions of a group that weighs a quarter, and 1 of 3 of the other. With a right and a wrong
    one more in each the means are 4/6 and 2/5, the variances 6/5 · 12/9 / 6² and 5/4 · 30/25 / 5²."""
    values, group = [1, 1, 1, 0, 1, 0, 0], list("aaaabbb")
    found = statistics.contrast_interval(values, range(7), group, {"a": 0.25, "b": 0.75}, bounds=(0, 1), groups=group)
    of_a, of_b = 2 / 45 / 16, 0.06 * 9 / 16
    df = (of_a + of_b) ** 2 / (of_a**2 / 5 + of_b**2 / 4)
    centre, half = 0.25 * 4 / 6 + 0.75 * 2 / 5, t.ppf(0.975, df) * math.sqrt(of_a + of_b)
    assert 4 < df < 5
    assert found == pytest.approx((0.25 * 3 / 4 + 0.75 / 3, max(0.0, centre - half), centre + half, 7))


def test_equal_pairs_are_no_proof_of_equality() -> None:
    value, low, high, _ = statistics.contrast_interval([0.0] * 20, range(20), [0] * 20, {0: 1})
    assert value == 0
    assert low < -0.05 < 0.05 < high


def test_a_contrast_without_a_stratum_and_the_interval_of_one_question_are_missing() -> None:
    assert str(statistics.mean_interval([3.0, 4.0], ["a", "a"])) == "3.50"
    assert np.isnan(statistics.contrast_interval([1, 0], ["a", "b"], ["x", "x"], {"x": 1, "y": -1})[:3]).all()


def test_a_mean_of_any_numbers_has_the_t_interval() -> None:
    values = np.random.default_rng(0).gamma(2, 100, 50)
    usual = ttest_1samp(values, 0).confidence_interval(0.95)
    assert statistics.mean_interval(values, range(50)) == pytest.approx((values.mean(), usual.low, usual.high, 50))


ROWS = pd.DataFrame(
    [("a", "x", True), ("b", "x", False), ("b", "x", None), ("c", "y", True), ("c", "other", True)],
    columns=["question_id", "kind", "hit"],
)


def test_shares_by_hand() -> None:
    """In x one of two known hits and one missing; in y one of one; z is empty; "other" is in no cell."""
    table = statistics.shares(ROWS, ROWS["hit"].astype("boolean"), {"kind": ["x", "y", "z"]}).set_index("kind")
    assert table["n"].tolist() == [2, 1, 0]
    assert table["n_questions"].tolist() == [2, 1, 0]
    assert table["n_missing"].tolist() == [1, 0, 0]
    assert table["share"].tolist()[:2] == [0.5, 1.0]
    assert table.loc["z", ["share", "low", "high"]].isna().all()
    assert tuple(table.loc["x", ["low", "high"]]) == pytest.approx(proportion_confint(1, 2, method="jeffreys"))


def test_shares_of_no_rows_are_one_empty_cell() -> None:
    table = statistics.shares(ROWS.iloc[:0], ROWS["hit"].iloc[:0].astype("boolean"))
    assert table["n"].tolist() == [0]
    assert table["share"].isna().all()
