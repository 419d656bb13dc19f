"""The shipped facts, and every set made from them, including sources of known accuracy.

Sets: false passages (testbed, grid, pairs, rewrites), questions with options, claims, and several documents about each
fact for a model to read. Also reports of sources, on which estimates of reliability are tested. Wrong options and false
claims are right answers to other questions of the same domain, so their form gives nothing away.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import cycle
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from srdcr_lab import answers
from srdcr_lab.answers.dates import YEAR_OFFSETS
from srdcr_lab.answers.kinds import FalseClaim, Traits, Wanted, kind_of
from srdcr_lab.answers.option import TRUE_OR_FALSE, claim
from srdcr_lab.data.items import ItemSet, flags_counted, grouped, part_of, standard_item
from srdcr_lab.data.perturbing import TAG, Form, balanced, checked_offsets, claiming, forms, pools_of, read_traits
from srdcr_lab.data.rows import read_table, shuffled
from srdcr_lab.data.tables import checked_rows, items_from_rows, level_of
from srdcr_lab.records import AnswerType, BadInput, Document, DocumentKind, Exemplar, Item, Option, PerturbationKind
from srdcr_lab.records.files import folder

SPLITS = ("public", "held")  # of held questions the shipped model is never told the answers
# Paper, 4.4: 300 items of event years (150 true, 30 under each offset) and 300 of the other five domains of ClashEval.
_TESTBED = {"years": 150, "records": 30, "news": 30, "drugs": 30, "names": 30, "cities": 30}
_VERSION = re.compile(r"^Version (\d+\.\d+\.\d+) of (\d{4}-\d\d-\d\d)", re.MULTILINE)
_WRITTEN = 2026  # the year of the facts: what a later claim is called must not change with the calendar
_FIRST = "2026-11-22"  # the day on which the last of the first questions was looked up
_CANDIDATES = 2  # questions made false for each place in the testbed, of which one is taken
_NEAREST = 12  # numbers that wrong options are drawn from: a dose among crowds would be an answer
# Questions, sources and what they say: columns of equal length. Then the truth by question, the accuracy by source.
Reports = tuple[Sequence[str], Sequence[str], Sequence[str], Mapping[str, str], Mapping[str, float]]


def version() -> tuple[str, str]:
    """Version of the facts and its date, from the datasheet, which also says what a new version means."""
    (number, date), *_ = _VERSION.findall((folder("facts") / "DATASHEET.md").read_text("utf-8"))
    return number, date


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """The shipped exemplars, disjoint from the questions."""
    frame = read_table(folder("facts") / "exemplars.csv").rename(columns={"gold_answer": "answer"})
    return tuple(Exemplar(**row) for row in frame[["question", "answer", "context", "domain"]].to_dict("records"))


@cache
def _table() -> pd.DataFrame:
    return read_table(folder("facts") / "facts.csv")


@cache
def standard() -> ItemSet:
    """`facts`: every shipped question with its true passage."""
    rows = _table().assign(is_control=_table()["fame_band"].eq("invented").astype(str))
    return items_from_rows(checked_rows(rows, "facts", is_ours=True), exemplars(), strict=True)


@cache
def _real() -> list[Item]:
    """The facts that are not invented, by domain; the answers of controls never replace a real one."""
    return [item for item in standard() if not item.is_control]


@cache
def _later() -> Mapping[str, str]:
    """The day on which a question was looked up, of those added after the first ones."""
    days = _table().set_index("question_id")["checked_by"].str.extract(r"^search (\S+):", expand=False)
    return dict(days[days > _FIRST])


def _batch(item: Item) -> tuple[str, str]:
    """The questions that an item is drawn with: added later, they are drawn apart, so a seed's earlier draws stay."""
    return item.domain, _later().get(item.question_id, "")


@cache
def traits(place: Path | None = None) -> Mapping[str, Traits]:
    """What is known of answers and of persons in passages, by question_id, in a folder of facts."""
    file = (place or folder("facts")) / "traits.csv"
    return read_traits(read_table(file), file.name) if file.is_file() else {}


def of_split(items: ItemSet, split: str) -> ItemSet:
    """The items of a set whose questions are in a split, `public` or `held`. No question ever changes its split."""
    own = frozenset(_table().loc[_table()["split"] == split, "question_id"])
    name = items.name.replace("facts", f"facts:{split}", 1)
    if not (part := [item for item in items if item.question_id in own]):
        raise BadInput(f"{items.name} has no {split} questions, so there is no {name}; take facts:{split}:pairs")
    return part_of(items, part, name)


