"""A real browser for tests: Debian's Chromium with its driver. Without them a test is skipped; with CI set it fails."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver

_SWITCHES = ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
             "disable-component-update", "disable-sync", "window-size=1400,1000")  # fmt: skip


def browser_programs() -> tuple[str, str]:
    """The paths of Chromium and of its driver."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    chromium, driver = next(filter(None, found), None), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sentence = "no Chromium with its driver here (on Debian: apt-get install chromium chromium-driver)"
        (pytest.fail if os.environ.get("CI") and sys.platform == "linux" else pytest.skip)(sentence)
    return chromium, driver


@contextmanager
def opened_browser(profile: Path) -> Iterator[webdriver.Chrome]:
    """Chromium without a window, with a profile of its own; it logs what pages complain of."""
    chromium, driver = browser_programs()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in (*_SWITCHES, f"user-data-dir={profile}"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver))
    try:
        yield browser
    finally:
        browser.quit()
