"""BoolQ (Clark et al. 2019): yes-or-no questions with a passage that settles them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.gathering import rows_of
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.benchmarks.questions import Questions, with_options
from srdcr_lab.records import Exemplar, Option

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.itemset import ItemSet

YES_OR_NO = (Option(label="true", text="yes"), Option(label="false", text="no"))


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows: "true" (yes) or "false" (no); the page's title stands before the passage."""
    questions = Questions("boolq", file)
    for row in rows_of(frame, file):
        label = row.text("answer").lower()
        if label not in ("true", "false"):
            raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
        if not (passage := row.text("passage")):
            raise row.bad("passage", "is empty")
        title = row.text("title")
        question = row.text("question")
        item = with_options(
            f"boolq-{row.number}",
            question if question.endswith("?") or not question else f"{question}?",
            YES_OR_NO,
            label,
            context=f"{title}. {passage}" if title else passage,
            domain="boolq",
        )
        questions.take(item, row, "question")
    return questions.result(exemplar_pool)


BOOLQ = Benchmark(
    name="boolq",
    meaning="yes-or-no questions with the passage that answers them (Clark et al. 2019): the development split",
    home="https://github.com/google-research-datasets/boolean-questions",
    licence="CC BY-SA 3.0",
    rows=3_270,
    # Not the bucket named in its README: others report that it now serves something else than BoolQ.
    url="https://huggingface.co/datasets/google/boolq/resolve/main/data/validation-00000-of-00001.parquet",
    file="validation-00000-of-00001.parquet",
    sha256="",
    columns=("question", "passage", "answer"),
    read=read,
)
