"""HTML of counterfactual debates shows what their tables hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from srdcr_lab.records import AnswerType, Item, Option
from srdcr_lab.transcripts import stances_html
from tests.chapters.test_counterfactual_measures import debate, tables


def test_a_question_with_its_options_and_its_debate_stance_by_stance_is_escaped() -> None:
    _, turns = tables([], debate("q", "cfmad", {"A": "A", "B": "B"}))
    turns = turns.assign(text="<script>alert(1)</script>", saw_turns=[[]] * len(turns))
    item = Item(
        item_id="q", question_id="q", question="Where <b>?", gold_answer="B", context="", claimed_answer="B",
        answer_type=AnswerType.OPTION,
        options=(Option(label="A", text="<i>x</i>"), Option(label="B", text="a library")),
    )  # fmt: skip
    run: Any = SimpleNamespace(turns=turns, items={"q": item})
    html = stances_html(run, "q")
    assert "<b>B. a library (right)</b>" in html
    assert "<i>" not in html
    assert "Where &lt;b&gt;?" in html
    assert html.index("Stance: A") < html.index("Stance: B")
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 6
    assert "There is no turn of mad" in stances_html(run, "q", "mad")
