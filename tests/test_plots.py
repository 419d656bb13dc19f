"""Figures draw what their tables hold: positions, marks, labels, limits; and equal figures are equal files."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")
from matplotlib import pyplot as plt

from srdcr_lab.plots import AccuracyDisplay, OneQuestionDisplay, save_figure


@pytest.fixture(autouse=True)
def _close_figures() -> object:
    yield
    plt.close("all")


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
    drawn = sorted(float(container.lines[0].get_ydata()[0]) for container in ax.containers)
    assert drawn == pytest.approx(sorted(display.table["value"]))


def test_accuracy_intervals_are_those_of_the_table() -> None:
    ax = AccuracyDisplay.from_summary(summary().iloc[[3]]).plot()
    segments = [container.lines[2][0].get_segments()[0][:, 1] for container in ax.containers]
    assert np.sort(segments, axis=None) == pytest.approx([0.15, 0.35, 0.7, 0.98])


def test_accuracy_axis_is_a_share_and_its_ticks_carry_n() -> None:
    ax = AccuracyDisplay.from_summary(summary()).plot()
    assert ax.get_ylabel() == "share of items"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [
        "standard passages\n(n = 10)",
        "perturbed passages\n(n = 10)",
    ]
    assert ax.get_ylim()[0] <= 0 < 1 <= ax.get_ylim()[1]


def test_a_missing_accuracy_is_not_drawn() -> None:
    table = summary()
    table.loc[3, ["selective_accuracy", "selective_accuracy_low", "selective_accuracy_high"]] = np.nan
    assert len(AccuracyDisplay.from_summary(table).plot().containers) == 7


def test_a_plot_draws_on_the_axes_it_is_given() -> None:
    _, ax = plt.subplots()
    assert AccuracyDisplay.from_summary(summary()).plot(ax) is ax


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
