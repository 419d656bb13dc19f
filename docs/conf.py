"""How Sphinx builds the pages: `make docs`."""

from __future__ import annotations

import csv
import dataclasses
import os
import re
import shutil
from enum import EnumType
from pathlib import Path
from typing import Any

import srdcr_lab
from srdcr_lab.records.tables import COLUMNS_OF

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

project, author, release = "srdcr_lab", "the srdcr_lab authors", srdcr_lab.__version__
extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_click"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
smartquotes = False  # they would turn -- into a dash, and --options are in prose too
default_role = "py:obj"  # of `names` in docstrings: a link where there is one, otherwise code
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
autodoc_typehints = "none"  # docstrings say them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = "srdcr_lab"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
}
html_sidebars: dict[str, list[str]] = {page: [] for page in "index start concepts cli".split()}  # no pages below
html_static_path, html_css_files = ["_static"], ["site.css"]
html_show_sourcelink = False
html_js_files: list[str] = []
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # nothing is loaded from another host
suppress_warnings = ["mystnb.unknown_mime_type", "image.not_readable"]

for made in ("notebooks", "figures", "pages", "reference"):  # what an earlier build left
    shutil.rmtree(DOCS / made, ignore_errors=True)

COPIES: dict[Path, Path] = {}  # a file outside of this folder → its copy among these pages


def bring(target: str, *places: str, name: str = "") -> None:
    """Copy what lies outside of this folder into it: pages, notebooks, figures."""
    folder = DOCS / target
    folder.mkdir(exist_ok=True)
    for path in sorted(path for pattern in places for path in ROOT.glob(pattern)):
        COPIES[path] = folder / (name or path.name)
        shutil.copy(path, COPIES[path])


bring("notebooks", "notebooks/[0-9]*.ipynb")
bring("figures", "figures/09_plane.png")
bring("pages", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
for place in "studies/README examples/README hops/README elsewhere/README facts/DATASHEET pocket/MODEL_CARD".split():
    bring("pages", f"data/{place}.md", name=f"{Path(place).parent}.md")
ORIGINS = {copy: path for path, copy in COPIES.items()}

for table, columns in COLUMNS_OF.items():  # for columns.md
    with (DOCS / "pages" / f"columns-{table}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(f"`{column.name}`", f"`{column.type}`", column.meaning) for column in columns]
        csv.writer(file).writerows([("column", "type", "meaning"), *rows])

html_extra_path = ["extra"]
(DOCS / "extra").mkdir(exist_ok=True)
srdcr_lab.confidence.tuner(srdcr_lab.load_run("pocket")).save(DOCS / "extra" / "tuner.html")

LINK = re.compile(r"(!?\[[^]]*\])\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def mend_source(app: Any, docname: str, source: list[str]) -> None:
    """Point links at the copies of files, and put a notebook's number before its title."""
    page = Path(app.env.doc2path(docname))
    origin = ORIGINS.get(page, page)

    def pointed(link: re.Match[str]) -> str:
        text, address, anchor = link.groups("")
        if not (place := (origin.parent / address).resolve()).is_file():
            return link[0]
        if place not in COPIES and not place.is_relative_to(DOCS):
            return text[1:-1]  # a file that is no page
        return f"{text}({os.path.relpath(COPIES.get(place, place), page.parent)}{anchor})"

    source[0] = LINK.sub(pointed, source[0])
    if page.suffix == ".ipynb":
        source[0] = re.sub(r'"alt": ("(?:[^"\\]|\\.)*")', r'"mystnb": {"image": {"alt": \1}}', source[0])
        source[0] = source[0].replace('"# ', f'"# {page.stem.partition("_")[0]} · ', 1)


def shorten_signature(app: Any, what: str, name: str, thing: Any, *rest: Any) -> tuple[str, str] | None:
    """A dataclass shows its public fields, whose defaults its docstring says; an enumeration shows nothing."""
    if isinstance(thing, EnumType):
        return "", ""
    if what != "class" or not dataclasses.is_dataclass(thing):
        return None
    public = [field for field in dataclasses.fields(thing) if field.init and not field.name.startswith("_")]
    missing = dataclasses.MISSING
    shown = [f.name if f.default is missing is f.default_factory else f"{f.name}=..." for f in public]
    return f"({', '.join(shown)})", ""


def list_values(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """An enumeration shows its values."""
    if isinstance(thing, EnumType):
        lines += ["", f"Values: {', '.join(f'``{member.value}``' for member in thing)}.", ""]


def skip_member(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples, whose docstring says only their place."""
    return True if str(getattr(thing, "__doc__", "")).startswith("Alias for field number") else None


def keep_columns(app: Any, context: Any, lines: list[str]) -> None:
    """Help that is aligned in columns stays as it is typed."""
    aligned = [line.startswith("| ") for line in lines]
    for number in reversed(range(len(lines))):
        if aligned[number]:
            lines[number] = f"    {lines[number][2:]}"
            if not aligned[number - 1]:
                lines[number:number] = ["::", ""]


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("source-read", mend_source)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", list_values)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("sphinx-click-process-description", keep_columns)