@cache
def testbed(seed: int = 0, offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:testbed`: 600 items, each question once true and once false (of the size in the paper, 4.4).

    150 event years, as many under each of the `offsets` and either sign, and 30 questions of each other domain of the
    paper, evenly over the levels, drawn by the seed from the public questions. A flagged form (a claim in the future,
    say) is taken only where too few others are left, so the larger offsets ahead go to older events. Of the default
    seed and offsets it ships as testbed.parquet.
    """
    return _frozen("testbed") if (seed, offsets) == (0, YEAR_OFFSETS) else drawn_testbed(seed, offsets)


def _frozen(name: str) -> ItemSet:
    """A set as it ships, because drawing it takes seconds."""
    frozen = read_table(folder("facts") / f"{name}.parquet")
    return items_from_rows(checked_rows(frozen, f"facts:{name}", is_ours=True), exemplars())


def drawn_testbed(seed: int = 0, offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """The testbed as it is drawn; testbed.parquet must equal it."""
    return _paired("facts:testbed", of_split(standard(), "public"), seed, offsets, _TESTBED)


@cache
def pairs(seed: int = 0, offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:pairs`: every question of every domain, dates too, once true and once false; drawn as the testbed is."""
    return _paired("facts:pairs", standard(), seed, offsets)


def _paired(
    name: str, questions: ItemSet, seed: int, offsets: tuple[int, ...], most: Mapping[str, int] | None = None
) -> ItemSet:
    """The questions of each domain (the first `most` of a random order, if given), each true and false."""
    false: dict[str, Item] = {}
    for (domain, day), members in grouped(questions, _batch).items():
        order = sorted(members, key=lambda item: item.item_id)
        random.Random(f"{seed}:{domain}").shuffle(order)
        n = len(order) if most is None else 0 if day else min(len(order), most.get(domain, 0))
        order = order[: _CANDIDATES * n]  # false forms of all would take seconds
        false |= balanced(order, {item.item_id: _forms(item, seed, offsets) for item in order}, n) if n else {}
    both = [form for item in questions if item.item_id in false for form in (item, false[item.item_id])]
    return ItemSet(name, tuple(both), exemplars())


@cache
def second(seed: int = 0, offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:second`: four items of each question that has a second passage, to measure the effect of wording.

    They are its two items of `facts:pairs`, and its second passage, in another register, true and with the same claim.
    """
    paired = grouped(pairs(seed, offsets), lambda item: item.question_id)
    members = []
    rows = read_table(folder("facts") / "second.csv", ("question_id", "context"))
    for row in rows[rows["question_id"].isin(paired)].itertuples():
        true, false = paired[row.question_id]
        other = replace(true, item_id=f"{true.item_id}@second", context=row.context)
        same = (false.claimed_answer, false.level)  # absurd in one passage, it may be possible in the other
        alike = (form.item for form in _forms(other, seed, offsets) if (form.claim.answer, form.claim.level) == same)
        if lie := next(filter(None, alike), None):  # not every passage takes every claim
            members += [true, false, other, replace(lie, item_id=f"{false.item_id}@second")]
    return ItemSet("facts:second", tuple(members), exemplars())


@cache
def grid(offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """`facts:grid`: every question standard and under every perturbation that its passage allows. Of the default
    offsets it ships as grid.parquet.
    """
    return _frozen("grid") if offsets == YEAR_OFFSETS else drawn_grid(offsets)


def drawn_grid(offsets: tuple[int, ...] = YEAR_OFFSETS) -> ItemSet:
    """The grid as it is drawn; grid.parquet must equal it."""
    members = tuple(form for item in standard() for form in (item, *(f.item for f in _forms(item, 0, offsets))) if form)
    return ItemSet("facts:grid", members, exemplars(), tuple(flags_counted(members, "facts:grid")))


@cache
def _forms(item: Item, seed: int, offsets: tuple[int, ...]) -> Sequence[Form]:
    """A fact under every claim; all sets are made from the same forms."""
    return tuple(forms(item, _wanted(seed, offsets)))


@cache
def _wanted(seed: int, offsets: tuple[int, ...]) -> Wanted:
    years = {AnswerType.YEAR: checked_offsets(offsets)}
    return Wanted(years, pools_of(_real(), traits()), traits(), seed, present=_WRITTEN)


@cache
def options(seed: int = 0) -> ItemSet:
    """`facts:options`: every fact that is not invented, its answer among three others; no passage is shown."""
    items = []
    for item in _real():
        rng = random.Random(f"facts:options|{seed}|{item.question_id}")
        texts = [item.gold_answer, *_other_answers(item, rng, 3)]
        rng.shuffle(texts)
        offered = tuple(Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=False))
        items.append(_asked(item, item.question, offered, "ABCD"[texts.index(item.gold_answer)]))
    return ItemSet("facts:options", tuple(items), exemplars())


@cache
def claims(seed: int = 0) -> ItemSet:
    """`facts:claims`: the same facts as claims, true for half of each domain; no passage is shown."""
    items = []
    for (domain, _), members in grouped(_real(), _batch).items():
        turns = list(range(len(members)))
        random.Random(f"facts:claims|{seed}|{domain}").shuffle(turns)
        for item, turn in zip(members, turns, strict=True):
            rng = random.Random(f"facts:claims|{seed}|{item.question_id}")
            true = turn % 2 == 0
            asserted = item.gold_answer if true else _other_answers(item, rng, 1)[0]
            items.append(_asked(item, claim(item.question, asserted), TRUE_OR_FALSE, "true" if true else "false"))
    return ItemSet("facts:claims", tuple(items), exemplars())


def _asked(item: Item, question: str, offered: tuple[Option, ...], gold: str) -> Item:
    kind = AnswerType.OPTION
    return standard_item(item.question_id, question, gold, domain=item.domain, answer_type=kind, options=offered)


def _other_answers(item: Item, rng: random.Random, n: int) -> list[str]:
    """`n` answers to other questions of the domain, different from the item's and from each other."""

    def same(a: str, b: str) -> bool:
        return answers.equal(a, b, item.answer_type, "", item.aliases if b == item.gold_answer else ())

    pool = dict.fromkeys(other.gold_answer for other in _real() if _batch(other) == _batch(item))
    different = [each for each in pool if not (same(each, item.gold_answer) or answers.is_accepted(each, item))]
    if item.answer_type is AnswerType.NUMBER:
        different = sorted(different, key=lambda answer: _unlike(answer, item.gold_answer))[:_NEAREST]
    rng.shuffle(different)
    chosen: list[str] = []
    for answer in different:
        if len(chosen) < n and not any(same(answer, other) for other in chosen):
            chosen.append(answer)
    return chosen


def _unlike(answer: str, gold: str) -> tuple[bool, float]:
    """Whether two numbers are written differently ("9", "9.58", "2:01:39"), and how many times larger one is."""
    written = [(":" in number, "." in number) for number in (answer, gold)]
    values = [(answers.infer_unit(number) or ("",))[0] for number in (answer, gold)]
    ratio = kind_of(AnswerType.NUMBER).distance(*values)
    return written[0] != written[1], math.inf if math.isnan(ratio) else ratio


# Ten sources, from hardly better than a coin to nearly always right; their names say nothing about it.
SOURCES: Mapping[str, float] = MappingProxyType({
    "Almanac": 0.70, "Annals": 0.55, "Bulletin": 0.90, "Chronicle": 0.60, "Courier": 0.95,
    "Gazette": 0.50, "Herald": 0.80, "Journal": 0.65, "Ledger": 0.85, "Review": 0.75,
})  # fmt: skip
_ABOUT = 5  # documents about a question; none to four of them mislead
_LEAD_INS = ("", "From a guidebook: ", "From an encyclopaedia: ", "From a newspaper: ", "From a lecture: ")
_WORDINGS = [(lead_in, kept) for lead_in in _LEAD_INS for kept in (slice(None), slice(1, None), slice(-1))]
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
    standard = grouped((item for item in testbed(seed) if item.is_standard), _batch)
    placed = ((item, place % _ABOUT, members) for members in standard.values() for place, item in enumerate(members))
    return ItemSet("facts:documents", tuple(_with_documents(*each, seed) for each in placed), exemplars())


def _with_documents(item: Item, n_misleading: int, domain: Sequence[Item], seed: int) -> Item:
    rng = random.Random(f"{seed}|documents|{item.question_id}")
    false = _false_forms()[item.question_id]
    sources = rng.sample(list(SOURCES), _ABOUT)
    misleading = _misleading(sources, n_misleading, rng)
    lies = rng.sample(false, len(false)) if rng.random() < 0.5 else [rng.choice(false)]
    lie_of = dict(zip(misleading, cycle(lies), strict=False))
    noise = rng.choice([other for other in domain if other.question_id != item.question_id])
    forms = [*(lie_of.get(source, item) for source in sources), noise]
    sources.append(rng.choice([name for name in SOURCES if name not in sources]))
    made = []
    for text, source, form in zip(_worded(forms, rng), sources, forms, strict=True):
        kind = DocumentKind.MISINFO if source in lie_of else DocumentKind.CORRECT
        kind, answer = (DocumentKind.NOISE, "") if form is noise else (kind, form.claimed_answer)
        made.append(Document(document_id="", text=text, source=source, kind=kind, answer=answer))
    documents, wrong = shuffled(made, item.question), dict.fromkeys(lie.claimed_answer for lie in lie_of.values())
    item_id = f"{item.question_id}@documents"
    return replace(item, item_id=item_id, context="", documents=documents, wrong_answers=tuple(wrong))


def _misleading(sources: Sequence[str], n: int, rng: random.Random) -> list[str]:
    """Draw which n sources err, one after the other by their odds of erring."""
    misleading: list[str] = []
    while len(misleading) < n:
        left = [name for name in sources if name not in misleading]
        misleading += rng.choices(left, weights=[(1 - SOURCES[name]) / SOURCES[name] for name in left])
    return misleading


def _worded(forms: Sequence[Item], rng: random.Random) -> list[str]:
    """A text for each form, no two alike: a lead-in, and the passage whole or without its first or last sentence.

    The passage stays whole if a shorter one would not state its claim.
    """
    texts: list[str] = []
    for form in forms:
        for lead_in, kept in rng.sample(_WORDINGS, len(_WORDINGS)):
            shorter = " ".join(_BETWEEN_SENTENCES.split(form.context)[kept])
            is_there = answers.states(shorter, form.claimed_answer, form.answer_type, form.unit)
            text = lead_in + (shorter if is_there else form.context)
            if text not in texts:
                texts.append(text)
                break
    return texts


@cache
def _false_forms() -> Mapping[str, Sequence[Item]]:
    """The false forms of each of the first questions, the first for each false answer."""
    distinct: dict[tuple[str, str], Item] = {}
    for item in grid():
        if not item.is_standard and item.question_id not in _later():
            distinct.setdefault((item.question_id, item.claimed_answer), item)
    return grouped(distinct.values(), lambda item: item.question_id)


def reports(
    seed: int = 0, *, n_questions: int = 200, accuracy: Mapping[str, float] = SOURCES, colluding: Sequence[str] = (),
    lies: int | None = None,
) -> Reports:  # fmt: skip
    """Every source's report on each of `n_questions` facts that have at least three false forms, as the arguments of
    `srdcr_lab.documents.recovery`.

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
    if lies is not None and lies < 1:
        raise BadInput(f"a question has at least one false answer, got {lies}")
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
    return questions, sources, stated, truth, dict(accuracy)


def rewrites() -> ItemSet:
    """`facts:rewrites`: each question that has rewritten passages, true and then rewritten; `notes` say who wrote them.

    The tests check every passage as `perturbing.rewritten` does.
    """
    rows = read_table(folder("facts") / "rewrites.csv", ("question_id", "claimed_answer", "context", "made_by"))
    items = {item.question_id: item for item in standard()}
    made: dict[str, list[Item]] = {}
    for row in rows.itertuples():
        item, claimed, earlier = items[row.question_id], row.claimed_answer, made.setdefault(row.question_id, [])
        tag = f"{TAG}-{len(earlier) + 1}" if earlier else TAG
        claim = FalseClaim(PerturbationKind.REWRITE, None, level_of(item, claimed), tag, claimed, claimed)
        earlier.append(claiming(item, claim, row.context))
    pairs = [each for item in standard() if item.question_id in made for each in (item, *made[item.question_id])]
    notes = tuple(f"{n} of the false passages were {how}" for how, n in Counter(rows["made_by"]).most_common())
    return ItemSet("facts:rewrites", tuple(pairs), exemplars(), notes)
