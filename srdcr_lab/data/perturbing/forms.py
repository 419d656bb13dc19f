"""One item under one claim: the false passage, or the reason why there is none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from srdcr_lab import answers
from srdcr_lab.answers.text import Span, fold_letters
from srdcr_lab.data.perturbing.claims import SIGNED_YEAR_OFFSETS, YEAR_OFFSETS, Claim, level_of_offset, offsets
from srdcr_lab.data.perturbing.give_aways import dependents, flags_of_claim
from srdcr_lab.data.perturbing.mentions import Change, applied, change, mentions, places, range_runs_backwards
from srdcr_lab.records import AnswerType, BadInput, Item


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    FLAGGED = "flagged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Form:
    """A standard item under one claim. `item` is the false one (None where refused); `why` are sentences.

    Flagged forms are usable; `why` says what in their passage may give the truth away.
    """

    standard: Item
    claim: Claim
    item: Item | None
    outcome: Outcome
    why: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def forms(item: Item, claims: Iterable[Claim]) -> Iterator[Form]:
    """The item under each claim, in order. What holds for all of them is looked at once."""
    found = mentions(item)
    refusals, flags = dependents(item) if found.spans else ([], [])
    always = (*found.refusals, *refusals)
    for claim in claims:
        if claim.refusal or always:
            yield Form(item, claim, None, Outcome.REFUSED, (claim.refusal,) if claim.refusal else always)
            continue
        form = _made(item, claim, found.spans)
        if form.outcome is Outcome.REFUSED:
            yield form
            continue
        own = flags_of_claim(item, claim.canonical)
        why = (*claim.flags, *found.flags, *flags, *own, *form.why)
        yield replace(form, why=why, outcome=Outcome.FLAGGED if why else Outcome.ACCEPTED)


def _made(item: Item, claim: Claim, spans: tuple[Span, ...]) -> Form:
    gold = _as_respelled(item)
    changes = []
    for span in spans:
        written = answers.respell(span.surface, gold, claim.canonical, item.answer_type)
        if written is None:
            return _refused(item, claim, f"{claim.answer} cannot be written as the passage writes {span.surface!r}")
        if item.answer_type is AnswerType.YEAR and (
            turned := range_runs_backwards(item.context, span, int(claim.canonical))
        ):
            return _refused(item, claim, f"the range would run backwards: {turned!r}")
        changes.append(change(item.context, span.start, span.end, written))
    false = replace(
        item,
        item_id=f"{item.question_id}@{claim.tag}",
        context=applied(item.context, changes),
        claimed_answer=claim.answer,
        perturbation_kind=claim.kind,
        perturbation_value=claim.value,
        level=claim.level,
    )
    if reason := _still_true(false) or _not_stated(false, changes):
        return _refused(item, claim, reason)
    before = answers.find(item.context, claim.answer, item.answer_type, item.unit)
    flags = ("the true passage mentions the claim already",) if before else ()
    return Form(item, claim, false, Outcome.ACCEPTED, flags, tuple(changes))


def _as_respelled(item: Item) -> str:
    """The gold answer as `respell` takes it: canonical for years and numbers, else as it is written."""
    if item.answer_type in (AnswerType.YEAR, AnswerType.NUMBER):
        return answers.normalise(item.gold_answer, item.answer_type, item.unit) or item.gold_answer
    return item.gold_answer


def _refused(item: Item, claim: Claim, reason: str) -> Form:
    return Form(item, claim, None, Outcome.REFUSED, (reason,))


def _still_true(false: Item) -> str:
    """Why a false passage would still state a gold answer: a mention, or its letters inside another word."""
    for gold in false.gold_answers:
        if answers.equal(false.claimed_answer, gold, false.answer_type, false.unit, false.aliases):
            return f"the claim {false.claimed_answer} is {_gold(gold, false)}"
        left = answers.find(false.context, gold, false.answer_type, false.unit, false.aliases)
        if left:
            return f"the passage would still state {_gold(gold, false)}: {left[0].surface!r}"
    if false.answer_type not in (AnswerType.YEAR, AnswerType.NUMBER):
        folded = fold_letters(false.context)[0]
        for name in (*false.gold_answers, *false.aliases):
            if len(name) > 3 and fold_letters(name)[0] in folded:
                return f"the gold answer would still stand inside another word: {name!r}"
    return ""


def _gold(answer: str, item: Item) -> str:
    return "the gold answer" if answer == item.gold_answer else f"another gold answer, {answer!r}"


def _not_stated(false: Item, changes: list[Change]) -> str:
    """Why the claim cannot be read back from every place where it was written."""
    found = answers.find(false.context, false.claimed_answer, false.answer_type, false.unit)
    starts = [span.start for span in found]
    for start, each in zip(places(changes), changes, strict=True):
        at = bisect_left(starts, start)
        if at == len(found) or found[at].end > start + len(each.after):
            return f"{each.after!r} would not be read as {false.claimed_answer} in its place"
    return ""


# -- short names for the perturbations of a year, as the notebooks use them; every kind is in `data.perturbing`

__all__ = ["SIGNED_YEAR_OFFSETS", "YEAR_OFFSETS", "level_of_offset", "offset_year", "year_forms"]

_FAR_AHEAD = 9999  # no claim is flagged as future: these functions return items, not an account


def year_forms(item: Item) -> list[Item]:
    """A standard item whose answer is a year, and its false forms: every signed offset that its passage allows."""
    _refuse_all_but_years(item)
    made = forms(item, offsets(item, SIGNED_YEAR_OFFSETS, _FAR_AHEAD))
    return [item, *(form.item for form in made if form.item is not None)]


def offset_year(item: Item, offset: int) -> Item:
    """The standard item with `offset` years added to every mention of its answer.

    Raises
    ------
    BadInput
        If the answer is no year or the passage cannot be made to lie by that much: the sentence says why.
    """
    _refuse_all_but_years(item)
    if offset == 0:
        raise BadInput(f"{item.item_id}: a year can be offset, but not by 0")
    (form,) = forms(item, offsets(item, (offset,), _FAR_AHEAD))
    if form.item is None:
        raise BadInput(f"{item.item_id}: {'; '.join(form.why)}")
    return form.item


def _refuse_all_but_years(item: Item) -> None:
    if item.answer_type is not AnswerType.YEAR or not item.is_standard:
        raise BadInput(f"{item.item_id}: only a standard item whose answer is a year can be offset")
    if answers.normalise(item.gold_answer, item.answer_type) is None:
        raise BadInput(f"{item.item_id}: the gold answer {item.gold_answer!r} is no year")
