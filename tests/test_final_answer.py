"""Utility of the final answers over costs and shares of false passages, and what a verdict is worth: by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.measures.evaluation import summary
from srdcr_lab.measures.final_answer import (
    changes_of_place,
    predictive_values,
    utility,
    utility_differences,
)
from srdcr_lab.plots import UtilityDisplay
from srdcr_lab.records import BadInput
from srdcr_lab.widgets import final_answer_controls
from tests.simulated import simulated
from tests.test_claims_checklist import answered, records

RECORDS = simulated(80)


def study() -> pd.DataFrame:
    """A: 3 of 4 true passages right, 1 wrong; of 4 false ones 1 right, 1 wrong, 2 missing. B: all true ones right, all
    false ones wrong."""
    of_a = {0: (True, True, True, False), 20: (True, False, None, None)}
    rows = [answered(q, offset, "a", of_a[offset][i]) for offset in of_a for i, q in enumerate("pqrs")]
    rows += [answered(q, offset, "b", offset == 0) for offset in (0, 20) for q in "pqrs"]
    return records(*rows)


@pytest.mark.parametrize(
    ("cost", "share", "a", "b"),
    [(0, 0.5, (3 / 4 + 1 / 4) / 2, 0.5), (1, 0.5, (2 / 4 + 0) / 2, 0.0), (2, 0.5, (1 / 4 - 1 / 4) / 2, -0.5),
     (1, 0, 2 / 4, 1.0), (1, 1, 0.0, -1.0)],
)  # fmt: skip
def test_utility_by_hand(cost: float, share: float, a: float, b: float) -> None:
    table = utility(study(), [cost], [share]).set_index("method")
    assert table["utility"].to_dict() == pytest.approx({"a": a, "b": b})
    assert table["n_answered"].to_dict() == {"a": 6, "b": 8}
    assert ((table["low"] <= table["utility"]) & (table["utility"] <= table["high"])).all()


def test_at_no_cost_and_equal_halves_utility_is_the_overall_accuracy() -> None:
    accuracy = summary(RECORDS, intervals=False).query("condition == 'overall'").set_index("method")["accuracy"]
    assert utility(RECORDS, [0]).set_index("method")["utility"].to_dict() == pytest.approx(accuracy.to_dict())


def test_two_methods_change_places_where_their_lines_cross() -> None:
    """At cost 1 A is .5 behind on true passages and 1 ahead on false ones: level where π = 1/3."""
    table = utility_differences(study(), "a", "b")
    assert table["difference"].tolist() == pytest.approx(list(np.linspace(-0.5, 1, 11)))
    assert table["changes_at"].unique().tolist() == pytest.approx([1 / 3])
    assert math.isnan(utility_differences(study(), "a", "a")["changes_at"][0])


def test_the_shares_at_which_two_methods_cannot_be_told_apart() -> None:
    """They hold the share at which the lines cross, and are those whose own interval of the difference contains 0."""
    table = changes_of_place(study(), [("a", "b"), ("a", "never run"), ("b", "b")])
    row = table.iloc[0]
    assert row["changes_at"] == pytest.approx(1 / 3)
    assert row["low"] <= 1 / 3 <= row["high"]
    line = utility_differences(study(), "a", "b", [1.0], [row["low"], row["high"]])
    assert ((line["low"] <= 0) & (line["high"] >= 0)).all()
    told = table["sentence"]
    assert len(told) == 2
    assert told[0].startswith("Utility of a less b at c = 1 (n = 8): -0.50 [")
    assert "they change places at 33%, and cannot be told apart between " in told[0]
    assert "they do not change places, and cannot be told apart between 0% and 100%." in told[1]


def test_a_clear_gap_is_never_level() -> None:
    rows = [
        answered(f"q{q}", offset, method, method == "a") for q in range(30) for offset in (0, 20) for method in "ab"
    ]
    table = changes_of_place(records(*rows), [("a", "b")])
    assert math.isnan(table["low"][0])
    assert table["sentence"][0].endswith("they do not change places, and differ at every share.")


def test_predictive_values_by_hand_and_by_bayes() -> None:
    table = predictive_values(RECORDS).set_index("false_share")
    ruled = RECORDS[RECORDS["method"] == "sr_dcr"]
    true = ruled["level"] == "standard"
    p = {(verdict, half): (ruled[true == half]["verdict"] == verdict).mean()
         for verdict in ("REASONABLE", "UNREASONABLE") for half in (True, False)}  # fmt: skip
    for share in (0.1, 0.5, 0.9):
        believed = p["REASONABLE", True] * (1 - share)
        doubted = p["UNREASONABLE", False] * share
        assert table.loc[share, "ppv"] == pytest.approx(believed / (believed + p["REASONABLE", False] * share))
        assert table.loc[share, "npv"] == pytest.approx(doubted / (doubted + p["UNREASONABLE", True] * (1 - share)))
    assert (table["ppv_low"] <= table["ppv"] + 1e-12).all()
    assert (table["ppv"] <= table["ppv_high"] + 1e-12).all()
    assert table.loc[[0.0, 1.0], "ppv"].tolist() == [1, 0], "every belief is right, then wrong"


@pytest.mark.parametrize(("over", "points"), [("cost", 17), ("false_share", 11)])
def test_the_figure_draws_a_line_a_method(over: str, points: int) -> None:
    display = UtilityDisplay.from_records(RECORDS, ("sr_dcr", "few_shot"), over=over)
    ax = display.plot()
    assert sorted(len(line.get_xdata()) for line in ax.lines) == [2, points, points]
    assert ax.get_legend_handles_labels()[1] == ["Few-Shot (n = 160)", "SR-DCR (n = 160)"]


def test_the_slider_says_what_the_table_says() -> None:
    box = final_answer_controls(RECORDS)
    cost, share, shown, _ = box.children
    cost.value, share.value = 2.0, 0.2
    best = utility(RECORDS, [2.0], [0.2]).sort_values("utility", ascending=False, kind="stable").iloc[0]
    first = shown.value.split("<tbody>")[1].split("</tr>")[0]
    assert f"{best['utility']:.2f} [{best['low']:.2f}, {best['high']:.2f}]" in first


def test_a_half_that_was_not_run_has_no_utility_but_by_itself() -> None:
    true = study().query("level == 'standard'")
    assert utility(true, [1], [0.5])["utility"].isna().all()
    assert utility(true, [1], [0.0])["utility"].notna().all()


@pytest.mark.parametrize(("costs", "shares"), [([-1], [0.5]), ([math.nan], [0.5]), ([1], [1.5]), ([1], [math.nan])])
def test_impossible_costs_and_shares_are_a_sentence(costs: list[float], shares: list[float]) -> None:
    with pytest.raises(BadInput, match="got"):
        utility(study(), costs, shares)
