"""The built documentation, opened from its folder in Chromium with the network cut off: `make docs` first.

Skipped where it is not built; search finds a word, and no page asks another host for anything.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.chromium import browser_programs, opened_browser

PAGES = Path(__file__).resolve().parents[2] / "results" / "docs"
FOREIGN = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["'](?:https?:)?//[^"']+["'][^>]*>""")
pytestmark = pytest.mark.skipif(not (PAGES / "index.html").is_file(), reason="the pages are not built: make docs")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    browser_programs()
    with opened_browser(tmp_path_factory.mktemp("chromium")) as opened:
        opened.set_network_conditions(offline=True, latency=0, throughput=0)
        yield opened


@pytest.mark.parametrize(("word", "page"), [("threshold", "threshold"), ("risk_coverage", "srdcr_lab.confidence")])
def test_search_finds_a_word(browser: webdriver.Chrome, word: str, page: str) -> None:
    browser.get(f"{(PAGES / 'search.html').as_uri()}?q={word}")
    found = WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a"))
    assert any(page in link.get_attribute("href") for link in found)


def test_the_tuner_moves_in_its_page(browser: webdriver.Chrome) -> None:
    """The chart says how many questions lie above τ; fewer τ, more questions."""
    browser.get((PAGES / "tuner.html").as_uri())
    before = WebDriverWait(browser, 60).until(_above)
    browser.find_element(By.CSS_SELECTOR, "input[type=range]").send_keys(Keys.ARROW_LEFT * 20)
    assert WebDriverWait(browser, 60).until(lambda b: _above(b) > before)


def _above(browser: webdriver.Chrome) -> int:
    found = re.search(r"(\d+) of \d+ questions are above", browser.page_source)
    return int(found[1]) if found else 0


@pytest.mark.parametrize("page", sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.html")))
def test_a_page_asks_no_other_host(page: str) -> None:
    loaded = [tag for tag in FOREIGN.findall((PAGES / page).read_text("utf-8")) if "canonical" not in tag]
    assert not loaded
