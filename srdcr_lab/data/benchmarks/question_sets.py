"""Benchmarks of questions with options (CommonsenseQA, Cosmos QA), yes-or-no questions (BoolQ), claims (HoVer), and
open questions whose answer is a number (GSM8K).

Evidence published beside a question becomes the item's passage; nobody doubts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from srdcr_lab import answers
from srdcr_lab.answers.option import TRUE_OR_FALSE
from srdcr_lab.data.benchmarks.gathering import Questions
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.rows import Row, options_in, read_table, rows_of
from srdcr_lab.data.tables import check_columns
from srdcr_lab.records import AnswerType, Option

_YES_OR_NO = (Option(label="true", text="yes"), Option(label="false", text="no"))
_HOVER_LABELS = {"SUPPORTED": "true", "NOT_SUPPORTED": "false"}
_EVIDENCE = "evidence"  # the cell that `join_evidence` adds
_WHOLE_PAGE = -1


def read_boolq(rows: Sequence[Row]) -> Questions:
    """BoolQ (Clark et al. 2019): "true" (yes) or "false" (no); the page's title stands before the passage."""
    questions = Questions("boolq")
    for row in rows:
        label = row.text("answer").lower()
        if label not in ("true", "false"):
            raise row.bad("answer", f"{row.text('answer')!r} is neither true nor false")
        title, passage = row.text("title"), row.filled("passage")
        question = row.filled("question").removesuffix("?") + "?"
        questions.take(row, question, label, options=_YES_OR_NO, context=f"{title}. {passage}" if title else passage)
    return questions


BOOLQ = Benchmark(
    name="boolq",
    meaning="yes-or-no questions with the passage that answers them (Clark et al. 2019): the development split",
    home="https://github.com/google-research-datasets/boolean-questions",
    licence="CC BY-SA 3.0",
    rows=3_270,
    # Not the bucket named in its README: others report that it now serves something else than BoolQ.
    url="https://huggingface.co/datasets/google/boolq/resolve/main/data/validation-00000-of-00001.parquet",
    columns=("question", "passage", "answer"),
    read=read_boolq,
)


def read_commonsenseqa(rows: Sequence[Row]) -> Questions:
    """CommonsenseQA (Talmor et al. 2019): question and choices are in two columns or in one object."""
    questions = Questions("commonsenseqa")
    for row in rows:
        if isinstance(published := row.cells.get("question"), dict):
            row.cells |= {"question": published.get("stem"), "choices": published.get("choices")}
        choices: Any = row.cells.get("choices")
        if isinstance(choices, dict) and {"label", "text"} <= set(choices):  # two lists
            labels, texts = list(choices["label"]), list(choices["text"])
            if len(labels) != len(texts):
                raise row.bad("choices", f"has {len(labels)} labels and {len(texts)} texts")
            row.cells["choices"] = [{"label": a, "text": b} for a, b in zip(labels, texts, strict=True)]
        question, options = row.filled("question"), options_in(row, "choices")
        if not (gold := row.text("answerKey")):
            raise row.bad("answerKey", "is empty; the test split is published without answers, take the dev split")
        questions.take(row, question, gold, column="choices", options=options)
    return questions


COMMONSENSEQA = Benchmark(
    name="commonsenseqa",
    meaning="everyday questions with five options, no passage (Talmor et al. 2019): the development split",
    home="https://www.tau-nlp.sites.tau.ac.il/commonsenseqa",
    licence="MIT",
    rows=1_221,
    url="https://s3.amazonaws.com/commensenseqa/dev_rand_split.jsonl",
    columns=("question", "answerKey"),
    read=read_commonsenseqa,
)


def read_cosmosqa(rows: Sequence[Row]) -> Questions:
    """Cosmos QA (Huang et al. 2019): a short story from which the answer has to be inferred; labels 0–3 are A–D."""
    questions = Questions("cosmosqa")
    for row in rows:
        gold = "ABCD"[int(row.one_of("label", "0123"))]
        options = tuple(Option(label=label, text=row.text(f"answer{i}")) for i, label in enumerate("ABCD"))
        question, context = row.filled("question"), row.filled("context")
        questions.take(row, question, gold, column="answer0", options=options, context=context)
    return questions


COSMOSQA = Benchmark(
    name="cosmosqa",
    meaning="short stories and questions with four options (Huang et al. 2019): the validation split",
    home="https://wilburone.github.io/cosmos",
    licence="none stated in its repository",
    rows=2_985,
    url="https://raw.githubusercontent.com/wilburOne/cosmosqa/master/data/valid.csv",
    columns=("context", "question", "answer0", "answer1", "answer2", "answer3", "label"),
    read=read_cosmosqa,
)


def read_hover(rows: Sequence[Row]) -> Questions:
    """HoVer (Jiang et al. 2020): claims over two to four pages of an encyclopedia, as many as `domain` says."""
    joined = _EVIDENCE in rows[0].cells
    alone = "hover: no evidence was given, so every claim stands alone; hover=FILE+TABLE joins it"
    questions = Questions("hover", *([] if joined else [alone]))
    for row in rows:
        gold = _HOVER_LABELS[row.one_of("label", _HOVER_LABELS)]
        claim, hops, evidence = row.filled("claim"), row.text("num_hops"), row.text(_EVIDENCE)
        if not hops.isdigit():
            raise row.bad("num_hops", f"{hops!r} is not a whole number")
        if joined and not evidence:
            questions.leave_out("its evidence is not in the table")
            continue
        question, domain = f"Is this claim true or false? {claim}", f"hover {hops}-hop"
        questions.take(row, question, gold, options=TRUE_OR_FALSE, context=evidence, domain=domain)
    return questions


def join_evidence(rows: Sequence[Row], table: Path) -> None:
    """Give each row the text of its supporting sentences; empty where one of them is not in the table.

    The published file names them by page title and place. The table has the columns `title, text`, and `sentence` (from
    0) where a row is a sentence and not a whole page.
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
            known_place = place if place in pages[title] else _WHOLE_PAGE
            texts[title, known_place] = pages[title].get(known_place, "")
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
    columns=("claim", "label", "num_hops", "supporting_facts"),
    read=read_hover,
    join=join_evidence,
)


def read_gsm8k(rows: Sequence[Row]) -> Questions:
    """GSM8K (Cobbe et al. 2021), or a file of its shape: the number after the worked solution is the gold answer."""
    questions = Questions("gsm8k")
    for row in rows:
        if not (number := final_number(row.text("answer"))):
            raise row.bad("answer", "has no number after ####")
        questions.take(row, row.filled("question"), number, answer_type=AnswerType.NUMBER)
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
    # Not computed by us: another public project prints it for this commit.
    sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
    columns=("question", "answer"),
    read=read_gsm8k,
    recognised=False,
)
