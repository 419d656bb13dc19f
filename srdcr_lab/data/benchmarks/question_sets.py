"""BoolQ (Clark et al. 2019): yes-or-no questions with a passage that settles them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from srdcr_lab.data.benchmarks.gathering import PublishedRow, Questions, final_number, rows_of, with_options
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.records import AnswerType, Exemplar, Item, Option

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet


YES_OR_NO = (Option(label="true", text="yes"), Option(label="false", text="no"))


def read_boolq(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
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
    read=read_boolq,
)


# -- CommonsenseQA (Talmor et al. 2019): everyday questions with five options and no passage


def read_commonsenseqa(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
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
    read=read_commonsenseqa,
)


# -- Cosmos QA (Huang et al. 2019): four options about a short story, whose answer has to be inferred from it

_LABELS = "ABCD"


def read_cosmosqa(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
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
    read=read_cosmosqa,
)


# -- open questions with a final number, in the shape of GSM8K (Cobbe et al. 2021): `answer` ends with ``#### 42``


def read_gsm8k(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
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
    read=read_gsm8k,
    recognised=False,
)
