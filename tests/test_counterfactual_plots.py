"""Figures and HTML of counterfactual debates draw what their tables hold."""

from __future__ import annotations

import numpy as np
import pytest

from srdcr_lab import stances
from srdcr_lab.records import AnswerType, Item, Option
from srdcr_lab.transcripts.views import options_html, stances_html
from tests.figures import drawn, legend_labels, tick_labels
from tests.test_counterfactual_measures import agents, debate, debated, record, tables

pytestmark = pytest.mark.usefixtures("figures_closed")


def test_methods_stand_one_a_row_with_what_was_answered() -> None:
    rows, _ = tables([record("x", "cot", "B"), record("y", "cot", None), record("x", "mad", "B")], [])
    ax = stances.draw_accuracy(stances.accuracy_by_method(rows))
    assert tick_labels(ax, "y") == ["CoT  (1/2 answered)", "MAD  (1/1 answered)"]
    assert drawn(ax, 0) == [0.5, 1.0]
    assert ax.get_xlabel() == "share of questions that are right\n(grey: fewer than 10 questions)"
    assert legend_labels(ax) == ["guessing: 0.20"]


def test_claims_are_drawn_by_macro_f1() -> None:
    ax = stances.draw_accuracy(stances.accuracy_by_method(debated()[0]))
    assert ax.get_xlabel().startswith("macro-F1")
    assert legend_labels(ax) == ["guessing: 0.50"]


def test_the_parts_of_a_debates_bar_sum_to_one() -> None:
    ax = stances.draw_debate_ends(stances.debate_ends(*debated()))
    widths = [patch.get_width() for patch in ax.patches]
    assert len(widths) == 5
    assert sum(widths) == pytest.approx(1)
    assert ax.get_yticklabels()[0].get_text() == "CFMAD  (n = 6)"


def test_overconfidence_names_its_errors() -> None:
    turns = agents("q", "mad", ["agent-0", "agent-1", "agent-2"], ["A", "A", "A"])
    ax = stances.draw_overconfidence(stances.overconfidence(*tables([record("q", "mad", "A")], turns)))
    assert ax.get_yticklabels()[0].get_text() == "MAD  (errors: 1)"
    assert drawn(ax, 0) == [1.0]
    assert ax.get_xlabel().endswith("(grey: fewer than 10 errors)")


@pytest.mark.parametrize("what", ["stances", "rounds"])
def test_numbers_are_the_ticks(what: str) -> None:
    finals = {"cfmad": "B", f"cfmad_{what}_3": "A"}
    rows, _ = tables([record("q", method, final) for method, final in finals.items()], [])
    ax = stances.draw_by_number(stances.by_number(rows, what), what)
    assert ax.get_xticks().tolist() == [2 if what == "stances" else 1, 3]
    assert drawn(ax) == [0, 1]


def test_nothing_to_draw_is_an_empty_figure() -> None:
    rows, turns = tables([record("q", "cot", "B")], [])
    assert not stances.draw_debate_ends(stances.debate_ends(rows, turns)).patches
    assert not np.size(stances.draw_overconfidence(stances.overconfidence(rows, turns)).lines[0].get_xdata())
    none = stances.by_number(rows, "stances")
    assert none.empty
    stances.draw_by_number(none, "stances")


def test_the_html_of_a_debate_goes_stance_by_stance_and_is_escaped() -> None:
    _, turns = tables([], debate("q", "cfmad", {"A": "A", "B": "B"}))
    turns = turns.assign(text="<script>alert(1)</script>", saw_turns=[[]] * len(turns))
    html = stances_html(turns, "q")
    assert html.index("Stance: A") < html.index("Stance: B")
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 6
    assert "There is no turn of mad" in stances_html(turns, "q", "mad")


def test_the_right_option_is_marked_and_hostile_text_is_inert() -> None:
    item = Item(
        item_id="q", question_id="q", question="Where <b>?", gold_answer="B", context="", claimed_answer="B",
        answer_type=AnswerType.OPTION,
        options=(Option(label="A", text="<i>x</i>"), Option(label="B", text="a library")),
    )  # fmt: skip
    html = options_html(item)
    assert "<b>B. a library (right)</b>" in html
    assert "<i>" not in html
    assert "Where &lt;b&gt;?" in html
