"""TODO."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from srdcr_lab.answers.kinds import Outcome
from srdcr_lab.data.perturbing.forms import Form
from srdcr_lab.records import Item, PerturbationKind

if TYPE_CHECKING:
    pass


FormsOf = Callable[[Item], Sequence[Form]]


Stratum = tuple[PerturbationKind, object]


def paired(items: Iterable[Item], forms_of: FormsOf, seed: int = 0) -> list[Item]:
    """Standard and false items in the order of the questions: at most 150 of domain years and 30 of each other one."""
    items = list(items)
    by_domain: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_domain[item.domain].append(item)
    false: dict[str, Item] = {}
    for domain, members in by_domain.items():
        order = sorted(members, key=lambda item: item.item_id)
        random.Random(f"{seed}:{domain}").shuffle(order)
        wanted = YEAR_QUESTIONS if domain == "years" else OTHER_QUESTIONS
        false |= balanced(order, forms_of, min(wanted, len(order)))
    return [form for item in items if item.item_id in false for form in (item, false[item.item_id])]


def balanced(order: Sequence[Item], forms_of: FormsOf, n: int) -> dict[str, Item]:
    """A false form for each of `n` questions, by item_id, as many in each stratum as the passages allow.

    A stratum is a signed offset for years, and a level for the other kinds, whose factors go round within it.
    """
    usable = {item.item_id: [form for form in forms_of(item) if form.item is not None] for item in order}
    left = _quotas(usable, n)
    used: dict[tuple[Stratum, float | None], int] = defaultdict(int)
    false: dict[str, Item] = {}
    for unflagged in (True, False):
        for stratum in sorted(left, key=lambda s: _supply(usable, s, unflagged)):
            for item in order:
                fitting = [f for f in usable[item.item_id] if _stratum(f) == stratum and _fits(f, unflagged)]
                if left[stratum] and fitting and item.item_id not in false:
                    form = min(fitting, key=lambda f: used[stratum, f.claim.value])
                    used[stratum, form.claim.value] += 1
                    left[stratum] -= 1
                    false[item.item_id] = form.item or item
    return false


def _quotas(usable: Mapping[str, Sequence[Form]], n: int) -> dict[Stratum, int]:
    """How many questions each stratum gets; they differ by at most one."""
    strata = list(dict.fromkeys(_stratum(form) for forms in usable.values() for form in forms))
    quotas = dict.fromkeys(strata, 0)
    for _, stratum in zip(range(n), cycle(strata), strict=False):
        quotas[stratum] += 1
    return quotas


def _supply(usable: Mapping[str, Sequence[Form]], stratum: Stratum, unflagged: bool) -> int:
    """How many questions could fill a stratum: the scarce ones are filled first."""
    return sum(any(_stratum(f) == stratum and _fits(f, unflagged) for f in forms) for forms in usable.values())


def _fits(form: Form, unflagged: bool) -> bool:
    return form.outcome is Outcome.ACCEPTED or not unflagged


def _stratum(form: Form) -> Stratum:
    claim = form.claim
    return claim.kind, claim.value if claim.kind is PerturbationKind.OFFSET else claim.level


YEAR_QUESTIONS = 150  # paper, 4.4: 150 + 150 items, 30 per offset


OTHER_QUESTIONS = 30  # per other domain: 150 + 150 items over the five of them
