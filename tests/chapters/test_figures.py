"""Every figure draws what its table holds, is readable in print, and is saved with its data."""

import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import srdcr_lab
from srdcr_lab import calibration_in_depth as depth
from srdcr_lab import (
    chains,
    confidence,
    debates,
    designs,
    documents,
    elsewhere,
    evaluation,
    final_answer,
    knowledge,
    models_compared,
    preference,
    stances,
    thresholds,
)
from srdcr_lab.lib import calibration, draw
from srdcr_lab.lib.calibration import reliability_curve
from srdcr_lab.lib.comparison import compare_all, over_repeats
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.gating import decision_flow
from srdcr_lab.lib.summary import summary
from srdcr_lab.protocols import DESIGNS, METHODS
from srdcr_lab.records.names import COLOURS, called, markers
from srdcr_lab.study import Results
from tests import figures
from tests.chains import chain, ran, ruling
from tests.chapters.test_counterfactual_measures import debated
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

LABEL = "pocket: a model organism, no evidence about any large model"
BOTH = simulated(40, ("acvd", "symmetric"))
ONE = BOTH[BOTH["design"].isna() | (BOTH["design"] == "acvd")]
CONTROLLED = simulated(40, ("acvd", "judge_alone", "two_answers"))
WEIGHED = ONE.assign(context_confidence=0.5)
KNOWN = ONE.drop_duplicates("question_id").assign(redraw_stability=0.9)
GRADED = BOTH.assign(p_unreasonable=np.where(BOTH["verdict"] == "UNREASONABLE", 0.8, 0.3))
PAIR = pd.DataFrame({kind: KNOWN["self_confidence"].to_numpy() for kind in ("mean_probability", "p_true")})
RECOVERY = pd.DataFrame(
    [("honest", seed, 0.9, 0.7, 0.8, 0.9) for seed in range(3)],
    columns=["world", "seed", "rank_correlation", "plain", "estimated", "oracle"],
)
SOURCES = pd.DataFrame(
    {"source": ["a", "b"], "accuracy": [0.6, 0.9], "reliability": [0.7, 0.8], "perfect_reader": [0.6, 0.9]}
)
DOCUMENTS = pd.DataFrame(
    [(m, "exact_match", share, 0.5, 0.3, 0.7, 20) for m in ("madam_rag", "ra_rag") for share in (0.0, 0.5)],
    columns=["method", "measure", "share_misinforming", "value", "low", "high", "n_items"],
)
SAID = ["model", "item_id", "question_id", "method", "design", "role", "speaker", "position", "text"]
BY_MODEL = [pd.concat([table.assign(model=name) for name in ("one", "other")]) for table in (ONE, KNOWN)]
REPLIES = elsewhere.load_replies(["GPT-4.1", "Claude 3.7 Sonnet"])
MODELS = models_compared.Models(*BY_MODEL, pd.DataFrame(columns=SAID), {}, "one; other")


def _repeats() -> pd.DataFrame:
    return over_repeats(summary, pd.concat([ONE.assign(repeat=n) for n in (1, 2)], ignore_index=True))


def _factors() -> pd.DataFrame:
    return designs.factor_table(BOTH, [DESIGNS["acvd"], DESIGNS["symmetric"]])


def _steps() -> calibration.PrecisionSteps:
    return confidence.precision_steps(KNOWN["self_confidence"], KNOWN["prior_correct"])


@cache
def _chains() -> Results:
    return ran(chain(), chain(1), chain(2), judge=ruling("Chad", "Cairo"), names="few_shot,sr_dcr_per_hop")[1]


def _curve() -> pd.DataFrame:
    return reliability_curve(KNOWN["self_confidence"], KNOWN["prior_correct"])


def _transfer() -> pd.DataFrame:
    choose = partial(thresholds.naive_threshold, alpha=0.2)
    return thresholds.transfer(KNOWN["self_confidence"], KNOWN["prior_correct"], KNOWN["domain"], choose)


