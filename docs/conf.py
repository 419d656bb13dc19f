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
suppress_warnings = ["mystnb.unknown_mime_type", "image.not_readable"]


MOVED = {  # addresses as they are written → as they are among these pages
    "](docs/": "](../", "](../docs/": "](../", "](../data/studies/README.md": "](../pages/studies.md",
    "](../examples/README.md": "](examples.md",
}  # fmt: skip


def bring(target: str, *places: str, name: str = "") -> None:
    """Copy what lies outside of this folder into it: pages, notebooks, figures."""
    folder = ROOT / "docs" / target
    folder.mkdir(exist_ok=True)
    for pattern in places:
        for path in sorted(ROOT.glob(pattern)):
            copy = folder / (name or path.name)
            shutil.copy(path, copy)
            for old, new in MOVED.items() if path.suffix in (".md", ".ipynb") else ():
                copy.write_text(copy.read_text("utf-8").replace(old, new), "utf-8")


bring("notebooks", "notebooks/[0-9]*.ipynb")
bring("figures", "figures/09_plane.png")
bring("pages", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
bring("pages", "data/studies/README.md", name="studies.md")
bring("pages", "data/examples/README.md", name="examples.md")

html_extra_path = ["extra"]
(ROOT / "docs" / "extra").mkdir(exist_ok=True)
srdcr_lab.confidence.tuner(srdcr_lab.load_run("pocket")).save(ROOT / "docs" / "extra" / "tuner.html")
