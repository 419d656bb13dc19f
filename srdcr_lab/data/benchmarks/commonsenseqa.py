"""CommonsenseQA (Talmor et al. 2019): everyday questions with five options and no passage.

Two published shapes are read: `question` as text beside `choices` (lists of labels and texts), and `question` as an
object with `stem` and a list of choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from srdcr_lab.data.benchmarks.gathering import PublishedRow, rows_of
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.benchmarks.questions import Questions, with_options
from srdcr_lab.records import Exemplar, Option

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.itemset import ItemSet


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows."""
    questions = Questions("commonsenseqa", file)
    for row in rows_of(frame, file):
        published = row.cells.get("question")
        nested = isinstance(published, dict)
        stem = str(published.get("stem", "")).strip() if isinstance(published, dict) else row.text("question")
        column = "question" if nested else "choices"
        choices = published.get("choices") if isinstance(published, dict) else row.cells.get("choices")
        options = _options(row, column, choices)
        gold = row.text("answerKey")
        if not gold:
            raise row.bad("answerKey", "is empty; the test split is published without answers, take the dev split")
        item_id = f"commonsenseqa-{row.number}"
        questions.take(with_options(item_id, stem, options, gold, domain="commonsenseqa"), row, column)
    return questions.result(exemplar_pool)


def _options(row: PublishedRow, column: str, choices: Any) -> list[Option]:
    if isinstance(choices, dict) and {"label", "text"} <= set(choices):
        labels, texts = list(choices["label"]), list(choices["text"])
        if len(labels) != len(texts):
            raise row.bad(column, f"has {len(labels)} labels and {len(texts)} texts")
        pairs = list(zip(labels, texts, strict=True))
    elif isinstance(choices, (list, tuple)) or type(choices).__name__ == "ndarray":
        if not all(isinstance(each, dict) and {"label", "text"} <= set(each) for each in choices):
            raise row.bad(column, "every choice is an object with label and text")
        pairs = [(each["label"], each["text"]) for each in choices]
    else:
        raise row.bad(column, f"choices with label and text were expected, found {choices!r:.40}")
    return [Option(label=str(label).strip(), text=str(text).strip()) for label, text in pairs]


COMMONSENSEQA = Benchmark(
    name="commonsenseqa",
    meaning="everyday questions with five options, no passage (Talmor et al. 2019): the development split",
    home="https://www.tau-nlp.sites.tau.ac.il/commonsenseqa",
    licence="MIT",
    rows=1_221,
    url="https://s3.amazonaws.com/commensenseqa/dev_rand_split.jsonl",
    file="dev_rand_split.jsonl",
    sha256="",
    columns=("question", "answerKey"),
    read=read,
)
