"""One page and one table of HTML for the audit and for the report: whole, escaped, and loading nothing."""

from __future__ import annotations

from srdcr_lab.pages import html_page, html_table

EVIL = "<script>{alert}</script>"


def test_a_page_is_whole_and_its_title_is_text() -> None:
    page = html_page(EVIL, ["<p>one</p>", "<p>two</p>"], style=".mine { color: red; }")
    assert page.count("&lt;script&gt;{alert}&lt;/script&gt;") == 2  # in the head and as the heading
    assert "<script" not in page
    assert ".mine { color: red; }" in page
    assert "default-src 'none'" in page
    assert page.endswith("<p>one</p>\n<p>two</p>\n</body></html>\n")


def test_a_table_by_hand() -> None:
    assert html_table(["n_items", EVIL[:8]], [[1, "a<b"]]) == (
        "<table><tr><th>n items</th><th>&lt;script&gt;</th></tr>"
        "<tr><td dir='auto'>1</td><td dir='auto'>a&lt;b</td></tr></table>"
    )
