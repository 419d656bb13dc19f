"""HTML of counterfactual debates shows what their tables hold."""

from __future__ import annotations

import pytest

from srdcr_lab.records import AnswerType, Item, Option
from srdcr_lab.transcripts.views import options_html, stances_html
from tests.chapters.test_counterfactual_measures import debate, tables

pytestmark = pytest.mark.usefixtures("figures_closed")


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
