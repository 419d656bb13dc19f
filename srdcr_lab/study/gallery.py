"""Notebooks as pages of HTML, and an index with a picture of each: to be sent to a colleague, or served by a host.

Nothing is executed, and a page loads and runs nothing: widgets are shown as they stood when the notebook was kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from srdcr_lab.pages import Html, number, render
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import one_writer, write_whole
from srdcr_lab.records.vocabulary import label
from srdcr_lab.study.notebooks import parameters_of, read_notebook, sequence

_VIEW, _STATE = (f"application/vnd.jupyter.widget-{name}+json" for name in ("view", "state"))
_QUESTION = re.compile(r"\*\*Question\.\*\* (.+)")


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
        pages[f"{path.stem}.html"]["body"] = Html(exporter.from_notebook_node(_stilled(notebook))[0])
    code = Html(HtmlFormatter().get_style_defs(".highlight"))
    with one_writer(out):
        write_whole(out / "index.html", render("gallery", title="Notebooks", pages=pages))
        for name, page in pages.items():
            write_whole(out / name, render("notebook", name=name, pages=pages, code=code, **page))
    return [out / name for name in ("index.html", *pages)]


def _card(path: Path, notebook: Any) -> dict[str, Any]:
    """What the index says of a notebook; its heading is taken out of it, since the page has one."""
    first, pictures = notebook.cells[0], (output for cell in notebook.cells for output in cell.get("outputs", ()))
    heading, _, first.source = first.source.partition("\n")
    asked = _QUESTION.search(first.source)
    given = parameters_of(path)
    about = given.get("RUN") or given.get("RUNS") or given.get("MODEL", "")
    return {
        "number": path.stem.partition("_")[0],
        "title": heading.lstrip("# "),
        "question": asked[1].replace("*", "") if asked else "",
        "about": label(about if isinstance(about, list) else [about]),
        "picture": next((data["image/png"] for one in pictures if "image/png" in (data := one.get("data", {}))), ""),
    }


def _stilled(notebook: Any) -> Any:
    """The notebook, with each widget as HTML: the values of its controls, and what they made."""
    states = notebook.metadata.pop("widgets", {}).get(_STATE, {}).get("state", {})
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if view := output.get("data", {}).pop(_VIEW, None):
                parts = list(_parts(dict(states), view["model_id"]))
                output["data"]["text/html"] = render("parts", "still", parts=parts)
    return notebook


def _parts(states: dict[str, Any], model: str) -> Iterator[tuple[str, str]]:
    """What stands beside a control and its value, or nothing and HTML; `states` loses what was shown."""
    held = states.pop(model.removeprefix("IPY_MODEL_"), None)
    if held is None:
        return
    state, kind = held["state"], held["model_name"]
    if kind in ("HTMLModel", "LabelModel"):
        yield "", Html(state["value"]) if kind == "HTMLModel" else state["value"]
    elif value := _value(state):
        yield state.get("description", ""), value
    for child in state.get("children", ()):
        yield from _parts(states, child)


def _value(state: Mapping[str, Any]) -> str:
    """The value of a control as its reader sees it: a number, a text, or the names that are chosen."""
    names, index = state.get("_options_labels"), state.get("index")
    if names:
        return ", ".join(names[place] for place in (index if isinstance(index, list) else [index]) if place is not None)
    value = state.get("value", "")
    return number(value, "g") if isinstance(value, float) else str(value)
