"""The testbed and the grid of the shipped facts: pairs, strata, completeness [paper 4, 4.4]."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.data import YEAR_OFFSETS, ItemSet, facts, load_items, perturb
from srdcr_lab.records import AnswerType, Item, Level
from srdcr_lab.records.files import folder
from tests.answers.test_answers_properties import NUMBER_SPELLINGS, YEAR_SPELLINGS
from tests.lies import restored

SIGNED = {sign * size for size in YEAR_OFFSETS for sign in (1, -1)}


@pytest.fixture(scope="module")
def testbed() -> ItemSet:
    return load_items("facts:testbed")


@pytest.fixture(scope="module")
def grid() -> ItemSet:
    return load_items("facts:grid")


def lies(items: ItemSet) -> list[Item]:
    return [each for each in items if not each.is_standard]


def test_the_design_of_the_testbed(testbed: ItemSet) -> None:
    """Else: python tools/release_facts.py data/facts/testbed.parquet"""
    assert testbed == facts.drawn_testbed()
    assert Counter(each.is_standard for each in testbed) == {True: 300, False: 300}
    true = [each.question_id for each in testbed if each.is_standard]
    assert len(set(true)) == 300
    assert true == [each.question_id for each in lies(testbed)]
    offsets = Counter(each.perturbation_value for each in lies(testbed) if each.domain == "years")
    assert offsets == dict.fromkeys(SIGNED, 15)
    factors = Counter(each.perturbation_value for each in lies(testbed) if each.perturbation_kind == "factor")
    assert set(factors) == {0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0}
    assert max(factors.values()) <= 8 * min(factors.values())  # times five or ten is often beyond what is possible
    assert all(int(each.claimed_answer) <= 2026 for each in lies(testbed) if each.domain == "years")
    rows = pd.read_csv(folder("facts") / "facts.csv", dtype=str, keep_default_na=False)
    invented = set(rows.loc[rows["fame_band"] == "invented", "gold_answer"])
    assert not {each.claimed_answer for each in lies(testbed) if each.domain in ("names", "cities")} & invented


@pytest.mark.parametrize("domain", ["records", "news", "drugs", "names", "cities"])
def test_thirty_of_each_other_domain_evenly_over_its_levels(testbed: ItemSet, domain: str) -> None:
    levels = Counter(each.level for each in lies(testbed) if each.domain == domain)
    assert sum(levels.values()) == 30
    assert len(levels) == (3 if domain in ("names", "cities") else 4)
    assert max(levels.values()) - min(levels.values()) <= 1


def test_the_testbed_is_seeded() -> None:
    def drawn(seed: int) -> list[tuple[str, str]]:
        return [(each.item_id, each.claimed_answer) for each in load_items("facts:testbed", seed=seed)]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def test_the_grid_has_every_question_and_nearly_every_perturbation(grid: ItemSet) -> None:
    """Some doses and counts are so small that a factor rounds to the truth, to zero, or to another factor's claim."""
    forms = {each.question_id: Counter[str]() for each in load_items("facts")}
    for each in grid:
        forms[each.question_id][each.domain if not each.is_standard else "standard"] += 1
    assert {each["standard"] for each in forms.values()} == {1}
    whole = {"years": 10, "dates": 10, "names": 3, "cities": 3}  # of some persons nobody else has the same role
    for domain, n in whole.items():
        counts = [each[domain] for each in forms.values() if domain in each]
        assert (max(counts), counts.count(n) / len(counts) > 0.85, min(counts) >= 1) == (n, True, True)
    factors = [each.total() - 1 for each in forms.values() if not set(each) & set(whole)]
    assert sum(n >= 8 for n in factors) / len(factors) > 0.7
    assert min(factors) >= 1


def test_every_year_of_the_grid_is_moved_by_every_offset_and_ahead_of_today_blatantly(grid: ItemSet) -> None:
    moved: dict[tuple[str, int], set[float | None]] = {}
    for lie in lies(grid):
        if lie.domain == "years":
            moved.setdefault((lie.question_id, int(lie.gold_answer)), set()).add(lie.perturbation_value)
    for (_, gold), offsets in moved.items():
        assert offsets == {offset for offset in SIGNED if gold + offset <= 2026 or offset > 60}


def test_no_lie_of_the_grid_keeps_the_truth(grid: ItemSet) -> None:
    for lie in lies(grid):
        assert not answers.find(lie.context, lie.gold_answer, lie.answer_type, lie.unit, lie.aliases), lie.item_id
        assert answers.find(lie.context, lie.claimed_answer, lie.answer_type, lie.unit), lie.item_id
        assert lie.level is not Level.STANDARD
    # Without `find`: spellings are looked for as text. A number's are looked for with its unit behind them.
    for lie in lies(grid):
        for surface in spellings(lie):
            behind = rf"[ \u00a0-]?{re.escape(lie.unit)}" if lie.unit else r"(?![\w-]|[.,:]\d)"
            assert not re.search(rf"(?<![\w.,]){re.escape(surface)}{behind}", lie.context, re.IGNORECASE), lie.item_id
    # What stands before and behind the one mention of the answer (but for "a", "an" before it) is the same.
    true = {each.question_id: each for each in grid if each.is_standard}
    for lie in lies(grid):
        one = true[lie.question_id]
        (mention,) = answers.find(one.context, one.gold_answer, one.answer_type, one.unit, one.aliases)
        assert lie.context.startswith(one.context[: max(0, mention.start - 3)]), lie.item_id
        assert lie.context.endswith(one.context[mention.end :]), lie.item_id


def spellings(lie: Item) -> list[str]:
    """The gold answer and its aliases, and a whole number or a year as every speller of our tests writes it."""
    given = [lie.gold_answer, *lie.aliases]
    value = lie.gold_answer.replace(",", "")
    if lie.answer_type is AnswerType.YEAR:
        given += [how(int(value)) for how in YEAR_SPELLINGS.values()]
    elif lie.answer_type is AnswerType.NUMBER and value.isdigit():
        given += [how(int(value)) for how in NUMBER_SPELLINGS.values()]
    return given


def test_undoing_a_perturbation_restores_every_shipped_passage() -> None:
    found = perturb(load_items("facts"), traits=facts.traits(), present=2026)
    made = [form for form in found.forms if form.item is not None]
    assert len(made) > 8_000
    for form in made:
        assert restored(form.item.context, form.changes) == form.standard.context != form.item.context
