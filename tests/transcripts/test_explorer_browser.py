"""The transcript explorer in Chromium: what passages and models say is shown and never executed; filters and steps."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

import srdcr_lab as lab
from srdcr_lab.transcripts import Cases, explorer_html, messages_in
from tests.chromium import browser_programs, opened_browser
from tests.hostile import ALL, ATTACKS, hostile_run

POLICY = '<meta http-equiv="Content-Security-Policy"'


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with opened_browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> lab.Results:
    browser_programs()
    return hostile_run(tmp_path_factory.mktemp("run") / "hostile")


def _open(browser: webdriver.Chrome, folder: Path, page: str) -> None:
    (folder / "page.html").write_text(page, "utf-8")
    browser.get((folder / "page.html").as_uri())


def _shown(browser: webdriver.Chrome, css: str) -> list[WebElement]:
    return [element for element in browser.find_elements(By.CSS_SELECTOR, css) if element.is_displayed()]


def _attacked(browser: webdriver.Chrome) -> bool:
    return bool(browser.execute_script("return window.attacked === 1"))


def _words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("policy", [True, False], ids=["its policy", "no policy"])
def test_the_page_shows_attacks_as_text_and_executes_nothing(
    browser: webdriver.Chrome, run: lab.Results, tmp_path: Path, policy: bool
) -> None:
    """Escaping alone must do: so once without the policy that would stop a script anyway."""
    page = explorer_html(run)
    assert POLICY in page
    _open(browser, tmp_path, page if policy else page.replace(POLICY, "<meta name"))
    Select(browser.find_element(By.NAME, "method")).select_by_value("sr_dcr")
    browser.find_element(By.ID, "all").click()
    _press(browser, "m")
    unfilled = "details.srdcr-sent[open][data-sent]"  # they are filled by events that come after the key was handled
    WebDriverWait(browser, 10).until(lambda _: not browser.find_elements(By.CSS_SELECTOR, unfilled))
    assert len(_shown(browser, "details.srdcr-sent > div")) > 18
    assert not _attacked(browser)
    (article,) = _shown(browser, "article")
    for attack in ATTACKS:
        assert _words(article.text).count(_words(attack)) >= 3  # question, passage, replies
    tags = browser.find_elements(By.CSS_SELECTOR, "img, svg, h1, script, a:not([download])")
    assert [tag.tag_name for tag in tags] == ["h1", "script", "script"]
    assert len(browser.find_elements(By.TAG_NAME, "article")) == len(run.records)


def test_a_case_in_notebook_shows_attacks_as_text(browser: webdriver.Chrome, run: lab.Results, tmp_path: Path) -> None:
    """ipywidgets sets an HTML widget's value as the inner HTML of its node: so does this test."""
    cases = Cases(run.records, run.turns, run.items, ["sr_dcr"])
    _open(browser, tmp_path, "<!DOCTYPE html><meta charset='utf-8'><body></body>")
    with messages_in(run.folder / "store.sqlite") as sent:
        browser.execute_script("document.body.innerHTML = arguments[0]", cases.html(1, sent=sent))
    for folded in browser.find_elements(By.TAG_NAME, "details"):
        browser.execute_script("arguments[0].open = true", folded)
    browser.execute_script("for (const one of document.all) one.dispatchEvent(new Event('mouseover'))")
    assert not _attacked(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, "img, svg, script, a")
    assert _words(ALL) in _words(browser.find_element(By.TAG_NAME, "blockquote").text)


def test_the_page_asks_the_network_for_nothing(browser: webdriver.Chrome, run: lab.Results, tmp_path: Path) -> None:
    browser.get_log("browser")
    _open(browser, tmp_path, explorer_html(run))
    fetched = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert fetched == []
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_a_filter_narrows_and_steps_walk_through_the_rounds(
    browser: webdriver.Chrome, run: lab.Results, tmp_path: Path
) -> None:
    _open(browser, tmp_path, explorer_html(run))
    assert browser.find_element(By.ID, "which").text == f"case 4 of {len(run.records)}"
    chosen = Select(browser.find_element(By.ID, "list")).first_selected_option.text
    assert chosen.startswith("false passage · SR-DCR · UNREASONABLE · ")
    Select(browser.find_element(By.NAME, "method")).select_by_value("sr_dcr")
    Select(browser.find_element(By.NAME, "passage")).select_by_value("false")
    assert browser.find_element(By.ID, "which").text == "case 1 of 1"
    assert len(_shown(browser, "section")) == 1
    assert not _shown(browser, "footer")
    browser.find_element(By.ID, "later").click()
    assert browser.find_element(By.ID, "round").text == "rounds 0 to 1 of 5"
    browser.find_element(By.ID, "all").click()
    assert len(_shown(browser, "section")) == 6
    (footer,) = _shown(browser, "footer")
    assert "Final verdict: UNREASONABLE" in footer.text


