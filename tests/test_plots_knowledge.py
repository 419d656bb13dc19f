"""Figures of knowledge, confidence and preference draw what their tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from srdcr_lab.confidence import ConfidenceHistogramDisplay, PrecisionDisplay, ReliabilityDisplay
from srdcr_lab.debates import PriorPreferenceByRoundDisplay
from srdcr_lab.knowledge import CategoriesDisplay, DrawsDisplay, ExposureDisplay, RedrawDisplay, SampledAccuracyDisplay
from srdcr_lab.preference import BiasDisplay, ContextPreferenceDisplay, biases, context_preference
from srdcr_lab.records import label
from tests.figures import drawn, legend_labels, tick_labels
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

ONE = simulated(40)
MANY = simulated(120)
LABEL = "pocket: a model organism, no evidence about any large model"


def questions() -> pd.DataFrame:
    """Six questions of two domains, one without draws and confidence."""
    rows = [
        ("a", "years", 1.0, "HIGHLY_KNOWN", 0.97, True, 0.99),
        ("b", "years", 1.0, "HIGHLY_KNOWN", 0.91, True, 0.99),
        ("c", "years", 0.5, "MAYBE_KNOWN", 0.93, True, 0.95),
        ("d", "names", 0.125, "WEAKLY_KNOWN", 0.40, False, 0.90),
        ("e", "names", 0.0, "UNKNOWN", 0.10, False, 0.71),
        ("f", "names", np.nan, None, np.nan, None, np.nan),
    ]
    columns = ["question_id", "domain", "sampled_accuracy", "knowledge_category"]
    table = pd.DataFrame(rows, columns=[*columns, "self_confidence", "prior_correct", "redraw_stability"])
    table["prior_correct"] = table["prior_correct"].astype("boolean")
    return table.assign(n_samples=[32] * 5 + [0], confidence_kind="mean_logprob")


def test_category_points_stand_at_the_shares_of_the_table() -> None:
    display = CategoriesDisplay.from_questions(questions())
    assert drawn(display.plot(), 0) == pytest.approx(sorted(display.table["share"]))


def test_category_rows_carry_their_n() -> None:
    ax = CategoriesDisplay.from_questions(questions()).plot()
    assert tick_labels(ax, "y") == ["years (n = 3)", "names (n = 2)", "all domains (n = 5)"]


def test_category_shares_to_read() -> None:
    shares = CategoriesDisplay.from_questions(questions()).shares
    assert shares.loc[0, "Highly-Known"].startswith("0.67 [")
    assert shares["n"].tolist() == [3, 2, 5]


def test_sampled_accuracies_are_counted_and_cut_at_the_thresholds() -> None:
    display = SampledAccuracyDisplay.from_questions(questions(), highly_from=0.4)
    assert display.table["n_questions"].tolist() == [1, 1, 1, 2]
    assert display.table["knowledge_category"].tolist() == ["UNKNOWN", "WEAKLY_KNOWN", "HIGHLY_KNOWN", "HIGHLY_KNOWN"]
    assert [line.get_xdata()[0] for line in display.plot().lines] == [0.30, 0.4]


def test_exposure_leaves_out_what_was_not_drawn_or_not_listed() -> None:
    told = pd.DataFrame(
        {
            "question_id": ["a", "c", "f", "z"],
            "exposures": [100, 60, 3, 1],
            "true_share": [1, 0.48, 1, 1],
            "true_exposures": [100, 29, 3, 1],
        }
    )
    display = ExposureDisplay.from_questions(questions(), told.assign(rival_answer=None, tier="any"))
    assert display.table["question_id"].tolist() == ["a", "c"]
    assert display.table["true_exposures"].tolist() == [100, 29], (
        "A 6: the published count, not one computed from a rounded share"
    )
    (points,) = display.plot().collections[:1]
    assert points.get_offsets()[:, 0].tolist() == [100, 60]
    assert points.get_offsets()[:, 1].tolist() == pytest.approx([1.0, 0.5], abs=0.01)


def test_what_was_never_told_stands_left_of_one() -> None:
    told = pd.DataFrame(
        {"question_id": ["e"], "exposures": [0], "true_share": [np.nan], "rival_answer": [None], "true_exposures": [0]}
    )
    ax = ExposureDisplay.from_questions(questions(), told).plot()
    assert 0 < ax.collections[0].get_offsets()[0, 0] < 1
    ax.figure.canvas.draw()
    assert to_hex(ax.collections[0].get_facecolor()[0]) == to_hex("0.6")  # no share of it was true or false
    assert ax.get_xticklabels()[0].get_text() == "never"


@pytest.mark.parametrize("value", ["agreement", "share"])
def test_lines_over_draws_follow_the_table(value: str) -> None:
    display = DrawsDisplay.from_questions(questions(), sizes=(4, 32))
    lines = {line.get_label().split(" (")[0]: line.get_ydata() for line in display.plot(value=value).lines}
    expected = display.table[display.table["knowledge_category"] == "WEAKLY_KNOWN"][value]
    assert lines["Weakly-Known"] == pytest.approx(expected.to_numpy())


def test_redraws_group_equal_outcomes() -> None:
    display = RedrawDisplay.from_questions(questions())
    assert display.table["n_questions"].tolist() == [1, 1, 1, 2]
    assert len(display.plot().collections) == 4


def test_histogram_counts_questions_by_bin_and_category() -> None:
    display = ConfidenceHistogramDisplay.from_questions(questions())
    filled = display.table[display.table["n"] > 0]
    found = {(row.left, row.knowledge_category): row.n for row in filled.itertuples()}
    assert found == {
        (0.95, "HIGHLY_KNOWN"): 1, (0.9, "HIGHLY_KNOWN"): 1, (0.9, "MAYBE_KNOWN"): 1, (0.4, "WEAKLY_KNOWN"): 1,
        (0.1, "UNKNOWN"): 1,
    }  # fmt: skip
    assert set(display.table["n_missing"]) == {1}
    assert display.plot().get_xlabel().splitlines()[1] == "(1 question without a confidence or draws left out)"


def test_histogram_of_self_consistency_has_a_bin_around_every_share() -> None:
    shares = questions().assign(
        self_confidence=[1.0, 15 / 16, 0.5, 0.0, 1 / 16, np.nan], confidence_kind="self_consistency"
    )
    table = ConfidenceHistogramDisplay.from_questions(shares).table
    centres = ((table["left"] + table["right"]) / 2)[table["n"] > 0]
    assert sorted(centres) == pytest.approx([0, 1 / 16, 0.5, 15 / 16, 1])


def test_precision_line_steps_through_the_table() -> None:
    display = PrecisionDisplay.from_questions(questions())
    ax = display.plot(tau=None)
    assert display.table["precision"].tolist() == pytest.approx([1, 0.5, 2 / 3, 0.5, 0.4])
    assert ax.lines[0].get_ydata().tolist() == pytest.approx(display.table["precision"].tolist()[::-1])
    assert ax.lines[0].get_drawstyle() == "steps-pre"


def test_reliability_points_stand_at_mean_confidence_and_share_right() -> None:
    ax = ReliabilityDisplay.from_questions(questions()).plot()
    assert drawn(ax, 0) == pytest.approx([0.1, 0.4, (0.97 + 0.91 + 0.93) / 3])
    assert drawn(ax) == pytest.approx([0, 0, 1])
    assert [text.get_text() for text in ax.texts] == ["1", "1", "3"]


@pytest.mark.parametrize("display", [CategoriesDisplay, SampledAccuracyDisplay, DrawsDisplay, RedrawDisplay,
                                     ConfidenceHistogramDisplay, PrecisionDisplay, ReliabilityDisplay])  # fmt: skip
def test_without_any_question_an_empty_figure_is_drawn(display: type) -> None:
    display.from_questions(questions().iloc[:0]).plot()


def test_the_label_says_what_the_pocket_model_is() -> None:
    assert label(["pocket", "pocket"]) == LABEL
    assert label(["openai:gpt-4o", "pocket#old"]) == f"openai:gpt-4o; pocket#old{LABEL.removeprefix('pocket')}"


# -- preferences and biases -------------------------------------------------------------------------------------------


def test_context_preference_points_are_the_tables() -> None:
    display = ContextPreferenceDisplay.from_records(MANY)
    rows = display.table[~display.table["prior_is_claim"] & (display.table["n"] > 0)]
    ax = display.plot()
    assert drawn(ax) == pytest.approx(sorted(rows["share"]))
    assert tick_labels(ax) == ["20", "40", "60", "100", "200", "all\ntogether"]
    assert ax.get_ylabel() == "context preference"
    assert ax.get_xlabel().startswith("offset of the claim in years, either sign")


def test_the_legend_counts_the_questions_of_each_category() -> None:
    """Ten passages of one question are one question."""
    display = ContextPreferenceDisplay.from_records(ONE)
    false = ONE[(ONE["method"] == "few_shot") & (ONE["level"] != "standard")]
    follow = false[(false["prior_answer"] != false["claimed_answer"]) & false["final_answer"].notna()]
    n = follow.groupby("knowledge_category")["question_id"].nunique()
    labels = legend_labels(display.plot())
    assert f"Highly-Known ({n['HIGHLY_KNOWN']} questions)" in labels
    assert len(labels) == (n > 0).sum()


def test_signed_offsets_stand_in_order_and_future_claims_apart() -> None:
    ax = ContextPreferenceDisplay.from_records(MANY, "offset").plot()
    signed = ["−200", "−100", "−60", "−40", "−20", "+20", "+40", "+60", "+100", "+200"]
    assert tick_labels(ax) == [*signed, "all\ntogether"]
    assert any("claim after 2026" in label for label in legend_labels(ax))


def test_context_preference_by_domain() -> None:
    ax = ContextPreferenceDisplay.from_records(ONE, "domain").plot()
    assert tick_labels(ax) == ["years", "records"]
    assert ax.get_xlabel().startswith("domain")
    assert len(ax.texts) == len(drawn(ax))  # above each point its n


def test_a_category_of_few_questions_a_place_is_one_place() -> None:
    """Highly-Known questions, ten at one offset, stay apart; the others are pooled, all that there are."""
    each = context_preference(MANY).query("~prior_is_claim").groupby("knowledge_category")["n"].agg(["max", "sum"])
    table = ContextPreferenceDisplay.from_records(MANY).table
    for category, n in table[table["stratum"] == "all together"].set_index("knowledge_category")["n"].items():
        assert each.loc[category, "max"] < 10
        assert each.loc[category, "sum"] == n
    assert set(table.loc[table["stratum"] != "all together", "knowledge_category"]) == {"HIGHLY_KNOWN"}
    both = pd.concat([MANY, MANY[MANY["knowledge_category"] == "UNKNOWN"].assign(model="other")])
    panels = ContextPreferenceDisplay.from_records(both).table.groupby("model", sort=False)
    ticks = [tick_labels(ContextPreferenceDisplay(rows).plot()) for _, rows in panels]
    assert ticks[0] == ticks[1]  # each model's panel has the places of all


def test_context_preference_of_few_questions_a_place_is_one_place() -> None:
    few = ContextPreferenceDisplay.from_records(simulated(30).query("level != 'standard'"))
    assert set(few.table["stratum"]) == {"all together"}
    assert tick_labels(few.plot()) == ["all\ntogether"]


def test_kinds_of_perturbation_are_not_joined() -> None:
    other = MANY["question_id"].isin(["q0", "q10", "q20", "q1", "q11"]) & (MANY["level"] != "standard")
    records = MANY.assign(perturbation_kind=MANY["perturbation_kind"].where(~other, "factor"))
    records["perturbation_value"] = records["perturbation_value"].where(~other, 3.0)
    ax = ContextPreferenceDisplay.from_records(records).plot()
    before = [label.startswith("factor\n") for label in tick_labels(ax)].index(True) - 0.5
    assert ax.get_xlabel().startswith("how far off the claim is")
    lines = [line.get_xdata() for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 1]
    assert lines
    assert not any(min(x) < before < max(x) for x in lines)


def test_prior_preference_has_a_line_for_every_stratum_and_the_rounds_as_ticks() -> None:
    display = PriorPreferenceByRoundDisplay.from_records(simulated(120, ("acvd",)))
    ax = display.plot()
    assert tick_labels(ax) == ["1", "3", "5"]
    assert len({str(label).partition(" (")[0] for label in legend_labels(ax)}) == 5
    assert drawn(ax) == pytest.approx(sorted(display.table["share"].dropna()))


def test_prior_preference_of_few_questions_a_stratum_is_one_line() -> None:
    few = PriorPreferenceByRoundDisplay.from_records(simulated(30, ("acvd",)), "acvd")
    assert set(few.table["stratum"]) == {"all together"}
    assert 10 <= few.table["n_questions"].min() <= 30
    assert [label.partition(" (")[0] for label in map(str, legend_labels(few.plot()))] == ["all together"]


def test_prior_preference_of_a_design_has_every_round() -> None:
    assert tick_labels(
        PriorPreferenceByRoundDisplay.from_records(simulated(40, ("symmetric",)), "symmetric").plot()
    ) == list("012345")


def test_a_debate_that_was_not_held_says_so() -> None:
    ax = PriorPreferenceByRoundDisplay.from_records(ONE[ONE["method"] == "few_shot"]).plot()
    assert ax.texts[0].get_text().replace("\n", " ") == "no such debate in these records"


def test_bias_points_stand_at_the_shares_with_all_items_last() -> None:
    display = BiasDisplay.from_records(ONE)
    ax = display.plot()
    assert drawn(ax) == pytest.approx(sorted(display.table["share"].dropna()))
    assert tick_labels(ax) == ["years", "records", "all"]
    alone = biases(ONE[ONE["method"] == "few_shot"]).set_index("bias")["share"]
    whole = display.table[display.table["domain"] == "all"].set_index("bias")["share"]
    assert whole.to_dict() == alone.to_dict()


def test_a_bias_that_nobody_can_have_has_no_point() -> None:
    knows_nothing = ONE.assign(prior_correct=pd.array([False] * len(ONE), "boolean"))
    ax = BiasDisplay.from_records(knows_nothing).plot()
    assert len(ax.containers[0].lines[0].get_xdata()) == 0
