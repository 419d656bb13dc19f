"""From a table to a threshold: displays, controls and the report draw and say what their tables hold."""

from __future__ import annotations

import base64
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.calibration_in_depth import consistency_by_draws, draw_consistency, draw_kinds, draw_transfer
from srdcr_lab.confidence import precision_steps, risk_coverage
from srdcr_lab.data.load import check_source
from srdcr_lab.data.perturbing import by_reason
from srdcr_lab.domain_report import domain_report, framed
from srdcr_lab.lib.controls import Menu, with_sliders
from srdcr_lab.lib.gating import Gating
from srdcr_lab.records import Level
from srdcr_lab.thresholds import (
    ALL_DOMAINS,
    DomainThresholds,
    ThresholdMethod,
    choices_html,
    draw_risk_coverage,
    every_choice,
    recommended,
    target_precision,
    threshold_controls,
    transfer,
)
from tests.figures import legend_labels
from tests.simulated import simulated

pytestmark = pytest.mark.usefixtures("figures_closed")

EVIL = "<script>alert(1)</script>"
RECORDS = simulated(80)


def asked(records: pd.DataFrame = RECORDS) -> pd.DataFrame:
    """One row per question, as `Results.questions` has them."""
    return records.drop_duplicates("question_id").reset_index(drop=True)


def sure(n: int = 100, wrong: int = 0) -> pd.DataFrame:
    """Questions with confidences 0.9 to 1, the `wrong` least confident ones wrong; as many below 0.5, all wrong."""
    confidence = np.r_[np.linspace(0.9, 1, n), np.linspace(0.1, 0.4, n)]
    right = np.r_[np.arange(n) >= wrong, np.zeros(n, bool)]
    return pd.DataFrame({"self_confidence": confidence, "prior_correct": right})


# -- displays --------------------------------------------------------------------------------------------------------


def test_a_carried_threshold_by_hand() -> None:
    """Chosen on a: τ = 0.8, nothing wrong above it. On b two of three above 0.8 are wrong."""
    confidence = [0.8, 0.9, 0.3, 0.85, 0.9, 0.95, 0.2]
    right = [True, True, False, False, True, False, False]
    table = transfer(confidence, right, [*"aaabbbb"], partial(target_precision, alpha=0.1))
    row = table.set_index(["chosen_on", "applied_to"]).loc[("a", "b")]
    assert (row["tau"], row["n_above"], row["n"], row["risk"]) == (0.8, 3, 4, pytest.approx(2 / 3))
    (ax,) = draw_transfer(table).axes
    assert any(text.get_text().startswith("0.67\n") and text.get_text().endswith("\nn = 3") for text in ax.texts)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a\nτ = 0.8", "b\nno τ", "all others"]


def test_kinds_by_hand() -> None:
    kinds = pd.DataFrame({"one": [0.95, 0.92, 0.5, 0.1], "two": [0.99, 0.8, 0.6, 0.2], "none": [np.nan] * 4})
    (ax,) = draw_kinds(kinds, 0.9).axes
    assert {"2 of\n4 ≥ τ", "1\nof 4", "–"} <= {text.get_text() for text in ax.texts}


def test_no_question_is_drawn_as_nothing() -> None:
    steps = precision_steps(sure(5)["self_confidence"], sure(5)["prior_correct"])
    labels = legend_labels(draw_risk_coverage(risk_coverage(steps), every_choice(steps)))
    assert "Learn-then-Test: none attains this" in labels
    table = consistency_by_draws(np.ones((3, 16), bool))
    assert draw_consistency(table).axes[0].lines[0].get_ydata() == pytest.approx(np.zeros(8))
    assert consistency_by_draws(np.ones((0, 16), bool))["flipped"].isna().all()


# -- controls --------------------------------------------------------------------------------------------------------


def test_the_recommended_choice_is_the_tested_one() -> None:
    questions = sure()
    chosen = recommended(every_choice(precision_steps(questions["self_confidence"], questions["prior_correct"])))
    assert chosen.method is ThresholdMethod.LEARN_THEN_TEST
    assert (chosen.tau, chosen.n_above, chosen.n_wrong) == (0.4, 101, 1)  # at 0.3 a third of them would be wrong
    assert chosen.guaranteed


@pytest.mark.parametrize(("alpha", "said"), [(0.01, "no threshold attains this; at the fixed"), (0.5, "recommended:")])
def test_the_controls_decide_at_the_threshold_they_show(alpha: float, said: str) -> None:
    view = DomainThresholds.from_tables({"mean_logprob": asked()}, RECORDS)
    html = view.html(alpha, 0.1, "mean_logprob", ALL_DOMAINS)
    assert said in html
    tau = float(re.search(r'srdcr-tau">τ = ([\d.]+)', html)[1])
    standard, *_ = Gating.from_records(RECORDS).at(tau)
    cells = (standard.n, standard.use_context, standard.use_prior, standard.abstain)
    assert "<td>true</td>" + "".join(f"<td>{n}</td>" for n in cells) in html


def test_another_kind_decides_by_its_own_confidence() -> None:
    certain = asked().assign(self_confidence=1.0)
    views = DomainThresholds.from_tables({"one": asked(), "other": certain}, RECORDS).views
    debated = RECORDS[RECORDS["method"] == "sr_dcr"]
    everything = Gating.from_records(debated.assign(self_confidence=1.0)).at(0.9)[0].use_prior
    assert views["other", ALL_DOMAINS].gating.at(0.9)[0].use_prior == everything
    assert views["one", ALL_DOMAINS].gating.at(0.9)[0].use_prior < everything


