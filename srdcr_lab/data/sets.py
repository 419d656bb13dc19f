"""The shipped facts as questions with options and as claims: `facts:options`, `facts:claims`. No passage is shown.

Wrong options are right answers to other questions of the same domain, so their form gives nothing away. The invented
subjects take no part: they have no answer that could be known.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from srdcr_lab import answers
from srdcr_lab.data import facts
from srdcr_lab.data.cells import shuffled
from srdcr_lab.data.items import ItemSet
from srdcr_lab.data.perturbing import YEAR_OFFSETS
from srdcr_lab.records import AnswerType, BadInput, Document, DocumentKind, Item, Option

LETTERS = "ABCD"
TRUE_OR_FALSE = (Option(label="true", text="true"), Option(label="false", text="false"))
_NEAREST = 12  # numbers to draw from: a dose among crowds would be an answer


@cache
def options(seed: int = 0) -> ItemSet:
    """`facts:options`: every fact with its gold answer and three others of its domain, in seeded order."""
    return _set("facts:options", _with_options, seed)


@cache
def claims(seed: int = 0) -> ItemSet:
    """`facts:claims`: every fact as a claim, true for half of each domain, else with another answer of its domain."""
    return _set("facts:claims", _as_claim, seed)


Maker = Callable[[Item, "_Others", random.Random, int], Item]


def _set(name: str, make: Maker, seed: int) -> ItemSet:
    known = [item for item in facts.standard() if item.question_id not in facts.invented()]
    others = _Others(known)
    made = []
    for domain in dict.fromkeys(item.domain for item in known):
        members = [item for item in known if item.domain == domain]
        turns = list(range(len(members)))  # which of them are true claims
        random.Random(f"{name}|{seed}|{domain}").shuffle(turns)
        for item, turn in zip(members, turns, strict=True):
            made.append(make(item, others, random.Random(f"{name}|{seed}|{item.question_id}"), turn))
    return ItemSet(name, tuple(made), facts.exemplars())


def _with_options(item: Item, others: _Others, rng: random.Random, turn: int) -> Item:
    texts = [item.gold_answer, *others.drawn(item, rng, len(LETTERS) - 1)]
    rng.shuffle(texts)
    offered = tuple(Option(label=label, text=text) for label, text in zip(LETTERS, texts, strict=False))
    gold = next(option.label for option in offered if option.text == item.gold_answer)
    return _asked(item, item.question, offered, gold)


def _as_claim(item: Item, others: _Others, rng: random.Random, turn: int) -> Item:
    true = turn % 2 == 0
    asserted = item.gold_answer if true else others.drawn(item, rng, 1)[0]
    claim = f'Is this claim true or false? The answer to the question "{item.question}" is {asserted}.'
    return _asked(item, claim, TRUE_OR_FALSE, "true" if true else "false")


def _asked(item: Item, question: str, offered: tuple[Option, ...], gold: str) -> Item:
    return Item(
        item_id=item.item_id,
        question_id=item.question_id,
        question=question,
        gold_answer=gold,
        context="",
        claimed_answer=gold,
        domain=item.domain,
        answer_type=AnswerType.OPTION,
        options=offered,
    )


class _Others:
    """Right answers to other questions, by domain."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def drawn(self, item: Item, rng: random.Random, n: int) -> list[str]:
        """`n` answers of the item's domain that are different from its own and from each other."""
        pool = dict.fromkeys(each.gold_answer for each in self._items if each.domain == item.domain)
        different = [each for each in pool if not _same(each, item.gold_answer, item)]
        if item.answer_type is AnswerType.NUMBER:
            different = sorted(different, key=lambda answer: _unlike(answer, item.gold_answer))[:_NEAREST]
        rng.shuffle(different)
        chosen: list[str] = []
        for each in different:
            if len(chosen) < n and not any(_same(each, other, item) for other in chosen):
                chosen.append(each)
        return chosen


def _same(a: str, b: str, item: Item) -> bool:
    return answers.equal(a, b, item.answer_type, "", item.aliases if b == item.gold_answer else ())


def _unlike(answer: str, gold: str) -> tuple[bool, float]:
    """Whether two numbers are written differently ("9", "9.58", "2:01:39"), and how many times one is the other."""
    value, other = _value(answer), _value(gold)
    written = [(":" in each, "." in each) for each in (answer, gold)]
    return written[0] != written[1], abs(math.log(value / other)) if value > 0 and other > 0 else math.inf


def _value(answer: str) -> float:
    inferred = answers.infer_unit(answer)
    try:
        return float(inferred[0]) if inferred else 0.0
    except ValueError:  # 2:01:39
        return 0.0


# -- several documents for each shipped fact, from sources whose accuracy is known: `facts:documents`

# Ten sources, from hardly better than a coin to nearly always right; their names say nothing about it.
SOURCES: Mapping[str, float] = MappingProxyType(
    {
        "Almanac": 0.70,
        "Annals": 0.55,
        "Bulletin": 0.90,
        "Chronicle": 0.60,
        "Courier": 0.95,
        "Gazette": 0.50,
        "Herald": 0.80,
        "Journal": 0.65,
        "Ledger": 0.85,
        "Review": 0.75,
    }
)
VOICES, FALSE = 5, range(5)  # documents about the question; how many of them mislead
_LIES = 3  # false answers that a question needs to be reported on
_LEAD_INS = ("", "From a guidebook: ", "From an encyclopaedia: ", "From a newspaper: ", "From a lecture: ")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z0-9])")


