"""One item under one claim: every mention of its answer exchanged, or its passage written anew; or why neither can be.

The answer type says what is a mention, what is claimed and what gives the truth away (`answers.kinds`). Here mentions
are exchanged, and the false passage is read again: it must state the claim and no gold answer. A passage that somebody
wrote anew around a claim supports it; who writes may slip, so each is checked.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from numbers import Integral
from typing import TYPE_CHECKING

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Claim, NoClaim, Outcome, Traits, Wanted, kind_of
from srdcr_lab.answers.name import Name, proper_names
from srdcr_lab.answers.replies import spoken
from srdcr_lab.answers.traits import clash, gender_of, inferred, spoken_of
from srdcr_lab.answers.wording import Span, expression, fold_letters, tokens
from srdcr_lab.data.rows import rows_of
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind
from srdcr_lab.records.vocabulary import must_be

if TYPE_CHECKING:
    import pandas as pd

TRAITS = ("gender", "role", "era", "country", "near", "at_least", "at_most")  # columns of a table
_ARTICLE = re.compile(r"(?<![^\W_])(an?|An?)[ \u00a0]\Z")
_TAKES_AN = re.compile(r"8|1[18](?:\d\d)?(?!\d)|e(?!u)|[aio](?!ne(?!\w))", re.IGNORECASE)  # "an 1803 treaty"
_STOP_OF_JUNIOR = re.compile(r"(?<=[JjSs][Rr])\.(?=['’,;:)]|[ \u00a0][a-z0-9(])")  # elsewhere it ends the sentence
_POSSESSIVE = re.compile(r"['’](?=[ \u00a0]\w)")  # "New Orleans' streets"; not the end of a quotation
_QUOTED = re.compile(r"(?<!\w)['‘]\w[^'’]*\Z")
_SENTENCE_END = re.compile(r"(?:\A|[.!?][\"'”’»)]*\s+|\n\s*)\Z")
TAG = "rewrite"
_SHORTEST, _LONGEST = 0.5, 2.0  # words of a rewrite, as shares of the true passage's
_ALIKE = 0.85  # likeness of two passages, word by word, from which on one is the other with a value exchanged
_HEDGES = expression("hedges")


@dataclass(frozen=True, slots=True)
class Change:
    """Characters [start, start + len(before)) of the true passage read `before` there and `after` in the false one."""

    start: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Form:
    """A standard item under one claim; `item` is the false one, None where it is refused.

    `why` are sentences: the reasons, or of a flagged (usable) form what may give the truth away.
    """

    standard: Item
    claim: Claim
    item: Item | None
    outcome: Outcome
    why: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def forms(item: Item, wanted: Wanted) -> Iterator[Form]:
    """The item under each claim about its answer, in order. What holds for all of them is looked at once."""
    kind = kind_of(item.answer_type)
    spans = answers.find(item.context, item.gold_answer, item.answer_type, item.unit, item.aliases)[:101]
    answer = f"the answer {item.gold_answer}"
    unfit = f"the passage states {answer} more than 100 times" if spans else f"the passage does not state {answer}"
    refusals = [] if 0 < len(spans) <= 100 else [unfit]
    asked = answers.find(item.question, item.gold_answer, item.answer_type, "", item.aliases)
    if not kind.is_value and any(_is_written_as(span.surface, item.gold_answer) for span in asked):
        refusals.append("the question names the answer itself")
    flags: list[str] = []
    for outcome, sentence in dict.fromkeys(kind.doubts(item, spans) if spans else ()):
        (refusals if outcome is Outcome.REFUSED else flags).append(sentence)
    for claim in kind.claims(item, wanted):
        reasons = refusals or list(filter(None, [claim.refusal]))
        try:
            form = None if reasons else _made(item, claim, spans, flags)
        except NoClaim as error:
            reasons, form = [str(error)], None
        yield form or Form(item, claim, None, Outcome.REFUSED, tuple(reasons))


def _is_written_as(surface: str, answer: str) -> bool:
    """Whether a surface has a capital wherever the answer has: "what New Jersey city" does not name Jersey City."""
    return not any(word[0].islower() and word.capitalize() in answer.split() for word in surface.split())


def _made(item: Item, claim: Claim, spans: Sequence[Span], flags: Sequence[str]) -> Form:
    """The usable form; raises `NoClaim` where there is none."""
    kind = kind_of(item.answer_type)
    doubts = list(kind.doubts_of_claim(item, claim, spans))
    for outcome, sentence in doubts:
        if outcome is Outcome.REFUSED:
            raise NoClaim(sentence)
    changes = []
    for span in spans:
        written = kind.respell(span.surface, kind.gold(item), claim.canonical)
        if written is None:
            raise NoClaim(f"{claim.answer} cannot be written as the passage writes {span.surface!r}")
        changes.append(_change(item.context, span, written))
    false = replace(
        item,
        item_id=f"{item.item_id}@{claim.tag}",
        context=applied(item.context, changes),
        claimed_answer=claim.answer,
        perturbation_kind=claim.kind,
        perturbation_value=claim.value,
        level=claim.level,
    )
    _refuse_what_is_still_true(false)
    _refuse_what_is_not_stated(false, changes)
    why = [*claim.flags, *flags, *(sentence for _, sentence in doubts)]
    if answers.find(item.context, claim.answer, item.answer_type, item.unit):
        why.append("the true passage mentions the claim already")
    return Form(item, claim, false, Outcome.FLAGGED if why else Outcome.ACCEPTED, tuple(why), tuple(changes))


def _refuse_what_is_still_true(false: Item) -> None:
    """A false passage states no gold answer: no mention, and not its letters inside another word."""
    for gold in false.gold_answers:
        called = "the gold answer" if gold == false.gold_answer else f"another gold answer, {gold!r}"
        if answers.equal(false.claimed_answer, gold, false.answer_type, false.unit, false.aliases):
            raise NoClaim(f"the claim {false.claimed_answer} is {called}")
        if answers.is_accepted(false.claimed_answer, false):
            raise NoClaim(f"the claim {false.claimed_answer} counts as right, as the column accepted says")
        if left := answers.find(false.context, gold, false.answer_type, false.unit, false.aliases):
            raise NoClaim(f"the passage would still state {called}: {left[0].surface!r}")
    if kind_of(false.answer_type).is_value:
        return
    folded = fold_letters(false.context)[0]
    for name in (*false.gold_answers, *false.aliases):
        if len(name) > 3 and fold_letters(name)[0] in folded:
            raise NoClaim(f"the gold answer would still stand inside another word: {name!r}")


def _refuse_what_is_not_stated(false: Item, changes: Sequence[Change]) -> None:
    """The claim can be read back from every place where it was written."""
    stated = answers.find(false.context, false.claimed_answer, false.answer_type, false.unit)
    starts = [span.start for span in stated]
    for start, change in zip(places(changes), changes, strict=True):
        at = bisect_left(starts, start)
        if at == len(stated) or stated[at].end > start + len(change.after):
            raise NoClaim(f"{change.after!r} would not be read as {false.claimed_answer} in its place")


def _change(passage: str, span: Span, after: str) -> Change:
    """The exchange of one mention: "a" or "an", a possessive, a capital at the head of a sentence are kept right."""
    start, before = span.start, span.surface
    if _STOP_OF_JUNIOR.match(passage, span.end) and not after.casefold().endswith(("jr", "sr")):
        before += "."
    possessive = _POSSESSIVE.match(passage, span.end) if before.endswith("s") and not after.endswith("s") else None
    if possessive and not _QUOTED.search(passage, max(0, start - 200), start):
        before, after = before + possessive[0], f"{after}{possessive[0]}s"
    if before[:1].isupper() and after[:1].islower() and _SENTENCE_END.search(passage, max(0, start - 8), start):
        after = after[0].upper() + after[1:]
    article = _ARTICLE.search(passage, max(0, start - 4), start)
    took_an, takes_an = (_TAKES_AN.match(text) is not None for text in (before, after))
    if article and (article[1].lower() == "an") is took_an and took_an is not takes_an:
        gap = passage[article.end(1) : start]
        right = article[1][0] + ("n" if takes_an else "")
        return Change(article.start(), article[1] + gap + before, right + gap + after)
    return Change(start, before, after)


def applied(passage: str, changes: Sequence[Change]) -> str:
    """The passage with every change made; changes are in order and apart."""
    for start, change in zip(places(changes), changes, strict=True):
        passage = passage[:start] + change.after + passage[start + len(change.before) :]
    return passage


def places(changes: Sequence[Change]) -> list[int]:
    """Where each change starts in the perturbed passage."""
    shifts = accumulate((len(change.after) - len(change.before) for change in changes), initial=0)
    return [change.start + shift for change, shift in zip(changes, shifts, strict=False)]


def year_forms(item: Item) -> list[Item]:
    """Make every false form of an item whose answer is a year.

    Parameters
    ----------
    item : Item
        A standard item whose answer is a year.

    Returns
    -------
    list of Item
        The item, then its false forms: every signed offset that its passage allows.

    Raises
    ------
    BadInput
        The answer is not a year.
    """
    _refuse_all_but_years(item)
    return [item, *(form.item for form in forms(item, Wanted()) if form.item is not None)]


def offset_year(item: Item, offset: int) -> Item:
    """Add an offset to every mention of an item's answer in its passage.

    Parameters
    ----------
    item : Item
        A standard item whose answer is a year.
    offset : int
        Years, not 0.

    Returns
    -------
    Item
        The item with the false passage.

    Raises
    ------
    BadInput
        The answer is not a year, or the passage cannot be changed by that much; the sentence says why.
    """
    _refuse_all_but_years(item)
    must_be("offset", offset, (Integral,), "a whole number of years")
    if offset == 0:
        raise BadInput(f"{item.item_id}: a year can be offset, but not by 0")
    (form,) = forms(item, Wanted({AnswerType.YEAR: (offset,)}))
    if form.item is None:
        raise BadInput(f"{item.item_id}: {'; '.join(form.why)}")
    return form.item


def _refuse_all_but_years(item: Item) -> None:
    must_be("item", item, (Item,), "an item, as load_items gives them")
    if item.answer_type is not AnswerType.YEAR or not item.is_standard:
        raise BadInput(f"{item.item_id}: only a standard item whose answer is a year can be offset")
    if answers.normalise(item.gold_answer, item.answer_type) is None:
        raise BadInput(f"{item.item_id}: the gold answer {item.gold_answer!r} is no year")


def read_traits(frame: pd.DataFrame, file: str) -> dict[str, Traits]:
    """question_id → the traits that a table names in the columns `TRAITS`; rows without any are left out. Lists have
    bars between them. Where there is no question_id, an item_id or the row stands for it."""
    traits = {}
    for row in rows_of(frame, file) if set(TRAITS) & set(frame.columns) else ():
        gender = row.one_of("gender", ("f", "m", ""))
        role, era = (frozenset(row.between_bars(column)) for column in ("role", "era"))
        limits = row.number_in("at_least"), row.number_in("at_most")
        own = Traits(gender, role, era, row.text("country"), row.between_bars("near"), *limits)
        if own != Traits():
            traits[row.text("question_id") or row.text("item_id") or f"row-{row.number}"] = own
    return traits


def contradictions(false: Item, own: Traits | None = None, pool: Mapping[str, Traits] | None = None) -> list[str]:
    """What contradicts the claim of a false passage, or is still true there; sentences, empty where nothing is found.

    It is looked for in the passage as it stands, whoever wrote it: the gold answer or an accepted value, no claim, a
    part that is greater than its whole, what is impossible and not called absurd, a wrong weekday, a person of another
    gender or role or a city of another country than the words of the passage say.

    Parameters
    ----------
    own : traits of the gold answer; default: what the question and the passage tell.
    pool : traits of claims; a near-name that `own` lists shares its traits.
    """
    found = []
    try:
        _refuse_what_is_still_true(false)
    except NoClaim as error:
        found.append(str(error))
    kind = kind_of(false.answer_type)
    spans = answers.find(false.context, false.claimed_answer, false.answer_type, false.unit)
    if not spans:
        return [*found, f"the passage does not state the claim {false.claimed_answer}"]
    found += kind.contradictions(false, spans)
    new = answers.normalise(false.claimed_answer, false.answer_type, false.unit)
    if new and false.level is not Level.ABSURD and (why := kind.impossible(false, new, own or Traits())):
        found.append(why)
    if isinstance(kind, Name):
        own = own or inferred(replace(false, gold_answer=false.claimed_answer, aliases=()))
        near = own if false.claimed_answer in own.near else Traits(gender_of(false.claimed_answer))
        other = kind.absurd.get(false.claimed_answer) or (pool or {}).get(false.claimed_answer) or near
        spoken = spoken_of(false.question, false.context, false.claimed_answer, false.answer_type)
        trait = clash(own, other, spoken)
        if trait == "gender" or (trait and false.claimed_answer not in kind.absurd):
            found.append(f"{false.claimed_answer} does not fit what the passage says of the {trait}")
    return found


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