def test_messages_and_raw_reply_are_one_click_away(browser: webdriver.Chrome, run: lab.Results, tmp_path: Path) -> None:
    """Exactly: no line, space or sign is lost on the way from the store into the page."""
    cases = Cases(run.records, run.turns, run.items, ["sr_dcr"])
    _open(browser, tmp_path, explorer_html(run, ["sr_dcr"]))
    _shown(browser, "details.srdcr-sent summary")[0].click()
    opened = WebDriverWait(browser, 10).until(lambda _: _shown(browser, "details.srdcr-sent > div"))
    with messages_in(run.folder / "store.sqlite") as sent:
        assert [part.get_property("textContent") for part in opened] == [
            text for _, text in sent(cases.turns(cases.start)[0])
        ]


def test_the_page_is_read_by_keyboard(browser: webdriver.Chrome, run: lab.Results, tmp_path: Path) -> None:
    _open(browser, tmp_path, explorer_html(run))
    which, rounds = browser.find_element(By.ID, "which"), browser.find_element(By.ID, "round")
    _press(browser, "k")
    assert which.text == "case 3 of 6"
    _press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert rounds.text == "rounds 0 to 1 of 5"
    _press(browser, "/", 'false"><svg', Keys.ESCAPE)
    assert which.text == "case 1 of 3"
    listed = browser.find_element(By.ID, "list")
    listed.send_keys(Keys.ARROW_DOWN)
    assert which.text == "case 2 of 3"
    assert [option.text for option in Select(listed).all_selected_options] == [Select(listed).options[1].text]
    _press(browser, "a", "j")
    assert which.text == "case 3 of 3"
    ruling = browser.find_element(By.ID, "ruling")
    ruling.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert ruling.get_attribute("value") == "UNREASONABLE"
    _press(browser, "k")
    browser.find_element(By.ID, "keys").click()
    _press(browser, "k")
    assert which.text == "case 2 of 3"


def _press(browser: webdriver.Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def test_a_reader_rules_blind_and_saves_verdicts(browser: webdriver.Chrome, run: lab.Results, tmp_path: Path) -> None:
    """Judge, decision and truth are hidden on demand, in the list too; the saved table reads back exactly."""
    _open(browser, tmp_path, explorer_html(run))
    Select(browser.find_element(By.NAME, "method")).select_by_value("sr_dcr")
    browser.find_element(By.ID, "all").click()
    secret = ".srdcr-truth, .srdcr-judge, article footer"
    assert _shown(browser, secret)
    browser.find_element(By.ID, "blind").click()
    assert not _shown(browser, secret)
    assert not any("passage" in line.text for line in Select(browser.find_element(By.ID, "list")).options)
    ruling = Select(browser.find_element(By.ID, "ruling"))
    ruling.select_by_value("UNREASONABLE")
    browser.find_element(By.ID, "after").click()
    assert ruling.first_selected_option.text == "no verdict yet"
    ruling.select_by_value("CANNOT_TELL")
    browser.find_element(By.ID, "before").click()
    assert ruling.first_selected_option.text == "Unreasonable"
    link = browser.find_element(By.ID, "verdicts")
    assert link.text == "save my 2 verdicts"
    saved = unquote(str(link.get_attribute("href")).partition(",")[2])
    (tmp_path / "verdicts.csv").write_text(saved, "utf-8")
    verdicts = pd.read_csv(tmp_path / "verdicts.csv", keep_default_na=False)
    keys = set(map(Cases(run.records, run.turns, run.items).key, range(len(run.records))))
    assert set(verdicts[["item_id", "method", "design"]].itertuples(index=False, name=None)) <= keys
    assert list(verdicts["blind"]) == [True, True]
