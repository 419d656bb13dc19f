"""ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, on one question.

The passage (`…_aligned_evidence`) that agrees with `ground_truth` is the standard item, the other the perturbed one.
Which it is, the two published answer sentences tell; where they do not, the question is left out. Of a yes-or-no
question (StrategyQA) the one sentence that is negated says no. Of other questions (PopQA) the true sentence names an
accepted answer, and the false claim is what differs in the other one. As documents, a question has both passages, from
the sources "memory" and "counter".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Documents, Passages, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.items import grouped, standard_item
from srdcr_lab.data.rows import Row, shuffled
from srdcr_lab.records import AnswerType, Document, DocumentKind

_NEGATED = re.compile(r"(?<!\w)(?:not|cannot|never|no|nor|neither|none)(?!\w)|n['’]t(?!\w)", re.IGNORECASE)
_EVIDENCE = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}
_OTHER = {"yes": "no", "no": "yes"}


def read(rows: Sequence[Row]) -> Passages:
    """Items of the published rows."""
    passages = Passages("conflictqa")
    for row, question in passages.questions(rows):
        if not (golds := row.texts("ground_truth")):
            raise row.bad("ground_truth", "is empty")
        gold, aliases = golds[0], golds[1:]
        sentences = {side: row.text(f"{side}_answer") for side in _EVIDENCE}
        yes_or_no = len(golds) == 1 and answers.guess_type(golds) is AnswerType.YES_NO
        kind = AnswerType.YES_NO if yes_or_no else AnswerType.TEXT
        if yes_or_no:
            gold = answers.normalise(gold, kind) or gold
            right = {side: bool(_NEGATED.search(text)) is (gold == "no") for side, text in sentences.items()}
            undecided = "its answer sentences do not tell yes from no"
        else:
            finding = (gold, kind, "", aliases)
            right = {side: bool(answers.find(text, *finding)) for side, text in sentences.items()}
            undecided = "both its answer sentences name an accepted answer, or neither"
        if len(set(right.values())) == 1 or (yes_or_no and _NEGATED.search(question)):
            passages.leave_out(undecided, how_many=2)
            continue
        true, false = sorted(_EVIDENCE, key=lambda side: not right[side])
        item_id, context = f"conflictqa-{row.number}", row.text(_EVIDENCE[true])
        fields = {"domain": "conflictqa", "answer_type": kind, "aliases": aliases}
        item = standard_item(item_id, question, gold, context, **fields)
        claim = _OTHER[gold] if yes_or_no else differing(sentences[false], sentences[true])
        passages.take(item)
        passages.take(contradicted(item, "conflict", row.text(_EVIDENCE[false]), claim))
    return passages


def differing(sentence: str, other: str) -> str:
    """The words of a sentence between the beginning and the end that it shares with the other one.

    >>> differing("Rankin's occupation is a photographer.", "Rankin's occupation is a politician.")
    'photographer'
    """
    words, others = (text.strip().rstrip(".").split() for text in (sentence, other))
    start = _alike(words, others)
    end = _alike(words[start:][::-1], others[start:][::-1])
    return " ".join(words[start : len(words) - end])


def _alike(words: list[str], others: list[str]) -> int:
    """How many words two lists share at their beginning, without case."""
    return len(list(takewhile(lambda pair: pair[0].lower() == pair[1].lower(), zip(words, others, strict=False))))


def read_documents(rows: Sequence[Row]) -> Documents:
    """An item a question with its two passages as documents; questions of which one is left out are left out."""
    source_of = {
        (row.text("question"), row.text(column)): source for row in rows for source, column in _EVIDENCE.items()
    }
    passages = read(rows).result(rows[0].file)
    documents = Documents("conflictqa:documents", *passages.notes)
    for pair in grouped(passages, lambda item: item.question_id).values():
        if len(pair) != 2:
            documents.leave_out("questions of which one document cannot serve")
            continue
        true, false = pair
        both = []
        for item, kind in ((true, DocumentKind.CORRECT), (false, DocumentKind.MISINFO)):
            source, text = source_of[item.question, item.context], item.context
            both.append(Document(document_id="", text=text, source=source, kind=kind, answer=item.claimed_answer))
        wrong = (false.claimed_answer,)
        documents.take(replace(true, context="", documents=shuffled(both, true.question), wrong_answers=wrong))
    return documents


STRATEGYQA = Benchmark(
    name="conflictqa",
    meaning="evidence for and against what a model remembers (Xie et al. 2024): yes-or-no questions of StrategyQA",
    home="https://github.com/OSU-NLP-Group/LLM-Knowledge-Conflict",
    licence="Apache-2.0",
    rows=1_245,
    url="https://raw.githubusercontent.com/OSU-NLP-Group/LLM-Knowledge-Conflict/8486a5a0d90fa805eeea7abd75fed4f106b22206/conflictQA/conflictQA-strategyQA-chatgpt.json",
    columns=("question", "ground_truth", "memory_answer", "counter_answer", *_EVIDENCE.values()),
    read=read,
    read_documents=read_documents,
)

POPQA = replace(
    STRATEGYQA,
    name="conflictqa-popqa",
    meaning="evidence for and against what a model remembers (Xie et al. 2024): questions of PopQA",
    home="https://huggingface.co/datasets/osunlp/ConflictQA",
    rows=7_947,
    url="https://huggingface.co/datasets/osunlp/ConflictQA/resolve/056384049e63c1ddae853891c24610fa07d85744/conflictQA-popQA-chatgpt.json",
    # Not computed by us: another public project prints it for these 7,947 rows.
    sha256="835f7d80d009d10b077551779c0decfae6ede4ef7cfcfdc0c5148eda30516a2f",
)
