"""Open questions with a final number, in the shape of GSM8K (Cobbe et al. 2021): `answer` ends with ``#### 42``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srdcr_lab.data.benchmarks.gathering import rows_of
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.benchmarks.questions import Questions, final_number
from srdcr_lab.records import AnswerType, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.itemset import ItemSet


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows: the worked solution is left aside, its final number is the gold answer."""
    questions = Questions("gsm8k", file)
    for row in rows_of(frame, file):
        number = final_number(row.text("answer"))
        if not number:
            raise row.bad("answer", "has no number after ####")
        item = Item(
            item_id=f"gsm8k-{row.number}",
            question_id=f"gsm8k-{row.number}",
            question=row.text("question"),
            gold_answer=number,
            context="",
            claimed_answer=number,
            domain="gsm8k",
            answer_type=AnswerType.NUMBER,
        )
        questions.take(item, row, "question")
    return questions.result(exemplar_pool)


GSM8K = Benchmark(
    name="gsm8k",
    meaning="open questions whose answer is a number (Cobbe et al. 2021): the test split, or any file of this shape",
    home="https://github.com/openai/grade-school-math",
    licence="MIT",
    rows=1_319,
    url="https://raw.githubusercontent.com/openai/grade-school-math/3101c7d5072418e28b9008a6636bde82a006892c/grade_school_math/data/test.jsonl",
    file="test.jsonl",
    # Not computed by us: another public project prints it for this commit.
    sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
    columns=("question", "answer"),
    read=read,
    recognised=False,
)
