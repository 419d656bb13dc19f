"""Drawers, and figures of methods: what is drawn is what the tables hold; equal figures are equal files."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

import srdcr_lab
from srdcr_lab import documents, stances, thresholds
from srdcr_lab.calibration_in_depth import ConfidenceKindsDisplay, ConsistencyByDrawsDisplay, TransferDisplay
from srdcr_lab.confidence import ConfidenceHistogramDisplay, GatingDisplay, PrecisionDisplay, ReliabilityDisplay
from srdcr_lab.debates import GradedVerdictDisplay, PriorPreferenceByRoundDisplay, RatesDisplay, VerdictDisplay
from srdcr_lab.decision_flow import DecisionFlowDisplay
from srdcr_lab.designs import EffectsDisplay, OversightDisplay, economy_prices
from srdcr_lab.evaluation import AccuracyDisplay, CostDisplay, DifferencesDisplay
from srdcr_lab.final_answer import SurestDisplay, UtilityDisplay, matched_coverage
from srdcr_lab.knowledge import CategoriesDisplay, DrawsDisplay, ExposureDisplay, RedrawDisplay, SampledAccuracyDisplay
from srdcr_lab.lib.comparison import compare_all, factor_effects
from srdcr_lab.lib.draw import INK, apart, distances, finish, intervals, points, save_figure, small_multiples
from srdcr_lab.lib.gating import Gating
from srdcr_lab.lib.summary import CONDITIONS
from srdcr_lab.lib.summary import summary as summary_of
from srdcr_lab.preference import BiasDisplay, ContextPreferenceDisplay
from srdcr_lab.protocols import DESIGNS, METHODS
from srdcr_lab.records.names import COLOURS, DESIGN_LABELS, METHOD_LABELS, called, colours
from srdcr_lab.thresholds import RiskCoverageDisplay
from srdcr_lab.transcripts.examples import OneQuestionDisplay
from tests.figures import drawn, legend_labels, no_text_overlaps, printed_points, tick_labels
from tests.simulated import simulated
from tests.test_counterfactual_measures import debated

pytestmark = pytest.mark.usefixtures("figures_closed")

LABEL = "pocket: a model organism, no evidence about any large model"
BOTH = simulated(40, ("acvd", "symmetric"))
ONE = BOTH[BOTH["design"].isna() | (BOTH["design"] == "acvd")]


# -- drawers ----------------------------------------------------------------------------------------------------------


def test_an_interval_end_on_the_wrong_side_is_at_the_value() -> None:
    rows = pd.DataFrame({"share": [0.5, 0.5, np.nan], "low": [0.4, 0.6, np.nan], "high": [0.7, 0.8, np.nan]})
    below, above = distances(rows)
    assert below == pytest.approx([0.1, 0, np.nan], nan_ok=True)
    assert above == pytest.approx([0.2, 0.3, np.nan], nan_ok=True)
    own = rows.rename(columns={"low": "share_low", "high": "share_high"}).assign(low=0.0, high=1.0)
    assert distances(own) == pytest.approx(distances(rows), nan_ok=True)


@pytest.mark.parametrize("across", [False, True])
def test_series_lie_side_by_side_in_the_order_of_their_looks(across: bool) -> None:
    rows = pd.DataFrame(
        {"who": ["a", "b", "a", "b"], "share": [0.1, 0.2, 0.3, np.nan], "low": 0.0, "high": 1.0, "n": [3, 5, 4, 0]}
    )
    _, ax = plt.subplots()
    looks = {"b": {"label": "B"}, "a": {"label": "A"}, "c": {"label": "C"}}
    parts = points(ax, [0, 0, 1, 1], rows, "who", looks, step=0.2, n="max", across=across)
    assert {name: part["at"].tolist() for name, part in parts.items()} == {"b": [-0.2], "a": [0, 1], "c": []}
    assert drawn(ax, int(across)) == pytest.approx([-0.2, 0, 1])
    assert drawn(ax, 1 - across) == pytest.approx([0.1, 0.2, 0.3])
    assert legend_labels(finish(ax, {})) == ["B (n = 5)", "A (n = 4)", "C (n = 0)"]


def test_a_point_of_few_questions_is_grey_outside_the_line_and_said_to_be_so() -> None:
    rows = pd.DataFrame({"share": [0.1, 0.5, 0.3], "low": 0.0, "high": 1.0, "n": 40, "n_questions": [10, 9, 20]})
    _, ax = plt.subplots()
    intervals(ax, [0, 1, 2], rows, color="blue", linestyle="-", label="A")
    finish(ax, {}, xlabel="place")
    line, grey = (container.lines[0] for container in ax.containers)
    assert np.asarray(line.get_ydata()) == pytest.approx([0.1, np.nan, 0.3], nan_ok=True)  # broken where it is grey
    assert (grey.get_ydata().tolist(), grey.get_color(), grey.get_linestyle()) == ([0.5], "0.75", "None")
    assert ax.get_xlabel() == "place\n(grey: fewer than 10 questions)"
    assert legend_labels(ax) == ["A"]


def test_small_multiples_share_axes_labels_and_one_legend() -> None:
    """Three models, one without debates: each panel has its own points, and what only it has is in no label."""
    models = {f"openai:a-model-of-a-long-name-{n}\n{n} questions": simulated(n, seed=n) for n in (12, 20, 30)}
    bare = next(iter(models))
    models[bare] = models[bare][models[bare]["method"] == "few_shot"]
    chosen = ["few_shot", "sr_dcr"]
    shown = {name: part[part["method"].isin(chosen)] for name, part in models.items()}
    figure = small_multiples({name: OversightDisplay.from_records(part) for name, part in shown.items()})
    panels = figure.axes[:3]
    assert [ax.get_title().splitlines()[-1] for ax in panels] == ["12 questions", "20 questions", "30 questions"]
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in panels}) == 1
    assert not any(ax.get_xlabel() or ax.get_ylabel() or ax.get_legend() for ax in panels)
    assert [text.get_text() for text in figure.texts] == ["false passages caught", "true passages believed"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["knows nothing of the passage", "Few-Shot", "SR-DCR"]
    assert [bool(ax.xaxis.get_tick_params()["labelbottom"]) for ax in panels] == [False, True, True]
    assert [ax.axison for ax in figure.axes] == [True, True, True, False]
    assert printed_points(figure) >= 7
    below = [legend.get_window_extent(), *(text.get_window_extent() for text in figure.texts)]
    drawn_boxes = [ax.get_tightbbox() for ax in panels]
    assert not any(a.overlaps(b) for a in below for b in drawn_boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(drawn_boxes) for b in drawn_boxes[i + 1 :])


def test_a_label_that_panels_do_not_share_stays_with_each() -> None:
    kinds = {kind: KNOWN.assign(confidence_kind=kind) for kind in ("mean_logprob", "self_consistency")}
    shown = {name: PrecisionDisplay.from_questions(part) for name, part in kinds.items()}
    none = PrecisionDisplay.from_questions(KNOWN.assign(self_confidence=np.nan, confidence_kind=None))
    figure = small_multiples(shown | {"none": none})
    assert [ax.get_xlabel() for ax in figure.axes[:3]] == ["τ (geometric mean probability)", "τ (self-consistency)", ""]
    assert not any(ax.child_axes for ax in figure.axes)
    assert "no question with a" in figure.axes[2].texts[0].get_text()


def test_labels_are_moved_apart_by_hand() -> None:
    assert apart([0.9, 0.88, 0.1], 0.1) == pytest.approx([0.9, 0.8, 0.1])
    assert apart([0.2, 0.1, 0.05], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([0.1, 0.09, 0.08], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert apart([], 0.1) == []


# -- accuracy ---------------------------------------------------------------------------------------------------------


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
    assert drawn(ax) == pytest.approx(sorted(display.table["value"]))


def test_accuracy_intervals_are_those_of_the_table() -> None:
    ax = AccuracyDisplay.from_summary(summary().iloc[[3]]).plot()
    segments = [container.lines[2][0].get_segments()[0][:, 1] for container in ax.containers]
    assert np.sort(segments, axis=None) == pytest.approx([0.15, 0.35, 0.7, 0.98])


def test_accuracy_axis_is_a_share_and_its_ticks_carry_n() -> None:
    ax = AccuracyDisplay.from_summary(summary()).plot()
    assert ax.get_ylabel() == "share of items"
    assert tick_labels(ax) == [
        "true passages\n(n = 10)",
        "false passages\n(n = 10)",
    ]
    assert ax.get_ylim()[0] <= 0 < 1 <= ax.get_ylim()[1]


def test_a_missing_accuracy_is_not_drawn() -> None:
    table = summary()
    table.loc[3, ["selective_accuracy", "selective_accuracy_low", "selective_accuracy_high"]] = np.nan
    assert len(drawn(AccuracyDisplay.from_summary(table).plot())) == 7


def test_the_legend_names_each_method_once_and_open_points_leave_out_what_is_missing() -> None:
    ax = AccuracyDisplay.from_summary(summary()).plot()
    assert sorted(legend_labels(ax)) == ["Few-Shot", "SR-DCR", "open: of the answers given"]
    faces = [container.lines[0].get_markerfacecolor() for container in ax.containers]
    assert faces == [COLOURS["few_shot"], "white", COLOURS["sr_dcr"], "white"]


# -- differences ------------------------------------------------------------------------------------------------------


def test_differences_are_filled_where_holm_says_so() -> None:
    rows = [("overall", "few_shot", 0.1, 0.02), ("overall", "rci", -0.05, 0.4), ("standard", "rci", 0.3, 0.01)]
    rows.append(("overall", "golden", -0.2, np.nan))  # it is told the truth, so nothing tests it
    table = pd.DataFrame(rows, columns=["condition", "b", "difference", "p_holm"])
    table = table.assign(a="sr_dcr", n=40, low=table["difference"] - 0.04, high=table["difference"] + 0.04)
    ax = DifferencesDisplay(table).plot()
    assert drawn(ax, 0) == [-0.2, -0.05, 0.1]
    assert [container.lines[0].get_markerfacecolor() for container in ax.containers] == [INK, "white", INK]
    assert [container.lines[0].get_fillstyle() for container in ax.containers] == ["full", "full", "left"]
    assert legend_labels(ax) == ["filled: p < 0.05 (Holm)", "open: p ≥ 0.05 (Holm)", "half: outside the family (Holm)"]
    assert tick_labels(ax, "y") == ["Few-Shot", "RCI", "Golden Baseline"]
    assert ax.get_xlabel() == "overall difference: SR-DCR less … (n = 40)"


def test_differences_of_records_are_their_comparisons() -> None:
    ran = ONE[ONE["method"].isin(["sr_dcr", "rci"])]
    table = DifferencesDisplay.from_records(ran).table
    assert table["difference"].tolist() == compare_all(ran)["difference"].tolist()


@pytest.mark.filterwarnings("error")
def test_differences_of_one_method_alone_are_an_empty_figure() -> None:
    display = DifferencesDisplay.from_records(ONE[ONE["method"] == "sr_dcr"])
    ax = display.plot()
    assert display.table.empty
    assert not drawn(ax)
    assert ax.get_xlabel() == "overall difference: nothing to compare"


def test_factors_are_named_by_their_levels() -> None:
    designs = {name: asdict(DESIGNS[name]) for name in ("acvd", "symmetric")}
    display = EffectsDisplay.from_factors(factor_effects(BOTH, designs))
    ax = display.plot()
    assert tick_labels(ax, "y") == ["critic sees: always − never"]
    assert drawn(ax, 0) == pytest.approx([display.table["difference"].iloc[0]])
    assert [text.get_text()[:2] for text in ax.texts] == ["p "]


def test_economies_say_what_they_save() -> None:
    half = BOTH.assign(calls_alone=np.where(BOTH["design"] == "symmetric", 10, 20))
    prices = EffectsDisplay.from_prices(economy_prices(half))
    assert list(prices.table["name"]) == ["Symmetric\nsaves 50% of the calls"]
    dear = EffectsDisplay.from_prices(economy_prices(half, "symmetric"))
    assert list(dear.table["name"]) == ["ACVD\ntakes 100% more calls"]


def test_equal_answers_have_no_interval() -> None:
    """An economy that changes no answer has no price, and nothing about that is uncertain."""
    twin = pd.concat([ONE, ONE[ONE["method"] == "sr_dcr"].assign(design="final verdict only")])
    prices = EffectsDisplay.from_prices(economy_prices(twin))
    assert list(prices.table["name"]) == ["final verdict only\nsaves 0% of the calls; same answers"]
    ax = prices.plot()
    assert drawn(ax, 0) == [0.0]
    assert all(np.isnan(end).all() for c in ax.containers for bar in c.lines[2] for end in bar.get_segments())


def test_factors_in_several_conditions_stand_in_one_row_each() -> None:
    """What a factor takes from true passages and gives to false ones is seen, where the mean of the two hides it."""
    designs = {name: asdict(DESIGNS[name]) for name in ("acvd", "symmetric")}
    parts = [factor_effects(BOTH, designs, condition=condition) for condition in CONDITIONS]
    display = EffectsDisplay.from_factors(pd.concat(parts))
    ax = display.plot()
    assert tick_labels(ax, "y") == ["critic sees: always − never"]
    assert drawn(ax, 0) == pytest.approx(sorted(display.table["difference"]))
    n = display.table.groupby("condition")["n"].max()
    assert legend_labels(ax)[:3] == [
        f"true passages (n = {n['standard']})",
        f"false passages (n = {n['perturbed']})",
        f"overall (n = {n['overall']})",
    ]
    assert set(legend_labels(ax)[3:]) <= {"filled: p < 0.05 (Holm)", "open: p ≥ 0.05 (Holm)"}


def test_a_point_is_filled_where_its_interval_leaves_out_zero() -> None:
    rows = pd.DataFrame({"difference": [0.2, 0.2], "low": [0.1, -0.1], "high": [0.3, 0.5], "name": ["sure", "unsure"]})
    ax = EffectsDisplay(rows).plot()
    assert [container.lines[0].get_markerfacecolor() for container in ax.containers] == [INK, "white"]
    assert legend_labels(ax) == ["filled: interval leaves out 0 (uncorrected)", "open: interval contains 0"]


# -- cost -------------------------------------------------------------------------------------------------------------


def test_cost_rows_go_from_cheap_to_dear_and_the_front_is_filled() -> None:
    display = CostDisplay.from_records(BOTH)
    ax = display.plot()
    rows = display.table.sort_values(["cost", "accuracy"], ascending=[True, False], kind="stable", ignore_index=True)
    marks = {}
    for container in ax.containers:
        line = container.lines[0]
        face = line.get_markerfacecolor() if line.get_fillstyle() == "full" else "half"
        marks |= {int(y): (x, face) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    told = rows["method"] == "golden"
    faces = rows["on_front"].map({True: INK, False: "white"}).mask(told, "half")
    assert [marks[place] for place in rows.index] == list(zip(rows["accuracy"], faces, strict=True))
    names = [label.partition("  (")[0] for label in tick_labels(ax, "y")]
    assert {"Few-Shot", "SR-DCR (Symmetric)", "Golden Baseline"} < set(names)
    best = next(line for line in ax.lines if line.get_drawstyle() == "steps-pre")
    reached = rows["accuracy"].where(~told).cummax().ffill()
    assert best.get_xdata() == pytest.approx(reached.to_numpy(), nan_ok=True)
    assert ax.get_xlabel().endswith("in parentheses: tokens per item")
    assert no_text_overlaps(ax)


# -- one question -----------------------------------------------------------------------------------------------------


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
    assert marks["decision USE_PRIOR"] == [[1854, 1874]]
    assert marks["decision USE_CONTEXT"] == [[1874, 1874]]
    assert marks["decision ABSTAIN"] == [[2074, 1854]]  # no answer: at the bottom, as the legend says
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("year the passage claims", "year answered")


# -- any figure -------------------------------------------------------------------------------------------------------


def test_each_plot_draws_on_the_axes_it_is_given() -> None:
    _, ax = plt.subplots()
    ran = ONE[ONE["method"].isin(["sr_dcr", "few_shot", "judge_debate_1"])]
    displays = (
        ContextPreferenceDisplay,
        PriorPreferenceByRoundDisplay,
        VerdictDisplay,
        DecisionFlowDisplay,
        CostDisplay,
    )
    assert all(display.from_records(ran).plot(ax) is ax for display in displays)
    assert AccuracyDisplay.from_summary(summary()).plot(ax) is ax


def test_a_figure_is_kept_three_ways(tmp_path: Path) -> None:
    display = AccuracyDisplay.from_summary(summary())
    display.plot()
    names = [path.name for path in save_figure(plt.gcf(), display.table, tmp_path / "new", "one")]
    assert names == ["one.png", "one.svg", "one.csv"]
    assert len(pd.read_csv(tmp_path / "new" / "one.csv")) == len(display.table)


def test_a_long_label_is_broken_under_the_figure(tmp_path: Path) -> None:
    ax = AccuracyDisplay.from_summary(summary_of(ONE)).plot()
    label = "; ".join(f"openai:a-model-of-a-long-name-{n}" for n in range(6))
    paths = save_figure(ax.figure, pd.DataFrame({"n": [1]}), tmp_path, "figure", label=label)
    assert printed_points(ax.figure) >= 7
    assert pd.read_csv(paths[-1])["label"].tolist() == [label]


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        display = AccuracyDisplay.from_summary(summary())
        display.plot()
        save_figure(plt.gcf(), display.table, tmp_path / folder, "one")
    for kind in ("png", "svg", "csv"):
        assert (tmp_path / "a" / f"one.{kind}").read_bytes() == (tmp_path / "b" / f"one.{kind}").read_bytes()


def test_the_label_stands_under_the_figure_and_in_the_table(tmp_path: Path) -> None:
    display = AccuracyDisplay.from_summary(summary())
    figure = display.plot().figure
    save_figure(figure, display.table, tmp_path, "one", label=LABEL)
    (text,) = figure.texts
    assert text.get_text() == LABEL
    assert text.get_window_extent().y1 < min(ax.get_tightbbox().y0 for ax in figure.axes)
    assert LABEL in (tmp_path / "one.svg").read_text("utf-8")
    table = pd.read_csv(tmp_path / "one.csv")
    assert table.columns[0] == "label"
    assert set(table["label"]) == {LABEL}


# -- every plot -------------------------------------------------------------------------------------------------------

KNOWN = ONE.drop_duplicates("question_id").assign(redraw_stability=0.9)
_EXPOSURES = KNOWN[["question_id"]].assign(exposures=5, true_share=0.8, rival_answer="1900", true_exposures=4)
_SEEDS = [("honest", seed, 0.9, 0.7, 0.8, 0.9) for seed in range(3)]
_DOCUMENTS = [
    (method, "exact_match", share, 0.5, 0.3, 0.7, 20) for method in ("madam_rag", "ra_rag") for share in (0.0, 0.5)
]


def _documents() -> pd.DataFrame:
    columns = ["method", "measure", "share_misinforming", "value", "low", "high", "n_items"]
    return pd.DataFrame(_DOCUMENTS, columns=columns)


def _recovery() -> pd.DataFrame:
    return pd.DataFrame(_SEEDS, columns=["world", "seed", "rank_correlation", "plain", "estimated", "oracle"])


EVERY = {
    "AccuracyDisplay": lambda: AccuracyDisplay.from_summary(summary_of(ONE)),
    "BiasDisplay": lambda: BiasDisplay.from_records(ONE),
    "CategoriesDisplay": lambda: CategoriesDisplay.from_questions(KNOWN),
    "ConfidenceHistogramDisplay": lambda: ConfidenceHistogramDisplay.from_questions(KNOWN),
    "ConfidenceKindsDisplay": lambda: ConfidenceKindsDisplay.from_confidences(
        pd.DataFrame({kind: KNOWN["self_confidence"].to_numpy() for kind in ("mean_probability", "p_true")})
    ),
    "ConsistencyByDrawsDisplay": lambda: ConsistencyByDrawsDisplay.from_agreement(np.eye(16, dtype=bool)),
    "ContextPreferenceDisplay": lambda: ContextPreferenceDisplay.from_records(ONE),
    "CostDisplay": lambda: CostDisplay.from_records(BOTH),
    "DecisionFlowDisplay": lambda: DecisionFlowDisplay.from_records(ONE),
    "DifferencesDisplay": lambda: DifferencesDisplay.from_records(ONE),
    "DrawsDisplay": lambda: DrawsDisplay.from_questions(KNOWN),
    "EffectsDisplay": lambda: EffectsDisplay.from_matched(matched_coverage(ONE.assign(context_confidence=0.5))),
    "ExposureDisplay": lambda: ExposureDisplay.from_questions(KNOWN, _EXPOSURES),
    "GatingDisplay": lambda: GatingDisplay.from_gating(Gating.from_records(ONE)),
    "GradedVerdictDisplay": lambda: GradedVerdictDisplay.from_records(
        BOTH.assign(p_unreasonable=np.where(BOTH["verdict"] == "UNREASONABLE", 0.8, 0.3))
    ),
    "OneQuestionDisplay": lambda: OneQuestionDisplay.from_records(records(), "q"),
    "OversightDisplay": lambda: OversightDisplay.from_records(BOTH),
    "PrecisionDisplay": lambda: PrecisionDisplay.from_questions(KNOWN),
    "PriorPreferenceByRoundDisplay": lambda: PriorPreferenceByRoundDisplay.from_records(ONE),
    "RatesDisplay": lambda: RatesDisplay.from_records(BOTH),
    "RedrawDisplay": lambda: RedrawDisplay.from_questions(KNOWN),
    "ReliabilityDisplay": lambda: ReliabilityDisplay.from_questions(KNOWN),
    "RiskCoverageDisplay": lambda: RiskCoverageDisplay.from_questions(KNOWN),
    "SampledAccuracyDisplay": lambda: SampledAccuracyDisplay.from_questions(KNOWN),
    "SurestDisplay": lambda: SurestDisplay.from_records(ONE.assign(context_confidence=0.5)),
    "TransferDisplay": lambda: TransferDisplay.from_questions(
        KNOWN["self_confidence"], KNOWN["prior_correct"], KNOWN["domain"],
        partial(thresholds.target_precision, alpha=0.2),
    ),
    "UtilityDisplay": lambda: UtilityDisplay.from_records(ONE),
    "VerdictDisplay": lambda: VerdictDisplay.from_records(BOTH),
    "documents.draw_majorities": lambda: partial(documents.draw_majorities, _recovery()),
    "documents.draw_recovery": lambda: partial(documents.draw_recovery, _recovery()),
    "documents.draw_sources": lambda: partial(
        documents.draw_sources,
        pd.DataFrame({"source": ["a", "b"], "accuracy": [0.6, 0.9], "reliability": [0.7, 0.8]}),
    ),
    "documents.draw_summary": lambda: partial(documents.draw_summary, _documents()),
    "stances.draw_accuracy": lambda: partial(stances.draw_accuracy, stances.accuracy_by_method(debated()[0])),
    "stances.draw_by_number": lambda: partial(
        stances.draw_by_number, stances.by_number(debated()[0], "stances"), "stances"
    ),
    "stances.draw_debate_ends": lambda: partial(stances.draw_debate_ends, stances.debate_ends(*debated())),
    "stances.draw_overconfidence": lambda: partial(stances.draw_overconfidence, stances.overconfidence(*debated())),
}  # fmt: skip


@cache
def display_of(name: str) -> Any:
    """What is drawn, computed once."""
    return EVERY[name]()


def drawn_by(name: str) -> Axes:
    return made() if callable(made := display_of(name)) else made.plot()


def test_the_walk_passes_every_plot() -> None:
    chapters = [path.stem for path in Path(srdcr_lab.__file__).parent.glob("*.py")] + ["transcripts.examples"]
    drawn = {f"{chapter}.{name}" for chapter in chapters for name in _drawn_in(chapter)}
    assert {name.split(".")[-1] for name in EVERY} == {name.split(".")[-1] for name in drawn}


def _drawn_in(chapter: str) -> list[str]:
    module = import_module(f"srdcr_lab.{chapter}")
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in own if name.endswith("Display") or name.startswith("draw_")]


@pytest.mark.parametrize("name", EVERY)
def test_a_plot_calls_methods_and_designs_by_their_names_and_can_be_read_in_print(name: str) -> None:
    ax = drawn_by(name)
    said = [text.get_text() for text in ax.figure.findobj(plt.Text)]
    codes = "|".join(map(re.escape, [*METHODS, *DESIGNS, "judge_sees_passage"]))
    assert not [text for text in said if re.search(rf"(?<![\w-])({codes})(?![\w-])", text)]
    assert printed_points(ax.figure) >= 7


@pytest.mark.parametrize("name", EVERY)
def test_a_plot_draws_a_method_in_its_colour(name: str) -> None:
    """Where a legend tells methods or designs apart, each has the colour of the table of names."""
    ax = drawn_by(name)
    by_name = {called(key): colour for key, colour in COLOURS.items()}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        colour = by_name.get(re.split(r": | \(n =", label)[0])
        line = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
        if colour is not None:
            shown = line.get_facecolor()[0] if isinstance(line, PathCollection) else line.get_color()
            assert to_hex(shown) == colour


def test_every_method_and_design_has_a_name_and_no_two_share_a_colour() -> None:
    assert set(METHOD_LABELS) == set(METHODS)
    assert set(DESIGN_LABELS) == set(DESIGNS)
    labels = [*METHOD_LABELS.values(), *DESIGN_LABELS.values()]
    assert len(set(labels)) == len(labels)
    assert COLOURS["acvd"] == COLOURS["sr_dcr"]  # the debate of SR-DCR
    others = {name: colour for name, colour in COLOURS.items() if name != "acvd"}
    assert len(set(others.values())) == len(others)
    own = ["few_shot", "acvd, rounds=3", "mine", "mine too", "acvd"]
    given = colours(own)
    assert len(set(given.values())) == len(own)
    assert not set(given.values()) & {COLOURS["symmetric"]}
