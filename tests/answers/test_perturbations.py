"""How a passage is made to lie, worked by hand [paper 2.1, Figure 2]."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.data import offset_year, year_forms
from srdcr_lab.records import AnswerType, BadInput, Item, Level, PerturbationKind
from tests.scripted import item

PASSAGE = "Opened in 1874, the bridge (1874) stood for 30 years. In 1904 it fell. It had 1874 metres."


def bridge(context: str = PASSAGE, gold: str = "1874") -> Item:
    return replace(item(), item_id="q1", context=context, gold_answer=gold, claimed_answer=gold)


def test_what_a_perturbed_item_says_of_itself() -> None:
    lie = offset_year(bridge(), -40)
    assert (lie.claimed_answer, lie.gold_answer) == ("1834", "1874")
    assert (lie.perturbation_kind, lie.perturbation_value, lie.level) == (PerturbationKind.OFFSET, -40.0, Level.MILD)
    assert (lie.item_id, lie.question_id, lie.question) == ("q1@-40", "q1", bridge().question)
    assert not lie.is_standard


@pytest.mark.parametrize(
    ("offset", "level"),
    [(20, Level.SUBTLE), (40, Level.MILD), (60, Level.MODERATE), (100, Level.BLATANT), (200, Level.BLATANT),
     (10, Level.SUBTLE), (30, Level.MILD), (50, Level.MODERATE), (61, Level.BLATANT), (500, Level.BLATANT)],
)  # fmt: skip
def test_levels_go_by_the_size_of_the_offset(offset: int, level: Level) -> None:
    level_of = kind_of(AnswerType.YEAR).level
    assert [level_of(PerturbationKind.OFFSET, sign * offset) for sign in (1, -1)] == [level, level]


def test_all_forms_of_a_question() -> None:
    forms = year_forms(bridge())
    assert forms[0] == bridge()
    assert sorted(f.perturbation_value for f in forms[1:] if f.perturbation_value is not None) == [
        -200, -100, -60, -40, -20, 20, 40, 60, 100, 200,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gold", "offset", "claim"),
    [("AD 1066", 20, "AD 1086"), ("44 BC", 20, "24 BC"), ("44 BC", -20, "64 BC"), ("about 1835", 40, "about 1875")],
)
def test_an_era_and_a_hedge_stay(gold: str, offset: int, claim: str) -> None:
    lie = offset_year(bridge(f"Fought in {gold}.", gold=gold), offset)
    assert (lie.claimed_answer, lie.context) == (claim, f"Fought in {claim}.")


@pytest.mark.parametrize(
    ("wrong", "offset", "sentence"),
    [
        (bridge("It opened long ago."), 20, "the passage does not state the answer 1874"),
        (bridge(), 0, "not by 0"),
        (item(1934), 20, "only a standard item"),
        (replace(bridge(), answer_type=AnswerType.NUMBER), 20, "whose answer is a year"),
        (bridge("It was the year 64.", gold="64"), -100, "lies before the year 1"),
        (bridge("In 44 BC.", gold="44 BC"), 60, "lies after the year 1 BC"),
        (bridge(gold="long ago"), 20, "is no year"),
    ],
)
def test_refused(wrong: Item, offset: int, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        offset_year(wrong, offset)
    assert sentence in str(caught.value)