def test_a_domain_shows_its_own_questions() -> None:
    view = DomainThresholds.from_tables({"k": asked()}, RECORDS)
    assert view.domains == (ALL_DOMAINS, "years", "records")
    assert view.views["k", "years"].steps.n_questions == int((asked()["domain"] == "years").sum())


def test_a_menu_and_a_slider_move_one_readout() -> None:
    slides = {"kind": Menu("kind", ("a", "b"))}
    box = with_sliders(lambda kind: f"<b>{kind}</b>", slides)
    box.children[0].value = "b"
    assert box.children[1].value == "<b>b</b>"


def test_controls_over_nothing_are_shown() -> None:
    box = threshold_controls({"k": asked().iloc[:0]}, RECORDS.iloc[:0], label="nobody")
    assert box.children[-1].value == "nobody"


def test_a_guarantee_is_told_whole_and_escaped() -> None:
    questions = sure()
    choices = every_choice(precision_steps(questions["self_confidence"], questions["prior_correct"]), on=EVIL)
    html = choices_html(choices, EVIL)
    assert all(choice.guarantee in html for choice in choices)
    assert "<script" not in html


# -- pairs, checks, report -------------------------------------------------------------------------------------------


def table(n: int = 6) -> pd.DataFrame:
    rows = [(f"When was mill {i} built? {EVIL}", str(1700 + i), f"Mill {i} was built in {1700 + i}.") for i in range(n)]
    return pd.DataFrame(rows, columns=["question", "gold_answer", "context"])


def test_each_question_is_paired_with_one_false_passage() -> None:
    items = lab.load_items(table(10))
    paired = lab.perturb(items).paired()
    levels = pd.Series([item.level for item in paired])
    assert (levels == Level.STANDARD).sum() == 10
    assert len({item.question_id for item in paired if not item.is_standard}) == 10
    assert sorted(item.perturbation_value for item in paired if not item.is_standard) == sorted(
        sign * size for size in (20, 40, 60, 100, 200) for sign in (1, -1)
    )
    assert paired.exemplars == items.exemplars


def test_one_door_to_every_check(tmp_path: object) -> None:
    path = tmp_path / "my.csv"  # type: ignore[operator]
    table().assign(gold_answer="").to_csv(path, index=False)
    assert len(check_source(path).findings) == 6
    assert not check_source("facts").findings


def run(records: pd.DataFrame = RECORDS) -> SimpleNamespace:
    return SimpleNamespace(records=records, questions=asked(records), label=f"simulated {EVIL}")


def test_the_report_stands_by_itself_and_is_escaped() -> None:
    page = domain_report(run(), perturbed=lab.perturb(lab.load_items(table())), title=EVIL)
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 2
    assert all(b"<svg" in base64.b64decode(picture) for picture in pictures)
    assert "&lt;script&gt;" in page
    assert "<iframe sandbox" in framed(page)
    assert "<script" not in framed(page)


def test_the_report_has_the_commonest_reasons_against_a_form() -> None:
    kings = ("John", "Charles", "Philip", "Henry", "George", "James", "Sigismund", "Gustavus")
    built = [(f"When was mill {i} built?", 1300 + i, f"King {name} had it built in {1300 + i}.")
             for i, name in enumerate(kings)]  # fmt: skip
    perturbed = lab.perturb(lab.load_items(pd.DataFrame(built, columns=["question", "gold_answer", "context"])))
    assert len(by_reason(perturbed)) > 6
    assert len(re.findall("<td>(?:refused|flagged)</td>", domain_report(run(), perturbed=perturbed))) == 6


def test_the_report_recommends_what_is_guaranteed_or_nothing() -> None:
    assert "No τ is recommended" in domain_report(run(), alpha=0.01)
    page = " ".join(domain_report(run(), alpha=0.5).split())
    assert re.search(r"Recommended: τ = [\d.]+</b>.*the risk on further questions of the same population", page)


def test_the_report_counts_the_lies_that_were_believed() -> None:
    debated = RECORDS[(RECORDS["method"] == "sr_dcr") & (RECORDS["level"] != "standard")]
    believed = int((debated["verdict"] == "REASONABLE").sum())
    assert f"the judge believed {believed} of {len(debated)} false passages" in domain_report(run())


@pytest.mark.parametrize(
    ("options", "said", "look"),
    [
        ({"alpha": 0.4, "false_share": 0.1}, "; with probability ≥ 0.9 over draws", "chosen"),
        ({"alpha": 0.01}, "no setting attains this: risk ≤ 0.01", "chosen none"),
        ({"records": RECORDS[RECORDS["level"] == "standard"]}, "too few questions: none has true and", "chosen none"),
    ],
)
def test_the_report_promises_of_the_final_answer_what_is_shown(
    options: dict[str, object], said: str, look: str
) -> None:
    page = domain_report(run(options.pop("records", RECORDS)), **options)
    told = " ".join(page.split("The answers that SR-DCR gives")[1].split())
    assert said in told
    assert f'<p class="{look}">' in told


def test_a_report_without_debates_or_draws() -> None:
    bare = RECORDS[RECORDS["method"] == "few_shot"]
    none = bare.assign(sampled_accuracy=np.nan, n_samples=pd.NA, knowledge_category=None, self_confidence=np.nan)
    page = domain_report(run(none))
    assert "believed" not in page.split("What τ bounds")[1].split("</p>", 1)[1]
    assert '<p class="chosen none"><b>No τ is recommended' in page
