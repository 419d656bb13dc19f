"""Calls, tokens, money and the Pareto front: by hand and by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.evaluation import cost_accuracy, cost_summary, pareto_front
from tests.simulated import simulated


def row(
    question: str, method: str, alone: int, paid: int, tokens: tuple[int, int], cost: float | None
) -> dict[str, Any]:
    return {"model": "m", "method": method, "question_id": question, "calls_alone": alone, "calls_paid": paid,
            "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "cost_usd": cost}  # fmt: skip


ROWS = pd.DataFrame(
    [
        row("a", "few_shot", 1, 1, (100, 4), 0.01),
        row("b", "few_shot", 1, 0, (120, 4), 0.0),
        row("a", "rci", 3, 2, (400, 20), 0.03),
        row("b", "rci", 3, 3, (440, 40), None),
    ]
).astype({"cost_usd": float})


def test_costs_by_hand() -> None:
    table = cost_summary(ROWS).set_index("method")
    few, rci = table.loc["few_shot"], table.loc["rci"]
    assert (few["n"], few["calls_per_item"], few["calls_paid_per_item"], few["calls_saved"]) == (2, 1, 0.5, 1)
    assert few["tokens_per_item"] == pytest.approx((104 + 124) / 2)
    assert few["cost_usd"] == pytest.approx(0.01)
    assert few["cost_usd_per_item"] == pytest.approx(0.005)
    assert rci["prompt_tokens_per_call"] == pytest.approx(840 / 6)
    assert rci["completion_tokens_per_call"] == pytest.approx(60 / 6)
    assert rci["low"] < rci["tokens_per_item"] < rci["high"]


def test_an_unknown_price_makes_the_sum_unknown_and_is_counted() -> None:
    rci = cost_summary(ROWS).set_index("method").loc["rci"]
    assert math.isnan(rci["cost_usd"])
    assert rci["n_unpriced"] == 1


def test_wall_time_is_shown_where_it_was_recorded() -> None:
    assert "wall_s_per_item" not in cost_summary(ROWS)
    timed = cost_summary(ROWS.assign(wall_s=[1.0, 3.0, 5.0, np.nan])).set_index("method")
    assert timed["wall_s_per_item"].to_dict() == {"few_shot": 2.0, "rci": 5.0}


def test_the_pareto_front_by_hand() -> None:
    """(1, .5) and (3, .9) stand; (2, .5) costs more for nothing; (3, .8) is beaten at its price; NaN is nowhere."""
    assert pareto_front([1, 2, 3, 3, np.nan], [0.5, 0.5, 0.9, 0.8, 1.0]).tolist() == [True, False, True, False, False]


def test_golden_is_shown_and_never_on_the_front() -> None:
    table = cost_accuracy(simulated(30)).set_index("method")
    assert not table.loc["golden", "on_front"]
    others = table.drop(index="golden")
    assert others["on_front"].tolist() == pareto_front(others["cost"], others["accuracy"]).tolist()
    assert others["on_front"].any()


def test_no_rows_have_no_cost_and_the_usual_columns() -> None:
    some, nothing = simulated(4), simulated(4).iloc[:0]
    for measure in (cost_summary, cost_accuracy):
        assert measure(nothing).empty
        assert list(measure(nothing)) == list(measure(some))
