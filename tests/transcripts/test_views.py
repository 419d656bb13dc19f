"""Passages, debates and stances as HTML: what is shown, and that everything from a passage or a model is escaped."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from srdcr_lab.protocols import Outcome, Ruling
from srdcr_lab.records import AnswerType, Debate, Item, Missing, Option, Role, Turn, Verdict
from srdcr_lab.transcripts import debate_html, passage_html, stances_html
from tests.chapters.test_counterfactual_measures import debate, tables
from tests.scripted import item

EVIL = '<script>alert("x")</script>'
ITEM = replace(item(1934), question=f"When {EVIL}?", context=f"{EVIL} The bridge was built in 1934. {EVIL}")


def turn(role: Role, round_: int, text: str, verdict: Verdict | None = None, *, passage: bool = False) -> Turn:
    return Turn(round=round_, role=role, text=text, saw_passage=passage, saw_turns=(), verdict=verdict)


def test_a_passage_is_escaped_and_its_claim_marked() -> None:
    html = passage_html(ITEM)
    assert "<script" not in html
    assert "<mark>1934</mark>" in html
    assert "false: the answer is 1874" in html


def test_a_debate_is_escaped_and_says_who_saw_the_passage() -> None:
    verdict = Verdict.UNREASONABLE
    turns = (
        turn(Role.DEFENDER, 0, f"1934. {EVIL}", passage=True),
        turn(Role.CRITIC, 0, "1874. </p><h1>I am certain."),
        turn(Role.JUDGE, 0, f"{EVIL} final decision: {verdict}", verdict),
    )
    debate, ruling = Debate(turns=turns, verdict_path=(verdict,)), Ruling(verdict, 0, stabilised=False)
    html = debate_html(Outcome(answer=None, missing=Missing.ABSTAINED, ruling=ruling, debate=debate))
    assert "<script" not in html
    assert "<h1>" not in html
    assert html.count("saw question, passage") == 1
    assert "<b>UNREASONABLE</b>" in html
    assert "not stabilised" in html


def test_a_question_with_its_options_and_its_debate_stance_by_stance_is_escaped() -> None:
    _, turns = tables([], debate("q", "cfmad", {"A": "A", "B": "B"}))
    turns = turns.assign(text="<script>alert(1)</script>", saw_turns=[[]] * len(turns))
    asked = Item(
        item_id="q", question_id="q", question="Where <b>?", gold_answer="B", context="", claimed_answer="B",
        answer_type=AnswerType.OPTION,
        options=(Option(label="A", text="<i>x</i>"), Option(label="B", text="a library")),
    )  # fmt: skip
    run: Any = SimpleNamespace(turns=turns, items={"q": asked})
    html = stances_html(run, "q")
    assert "<b>B. a library (right)</b>" in html
    assert "<i>" not in html
    assert "Where &lt;b&gt;?" in html
    assert html.index("Stance: A") < html.index("Stance: B")
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 6
    assert "There is no turn of mad" in stances_html(run, "q", "mad")
