"""What sliders show is what the plain functions compute: at any τ, over any strata."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.lib.comparison import compare
from srdcr_lab.lib.gating import Gating, decision_flow
from srdcr_lab.lib.paper_tables import table_1, table_2
from tests.redecide import redecide
from tests.simulated import simulated

RECORDS = simulated(80, ("acvd", "symmetric"))
ONE = RECORDS[RECORDS["design"].isna() | (RECORDS["design"] == "acvd")]


@pytest.mark.parametrize("tau", [0.0, 0.5, 0.9, 1.0])
def test_live_tables_are_the_tables_of_the_redecided_records(tau: float) -> None:
    slow = redecide(RECORDS, tau=tau)
    one, two = Gating.from_records(RECORDS, None).tables(tau)
    assert one.markdown() == table_1(slow).markdown()
    assert two.markdown() == table_2(slow).markdown()


def test_live_tables_of_a_run_without_the_gate() -> None:
    one, _ = Gating.from_records(RECORDS, None, gate=False).tables(0.95)
    assert one.markdown() == table_1(redecide(RECORDS, tau=0.95, gate=False)).markdown()
    assert one.markdown() != table_1(redecide(RECORDS, tau=0.95)).markdown()


def test_live_tables_over_some_offsets() -> None:
    some = RECORDS["perturbation_value"].isna() | RECORDS["perturbation_value"].abs().isin([20, 200])
    one, two = Gating.from_records(RECORDS, None).tables(0.7, strata=["offset 20", "offset 200"])
    slow = redecide(RECORDS[some], tau=0.7)
    assert one.markdown() == table_1(slow).markdown()
    assert two.markdown() == table_2(slow).markdown()


@pytest.mark.parametrize("tau", [0.3, 0.9])
def test_the_live_flow_is_that_of_the_redecided_records(tau: float) -> None:
    live = Gating.from_records(ONE, None).flow(tau)
    pd.testing.assert_frame_equal(live, decision_flow(redecide(ONE, tau=tau)))


def test_the_flow_of_one_design_among_several() -> None:
    live = Gating.from_records(RECORDS, None).flow(0.5, row="SR-DCR (Symmetric)")
    other = RECORDS[RECORDS["design"] == "symmetric"]
    pd.testing.assert_frame_equal(live, decision_flow(redecide(other, tau=0.5)))


def test_the_live_difference_and_its_interval_are_those_of_a_comparison() -> None:
    """A 9: the slider and the table beside it say the same."""
    value, low, high = Gating.from_records(ONE, None).difference("SR-DCR", "Few-Shot", 0.6)
    slow = compare(redecide(ONE, tau=0.6), "sr_dcr", "few_shot")
    assert value == pytest.approx(slow.difference)
    assert (low, high) == pytest.approx((slow.low, slow.high))


def test_a_difference_with_a_row_that_is_not_there_is_missing() -> None:
    assert np.isnan(Gating.from_records(ONE, None).difference("SR-DCR", "CFMAD", 0.9)).all()


# -- the flow by hand ------------------------------------------------------------------------------------------------


def item(prior: bool | None, context: bool | None, verdict: str | None, confidence: float, correct: bool | None,
         missing: str | None = None, level: str = "subtle") -> dict[str, object]:  # fmt: skip
    return {"method": "sr_dcr", "prior_correct": prior, "context_correct": context, "verdict": verdict, "level": level,
            "self_confidence": confidence, "tau": 0.9, "correct": correct, "missing": missing}  # fmt: skip


def flow(*items: dict[str, object]) -> list[list[object]]:
    frame = pd.DataFrame(items)
    nullable = dict.fromkeys(("prior_correct", "context_correct", "correct"), "boolean")
    return decision_flow(frame.astype(nullable)).to_numpy().tolist()


def test_every_way_through_the_decision_is_counted() -> None:
    found = flow(
        item(True, False, "UNREASONABLE", 0.95, True),
        item(True, False, "UNREASONABLE", 0.95, True),
        item(True, False, "UNREASONABLE", 0.5, None, "abstained"),
        item(None, True, "REASONABLE", float("nan"), True, level="standard"),
        item(False, False, None, 0.5, None, "error"),
    )
    assert found == [
        ["standard", "passage only", "REASONABLE", "Conf < τ", "right", 1],
        ["perturbed", "prior only", "UNREASONABLE", "Conf ≥ τ", "right", 2],
        ["perturbed", "prior only", "UNREASONABLE", "Conf < τ", "abstained", 1],
        ["perturbed", "neither right", "no debate", "Conf < τ", "error", 1],
    ]


def test_no_item_is_lost_on_the_way() -> None:
    assert decision_flow(ONE)["n"].sum() == (ONE["method"] == "sr_dcr").sum()
    assert decision_flow(ONE[ONE["method"] == "few_shot"]).empty
