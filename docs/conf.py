"""How Sphinx builds the pages: `make docs`."""

from __future__ import annotations

import shutil
from pathlib import Path

import srdcr_lab

ROOT = Path(__file__).resolve().parent.parent

project, author, release = "srdcr_lab", "the srdcr_lab authors", srdcr_lab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring, napoleon_google_docstring, napoleon_use_ivar = True, False, True
html_theme = "pydata_sphinx_theme"
html_title = "srdcr_lab"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"], "navigation_with_keys": False}
html_show_sourcelink = False
html_js_files: list[str] = []
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # nothing is loaded from another host
suppress_warnings = ["myst.xref_missing", "mystnb.unknown_mime_type", "image.not_readable"]


def bring(target: str, *places: str) -> None:
    """Copy what lies outside of this folder into it: pages, notebooks, figures."""
    folder = ROOT / "docs" / target
    folder.mkdir(exist_ok=True)
    for pattern in places:
        for path in sorted(ROOT.glob(pattern)):
            shutil.copy(path, folder / path.name)


bring("notebooks", "notebooks/[0-9]*.ipynb")
bring("figures", "figures/09_plane.png")
bring("pages", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "data/studies/README.md")
(ROOT / "docs" / "pages" / "README.md").replace(ROOT / "docs" / "pages" / "studies.md")

html_extra_path = ["extra"]
(ROOT / "docs" / "extra").mkdir(exist_ok=True)
srdcr_lab.confidence.tuner(srdcr_lab.load_run("pocket")).save(ROOT / "docs" / "extra" / "tuner.html")
