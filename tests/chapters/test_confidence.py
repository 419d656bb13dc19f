"""P(Highly-Known | Conf ≥ τ) by hand and against a loop over τ [paper 4.2]; the decision rule at any τ, and sliders."""

import math
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from statsmodels.stats.proportion import proportion_confint

from srdcr_lab.confidence import precision_steps, questions_for_width, risk_coverage
from srdcr_lab.knowledge import categories_by_domain, category_thresholds
from srdcr_lab.lib.gating import decision_flow, decisions_by_condition, redecided
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import BadInput, Decision
from tests.simulated import simulated


def test_by_hand() -> None:
    """Five questions; two share a confidence, one has none."""
    found = precision_steps([0.95, 0.90, 0.90, 0.40, math.nan], [True, True, False, False, True]).frame()
    assert found[["tau", "n_above", "n_target"]].to_numpy().tolist() == [[0.95, 1, 1], [0.90, 3, 2], [0.40, 4, 2]]
    assert found["precision"].tolist() == pytest.approx([1, 2 / 3, 1 / 2])
    assert found["coverage"].tolist() == pytest.approx([1 / 5, 3 / 5, 4 / 5])
    assert found["n_missing"].tolist() == [1, 1, 1]
    found = precision_steps([0.9, 0.8, 0.7], [True, None, False]).frame()  # without a target it is in no count
    assert found[["n_above", "coverage", "n_unlabelled"]].to_numpy().tolist() == [[1, 0.5, 1], [2, 1, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_against_a_loop_over_tau(seed: int) -> None:
    """Rounded confidences, so that there are ties; one in ten is missing."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(60).round(1)
    confidence[rng.random(60) < 0.1] = np.nan
    target = rng.random(60) < 0.5
    found = precision_steps(confidence, target).frame().set_index("tau")
    assert list(found.index) == sorted(set(confidence[~np.isnan(confidence)]), reverse=True)
    for tau in found.index:
        above = [bool(t) for c, t in zip(confidence, target, strict=True) if c >= tau]
        row = found.loc[tau]
        assert (row.n_above, row.n_target) == (len(above), sum(above))
        assert row.precision == pytest.approx(sum(above) / len(above))
        assert row.coverage == pytest.approx(len(above) / 60)
        low, high = proportion_confint(sum(above), len(above), method="jeffreys")
        assert row.low == pytest.approx(0 if not any(above) else low)
        assert row.high == pytest.approx(1 if all(above) else high)


@pytest.mark.parametrize("tau", [-1.0, 0.0, 0.15, 0.2, 0.5, 0.99, 1.0, 1.1])
def test_a_lookup_at_any_tau(tau: float) -> None:
    rng = np.random.default_rng(7)
    confidence, target = rng.random(50).round(1), rng.random(50) < 0.5
    found = precision_steps(confidence, target).at(tau)
    above = confidence >= tau
    assert (found.n_above, found.n_target) == (above.sum(), target[above].sum())
    assert found.coverage.value == above.mean()
    expected = target[above].mean() if above.any() else math.nan
    assert found.precision.value == pytest.approx(expected, nan_ok=True)
    assert found.risk.value == pytest.approx(1 - expected, nan_ok=True)


@pytest.mark.parametrize(("precision", "width"), [(0.9, 0.1), (0.5, 0.2), (1.0, 0.05)])
def test_questions_above_tau_one_by_one(precision: float, width: float) -> None:
    def interval(n: int) -> float:
        low, high = (beta.ppf(p, precision * n + 0.5, n - precision * n + 0.5) for p in (0.025, 0.975))
        return (1 if precision == 1 else high) - low

    expected = next(n for n in range(1, 2000) if interval(n) <= width)
    assert questions_for_width(precision, 1.0, width).n_above == expected


@pytest.mark.parametrize("coverage", [0.1, 0.39, 1.0])
def test_questions_in_all_are_enough_nine_times_in_ten(coverage: float) -> None:
    needed = questions_for_width(0.9, coverage, 0.1)
    enough = [1 - binom.cdf(needed.n_above - 1, n, coverage) for n in (needed.n_questions - 1, needed.n_questions)]
    assert enough[0] < 0.9 <= enough[1]
    with pytest.raises(BadInput, match=r"width 0 in \(0, 1\)"):
        questions_for_width(0.9, coverage, 0)


def test_risk_and_coverage_by_hand() -> None:
    """Four questions, one without confidence: it is never answered and stays in the denominator of coverage."""
    curve = risk_coverage(precision_steps([0.9, 0.8, 0.8, math.nan], [True, False, True, True]))
    assert curve["tau"].tolist() == [0.9, 0.8]
    assert curve["n_answered"].tolist() == [1, 3]
    assert curve["n_wrong"].tolist() == [0, 1]
    assert curve["risk"].tolist() == pytest.approx([0, 1 / 3])
    assert curve["coverage"].tolist() == pytest.approx([1 / 4, 3 / 4])
    assert curve["low"][1] < curve["risk"][1] < curve["high"][1]


EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("tau", [0.0, 0.35, 1.0])
def test_the_table_at_a_threshold_is_the_summary_of_what_it_decides(tau: float, gate: bool) -> None:
    rows = simulated(80).query("method == 'sr_dcr'")
    changed = redecided(rows, tau, gate=gate)
    table, whole = decisions_by_condition(rows, tau, gate=gate).set_index("condition"), summary(changed)
    shared = ["n", "n_answered", "n_error", "coverage", "accuracy", "accuracy_low", "selective_accuracy"]
    pd.testing.assert_frame_equal(table[shared], whole.set_index("condition")[shared])
    assert table.loc["overall", "use_prior"] == (changed["decision"] == Decision.USE_PRIOR).sum()


def test_where_no_debate_was_needed_the_context_answer_stands() -> None:
    """The agreement shortcut: both answers are equal, and nobody ruled. Without false passages none has a share."""
    rows = simulated(80).query("method == 'sr_dcr'")
    agreed = rows.assign(verdict=None, missing=None, context_correct=True)
    with pytest.raises(BadInput, match="tau is a number from 0 to 1, got 5"):
        decisions_by_condition(agreed, 5)
    overall = decisions_by_condition(agreed, 0.9).iloc[2]
    assert (overall.use_context, overall.abstain, overall.accuracy) == (len(rows), 0, 1.0)
    standard, perturbed, overall = decisions_by_condition(rows.query("level == 'standard'"), 0.9).itertuples()
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
        ["standard", "passage only", "REASONABLE", "confidence < τ", "right", 1],
        ["perturbed", "prior only", "UNREASONABLE", "confidence ≥ τ", "right", 2],
        ["perturbed", "prior only", "UNREASONABLE", "confidence < τ", "abstained", 1],
        ["perturbed", "neither right", "no debate", "confidence < τ", "error", 1],
    ]
