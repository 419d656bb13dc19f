"""Passages, debates, stances and documents as HTML and figures: what is shown, and that nothing untrusted is live."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from srdcr_lab import documents
from srdcr_lab.data import ItemSet
from srdcr_lab.records import AnswerType, Item, Option, Role, Turn, Verdict
from srdcr_lab.records.names import called
from srdcr_lab.study import Results, Study
from srdcr_lab.transcripts import documents_html, passage_html, stances_html
from tests.chapters.test_counterfactual_measures import debate, tables
from tests.chapters.test_document_measures import ITEMS, records
from tests.documents import challenges, rebuttal, says_what_it_reads, thesis_of_document
from tests.documents import item as documents_item
from tests.figures import legend_labels, points, tick_labels, values
from tests.scripted import ScriptedModel, item

EVIL = '<script>alert("x")</script>'
ITEM = replace(item(1934), question=f"When {EVIL}?", context=f"{EVIL} The bridge was built in 1934. {EVIL}")


def turn(role: Role, round_: int, text: str, verdict: Verdict | None = None, *, passage: bool = False) -> Turn:
    return Turn(round=round_, role=role, text=text, saw_passage=passage, saw_turns=(), verdict=verdict)


def test_a_passage_is_escaped_and_its_claim_marked() -> None:
    html = passage_html(ITEM)
    assert "<script" not in html
    assert "<mark>1934</mark>" in html
    assert "false: the answer is 1874" in html


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
    run.turns = turns.assign(method="mad")
    assert "There is no turn of cfmad" in stances_html(run, "q")


FOUR = "concatenate,madam_rag,ra_rag,dialectical"
HALL = documents_item(1874, 1901)
BOTH = "The documents contradict each other.\nanswers: 1874 | 1901"
SCRIPT: dict[str, Any] = {  # the second proponent concedes when it is challenged; every other system is stuck
    "documents_together": BOTH, "document_agent": says_what_it_reads, "documents_aggregator": BOTH,
    "proponent_thesis": thesis_of_document, "devils_advocate": challenges(d2="On what does your thesis rest?"),
    "proponent_rebuttal": rebuttal("concede", "1874"), "documents_judge": "Its proponent conceded.\nanswers: 1874",
}  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Results:
    return Study(ScriptedModel(SCRIPT, logprobs=False), ItemSet("hall", (HALL,), ()), FOUR).run(progress=False)


def test_only_the_dialectical_debate_ends_with_one_answer(run: Results) -> None:
    rows = run.records.set_index("method")
    assert rows["correct"].to_dict() == dict.fromkeys(FOUR.split(","), False) | {"dialectical": True}
    assert rows["calls_alone"].to_dict() == {"concatenate": 1, "madam_rag": 6, "ra_rag": 2, "dialectical": 5}


def test_documents_with_what_they_assert_and_a_column_for_each_method(run: Results) -> None:
    page = documents_html(run, HALL.item_id)
    assert "DOC2 opened in <mark>1901</mark>." in page
    assert "<small>document 2, misleading</small>" in page
    assert [page.count(f"<h4>{called(method)}</h4>") for method in FOUR.split(",")] == [1] * 4
    assert page.count("<b>1874, 1901: wrong</b>") == 3
    assert page.count("<b>1874: right</b>") == 1
    assert "<b>Proponent of document 2</b> <small>round 1, saw its document and 2 turns</small>" in page
    assert "<small>1 call</small>" in page


@pytest.mark.parametrize("error", [None, "<script>alert(1)</script>"])
def test_documents_and_replies_are_escaped(run: Results, error: str | None) -> None:
    evil = "<script>alert(1)</script>"
    document = replace(HALL.documents[0], text=evil, source=evil, document_id=evil)
    hostile: Any = SimpleNamespace(
        items={HALL.item_id: replace(HALL, question=evil, documents=(document,))},
        records=run.records.assign(final_answers=[[] if error else [evil]] * 4, error=error),
        turns=run.turns.assign(text=evil, speaker=evil),
    )
    assert "<script" not in documents_html(hostile, HALL.item_id)


@pytest.mark.usefixtures("figures_closed")
def test_a_panel_for_each_method_over_the_share_that_misleads() -> None:
    both = pd.concat([records(q1=("1874",), q2=("1901",), q3=("1874",)), records("madam_rag", q1=("1901",))])
    table = documents.document_summary(documents.answer_outcomes(both, ITEMS), "share_misinforming")
    figure = documents.draw_summary(table)
    assert legend_labels(figure) == ["every right answer, no wrong one", "a misleading answer adopted"]
    one, other = figure.axes
    thirds = [
        sorted((round(3 * x), y) for x, y in points(ax)) for ax in (one, other)
    ]  # points of one x lie side by side
    assert thirds == [[(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)], [(1, 0), (1, 1)]]  # right, and misled, of q3, q1 and q2
    assert [one.get_title(), other.get_title()] == ["Concatenation", "MADAM-RAG"]


@pytest.mark.usefixtures("figures_closed")
def test_majorities_are_means_over_the_seeds_and_sources_without_an_estimate_are_left_out() -> None:
    table = pd.DataFrame({"world": ["a"] * 3, "plain": [0.6, 0.7, 0.8], "estimated": 0.8, "oracle": 0.9})
    assert values(documents.draw_majorities(table).axes[0]) == pytest.approx([0.7, 0.8, 0.9])
    table = pd.DataFrame({"source": ["A", "B"], "accuracy": [0.9, 0.5], "reliability": [0.8, float("nan")]})
    assert tick_labels(documents.draw_sources(table.assign(perfect_reader=0.9)).axes[0], "y") == ["A"]
