"""From a table to a threshold: figures and the report draw and say what their tables hold."""

import base64
import re
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.calibration_in_depth import draw_kinds
from srdcr_lab.domain_report import domain_report, framed
from srdcr_lab.protocols.choices import Choices
from srdcr_lab.records import BadInput
from srdcr_lab.thresholds import ThresholdMethod, both_choices
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

EVIL = "<script>alert(1)</script>"
RECORDS = simulated(80)


def asked(records: pd.DataFrame = RECORDS) -> pd.DataFrame:
    """One row per question, as `Results.questions` has them."""
    return records.drop_duplicates("question_id").reset_index(drop=True)


def test_kinds_by_hand() -> None:
    kinds = pd.DataFrame({"one": [0.95, 0.92, 0.5, 0.1], "two": [0.99, 0.8, 0.6, 0.2], "none": [np.nan] * 4})
    (ax,) = draw_kinds(kinds, 0.9).axes
    assert {"2 of\n4 ≥ τ", "1\nof 4", "–"} <= {text.get_text() for text in ax.texts}


def test_the_recommended_choice_is_the_tested_one() -> None:
    """A hundred questions with confidences 0.9 to 1 are right, as many below 0.5 are wrong."""
    confidence = np.r_[np.linspace(0.9, 1, 100), np.linspace(0.1, 0.4, 100)]
    questions = pd.DataFrame({"self_confidence": confidence, "prior_correct": np.arange(200) < 100})
    with pytest.raises(BadInput, match="a question has several rows"):
        both_choices(RECORDS)
    chosen, naive = both_choices(questions)
    assert (chosen.method, naive.method) == (ThresholdMethod.LEARN_THEN_TEST, ThresholdMethod.NAIVE)
    assert (chosen.tau, chosen.above.n_above, chosen.above.n_wrong) == (0.4, 101, 1)  # at 0.3 a third would be wrong


def table(n: int = 6) -> pd.DataFrame:
    rows = [(f"When was mill {i} built? {EVIL}", str(1700 + i), f"Mill {i} was built in {1700 + i}.") for i in range(n)]
    return pd.DataFrame(rows, columns=["question", "gold_answer", "context"])


def run(records: pd.DataFrame = RECORDS, **choices: object) -> SimpleNamespace:
    choices = asdict(Choices()) | choices
    manifest = {"asked": {"items": f"folder/{EVIL}.csv", "choices": choices}, "written": "2026-11-26T19:13:28+00:00"}
    made = SimpleNamespace(
        records=records, questions=asked(records), label=f"simulated {EVIL}", manifest=manifest,
        bounds={"highly_from": 0.6, "maybe_from": 0.3}, part=lambda name: None,
    )  # fmt: skip
    made.known = made
    return made


def said(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", page).split())


def test_the_report_stands_by_itself_and_is_escaped() -> None:
    page = domain_report(run(), perturbed=lab.perturb(lab.load_items(table())))
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 4
    assert all(b"<svg" in base64.b64decode(picture) for picture in pictures)
    assert "&lt;script&gt;" in page
    assert "<iframe sandbox" in framed(page)
    assert "<script" not in framed(page)


def test_the_report_names_table_model_and_date_and_explains_its_terms() -> None:
    page = said(domain_report(run()))
    assert "at what confidence may the model answer from memory?" in page
    assert "run of 2026-11-26" in page
    assert "Highly-Known: at least 0.60 of these answers are right; Maybe-Known: from 0.30" in page
    for term in ("AUROC:", "Calibration error:", "τ:", "Risk:", "α =", "δ =", "Coverage:", "κ,"):
        assert term in page


def box(**options: object) -> str:
    return said(domain_report(run(), **options).split('class="srdcr-answer"')[1].split("</div>")[0])


def test_the_answer_box_has_the_guarantee_and_what_it_does_not_cover() -> None:
    assert "No τ is guaranteed: risk ≤ 0.01" in box(alpha=0.01)
    lenient = box(alpha=0.5)
    assert re.search(r"Guaranteed: at confidence [\d.]+ or more, at most 0.5", lenient)
    assert "Not covered by τ: answers that follow a passage. Few-shot repeats the claim of" in lenient


def test_the_report_counts_the_false_passages_that_were_believed() -> None:
    debated = RECORDS[(RECORDS["method"] == "sr_dcr") & (RECORDS["level"] != "standard")].dropna(subset="verdict")
    believed = int((debated["verdict"] == "REASONABLE").sum())
    both = pd.concat([RECORDS, RECORDS[RECORDS["method"] == "sr_dcr"].assign(design="symmetric")], ignore_index=True)
    for records in (RECORDS, both):
        page = said(domain_report(run(records)))
        assert f"{believed} of {len(debated)} false passages were believed by the Judge" in page
    assert "were believed" not in said(domain_report(run(RECORDS[RECORDS["level"] == "standard"])))
    assert len({domain_report(run(gate=gate), tau=1.0) for gate in (True, False)}) == 2, "released: no abstentions"


@pytest.mark.parametrize(("options", "promise"), [
    ({"alpha": 0.5}, "; with probability ≥ 0.9 over draws"),
    ({"alpha": 0.01}, "No guarantee: no rule is shown to keep the risk at or below 0.01"),
    ({"records": RECORDS[RECORDS["level"] == "standard"]}, "No guarantee: too few questions: none has true and"),
])  # fmt: skip
def test_the_report_promises_of_the_final_answer_what_is_shown(options: dict[str, object], promise: str) -> None:
    page = domain_report(run(options.pop("records", RECORDS)), **options)
    assert promise in said(page.split("The answers that SR-DCR gives")[1])


def test_a_report_without_debates_or_draws() -> None:
    bare = RECORDS[RECORDS["method"] == "few_shot"]
    none = bare.assign(sampled_accuracy=np.nan, n_samples=pd.NA, knowledge_category=None, self_confidence=np.nan)
    checked = SimpleNamespace(sentences=lambda: ["A row is empty."], checked={"rows": 3}, name="x.csv", notes=[])
    page = said(domain_report(run(none), checked=checked))
    assert "1 finding in 3 checks of x.csv." in page
    assert "The answers that SR-DCR gives" not in page
    assert "No τ is guaranteed" in page
