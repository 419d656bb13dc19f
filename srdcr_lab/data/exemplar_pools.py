"""Exemplars that are never evaluated: a table's own, the shipped ones, or questions set aside."""

from __future__ import annotations

from srdcr_lab.data.itemset import ItemSet
from srdcr_lab.records import BadInput, Exemplar, Item

_SET_ASIDE = 8  # exemplars taken from a domain where the table brings none


def as_exemplar(item: Item) -> Exemplar:
    return Exemplar(question=item.question, answer=item.gold_answer, context=item.context, domain=item.domain)


def with_exemplars(name: str, items: list[Item], own: tuple[Exemplar, ...], pool: tuple[Exemplar, ...]) -> ItemSet:
    """Items with a pool of exemplars disjoint from them.

    Exemplars are `own` ones and those of `pool`. A domain with fewer than four of them sets some of its questions
    aside, where it is large enough; else exemplars of other domains serve. What was done stands in the notes.

    Raises
    ------
    BadInput
        If fewer than four exemplars come together.
    """
    evaluated = {item.question for item in items}
    exemplars = list(own) + [exemplar for exemplar in pool if exemplar.question not in evaluated]
    notes = []
    for domain in dict.fromkeys(item.domain for item in items if not item.options):  # those are asked zero-shot
        if sum(exemplar.domain == domain for exemplar in exemplars) >= 4:
            continue
        questions = list(
            dict.fromkeys(item.question_id for item in items if item.domain == domain and item.is_standard)
        )
        if len(questions) < 5 * _SET_ASIDE:
            notes.append(
                f"domain {domain}: fewer than four exemplars of its own, so those of other domains are shown with it"
            )
            continue
        aside = set(questions[:: len(questions) // _SET_ASIDE][:_SET_ASIDE])
        exemplars += [as_exemplar(item) for item in items if item.question_id in aside and item.is_standard]
        items = [item for item in items if item.question_id not in aside]
        notes.append(
            f"domain {domain}: {len(aside)} of its questions were set aside as exemplars and are not evaluated"
        )
    if len(exemplars) < 4:
        raise BadInput(f"{name}: a few-shot prompt needs four exemplars; mark rows with the column is_exemplar")
    return ItemSet(name, tuple(items), tuple(exemplars), tuple(notes))
