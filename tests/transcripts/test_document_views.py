"""Figures and HTML of debates over documents: values, labels, what is left out, and that nothing untrusted is live."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from srdcr_lab import documents
from srdcr_lab.data import load_items
from srdcr_lab.records import Request
from srdcr_lab.records.names import called
from srdcr_lab.study import Results, Study
from srdcr_lab.study.notebooks import SEQUENCE
from srdcr_lab.transcripts.views import documents_html, side_by_side
from tests.chapters.test_document_measures import ITEMS, records
from tests.figures import legend_labels, points, tick_labels, values
from tests.scripted import ScriptedModel

pytestmark = pytest.mark.usefixtures("figures_closed")

FOUR = "concatenate,madam_rag,ra_rag,dialectical"
WRITTEN = json.loads((SEQUENCE / "08_film.json").read_text("utf-8"))
FILM = load_items(pd.DataFrame([WRITTEN["question"]]))


# The worked example --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> Results:
    """What notebook 08 shows: every reply is written by hand."""
    script = {role: partial(_reply, lines) for role, lines in WRITTEN["script"].items()}
    return Study(ScriptedModel(script, logprobs=False), FILM, FOUR).run(progress=False)


def _reply(lines: list[list[str]], request: Request, draw: int) -> str:
    return next(reply for words, reply in lines if words in request.messages[-1].content)


def test_only_the_dialectical_debate_resolves_the_film(told: Results) -> None:
    rows = told.records.set_index("method")
    assert rows["correct"].to_dict() == dict.fromkeys(FOUR.split(","), False) | {"dialectical": True}
    assert rows["calls_alone"].to_dict() == {"concatenate": 1, "madam_rag": 6, "ra_rag": 2, "dialectical": 5}


def test_a_column_for_each_method_with_its_ending(told: Results) -> None:
    page = side_by_side(told.records, told.turns, "film")
    assert [page.count(f"<h4>{called(method)}</h4>") for method in FOUR.split(",")] == [1] * 4
    assert page.count("<b>Ines Holt, Raul Medin: wrong</b>") == 3
    assert page.count("<b>Ines Holt: right</b>") == 1
    assert "<b>Proponent of document 2</b> <small>round 1, saw its document and 2 turns</small>" in page
    assert "<small>1 call</small>" in page


def test_documents_are_shown_with_what_they_assert() -> None:
    page = documents_html(FILM.items[0])
    assert "directed by <mark>Ines Holt</mark>, who" in page
    assert "<small>document 2, misleading</small>" in page


def test_documents_and_replies_are_escaped(told: Results) -> None:
    evil = "<script>alert(1)</script>"
    document = replace(FILM.items[0].documents[0], text=evil, source=evil, document_id=evil)
    of = replace(FILM.items[0], question=evil, documents=(document,))
    assert "<script" not in documents_html(of)
    records_, turns = told.records.assign(final_answers=[[evil]] * 4), told.turns.assign(text=evil, speaker=evil)
    assert "<script" not in side_by_side(records_, turns, "film")
    failed = told.records.assign(final_answers=[[]] * 4, error=evil)
    assert "<script" not in side_by_side(failed, turns, "film")


# Figures -------------------------------------------------------------------------------------------------------------


def test_a_line_for_each_method_over_the_share_that_misleads() -> None:
    both = pd.concat([records(q1=("1874",), q2=("1901",), q3=("1874",)), records("madam_rag", q1=("1901",))])
    outcomes = documents.answer_outcomes(both, ITEMS)
    figure = documents.draw_summary(documents.document_summary(outcomes, "share_misinforming"))
    assert legend_labels(figure) == ["Concatenation", "MADAM-RAG"]
    (ax,) = figure.axes
    assert points(ax) == [(0, 1), (pytest.approx(1 / 3), 0), (pytest.approx(1 / 3), 1), (pytest.approx(2 / 3), 0)]
    assert ax.get_ylabel() == "exact match"


def test_a_share_of_nothing_has_no_point() -> None:
    outcomes = documents.answer_outcomes(records(q1=None, q2=("1874",)), ITEMS)
    table = documents.document_summary(outcomes, "share_misinforming")
    assert len(points(documents.draw_summary(table, measure="precision").axes[0])) == 1


def test_recovery_has_a_point_a_seed_and_its_mean() -> None:
    table = pd.DataFrame({"world": ["a"] * 3, "seed": [0, 1, 2], "rank_correlation": [0.8, 1.0, 0.75]}).assign(
        plain=0.7, estimated=0.8, oracle=0.9
    )
    assert values(documents.draw_recovery(table).axes[0]) == [0.75, 0.8, 1.0]
    assert values(documents.draw_majorities(table).axes[0]) == [0.7, 0.8, 0.9]


def test_sources_without_an_estimate_are_left_out() -> None:
    table = pd.DataFrame({"source": ["A", "B"], "accuracy": [0.9, 0.5], "reliability": [0.8, float("nan")]})
    assert tick_labels(documents.draw_sources(table).axes[0], "y") == ["A"]
