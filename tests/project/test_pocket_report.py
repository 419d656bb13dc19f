"""What `make pocket-report` makes of the tables of a study: worked examples by hand."""

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
            "question_id": [f"q{n}" for n in range(len(accuracy))], "domain": "years", "sampled_accuracy": accuracy,
            "knowledge_category": category, "self_confidence": [0.95 if a >= 0.85 else 0.3 for a in accuracy],
            "prior_answer": "1874",
        }
    )  # fmt: skip


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


def _talker() -> ScriptedModel:
    """Says A to questions with options, and to documents what the first of them says."""
    replies = dict.fromkeys(prompts.sources(), "It is so.\nanswer: A") | {"option_answer": "A"}
    concluded = dict.fromkeys(("documents_together", "documents_aggregator", "documents_judge"), "So.\nanswers: 1901")
    theses = {"proponent_thesis": thesis(None), "devils_advocate": challenges()}
    return ScriptedModel(replies | concluded | theses | {"document_agent": "Unknown. It is silent."})


def test_every_method_of_both_runs_has_row_and_finished_runs_are_read(report: SimpleNamespace, tmp_path: Path) -> None:
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
