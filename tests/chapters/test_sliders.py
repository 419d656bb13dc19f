"""The decision rule at any τ, and sliders that show what their tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.confidence import ConfidenceThreshold, confidence_slider, draw_gating, gating_curve
from srdcr_lab.knowledge import CategoryThresholds, categories_by_domain, category_sliders
from srdcr_lab.lib.controls import Slide, with_sliders
from srdcr_lab.lib.definitions import CATEGORIES, decide
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.page import captioned
from srdcr_lab.lib.summary import summary
from srdcr_lab.records import Decision, Verdict

EVIL = "<script>alert(1)</script>"
DECISIONS = (Decision.USE_CONTEXT, Decision.USE_PRIOR, Decision.ABSTAIN)


def records(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Rows of sr_dcr with every combination of verdict, confidence and what could be read; some failed."""
    rng = np.random.default_rng(seed)
    verdict = rng.choice([*Verdict], n)
    confidence = np.where(rng.random(n) < 0.1, np.nan, rng.random(n).round(2))
    right = {
        name: rng.choice([True, False, None], n, p=[0.5, 0.4, 0.1]) for name in ("context_correct", "prior_correct")
    }
    table = pd.DataFrame({"verdict": verdict, "self_confidence": confidence, **right}).astype(
        dict.fromkeys(right, "boolean")
    )
    table["missing"] = np.where(rng.random(n) < 0.1, "error", None)
    table.loc[table["missing"] == "error", "verdict"] = None
    table["level"] = ["standard", "subtle"] * (n // 2)
    table["question_id"] = [f"q{i // 2}" for i in range(n)]
    table["perturbation_kind"] = ["none", "offset"] * (n // 2)
    table["perturbation_value"] = [np.nan, 20.0] * (n // 2)
    correct = pd.array([None] * n, "boolean")
    return table.assign(method="sr_dcr", model="m", item_id=table.index.astype(str), correct=correct)


def decided(table: pd.DataFrame, tau: float, *, gate: bool = True) -> pd.DataFrame:
    """The same rows with the rule applied one by one."""
    table = table.copy()
    decisions, correct, missing = [], [], []
    for row in table.itertuples():
        failed = row.missing == "error"
        decision = None if failed else decide(Verdict(row.verdict), row.self_confidence, tau, gate=gate)
        answer = {Decision.USE_CONTEXT: row.context_correct, Decision.USE_PRIOR: row.prior_correct}.get(decision, pd.NA)
        decisions.append(decision)
        correct.append(answer)
        missing.append("error" if failed else "abstained" if decision is Decision.ABSTAIN else None)
    return table.assign(decision=decisions, correct=pd.array(correct, "boolean"), missing=missing)


@pytest.mark.parametrize("tau", [0.0, 0.35, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gate", [True, False])
def test_the_rule_over_arrays_is_the_rule_row_by_row(tau: float, seed: int, gate: bool) -> None:
    table = records(seed=seed)
    expected = decided(table, tau, gate=gate)
    table_1 = summary(expected).set_index("condition")
    for gated in Gating.from_records(table, gate=gate).at(tau):
        half = {"standard": ["standard"], "perturbed": ["subtle"], "overall": ["standard", "subtle"]}[gated.condition]
        rows = expected[expected["level"].isin(half)]
        counts = [int((rows["decision"] == decision).sum()) for decision in DECISIONS]
        assert [gated.use_context, gated.use_prior, gated.abstain] == counts
        assert gated.n_error == (rows["missing"] == "error").sum()
        said = table_1.loc[gated.condition, ["n", "n_answered", "coverage", "accuracy", "selective_accuracy"]]
        found = [gated.n, gated.n_answered, gated.coverage, gated.accuracy, gated.selective_accuracy]
        assert found == pytest.approx(said.astype(float).tolist())


def test_where_no_debate_was_needed_the_context_answer_stands() -> None:
    """The agreement shortcut: both answers are equal, and no verdict was asked for."""
    agreed = records().assign(verdict=None, missing=None, context_correct=True)
    *_, overall = Gating.from_records(agreed).at(0.9)
    assert (overall.use_context, overall.abstain, overall.accuracy) == (40, 0, 1.0)


def test_a_condition_without_items_has_no_shares() -> None:
    standard, perturbed, overall = Gating.from_records(records().query("level == 'standard'")).at(0.9)
    assert perturbed.n == 0
    assert np.isnan(perturbed.accuracy)
    assert overall.accuracy == standard.accuracy


def test_the_gating_figure_draws_both_accuracies_and_coverage() -> None:
    table = gating_curve(records(), (0.0, 0.9))
    ax = draw_gating(table, None).axes[0]
    rows = table[table["condition"] == "standard"]
    for line, column in zip(ax.lines, ("accuracy", "selective_accuracy", "coverage"), strict=True):
        first, last = rows[column]
        assert line.get_ydata() == pytest.approx([first, first, last, last])
    assert (rows["accuracy_low"] <= rows["accuracy"]).all()


def questions() -> pd.DataFrame:
    accuracy = [1.0, 27 / 32, 0.5, 0.1, 0.0, None]
    labels = ["HIGHLY_KNOWN", "MAYBE_KNOWN", "MAYBE_KNOWN", "WEAKLY_KNOWN", "UNKNOWN", None]
    confidence = [0.95, 0.92, 0.5, 0.3, None, 0.2]
    domains = ["years", "years", EVIL, EVIL, EVIL, "years"]
    columns = {"domain": domains, "sampled_accuracy": accuracy, "knowledge_category": labels}
    return pd.DataFrame(columns | {"self_confidence": confidence})


def test_moved_thresholds_count_as_the_table_does() -> None:
    counts = CategoryThresholds.from_questions(questions()).counts(0.84, 0.40)
    table = categories_by_domain(questions(), highly_from=0.84, maybe_from=0.40)
    assert counts.sum(axis=0).tolist() == [2, 1, 1, 1]
    assert counts.ravel().tolist() == table["n_category"].tolist()[: 2 * len(CATEGORIES)]


def test_the_second_threshold_has_no_effect_above_the_first() -> None:
    view = CategoryThresholds.from_questions(questions())
    assert view.html(0.5, 0.9) == view.html(0.5, 0.5)


def test_the_readout_says_how_many_labels_moved() -> None:
    view = CategoryThresholds.from_questions(questions())
    assert "<b>0</b> of 5 questions" in view.html(0.85, 0.30)
    assert "<b>1</b> of 5 questions" in view.html(0.84, 0.30)


def test_names_of_domains_are_escaped() -> None:
    html = CategoryThresholds.from_questions(questions()).html(0.85, 0.30)
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_tau_shows_coverage_precision_and_decisions() -> None:
    view = ConfidenceThreshold.from_tables(questions(), records())
    html = view.html(0.9)
    assert '<b class="srdcr-above">2</b> of 5 questions (coverage 0.40); 1 of them are Highly-Known' in html
    assert '<b class="srdcr-precision">0.50</b>' in html
    standard, *_ = Gating.from_records(records()).at(0.9)
    cells = (standard.n, standard.use_context, standard.use_prior, standard.abstain)
    assert '<tr class="srdcr-standard"><td>true</td>' + "".join(f"<td>{n}</td>" for n in cells) in html


def test_a_tau_above_all_says_that_memory_is_never_used() -> None:
    html = ConfidenceThreshold.from_tables(questions(), records()).html(0.96)
    assert '<b class="srdcr-above">0</b> of 5 questions; the rule never answers from memory' in html


@pytest.mark.parametrize("make", [
    lambda: category_sliders(questions().iloc[:0], "nobody"),
    lambda: confidence_slider(questions().iloc[:0], records().iloc[:0], label="nobody"),
])  # fmt: skip
def test_sliders_over_nothing_are_shown(make: object) -> None:
    assert make().children[-1].value == "nobody"  # type: ignore[operator]


def test_a_move_rewrites_the_readout_and_rounds_the_value() -> None:
    seen: list[float] = []

    def draw(tau: float) -> str:
        seen.append(tau)
        return f"<b>{tau}</b>"

    box = with_sliders(draw, {"tau": Slide("τ", 0.9)}, "label")
    slider, readout, _ = box.children
    slider.value = 0.9 - 0.01 - 0.02
    assert readout.value == "<b>0.87</b>"
    assert seen == [0.9, 0.87]


def test_a_captioned_table_carries_its_label_escaped() -> None:
    html = captioned(pd.DataFrame({"name": [EVIL], "share": [0.123], "n": [None]}), f"pocket {EVIL}")
    assert "<script" not in html
    assert "pocket &lt;script&gt;" in html
    assert "<td>0.12</td>" in html
    assert "<td>–</td>" in html


def test_a_captioned_table_names_plans_and_confidences() -> None:
    plan = pd.DataFrame({"methods": ["few_shot", "sr_dcr (acvd)"], "calls_from": [2, 40]}).set_index("methods")
    assert "<th>SR-DCR (ACVD)</th>" in captioned(plan.T, "plan", index=True)
    html = captioned(pd.DataFrame({"method": ["self_consistency"], "confidence_kind": ["self_consistency"]}), "both")
    assert "<td>Self-Consistency</td>" in html
    assert "<td>self-consistency</td>" in html
