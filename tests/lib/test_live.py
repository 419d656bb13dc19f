"""The flow of decisions by hand."""

from __future__ import annotations

import pandas as pd

from srdcr_lab.lib.gating import decision_flow
from tests.simulated import simulated

RECORDS = simulated(80, ("acvd", "symmetric"))
ONE = RECORDS[RECORDS["design"].isna() | (RECORDS["design"] == "acvd")]


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
