"""Cosmos QA (Huang et al. 2019): four options about a short story, whose answer has to be inferred from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.gathering import rows_of
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.benchmarks.questions import Questions, with_options
from srdcr_lab.records import Exemplar, Option

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.itemset import ItemSet

_LABELS = "ABCD"


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows; the published label 0–3 is A–D."""
    questions = Questions("cosmosqa", file)
    for row in rows_of(frame, file):
        label = row.text("label")
        if label not in ("0", "1", "2", "3"):
            raise row.bad("label", f"{label!r} is none of 0, 1, 2, 3")
        texts = [row.text(f"answer{place}") for place in range(4)]
        options = [Option(label=_LABELS[place], text=text) for place, text in enumerate(texts)]
        if not row.text("context"):
            raise row.bad("context", "is empty")
        item = with_options(
            f"cosmosqa-{row.number}",
            row.text("question"),
            options,
            _LABELS[int(label)],
            context=row.text("context"),
            domain="cosmosqa",
        )
        questions.take(item, row, "answer0")
    return questions.result(exemplar_pool)


COSMOSQA = Benchmark(
    name="cosmosqa",
    meaning="short stories and questions with four options (Huang et al. 2019): the validation split",
    home="https://wilburone.github.io/cosmos",
    licence="none stated in its repository",
    rows=2_985,
    url="https://raw.githubusercontent.com/wilburOne/cosmosqa/master/data/valid.csv",
    file="valid.csv",
    sha256="",
    columns=("context", "question", "answer0", "answer1", "answer2", "answer3", "label"),
    read=read,
)
