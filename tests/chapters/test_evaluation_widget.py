"""The controls of notebook 05: what they show is what the measures say, and names from outside are escaped."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from srdcr_lab.evaluation import Evaluation, evaluation_controls
from srdcr_lab.lib.paper_tables import table_1, table_2
from tests.redecide import redecide
from tests.simulated import simulated


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    return simulated(60)


@pytest.mark.parametrize("tau", [0.3, 0.9, 1.0])
def test_tables_are_those_of_records_decided_anew(records: pd.DataFrame, tau: float) -> None:
    html = Evaluation.from_records(records).html(tau)
    decided = redecide(records, tau=tau)
    assert table_1(decided).html() in html
    assert table_2(decided).html() in html


def test_categories_follow_their_thresholds(records: pd.DataFrame) -> None:
    false = records[(records["method"] == "sr_dcr") & (records["level"] != "standard")]
    highly = false[false["sampled_accuracy"] >= 0.5]
    html = Evaluation.from_records(records).html(0.9, 0.5, 0.3)
    (n, share) = re.search(r"<td>Highly-Known</td><td>(\d+)</td><td>([\d.]+)</td>", html).groups()  # type: ignore[union-attr]
    assert int(n) == len(highly)
    assert float(share) == pytest.approx(highly["correct"].fillna(False).mean(), abs=5e-4)


def test_offsets_narrow_the_false_passages(records: pd.DataFrame) -> None:
    html = Evaluation.from_records(records).html(offsets=("offset 20", "offset 200"))
    assert "Offset 20 " in html
    assert "Offset 40" not in html


def test_without_a_false_passage_there_is_nothing_to_compare(records: pd.DataFrame) -> None:
    assert "one of the two has no item of a kind" in Evaluation.from_records(records).html(offsets=())


def test_names_of_models_and_designs_are_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>"
    rows = simulated(30, ("acvd", evil), model=evil)
    view = Evaluation.from_records(rows)
    html = view.html(one=f"SR-DCR ({evil})", other="SR-DCR (acvd)")
    assert "<img" not in html
    assert "&lt;img" in html


def test_a_control_that_moves_redraws(records: pd.DataFrame) -> None:
    box = evaluation_controls(records, "who")
    tau, *_, other, offsets, shown, label = box.children
    before = shown.value
    tau.value = 0.2
    assert "at τ = 0.20" in shown.value != before
    other.value = "Golden Baseline"
    assert "SR-DCR less Golden Baseline" in shown.value
    offsets.value = ("offset 20",)
    assert "Offset 40" not in shown.value
    assert label.value == "who"
