"""Stopping early: the rule by hand for three draws, by enumeration for few, and its figures on draws."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom

from srdcr_lab.measures.knowledge import CATEGORIES, categorise, knowledge_category
from srdcr_lab.measures.sequential import jeffreys_totals, learnt_totals, stopping_rule
from srdcr_lab.measures.sequential_check import (
    categorised_sequentially,
    knowledge_matrix,
    over_orders,
    sequential_figures,
)
from srdcr_lab.records import KnowledgeCategory

HIGHLY, MAYBE, WEAKLY, UNKNOWN = KnowledgeCategory


# -- priors ----------------------------------------------------------------------------------------------------------


def test_jeffreys_against_scipy() -> None:
    assert jeffreys_totals(32) == pytest.approx(betabinom.pmf(np.arange(33), 32, 0.5, 0.5))
    assert jeffreys_totals(8, strength=2) == pytest.approx([1 / 9] * 9)


def test_learnt_by_hand() -> None:
    """Three questions of one draw, two right; two pseudo-questions, half right: (1 + 1)/5 and (2 + 1)/5."""
    assert learnt_totals([1, 1, 0], 1, pseudo_questions=2) == pytest.approx([2 / 5, 3 / 5])
    with pytest.raises(ValueError, match="at most 4 are right"):
        learnt_totals([5], 4)


# -- the rule --------------------------------------------------------------------------------------------------------


def test_by_hand_of_three_draws() -> None:
    """Totals 0 or 3 only: the first draw tells all. Totals 0 and 1 alike: after two wrong ones it is still open."""
    sure = stopping_rule([0.5, 0, 0, 0.5], n_draws=3)
    assert (sure.settled(1, 1), sure.settled(0, 1)) == (HIGHLY, UNKNOWN)
    assert sure.expected_draws == pytest.approx(1)
    open_ = stopping_rule([0.5, 0.5, 0, 0], n_draws=3, max_changed=0)
    assert open_.settled(0, 2) is None
    assert (open_.settled(0, 3), open_.settled(1, 3)) == (UNKNOWN, MAYBE)
    assert open_.settled(1, 1) is MAYBE  # 1 of 3 is all there can be
    assert open_.expected_draws == pytest.approx(0.5 * 3 + 0.5 * (1 + 2 + 3) / 3)


def test_at_all_draws_it_has_the_paper_s_category() -> None:
    rule = stopping_rule()
    assert [rule.settled(k, 32) for k in range(33)] == [knowledge_category(k / 32) for k in range(33)]


def cost(stop: dict[tuple[int, int], bool], n: int, prior: np.ndarray, penalty: float) -> float:
    """Expected draws plus penalty × P(another label), by walking every order of every total."""
    full = categorise(np.arange(n + 1) / n)
    total_cost = 0.0
    paths: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for total in range(n + 1):
        orders = set(permutations([1] * total + [0] * (n - total)))
        for order in orders:
            drawn = next(m for m in range(1, n + 1) if m == n or stop[m, sum(order[:m])])
            paths.setdefault((drawn, sum(order[:drawn])), []).append((full[total], prior[total] / len(orders)))
    for (drawn, _), ends in paths.items():
        mass = np.bincount([label for label, _ in ends], [p for _, p in ends], minlength=4)
        total_cost += drawn * mass.sum() + penalty * (mass.sum() - mass.max())
    return total_cost


def test_no_other_rule_is_better() -> None:
    """All 2⁹ ways to stop within four draws: of those that change at most so many labels none draws fewer."""
    n, prior = 4, np.array([0.35, 0.1, 0.1, 0.15, 0.3])
    rule = stopping_rule(prior, n_draws=n, max_changed=0.05)
    states = [(m, k) for m in range(1, n) for k in range(m + 1)]
    best = math.inf
    for ways in product([False, True], repeat=len(states)):
        stop = dict(zip(states, ways, strict=True))
        draws = cost(stop, n, prior, 0)
        changed = cost(stop, n, prior, 1) - draws
        if changed <= rule.expected_changed + 1e-12:
            best = min(best, draws)
    assert rule.expected_draws == pytest.approx(best)


def test_what_the_rule_expects_is_what_happens() -> None:
    prior = learnt_totals([0] * 10 + [32] * 20 + [9, 10, 27, 28], pseudo_questions=4)
    rule = stopping_rule(prior)
    used, changed = over_orders(rule)
    assert prior @ used == pytest.approx(rule.expected_draws)
    assert prior @ changed == pytest.approx(rule.expected_changed)
    assert rule.expected_changed <= 0.02


def test_a_stricter_rule_draws_more() -> None:
    draws = [stopping_rule(max_changed=share).expected_draws for share in (0.0, 0.005, 0.02, 0.1)]
    assert draws == sorted(draws, reverse=True)
    assert draws[0] > draws[3] + 5


def test_nothing_changes_where_nothing_may() -> None:
    assert over_orders(stopping_rule(max_changed=0))[1] == pytest.approx(np.zeros(33), abs=1e-9)


def test_it_stops_only_where_it_may_look() -> None:
    rule = stopping_rule(looks=(8, 16))
    assert set(np.flatnonzero(rule.stop.any(axis=1))) == {8, 16, 32}


def test_other_thresholds() -> None:
    rule = stopping_rule(n_draws=10, highly_from=0.6, maybe_from=0.3)
    assert rule.settled(6, 10) is HIGHLY


@pytest.mark.parametrize(("correct", "drawn"), [(2, 1), (-1, 3), (5, 33)])
def test_impossible_counts(correct: int, drawn: int) -> None:
    with pytest.raises(ValueError, match="cannot have"):
        stopping_rule().settled(correct, drawn)


@pytest.mark.parametrize("prior", [[1.0], [-1.0] * 33, [0.0] * 33])
def test_a_prior_is_over_all_totals(prior: list[float]) -> None:
    with pytest.raises(ValueError, match="a probability for each of 0 to 32"):
        stopping_rule(prior)


# -- over draws ------------------------------------------------------------------------------------------------------


def test_each_question_draw_by_draw() -> None:
    rng = np.random.default_rng(0)
    draws = rng.random((40, 32)) < rng.beta(0.3, 0.3, (40, 1))
    rule = stopping_rule()
    found = categorised_sequentially(draws, rule)
    for row, right in zip(found.itertuples(), draws, strict=True):
        drawn = next(m for m in range(1, 33) if rule.settled(int(right[:m].sum()), m))
        assert (row.n_used, row.n_correct) == (drawn, right[:drawn].sum())
        assert row.knowledge_category == rule.settled(row.n_correct, drawn)
        assert row.full_category == CATEGORIES[categorise(right.mean())]
        assert row.changed == (row.knowledge_category != row.full_category)


@pytest.mark.parametrize("total", [0, 1, 10, 28, 32])
def test_over_orders_by_shuffling(total: int) -> None:
    rng = np.random.default_rng(total)
    draws = rng.permuted(np.tile(np.arange(32) < total, (4000, 1)), axis=1)
    rule = stopping_rule()
    found, (used, changed) = categorised_sequentially(draws, rule), over_orders(rule)
    assert found["n_used"].mean() == pytest.approx(used[total], abs=0.6)
    assert found["changed"].mean() == pytest.approx(changed[total], abs=0.03)


def test_half_the_draws_at_two_percent() -> None:
    """The goal, on 70 questions with the totals that a small model had on as many facts."""
    rare = [2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 11, 14, 15, 16, 17, 22, 23, 24, 26, 27, 28, 28, 28, 29, 29, 30, 31, 31, 31]
    totals = np.array([0] * 15 + [32] * 25 + rare)
    draws = np.random.default_rng(0).permuted(np.arange(32) < totals[:, None], axis=1)
    found = sequential_figures(draws)
    assert found.used_any_order < 0.5
    assert found.changed_any_order < 0.02
    assert found.changed_low <= found.changed == found.n_changed / 70 <= found.changed_high
    assert found.used_low < found.used < found.used_high


def test_no_question_is_judged_by_its_own_draws() -> None:
    """One question unlike all others: the rule that judges it has not seen its kind."""
    draws = np.zeros((11, 32), bool)
    draws[0] = True
    alone = sequential_figures(draws, n_folds=11)
    rule = stopping_rule(learnt_totals([0] * 10))
    used, _ = over_orders(rule)
    rest, _ = over_orders(stopping_rule(learnt_totals([0] * 9 + [32])))
    assert alone.used_any_order == pytest.approx((used[32] + 10 * rest[0]) / 11 / 32)


@pytest.mark.parametrize("n", [0, 1])
def test_no_question_or_one(n: int) -> None:
    found = sequential_figures(np.ones((n, 32), bool))
    assert found.n == n
    assert math.isnan(found.used) is (n == 0)


def test_draws_of_another_number() -> None:
    with pytest.raises(ValueError, match="for 32 draws"):
        categorised_sequentially(np.ones((2, 16), bool), stopping_rule())


def test_matrix_of_a_samples_table() -> None:
    samples = pd.DataFrame(
        {
            "question_id": ["a", "a", "a", "b"],
            "stream": ["knowledge", "knowledge", "greedy", "knowledge"],
            "draw": [1, 0, 0, 0],
            "correct": [False, True, True, True],
        }
    )
    matrix = knowledge_matrix(samples)
    assert matrix.index.tolist() == ["a"]  # one draw of b is missing
    assert matrix.loc["a"].tolist() == [True, False]