@cache
def documents(seed: int = 0) -> ItemSet:
    """`facts:documents`: the 300 questions of the testbed, each with six documents.

    Five are about it and come from five of the ten sources; none to four of them mislead, each number on a fifth of
    each domain's questions. Which do is drawn by the sources' odds to err. The misleading ones assert one false answer
    on half of the questions, answers of their own (where there are enough) on the others. The sixth is beside the
    point: another question's passage. Documents differ in wording by what they leave out and by a lead-in, drawn
    without regard to their truth.
    """
    false = _false_forms()
    chosen = [item for item in facts.testbed(seed, YEAR_OFFSETS) if item.is_standard]
    by_domain: dict[str, list[Item]] = defaultdict(list)
    for item in chosen:
        by_domain[item.domain].append(item)
    items = [
        _with_documents(item, false[item.question_id], place % len(FALSE), members, seed)
        for members in by_domain.values()
        for place, item in enumerate(members)
    ]
    return ItemSet("facts:documents", tuple(items), facts.exemplars())


def _with_documents(item: Item, false: Sequence[Item], n_false: int, others: Sequence[Item], seed: int) -> Item:
    rng = random.Random(f"{seed}|documents|{item.question_id}")
    voices = rng.sample(list(SOURCES), VOICES)
    misled = _misled(voices, n_false, rng)
    lies = rng.sample(list(false), len(false)) if rng.random() < 0.5 else [rng.choice(list(false))]
    lie_of = {source: lies[i % len(lies)] for i, source in enumerate(misled)}
    beside = rng.choice([other for other in others if other.question_id != item.question_id])
    told = [(source, lie_of.get(source, item)) for source in voices]
    told.append((rng.choice([name for name in SOURCES if name not in voices]), beside))
    kinds = [DocumentKind.MISINFO if source in lie_of else DocumentKind.CORRECT for source in voices]
    documents = [
        Document(
            document_id="",
            text=text,
            source=source,
            kind=kind,
            answer="" if kind is DocumentKind.NOISE else form.claimed_answer,
        )
        for text, (source, form), kind in zip(
            _worded([form for _, form in told], rng), told, [*kinds, DocumentKind.NOISE], strict=True
        )
    ]
    return replace(
        item,
        item_id=f"{item.question_id}@documents",
        context="",
        documents=shuffled(documents, item.question),
        wrong_answers=tuple(dict.fromkeys(form.claimed_answer for form in lie_of.values())),
    )


def _misled(voices: Sequence[str], n: int, rng: random.Random) -> list[str]:
    """Which n of the sources err, drawn one after the other by their odds to."""
    left, misled = list(voices), []
    for _ in range(n):
        (one,) = rng.choices(left, weights=[(1 - SOURCES[name]) / SOURCES[name] for name in left])
        left.remove(one)
        misled.append(one)
    return misled


def _worded(forms: Sequence[Item], rng: random.Random) -> list[str]:
    """A text for each form, no two alike: a lead-in, and the passage whole or without a sentence that it can spare."""
    ways = [(lead_in, spared) for lead_in in _LEAD_INS for spared in (None, 0, -1)]
    texts: list[str] = []
    for form in forms:
        texts.append(next(text for text in _texts(form, rng.sample(ways, len(ways))) if text not in texts))
    return texts


def _texts(form: Item, ways: Sequence[tuple[str, int | None]]) -> Iterator[str]:
    for lead_in, spared in ways:
        sentences = _BETWEEN_SENTENCES.split(form.context)
        if spared is not None:
            del sentences[spared]
        text = " ".join(sentences)
        states = answers.find(text, form.claimed_answer, form.answer_type, form.unit)
        yield lead_in + (text if states else form.context)


@cache
def _false_forms() -> Mapping[str, Sequence[Item]]:
    """Question → its false forms, one for each false answer."""
    forms: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in facts.grid(YEAR_OFFSETS):
        if not item.is_standard:
            forms[item.question_id].setdefault(item.claimed_answer, item)
    return {question: tuple(claims.values()) for question, claims in forms.items()}


@dataclass(frozen=True)
class Reports:
    """What sources say about questions, without a text: three columns of equal length, and the truth."""

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
    """Every source's report on each of some facts, right with its accuracy, to test estimates of reliability on.

    Parameters
    ----------
    seed : of the questions, of who errs where, and of the lies.
    n_questions : drawn among the facts that have enough false forms.
    accuracy : source → the probability that a report of it is right, in [0, 1]; sources err independently.
    colluding : sources that err together and tell one lie: on a question where one of them is right, so is each that
        is more accurate.
    lies : how many false answers a question has; None: all its false forms (three or more). With 1, all who err agree.

    Raises
    ------
    BadInput
        If there are too few facts, or a colluding source is not among the sources.
    """
    false = {question: claims for question, claims in _false_forms().items() if len(claims) >= _LIES}
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
    questions, sources, told = zip(*rows, strict=True)
    return Reports(questions, sources, told, truth, dict(accuracy))
