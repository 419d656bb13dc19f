"""Figures of verdicts and of the decision flow draw what their tables hold, and nothing overlaps or is lost."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from srdcr_lab.debates import RatesDisplay, VerdictDisplay
from srdcr_lab.decision_flow import GAP, DecisionFlowDisplay, layout
from tests.figures import drawn, legend_labels, no_text_overlaps, tick_labels
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

BOTH = simulated(40, ("acvd", "symmetric"))
ONE = BOTH[BOTH["design"].isna() | (BOTH["design"] == "acvd")]


# -- verdicts ---------------------------------------------------------------------------------------------------------


def test_both_rates_of_every_design_are_drawn_round_by_round() -> None:
    display = VerdictDisplay.from_records(BOTH)
    ax = display.plot()
    labels = [label.split(" (")[0] for label in legend_labels(ax)]
    assert labels == [
        f"{design}: {rate}" for design in ("ACVD", "Symmetric") for rate in ("verdict_tpr", "verdict_tnr")
    ]
    assert drawn(ax) == pytest.approx(sorted(display.by_round["share"]))


def test_r_star_bars_are_the_shares_and_sum_to_one_per_design() -> None:
    ax = VerdictDisplay.from_records(BOTH).plot_r_star()
    heights = [bar.get_height() for bar in ax.patches]
    assert sum(heights) == pytest.approx(2)
    assert tick_labels(ax) == ["0", "1", "2", "3", "4", "5", "none"]
    assert "5: not stabilised" in ax.get_xlabel()


def test_records_without_verdicts_say_so() -> None:
    few_shot = ONE[ONE["method"] == "few_shot"]
    display = VerdictDisplay.from_records(few_shot)
    for ax in (display.plot(), display.plot_r_star(), RatesDisplay.from_records(few_shot).plot()):
        assert "no debate with verdicts" in ax.texts[0].get_text()


def test_rates_of_each_design_and_their_mean() -> None:
    display = RatesDisplay.from_records(BOTH[BOTH["method"] == "sr_dcr"])
    ax = display.plot()
    assert drawn(ax, 0) == pytest.approx(sorted(display.table["share"]))
    assert tick_labels(ax, "y") == ["ACVD", "Symmetric"]
    means = ax.collections[0].get_offsets()[:, 0]
    assert np.asarray(means) == pytest.approx(display.table.groupby("design", sort=False)["share"].mean().to_numpy())


# -- flow -------------------------------------------------------------------------------------------------------------


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
