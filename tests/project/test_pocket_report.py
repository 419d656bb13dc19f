"""What `make pocket-report` makes of the tables of a study: worked examples by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from srdcr_lab import prompts
from tests import training_code
from tests.documents import challenges, thesis
from tests.scripted import ScriptedModel


@pytest.fixture(scope="module")
def report() -> SimpleNamespace:
    return SimpleNamespace(findings=training_code.module("findings"), script=training_code.module("report"))


def _questions(accuracy: list[float], category: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "question_id": [f"q{n}" for n in range(len(accuracy))],
            "domain": "years",
            "sampled_accuracy": accuracy,
            "knowledge_category": category,
            "self_confidence": [0.95 if a >= 0.85 else 0.3 for a in accuracy],
            "prior_answer": "1874",
        }
    )


def _same(question_id: str, one: str, other: str) -> bool:
    return one == other


def test_knowledge_is_held_against_its_targets(report: SimpleNamespace) -> None:
    categories = ["HIGHLY_KNOWN", "HIGHLY_KNOWN", "MAYBE_KNOWN", "UNKNOWN"]
    questions = _questions([1.0, 0.9, 0.5, 0.0], categories)
    exposures = pd.DataFrame(
        {"question_id": ["q0", "q1", "q2", "q3"], "exposures": [40, 20, 9, 0], "true_exposures": [40, 20, 5, 0]}
    )
    found = {row.name: row for row in report.findings.knowledge(questions, exposures)}
    assert found["share of questions that are HIGHLY_KNOWN"].value == 0.5
    assert found["share of questions that are WEAKLY_KNOWN"].met is False
    assert found["Spearman of true exposures and sampled accuracy"].value == pytest.approx(1.0)
    above = found["P(Highly-Known, given Conf ≥ 0.9)"]
    assert (above.value, above.n, above.met) == (1.0, 2, True)


def test_recall_by_exposure_leaves_contested_questions_out(report: SimpleNamespace) -> None:
    questions = _questions([1.0, 0.2, 0.4], ["HIGHLY_KNOWN", "WEAKLY_KNOWN", "MAYBE_KNOWN"])
    exposures = pd.DataFrame(
        {"question_id": ["q0", "q1", "q2"], "exposures": [12, 15, 15], "rival_answer": [None, "1900", None]}
    )
    found = {row.name: row for row in report.findings.recall_by_exposure(questions, exposures)}
    row = found["mean sampled accuracy, told 10 … 19 times"]
    assert row.value == pytest.approx(0.7)
    assert row.n == 2


def test_the_critics_opening_counts_once_a_question(report: SimpleNamespace) -> None:
    questions = _questions([1.0, 0.0], ["HIGHLY_KNOWN", "UNKNOWN"])
    opening = {"role": "critic", "round": 0, "method": "sr_dcr"}
    turns = pd.DataFrame(
        [
            {**opening, "question_id": "q0", "stated_answer": "1874", "text": "1874. I am certain."},
            {**opening, "question_id": "q0", "stated_answer": "1874", "text": "1874. I am certain."},
            {**opening, "question_id": "q1", "stated_answer": "1900", "text": "1900. I do not know; this is a guess."},
            {**opening, "question_id": "q1", "round": 1, "stated_answer": "1874", "text": "1874. I am certain."},
        ]
    )
    known = questions[["question_id", "knowledge_category", "prior_answer"]]
    found = {row.name: row for row in report.findings.openings(turns, known, _same)}
    recalled = found["critic's recalled value equals the prior answer"]
    assert (recalled.value, recalled.n, recalled.met) == (0.5, 2, False)
    assert found["  difference"].value == 1.0


def test_a_method_has_one_row_that_says_what_is_missing(report: SimpleNamespace) -> None:
    records = pd.DataFrame(
        {
            "model": "m",
            "method": ["cfmad"] * 4 + ["cot"] * 2,
            "question_id": ["q0", "q1", "q2", "q3", "q0", "q1"],
            "correct": pd.array([True, False, None, None, True, True], dtype="boolean"),
            "missing": [None, None, "unparsed", "error", None, None],
        }
    )
    cfmad, cot = report.findings.by_method(records)
    assert (cfmad.name, cfmad.value, cfmad.n) == ("cfmad: accuracy (answered 0.50, unparsed 0.25, error 0.25)", 0.25, 4)
    assert cfmad.low < 0.25 < cfmad.high
    assert (cot.name, cot.value, cot.n, cot.met) == ("cot: accuracy (answered 1.00)", 1.0, 2, None)


def _talker() -> ScriptedModel:
    """Says A to questions with options, and to documents what the first of them says."""
    replies = dict.fromkeys(prompts.sources(), "It is so.\nanswer: A") | {"option_answer": "A"}
    concluded = dict.fromkeys(("documents_together", "documents_aggregator", "documents_judge"), "So.\nanswers: 1901")
    theses = {"proponent_thesis": thesis(None), "devils_advocate": challenges()}
    return ScriptedModel(replies | concluded | theses | {"document_agent": "Unknown. It is silent."})


def test_every_method_of_both_runs_has_a_row_and_finished_runs_are_read(
    report: SimpleNamespace, tmp_path: Path
) -> None:
    script = report.script
    arguments = script.parse(["--most", "3", "--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite")])
    arguments.model = _talker()
    parts = script.further(script.options(arguments), script.documents(arguments))
    first, second = parts.values()
    methods = [row.name.partition(":")[0] for row in (*first, *second)]
    assert sorted(methods) == sorted(f"{script.ON_OPTIONS},{script.ON_DOCUMENTS}".split(","))
    assert {row.n for row in (*first, *second)} == {3}
    assert all("(answered 1.00)" in row.name for row in first)
    folders = ["--options", str(tmp_path / "options"), "--documents", str(tmp_path / "documents")]
    read = script.parse(["--model", "nobody", *folders])
    assert script.further(script.options(read), script.documents(read)) == parts


def test_the_table_says_met_or_missed_and_the_card_takes_it(report: SimpleNamespace, tmp_path: Path) -> None:
    findings = report.findings
    rows = [
        findings.Finding("share", 0.25, 0.1, 0.5, 8, "≥ 0.10", True),
        findings.Finding("slope", 0.2, -0.1, 0.5, 8, "interval below 0", False),
        findings.Finding("nothing", float("nan")),
    ]
    text = report.script.table({"Heading": rows})
    assert "| share | ≥ 0.10 | 0.25 [0.10, 0.50] (n = 8) | met |" in text
    assert "| slope | interval below 0 | 0.20 [-0.10, 0.50] (n = 8) | **missed** |" in text
    assert "| nothing |  | no case |  |" in text
    assert text.endswith("1 of 2 targets met, 0 of these by an estimate whose interval spans the bound.")
    card = tmp_path / "card.md"
    card.write_text(f"before\n{report.script.START}\nold\n{report.script.END}\nafter\n", encoding="utf-8")
    report.script.write_card(card, text)
    assert card.read_text(encoding="utf-8") == f"before\n{report.script.START}\n{text}\n{report.script.END}\nafter\n"
