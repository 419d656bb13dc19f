"""What economies save and cost, by hand on a grid of two designs, and on a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import Study
from srdcr_lab.data import ItemSet
from srdcr_lab.designs import economy_prices
from srdcr_lab.protocols import DESIGNS
from tests.scripted import SURE, UNREASONABLE, UNSURE, exemplars, finished, item, reader


def row(
    design: str, question: str, level: str, *, correct: bool | None, calls: int, verdict: str | None
) -> dict[str, Any]:
    return {
        "method": "sr_dcr", "model": "m", "design": design, "item_id": f"{question}-{level}", "question_id": question,
        "level": level, "correct": correct, "final_answer": None if correct is None else str(correct),
        "calls_alone": calls, "prompt_tokens": 100 * calls, "completion_tokens": 10 * calls, "verdict": verdict,
    }  # fmt: skip


def grid() -> pd.DataFrame:
    """Four items of two questions. The economy flips one verdict and its answer, and leaves one debate out."""
    full = [
        row("acvd", "q1", "standard", correct=True, calls=20, verdict="REASONABLE"),
        row("acvd", "q1", "subtle", correct=True, calls=20, verdict="UNREASONABLE"),
        row("acvd", "q2", "standard", correct=None, calls=20, verdict="UNREASONABLE"),
        row("acvd", "q2", "subtle", correct=False, calls=20, verdict="REASONABLE"),
    ]
    short = [
        row("short", "q1", "standard", correct=True, calls=5, verdict="REASONABLE"),
        row("short", "q1", "subtle", correct=False, calls=5, verdict="REASONABLE"),
        row("short", "q2", "standard", correct=True, calls=2, verdict=None),
        row("short", "q2", "subtle", correct=False, calls=8, verdict="REASONABLE"),
    ]
    return pd.DataFrame([*full, *short]).astype({"correct": "boolean"})


def test_the_price_of_an_economy_by_hand() -> None:
    table = economy_prices(grid()).set_index("condition")
    whole = table.loc["overall"]
    assert (whole["design"], whole["n"], whole["n_questions"]) == ("short", 4, 2)
    assert (whole["share_saved"], whole["answers_changed"]) == (1 - 20 / 80, 2)
    assert (whole["mean_b"], whole["mean_a"], whole["difference"]) == (0.5, 0.5, 0)
    assert (whole["only_a"], whole["only_b"]) == (1, 1)
    assert table.loc["standard", "difference"] == 0.5  # an abstention became a right answer
    assert table.loc["perturbed", "difference"] == -0.5
    assert whole["low"] <= 0 <= whole["high"]


def test_without_the_full_design_there_are_no_prices() -> None:
    assert economy_prices(grid().query("design != 'acvd'")).empty


@pytest.mark.parametrize(("prior", "price"), [(SURE, 0.0), (UNSURE, 0.5)])
def test_prices_of_a_grid_that_was_run(tmp_path: Path, prior: Any, price: float) -> None:
    """Every verdict is Unreasonable. Not sure, SR-DCR abstains on the true passage; the shortcut answers there."""
    full = DESIGNS["acvd"]
    designs = [full, replace(full, name="last", final_verdict_only=True), replace(full, name="stop", early_stop=2),
               replace(full, name="agree", agreement_shortcut=True)]  # fmt: skip
    items = ItemSet("worked", (item(1874), item(1934)), exemplars())
    model = reader(answer_from_memory=prior, judge=UNREASONABLE)
    records = finished(Study(model, items, "sr_dcr", samples=0, design=designs, out=tmp_path / "out")).records
    table = economy_prices(records, conditions=("overall",)).set_index("design")
    assert table["share_saved"].to_dict() == {"last": 1 - 15 / 20, "stop": 1 - 8 / 20, "agree": 1 - 11 / 20}
    assert table["difference"].to_dict() == {"last": 0, "stop": 0, "agree": price}
    assert table.loc["last", ["answers_changed", "low", "high"]].tolist() == [0, 0, 0]
    # One transcript serves all four: the economies ask for nothing that the full design has not asked.
    assert model.calls == 20 + 18
