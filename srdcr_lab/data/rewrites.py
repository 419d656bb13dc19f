"""False passages that are written anew around a claim, by a model or a person: which claims, what is checked, and those
that ship (`facts:rewrites`).

Exchanged words leave the rest of a passage true; a rewrite supports its claim. Who writes may slip, so each is checked:
it states the claim and not the truth, names the subject, is as long as the true passage, does not hedge, contradicts
nothing that it says, and is not the old passage with another value.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Claim, Outcome, Traits, kind_of
from srdcr_lab.answers.name import proper_names
from srdcr_lab.answers.replies import spoken
from srdcr_lab.answers.traits import inferred
from srdcr_lab.answers.wording import tokens
from srdcr_lab.data import facts
from srdcr_lab.data.forms import Form, contradictions
from srdcr_lab.data.items import ItemSet, grouped
from srdcr_lab.data.perturbing import Perturbed, balanced
from srdcr_lab.data.rows import read_table, rows_of
from srdcr_lab.records import BadInput, Item, Level, PerturbationKind
from srdcr_lab.records.files import folder

TAG = "rewrite"
_SHORTEST, _LONGEST = 0.5, 2.0  # words of a rewrite, as shares of the true passage's
_ALIKE = 0.85  # likeness of two passages, word by word, from which on one is the other with a value exchanged
_HEDGES = re.compile(
    r"(?<!\w)(?:(?i:allegedly|reportedly|supposedly|purported(?:ly)?|possibly|perhaps|maybe|probably|presumably|apparently"
    r"|contrary to|in fact|actually|not true|untrue|false(?:ly)?|incorrect(?:ly)?|wrong(?:ly)?|mistaken(?:ly)?|disputed"
    r"|myth|rumou?r|fiction(?:al)?|hypothetical(?:ly)?|some (?:say|sources|claim)|it is (?:said|believed|claimed)"
    r"|rather than|instead of|as an AI|(?:this|the) (?:passage|question))|not (?:[A-Z]|\d+))(?!\w)"
)


def claims_to_rewrite(perturbed: Perturbed, seed: int = 0) -> Iterator[tuple[Item, Claim]]:
    """Each standard item that has a usable claim, with one of them as a rewrite's, balanced over the levels.

    That a passage gives its truth away does not matter, for it goes; claims that are flagged or comical are left out.
    """
    wanted = [
        form
        for form in perturbed.forms
        if form.item and form.claim.tag != "comical" and not form.claim.flags  # neither absurd nor in the future
    ]
    rng = random.Random(seed)
    for members in grouped(wanted, lambda form: form.claim.kind).values():
        forms_of = grouped(members, lambda form: form.standard.item_id)
        order = rng.sample([forms[0].standard for forms in forms_of.values()], len(forms_of))
        false = balanced(order, forms_of, len(order))
        for item in order:
            chosen = [form for form in forms_of[item.item_id] if form.item is false.get(item.item_id)]
            claim = (chosen or rng.sample(forms_of[item.item_id], 1))[0].claim
            yield item, replace(claim, kind=PerturbationKind.REWRITE, value=None, tag=TAG, flags=())


def rewritten(item: Item, claim: Claim, text: str, own: Traits | None = None, of_claim: Traits | None = None) -> Form:
    """The false form that a passage makes, or the reasons why it makes none.

    `own` are the traits of the gold answer (default: inferred), `of_claim` the claim's (default: the same).
    """
    own = own or inferred(item)
    passage = " ".join(spoken(text).split())
    false = replace(
        item,
        item_id=f"{item.item_id}@{claim.tag}",
        context=passage,
        claimed_answer=claim.answer,
        perturbation_kind=claim.kind,
        perturbation_value=None,
        level=claim.level,
    )
    why = (*_faults(item, false), *contradictions(false, own, {claim.answer: of_claim or own}))
    return Form(item, claim, None if why else false, Outcome.REFUSED if why else Outcome.ACCEPTED, why)


def _faults(item: Item, false: Item) -> Iterator[str]:
    """What is wrong with a rewrite as such."""
    true, new = tokens(item.context), tokens(false.context)
    if not _SHORTEST * len(true) <= len(new) <= _LONGEST * len(true):
        yield f"has {len(new)} words where the true passage has {len(true)}; half to twice as many were expected"
    if hedge := _HEDGES.search(false.context):
        yield f"hedges, or hints that something is false: {hedge[0]!r}"
    for _, name, _ in proper_names(item.question):
        words = {word for word in tokens(name) if len(word) > 2}
        if words & set(true) and not words & set(new):
            yield f"does not name what the question names: {name!r}"
    claimed, gold = set(tokens(false.claimed_answer)), set(tokens(item.gold_answer))
    before, after = ([word for word in words if word not in claimed | gold] for words in (true, new))
    if SequenceMatcher(None, before, after, autojunk=False).ratio() >= _ALIKE:
        yield "is the true passage with another value, and not written anew"


def level_of(item: Item, claimed: str) -> Level:
    """How far a claim is from the truth: by its offset or factor; of names and cities moderate."""
    kind = kind_of(item.answer_type)
    new = answers.normalise(claimed, item.answer_type, item.unit)
    apart = math.nan if new is None or not kind.is_value else kind.distance(kind.gold(item), new)
    if math.isnan(apart):
        return Level.MODERATE
    amount = math.exp(apart) if kind.perturbation is PerturbationKind.FACTOR else math.expm1(apart)
    return kind.level(kind.perturbation, round(amount, 9))


@cache
def rewrites() -> ItemSet:
    """`facts:rewrites`: each question that has rewritten passages, true and then rewritten; `notes` say by whom."""
    made: dict[str, list[Item]] = {}
    by: Counter[str] = Counter()
    for form, made_by in checked():
        if form.item is None:
            raise BadInput(f"rewrites.csv, {form.standard.question_id}: {'; '.join(form.why)}")
        made.setdefault(form.standard.question_id, []).append(form.item)
        by[made_by] += 1
    pairs = [each for item in facts.standard() if item.question_id in made for each in (item, *made[item.question_id])]
    notes = tuple(f"{n} of the false passages were {made_by}" for made_by, n in by.most_common())
    return ItemSet("facts:rewrites", tuple(pairs), facts.exemplars(), notes)


def checked() -> Iterator[tuple[Form, str]]:
    """Each row of the shipped rewrites as a form, accepted or refused with the reasons, and how it was made."""
    items, seen = {item.question_id: item for item in facts.standard()}, Counter[str]()
    known = {item.gold_answer: facts.traits()[name] for name, item in items.items() if name in facts.traits()}
    columns = ("question_id", "claimed_answer", "context", "made_by")
    for row in rows_of(read_table(folder("facts") / "rewrites.csv", columns), "rewrites.csv"):
        item = items.get(row.filled("question_id"))
        if item is None:
            raise row.bad("question_id", f"{row.text('question_id')!r:.60} is no question of the facts")
        seen[item.question_id] += 1
        tag = TAG if seen[item.question_id] == 1 else f"{TAG}-{seen[item.question_id]}"
        claimed = row.filled("claimed_answer")
        claim = Claim(PerturbationKind.REWRITE, None, level_of(item, claimed), tag, claimed, claimed)
        own = facts.traits().get(item.question_id)
        yield rewritten(item, claim, row.filled("context"), own, known.get(claimed)), row.filled("made_by")
