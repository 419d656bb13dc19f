"""Figures of preferences, verdicts, flow and cost draw what their tables hold, and nothing overlaps or is lost."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from srdcr_lab.measures import compare_all, cost_accuracy
from srdcr_lab.plots import (
    ContextPreferenceDisplay,
    CostDisplay,
    DecisionFlowDisplay,
    DifferencesDisplay,
    PriorPreferenceByRoundDisplay,
    VerdictDisplay,
)
from srdcr_lab.plots.drawers import apart
from srdcr_lab.plots.flow import GAP, layout
from tests.simulated import simulated

BOTH = simulated(40, ("acvd", "symmetric"))
ONE = BOTH[BOTH["design"].isna() | (BOTH["design"] == "acvd")]


@pytest.fixture(autouse=True)
def _close_figures() -> object:
    yield
    plt.close("all")


def drawn(ax: Axes) -> list[float]:
    """Heights of all points with error bars."""
    return sorted(float(y) for container in ax.containers for y in np.atleast_1d(container.lines[0].get_ydata()))


def tick_labels(ax: Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_xticklabels()]


def no_text_overlaps(ax: Axes) -> bool:
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text()]  # without the lines to the points
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


# -- preferences -----------------------------------------------------------------------------------------------------


def test_context_preference_points_are_the_tables() -> None:
    display = ContextPreferenceDisplay.from_records(ONE)
    rows = display.table[~display.table["prior_is_claim"] & (display.table["n"] > 0)]
    ax = display.plot()
    assert drawn(ax) == pytest.approx(sorted(rows["share"]))
    assert tick_labels(ax) == ["20", "40", "60", "100", "200"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("context preference", "offset of the claim in years, either sign")


def test_the_legend_counts_the_items_of_each_category() -> None:
    display = ContextPreferenceDisplay.from_records(ONE)
    n = display.table[~display.table["prior_is_claim"]].groupby("knowledge_category")["n"].sum()
    labels = [text.get_text() for text in display.plot().get_legend().get_texts()]
    assert f"Highly-Known (n = {n['HIGHLY_KNOWN']})" in labels
    assert len(labels) == (n > 0).sum()


def test_signed_offsets_stand_in_order_and_future_claims_apart() -> None:
    ax = ContextPreferenceDisplay.from_records(ONE, "offset").plot()
    assert tick_labels(ax) == ["−200", "−100", "−60", "−40", "−20", "+20", "+40", "+60", "+100", "+200"]
    assert any("claim after 2026" in text.get_text() for text in ax.get_legend().get_texts())


def test_context_preference_by_domain() -> None:
    ax = ContextPreferenceDisplay.from_records(ONE, "domain").plot()
    assert tick_labels(ax) == ["years", "records"]
    assert ax.get_xlabel() == "domain"


def test_kinds_of_perturbation_are_not_joined() -> None:
    other = ONE["question_id"].isin(["q0", "q10", "q20", "q1", "q11"]) & (ONE["level"] != "standard")
    records = ONE.assign(perturbation_kind=ONE["perturbation_kind"].where(~other, "factor"))
    records["perturbation_value"] = records["perturbation_value"].where(~other, 3.0)
    ax = ContextPreferenceDisplay.from_records(records).plot()
    assert tick_labels(ax)[-1].startswith("factor\n")
    assert ax.get_xlabel() == "how far off the claim is"
    before = len(tick_labels(ax)) - sum(label.startswith("factor") for label in tick_labels(ax)) - 0.5
    lines = [line.get_xdata() for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 1]
    assert lines
    assert not any(min(x) < before < max(x) for x in lines)


def test_prior_preference_has_a_line_for_every_stratum_and_the_rounds_as_ticks() -> None:
    display = PriorPreferenceByRoundDisplay.from_records(ONE)
    ax = display.plot()
    assert tick_labels(ax) == ["1", "3", "5"]
    assert len(ax.containers) == 5
    assert drawn(ax) == pytest.approx(sorted(display.table["share"].dropna()))


def test_prior_preference_of_a_design_has_every_round() -> None:
    assert tick_labels(PriorPreferenceByRoundDisplay.from_records(BOTH, "symmetric").plot()) == list("012345")


def test_a_debate_that_was_not_held_says_so() -> None:
    ax = PriorPreferenceByRoundDisplay.from_records(ONE[ONE["method"] == "few_shot"]).plot()
    assert ax.texts[0].get_text() == "no such debate in these records"


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_both_rates_of_every_design_are_drawn_round_by_round() -> None:
    display = VerdictDisplay.from_records(BOTH)
    ax = display.plot()
    labels = [text.get_text().split(" (")[0] for text in ax.get_legend().get_texts()]
    assert labels == [
        f"{design}: {rate}" for design in ("acvd", "symmetric") for rate in ("verdict_tpr", "verdict_tnr")
    ]
    assert drawn(ax) == pytest.approx(sorted(display.by_round["share"]))


def test_r_star_bars_are_the_shares_and_sum_to_one_per_design() -> None:
    ax = VerdictDisplay.from_records(BOTH).plot_r_star()
    heights = [bar.get_height() for bar in ax.patches]
    assert sum(heights) == pytest.approx(2)
    assert tick_labels(ax) == ["0", "1", "2", "3", "4", "5", "none"]
    assert "5: not stabilised" in ax.get_xlabel()


def test_records_without_verdicts_say_so() -> None:
    display = VerdictDisplay.from_records(ONE[ONE["method"] == "few_shot"])
    for ax in (display.plot(), display.plot_r_star()):
        assert "no debate with verdicts" in ax.texts[0].get_text()


# -- flow ------------------------------------------------------------------------------------------------------------


def test_bars_are_as_tall_as_their_items_are_many() -> None:
    table = DecisionFlowDisplay.from_records(ONE).table
    part = table[table["condition"] == "perturbed"]
    bars, _ = layout(part)
    for stage, name in enumerate(("answers", "verdict", "confidence", "ending")):
        here = {bar.value: bar for bar in bars if bar.stage == stage}
        assert {value: bar.n for value, bar in here.items()} == part.groupby(name)["n"].sum().to_dict()
    units = [(bar.top - bar.bottom) / bar.n for bar in bars]
    assert units == pytest.approx([units[0]] * len(units))


def test_bars_of_a_stage_do_not_meet_and_ribbons_carry_every_item() -> None:
    table = DecisionFlowDisplay.from_records(ONE).table
    bars, ribbons = layout(table[table["condition"] == "standard"])
    for stage in range(4):
        here = sorted((bar.bottom, bar.top) for bar in bars if bar.stage == stage)
        assert all(after[0] - before[1] >= GAP - 1e-9 for before, after in pairwise(here))
    n = sum(bar.n for bar in bars if bar.stage == 0)
    for left in {ribbon.x0 for ribbon in ribbons}:
        assert sum(ribbon.n for ribbon in ribbons if ribbon.x0 == left) == n


def test_every_ribbon_begins_and_ends_inside_a_bar() -> None:
    table = DecisionFlowDisplay.from_records(ONE).table
    bars, ribbons = layout(table[table["condition"] == "perturbed"])
    for ribbon in ribbons:
        for y in (ribbon.y0, ribbon.y1):
            assert any(bar.bottom - 1e-9 <= y - ribbon.height and y <= bar.top + 1e-9 for bar in bars)


@pytest.mark.parametrize("condition", ["standard", "perturbed"])
def test_the_drawn_flow_has_a_rectangle_a_bar_and_labels_apart(condition: str) -> None:
    display = DecisionFlowDisplay.from_records(ONE)
    ax = display.plot(condition=condition)
    bars, _ = layout(display.table[display.table["condition"] == condition])
    assert sum(isinstance(patch, Rectangle) for patch in ax.patches) == len(bars)
    assert no_text_overlaps(ax)


def test_the_svg_is_well_formed_and_has_the_same_shapes() -> None:
    display = DecisionFlowDisplay.from_records(ONE)
    bars, ribbons = layout(display.table[display.table["condition"] == "perturbed"])
    root = ElementTree.fromstring(display.svg())  # noqa: S314 (our own)
    name = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{name}rect")) == len(bars)
    assert len(root.findall(f"{name}path")) == len(ribbons)


def test_a_flow_of_nothing_is_empty() -> None:
    display = DecisionFlowDisplay.from_records(ONE[ONE["method"] == "few_shot"])
    assert layout(display.table) == ([], [])
    assert not display.plot().patches
    assert ElementTree.fromstring(display.svg()).find("path") is None  # noqa: S314


# -- cost, differences -----------------------------------------------------------------------------------------------


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


def test_differences_are_filled_where_holm_says_so() -> None:
    rows = [("overall", "few_shot", 0.1, 0.02), ("overall", "rci", -0.05, 0.4), ("standard", "rci", 0.3, 0.01)]
    table = pd.DataFrame(rows, columns=["condition", "b", "difference", "p_holm"])
    table = table.assign(a="sr_dcr", n=40, low=table["difference"] - 0.04, high=table["difference"] + 0.04)
    ax = DifferencesDisplay(table).plot()
    assert [container.lines[0].get_xdata()[0] for container in ax.containers] == [0.1, -0.05]
    assert [container.lines[0].get_markerfacecolor() for container in ax.containers] == ["#0173b2", "white"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Few-Shot", "RCI"]


def test_differences_of_records_are_their_comparisons() -> None:
    ran = ONE[ONE["method"].isin(["sr_dcr", "rci"])]
    table = DifferencesDisplay.from_records(ran).table
    assert table["difference"].tolist() == compare_all(ran)["difference"].tolist()


@pytest.mark.filterwarnings("error")
def test_differences_of_one_method_alone_are_an_empty_figure() -> None:
    display = DifferencesDisplay.from_records(ONE[ONE["method"] == "sr_dcr"])
    ax = display.plot()
    assert display.table.empty
    assert not ax.containers
    assert ax.get_xlabel() == "overall difference: nothing to compare"


def test_each_plot_draws_on_the_axes_it_is_given() -> None:
    _, ax = plt.subplots()
    ran = ONE[ONE["method"].isin(["sr_dcr", "few_shot", "judge_debate_1"])]
    displays = (ContextPreferenceDisplay, PriorPreferenceByRoundDisplay, VerdictDisplay, DecisionFlowDisplay)
    assert all(display.from_records(ran).plot(ax) is ax for display in displays)
    assert CostDisplay.from_records(ran).plot(ax) is ax


def test_labels_are_moved_apart_by_hand() -> None:
    assert apart([0.9, 0.88, 0.1], 0.1) == pytest.approx([0.9, 0.8, 0.1])
    assert apart([0.2, 0.1, 0.05], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([0.1, 0.09, 0.08], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([], 0.1) == []


def test_a_table_without_its_intervals_is_drawn_all_the_same() -> None:
    table = cost_accuracy(ONE, intervals=False)
    assert len(CostDisplay(table).plot().texts) == len(table)
