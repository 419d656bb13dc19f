"""ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, on one question.

Of the two passages one agrees with `ground_truth`: it is the standard item, the other the perturbed one. The passages
are the published `…_aligned_evidence`.

Yes-or-no questions (StrategyQA): the gold answer is "yes" or "no", with the published "True" or "False" as its alias.
Which answer a passage argues for is read from the two published answer sentences: of two where exactly one is
negated, that one says no. Where it cannot be told so, the question is left out.

Other questions (PopQA): the passage whose sentence names an accepted answer is the true one; the false claim is what
differs in the other sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Gathering, PublishedRow, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.records import AnswerType, Exemplar, Item

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet

_NEGATED = re.compile(r"(?<!\w)(?:not|cannot|never|no|nor|neither|none)(?!\w)|n['’]t(?!\w)", re.IGNORECASE)
_SIDES = {
    "memory_answer": "parametric_memory_aligned_evidence",
    "counter_answer": "counter_memory_aligned_evidence",
}
_YES_NO = {"true": "yes", "false": "no"}


def read(frame: pd.DataFrame, file: str, exemplar_pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items of the published rows."""
    gathering = Gathering("conflictqa", file)
    for row, question in gathering.questions(frame):
        golds = row.texts("ground_truth")
        if not golds:
            raise row.bad("ground_truth", "is empty")
        if len(golds) == 1 and golds[0].lower() in _YES_NO:
            _yes_or_no(gathering, row, question, golds[0])
        else:
            _entity(gathering, row, question, golds)
    return gathering.result(exemplar_pool)


def _yes_or_no(gathering: Gathering, row: PublishedRow, question: str, published: str) -> None:
    negated = {side: _NEGATED.search(row.text(side)) is not None for side in _SIDES}
    if len(set(negated.values())) == 1 or _NEGATED.search(question):
        gathering.leave_out("its answer sentences do not tell yes from no", how_many=2)
        return
    gold = _YES_NO[published.lower()]
    true, false = sorted(_SIDES, key=lambda side: negated[side] is not (gold == "no"))
    item = _true(row, question, gold, (published,), row.text(_SIDES[true]))
    gathering.take(item, stated=True)
    claim = "no" if gold == "yes" else "yes"
    gathering.take(contradicted(item, "conflict", row.text(_SIDES[false]), claim), stated=True)


def _entity(gathering: Gathering, row: PublishedRow, question: str, golds: tuple[str, ...]) -> None:
    gold, aliases = golds[0], golds[1:]
    sentences = {side: row.text(side) for side in _SIDES}
    right = {side: bool(answers.find(each, gold, AnswerType.TEXT, "", aliases)) for side, each in sentences.items()}
    if len(set(right.values())) == 1:
        gathering.leave_out("both its answer sentences name an accepted answer, or neither", how_many=2)
        return
    true, false = sorted(_SIDES, key=lambda side: not right[side])
    item = _true(row, question, gold, aliases, row.text(_SIDES[true]))
    gathering.take(item)
    claim = differing(sentences[false], sentences[true])
    gathering.take(contradicted(item, "conflict", row.text(_SIDES[false]), claim))


def differing(sentence: str, other: str) -> str:
    """The words of a sentence between the beginning and the end that it shares with the other one.

    >>> differing("Rankin's occupation is a photographer.", "Rankin's occupation is a politician.")
    'photographer'
    """
    words, others = (text.strip().rstrip(".").split() for text in (sentence, other))
    start = 0
    while start < min(len(words), len(others)) and words[start].lower() == others[start].lower():
        start += 1
    end = 0
    while end < min(len(words), len(others)) - start and words[-1 - end].lower() == others[-1 - end].lower():
        end += 1
    return " ".join(words[start : len(words) - end])


def _true(row: PublishedRow, question: str, gold: str, aliases: tuple[str, ...], context: str) -> Item:
    question_id = f"conflictqa-{row.number}"
    return Item(
        item_id=question_id,
        question_id=question_id,
        question=question,
        gold_answer=gold,
        context=context,
        claimed_answer=gold,
        domain="conflictqa",
        answer_type=AnswerType.TEXT,
        aliases=aliases,
    )


_COLUMNS = ("question", "ground_truth", *_SIDES, *_SIDES.values())

STRATEGYQA = Benchmark(
    name="conflictqa",
    meaning="evidence for and against what a model remembers (Xie et al. 2024): yes-or-no questions of StrategyQA",
    home="https://github.com/OSU-NLP-Group/LLM-Knowledge-Conflict",
    licence="Apache-2.0",
    rows=1_245,
    url="https://raw.githubusercontent.com/OSU-NLP-Group/LLM-Knowledge-Conflict/8486a5a0d90fa805eeea7abd75fed4f106b22206/conflictQA/conflictQA-strategyQA-chatgpt.json",
    file="conflictQA-strategyQA-chatgpt.json",
    sha256="",
    columns=_COLUMNS,
    read=read,
)

POPQA = Benchmark(
    name="conflictqa-popqa",
    meaning="evidence for and against what a model remembers (Xie et al. 2024): questions of PopQA",
    home="https://huggingface.co/datasets/osunlp/ConflictQA",
    licence="Apache-2.0",
    rows=7_947,
    url="https://huggingface.co/datasets/osunlp/ConflictQA/resolve/056384049e63c1ddae853891c24610fa07d85744/conflictQA-popQA-chatgpt.json",
    file="conflictQA-popQA-chatgpt.json",
    # Not computed by us: another public project prints it for these 7,947 rows.
    sha256="835f7d80d009d10b077551779c0decfae6ede4ef7cfcfdc0c5148eda30516a2f",
    columns=_COLUMNS,
    read=read,
)
