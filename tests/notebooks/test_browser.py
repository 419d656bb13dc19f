"""A person in JupyterLab: notebook 02 as far as its tuner needs it is opened and run in Chromium; the numbers are read.

Skipped where there is no Chromium; with the variable CI set that is a failure.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

import srdcr_lab as lab
from srdcr_lab.lib.calibration import PrecisionSteps, precision_steps
from srdcr_lab.lib.definitions import highly_known
from srdcr_lab.study.notebooks import SEQUENCE
from tests.chromium import browser_programs, opened_browser

NOTEBOOK = "02_confidence.ipynb"
LIMIT, TOKEN, PATIENCE = 6, "of-this-test", 300  # items; of the server; seconds before a wait is given up


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PrecisionSteps]:
    """A folder with the notebook at a small size, its completions already in the store; and what it will hold.

    Of its cells: imports, parameters, the study and the slider. The others are run by `test_notebooks.py`.
    """
    browser_programs()
    root = tmp_path_factory.mktemp("jupyter")
    (root / "notebooks").mkdir()
    notebook = nbformat.read(SEQUENCE / NOTEBOOK, 4)
    (parameters,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    parameters.source += f"\nQUESTIONS, LIMIT = {LIMIT}, {LIMIT}"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tuned = [cell for cell in code if "confidence.tuner(" in cell.source]
    tuned[0].source = "\n".join([*tuned[0].source.splitlines()[:1], "tuner = confidence.tuner(debated)", "tuner"])
    notebook.cells = [*code[:3], *tuned, nbformat.v4.new_code_cell("print('chosen', tuner.tau)")]
    for cell in notebook.cells:
        cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, root / "notebooks" / NOTEBOOK)
    (store := root / "results" / "store.sqlite").parent.mkdir()
    with lab.Study("pocket", "facts:testbed", "few_shot,sr_dcr", limit=LIMIT, store=store) as study:
        questions = study.run(progress=False).questions
    return root, precision_steps(questions["self_confidence"], highly_known(questions))


@pytest.fixture(scope="module")
def server(folder: tuple[Path, PrecisionSteps]) -> Iterator[str]:
    """JupyterLab on loopback with settings of its own; the address of the notebook."""
    root, _ = folder
    for name, wanted in _SETTINGS.items():
        path = root / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(wanted))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ours = {
        name: str(root / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    ours |= {"JUPYTERLAB_SETTINGS_DIR": str(root / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(root / "workspaces")}
    options = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
    options += [f"--ServerApp.root_dir={root}", "--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
    with (root / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], stdout=log, stderr=log, env=os.environ | ours
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _until(lambda: _answers(f"{address}/api?token={TOKEN}"), lambda: (root / "server.log").read_text())
            yield f"{address}/lab/tree/notebooks/{NOTEBOOK}?token={TOKEN}"
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def page(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Chromium with the notebook open, its kernel connected, and every cell asked to run."""
    with opened_browser(tmp_path_factory.mktemp("chromium")) as browser:
        browser.get(server)
        _until(lambda: browser.execute_script(_CONNECTED), lambda: browser.page_source[-2000:])
        browser.execute_script("window.jupyterapp.commands.execute('notebook:run-all-cells')")  # not awaited
        yield browser


_SETTINGS = {  # no dialog, every cell in the page, nothing fetched from elsewhere
    "notebook-extension/tracker": {"autoStartDefaultKernel": True, "windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
_RUN_LAST = """
const {content} = jupyterapp.shell.currentWidget; content.activeCellIndex = content.widgets.length - 1;
jupyterapp.commands.execute('notebook:run-cell'); """
_CONNECTED = """
const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
return context?.session?.kernel?.connectionStatus === "connected";
"""


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as reply:  # noqa: S310 (our own server)
            return bool(reply.status == 200)
    except OSError:
        return False


def _until(happened: Callable[[], bool], evidence: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, evidence()
        time.sleep(0.2)


def _find(page: webdriver.Chrome, css: str) -> WebElement:
    return WebDriverWait(page, PATIENCE).until(lambda browser: browser.find_element(By.CSS_SELECTOR, css))


def test_the_tuner_is_moved_and_its_tau_comes_to_the_next_cell(page: Any, folder: tuple[Path, PrecisionSteps]) -> None:
    """By mouse, then by the arrow keys, which JupyterLab would otherwise take; a screen reader hears of it."""
    slider, body = _find(page, ".vega-bind input[type=range]"), page.find_element(By.TAG_NAME, "body")
    assert slider.accessible_name.startswith("threshold τ")
    ActionChains(page).drag_and_drop_by_offset(slider, 20, 0).perform()
    dragged = float(slider.get_attribute("value") or "nan")
    slider.send_keys(Keys.ARROW_LEFT * 3)
    tau = float(slider.get_attribute("value") or "nan")
    assert tau == pytest.approx(dragged - 0.03)
    said = f"{folder[1].at(tau).n_above} of "
    _until(lambda: said in (_find(page, "p.said[role=status]").get_attribute("textContent") or ""), lambda: body.text)
    page.execute_script(_RUN_LAST)
    _until(lambda: tau != 0.9 and f"chosen {tau:g}" in body.text, lambda: body.text)
