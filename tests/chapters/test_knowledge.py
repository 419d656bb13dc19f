"""Sampled accuracy, categories and their stability; the tables of chapters 01 and 02: by hand and by a second way."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import special
from scipy.stats import spearmanr
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.confidence import auroc, kinds_compared
from srdcr_lab.knowledge import answer, categories_by_domain, categories_by_draws, subset_categories, within_category
from srdcr_lab.lib.definitions import (
    CATEGORIES,
    categorise,
    category_counts,
    highly_known,
    knowledge_category,
    redraw_stability,
    sampled_accuracy,
)
from srdcr_lab.lib.statistics import jeffreys_interval, rank_correlation
from srdcr_lab.records import KnowledgeCategory
from srdcr_lab.study import load_run

HIGHLY, MAYBE, WEAKLY, UNKNOWN = KnowledgeCategory


@pytest.mark.parametrize(("right", "n", "category"), [
    (28, 32, HIGHLY),  # 0.875, the paper's St. Louis
    (27, 32, MAYBE),  # 0.84375
    (10, 32, MAYBE),  # 0.3125
    (9, 32, WEAKLY),  # 0.28125
    (6, 32, WEAKLY),  # 0.1875, the paper's World Series
    (1, 32, WEAKLY), (0, 32, UNKNOWN),
    (32, 32, HIGHLY),
    (17, 20, HIGHLY),  # 0.85 exactly
    (34, 40, HIGHLY),
    (3, 10, MAYBE),  # 0.30 exactly
    (6, 20, MAYBE), (1, 1, HIGHLY),
])  # fmt: skip
def test_category_of_draws(right: int, n: int, category: KnowledgeCategory) -> None:
    assert knowledge_category(sampled_accuracy([True] * right + [False] * (n - right))) is category


def test_boundaries_of_the_paper_and_released_ones_and_no_draws() -> None:
    assert knowledge_category(0.85) is HIGHLY
    assert knowledge_category(math.nextafter(0.85, 0)) is MAYBE
    assert knowledge_category(0.30) is MAYBE
    assert knowledge_category(math.nextafter(0.30, 0)) is WEAKLY
    assert knowledge_category(math.nextafter(0.0, 1)) is WEAKLY
    assert knowledge_category(0.60, highly_from=0.60) is HIGHLY
    assert knowledge_category(0.59, highly_from=0.60) is MAYBE
    assert math.isnan(sampled_accuracy([]))
    assert knowledge_category(sampled_accuracy([])) is None


def test_a_single_domain_is_compared_with_none_and_a_single_question_has_a_wide_interval() -> None:
    row = {"domain": "years", "n_samples": 4, "sampled_accuracy": 1.0, "knowledge_category": HIGHLY}
    asked = [pd.DataFrame([row | {"question_id": k} for k in range(n)]) for n in (1, 12)]
    one, more = (answer(SimpleNamespace(known=SimpleNamespace(questions=each, bounds={}), label="")) for each in asked)
    assert "with probability 1.00 [0.15, 1.00] on average" in one
    assert "No two domains have 10 questions each" in more


@pytest.mark.parametrize("k", range(33))
def test_jeffreys_against_statsmodels(k: int) -> None:
    low, high = proportion_confint(k, 32, method="jeffreys")
    expected = (0.0 if k == 0 else low, 1.0 if k == 32 else high)
    assert jeffreys_interval(k, 32) == pytest.approx(expected, abs=1e-12)


def test_jeffreys_of_nothing_is_missing_and_arrays_go_through() -> None:
    low, high = jeffreys_interval([0, 0, 4], [0, 8, 4])
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[2]) == (0.0, 1.0)


def category_of(right: int, n: int) -> KnowledgeCategory:
    """Table 3, written again."""
    return HIGHLY if right / n >= 0.85 else MAYBE if right / n >= 0.30 else WEAKLY if right > 0 else UNKNOWN


@pytest.mark.parametrize("right", [0, 1, 6, 9, 10, 27, 28, 32])
def test_redraw_stability_by_exact_enumeration(right: int) -> None:
    """The beta-binomial written out with gamma functions."""
    a, b = right + 0.5, 32 - right + 0.5
    same = (k for k in range(33) if category_of(k, 32) is category_of(right, 32))
    expected = sum(math.comb(32, k) * special.beta(k + a, 32 - k + b) / special.beta(a, b) for k in same)
    assert redraw_stability(right, 32) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("right", "n", "size"), [(7, 8, 4), (6, 8, 4), (2, 8, 3), (1, 6, 2), (0, 6, 3), (6, 6, 3)])
def test_subsets_by_enumeration(right: int, n: int, size: int) -> None:
    draws = [1] * right + [0] * (n - right)
    subsets = list(combinations(range(n), size))
    same = sum(category_of(sum(draws[i] for i in s), size) is category_of(right, n) for s in subsets)
    whole = int(category_counts(n)[right])
    assert subset_categories(n, size)[right, whole] == pytest.approx(same / len(subsets))


def questions(*rows: tuple[str, float | None, int]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["domain", "sampled_accuracy", "n_samples"])
    return table.assign(knowledge_category=list(map(knowledge_category, table["sampled_accuracy"].astype(float))))


@pytest.mark.parametrize(("highly_from", "maybe_from"), [(0.85, 0.30), (0.6, 0.3), (1.0, 1.0), (0.5, 0.01)])
def test_many_accuracies_are_categorised_as_one_by_one(highly_from: float, maybe_from: float) -> None:
    accuracies = [k / n for n in (20, 32, 40) for k in range(n + 1)] + [highly_from, maybe_from]
    found = categorise(accuracies, highly_from=highly_from, maybe_from=maybe_from)
    one_by_one = [knowledge_category(a, highly_from=highly_from, maybe_from=maybe_from) for a in accuracies]
    assert [CATEGORIES[place] for place in found] == one_by_one


def test_thresholds_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"0 < maybe ≤ highly ≤ 1, got 0\.9 and 0\.85"):
        categorise([1.0], maybe_from=0.9)


def test_categories_by_domain_by_hand() -> None:
    rows = ("years", 1.0, 32), ("years", 0.5, 32), ("names", 0.0, 32), ("names", None, 0)
    table = categories_by_domain(questions(*rows))
    domains = list(dict.fromkeys(table["domain"]))
    assert domains == ["years", "names", "all domains"]
    years, names, both = (table[table["domain"] == name].set_index("knowledge_category") for name in domains)
    assert years.loc[[HIGHLY, MAYBE, WEAKLY, UNKNOWN], "share"].tolist() == [0.5, 0.5, 0, 0]
    assert (names.loc[UNKNOWN, ["n_category", "n", "n_missing", "share"]] == [1, 1, 1, 1.0]).all()
    assert both.loc[HIGHLY, "share"] == pytest.approx(1 / 3)
    low, high = proportion_confint(1, 3, method="jeffreys")
    assert both.loc[HIGHLY, ["low", "high"]].tolist() == pytest.approx([low, high])
    imported = pd.DataFrame({"domain": "years", "knowledge_category": [HIGHLY, MAYBE, None]})
    assert categories_by_domain(imported)["n_category"].tolist() == [1, 1, 0, 0]


def test_a_run_with_other_bounds_is_measured_by_them() -> None:
    run = load_run("pocket")
    assert run.bounds == {"highly_from": 0.85, "maybe_from": 0.30}
    run.manifest["asked"]["choices"]["highly_known_from"] = 0.6
    row = run.questions.set_index("sampled_accuracy").loc[0.65625]
    assert row["redraw_stability"] == redraw_stability(21, 32, **run.bounds)
    ends = {"question_id": "a", "accuracy_low": 0.61, "accuracy_high": 0.9, "knowledge_category": HIGHLY}
    asked = questions(("years", 0.6875, 32)).assign(**ends)
    assert categories_by_domain(asked)["n_category"].tolist() == [1, 0, 0, 0]
    assert within_category(asked, **run.bounds)["share"].tolist() == [1]


def test_fewer_draws_by_hand_and_at_the_sizes_that_a_question_has() -> None:
    """Of 4 draws, 2 right: a single one of them is right half the time (Highly), wrong half the time (Unknown)."""
    table = categories_by_draws(questions(("years", 0.5, 4)), sizes=(1, 4))
    one = table[table["size"] == 1].set_index("knowledge_category")
    assert one["share"].to_dict() == pytest.approx({HIGHLY: 0.5, MAYBE: 0, WEAKLY: 0, UNKNOWN: 0.5, "all": 1})
    assert (one.loc[MAYBE, "n"], one.loc[MAYBE, "agreement"], one.loc["all", "agreement"]) == (1, 0, 0)
    assert math.isnan(one.loc[HIGHLY, "agreement"])
    assert table.set_index(["size", "knowledge_category"]).loc[(4, "all"), "agreement"] == 1
    table = categories_by_draws(questions(("years", 1.0, 8), ("years", 1.0, 32), ("years", None, 0)), sizes=(8, 16))
    assert table[table["knowledge_category"] == "all"]["n"].tolist() == [2, 1]


def test_highly_known_is_missing_without_draws() -> None:
    found = highly_known(pd.DataFrame({"knowledge_category": [HIGHLY, UNKNOWN, None]}))
    assert found.tolist() == [True, False, pd.NA]


def test_kinds_are_compared_by_both_targets() -> None:
    table = pd.DataFrame(
        {
            "question_id": list("abcd"),
            "self_confidence": [0.9, 0.8, 0.2, 0.1],
            "confidence_kind": "mean_logprob",
            "knowledge_category": [HIGHLY, UNKNOWN, HIGHLY, UNKNOWN],
            "prior_correct": pd.array([True, True, False, None], "boolean"),
        }
    )
    (found,) = kinds_compared([table]).to_dict("records")
    assert found["auroc_highly_known"] == auroc([0.9, 0.8, 0.2, 0.1], [True, False, True, False]).value == 0.75
    assert (found["auroc_right"], found["n"]) == (1.0, 3)
    assert math.isnan(found["gain_highly_known"])
    (none,) = kinds_compared([table.assign(self_confidence=math.nan, confidence_kind=None)]).to_dict("records")
    assert math.isnan(none["auroc_right"])


def test_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 6, 40).astype(float)  # ties
    y = x + rng.normal(0, 2, 40)
    value, low, high, n = rank_correlation(x, np.append(y[:-1], math.nan))
    assert n == 39
    assert value == pytest.approx(spearmanr(x[:-1], y[:-1]).statistic)
    assert low < value < high
    for of_what_does_not_vary in (([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])):
        assert math.isnan(rank_correlation(*of_what_does_not_vary).value)
