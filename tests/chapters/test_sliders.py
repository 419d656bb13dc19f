"""The decision rule at any τ, and sliders that show what their tables hold."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.knowledge import categories_by_domain, category_thresholds
from srdcr_lab.lib.gating import Gating, decision_flow, redecided
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import Decision, Verdict
from tests.simulated import simulated

EVIL = "<script>alert(1)</script>"


def records(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Rows of sr_dcr with every combination of verdict, confidence and what could be read; some failed."""
    rng = np.random.default_rng(seed)
    verdict = rng.choice([*Verdict], n)
    confidence = np.where(rng.random(n) < 0.1, np.nan, rng.random(n).round(2))
    table = pd.DataFrame({"verdict": verdict, "self_confidence": confidence})
    for name in ("context_correct", "prior_correct"):
        table[name] = pd.array(rng.choice([True, False, None], n, p=[0.5, 0.4, 0.1]), "boolean")
    table["missing"] = np.where(rng.random(n) < 0.1, "error", None)
    table.loc[table["missing"] == "error", "verdict"] = None
    table["level"] = ["standard", "subtle"] * (n // 2)
    table["question_id"] = [f"q{i // 2}" for i in range(n)]
    table["perturbation_kind"] = ["none", "offset"] * (n // 2)
    table["perturbation_value"] = [np.nan, 20.0] * (n // 2)
    correct = pd.array([None] * n, "boolean")
    return table.assign(method="sr_dcr", model="m", item_id=table.index.astype(str), correct=correct)


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("tau", [0.0, 0.35, 1.0])
def test_the_table_at_a_threshold_is_the_summary_of_what_it_decides(tau: float, gate: bool) -> None:
    rows = simulated(80).query("method == 'sr_dcr'")
    changed = redecided(rows, tau, gate=gate)
    table, whole = Gating.from_records(rows, gate=gate).at(tau).set_index("condition"), summary(changed)
    shared = ["n", "n_answered", "n_error", "coverage", "accuracy", "accuracy_low", "selective_accuracy"]
    pd.testing.assert_frame_equal(table[shared], whole.set_index("condition")[shared])
    assert table.loc["overall", "use_prior"] == (changed["decision"] == Decision.USE_PRIOR).sum()


def test_where_no_debate_was_needed_the_context_answer_stands() -> None:
    """The agreement shortcut: both answers are equal, and no verdict was asked for. Without false passages there are no
    shares of them."""
    agreed = records().assign(verdict=None, missing=None, context_correct=True)
    overall = Gating.from_records(agreed).at(0.9).iloc[2]
    assert (overall.use_context, overall.abstain, overall.accuracy) == (40, 0, 1.0)
    gated = Gating.from_records(records().query("level == 'standard'")).at(0.9)
    standard, perturbed, overall = gated.itertuples()
    assert perturbed.n == 0
    assert np.isnan(perturbed.accuracy)
    assert overall.accuracy == standard.accuracy


def questions() -> pd.DataFrame:
    accuracy = [1.0, 27 / 32, 0.5, 0.1, 0.0, None]
    labels = ["HIGHLY_KNOWN", "MAYBE_KNOWN", "MAYBE_KNOWN", "WEAKLY_KNOWN", "UNKNOWN", None]
    confidence = [0.95, 0.92, 0.5, 0.3, None, 0.2]
    domains = ["years", "years", EVIL, EVIL, EVIL, "years"]
    columns = {"domain": domains, "sampled_accuracy": accuracy, "knowledge_category": labels}
    return pd.DataFrame(columns | {"self_confidence": confidence})


def test_moved_bounds_select_the_counts_of_the_table() -> None:
    made = category_thresholds(questions(), "nobody")
    (text,) = made.chart.to_dict()["datasets"].values()
    rows = pd.read_csv(StringIO(text)).query("highly == .85 and maybe == .4")
    table = categories_by_domain(questions(), highly_from=0.85, maybe_from=0.40)
    assert rows["n_category"].tolist() == table.loc[table["n_category"] > 0, "n_category"].tolist()
    assert made.settings == {"highly": 0.85, "maybe": 0.3}
    assert EVIL not in made.html()


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
