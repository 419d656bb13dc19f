"""Benchmarks of questions that need no single passage: with options (CommonsenseQA, Cosmos QA), yes-or-no (BoolQ),
claims (HoVer), and open ones whose answer is a number (GSM8K).

Evidence published beside a question becomes the item's passage, and is not the one to be doubted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Questions
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.facts import TRUE_OR_FALSE
from srdcr_lab.data.items import standard_item
from srdcr_lab.data.rows import Row, listed, options_in, rows_of
from srdcr_lab.data.tables import check_columns, read_table
from srdcr_lab.records import AnswerType, Item, Option

_YES_OR_NO = (Option(label="true", text="yes"), Option(label="false", text="no"))


def _with_options(
    name: str, row: Row, question: str, options: Sequence[Option], gold: str, context: str = "", domain: str = ""
) -> Item:
    return standard_item(
        f"{name}-{row.number}",
        question,
        gold,
        context,
        domain=domain or name,
        answer_type=AnswerType.OPTION,
        options=tuple(options),
    )


# BoolQ (Clark et al. 2019): the passage settles the question


def read_boolq(rows: Sequence[Row]) -> Questions:
    """Items of the published rows: "true" (yes) or "false" (no); the page's title stands before the passage."""
    questions = Questions()
    for row in rows:
        label = row.text("answer").lower()
        if label not in ("true", "false"):
            raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
        title, passage, question = row.text("title"), row.filled("passage"), row.filled("question").rstrip("?")
        context = f"{title}. {passage}" if title else passage
        questions.take(_with_options("boolq", row, f"{question}?", _YES_OR_NO, label, context), row, "question")
    return questions


BOOLQ = Benchmark(
    name="boolq",
    meaning="yes-or-no questions with the passage that answers them (Clark et al. 2019): the development split",
    home="https://github.com/google-research-datasets/boolean-questions",
    licence="CC BY-SA 3.0",
    rows=3_270,
    # Not the bucket named in its README: others report that it now serves something else than BoolQ.
    url="https://huggingface.co/datasets/google/boolq/resolve/main/data/validation-00000-of-00001.parquet",
    file="validation-00000-of-00001.parquet",
    columns=("question", "passage", "answer"),
    read=read_boolq,
)


# CommonsenseQA (Talmor et al. 2019): everyday questions with five options and no passage


def read_commonsenseqa(rows: Sequence[Row]) -> Questions:
    """Items of the published rows, which hold question and choices in columns of their own or in one object."""
    questions = Questions()
    for row in rows:
        column, cells = "choices", row.cells
        if isinstance(published := row.cells.get("question"), dict):
            column, cells = "question", {"question": published.get("stem"), "choices": published.get("choices")}
        question = Row(row.file, row.number, cells).filled("question")
        options = options_in(row, column, _choices(row, column, cells.get("choices")))
        gold = row.text("answerKey")
        if not gold:
            raise row.bad("answerKey", "is empty; the test split is published without answers, take the dev split")
        questions.take(_with_options("commonsenseqa", row, question, options, gold), row, column)
    return questions


def _choices(row: Row, column: str, published: Any) -> list[Any]:
    """Objects with label and text; some files hold the labels and the texts as two lists."""
    if isinstance(published, dict) and {"label", "text"} <= set(published):
        labels, texts = list(published["label"]), list(published["text"])
        if len(labels) != len(texts):
            raise row.bad(column, f"has {len(labels)} labels and {len(texts)} texts")
        return [{"label": label, "text": text} for label, text in zip(labels, texts, strict=True)]
    if not isinstance(choices := listed(published), list) or not all(isinstance(each, dict) for each in choices):
        raise row.bad(column, f"choices with label and text were expected, found {published!r:.40}")
    return choices


COMMONSENSEQA = Benchmark(
    name="commonsenseqa",
    meaning="everyday questions with five options, no passage (Talmor et al. 2019): the development split",
    home="https://www.tau-nlp.sites.tau.ac.il/commonsenseqa",
    licence="MIT",
    rows=1_221,
    url="https://s3.amazonaws.com/commensenseqa/dev_rand_split.jsonl",
    file="dev_rand_split.jsonl",
    columns=("question", "answerKey"),
    read=read_commonsenseqa,
)


# Cosmos QA (Huang et al. 2019): four options about a short story, whose answer has to be inferred from it


def read_cosmosqa(rows: Sequence[Row]) -> Questions:
    """Items of the published rows; the published label 0–3 is A–D."""
    questions = Questions()
    for row in rows:
        gold = "ABCD"[int(row.one_of("label", ("0", "1", "2", "3")))]
        options = [Option(label="ABCD"[place], text=row.text(f"answer{place}")) for place in range(4)]
        item = _with_options("cosmosqa", row, row.filled("question"), options, gold, row.filled("context"))
        questions.take(item, row, "answer0")
    return questions


