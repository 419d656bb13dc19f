"""Notebooks as pages of HTML, and an index with the question, the answer and a picture of each: to be sent to a
colleague, or served by a host.

    python tools/gallery.py [FOLDER] --out OUT        FOLDER: of executed notebooks; default: those of this clone

Nothing is executed, and a page loads and runs nothing: widgets are shown as they stood when the notebook was kept.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import click

from srdcr_lab import cli
from srdcr_lab.commands import PATH, echo
from srdcr_lab.lib.page import Html, render
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import one_writer, write_whole
from srdcr_lab.records.vocabulary import label, n_of
from srdcr_lab.study.notebooks import SEQUENCE, WIDGET, parameters_of, read_notebook, sequence, with_stills

_SAVED = re.compile(r'save_figure\(.*"(\w+)"')
_CHOSEN = re.compile(r"chosen questions: [^;<\n]+")
_QUESTION = re.compile(r"\*\*Question\.\*\* (.+)")
_BOX, _LINE = re.compile(r'<div class="srdcr-answer".*?</div>', re.DOTALL), re.compile(r"<li>(.*?)</li>", re.DOTALL)


def gallery(folder: Path, out: Path) -> list[Path]:
    """Write a page for each notebook of a folder, and `index.html`, into `out`; the pages, the index first.

    `BadInput` where the folder holds no notebook of the sequence, or one that cannot be read.
    """
    try:
        from nbconvert import HTMLExporter
        from pygments.formatters import HtmlFormatter
    except ImportError:
        raise BadInput("a gallery needs nbconvert; install it with: pip install 'srdcr-lab[notebooks]'") from None

    notebooks = sequence(folder)
    if not notebooks:
        raise BadInput(f"{folder} holds no notebook of the sequence; execute them with srdcr notebooks --out {folder}")
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    pages = {}
    for path in notebooks:
        notebook = read_notebook(path)
        pages[f"{path.stem}.html"] = _card(path, notebook)
        for output in with_stills(notebook):
            del output["data"][WIDGET]
        notebook.metadata.pop("widgets", None)
        for cell in notebook.cells:
            if saved := _SAVED.search(cell.source):
                cell.metadata["alt"] = f"the figure {saved[1]}; its numbers are in {saved[1]}.csv"
        pages[f"{path.stem}.html"]["body"] = Html(exporter.from_notebook_node(notebook)[0])
    code = Html(HtmlFormatter().get_style_defs(".highlight"))
    with one_writer(out):
        write_whole(out / "index.html", render("gallery", title="Notebooks", pages=pages))
        for name, page in pages.items():
            write_whole(out / name, render("notebook", name=name, pages=pages, code=code, **page))
    return [out / name for name in ("index.html", *pages)]


def _card(path: Path, notebook: Any) -> dict[str, Any]:
    """What the index says of a notebook, with the lines of its answer box (or of cells tagged `answer`); its heading is
    taken out of it, since the page has one."""
    first, pictures = notebook.cells[0], (output for cell in notebook.cells for output in cell.get("outputs", ()))
    heading, _, first.source = first.source.partition("\n")
    asked = _QUESTION.search(first.source)
    answers = [cell for cell in notebook.cells if "answer" in cell.metadata.get("tags", ())]
    said = (one.get("data", {}).get("text/plain", "") for cell in answers for one in cell.get("outputs", ()))
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    html = "".join(one.get("data", {}).get("text/html", "") for one in outputs)
    box = _BOX.search(html)
    lines = [unescape(re.sub(r"<[^>]+>", "", line)) for line in _LINE.findall(box[0])] if box else []
    printed = "".join(one.get("text", "") for one in outputs)
    chosen = _CHOSEN.search(printed)
    given = parameters_of(path)
    about = given.get("RUN") or given.get("RUNS") or given.get("MODEL", "")
    return {
        "number": path.stem.partition("_")[0],
        "title": heading.lstrip("# "),
        "question": (asked[1] if asked else first.source.strip().partition("\n")[0]).replace("*", ""),
        "answers": lines or [text for text in said if text.endswith(".")],
        "about": "; ".join([label(about if isinstance(about, list) else [about]), *([chosen[0]] if chosen else [])]),
        "picture": next((data["image/png"] for one in pictures if "image/png" in (data := one.get("data", {}))), ""),
    }


@click.command("gallery")
@click.argument("folder", type=PATH, default=SEQUENCE)
@click.option("--out", type=PATH, default=Path("results/gallery"), show_default=True)
def gallery_command(folder: Path, out: Path) -> None:
    """Write the executed notebooks in FOLDER as pages of HTML."""
    index, *pages = gallery(folder, out)
    echo(f"{index}: {n_of(len(pages), 'notebooks')}")


if __name__ == "__main__":
    cli.cli.add_command(gallery_command)
    cli.main(["gallery", *sys.argv[1:]])
