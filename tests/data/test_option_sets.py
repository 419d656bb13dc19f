"""The shipped facts as questions with options and as claims."""

from __future__ import annotations

from collections import Counter

import pytest

from srdcr_lab import answers
from srdcr_lab.answers.option import fault_of
from srdcr_lab.data import ItemSet, load_items
from srdcr_lab.data.facts import invented, standard
from srdcr_lab.records import AnswerType, Item

FACTS = {item.question_id: item for item in standard()}


def options() -> ItemSet:
    return load_items("facts:options")


def claims() -> ItemSet:
    return load_items("facts:claims")


def offered(item: Item) -> dict[str, str]:
    return {option.label: option.text for option in item.options}


def test_every_known_fact_is_asked_once_and_no_invented_one() -> None:
    expected = set(FACTS) - invented()
    for items in (options(), claims()):
        assert {item.question_id for item in items} == expected
        assert len(items) == len(expected) > 300


def test_four_options_hold_the_gold_answer_and_others_of_its_domain() -> None:
    for item in options():
        fact = FACTS[item.question_id]
        assert offered(item)[item.gold_answer] == fact.gold_answer
        assert "".join(offered(item)) == "ABCD"
        assert not fault_of(item.options, item.gold_answer)
    by_domain: dict[str, set[str]] = {}
    for fact in FACTS.values():
        by_domain.setdefault(fact.domain, set()).add(fact.gold_answer)
    for item in options():
        fact = FACTS[item.question_id]
        wrong = [text for label, text in offered(item).items() if label != item.gold_answer]
        assert set(wrong) <= by_domain[item.domain]
        assert not any(answers.equal(text, fact.gold_answer, fact.answer_type, "", fact.aliases) for text in wrong)
    counts = Counter(item.gold_answer for item in options())
    assert min(counts.values()) > 0.8 * len(options()) / 4
    # A dose of 2.4 stands beside decimals, and not beside a crowd.
    for item in options():
        fact = FACTS[item.question_id]
        if fact.answer_type is AnswerType.NUMBER and "," in fact.gold_answer:
            assert not any("." in text for text in offered(item).values())


def test_half_of_each_domains_claims_are_true() -> None:
    for domain in {item.domain for item in claims()}:
        counts = Counter(item.gold_answer for item in claims() if item.domain == domain)
        assert abs(counts["true"] - counts["false"]) <= 1
    for item in claims():
        fact = FACTS[item.question_id]
        asserted = item.question.rpartition(" is ")[2].removesuffix(".")
        equal = answers.equal(asserted, fact.gold_answer, fact.answer_type, "", fact.aliases)
        assert equal is (item.gold_answer == "true")


@pytest.mark.parametrize("name", ["facts:options", "facts:claims"])
def test_another_seed_draws_others_and_the_same_seed_the_same(name: str) -> None:
    assert load_items(name, seed=1).items != load_items(name, seed=0).items
    assert load_items(name, seed=1).items == load_items(name, seed=1).items
