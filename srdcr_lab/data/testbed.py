"""Which questions a testbed shows with which false passage: balanced over the perturbations, drawn by a seed.

Strata are filled in turn from a seeded order of the questions. A question goes to a stratum only where its passage can
be made false that way, without a flag where possible (so claims in the future are avoided while questions last).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice

from srdcr_lab.answers.kinds import Outcome
from srdcr_lab.data.items import by_domain
from srdcr_lab.data.perturbing.forms import Form
from srdcr_lab.records import Item, PerturbationKind

_YEAR_QUESTIONS = 150  # paper, 4.4: 150 + 150 items, 30 per offset
_OTHER_QUESTIONS = 30  # per other domain: 150 + 150 items over the five of them

Stratum = tuple[PerturbationKind, object]
Forms = Mapping[str, Sequence[Form]]  # item_id → the item under every claim


def paired(items: Sequence[Item], forms: Forms, seed: int = 0) -> list[Item]:
    """Standard and false items in the order of the questions: at most 150 of domain years and 30 of each other one."""
    false: dict[str, Item] = {}
    for domain, members in by_domain(items).items():
        order = sorted(members, key=lambda item: item.item_id)
        random.Random(f"{seed}:{domain}").shuffle(order)
        wanted = _YEAR_QUESTIONS if domain == "years" else _OTHER_QUESTIONS
        false |= balanced(order, forms, min(wanted, len(order)))
    return [form for item in items if item.item_id in false for form in (item, false[item.item_id])]


def balanced(order: Iterable[Item], forms: Forms, n: int) -> dict[str, Item]:
    """A false form for each of `n` questions, by item_id, as many in each stratum as the passages allow.

    A stratum is a signed offset for years, and a level for the other kinds, whose factors go round within it.
    """
    usable = {item.item_id: [form for form in forms[item.item_id] if form.item is not None] for item in order}
    strata = list(dict.fromkeys(_stratum(form) for forms in usable.values() for form in forms))
    left = Counter(islice(cycle(strata), n))  # how many questions each stratum still gets
    used: dict[tuple[Stratum, float | None], int] = defaultdict(int)
    false: dict[str, Item] = {}
    for outcomes in ({Outcome.ACCEPTED}, set(Outcome)):
        fitting: dict[Stratum, dict[str, list[Form]]] = {stratum: {} for stratum in strata}
        for item_id, made in usable.items():
            for form in made:
                if form.outcome in outcomes:
                    fitting[_stratum(form)].setdefault(item_id, []).append(form)
        for stratum in sorted(strata, key=lambda stratum: len(fitting[stratum])):  # the scarce ones first
            for item_id, candidates in fitting[stratum].items():
                if left[stratum] and item_id not in false:
                    form = min(candidates, key=lambda form: used[stratum, form.claim.value])
                    used[stratum, form.claim.value] += 1
                    left[stratum] -= 1
                    false[item_id] = form.item or form.standard
    return false


def _stratum(form: Form) -> Stratum:
    claim = form.claim
    return claim.kind, claim.value if claim.kind is PerturbationKind.OFFSET else claim.level