COSMOSQA = Benchmark(
    name="cosmosqa",
    meaning="short stories and questions with four options (Huang et al. 2019): the validation split",
    home="https://wilburone.github.io/cosmos",
    licence="none stated in its repository",
    rows=2_985,
    url="https://raw.githubusercontent.com/wilburOne/cosmosqa/master/data/valid.csv",
    file="valid.csv",
    columns=("context", "question", "answer0", "answer1", "answer2", "answer3", "label"),
    read=read_cosmosqa,
)


# HoVer (Jiang et al. 2020): claims whose support takes two to four hops over pages of an encyclopedia

_EVIDENCE = "evidence"  # the cell that `join_evidence` adds
_WHOLE_PAGE = -1
_HOVER_LABELS = {"SUPPORTED": "true", "NOT_SUPPORTED": "false"}


def read_hover(rows: Sequence[Row]) -> Questions:
    """Items of the published rows; `domain` tells the hops apart, as the CFMAD paper's tables do."""
    joined = _EVIDENCE in rows[0].cells
    alone = "hover: no evidence was given, so every claim stands alone; hover=FILE+TABLE joins it"
    questions = Questions(*([] if joined else [alone]))
    for row in rows:
        gold = _HOVER_LABELS[row.one_of("label", _HOVER_LABELS)]
        claim, hops, evidence = row.filled("claim"), row.text("num_hops"), row.text(_EVIDENCE)
        if not hops.isdigit():
            raise row.bad("num_hops", f"{hops!r} is not a whole number")
        if joined and not evidence:
            questions.leave_out("its evidence is not in the table")
            continue
        question, domain = f"Is this claim true or false? {claim}", f"hover {hops}-hop"
        questions.take(_with_options("hover", row, question, TRUE_OR_FALSE, gold, evidence, domain), row, "claim")
    return questions


def join_evidence(rows: Sequence[Row], table: Path) -> None:
    """Give each row the text of its supporting sentences; empty where one of them is not in the table.

    The published file names them by page title and place. `hover=FILE+TABLE` brings the texts: a CSV, JSONL or Parquet
    file with the columns `title, text`, and `sentence` (from 0) where a row is a sentence and not a whole page.

    Raises
    ------
    BadInput
        If the table lacks a column or has a sentence number that is none.
    """
    frame = read_table(table, ("title", "text"))
    check_columns(frame, ("title", "text"), str(table), "evidence has title, text and perhaps sentence")
    pages: dict[str, dict[int, str]] = defaultdict(dict)  # title → place → text
    for page in rows_of(frame, table.name):
        sentence = page.text("sentence")
        if sentence and not sentence.isdigit():
            raise page.bad("sentence", f"{sentence!r} is not a whole number from 0")
        pages[page.text("title")][int(sentence) if sentence else _WHOLE_PAGE] = page.text("text")
    for row in rows:
        texts = {}
        for title, place in _supporting(row):
            page_texts = pages.get(title, {})
            known_place = place if place in page_texts else _WHOLE_PAGE
            texts[title, known_place] = page_texts.get(known_place, "")
        whole = "\n".join(f"{title}: {text}" for (title, _), text in texts.items())
        row.cells[_EVIDENCE] = whole if all(texts.values()) else ""


def _supporting(row: Row) -> list[tuple[str, int]]:
    facts: Any = row.cells.get("supporting_facts")
    try:
        return [(str(title), int(place)) for title, place in facts]
    except (TypeError, ValueError):
        raise row.bad("supporting_facts", f"a list of [title, sentence] was expected, found {facts!r:.40}") from None


HOVER = Benchmark(
    name="hover",
    meaning="claims over two to four pages, supported or not (Jiang et al. 2020): the development split",
    home="https://hover-nlp.github.io",
    licence="MIT (its repository)",
    rows=4_000,
    url="https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover/hover_dev_release_v1.1.json",
    file="hover_dev_release_v1.1.json",
    columns=("claim", "label", "num_hops", "supporting_facts"),
    read=read_hover,
    join=join_evidence,
)


# GSM8K (Cobbe et al. 2021), or any file of its shape: `answer` ends with ``#### 42``


def read_gsm8k(rows: Sequence[Row]) -> Questions:
    """Items of the published rows: the worked solution is left aside, its final number is the gold answer."""
    questions = Questions()
    for row in rows:
        number = final_number(row.text("answer"))
        if not number:
            raise row.bad("answer", "has no number after ####")
        question, kind = row.filled("question"), AnswerType.NUMBER
        item = standard_item(f"gsm8k-{row.number}", question, number, domain="gsm8k", answer_type=kind)
        questions.take(item, row, "question")
    return questions


def final_number(worked: str) -> str:
    """The number after the last ``####`` of a worked solution; empty where there is none."""
    _, marker, last = worked.rpartition("####")
    return (answers.normalise(last, AnswerType.NUMBER) or "") if marker else ""


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