EVERY: dict[str, Callable[[], Figure]] = {
    "knowledge.draw_categories": lambda: knowledge.draw_categories(knowledge.categories_by_domain(KNOWN)),
    "knowledge.draw_draws": lambda: knowledge.draw_draws(knowledge.categories_by_draws(KNOWN)),
    "knowledge.draw_redraws": lambda: knowledge.draw_redraws(knowledge.outcomes_of_draws(KNOWN)),
    "confidence.draw_confidence": lambda: confidence.draw_confidence(confidence.confidence_histogram(KNOWN)),
    "confidence.draw_precision": lambda: confidence.draw_precision(
        confidence.precision_steps(KNOWN["self_confidence"], highly_known(KNOWN)).frame()
    ),
    "confidence.draw_reliability": lambda: confidence.draw_reliability(_curve()),
    "preference.draw_biases": lambda: preference.draw_biases(preference.biases_by(ONE)),
    "preference.draw_endings": lambda: preference.draw_endings(preference.endings_by(ONE)),
    "preference.draw_preference": lambda: preference.draw_preference(preference.preference_by(ONE)),
    "debates.draw_graded": lambda: debates.draw_graded(debates.rates_by_kappa(GRADED)),
    "debates.draw_prior_preference": lambda: debates.draw_prior_preference(
        debates.prior_preference_by_round(ONE, by=())
    ),
    "debates.draw_r_star": lambda: debates.draw_r_star(debates.r_star_distribution(BOTH)),
    "debates.draw_verdicts": lambda: debates.draw_verdicts(debates.verdicts_by_round(BOTH)),
    "designs.draw_controls": lambda: designs.draw_controls(designs.over_controls(CONTROLLED)),
    "designs.draw_economies": lambda: designs.draw_economies(designs.economy_prices(BOTH)),
    "designs.draw_factors": lambda: designs.draw_factors(_factors()),
    "debates.draw_plane": lambda: debates.draw_plane(debates.right_by_half(BOTH)),
    "evaluation.draw_accuracy": lambda: evaluation.draw_accuracy(summary(ONE)),
    "evaluation.draw_comparisons": lambda: evaluation.draw_comparisons(compare_all(ONE, "sr_dcr")),
    "evaluation.draw_cost": lambda: evaluation.draw_cost(evaluation.cost_accuracy(BOTH)),
    "evaluation.draw_false_passages": lambda: evaluation.draw_false_passages(evaluation.false_passages(ONE)),
    "final_answer.draw_decisions": lambda: final_answer.draw_decisions(decision_flow(ONE)),
    "final_answer.draw_matched": lambda: final_answer.draw_matched(final_answer.matched_coverage(WEIGHED)),
    "final_answer.draw_repeats": lambda: final_answer.draw_repeats(_repeats()),
    "final_answer.draw_surest": lambda: final_answer.draw_surest(final_answer.surest_answers(WEIGHED)),
    "final_answer.draw_utility": lambda: final_answer.draw_utility(final_answer.utility(ONE, [0, 1, 2])),
    "thresholds.draw_risk_coverage": lambda: thresholds.draw_risk_coverage(
        confidence.risk_coverage(_steps()), thresholds.both_choices(KNOWN), 0.1
    ),
    "thresholds.draw_passages": lambda: thresholds.draw_passages(thresholds.passages_by_level(ONE)),
    "calibration_in_depth.draw_consistency": lambda: depth.draw_consistency(
        depth.consistency_by_draws(np.eye(16, dtype=bool))
    ),
    "calibration_in_depth.draw_kinds": lambda: depth.draw_kinds(PAIR),
    "calibration_in_depth.draw_transfer": lambda: depth.draw_transfer(_transfer()),
    "stances.draw_by_number": lambda: stances.draw_by_number(stances.by_number(debated()[0])),
    "stances.draw_debate_ends": lambda: stances.draw_debate_ends(stances.debate_ends(*debated())),
    "stances.draw_overconfidence": lambda: stances.draw_overconfidence(stances.overconfidence(*debated())),
    "documents.draw_majorities": lambda: documents.draw_majorities(RECOVERY),
    "documents.draw_sources": lambda: documents.draw_sources(SOURCES),
    "documents.draw_summary": lambda: documents.draw_summary(DOCUMENTS),
    "chains.draw_chain_answers": lambda: chains.draw_chain_answers(chains.chain_answers(_chains().records)),
    "chains.draw_localisation": lambda: chains.draw_localisation(chains.localisation(chains.hop_table(_chains()))),
    "elsewhere.draw_at": lambda: elsewhere.draw_at(elsewhere.at_tau(REPLIES, 0.9)),
    "elsewhere.draw_over_tau": lambda: elsewhere.draw_over_tau(
        elsewhere.at_tau(REPLIES, 0.5, 0.8, 0.9, 1.0), ["GPT-4.1"], 0.9
    ),
    "elsewhere.draw_ranks": lambda: elsewhere.draw_ranks(elsewhere.ranks(REPLIES)),
    "elsewhere.draw_risk": lambda: elsewhere.draw_risk(elsewhere.carried(REPLIES), "applied_to", 0.2),
    "models_compared.draw_knowledge": lambda: models_compared.draw_knowledge(models_compared.knowledge(MODELS)),
    "models_compared.draw_leads": lambda: models_compared.draw_leads(models_compared.leads(MODELS)),
    "models_compared.draw_models": lambda: models_compared.draw_models(models_compared.compare_models(MODELS)),
}


