"""The gallery: a page for every notebook that loads nothing, links that lead somewhere, widgets as they stood."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import nbformat
import pytest
from gallery import gallery, gallery_command

from srdcr_lab import cli
from srdcr_lab.confidence import confidence_slider
from srdcr_lab.records import BadInput
from srdcr_lab.study.notebooks import SEQUENCE
from tests.chromium import opened_browser
from tests.conftest import Srdcr
from tests.executing import NOTEBOOKS
from tests.simulated import simulated


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gallery(SEQUENCE, tmp_path_factory.mktemp("gallery"))[0].parent


class Read(HTMLParser):
    """What a page links to, what it has a browser load, its fragments, tags and styles; those of framed pages too."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.fragments: set[str] = set()
        self.tags: set[str] = set()
        self._in_style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._in_style = tag == "style"
        for name, value in attrs:
            if name == "href":
                (self.links if tag == "a" else self.loaded).append(value or "")
            elif name in ("src", "srcset", "data", "poster", "background", "action", "xlink:href"):
                self.loaded.append(value or "")
            elif name in ("id", "name"):
                self.fragments.add(value or "")
            elif name == "style":
                self._styled(value or "")
            elif name == "srcdoc":
                framed = Read(value or "")
                self.links += framed.links
                self.loaded += framed.loaded
                self.tags |= framed.tags

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self._styled(data)

    def _styled(self, css: str) -> None:
        self.loaded += re.findall(r"url\(\s*['\"]?([^)]*)|@import\s*(\S+)", css)


@pytest.mark.parametrize(
    ("page", "loaded"),
    [
        ('<img src="https://a.example/b.png">', "https://a.example/b.png"),
        ('<link rel="stylesheet" href="//a.example/b.css">', "//a.example/b.css"),
        ('<iframe srcdoc="&lt;img src=&quot;c.png&quot;&gt;"></iframe>', "c.png"),
    ],
)
def test_what_a_page_loads_would_be_found(page: str, loaded: str) -> None:
    assert Read(page).loaded == [loaded]


@pytest.mark.parametrize("name", ["index", *(path.stem for path in NOTEBOOKS)])
def test_a_page_loads_nothing_and_its_links_lead_to_a_page(folder: Path, name: str) -> None:
    page = Read((folder / f"{name}.html").read_text("utf-8"))
    assert [place for place in page.loaded if not place.startswith("data:")] == []
    assert "script" not in page.tags
    assert page.links
    for link in page.links:
        target, fragment = urldefrag(unquote(link))
        assert (folder / (target or f"{name}.html")).is_file(), link
        assert not fragment or fragment in Read((folder / (target or f"{name}.html")).read_text("utf-8")).fragments


def test_the_index_has_every_notebook_with_its_question_and_picture(folder: Path) -> None:
    page = (folder / "index.html").read_text("utf-8")
    assert Read(page).links == [f"{path.stem}.html" for path in NOTEBOOKS]
    drawn = [path for path in NOTEBOOKS if '"image/png"' in path.read_text("utf-8")]
    assert page.count('src="data:image/png;base64,') == len(drawn)
    assert "Which of these questions can the model answer from memory" in page
    assert sorted(path.stem for path in folder.glob("*.html")) == sorted(["index", *(path.stem for path in NOTEBOOKS)])


def test_the_index_has_what_each_notebook_found(folder: Path) -> None:
    page = (folder / "index.html").read_text("utf-8")
    assert page.count("<b>Here:</b>") >= len(NOTEBOOKS)
    assert 'alt="the figure 05_plane; its numbers are in 05_plane.csv"' in (
        folder / "05_full_evaluation.html"
    ).read_text("utf-8")


def _notebook(path: Path, *outputs: Any, **metadata: Any) -> None:
    first = nbformat.v4.new_markdown_cell("# Mills & <b>τ</b>\n\n**Question.** Does the *mill* stand?")
    cell = nbformat.v4.new_code_cell("1", outputs=list(outputs))
    given = nbformat.v4.new_code_cell('MODEL = "pocket"', metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[first, given, cell], metadata=metadata), path)


def test_a_widget_is_shown_as_it_stood(tmp_path: Path) -> None:
    """A slider at 0.75 and what it made of it, as a kernel keeps them."""
    records = simulated(40)
    widget = confidence_slider(records.drop_duplicates("question_id"), records, tau=0.75, label="<nobody>")
    parts = {part.model_id: part for part in (widget, *widget.children)}
    state = {
        name: {"model_name": part._model_name, "model_module": "", "state": part.get_state() | _children(part)}
        for name, part in parts.items()
    }
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": widget.model_id}, "text/plain": "VBox()"}
    states = {"application/vnd.jupyter.widget-state+json": {"state": state}}
    _notebook(tmp_path / "02_mills.ipynb", nbformat.v4.new_output("display_data", view), widgets=states)
    _, page = gallery(tmp_path, tmp_path / "out")
    text = page.read_text("utf-8")
    assert "<b>τ:</b> 0.75" in text
    made, shown = (re.findall(r"<td>(.*?)</td>|points=\"(.*?)\"", html) for html in (widget.children[1].value, text))
    assert made == shown  # the table and the curves
    assert made
    assert "&lt;nobody&gt;" in text
    assert "VBox()" not in text


def _children(part: Any) -> dict[str, list[str]]:
    return {"children": [f"IPY_MODEL_{child.model_id}" for child in getattr(part, "children", ())]}


def test_a_widget_that_holds_itself_or_is_lost_ends(tmp_path: Path) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}}
    box = {"model_name": "VBoxModel", "model_module": "", "state": {"children": ["IPY_MODEL_a", "IPY_MODEL_b"]}}
    states = {"application/vnd.jupyter.widget-state+json": {"state": {"a": box}}}
    _notebook(tmp_path / "02_mills.ipynb", nbformat.v4.new_output("display_data", view), widgets=states)
    assert "Controls as they stood" in gallery(tmp_path, tmp_path / "out")[1].read_text("utf-8")


def test_a_folder_of_another_run_becomes_a_gallery(
    tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cli.cli.commands, "gallery", gallery_command)
    _notebook(tmp_path / "03_mills.ipynb")
    ended = srdcr("gallery", str(tmp_path), "--out", str(tmp_path / "out"))
    assert (ended.code, ended.out) == (0, f"{tmp_path / 'out' / 'index.html'}: 1 notebook\n")
    index = (tmp_path / "out/index.html").read_text("utf-8")
    assert all(text in index for text in ("03 · Mills &amp; &lt;b&gt;τ&lt;/b&gt;", "Does the mill stand?"))


def test_a_folder_without_notebooks_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no notebook of the sequence"):
        gallery(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_in_a_browser_nothing_is_cut_off_or_refused(folder: Path, tmp_path: Path) -> None:
    """At 100 % zoom in a window 1400 pixels wide: no output is wider than its place, every picture is there."""
    with opened_browser(tmp_path / "profile") as browser:
        for path in sorted(folder.glob("*.html")):
            browser.get(path.as_uri())
            wide, broken = browser.execute_script(
                "const over = part => part.scrollWidth > part.clientWidth + 1;"
                "return [[document.scrollingElement, ...document.querySelectorAll('.output_subarea, .text_cell, li')]"
                ".filter(over).map(part => part.textContent.trim().slice(0, 60)),"
                "[...document.images].filter(image => !image.naturalWidth).length]"
            )
            assert (path.name, wide, broken) == (path.name, [], 0)
            assert browser.get_log("browser") == []
