"""ConflictQA (Xie et al. 2024): evidence for what a model remembers, and evidence against it, on one question.

Of the two passages one agrees with `ground_truth`: it is the standard item, the other the perturbed one. The passages
are the published `…_aligned_evidence`.

Yes-or-no questions (StrategyQA): the gold answer is "yes" or "no", with the published "True" or "False" as its alias.
Which answer a passage argues for is read from the two published answer sentences: of two where exactly one is
negated, that one says no. Where this does not tell them apart, the question is left out.

Other questions (PopQA): the passage whose sentence names an accepted answer is the true one; the false claim is what
differs in the other sentence.

As documents, a question has both passages, and "memory" and "counter" are their sources.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from srdcr_lab import answers
from srdcr_lab.data.benchmarks.gathering import Documents, Passages, contradicted
from srdcr_lab.data.benchmarks.published import Benchmark
from srdcr_lab.data.items import standard_item
from srdcr_lab.data.rows import Row, shuffled
from srdcr_lab.records import AnswerType, Document, DocumentKind, Item

_NEGATED = re.compile(r"(?<!\w)(?:not|cannot|never|no|nor|neither|none)(?!\w)|n['’]t(?!\w)", re.IGNORECASE)
_EVIDENCE = {"memory": "parametric_memory_aligned_evidence", "counter": "counter_memory_aligned_evidence"}
_YES_NO = {"true": "yes", "false": "no"}


def read(rows: Sequence[Row]) -> Passages:
    """Items of the published rows."""
    passages = Passages()
    for row, question in passages.questions(rows):
        golds = row.texts("ground_truth")
        if not golds:
            raise row.bad("ground_truth", "is empty")
        sentences = {side: row.text(f"{side}_answer") for side in _EVIDENCE}
        if len(golds) == 1 and golds[0].lower() in _YES_NO:
            _take_yes_or_no(passages, row, question, golds[0], sentences)
        else:
            _take_entity(passages, row, question, golds, sentences)
    return passages


def _take_yes_or_no(passages: Passages, row: Row, question: str, published: str, sentences: Mapping[str, str]) -> None:
    negated = {side: bool(_NEGATED.search(sentence)) for side, sentence in sentences.items()}
    if len(set(negated.values())) == 1 or _NEGATED.search(question):
        passages.leave_out("its answer sentences do not tell yes from no", how_many=2)
        return
    gold = _YES_NO[published.lower()]
    true, false = sorted(_EVIDENCE, key=lambda side: negated[side] is not (gold == "no"))
    item = _standard(row, question, gold, (published,), true)
    passages.take(item, argued=True)
    claim = "no" if gold == "yes" else "yes"
    passages.take(contradicted(item, "conflict", row.text(_EVIDENCE[false]), claim), argued=True)


def _take_entity(
    passages: Passages, row: Row, question: str, golds: tuple[str, ...], sentences: Mapping[str, str]
) -> None:
    gold, aliases = golds[0], golds[1:]
    right = {side: bool(answers.find(text, gold, AnswerType.TEXT, "", aliases)) for side, text in sentences.items()}
    if len(set(right.values())) == 1:
        passages.leave_out("both its answer sentences name an accepted answer, or neither", how_many=2)
        return
    true, false = sorted(_EVIDENCE, key=lambda side: not right[side])
    item = _standard(row, question, gold, aliases, true)
    passages.take(item)
    claim = differing(sentences[false], sentences[true])
    passages.take(contradicted(item, "conflict", row.text(_EVIDENCE[false]), claim))


def _standard(row: Row, question: str, gold: str, aliases: tuple[str, ...], side: str) -> Item:
    return standard_item(
        f"conflictqa-{row.number}", question, gold, row.text(_EVIDENCE[side]), domain="conflictqa", aliases=aliases
    )


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


def read_documents(rows: Sequence[Row]) -> Documents:
    """An item a question with its two passages as documents; questions of which one is left out are left out."""
    source_of = {
        (row.text("question"), row.text(column)): source for row in rows for source, column in _EVIDENCE.items()
    }
    passages = read(rows).result("conflictqa", rows[0].file)
    documents = Documents(*passages.notes)
    forms: dict[str, list[Item]] = defaultdict(list)
    for item in passages:
        forms[item.question_id].append(item)
    for pair in forms.values():
        if len(pair) == 2:
            true, false = sorted(pair, key=lambda item: not item.is_standard)
            both = [
                _document(true, DocumentKind.CORRECT, source_of), _document(false, DocumentKind.MISINFO, source_of)
            ]  # fmt: skip
            shown, wrong = shuffled(both, true.question), (false.claimed_answer,)
            documents.take(replace(true, context="", documents=shown, wrong_answers=wrong))
        else:
            documents.leave_out("questions of which one document cannot serve")
    return documents


def _document(item: Item, kind: DocumentKind, source_of: Mapping[tuple[str, str], str]) -> Document:
    source = source_of[item.question, item.context]
    return Document(document_id="", text=item.context, source=source, kind=kind, answer=item.claimed_answer)


_COLUMNS = ("question", "ground_truth", "memory_answer", "counter_answer", *_EVIDENCE.values())

STRATEGYQA = Benchmark(
    name="conflictqa",
    meaning="evidence for and against what a model remembers (Xie et al. 2024): yes-or-no questions of StrategyQA",
    home="https://github.com/OSU-NLP-Group/LLM-Knowledge-Conflict",
    licence="Apache-2.0",
    rows=1_245,
    url="https://raw.githubusercontent.com/OSU-NLP-Group/LLM-Knowledge-Conflict/8486a5a0d90fa805eeea7abd75fed4f106b22206/conflictQA/conflictQA-strategyQA-chatgpt.json",
    file="conflictQA-strategyQA-chatgpt.json",
    columns=_COLUMNS,
    read=read,
    read_documents=read_documents,
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
    read_documents=read_documents,
)