@cache
def drawn(name: str) -> Figure:
    return EVERY[name]()


def test_the_walk_passes_every_figure() -> None:
    drawing = set()
    for path in Path(srdcr_lab.__file__).parent.glob("*.py"):
        chapter = import_module(f"srdcr_lab.{path.stem}")
        own = {name for name, made in vars(chapter).items() if getattr(made, "__module__", "") == chapter.__name__}
        drawing |= {f"{path.stem}.{name}" for name in own if name.startswith("draw_")}
    assert set(EVERY) == drawing


@pytest.mark.parametrize("name", EVERY)
def test_a_figure_can_be_read_in_print_and_calls_things_by_their_names(name: str) -> None:
    figure = drawn(name)
    codes = "|".join(map(re.escape, [*METHODS, *DESIGNS, "judge_sees_passage"]))
    assert not [text for text in figures.said(figure) if re.search(rf"(?<![\w-])({codes})(?![\w-])", text)]
    assert figures.printed_points(figure) >= 7
    assert figures.nothing_overlaps(figure)


def test_a_method_has_its_colour_and_its_mark_in_every_legend() -> None:
    by_name, compared = {called(key): colour for key, colour in COLOURS.items()}, set()
    for legend in (legend for name in EVERY for legend in drawn(name).legends):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if text.get_text() in by_name:
                assert to_hex(handle.get_color()) == by_name[text.get_text()]
                assert [handle.get_marker()] == [*markers([text.get_text()]).values()]
                compared.add(text.get_text())
    assert {"SR-DCR", "Few-Shot"} <= compared


# What is drawn is what the table holds
def test_marks_at_one_place_are_parts_of_a_disc_and_another_has_the_mark_of_its_name() -> None:
    table = pd.DataFrame({"x": [0.5, 0.5, 0.9], "y": [0.25, 0.25, 0.9], "who": ["a", "b", "c"], "coverage": 0.5})
    table = table.assign(**{f"{axis}_{end}": 0.4 for axis in "xy" for end in ("low", "high")})
    figure = draw.plane(table, "x", "y", "who", ("x", "y"), {"a": "red", "b": "blue", "c": "green"})
    assert figures.points(figure.axes[0]) == [(0.5, 0.25), (0.5, 0.25), (0.9, 0.9)]
    half, _, alone = (mark.get_paths()[0] for mark in figure.axes[0].collections if mark.get_offsets().any())
    assert len(alone) == 4 < len(half)  # a triangle, and a disc's half
    assert "a divided disc (anticlockwise from its top): a, b; bars: 95 % intervals" in figures.said(figure)


def test_rows_are_points_with_their_intervals_and_few_are_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plt.rcParams, "font.family", ["serif"])  # as a user sets it
    table = pd.DataFrame({"who": ["$5 to $9", r"$\frac$"], "share": [0.2, 0.5], "low": [0.1, 0.3], "high": [0.4, 0.9]})
    figure = draw.rows(table.assign(n_questions=[10, 9]), "share", "who", "share of answers")
    (ax,) = figure.axes
    assert figures.tick_labels(ax, "y") == ["$5 to $9", r"$\frac$"]
    assert {label.get_fontname() for label in ax.get_yticklabels()} == {"DejaVu Serif"}
    assert figures.values(ax) == [0.2, 0.5]
    assert figures.spans(ax) == [(0.1, 0.4), (0.3, 0.9)]
    assert figures.point_colours(ax) == {draw.INK, "#949494"}
    assert "grey: fewer than 10 questions; bars: 95 % intervals" in figures.said(figure)


