"""Drawers, and figures of methods: what is drawn is what the tables hold; equal figures are equal files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from srdcr_lab.measures import compare_all, cost_accuracy, factor_effects
from srdcr_lab.measures.evaluation import economy_prices
from srdcr_lab.plots import (
    AccuracyDisplay,
    ContextPreferenceDisplay,
    CostDisplay,
    DecisionFlowDisplay,
    DifferencesDisplay,
    EffectsDisplay,
    OneQuestionDisplay,
    PriorPreferenceByRoundDisplay,
    VerdictDisplay,
    save_figure,
)
from srdcr_lab.plots.drawers import apart, distances, finish, points
from srdcr_lab.protocols import DESIGNS
from tests.figures import drawn, legend_labels, no_text_overlaps, tick_labels
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

LABEL = "pocket: a model organism, no evidence about any large model"
BOTH = simulated(40, ("acvd", "symmetric"))
ONE = BOTH[BOTH["design"].isna() | (BOTH["design"] == "acvd")]


# -- drawers ----------------------------------------------------------------------------------------------------------


def test_an_interval_end_on_the_wrong_side_is_at_the_value() -> None:
    rows = pd.DataFrame({"share": [0.5, 0.5, np.nan], "low": [0.4, 0.6, np.nan], "high": [0.7, 0.8, np.nan]})
    below, above = distances(rows)
    assert below == pytest.approx([0.1, 0, np.nan], nan_ok=True)
    assert above == pytest.approx([0.2, 0.3, np.nan], nan_ok=True)
    own = rows.rename(columns={"low": "share_low", "high": "share_high"}).assign(low=0.0, high=1.0)
    assert distances(own) == pytest.approx(distances(rows), nan_ok=True)


@pytest.mark.parametrize("across", [False, True])
def test_series_lie_side_by_side_in_the_order_of_their_looks(across: bool) -> None:
    rows = pd.DataFrame(
        {"who": ["a", "b", "a", "b"], "share": [0.1, 0.2, 0.3, np.nan], "low": 0.0, "high": 1.0, "n": [3, 5, 4, 0]}
    )
    _, ax = plt.subplots()
    looks = {"b": {"label": "B"}, "a": {"label": "A"}, "c": {"label": "C"}}
    parts = points(ax, [0, 0, 1, 1], rows, "who", looks, step=0.2, n="max", across=across)
    assert {name: part["at"].tolist() for name, part in parts.items()} == {"b": [-0.2], "a": [0, 1], "c": []}
    assert drawn(ax, int(across)) == pytest.approx([-0.2, 0, 1])
    assert drawn(ax, 1 - across) == pytest.approx([0.1, 0.2, 0.3])
    assert legend_labels(finish(ax, {})) == ["B (n = 5)", "A (n = 4)", "C (n = 0)"]


def test_labels_are_moved_apart_by_hand() -> None:
    assert apart([0.9, 0.88, 0.1], 0.1) == pytest.approx([0.9, 0.8, 0.1])
    assert apart([0.2, 0.1, 0.05], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([0.1, 0.09, 0.08], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([], 0.1) == []


# -- accuracy ---------------------------------------------------------------------------------------------------------


def summary() -> pd.DataFrame:
    """Two methods on true and on false passages; the second abstains on half of the false ones."""
    rows = [
        ("few_shot", "standard", 10, 1.0, 1.0, 0.78, 1.0, 1.0, 0.78, 1.0),
        ("few_shot", "perturbed", 10, 1.0, 0.2, 0.05, 0.5, 0.2, 0.05, 0.5),
        ("sr_dcr", "standard", 10, 0.9, 0.9, 0.6, 0.99, 1.0, 0.75, 1.0),
        ("sr_dcr", "perturbed", 10, 0.5, 0.4, 0.15, 0.7, 0.8, 0.35, 0.98),
    ]
    ends = ("", "_low", "_high")
    columns = ["method", "condition", "n", "coverage"]
    columns += [measure + end for measure in ("accuracy", "selective_accuracy") for end in ends]
    return pd.DataFrame(rows, columns=columns)


def test_accuracy_points_stand_at_the_values_of_the_table() -> None:
    display = AccuracyDisplay.from_summary(summary())
    ax = display.plot()
    assert drawn(ax) == pytest.approx(sorted(display.table["value"]))


def test_accuracy_intervals_are_those_of_the_table() -> None:
    ax = AccuracyDisplay.from_summary(summary().iloc[[3]]).plot()
    segments = [container.lines[2][0].get_segments()[0][:, 1] for container in ax.containers]
    assert np.sort(segments, axis=None) == pytest.approx([0.15, 0.35, 0.7, 0.98])


def test_accuracy_axis_is_a_share_and_its_ticks_carry_n() -> None:
    ax = AccuracyDisplay.from_summary(summary()).plot()
    assert ax.get_ylabel() == "share of items"
    assert tick_labels(ax) == [
        "standard passages\n(n = 10)",
        "perturbed passages\n(n = 10)",
    ]
    assert ax.get_ylim()[0] <= 0 < 1 <= ax.get_ylim()[1]


def test_a_missing_accuracy_is_not_drawn() -> None:
    table = summary()
    table.loc[3, ["selective_accuracy", "selective_accuracy_low", "selective_accuracy_high"]] = np.nan
    assert len(drawn(AccuracyDisplay.from_summary(table).plot())) == 7


def test_the_legend_of_accuracies_is_sorted_and_open_points_leave_out_what_is_missing() -> None:
    ax = AccuracyDisplay.from_summary(summary()).plot()
    labels = legend_labels(ax)
    assert labels == sorted(labels)
    assert labels[-1] == "sr_dcr, selective accuracy"
    faces = {str(container.get_label()): container.lines[0].get_markerfacecolor() for container in ax.containers}
    assert [name for name, face in faces.items() if face == "white"] == [name for name in faces if "selective" in name]


# -- differences ------------------------------------------------------------------------------------------------------


def test_differences_are_filled_where_holm_says_so() -> None:
    rows = [("overall", "few_shot", 0.1, 0.02), ("overall", "rci", -0.05, 0.4), ("standard", "rci", 0.3, 0.01)]
    table = pd.DataFrame(rows, columns=["condition", "b", "difference", "p_holm"])
    table = table.assign(a="sr_dcr", n=40, low=table["difference"] - 0.04, high=table["difference"] + 0.04)
    ax = DifferencesDisplay(table).plot()
    assert drawn(ax, 0) == [-0.05, 0.1]
    assert [container.lines[0].get_markerfacecolor() for container in ax.containers] == ["#0173b2", "white"]
    assert tick_labels(ax, "y") == ["Few-Shot", "RCI"]


def test_differences_of_records_are_their_comparisons() -> None:
    ran = ONE[ONE["method"].isin(["sr_dcr", "rci"])]
    table = DifferencesDisplay.from_records(ran).table
    assert table["difference"].tolist() == compare_all(ran)["difference"].tolist()


@pytest.mark.filterwarnings("error")
def test_differences_of_one_method_alone_are_an_empty_figure() -> None:
    display = DifferencesDisplay.from_records(ONE[ONE["method"] == "sr_dcr"])
    ax = display.plot()
    assert display.table.empty
    assert not drawn(ax)
    assert ax.get_xlabel() == "overall difference: nothing to compare"


def test_factors_are_named_by_their_levels() -> None:
    designs = {name: asdict(DESIGNS[name]) for name in ("acvd", "symmetric")}
    display = EffectsDisplay.from_factors(factor_effects(BOTH, designs))
    ax = display.plot()
    assert tick_labels(ax, "y") == ["critic sees: always − never"]
    assert drawn(ax, 0) == pytest.approx([display.table["difference"].iloc[0]])
    assert [text.get_text()[:2] for text in ax.texts] == ["p "]


def test_economies_say_what_they_save() -> None:
    half = BOTH.assign(calls_alone=np.where(BOTH["design"] == "symmetric", 10, 20))
    prices = EffectsDisplay.from_prices(economy_prices(half))
    assert list(prices.table["name"]) == ["symmetric\nsaves 50% of the calls"]
    dear = EffectsDisplay.from_prices(economy_prices(half, "symmetric"))
    assert list(dear.table["name"]) == ["acvd\ntakes 100% more calls"]


def test_a_point_is_filled_where_its_interval_leaves_out_zero() -> None:
    rows = pd.DataFrame({"difference": [0.2, 0.2], "low": [0.1, -0.1], "high": [0.3, 0.5], "name": ["sure", "unsure"]})
    fills = [container.lines[0].get_markerfacecolor() for container in EffectsDisplay(rows).plot().containers]
    assert fills == ["#0173b2", "white"]


# -- cost -------------------------------------------------------------------------------------------------------------


def test_cost_points_names_and_front() -> None:
    display = CostDisplay.from_records(BOTH)
    ax = display.plot()
    assert drawn(ax) == pytest.approx(sorted(display.table["accuracy"]))
    assert {text.get_text() for text in ax.texts} >= {
        "Few-Shot",
        "SR-DCR (symmetric)",
        "Golden Baseline, told the truth",
    }
    front = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    assert sorted(front.get_ydata()) == sorted(display.table.loc[display.table["on_front"], "accuracy"])
    assert ax.get_xlabel() == "tokens per item"
    assert no_text_overlaps(ax)


def test_a_table_without_its_intervals_is_drawn_all_the_same() -> None:
    table = cost_accuracy(ONE)
    assert len(CostDisplay(table).plot().texts) == len(table)


# -- one question -----------------------------------------------------------------------------------------------------


def records() -> pd.DataFrame:
    rows = [
        ("q@-20", -20.0, "1854", "1854", "USE_PRIOR", "1874", True, None),
        ("q", np.nan, "1874", "1874", "USE_CONTEXT", "1874", True, None),
        ("q@+200", 200.0, "2074", "1874", "ABSTAIN", None, None, "abstained"),
    ]
    columns = ["item_id", "perturbation_value", "claimed_answer", "context_answer", "decision", "final_answer"]
    table = pd.DataFrame(rows, columns=[*columns, "correct", "missing"])
    fixed = {"question_id": "q", "method": "sr_dcr", "question": "When?", "gold_answer": "1874", "prior_answer": "1874"}
    return table.assign(**fixed, verdict_path="UUUUUU", self_confidence=0.95, confidence_kind="mean_logprob", tau=0.9)


def test_one_question_holds_its_forms_by_offset() -> None:
    table = OneQuestionDisplay.from_records(records(), "q").table
    assert list(table["offset"]) == [-20, 0, 200]


def test_one_question_marks_answers_and_abstentions() -> None:
    ax = OneQuestionDisplay.from_records(records(), "q").plot()
    marks = {points.get_label().split(" (")[0]: points.get_offsets().tolist() for points in ax.collections}
    assert marks["SR-DCR: USE_PRIOR"] == [[1854, 1874]]
    assert marks["SR-DCR: USE_CONTEXT"] == [[1874, 1874]]
    assert marks["SR-DCR: ABSTAIN"] == [[2074, 1854]]  # no answer: at the bottom, as the legend says
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("year the passage claims", "year answered")


# -- any figure -------------------------------------------------------------------------------------------------------


def test_each_plot_draws_on_the_axes_it_is_given() -> None:
    _, ax = plt.subplots()
    ran = ONE[ONE["method"].isin(["sr_dcr", "few_shot", "judge_debate_1"])]
    displays = (
        ContextPreferenceDisplay,
        PriorPreferenceByRoundDisplay,
        VerdictDisplay,
        DecisionFlowDisplay,
        CostDisplay,
    )
    assert all(display.from_records(ran).plot(ax) is ax for display in displays)
    assert AccuracyDisplay.from_summary(summary()).plot(ax) is ax


def test_a_figure_is_kept_three_ways(tmp_path: Path) -> None:
    display = AccuracyDisplay.from_summary(summary())
    display.plot()
    names = [path.name for path in save_figure(plt.gcf(), display.table, tmp_path / "new", "one")]
    assert names == ["one.png", "one.svg", "one.csv"]
    assert len(pd.read_csv(tmp_path / "new" / "one.csv")) == len(display.table)


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        display = AccuracyDisplay.from_summary(summary())
        display.plot()
        save_figure(plt.gcf(), display.table, tmp_path / folder, "one")
    for kind in ("png", "svg", "csv"):
        assert (tmp_path / "a" / f"one.{kind}").read_bytes() == (tmp_path / "b" / f"one.{kind}").read_bytes()


def test_the_label_stands_under_the_figure_and_in_the_table(tmp_path: Path) -> None:
    display = AccuracyDisplay.from_summary(summary())
    figure = display.plot().figure
    save_figure(figure, display.table, tmp_path, "one", label=LABEL)
    (text,) = figure.texts
    assert text.get_text() == LABEL
    assert text.get_window_extent().y1 < min(ax.get_tightbbox().y0 for ax in figure.axes)
    assert LABEL in (tmp_path / "one.svg").read_text("utf-8")
    table = pd.read_csv(tmp_path / "one.csv")
    assert table.columns[0] == "label"
    assert set(table["label"]) == {LABEL}
