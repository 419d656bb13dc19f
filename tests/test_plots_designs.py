"""Figures of notebooks 03 and 04 that compare biases, designs and factors: what is drawn is what the tables hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")
from matplotlib import pyplot as plt

from srdcr_lab.measures import biases, factor_effects
from srdcr_lab.measures.cost import economy_prices
from srdcr_lab.plots import BiasDisplay, EffectsDisplay, RatesDisplay
from srdcr_lab.plots.verdicts import sentences
from srdcr_lab.protocols import DESIGNS
from tests.simulated import simulated


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    return simulated(40, ("acvd", "symmetric"))


def _drawn(ax: plt.Axes, axis: int) -> list[float]:
    lines = [container.lines[0] for container in ax.containers]
    return sorted(float(value) for line in lines for value in line.get_data()[axis])


def test_bias_points_stand_at_the_shares_with_all_items_last(records: pd.DataFrame) -> None:
    display = BiasDisplay.from_records(records)
    ax = display.plot()
    assert _drawn(ax, 1) == pytest.approx(sorted(display.table["share"].dropna()))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["years", "records", "all"]
    alone = biases(records[records["method"] == "few_shot"]).set_index("bias")["share"]
    whole = display.table[display.table["domain"] == "all"].set_index("bias")["share"]
    assert whole.to_dict() == alone.to_dict()


def test_a_bias_that_nobody_can_have_has_no_point(records: pd.DataFrame) -> None:
    knows_nothing = records.assign(prior_correct=pd.array([False] * len(records), "boolean"))
    ax = BiasDisplay.from_records(knows_nothing).plot()
    context, _ = ax.containers
    assert len(context.lines[0].get_xdata()) == 0


def test_rates_of_each_design_and_their_mean(records: pd.DataFrame) -> None:
    display = RatesDisplay.from_records(records[records["method"] == "sr_dcr"])
    ax = display.plot()
    assert _drawn(ax, 0) == pytest.approx(sorted(display.table["share"]))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["acvd", "symmetric"]
    means = ax.collections[0].get_offsets()[:, 0]
    assert np.asarray(means) == pytest.approx(display.table.groupby("design", sort=False)["share"].mean().to_numpy())


def test_factors_are_named_by_their_levels(records: pd.DataFrame) -> None:
    designs = {name: asdict(DESIGNS[name]) for name in ("acvd", "symmetric")}
    display = EffectsDisplay.from_factors(factor_effects(records, designs))
    ax = display.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["critic sees: always − never"]
    assert _drawn(ax, 0) == pytest.approx([display.table["difference"].iloc[0]])
    assert [text.get_text()[:2] for text in ax.texts] == ["p "]


def test_economies_say_what_they_save(records: pd.DataFrame) -> None:
    half = records.assign(calls_alone=np.where(records["design"] == "symmetric", 10, 20))
    prices = EffectsDisplay.from_prices(economy_prices(half))
    assert list(prices.table["name"]) == ["symmetric\nsaves 50% of the calls"]
    dear = EffectsDisplay.from_prices(economy_prices(half, "symmetric"))
    assert list(dear.table["name"]) == ["acvd\ntakes 100% more calls"]


def test_a_point_is_filled_where_its_interval_leaves_out_zero() -> None:
    rows = pd.DataFrame({"difference": [0.2, 0.2], "low": [0.1, -0.1], "high": [0.3, 0.5], "name": ["sure", "unsure"]})
    fills = [container.lines[0].get_markerfacecolor() for container in EffectsDisplay(rows).plot().containers]
    assert fills == ["#0173b2", "white"]


def test_sentences_say_plainly_more_less_or_nothing() -> None:
    rows = pd.DataFrame(
        {"difference": [0.2, -0.2, 0.1, np.nan], "low": [0.1, -0.3, -0.1, np.nan], "high": [0.3, -0.1, 0.3, np.nan]}
    ).assign(n=[10, 10, 10, 0])
    said = sentences(rows, ["a", "b", "c", "d"])
    assert said[0] == "a: higher, +0.200 [+0.100, +0.300], n = 10"
    assert said[1].startswith("b: lower")
    assert said[2].startswith("c: no difference that these items show")
    assert said[3] == "d: nothing can be said (n = 0)"
