"""The example table of chemical elements: it loads without complaint, every row can lie, and its answers are sane."""

import re
from collections import Counter
from pathlib import Path

import pytest

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Audit
from srdcr_lab.data.items import grouped
from srdcr_lab.data.load import check_source, read_source
from srdcr_lab.data.perturbing import Perturbed, perturb
from srdcr_lab.records import Level

ELEMENTS = Path(__file__).parents[2] / "data" / "examples" / "elements.csv"
NUMBERS, YEARS = "atomic numbers", "discovery years"


@pytest.fixture(scope="module")
def perturbed() -> Perturbed:
    items, refused = read_source(str(ELEMENTS))
    assert not refused
    return perturb(items, present=2026)


def test_the_table_loads_without_complaint(perturbed: Perturbed) -> None:
    assert check_source(ELEMENTS, strict=True).sentences() == []
    standard = [item for item in perturbed.items if item.is_standard]
    assert Counter(item.domain for item in standard) == {NUMBERS: 98, YEARS: 103}
    assert all(15 <= len(item.context.split()) <= 45 for item in standard)


def test_answers_are_sane_and_every_row_has_believable_false_passages(perturbed: Perturbed) -> None:
    """At two levels or more; what is flagged is impossible, or doubtful."""
    for question_id, forms in grouped(perturbed.forms, lambda form: form.standard.question_id).items():
        levels = {form.claim.level for form in forms if form.item}
        assert len(levels) >= 2, question_id
        flagged = (form for form in forms if form.outcome is Audit.FLAGGED and "doubtful" not in form.why[-1])
        assert all(form.claim.level is Level.ABSURD for form in flagged), question_id
    standard = grouped((item for item in perturbed.items if item.is_standard), lambda item: item.domain)
    assert [int(item.gold_answer) for item in standard[NUMBERS]] == [*range(3, 101)]  # lithium to fermium, in order
    for item in (*standard[NUMBERS], *standard[YEARS]):
        assert answers.read(f"The answer is {item.gold_answer}.", item) == item.gold_answer
        assert len(answers.find(item.context, item.gold_answer, item.answer_type)) == 1
    for item in standard[YEARS]:
        years = [int(year) for year in re.findall(r"\d{4}", f"{item.gold_answer} {item.accepted}")]
        assert all(1650 <= year <= 2025 and abs(year - years[0]) <= 10 for year in years), item.question_id
        assert not re.search(r"\d{4}", item.question)
