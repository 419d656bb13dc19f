"""The tuner: what it shows at a τ is what the measures say of the decisions there; its page needs nobody."""

import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from srdcr_lab.confidence import GRID, OUTCOMES, Interactive, decisions_at, precision_steps, tuner, tuning_tables
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.lib.gating import FinalAnswers, decisions_by_condition, redecided
from srdcr_lab.records import BadInput
from tests.chromium import opened_browser
from tests.simulated import simulated

RECORDS = simulated(60)


def results(records: pd.DataFrame = RECORDS, tau: float = 0.9) -> Any:
    """What the tuner reads of `Results`."""
    made = SimpleNamespace(
        records=records,
        questions=records.drop_duplicates("question_id"),
        manifest={"asked": {"choices": {"tau": tau, "gate": True}}},
        label="simulated <script>",
    )
    made.known = made
    return made


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return tuning_tables(results())


@pytest.fixture(scope="module")
def made() -> Interactive:
    return tuner(results())


@pytest.mark.parametrize("tau", [0.0, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_worth_coverage_and_risk_are_those_of_the_final_answers(
    tables: dict[str, pd.DataFrame], tau: float, share: float
) -> None:
    answers = FinalAnswers.from_records(redecided(RECORDS[RECORDS["method"] == "sr_dcr"], tau))
    worth = tables["worth"].query("at == @tau and false_share == @share").set_index("cost")
    for cost in (0.0, 1.0, 4.0):
        assert worth.loc[cost, ["utility", "low", "high"]].tolist() == pytest.approx(
            answers.utility(cost, share)[:3], abs=1e-3
        )
    (row,) = tables["answers"].query("tau == @tau and false_share == @share").itertuples()
    assert (row.coverage, row.coverage_low, row.coverage_high) == pytest.approx(answers.coverage(share)[:3], abs=1e-3)
    right, low, high, _ = answers.selective_accuracy(share)
    assert (row.risk, row.risk_low, row.risk_high) == pytest.approx((1 - right, 1 - high, 1 - low), abs=1e-3)


@pytest.mark.parametrize("tau", [0.0, 0.55, 0.9])
def test_the_bars_are_the_decisions(tables: dict[str, pd.DataFrame], tau: float) -> None:
    bars = tables["becomes"].query("tau == @tau")
    for place, gated in enumerate(decisions_by_condition(RECORDS, tau)[:2].itertuples()):
        counts = bars[bars["passages"] == place].set_index("outcome")["n"].reindex(range(len(OUTCOMES)), fill_value=0)
        assert counts.sum() == gated.n
        assert counts[0] + counts[1] == round(gated.accuracy * gated.n)
        assert counts[:4].sum() == gated.n_answered
        assert counts[1] + counts[2] <= gated.use_prior


def test_knowledge_above_each_threshold(tables: dict[str, pd.DataFrame]) -> None:
    questions = results().questions
    steps = precision_steps(questions["self_confidence"], highly_known(questions))
    for row in tables["known"].itertuples():
        above = steps.at(row.at)
        shown = (row.precision, row.low, row.high, row.n_above)
        assert shown == pytest.approx(above.precision, abs=1e-3, nan_ok=True)


def test_the_best_threshold_is_chosen_without_the_questions_that_judge_it(tables: dict[str, pd.DataFrame]) -> None:
    best = tables["best"]
    assert best["best"].isin(GRID).all()
    assert set(best["n_rest"]) == {30}
    assert (best.query("cost == 4")["best"].mean()) >= best.query("cost == 0")["best"].mean()


def test_settings_come_back_and_can_be_set_to_the_papers(made: Interactive) -> None:
    start = {"tau": 0.9, "cost": 1.0, "false_share": 0.5, "confidence": "mean_logprob"}
    assert made.settings == start
    made.shown.params.tau = 0.55  # as a browser does
    assert made.tau == 0.55
    made.reset()
    assert made.settings == start | {"cost": 0.0}


def test_without_debates_it_shows_what_memory_knows_and_says_what_to_run(made: Interactive) -> None:
    alone = tuner(results(RECORDS[RECORDS["method"] == "few_shot"], tau=0.995))
    assert alone.settings == {"tau": 0.99, "confidence": "mean_logprob"}
    assert "the run's τ = 0.995 is not shown" in alone.note
    assert "is not shown" not in made.note
    assert "--methods few_shot,sr_dcr" in alone.note
    assert "P(Highly-Known | confidence ≥ τ)" in alone.html()
    assert "utility per item" not in alone.html()
    assert "utility per item" in made.html()


def test_a_run_without_the_gate_is_decided_without_it() -> None:
    made = results(RECORDS.assign(self_confidence=0.1))
    made.manifest["asked"]["choices"]["gate"] = False
    unread = (RECORDS.query("method == 'sr_dcr'")["verdict"] == "UNPARSED").sum()
    assert decisions_at(made, 0.9)["abstain"].sum() == unread


def test_runs_of_one_name_and_runs_without_a_confidence_are_refused() -> None:
    with pytest.raises(BadInput, match="tells runs apart by model and kind of confidence"):
        tuner(results(), results())
    with pytest.raises(BadInput, match="--methods confidence_only"):
        tuner(results(RECORDS.assign(self_confidence=None)))


def test_two_models_have_one_target_and_every_question_counts() -> None:
    half = RECORDS.assign(self_confidence=RECORDS["self_confidence"].where(RECORDS["question_id"] < "q3"))
    other = results(half.assign(knowledge_category=None, model="other"))
    assert set(tuning_tables(other)["known"]["n"]) == {60}
    both = tuner(results(), other)
    assert "P(right from memory | confidence ≥ τ)" in both.html()
    tables = [pd.read_csv(StringIO(text)) for text in both.chart.to_dict()["datasets"].values()]
    (shown,) = (table[table["confidence"].str.startswith("simulated")] for table in tables if "n_above" in table)
    alone = tuning_tables(results(), drawn=False)["known"]["precision"]
    assert shown["precision"].tolist() == pytest.approx(alone.tolist(), nan_ok=True)


def test_true_passages_alone_leave_one_share() -> None:
    alone = tuning_tables(results(RECORDS[RECORDS["level"] == "standard"]))
    assert set(alone["worth"]["false_share"]) == {0.0}


def test_without_altair_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(BadInput, match=r"needs altair; install it in the clone with: pip install -e '.\[notebooks\]'"):
        tuner(results())


def test_a_page_is_saved_where_a_file_can_be(made: Interactive, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "tune.html"):
        with pytest.raises(BadInput, match="give a file in an existing folder"):
            made.save(place)


def test_the_saved_page_moves_without_kernel_and_network(made: Interactive, tmp_path: Path) -> None:
    page = made.save(tmp_path / "tune.html")
    text = page.read_text("utf-8")
    assert len(text) < 1_500_000
    assert "simulated <script>" not in text
    steps = precision_steps(*(results().questions.pipe(lambda q: (q["self_confidence"], highly_known(q)))))
    with opened_browser(tmp_path / "chromium") as browser:
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
        )
        browser.get(page.as_uri())
        WebDriverWait(browser, 60).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "[data-ready]"))
        slider = browser.find_element(By.CSS_SELECTOR, "input[type=range]")
        assert slider.accessible_name.startswith("threshold τ")
        assert browser.find_element(By.CSS_SELECTOR, "svg").size["height"] >= 320
        _says(browser, f"{steps.at(0.9).n_above} of 60 questions are above τ")
        slider.send_keys(Keys.ARROW_LEFT * 30)
        _says(browser, f"{steps.at(0.6).n_above} of 60 questions are above τ")
        Select(browser.find_element(By.NAME, "cost")).select_by_visible_text("4")
        worth = tuning_tables(results())["worth"].query("at == .6 and cost == 4 and false_share == .5").iloc[0]
        _says(browser, f"{worth['utility']:.2f} [".replace("-", "−"))
        browser.find_element(By.ID, "reset").click()
        _says(browser, f"{steps.at(0.9).n_above} of 60 questions are above τ")
        assert slider.get_attribute("value") == "0.9"
        assert browser.get_log("browser") == []


def _says(browser: webdriver.Chrome, text: str) -> None:
    WebDriverWait(browser, 60).until(
        lambda _: text in browser.find_element(By.TAG_NAME, "svg").get_attribute("textContent"), text
    )
