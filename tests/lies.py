"""One standard item, made to lie in one way, for tests of the perturbations."""

from collections.abc import Sequence
from dataclasses import replace

from srdcr_lab.data import perturb
from srdcr_lab.data.perturbing import Change, Form, applied, new_places
from srdcr_lab.records import AnswerType, Item
from tests.scripted import item

YEAR, NUMBER, NAME, CITY, TEXT = map(AnswerType, "year number name city text".split())
NAMES = ("Jørn Utzon", "Tove Jansson", "George de Mestral", "Oscar Niemeyer", "Nils Bohlin", "Marcus Currie")


def standard(passage: str, gold: str, answer_type: AnswerType = YEAR, **fields: object) -> Item:
    asked = "When was it?" if answer_type is YEAR else "What was it?"
    one = replace(item(), item_id="q1", question=asked, context=passage, gold_answer=gold, claimed_answer=gold)
    return replace(one, answer_type=answer_type, **fields)


def form(one: Item, tag: str, pool: tuple[str, ...] | None = None) -> Form:
    found = perturb([one], pool=pool, offsets=(20, 40, 60, 100, 200, 150), present=2026)
    return next(form for form in found.forms if form.claim.tag == tag)


def lie(one: Item, tag: str, pool: tuple[str, ...] | None = None) -> str:
    made = form(one, tag, pool)
    assert made.item is not None, made.why
    return made.item.context


def restored(perturbed: str, changes: Sequence[Change]) -> str:
    """The passage that `applied` made `perturbed` from."""
    moved = zip(new_places(changes), changes, strict=True)
    return applied(perturbed, [Change(start, each.after, each.before) for start, each in moved])