def test_no_line_joins_a_point_of_few() -> None:
    table = pd.DataFrame({"x": [0, 1, 2], "share": [0.1, 0.5, 0.3], "low": 0.0, "high": 1.0, "n": [10, 9, 20]})
    (ax,) = draw.lines(table, "x", "share", ("x", "share"), points=True).axes
    assert figures.points(ax) == [(0, 0.1), (1, 0.5), (2, 0.3)]
    (line,) = ax.lines
    assert line.get_xydata()[~np.isnan(line.get_xydata()).any(axis=1)].tolist() == [[0, 0.1], [2, 0.3]]


def test_steps_hold_from_the_value_before_by_hand() -> None:
    steps = draw.as_steps(pd.DataFrame({"tau": [0.5, 0.9], "share": [0.4, 0.8]}), "tau")
    assert steps.to_numpy().tolist() == [[0.5, 0.4], [0.5, 0.4], [0.5, 0.8], [0.9, 0.8]]


def test_a_differences_mark_is_hollow_where_nothing_is_shown_and_a_row_may_be_not_tested() -> None:
    table = pd.DataFrame({"name": ["a", "b"], "difference": [0.1, 0.3], "low": [-0.1, 0.1], "high": [0.3, 0.5]})
    assert figures.legend_labels(draw.differences(table, "difference")) == [
        "interval leaves out 0",
        "interval contains 0",
    ]
    by_p = draw.differences(table.assign(p_holm=[0.01, 0.2]), "difference")
    assert figures.legend_labels(by_p) == ["Holm's p < 0.05", "Holm's p ≥ 0.05"]
    assert figures.values(by_p.axes[0]) == [0.1, 0.3]
    table = pd.DataFrame({"name": ["a", "b", "a"], "condition": ["one", "one", "other"], "difference": [0.1, 0.2, 0.3]})
    figure = draw.differences(table.assign(low=0.0, high=0.5), "difference")
    assert [[text.get_text() for text in ax.texts] for ax in figure.axes] == [[], ["not tested"]]


def test_a_line_breaks_at_a_level_without_a_point() -> None:
    levels = {"x": ["near", "middle", "far", "near", "far"], "who": ["a", "a", "a", "b", "b"], "share": 0.5}
    (ax,) = draw.lines(pd.DataFrame(levels), "x", "share", ("x", "share"), hue="who", points=True).axes
    assert [np.isnan(np.asarray(line.get_ydata(), float)).any() for line in ax.lines] == [False, True]
    table = pd.DataFrame({"x": [0.1, 0.2] * 2, "who": list("aabb"), "share": [0.5, 0.6, np.nan, np.nan]})
    assert draw.lines(table, "x", "share", ("x", "share"), hue="who").axes  # nothing of b is there to be marked


def test_a_method_that_never_answers_has_no_point_and_no_bar_and_is_named() -> None:
    silent = ONE["method"] == "sr_dcr"
    records = ONE.assign(correct=ONE["correct"].astype("boolean").mask(silent))
    records["final_answer"] = records["final_answer"].mask(silent)
    plane = debates.draw_plane(debates.right_by_half(records, answers=True), answers=True)
    assert any(text.startswith("no answers: SR-DCR") for text in figures.said(plane))
    assert "SR-DCR" not in figures.legend_labels(plane)
    bars = evaluation.draw_false_passages(evaluation.false_passages(records))
    assert [text.get_text() for text in bars.axes[0].texts] == ["no answers"]


def test_accuracies_are_those_of_the_summary() -> None:
    table = summary(ONE)
    figure = drawn("evaluation.draw_accuracy")
    assert [ax.get_title() for ax in figure.axes] == ["true passages", "false passages", "mean of both"]
    for ax, condition in zip(figure.axes, ("standard", "perturbed", "overall"), strict=True):
        rows = table[table["condition"] == condition]
        both = [*rows["accuracy"], *rows["selective_accuracy"].dropna()]
        assert figures.values(ax) == pytest.approx(sorted(both), abs=1e-6)


def test_the_parts_of_each_bar_sum_to_one() -> None:
    (ax,) = drawn("knowledge.draw_categories").axes
    table = knowledge.categories_by_domain(KNOWN)
    assert sum(patch.get_width() for patch in ax.patches) == pytest.approx(table["domain"].nunique())
    (ends,) = drawn("stances.draw_debate_ends").axes
    assert sum(patch.get_width() for patch in ends.patches) == pytest.approx(len(figures.tick_labels(ends, "y")))


