"""Sources whose accuracy is known: several documents about each shipped fact (`facts:documents`), for a model to read,
and reports of who states which answer, to test estimates of reliability on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from srdcr_lab import answers
from srdcr_lab.data import facts
from srdcr_lab.data.items import ItemSet, by_domain, grouped
from srdcr_lab.data.rows import shuffled
from srdcr_lab.records import BadInput, Document, DocumentKind, Item

# Ten sources, from hardly better than a coin to nearly always right; their names say nothing about it.
SOURCES: Mapping[str, float] = MappingProxyType({
    "Almanac": 0.70, "Annals": 0.55, "Bulletin": 0.90, "Chronicle": 0.60, "Courier": 0.95,
    "Gazette": 0.50, "Herald": 0.80, "Journal": 0.65, "Ledger": 0.85, "Review": 0.75,
})  # fmt: skip
_ABOUT = 5  # documents about a question; none to four of them mislead
_LEAD_INS = ("", "From a guidebook: ", "From an encyclopaedia: ", "From a newspaper: ", "From a lecture: ")
_WORDINGS = [(lead_in, left_out) for lead_in in _LEAD_INS for left_out in (None, 0, -1)]
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z0-9])")
_FALSE_ANSWERS = 3  # that a question needs to be reported on


@cache
def documents(seed: int = 0) -> ItemSet:
    """`facts:documents`: the 300 questions of the testbed, each with six documents.

    Five are about it and come from five of the ten sources; none to four of them mislead, each number on a fifth of
    each domain's questions. Which do is drawn by the sources' odds to err. They assert one false answer on half of the
    questions, several (where there are enough) on the others. The sixth is another question's passage. Documents differ
    by a lead-in and by the sentence they leave out, drawn without regard to their truth.
    """
    standard = by_domain(item for item in facts.testbed(seed) if item.is_standard)
    items = [
        _with_documents(item, place % _ABOUT, members, seed)
        for members in standard.values()
        for place, item in enumerate(members)
    ]
    return ItemSet("facts:documents", tuple(items), facts.exemplars())


def _with_documents(item: Item, n_misleading: int, domain: Sequence[Item], seed: int) -> Item:
    rng = random.Random(f"{seed}|documents|{item.question_id}")
    false = _false_forms()[item.question_id]
    sources = rng.sample(list(SOURCES), _ABOUT)
    misleading = _misleading(sources, n_misleading, rng)
    lies = rng.sample(false, len(false)) if rng.random() < 0.5 else [rng.choice(false)]
    lie_of = {source: lies[i % len(lies)] for i, source in enumerate(misleading)}
    noise = rng.choice([other for other in domain if other.question_id != item.question_id])
    forms = [lie_of.get(source, item) for source in sources] + [noise]
    kinds = [DocumentKind.MISINFO if source in lie_of else DocumentKind.CORRECT for source in sources]
    kinds.append(DocumentKind.NOISE)
    sources.append(rng.choice([name for name in SOURCES if name not in sources]))
    made = []
    for text, source, kind, form in zip(_worded(forms, rng), sources, kinds, forms, strict=True):
        answer = "" if kind is DocumentKind.NOISE else form.claimed_answer
        made.append(Document(document_id="", text=text, source=source, kind=kind, answer=answer))
    return replace(
        item,
        item_id=f"{item.question_id}@documents",
        context="",
        documents=shuffled(made, item.question),
        wrong_answers=tuple(dict.fromkeys(form.claimed_answer for form in lie_of.values())),
    )


def _misleading(sources: Sequence[str], n: int, rng: random.Random) -> list[str]:
    """Which n of the sources err, drawn one after the other by their odds to."""
    left, misleading = list(sources), []
    for _ in range(n):
        (source,) = rng.choices(left, weights=[(1 - SOURCES[name]) / SOURCES[name] for name in left])
        left.remove(source)
        misleading.append(source)
    return misleading


def _worded(forms: Sequence[Item], rng: random.Random) -> list[str]:
    """A text for each form, no two alike: a lead-in, and the passage whole or without its first or last sentence.

    The passage stays whole where a shorter one would not state its claim.
    """
    texts: list[str] = []
    for form in forms:
        for lead_in, left_out in rng.sample(_WORDINGS, len(_WORDINGS)):
            sentences = _BETWEEN_SENTENCES.split(form.context)
            if left_out is not None:
                del sentences[left_out]
            shorter = " ".join(sentences)
            states = answers.find(shorter, form.claimed_answer, form.answer_type, form.unit)
            text = lead_in + (shorter if states else form.context)
            if text not in texts:
                texts.append(text)
                break
    return texts


@cache
def _false_forms() -> Mapping[str, Sequence[Item]]:
    """Question → its false forms, the first for each false answer."""
    distinct: dict[tuple[str, str], Item] = {}
    for item in facts.grid():
        if not item.is_standard:
            distinct.setdefault((item.question_id, item.claimed_answer), item)
    return grouped(distinct.values(), lambda item: item.question_id)


class Reports(NamedTuple):
    """What sources say about questions: three columns of equal length, the truth by question, the accuracy by source;
    in the order of the arguments of `srdcr_lab.documents.recovery`."""

    questions: tuple[str, ...]
    sources: tuple[str, ...]
    answers: tuple[str, ...]
    truth: Mapping[str, str]
    accuracy: Mapping[str, float]


def reports(
    seed: int = 0,
    *,
    n_questions: int = 200,
    accuracy: Mapping[str, float] = SOURCES,
    colluding: Sequence[str] = (),
    lies: int | None = None,
) -> Reports:
    """Every source's report on each of `n_questions` facts that have at least three false forms.

    Parameters
    ----------
    accuracy : source → the probability that a report of it is right, in [0, 1]; sources err independently.
    colluding : sources that err together and tell one lie: on a question where one of them is right, so is each that
        is more accurate.
    lies : how many false answers a question has; None: all its false forms. With 1, all who err agree.
    """
    false = {question: forms for question, forms in _false_forms().items() if len(forms) >= _FALSE_ANSWERS}
    if not 0 < n_questions <= len(false):
        raise BadInput(f"reports are on 1 to {len(false)} questions, got {n_questions}")
    if unknown := set(colluding) - set(accuracy):
        raise BadInput(f"there is no source {sorted(unknown)[0]!r}; sources are {', '.join(accuracy)}")
    rng = random.Random(f"{seed}|reports")
    rows: list[tuple[str, str, str]] = []
    truth: dict[str, str] = {}
    for question in rng.sample(sorted(false), n_questions):
        claims = [form.claimed_answer for form in false[question]][:lies]
        truth[question] = false[question][0].gold_answer
        luck_of_all, lie_of_all = rng.random(), rng.choice(claims)
        for source, share in accuracy.items():
            luck, lie = (luck_of_all, lie_of_all) if source in colluding else (rng.random(), rng.choice(claims))
            rows.append((question, source, truth[question] if luck < share else lie))
    questions, sources, stated = zip(*rows, strict=True)
    return Reports(questions, sources, stated, truth, dict(accuracy))
