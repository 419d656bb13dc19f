"""The one machinery of HTML: templates that escape, pages that load nothing, a table."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from IPython.lib.pretty import pretty
from jinja2 import UndefinedError

from srdcr_lab.lib.page import Html, Td, html_table, interval, number, render, shown
from srdcr_lab.lib.sentences import answer_box
from tests.hostile import ALL

EVIL = "<script>{alert}</script>"


def tags_of(html: str) -> list[tuple[str, tuple[str, ...]]]:
    """The tags of a page, each with the names of its attributes."""
    seen: list[tuple[str, tuple[str, ...]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: seen.append((tag, tuple(name for name, _ in attrs)))  # type: ignore[method-assign]
    parser.feed(html)
    return seen


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
    with pytest.raises(UndefinedError, match="data"):
        render("parts", "picture", name="")


def test_html_is_not_escaped_again_and_text_is() -> None:
    lines = [Html("<b>ours</b>"), "<b>theirs</b>"]
    assert render("parts", "paragraphs", lines=lines) == "<p><b>ours</b></p><p>&lt;b&gt;theirs&lt;/b&gt;</p>"
    assert Html("<b>")._repr_html_() == "<b>"


def test_an_answer_is_text_where_no_html_is_shown() -> None:
    box = answer_box("Supported: a < b.", "Inconclusive: c.", label="pocket")
    assert box.text == "Answer\nSupported: a < b.\nInconclusive: c.\npocket"
    assert (pretty(box), pretty(Html("<p>x</p>"))) == (box.text, "(HTML)")


def test_a_table_by_hand() -> None:
    table = html_table(["n_items", EVIL[:8]], [[1, "a<b"], [Td("x", css="c", head=True), Html("<b>2</b>")]])
    assert re.sub(r"\s*\n", "", table) == (
        "<table><thead><tr><th>n_items</th><th>&lt;script&gt;</th></tr></thead>"
        '<tbody><tr><td>1</td><td>a&lt;b</td></tr><tr><th class="c">x</th><td><b>2</b></td></tr></tbody></table>'
    )


def test_the_look_of_cells_and_rows() -> None:
    table = html_table((), [[Td("m", "color: red", rows=2), 1], [2]], caption=EVIL)
    assert ('left">&lt;script&gt;' in table, "<thead>" in table) == (True, False)
    assert '<tr><td rowspan="2" style="color: red">m</td><td>1</td></tr>' in table
    assert "<tr><td>2</td></tr>" in table


def test_a_belief_is_no_p_value() -> None:
    table = shown(pd.DataFrame({"p_unreasonable": [0.0], "p_holm": [0.0]}))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table) == ["0.00", "&lt; 0.001"]


def test_no_cell_breaks_out() -> None:
    assert tags_of(html_table([ALL], [[ALL, Td(ALL, ALL, ALL)]], caption=ALL)) == [
        ("table", ()), ("caption", ("style",)), ("thead", ()), ("tr", ()), ("th", ()), ("tbody", ()), ("tr", ()),
        ("td", ()), ("td", ("class", "style")),
    ]  # fmt: skip


def test_a_number_that_is_missing_is_a_dash() -> None:
    assert (number(0.126), number(None), number(float("nan"), ".4g")) == ("0.13", "–", "–")
    assert interval(0.5, 0.25, 0.75, ".1f") == "0.5 [0.2, 0.8]"
    assert (interval(float("nan"), 0.0, 1.0), interval(0.5, float("nan"), float("nan"))) == ("–", "0.50")
