"""Committed notebooks have a form that a stranger reads in five minutes, and figures intervals about their points."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

from srdcr_lab.study.notebooks import SEQUENCE, notebooks_in

CELLS, CODE_CELLS, LINES, WORDS, FIGURES, BYTES = 30, 12, 6, 900, 8, 500_000
BEFORE_THE_ANSWER = 2  # cells of code: imports and parameters; the third opens the study
RAW = re.compile(
    r"\b(USE_CONTEXT|USE_PRIOR|HIGHLY_KNOWN|MAYBE_KNOWN|WEAKLY_KNOWN|p_holm|only_a|only_b|n_questions|mean_logprob|"
    r"self_confidence|sampled_accuracy|knowledge_category|selective_accuracy|judge_alone|two_answers|few_shot|sr_dcr)\b"
)
FEW = re.compile(r"(?:Supported|Contradicted|Inconclusive)[^.]*?\bn = ([1-9])\b(?![\d,])")
PLACES = re.compile(r"(?<![\w.:/])/(home|root|tmp|Users|work)/")


def defects(path: Path) -> list[str]:
    """What is wrong with the form of an executed notebook, a sentence each."""
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    read = [cell for cell in code if not {"parameters", "injected-parameters"} & set(cell.metadata.get("tags", ()))]
    return [sentence for sentence in _defects(path, notebook, code, read, prose) if sentence]


def _defects(path: Path, notebook: Any, code: list[Any], read: list[Any], prose: list[str]) -> Iterator[str]:
    words = sum(len(re.sub(r"<[^>]+>", " ", text).split()) for text in prose)
    figures = sum("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    title = prose[0].partition("\n")[0]
    if not re.fullmatch(r"# .+\?", title):
        yield f"the title is no question: {title}"
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        yield "it was not executed from its first cell to its last"
    if (parameters := sum("parameters" in cell.metadata.get("tags", ()) for cell in code)) != 1:
        yield f"{parameters} cells are tagged as parameters"
    for count, most, what in (
        (len(notebook.cells), CELLS, "cells"), (len(read), CODE_CELLS, "cells of code"), (words, WORDS, "words"),
        (figures, FIGURES, "figures"), (path.stat().st_size, BYTES, "bytes"),
    ):  # fmt: skip
        if count > most:
            yield f"{count:,} {what}, at most {most:,}"
    for cell in read[1:]:
        if len(cell.source.splitlines()) > LINES:
            yield f"a cell of {len(cell.source.splitlines())} lines: {cell.source[:60]}"
    boxes = [place for place, cell in enumerate(code) if "srdcr-answer" in _html(cell)]
    if not boxes or boxes[0] > BEFORE_THE_ANSWER + 1:
        yield "the answer box is not the first output"
    elif any(cell.outputs for cell in code[: boxes[0]]):
        yield "something is printed before the answer box"
    texts = prose + [_html(cell) + _plain(cell) for cell in code]
    for text in texts:
        visible = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]+>|`[^`]*`", " ", text, flags=re.DOTALL)
        for name in sorted(set(RAW.findall(visible))):
            yield f"a raw name is shown: {name}"
        for n in FEW.findall(visible):
            yield f"a sentence rests on n = {n}"
    if "What would make this wrong" in "".join(prose):
        yield "a heading of the first edition: What would make this wrong"
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", "\n".join(prose)):
        if not (path.parent / link).exists():
            yield f"a link leads nowhere: {link}"
    if PLACES.search(path.read_text("utf-8")):
        yield "a path of this machine is in it"
    for cell in code:
        if any(output.output_type == "error" for output in cell.outputs):
            yield f"a cell failed: {cell.source[:60]}"


def _html(cell: Any) -> str:
    return "".join("".join(output.get("data", {}).get("text/html", "")) for output in cell.outputs)


def _plain(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs if output.output_type == "stream")


@pytest.mark.parametrize("path", notebooks_in(SEQUENCE), ids=lambda path: path.name)
def test_a_notebook_has_the_form(path: Path) -> None:
    assert not defects(path)


TABLES = {path.stem: pd.read_csv(path) for path in sorted((Path(__file__).parents[2] / "figures").glob("*.csv"))}
# What low and high are of, the first of these columns that a table has; Table 1 of the paper has an accuracy.
POINTS_DRAWN = ("value", "share", "frequency", "precision", "spearman", "flipped", "utility", "difference", "risk")
POINTS_DRAWN += ("accuracy",)


def bounded(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Columns with an interval in some row, each with its two ends."""
    ends = [(name, f"{name}_low", f"{name}_high") for name in table if f"{name}_low" in table]
    ends += [(next(name for name in POINTS_DRAWN if name in table), "low", "high")] if "low" in table else []
    return [columns for columns in ends if len(table.dropna(subset=columns))]


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if bounded(table)])
def test_every_interval_of_a_figure_is_of_the_point_beside_it(name: str) -> None:
    for point, low, high in bounded(TABLES[name]):
        rows = TABLES[name].dropna(subset=[point, low, high])
        assert (rows[low] <= rows[point] + 1e-9).all(), point
        assert (rows[point] <= rows[high] + 1e-9).all(), point
