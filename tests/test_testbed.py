"""The testbed and the grid of every shipped fact, today's and the coming ones: pairs, strata, completeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.data import ItemSet, facts, load_items
from srdcr_lab.records import Item, Level

DATA = Path(__file__).resolve().parent.parent / "data"
FOLDERS = [DATA / name for name in ("facts", "facts-next") if (DATA / name).is_dir()]
CACHED = (facts.exemplars, facts.standard, facts._invented, facts.testbed, facts.grid)


def _forget() -> None:
    for function in CACHED:
        function.cache_clear()


@pytest.fixture(scope="module")
def every_fact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of facts with the coming ones, in the place of the shipped one."""
    folder = tmp_path_factory.mktemp("facts")
    for name in ("facts.csv", "exemplars.csv"):
        parts = [pd.read_csv(part / name, dtype=str, keep_default_na=False) for part in FOLDERS]
        pd.concat(parts).to_csv(folder / name, index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "folder", lambda name: folder)
        _forget()
        yield folder
    _forget()


@pytest.fixture(scope="module")
def testbed(every_fact: Path) -> ItemSet:
    return load_items("facts:testbed")


@pytest.fixture(scope="module")
def grid(every_fact: Path) -> ItemSet:
    return load_items("facts:grid")


def lies(items: ItemSet) -> list[Item]:
    return [each for each in items if not each.is_standard]


def test_six_hundred_items_half_of_them_true(testbed: ItemSet) -> None:
    assert Counter(each.is_standard for each in testbed) == {True: 300, False: 300}


def test_each_question_once_in_either_form(testbed: ItemSet) -> None:
    true = [each.question_id for each in testbed if each.is_standard]
    assert len(set(true)) == 300
    assert true == [each.question_id for each in lies(testbed)]


def test_thirty_per_offset_with_balanced_signs(testbed: ItemSet) -> None:
    offsets = Counter(each.perturbation_value for each in lies(testbed) if each.domain == "years")
    assert offsets == {sign * size: 15 for size in (20, 40, 60, 100, 200) for sign in (1, -1)}


@pytest.mark.parametrize("domain", ["records", "news", "drugs", "names", "cities"])
def test_thirty_of_each_other_domain_evenly_over_its_levels(testbed: ItemSet, domain: str) -> None:
    levels = Counter(each.level for each in lies(testbed) if each.domain == domain)
    assert sum(levels.values()) == 30
    assert len(levels) == (3 if domain in ("names", "cities") else 4)
    assert max(levels.values()) - min(levels.values()) <= 1


def test_every_factor_is_used_up_and_down(testbed: ItemSet) -> None:
    factors = Counter(each.perturbation_value for each in lies(testbed) if each.perturbation_kind == "factor")
    assert set(factors) == {0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0}
    assert max(factors.values()) <= 3 * min(factors.values())


def test_no_claim_of_the_testbed_lies_in_the_future(testbed: ItemSet) -> None:
    assert all(int(each.claimed_answer) <= 2026 for each in lies(testbed) if each.domain == "years")


def test_real_questions_get_real_substitutes(testbed: ItemSet, every_fact: Path) -> None:
    rows = pd.read_csv(every_fact / "facts.csv", dtype=str, keep_default_na=False)
    invented = set(rows.loc[rows["fame_band"] == "invented", "gold_answer"])
    assert not {each.claimed_answer for each in lies(testbed) if each.domain in ("names", "cities")} & invented


def test_the_grid_has_every_question_and_nearly_every_perturbation(grid: ItemSet) -> None:
    """Some doses and counts are so small that a factor rounds to the truth, to zero, or to another factor's claim."""
    of = Counter(each.question_id for each in grid)
    assert len(of) == len(load_items("facts"))
    for each in load_items("facts"):
        forms = of[each.question_id] - 1
        assert forms == (10 if each.domain == "years" else 3 if each.domain in ("names", "cities") else forms)
    numbers = [of[each.question_id] - 1 for each in load_items("facts") if each.answer_type == "number"]
    assert sum(numbers) >= 0.97 * 10 * len(numbers)
    assert min(numbers) >= 4


def test_no_lie_of_the_grid_keeps_the_truth(grid: ItemSet) -> None:
    for lie in lies(grid):
        assert not answers.find(lie.context, lie.gold_answer, lie.answer_type, lie.unit, lie.aliases), lie.item_id
        assert answers.find(lie.context, lie.claimed_answer, lie.answer_type, lie.unit), lie.item_id
        assert lie.level is not Level.STANDARD