def test_reliability_is_the_curve_and_its_diagonal() -> None:
    held = _curve().query("n > 0")
    (ax,) = drawn("confidence.draw_reliability").axes
    assert figures.values(ax) == pytest.approx(sorted(held["mean_confidence"]), abs=1e-6)
    assert figures.values(ax, 1) == pytest.approx(sorted(held["frequency"]), abs=1e-6)
    assert [0, 1] in [list(line.get_xdata()) for line in ax.lines]


def test_each_model_has_a_panel_of_its_own() -> None:
    both = pd.concat([GRADED, GRADED.assign(model="two")], ignore_index=True)
    figure = debates.draw_graded(debates.rates_by_kappa(both))
    assert [ax.get_title() for ax in figure.axes] == ["simulated", "two"]


def test_what_cannot_be_drawn_says_why() -> None:
    none, compared = ONE.iloc[:0], pd.DataFrame(columns=["n", "a", "b", "difference", "low", "high", "p_holm"])
    for figure in (
        preference.draw_preference(preference.preference_by(none)),
        confidence.draw_confidence(confidence.confidence_histogram(KNOWN.iloc[:0])),
        debates.draw_verdicts(debates.verdicts_by_round(none)),
        debates.draw_plane(debates.right_by_half(none)),
        evaluation.draw_cost(evaluation.cost_accuracy(BOTH).iloc[:0]),
        draw.rows(pd.DataFrame({"who": []}), "share", "who", "share"),
        draw.differences(
            pd.DataFrame({"name": ["a"], "difference": np.nan, "low": np.nan, "high": np.nan}), "difference"
        ),
        evaluation.draw_comparisons(compared),
        documents.draw_summary(DOCUMENTS.iloc[:0]),
        final_answer.draw_matched(final_answer.matched_coverage(ONE[ONE["method"] == "sr_dcr"])),
        depth.draw_transfer(thresholds.transfer([], [], [], thresholds.naive_threshold)),
    ):
        (text,) = figures.said(figure)
        assert text.startswith(("no ", "nothing "))


@pytest.mark.parametrize("draws", [1, 5, 16, 30])
def test_self_consistency_has_a_bin_for_each_share_of_its_draws(draws: int) -> None:
    shares = pd.DataFrame({"self_confidence": np.arange(draws + 1) / draws, "knowledge_category": "UNKNOWN"})
    bins = confidence.confidence_histogram(shares.assign(confidence_kind="self_consistency")).groupby("left")["n"].sum()
    assert bins.tolist() == [1] * (draws + 1)


@pytest.mark.filterwarnings("error:constrained_layout")
def test_the_endings_of_one_domain_have_room() -> None:
    plt.close(preference.draw_endings(preference.endings_by(ONE[ONE["domain"] == ONE["domain"].iloc[0]])))


# Files
def test_a_figure_is_saved_with_its_data_and_label(tmp_path: Path) -> None:
    table = summary(ONE)
    for folder in ("a", "b"):
        figure = evaluation.draw_accuracy(table)
        paths = draw.save_figure(figure, table, tmp_path / folder, "one", label=LABEL)
        assert [path.name for path in paths] == ["one.png", "one.svg", "one.csv"]
        draw.save_figure(figure, table, tmp_path / folder, "one", label=LABEL)
        (below,) = (text.get_text() for text in figure.texts if text.get_text().startswith(LABEL))  # saved twice
        assert below.replace("\n", " ") == f"{LABEL}; n = 40 questions"
        assert figures.nothing_overlaps(figure)
    for path in paths:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    saved = pd.read_csv(paths[-1])
    assert (saved.columns[0], set(saved["label"]), len(saved)) == ("label", {LABEL}, len(table))


def test_a_long_label_is_broken_under_the_figure(tmp_path: Path) -> None:
    figure = evaluation.draw_accuracy(summary(ONE))
    label = "; ".join(f"openai:a-model-of-a-long-name-{n}" for n in range(6))
    draw.save_figure(figure, pd.DataFrame({"n": [1]}), tmp_path, "figure", label=label)
    assert figures.printed_points(figure) >= 7
    plt.close(figure)
