"""Substitutes fit the passage: gender, role, era and country; a slight one is a near-name; the shipped facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab.answers.kinds import Outcome, kind_of
from srdcr_lab.answers.traits import ROLES, Traits, inferred, spoken_of
from srdcr_lab.answers.wording import ENGLISH
from srdcr_lab.data import ItemSet, facts, load_items, perturb
from srdcr_lab.data.forms import Form, contradictions, read_traits
from srdcr_lab.data.load import traits_of
from srdcr_lab.data.perturbing import pools_of
from srdcr_lab.data.rows import read_table
from srdcr_lab.records import AnswerType, Item, Level
from srdcr_lab.records.files import folder
from tests.conftest import Srdcr
from tests.lies import CITY, NAME, NUMBER, standard
from tools.check_facts import similarity

PERSONS = {
    "Emma Stone-Hall": "The painter Emma Stone-Hall won.",
    "Edwin Lund": "The painter Edwin Lund won. He smiled.",
    "Oskar Berg": "The novelist Oskar Berg wrote it. He smiled.",
    "Erik Lunde": "The painter Erik Lunde won. He smiled.",
    "Harald Dahl": "The Danish painter Harald Dahl won. He smiled.",
    "Otto Blum": "The Danish painter Otto Blum won. He smiled.",
}


def named(passage: str, gold: str, kind: AnswerType = NAME, question: str = "Which was it?", **more: object) -> Item:
    one = standard(passage, gold, kind, item_id=gold, question_id=gold, **more)
    return replace(one, question=question)


def made_of(gold: str, **told: Traits) -> dict[str, Form]:
    items = [named(passage, name) for name, passage in PERSONS.items()]
    found = perturb(items, traits=told and {gold: told["own"]}, present=2026)
    return {form.claim.tag: form for form in found.forms if form.standard.gold_answer == gold}


def test_a_substitute_has_the_gender_role_and_nation() -> None:
    forms = made_of("Erik Lunde")
    assert forms["slight"].claim.answer == "Edwin Lund"
    assert forms["significant"].claim.answer in ("Harald Dahl", "Otto Blum")  # no woman and no novelist
    assert forms["comical"].item is not None
    assert forms["comical"].claim.answer not in ("Minnie Mouse", "Snow White", "Olive Oyl")
    assert made_of("Otto Blum")["significant"].claim.answer == "Harald Dahl"
    # A woman among men, in a passage that has no word for it, and one among painters.
    why = made_of("Oskar Berg")["significant"].why[0]
    assert why == (
        "none of 5 other answers fits (4 by role, 1 by gender do not fit this passage, or are not known to); name some "
        "in the column near or give a pool"
    )


def test_near_names_of_the_traits_go_before_the_pool() -> None:
    forms = made_of("Erik Lunde", own=Traits(near=("Eirik Lundin",)))
    assert forms["slight"].claim.answer == "Eirik Lundin"
    assert forms["significant"].claim.answer in ("Edwin Lund", "Harald Dahl", "Otto Blum")
    forms = made_of("Erik Lunde", own=Traits(near=("Eric Lunde", "Erik Lund", "Eirik Lundin")))
    assert forms["slight"].claim.answer == "Eirik Lundin"


def test_a_full_stop_that_was_copied_with_a_name_is_no_part_of_it() -> None:
    items = [named("Edwin Lund won.", "Edwin Lund."), named("Sammy Davis Jr. won.", "Sammy Davis Jr.")]
    assert [*pools_of(items)[items[0].domain, NAME]] == ["Edwin Lund", "Sammy Davis Jr."]


def test_where_the_gender_is_not_known_a_passage_with_such_words_is_refused() -> None:
    one = named("Lee Quill met his wife there. She laughed.", "Lee Quill")
    comical = [form for form in perturb([one]).forms if form.claim.tag == "comical"]
    assert [form.outcome for form in comical] == [Outcome.REFUSED]
    assert "the person's is not known: name it in gender" in comical[0].why[0]
    told = perturb([one], traits={"Lee Quill": Traits(gender="m")}).forms
    assert [form.item is not None for form in told if form.claim.tag == "comical"] == [True]


def test_what_the_question_names() -> None:
    one = named("Jo Doe plays in it.", "Jo Doe", question='Who is the hero of "The Life of Jo Doe"?')
    assert all("the question names the answer itself" in form.why for form in perturb([one]).forms)
    one = named("It ends in Jersey City.", "Jersey City", CITY, question="In what New Jersey city does it end?")
    assert not any("names the answer" in why for form in perturb([one]).forms for why in form.why)


CITIES = ("Aarhus", "Odense", "Bergen", "Stavanger", "Trondheim", "Tromsø")


def city_form(passage: str, gold: str, degree: str, pool: Sequence[str] = CITIES, **countries: str) -> Form:
    others = [named(f"It lies in {city}.", city, CITY) for city in pool if city != gold]
    traits = {city: Traits(country=country) for city, country in countries.items()}
    found = perturb([named(passage, gold, CITY), *others], traits=traits)
    return next(form for form in found.forms if (form.standard.gold_answer, form.claim.tag) == (gold, degree))


NORWAY = dict.fromkeys(CITIES[2:], "Norway") | dict.fromkeys(CITIES[:2], "Denmark")


def test_a_city_stays_in_the_country_that_the_passage_names() -> None:
    passage = "The Norwegian harbour of Bergen burnt down."
    assert {city_form(passage, "Bergen", degree, **NORWAY).claim.answer for degree in ("slight", "significant")} <= {
        "Stavanger", "Trondheim", "Tromsø",
    }  # fmt: skip
    elsewhere = city_form("The harbour of Bergen burnt down.", "Bergen", "significant", **NORWAY)
    assert elsewhere.claim.answer in CITIES[:2]
    assert "by country" in city_form(passage, "Bergen", "significant").why[0]  # of the others none is known


def test_the_miss_is_no_lady_and_a_city_lies_in_no_person() -> None:
    assert spoken_of("Who did?", "After the miss, Jo Doe won.", "Jo Doe", NAME).genders == frozenset()
    assert spoken_of("Where?", "In Bergen, Chopin played.", "Bergen", CITY).lies_in == frozenset()
    assert spoken_of("Where?", "Their European tour began in Bergen.", "Bergen", CITY).continents == {"europe"}
    assert inferred(named("The show was in Boston.", "Boston", CITY)).country == "United States"
    assert inferred(named("He left his wife Jo Doe. He wept.", "Jo Doe")).gender == "f"


@pytest.mark.parametrize("passage", ["It lies in Bergen, Vestland.", "It lies in Bergen, Vestland, by the sea."])
def test_what_a_city_lies_in_must_be_the_substitutes_too(passage: str) -> None:
    assert city_form(passage, "Bergen", "significant", **NORWAY).item is None
    assert city_form(passage, "Bergen", "comical").why == (
        "the passage says what the city lies in, and no such city lies there",
    )


@pytest.mark.parametrize(
    ("question", "passage", "gold", "expected"),
    [
        ("Who painted it?", "Marie Tal did.", "Marie Tal", Traits("f", frozenset({"artist"}))),
        ("Which surgeon led it?", "R. Tal led it. He was tired.", "R. Tal", Traits("m", frozenset({"doctor"}))),
        ("Who was it?", "The Swiss engineer R. Tal.", "R. Tal",
         Traits("", frozenset({"inventor"}), country="Switzerland")),
        ("Who was it?", "R. Tal met her and him at a Swiss inn.", "R. Tal", Traits()),
    ],
)  # fmt: skip
def test_traits_are_inferred(question: str, passage: str, gold: str, expected: Traits) -> None:
    assert inferred(named(passage, gold, question=question)) == expected


def test_a_table_of_ones_own_may_name_traits(srdcr: Srdcr, tmp_path: Path) -> None:
    rows = [
        ("q1", "Who won?", "Robin Vane", "Robin Vane won, and her sister wept.", "name", "f", "Robyn Vale|Robin Vance")
    ]
    columns = ["question_id", "question", "gold_answer", "context", "answer_type", "gender", "near"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "mine.csv", index=False)
    ended = srdcr("data", "perturb", tmp_path / "mine.csv", "--out", tmp_path / "out.csv")
    assert ended.code == 0, ended.err
    claims = {item.item_id: item.claimed_answer for item in load_items(tmp_path / "out.csv")}
    assert claims["q1@slight"] in ("Robyn Vale", "Robin Vance")
    assert claims["q1@comical"] in ENGLISH["absurd"]["f"].split(", ")
    pd.DataFrame([(*rows[0][:5], "w", "")], columns=columns).to_csv(tmp_path / "mine.csv", index=False)
    ended = srdcr("data", "perturb", tmp_path / "mine.csv")
    assert (ended.code, "mine.csv, row 1, column gender: 'w' is none of f, m" in ended.sentence) == (2, True)


# -- contradictions and similarity -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "claim", "found"),
    [
        ("Anna Berg won. She smiled.", "Anna Berg", []),
        ("Anna Berg won. Jo Doe lost. She smiled.", "Anna Berg",
         ["the passage would still state the gold answer: 'Jo Doe'"]),
        ("Otto Berg won. She smiled.", "Otto Berg", ["Otto Berg does not fit what the passage says of the gender"]),
        ("Nobody won.", "Anna Berg", ["the passage does not state the claim Anna Berg"]),
    ],
)  # fmt: skip
def test_contradictions_of_a_false_passage_whoever_wrote_it(passage: str, claim: str, found: list[str]) -> None:
    false = replace(named(passage, "Jo Doe"), claimed_answer=claim, level=Level.MODERATE)
    assert contradictions(false, Traits(gender="f")) == found


# -- the shipped facts -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grid() -> ItemSet:
    return load_items("facts:grid")


def test_false_names_are_ever_less_like_the_true_one(grid: ItemSet) -> None:
    """E: "slight" was not slight (.41 against .22), drawn among fifty answers."""
    for domain in ("names", "cities"):
        means = similarity(item for item in grid if item.domain == domain)
        subtle, moderate, blatant = (means[level][0] for level in (Level.SUBTLE, Level.MODERATE, Level.BLATANT))
        assert subtle > moderate + 0.1 > blatant + 0.2
        assert min(n for _, n in means.values()) > 110


def test_no_false_passage_of_the_facts_contradicts_itself(grid: ItemSet) -> None:
    pool = {item.gold_answer: facts.traits()[item.question_id] for item in load_items("facts")
            if item.answer_type in (NAME, CITY)}  # fmt: skip
    found = {
        item.item_id: told
        for item in grid
        if not item.is_standard and (told := contradictions(item, facts.traits().get(item.question_id), pool))
    }
    assert found == {}


def test_the_table_of_traits_knows_every_person_and_city() -> None:
    table = read_table(folder("facts") / "traits.csv", ("question_id", "near"))
    of_names = {item.question_id: item for item in load_items("facts") if item.answer_type in (NAME, CITY)}
    assert list(table["question_id"]) == list(of_names)
    for name, traits in read_traits(table, "traits.csv").items():
        item = of_names[name]
        assert (traits.gender in ("f", "m")) is (item.answer_type is NAME), name
        assert bool(traits.role) is (item.answer_type is NAME), name
        assert all(century.isdigit() and 5 <= int(century) <= 21 for century in traits.era), name
        assert 2 <= len(traits.near) <= 3, name
        assert item.gold_answer not in traits.near, name
    assert set(ROLES) > {"writer", "artist", "ruler"}


def test_the_limits_of_the_facts_hold_the_truth() -> None:
    """Each is of one question, by its number or its year, and any part of the facts is perturbed by them."""
    items = {item.question_id: item for item in load_items("facts")}
    limits = read_traits(read_table(folder("facts") / "limits.csv", ("question_id",)), "limits.csv")
    for name, own in limits.items():
        canonical = kind_of(items[name].answer_type).gold(items[name])
        value = Decimal(canonical.partition(" " if items[name].answer_type is NUMBER else "-")[0])
        assert (own.forbids(value), own == facts.traits()[name]) == ("", True), name
        assert own.forbids(10**9) or own.forbids(-1), name
    assert traits_of("facts:held") == traits_of("facts") == facts.traits()


def test_every_near_name_of_the_facts_can_stand() -> None:
    """None shares a surname with the truth, stands in the passage, or is an alias."""
    traits, stated = facts.traits(), []
    for item in load_items("facts"):
        for near in traits[item.question_id].near if item.question_id in traits else ():
            alone = {item.question_id: replace(traits[item.question_id], near=(near,))}
            (slight, *_) = perturb([item], traits=alone).forms
            if slight.item is None:
                stated.append((item.question_id, near, slight.why))
    assert stated == []
