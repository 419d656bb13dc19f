"""The one machinery of HTML: templates that escape, pages that load nothing, a table, a chart."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest
from jinja2 import UndefinedError

from srdcr_lab.lib.page import (
    Area,
    Chart,
    Dot,
    Html,
    Label,
    Line,
    Td,
    frame_table,
    html_table,
    interval,
    number,
    render,
)
from tests.hostile import ALL

EVIL = "<script>{alert}</script>"
SVG = "{http://www.w3.org/2000/svg}"


def test_a_page_is_whole_and_its_title_is_text() -> None:
    page = render("page", title=EVIL)
    assert page.startswith("<!doctype html>")
    assert page.count("&lt;script&gt;{alert}&lt;/script&gt;") == 2  # in the head and as the heading
    assert "<script" not in page
    assert """content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">""" in page
    assert page.endswith("</body></html>")


def test_a_value_that_is_missing_raises() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("page")
    with pytest.raises(UndefinedError, match="height"):
        render("parts", "frame", page="")


def test_html_is_not_escaped_again_and_text_is() -> None:
    lines = [Html("<b>ours</b>"), "<b>theirs</b>"]
    assert render("parts", "paragraphs", lines=lines) == "<p><b>ours</b></p><p>&lt;b&gt;theirs&lt;/b&gt;</p>"
    assert Html("<b>")._repr_html_() == "<b>"


def test_a_table_by_hand() -> None:
    table = html_table(["n_items", EVIL[:8]], [[1, "a<b"], [Td("x", css="c", head=True), Html("<b>2</b>")]])
    assert re.sub(r"\s*\n", "", table) == (
        "<table><thead><tr><th>n_items</th><th>&lt;script&gt;</th></tr></thead>"
        '<tbody><tr><td>1</td><td>a&lt;b</td></tr><tr><th class="c">x</th><td><b>2</b></td></tr></tbody></table>'
    )


def test_the_look_of_cells_and_rows() -> None:
    table = html_table((), [[Td("m", "color: red", rows=2), 1], [2]], caption=EVIL, row_classes=["a", ""])
    assert "<caption>&lt;script&gt;" in table
    assert "<thead>" not in table
    assert '<tr class="a"><td rowspan="2" style="color: red">m</td><td>1</td></tr>' in table
    assert "<tr><td>2</td></tr>" in table


def test_no_cell_breaks_out() -> None:
    table = html_table([ALL], [[ALL, Td(ALL, ALL, ALL)]], caption=ALL, row_classes=[ALL])
    seen: list[tuple[str, tuple[str, ...]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: seen.append((tag, tuple(name for name, _ in attrs)))  # type: ignore[method-assign]
    parser.feed(table)
    assert seen == [
        ("table", ()), ("caption", ()), ("thead", ()), ("tr", ()), ("th", ()), ("tbody", ()), ("tr", ("class",)),
        ("td", ()), ("td", ("class", "style")),
    ]  # fmt: skip


def test_a_frame_loses_underscores_in_its_head_alone() -> None:
    table = frame_table(pd.DataFrame({"n_items": ["a_b"]}))
    assert "<th>n items</th>" in table
    assert "<td>a_b</td>" in table


def test_a_number_that_is_missing_is_a_dash() -> None:
    assert (number(0.126), number(None), number(float("nan"), ".4g")) == ("0.13", "–", "–")
    assert interval(0.5, 0.25, 0.75, ".1f") == "0.5 [0.2, 0.8]"
    assert interval(float("nan"), 0.0, 1.0) == "–"


# A chart 100 by 50 pixels with margins of 10 (left), 20 (above), 30, 40: (x, y) lies at 10 + 100 x, 20 + 50 (1 - y).
CHART = Chart("a < b", 100, 50, (10, 20, 30, 40), ("x", "y"))


def test_places_by_hand() -> None:
    assert CHART.places([(0, 0), (0.5, 1)]) == ("10.0 70.0", "60.0 20.0")
    chart = CHART.svg(
        [Area([(0.1, 1), (0.2, 0.5)], "red"), Area([(0, 1)] * 4 + [(1, 0)] * 4, "blue", EVIL)],
        [Line([(0, 0), (1, 1)], "grey", 2, dashed=True)],
        [Dot((0, 1), "black", 5, filled=False, title=EVIL)],
        [Label((1, 0), EVIL, (3, -4), "end")],
    )
    root = ElementTree.fromstring(chart)  # noqa: S314 (our own)
    assert root.attrib["viewBox"] == "0 0 140 110"
    assert root.attrib["aria-label"] == "a < b"
    rect, path, circle = (root.find(f"{SVG}{name}") for name in ("rect", "path", "circle"))
    assert rect.attrib == {"transform": "translate(20.0 20.0)", "width": "10.0", "height": "25.0", "fill": "red"}
    assert path.attrib["d"].startswith("M10.0 20.0 C10.0 20.0")
    assert path.find(f"{SVG}title").text == circle.find(f"{SVG}title").text == EVIL
    assert (circle.attrib["transform"], circle.attrib["fill"]) == ("translate(10.0 20.0)", "none")
    axes, line = root.findall(f"{SVG}polyline")
    assert axes.attrib["points"] == "10.0 20.0 10.0 70.0 110.0 70.0"
    assert (line.attrib["points"], line.attrib["stroke-dasharray"]) == ("10.0 70.0 110.0 20.0", "4 3")
    texts = {text.text: text.attrib for text in root.findall(f"{SVG}text")}
    assert {"0", "0.5", "1", "x", "y", EVIL} == set(texts)
    assert texts[EVIL] == {"transform": "translate(110.0 70.0)", "x": "3", "y": "-4", "text-anchor": "end"}
