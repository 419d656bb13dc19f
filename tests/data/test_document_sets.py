"""`facts:documents`: how many documents mislead, who says what, and that nothing but the text gives the truth away."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from srdcr_lab import answers
from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.facts import SOURCES
from srdcr_lab.records import DocumentKind


@pytest.fixture(scope="module")
def items() -> ItemSet:
    return load_items("facts:documents")


def test_every_question_has_five_voices_and_one_beside_the_point(items: ItemSet) -> None:
    assert len(items) == 300
    for item in items:
        about = [each for each in item.documents if each.kind is not DocumentKind.NOISE]
        assert (len(item.documents), len({each.source for each in about})) == (6, 5)
        assert len({each.text for each in item.documents}) == 6
        assert {each.source for each in item.documents} <= set(SOURCES)


def test_each_number_of_misleading_documents_is_on_a_fifth_of_each_domain(items: ItemSet) -> None:
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for item in items:
        counts[item.domain][sum(each.kind is DocumentKind.MISINFO for each in item.documents)] += 1
    assert counts["years"] == dict.fromkeys(range(5), 30)
    assert all(counts[domain] == dict.fromkeys(range(5), 6) for domain in counts if domain != "years")


def test_a_document_states_what_it_is_said_to_assert(items: ItemSet) -> None:
    for item in items:
        for each in item.documents:
            if each.kind is DocumentKind.NOISE:
                assert each.answer == ""
                continue
            assert answers.find(each.text, each.answer, item.answer_type, item.unit)
            right = answers.equal(each.answer, item.gold_answer, item.answer_type, item.unit, item.aliases)
            assert right is (each.kind is DocumentKind.CORRECT)
    for item in items:
        assert set(item.wrong_answers) == {e.answer for e in item.documents if e.kind is DocumentKind.MISINFO}
    several = Counter(len(item.wrong_answers) for item in items if len(item.documents) == 6)
    assert several[1] > 60  # one lie for all
    assert several[2] > 20  # lies of their own


def test_accurate_sources_mislead_less_often(items: ItemSet) -> None:
    told = [each for item in items for each in item.documents if each.kind is not DocumentKind.NOISE]
    right = {
        name: sum(e.kind is DocumentKind.CORRECT for e in told if e.source == name)
        / sum(e.source == name for e in told)
        for name in SOURCES
    }
    weak, strong = sorted(SOURCES, key=SOURCES.__getitem__)[:3], sorted(SOURCES, key=SOURCES.__getitem__)[-3:]
    assert max(right[name] for name in weak) < min(right[name] for name in strong)


def test_place_and_lead_in_tell_nothing_of_the_truth(items: ItemSet) -> None:
    """The share of correct documents at each place, and under each lead-in, is that of all."""
    by_place: dict[str, list[bool]] = defaultdict(list)
    for item in items:
        for each in item.documents:
            lead_in = each.text.partition(": ")[0] if each.text.startswith("From a") else "none"
            for group in (each.document_id, lead_in):
                by_place[group].append(each.kind is DocumentKind.CORRECT)
    for group, correct in by_place.items():
        assert abs(sum(correct) / len(correct) - 0.5) < 0.11, group
