"""Perturbations by hand and of hard passages: what is exchanged, flagged, refused; substitutes; passages made anew."""

import random
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.answers.dates import SIGNED_YEAR_OFFSETS
from srdcr_lab.answers.kinds import Audit, FalseClaim, kind_of
from srdcr_lab.answers.name import Traits, inferred, spoken_of
from srdcr_lab.answers.wording import ENGLISH
from srdcr_lab.data import ItemSet, facts, load_items, perturb, perturbing
from srdcr_lab.data.load import read_source
from srdcr_lab.data.rows import read_table
from srdcr_lab.data.tables import level_of
from srdcr_lab.prompts import render_rewrite, sources
from srdcr_lab.records import (
    AnswerType,
    BadInput,
    CallFailed,
    Completion,
    Document,
    FinishReason,
    Item,
    Level,
    PerturbationKind,
    Request,
)
from srdcr_lab.records.files import folder
from srdcr_lab.study.run import rewrite, wait_for
from tests.conftest import Srdcr
from tests.doubles import ScriptedModel
from tests.lies import CITY, NAME, NAMES, NUMBER, TEXT, YEAR, form, lie, standard
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.scripted import item as society
from tools.check_facts import similarity
from tools.hard_passages import FAULTY, PASSAGES, REFUSED, judged, rates


def type_of(tag: str) -> AnswerType:
    return YEAR if tag[0] in "+-" else NUMBER if tag[0] == "x" else NAME


@pytest.mark.parametrize(("passage", "gold", "unit", "tag", "expected"), [
    ("In 1874 (AD 1874, eighteen seventy-four) it opened.", "1874", "", "+20",
     "In 1894 (AD 1894, eighteen ninety-four) it opened."),
    ("1,250 men, 1250 men, twelve hundred and fifty men.", "1250", "men", "x2",
     "2,500 men, 2500 men, twenty-five hundred men."),
    ("An 8.90-metre jump; a jump of 8.9 metres.", "8.90", "metres", "x1.2",
     "A 10.68-metre jump; a jump of 10.68 metres."),
    ("A dose of 5 mg in 30 min for 30 men.", "5", "mg", "x3", "A dose of 15 mg in 30 min for 30 men."),
    ("Twelve men came.", "12", "men", "x2", "Twenty-four men came."),
    ("For £100m. The £100 million fee.", "£100 million", "", "x0.1", "For £10m. The £10 million fee."),
    ("It has 380,000 people: 380k.", "380,000", "", "x2", "It has 760,000 people: 760k."),
    ("It took 1:40.91.", "1:40.91", "", "x2", "It took 3:21.82."),
    ("It took 2:01:39.", "2:01:39", "", "x0.1", "It took 0:12:10."),
    ("افتتح الجسر عام ١٨٧٤ في المدينة.", "1874", "", "+20", "افتتح الجسر عام ١٨٩٤ في المدينة."),
    ("נפתח בשנת 1874.", "1874", "", "+20", "נפתח בשנת 1894."),
    ("橋は1874年に開通した。", "1874", "", "-60", "橋は1814年に開通した。"),
    ("पुल १,२५० मीटर लंबा है।", "1250", "", "x2", "पुल २,५०० मीटर लंबा है।"),
    ("Le village a 12 500 habitants.", "12500", "", "x1.5", "Le village a 18 750 habitants."),
    ("Er lehrte an 8 Schulen.", "8", "", "x1.5", "Er lehrte an 12 Schulen."),
])  # fmt: skip
def test_every_mention_changes_in_its_own_style(passage: str, gold: str, unit: str, tag: str, expected: str) -> None:
    assert lie(standard(passage, gold, type_of(tag), unit=unit), tag) == expected


def test_a_person_by_every_name() -> None:
    passage = "Dr. Marie Curie came. CURIE spoke. M. Curie's work won; “Curie, Marie” it says."
    made = form(standard(passage, "Marie Curie", NAME), "comical")
    given, family = made.claim.answer.rsplit(" ", 1)
    assert made.item.context == (
        f"Dr. {given} {family} came. {family.upper()} spoke. {given[0]}. {family}'s work won; "
        f"“{family}, {given}” it says."
    )
    one = standard("Marie Curie came. Curie spoke, and Curie won.", "Marie Curie", NAME)
    pool = ("Ruth de Mestral", "Anna de Vries", "Anne de Bont", "Ella de Kooning", "Rosa de Nijs")
    family = form(one, "significant", pool).claim.answer.partition(" ")[2]
    assert lie(one, "significant", pool).endswith(f"D{family[1:]} spoke, and {family} won.")
    assert lie(standard("A 1783 treaty and an 1889 one.", "1783"), "+20") == "An 1803 treaty and an 1889 one."
    assert lie(standard("An 1803 treaty.", "1803"), "-20") == "A 1783 treaty."


@pytest.mark.parametrize(("passage", "gold", "answer_type", "why"), [
    ("In 1914–18 there was war.", "1918", YEAR, "a range with a short end is not taken apart"),
    ("In 1914–18 there was war.", "1914", YEAR, "a range with a short end is not taken apart"),
    ("Built in 1874, a child of the 1870s.", "1874", YEAR, "the passage names the decade: '1870s'"),
    ("Marie Curie met the Joliot-Curies and Irène Joliot-Curie.", "Marie Curie", NAME, "another person's"),
    ("York, not New York.", "York", CITY, "the answer is part of another name: 'York, not New York.'"),
    ("They won 30–10.", "30", NUMBER, "'30' is part of a range or a score"),
    ("Give 10 to 20 mg.", "20", NUMBER, "'20' is part of a range or a score"),
    ("It lost two-thirds of its people.", "two", NUMBER, "'two' belongs to a fraction"),
    ("It opened long ago.", "1874", YEAR, "the passage does not state the answer 1874"),
    ("It opened in 1874. " * 101, "1874", YEAR, "the passage states the answer 1874 more than 100 times"),
    ("In the 3rd century.", "300", YEAR, "the passage does not state the answer 300"),
    ("Marie Curie met Pierre Curie.", "Marie Curie", NAME, "the surname may be another person's"),
    ("On 12 May there were 12 states.", "12", NUMBER, "'12' may belong to a date"),
])  # fmt: skip
def test_refused(passage: str, gold: str, answer_type: AnswerType, why: str) -> None:
    found = perturb([standard(passage, gold, answer_type)], pool=NAMES)
    assert {made.outcome for made in found.forms} == {Audit.REFUSED}
    assert all(any(why in sentence for sentence in made.why) for made in found.forms)
    assert len(found.items) == 1  # the standard one stays


def test_the_stop_of_junior_goes_with_him_and_the_end_of_a_sentence_stays() -> None:
    passage = (
        "Martin Luther King Jr. was born there. All met Martin Luther King Jr. He spoke, Martin Luther King, Jr.'s way."
    )
    new = form(standard(passage, "Martin Luther King Jr.", NAME), "comical").claim.answer
    assert lie(standard(passage, "Martin Luther King Jr.", NAME), "comical") == (
        f"{new} was born there. All met {new}. He spoke, {new}'s way."
    )


@pytest.mark.parametrize(
    ("passage", "level"), [("In 100% oxygen it burnt.", Level.ABSURD), ("Prices were up 100%.", Level.MILD)]
)
def test_a_share_is_no_more_than_the_whole(passage: str, level: Level) -> None:
    assert form(standard(passage, "100%", NUMBER, unit="%"), "x2").claim.level is level


def test_a_possessive_is_written_as_the_new_name_takes_it() -> None:
    for passage, false in (("Nantes' old streets.", "{}'s old streets."), ("'In Nantes' he said.", "'In {}' he said.")):
        one = standard(passage, "Nantes", CITY)
        for made in perturb([one], pool=("Rouen", "Reims", "Lyon", "Dijon", "Toulon")).forms:
            if made.item is not None and not made.claim.answer.endswith("s"):
                assert made.item.context == false.format(made.claim.answer)
                break
        else:
            pytest.fail("no form was made")


MEDALS = "She won 15 medals, eight of them gold."
VOTE = "At the referendum 98.8 per cent said yes."
PEOPLE = {"unit": "people"}
DATE = {"answer_type": AnswerType.DATE}
RIGHT = "the claim {} counts as right, as the column accepted says"


@pytest.mark.parametrize(("passage", "gold", "fields", "tag", "why"), [
    # flagged: a dependent statement stays
    ("In 1874, aged 34, he did it.", "1874", {}, "-150", "an age may give the year away: 'aged 34'"),
    ("Born in Rome, she won in 1874 when she was 21.", "1874", {}, "+20", "an age may give the year away"),
    ("Built in 1874, it stood thirty years.", "1874", {}, "-150", "a duration may give the year away: 'thirty years'"),
    ("Built in 1874; a century later it fell.", "1874", {}, "-150", "a duration may give the year away: 'a century'"),
    ("1874 was marked by its centenary.", "1874", {}, "-150", "an anniversary may give the year away: 'centenary'"),
    ("On Friday 13 May 1874.", "1874", {}, "-150", "a weekday may give the year away: 'Friday'"),
    ("In 1874. He was born in 1840.", "1874", {}, "-150", "the claim is moved past another year of the passage: 1840"),
    ("In 1874; in 1875 it fell.", "1874", {}, "-150", "another year of the passage is close to the truth: 1875"),
    ("In 1881 it was shown. It was rare in the 1890s.", "1881", {}, "+20", "past another year of the passage: '1890s'"),
    ("Jochi (1185–1226) led them.", "1226", {}, "+100", "a lifetime from the claim: 1185"),
    ("The 98 km (60 min) are long.", "98 km", {}, "x2", "a second figure follows in brackets: 'km (60 min)'"),
    ("1,250 men, 51% of us, fell.", "1,250", {}, "x2", "51"),
    ("Of all 40% came, as 30% had not.", "40%", {}, "x0.8", "'30"),
    ("Of 1,250 men, 1,245 came.", "1,250", {}, "x2", "'1,245"),
    ("Of 1,250 men the 1,250th won.", "1,250", {}, "x2", "1,250th"),
    ("It has 5,000 people, 12 per square mile.", "5000", PEOPLE, "x2", "a density that may depend on the number"),
    ("It has 5,000 people at a density of 9/km².", "5000", PEOPLE, "x2", "a density that may depend on the number"),
    ("It has 5,000 people in 2,100 households.", "5000", PEOPLE, "x2", "a part of it that may depend"),
    ("It has 5,000 people, almost twice as many as then.", "5000", PEOPLE, "x2", "a multiple that may depend"),
    ("He had 80 g. The most was 12 g, they say.", "80 g", {}, "x0.1", "past another number of the passage: 12"),
    (MEDALS, "15 medals", {}, "x2", "a part or a whole of it stays as it is: eight"),
    ("They won 45 seats.", "45", {"unit": "seats"}, "x0.4", ""),
    ("Marie Curie came; Marie won.", "Marie Curie", {}, "comical", "the given name occurs by itself: 'marie'"),
    ("Pierre and Marie Curie came.", "Marie Curie", {}, "comical", "another person may share the surname: 'Pierre and"),
    ("She, Curie, came.", "Marie Curie", {}, "comical", "the passage has the surname alone"),
    ("Marie Curie, of the Curies.", "Marie Curie", {}, "comical",
     "the passage contains a word derived from the answer"),
    ("Henry Ford built it. Fordism began.", "Henry Ford", {}, "comical", "derived from the answer"),
    ("Florence is old. A Florentine painted.", "Florence", {"answer_type": CITY}, "comical", "derived from the answer"),
    ("The Basel Zoo is old.", "Basel", {"answer_type": CITY}, "comical",
     "the answer is part of a longer name: 'The Ba"),
])  # fmt: skip
def test_flagged(passage: str, gold: str, fields: dict[str, Any], tag: str, why: str) -> None:
    made = form(standard(passage, gold, **{"answer_type": type_of(tag), **fields}), tag)
    assert made.outcome is Audit.FLAGGED
    assert any(why in sentence for sentence in made.why), made.why


@pytest.mark.parametrize(("passage", "gold", "fields", "tag", "why"), [
    # E: 27 forms contradicted their passage, 14 of them unflagged; a factor was rounded from 0.2 to 0.25
    ("In 1874, late in the 19th century.", "1874", {}, "-150", "the passage names the century: '19th century'"),
    ("On 29 February 1872.", "1872", {}, "-150", "29 February does not exist in 1722"),
    ("In 1874; he was born in 1840.", "1874", {}, "-150", "the claim is moved past another year of the passage: 1840"),
    ("It ran 1874–1904.", "1874", {}, "+40", "the range would run backwards: 'It ran 1874–1904.'"),
    ("In 1874, others say 1899.", "1874", {"other_gold_answers": ("1899",)}, "-40",
     "the passage would still state another gold answer, '1899': '1899'"),
    ("In 1874.", "1874", {"other_gold_answers": ("1894",)}, "+20", "the claim 1894 is another gold answer, '1894'"),
    (MEDALS, "15 medals", {}, "x0.4", "that must be smaller than 6 medals: eight"),
    (MEDALS, "eight", {}, "x2", "a number that must be greater than sixteen: 15"),
    ("It has 1,294 people, down from 1,418.", "1,294", {}, "x2", "a number that must be greater than 2,588: 1,418"),
    ("Seven men came.", "seven", {}, "x1.2", "rounding to the precision of seven makes the factor 1.14"),
    ("Five men came.", "five", {}, "x0.2", "one is singular: verbs and nouns would disagree"),
    ("Take 1.5 mg (1500 micrograms).", "1.5", {"unit": "mg", "aliases": ("1500 micrograms",)}, "x2",
     "an alias states another number: 'Take 1.5 mg (1500 micrograms).'"),
    ("At the 1996 General Conference it ended.", "1996", {}, "x2", "may belong to a date"),
    (VOTE, "98.8", {"unit": "per cent"}, "x0.4", ""),  # 39.53 per cent for secession, and drums are beaten
    ("It was 400 then.", "400", {"accepted": ("400..800",)}, "x1.5", RIGHT.format(600)),
    ("It was 400 then.", "400", {"accepted": ("600",)}, "x1.5", RIGHT.format(600)),
    ("It was 1874 then.", "1874", {"accepted": ("1894",)}, "+20", RIGHT.format(1894)),
    ("Jean Ribault sailed with Wm. Ribault.", "Jean Ribault", {}, "comical", ""),
])  # fmt: skip
def test_what_contradicts_its_own_passage_is_refused(
    passage: str, gold: str, fields: dict[str, Any], tag: str, why: str
) -> None:
    made = form(standard(passage, gold, **{"answer_type": type_of(tag), **fields}), tag)
    assert made.item is None
    assert any(why in sentence for sentence in made.why), made.why


@pytest.mark.parametrize(("passage", "gold", "fields", "tag"), [
    ("In 1874, late in the 19th century.", "1874", {}, "-20"),  # which the claim lies in too
    ("Give 6 mg; if need be, twice that.", "6 mg", {}, "x2"),  # a multiple that no number goes with
    (VOTE, "98.8", {"unit": "per cent"}, "x0.8"),
    ("Of the milk 98.8 per cent was sold.", "98.8", {"unit": "per cent"}, "x0.4"),
    ("They won 45 seats.", "45", {"unit": "seats"}, "x0.8"),
    ("They had 45 seats.", "45", {"unit": "seats"}, "x0.4"),
    ("It was 400 then.", "400", {"accepted": ("700..800",)}, "x1.5"),
    ("In 1874.", "1874", {"other_gold_answers": ("1899",)}, "-40"), ("It ran 1874–1904.", "1874", {}, "+20"),
    ("It fell on Tuesday, 14 July 1789.", "14 July 1789", DATE, "-7"),  # a Tuesday too
    ("It fell on 14 July 1789; 1789 was a bad year, and July hot.", "14 July 1789", DATE, "+7"),
    ("It fell on 14 July 1789, in the 1780s and the 18th century.", "14 July 1789", DATE, "-364"),
])  # fmt: skip
def test_what_speaks_against_no_claim_is_accepted(passage: str, gold: str, fields: dict[str, Any], tag: str) -> None:
    made = form(standard(passage, gold, **{"answer_type": type_of(tag), **fields}), tag)
    assert made.item is not None
    assert all(sentence.startswith("doubtful") for sentence in made.why)


@pytest.mark.parametrize(("passage", "gold", "tag"), [
    ("It opened in 1881. Plague was rife in the 19th century.", "1881", "+20"),
    ("It was sold in 1981 to 20th Century Fox.", "1981", "-100"), ("Up 10% from 2013, they said.", "10%", "x0.8"),
    ("It will be the largest by 2050.", "2050", "-20"),
    ("Jean Ribault sailed in May. Ribault won.", "Jean Ribault", "comical"),  # it was taken for a first name
])  # fmt: skip
def test_what_is_not_refused(passage: str, gold: str, tag: str) -> None:
    assert form(standard(passage, gold, type_of(tag)), tag).item is not None


@pytest.mark.parametrize(("question", "gold", "unit", "absurd"), [
    ("In what time did she run the 400 metres?", "47.60", "seconds", {0.75, 0.88, 1.3}),
    ("How many kilograms was the clean and jerk?", "263.5", "kilograms", {0.1, 0.2, 0.4, 1.2, 1.5, 2, 3, 5, 10}),
    ("What share of the votes was it?", "51", "%", {2, 3, 5, 10}),
    ("How many stones did he lift?", "51", "stones", set[float]()),
    ("How far, in metres, did he throw the hammer?", "210", "metres", set[float]()),  # the truth is beyond it too
])  # fmt: skip
def test_the_impossible_is_a_level_of_its_own(question: str, gold: str, unit: str, absurd: set[float]) -> None:
    """E: 400 m in 4.76 s, 2,635 kg lifted. It is flagged, and drawn for no pair."""
    found = perturb([replace(standard(f"It was {gold} {unit} then.", gold, NUMBER, unit=unit), question=question)])
    beyond = [made for made in found.forms if made.claim.level is Level.ABSURD]
    assert {made.claim.value for made in beyond} == absurd
    assert all("beyond what is possible" in made.why[0] for made in beyond)
    assert Level.ABSURD not in {drawn.level for seed in range(9) for drawn in found.paired(seed)}


def test_what_is_known_of_one_answer_bounds_its_claims() -> None:
    number = standard("It was 102 people.", "102", NUMBER, unit="people")
    for one, known, absurd in (
        (number, Traits(at_least=90, at_most=300), {0.1, 0.2, 0.4, 0.8, 3, 5, 10}),
        (number, Traits(), set[float]()),
        (standard("In 1957 it was signed.", "1957"), Traits(at_least=1938), {-20, -40, -60, -100, -200}),
    ):
        forms = perturb([one], traits={one.question_id: known}).forms
        assert {made.claim.value for made in forms if made.claim.level is Level.ABSURD} == absurd
    known = facts.traits()["news-mayflower-passengers"]
    (false,) = (each for each in load_items("facts:grid") if each.item_id == "news-mayflower-passengers@x5")
    assert (known.at_most, false.level) == (210, Level.ABSURD)
    said = perturbing.contradictions(replace(false, level=Level.BLATANT), known)
    assert said == ["beyond what is possible: at most 210, and it is 510"]


@pytest.mark.parametrize(("passage", "gold", "tag", "why"), [
    ("In 1985 a helicopter came.", "1985", "-100", "an anachronism in 1885: 'helicopter'"),
    ("In 1957 the Soviet Union sent it up.", "1957", "+40", "an anachronism in 1997: 'Soviet'"),
    ("In 1957 the Soviet Union sent it up.", "1957", "+20", ""),
    ("In 1857 the Soviets' town was built.", "1857", "-60", ""),  # the true year is outside the row itself
    ("President F. W. de Klerk came in 1990.", "1990", "-100", "President F. did not live in both years"),
    ("Elizabeth I came in 1588.", "1588", "-100", "Elizabeth I did not live in both years"),
    ("Elizabeth I came in 1588.", "1588", "-60", ""), ("The General Assembly met in 1946.", "1946", "-100", ""),
    ("After World War II they met in 1949.", "1949", "-100", "an anachronism in 1849: 'World War'"),
    ("In Super Bowl V, in 1971, he played.", "1971", "-100", ""),
])  # fmt: skip
def test_an_anachronism_is_absurd_and_another_century_flagged(passage: str, gold: str, tag: str, why: str) -> None:
    """A helicopter in 1785, the Soviet Union in 2017."""
    made = form(standard(passage, gold, YEAR), tag)
    assert made.item is not None
    assert "; ".join(each for each in made.why if not each.startswith("doubtful")) == why
    assert (made.claim.level is Level.ABSURD) is why.startswith("an anachronism")
    if made.claim.level is Level.ABSURD:  # whoever writes such a passage and calls it anything else is told
        assert perturbing.contradictions(made.item) == []
        assert perturbing.contradictions(replace(made.item, level=Level.MILD)) == [why]


def test_a_city_in_a_script_without_spaces() -> None:
    pool = ("大阪", "京都", "札幌", "神戸", "奈良")
    one = standard("展覧会は東京で開かれた。", "東京", CITY)
    assert lie(one, "significant", pool).replace(form(one, "significant", pool).claim.answer, "東京") == one.context


def test_what_is_left_out_says_why() -> None:
    rows = [
        standard("In the 3rd century.", "3rd century", TEXT, item_id="a", question_id="a"),
        replace(society(1934), item_id="b", question_id="b"),
        standard("In 1874.", "1874", item_id="c", question_id="c"),
        standard("It was 1874.", "1874", item_id="d", question_id="c"),
        standard("In 1874.", "1874", item_id="e", question_id="e", documents=(Document(document_id="1", text="1874"),)),
        standard("", "1874", item_id="f", question_id="f"),
        standard("In 1874.", "1874", item_id="g", question_id="c"),
    ]
    found = perturb(rows)
    already = "in 'c' already; delete one of the two rows, or give each its own question_id"
    assert [(row.item_id, row.why) for row in found.left_out] == [
        ("a", "an answer of type text is not perturbed; year, number, name, city and date are"),
        ("b", "its passage is already false"),
        ("d", f"a passage of its question stands {already}"),
        ("e", "it has no single passage"),
        ("f", "it has no single passage"),
        ("g", f"its question and passage stand {already}"),
    ]
    assert [form.claim.value for form in found.forms] == list(SIGNED_YEAR_OFFSETS)


PERSONS = {
    "Emma Stone-Hall": "The painter Emma Stone-Hall won.",
    "Edwin Lund": "The painter Edwin Lund won. He smiled.",
    "Oskar Berg": "The novelist Oskar Berg wrote it. He smiled.",
    "Erik Lunde": "The painter Erik Lunde won. He smiled.",
    "Harald Dahl": "The Danish painter Harald Dahl won. He smiled.",
    "Otto Blum": "The Danish painter Otto Blum won. He smiled.",
}


def named(passage: str, gold: str, kind: AnswerType = NAME, question: str = "Which was it?") -> Item:
    return standard(passage, gold, kind, item_id=gold, question_id=gold, question=question)


def made_of(gold: str, **told: Traits) -> dict[str, perturbing.Form]:
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
    assert why == "none of 5 other answers fits the passage; name some in the column near or give a pool"


def test_near_names_of_the_traits_go_before_the_pool() -> None:
    forms = made_of("Erik Lunde", own=Traits(near=("Eirik Lundin",)))
    assert forms["slight"].claim.answer == "Eirik Lundin"
    assert forms["significant"].claim.answer in ("Edwin Lund", "Harald Dahl", "Otto Blum")
    forms = made_of("Erik Lunde", own=Traits(near=("Eric Lunde", "Erik Lund", "Eirik Lundin")))
    assert forms["slight"].claim.answer == "Eirik Lundin"
    items = [named("Edwin Lund won.", "Edwin Lund."), named("Sammy Davis Jr. won.", "Sammy Davis Jr.")]
    assert [*perturbing.pools_of(items)[items[0].domain, NAME]] == ["Edwin Lund", "Sammy Davis Jr."]


def test_where_the_gender_is_not_known_a_passage_with_such_words_is_refused() -> None:
    one = named("Lee Quill met his wife there. She laughed.", "Lee Quill")
    comical = [form for form in perturb([one]).forms if form.claim.tag == "comical"]
    assert [form.outcome for form in comical] == [Audit.REFUSED]
    assert "every absurd name contradicts what the passage says of gender" in comical[0].why[0]
    told = perturb([one], traits={"Lee Quill": Traits(gender="m")}).forms
    assert [form.item is not None for form in told if form.claim.tag == "comical"] == [True]


def test_what_the_question_names() -> None:
    one = named("Jo Doe plays in it.", "Jo Doe", question='Who is the hero of "The Life of Jo Doe"?')
    assert all("the question names the answer itself" in form.why for form in perturb([one]).forms)
    one = named("It ends in Jersey City.", "Jersey City", CITY, question="In what New Jersey city does it end?")
    assert not any("names the answer" in why for form in perturb([one]).forms for why in form.why)


CITIES = ("Aarhus", "Odense", "Bergen", "Stavanger", "Trondheim", "Tromsø")


def city_form(passage: str, gold: str, degree: str, pool: Sequence[str] = CITIES, **countries: str) -> perturbing.Form:
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
    assert "fits the passage" in city_form(passage, "Bergen", "significant").why[0]  # of the others none is known


def test_the_miss_is_no_lady_and_a_city_lies_in_no_person() -> None:
    assert spoken_of(named("After the miss, Jo Doe won.", "Jo Doe")).genders == frozenset()
    assert spoken_of(named("In Bergen, Chopin played.", "Bergen", CITY)).lies_in == frozenset()
    assert spoken_of(named("Their European tour began in Bergen.", "Bergen", CITY)).continents == {"europe"}
    assert inferred(named("The show was in Boston.", "Boston", CITY)).country == "United States"
    assert inferred(named("He left his wife Jo Doe. He wept.", "Jo Doe")).gender == "f"


@pytest.mark.parametrize("passage", ["It lies in Bergen, Vestland.", "It lies in Bergen, Vestland, by the sea."])
def test_what_a_city_lies_in_must_be_the_substitutes_too(passage: str) -> None:
    assert city_form(passage, "Bergen", "significant", **NORWAY).item is None
    (why,) = city_form(passage, "Bergen", "comical").why
    assert why.startswith("every absurd name contradicts what the passage says of gender or place")


@pytest.mark.parametrize(("question", "passage", "gold", "expected"), [
    ("Who painted it?", "Marie Tal did.", "Marie Tal", Traits("f", frozenset({"artist"}))),
    ("Which surgeon led it?", "R. Tal led it. He was tired.", "R. Tal", Traits("m", frozenset({"doctor"}))),
    ("Who was it?", "The Swiss engineer R. Tal.", "R. Tal", Traits("", frozenset({"inventor"}), country="Switzerland")),
    ("Who was it?", "R. Tal met her and him at a Swiss inn.", "R. Tal", Traits()),
])  # fmt: skip
def test_traits_are_inferred(question: str, passage: str, gold: str, expected: Traits) -> None:
    assert inferred(named(passage, gold, question=question)) == expected


def test_factors_of_numpy_and_a_pool_of_an_unknown_type() -> None:
    tunnel = standard("It is 12.5 km long.", "12.5 km", NUMBER)
    assert perturb([tunnel], factors=[np.float32(0.8), np.int64(2)]).forms == perturb([tunnel], factors=[0.8, 2]).forms
    with pytest.raises(BadInput, match="the pool has names of the type 'nmae'; expected year, "):
        perturb([tunnel], pool={"nmae": NAMES})


def test_a_table_of_ones_own_may_name_traits(srdcr: Srdcr, tmp_path: Path) -> None:
    passage, near = "Robin Vane won, and her sister wept.", "Robyn Vale|Robin Vance"
    rows = [("q1", "Who won?", "Robin Vane", passage, "name", "female", near)]
    columns = ["question_id", "question", "gold_answer", "context", "answer_type", "gender", "near"]
    broken = '"a"b,c,d\n'  # a row that is left out
    (tmp_path / "mine.csv").write_text(pd.DataFrame(rows, columns=columns).to_csv(index=False) + broken)
    srdcr.ok("data", "perturb", tmp_path / "mine.csv", "--out", tmp_path / "out.csv")
    claims = {item.item_id: item.claimed_answer for item in load_items(tmp_path / "out.csv")}
    assert claims["q1@slight"] in ("Robyn Vale", "Robin Vance")
    assert claims["q1@comical"] in ENGLISH["absurd"]["f"].split(", ")
    pd.DataFrame([(*rows[0][:5], "w", "")], columns=columns).to_csv(tmp_path / "mine.csv", index=False)
    assert "row 1, column gender: 'w' is none of f, m" in srdcr.refuses("data", "perturb", tmp_path / "mine.csv")


@pytest.mark.parametrize(("passage", "claim", "found"), [
    ("Anna Berg won. She smiled.", "Anna Berg", []),
    ("Anna Berg won. Jo Doe lost. She smiled.", "Anna Berg",
     ["the passage would still state the gold answer: 'Jo Doe'"]),
    ("Otto Berg won. She smiled.", "Otto Berg", ["Otto Berg does not fit what the passage says of the gender"]),
    ("Nobody won.", "Anna Berg", ["the passage does not state the claim Anna Berg"]),
])  # fmt: skip
def test_contradictions_of_a_false_passage_whoever_wrote_it(passage: str, claim: str, found: list[str]) -> None:
    false = replace(named(passage, "Jo Doe"), claimed_answer=claim, level=Level.MODERATE)
    assert perturbing.contradictions(false, Traits(gender="f")) == found


@pytest.fixture(scope="module")
def grid() -> ItemSet:
    return load_items("facts:grid")


def test_false_names_are_ever_less_like_the_true_one(grid: ItemSet) -> None:
    """E: "slight" was not slight (.41 against .22), drawn among fifty answers."""
    for domain in ("names", "cities"):
        means = similarity(item for item in grid if item.domain == domain)
        subtle, moderate, blatant = (means[level][0] for level in (Level.SUBTLE, Level.MODERATE, Level.BLATANT))
        assert subtle > moderate + 0.1 > blatant + 0.2
        assert min(n for _, n in means.values()) > 100


def test_no_false_passage_of_the_facts_contradicts_itself(grid: ItemSet) -> None:
    pool = {item.gold_answer: facts.traits()[item.question_id] for item in load_items("facts")
            if item.answer_type in (NAME, CITY)}  # fmt: skip
    found = {
        item.item_id: told
        for item in grid
        if not item.is_standard
        and (told := perturbing.contradictions(item, facts.traits().get(item.question_id), pool))
    }
    assert found == {}


def test_the_table_of_traits_knows_every_person_and_city() -> None:
    table = read_table(folder("facts") / "traits.csv", ("question_id", "near"))
    of_names = {item.question_id: item for item in load_items("facts") if item.answer_type in (NAME, CITY)}
    table = table[table["gender"] + table["near"] != ""]
    assert list(table["question_id"]) == list(of_names)
    for name, traits in perturbing.read_traits(table, "traits.csv").items():
        item = of_names[name]
        assert (traits.gender in ("f", "m")) is (item.answer_type is NAME), name
        assert bool(traits.role) is (item.answer_type is NAME), name
        assert all(century.isdigit() and 5 <= int(century) <= 21 for century in traits.era), name
        assert 2 <= len(traits.near) <= 3, name
        assert item.gold_answer not in traits.near, name
    assert set(ENGLISH["roles"]) > {"writer", "artist", "ruler"}


def test_the_limits_of_the_facts_hold_the_truth() -> None:
    """Each is of one question, and no true year is outside a person's life; beside a number persons say nothing."""
    items = {item.question_id: item for item in load_items("facts")}
    limits = {name: own for name, own in facts.traits().items() if not own.near}
    for name, own in limits.items():
        canonical = kind_of(items[name].answer_type).gold(items[name])
        value = Decimal(canonical.partition(" " if items[name].answer_type is NUMBER else "-")[0])
        assert own.forbids(value) == "", name
        assert own.forbids(10**9) or own.forbids(-1) or (own.lived and own.anachronisms(int(value)) == []), name
    years = {item.perturbation_value: item.flags for item in load_items("facts:grid").items
             if item.question_id == "years-yellowstone"}  # fmt: skip
    assert years[20.0] == ("an anachronism in 1892: Ulysses S. Grant, president, 1869 to 1877",)
    with pytest.raises(BadInput, match="row 1, column lived: 'Pepys' is not a person with two years; write"):
        perturbing.read_traits(pd.DataFrame({"question_id": ["a"], "lived": ["Pepys"]}), "own.csv")
    tunnel, beside = standard("It is 12.5 km long.", "12.5 km", NUMBER), Traits(lived=(("Ada Vance", 1850, 1900),))
    assert perturb([tunnel], traits={tunnel.question_id: beside}).forms == perturb([tunnel]).forms
    assert load_items("facts:held").traits() == read_source("facts")[0].traits() == facts.traits()


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


TRUE = "The bridge of Ardle was opened in 1874 by the mayor. The ferry was sold soon afterwards to a farmer."
NEW = "In 1894 carts first crossed the bridge of Ardle. A stone at its foot names the two masons who built the arches."
ARDLE = replace(standard(TRUE, "1874", item_id="a", question_id="a"), question="When did the bridge of Ardle open?")
CLAIM = FalseClaim(PerturbationKind.REWRITE, None, Level.SUBTLE, "rewrite", "1894", "1894")


def test_a_rewrite_that_passes() -> None:
    form = perturbing.rewritten(ARDLE, CLAIM, f"<think>\nlet me see</think>\n{NEW}\n")
    assert (form.outcome, form.why, form.changes) == (Audit.ACCEPTED, (), ())
    assert (form.item.item_id, form.item.context, form.item.claimed_answer) == ("a@rewrite", NEW, "1894")
    assert (form.item.perturbation_kind, form.item.perturbation_value) == (PerturbationKind.REWRITE, None)


@pytest.mark.parametrize(("text", "why"), [
    (NEW.replace("1894", "1884"), "the passage does not state the claim 1894"),
    (NEW + " The year was 1874.", "the passage would still state the gold answer: '1874'"),
    ("In 1894 the bridge of Ardle opened.", "has 7 words where the true passage has 20"),
    (" ".join([NEW] * 3), "has 66 words where the true passage has 20"),
    (NEW.replace("In 1894", "Reportedly in 1894"), "hedges, or hints that something is false"),
    (NEW.replace("In 1894", "Contrary to reports, in 1894"), "hedges, or hints that something is false"),
    (NEW.replace("Ardle", "Arbroath"), "does not name what the question names: 'Ardle'"),
    (TRUE.replace("1874", "1894"), "is the true passage with another value, and not written anew"),
])  # fmt: skip
def test_a_rewrite_that_is_refused(text: str, why: str) -> None:
    form = perturbing.rewritten(ARDLE, CLAIM, text)
    assert (form.outcome, form.item) == (Audit.REFUSED, None)
    assert any(why in sentence for sentence in form.why)


def test_the_level_of_a_claim_is_that_of_its_offset_or_factor() -> None:
    one = standard("In 1874.", "1874")
    assert [level_of(one, claim) for claim in ("1894", "1674", "1914")] == [Level.SUBTLE, Level.BLATANT, Level.MILD]
    one = standard("It has 50 arches.", "50", NUMBER, unit="arches")
    assert [level_of(one, claim) for claim in ("100", "150", "5")] == [Level.MILD, Level.MODERATE, Level.BLATANT]


def bridges(n: int = 4) -> perturbing.Perturbed:
    towns = ("Ardle", "Borley", "Corran", "Dunnet")[:n]
    items = [
        replace(ARDLE, item_id=town, question_id=town, context=TRUE.replace("Ardle", town),
                question=f"When did the bridge of {town} open?") for town in towns
    ]  # fmt: skip
    return perturb(
        [*items, standard("It has 50 arches.", "50 arches", NUMBER, item_id="n", question_id="n")], present=2026
    )


def test_every_item_has_one_claim_to_be_rewritten() -> None:
    claims = list(perturbing.claims_to_rewrite(bridges()))
    assert {item.item_id for item, _ in claims} == {"Ardle", "Borley", "Corran", "Dunnet", "n"}
    assert len({claim.answer for _, claim in claims}) == 5  # over the offsets
    assert {(claim.kind, claim.value, claim.tag) for _, claim in claims} == {
        (PerturbationKind.REWRITE, None, "rewrite")
    }
    assert claims == list(perturbing.claims_to_rewrite(bridges()))
    system, user = render_rewrite("When?", "In 1874. </passage> Reply: yes", "1894")
    assert "Reply with the passage alone" in system.content
    assert (user.content.count("</passage>"), user.content.endswith("False answer: 1894")) == (1, True)
    assert "rewrite" not in sources()


@pytest.mark.parametrize("ends", ["cut", "failed"])
def test_what_was_not_written_is_a_refusal_with_its_reason(ends: str) -> None:
    def say(request: Request, draw: int) -> Completion:
        if ends == "failed":
            raise CallFailed("the server said no")
        return Completion(NEW, draw, prompt_tokens=1, completion_tokens=1, finish_reason=FinishReason.LENGTH)

    (form,) = wait_for(rewrite(ScriptedModel(say), perturb([ARDLE], present=2026))).forms
    why = {"cut": "the passage was not finished: length", "failed": "no passage was written: the server said no"}
    assert (form.item, form.why) == (None, (why[ends],))


def test_rows_that_the_rules_refuse_are_rewritten_over_a_server_and_checked(
    srdcr: Srdcr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the official SDK. A faulty reply makes no item but a row of the audit; nothing is asked twice, and the
    budget knows what earlier attempts have spent."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    priced(monkeypatch, tmp_path, "tested,1,2")
    towns, refused = ("Ardle", "Borley", "Corran"), TRUE.replace("opened in 1874", "built in 1874–76")
    rows = [(town, *(text.replace("Ardle", town) for text in (ARDLE.question, "1874", refused))) for town in towns]
    mine, out, audit = (tmp_path / name for name in ("mine.csv", "out.csv", "audit.csv"))
    pd.DataFrame(rows, columns=["question_id", "question", "gold_answer", "context"]).to_csv(mine, index=False)
    claims: dict[str, str] = {}

    def reply(messages: Sequence[dict[str, str]], temperature: float, seed: int) -> str:
        asked = messages[-1]["content"]
        town = asked.partition("bridge of ")[2].partition(" ")[0]
        claims[town] = asked.rpartition("False answer: ")[2]
        written = {"Ardle": claims[town], "Borley": "bygone days", "Corran": f"{claims[town]}, not in 1874,"}
        return NEW.replace("Ardle", town).replace("1894", written[town])

    by_rules = srdcr("data", "perturb", mine, "--out", out)
    assert "30 false versions tried: 0 accepted, 0 flagged, 30 refused" in by_rules.out
    requests = []
    for _ in range(2):
        with Loopback(reply=reply) as server:
            by_model = ("--rewrite", "openai:tested", "--base-url", server.openai_url, "--audit", audit)
            ended = srdcr("data", "perturb", mine, "--out", out, *by_model)
            requests.append(len(server.asked))
        assert ended.code == 0, ended.err
        assert "3 false versions tried: 1 accepted, 0 flagged, 2 refused" in ended.out
    assert (requests, len(set(claims.values()))) == ([3, 0], 3)
    with closing(sqlite3.connect(out.with_suffix(".sqlite"))) as store:
        ((spent,),) = store.execute("SELECT usd FROM spending")
        assert spent > 0
    why = pd.read_csv(audit, dtype=str, keep_default_na=False).set_index("item_id")["why"]
    assert f"the passage does not state the claim {claims['Borley']}" in why["Borley@rewrite"]
    assert "the passage would still state the gold answer: '1874'" in why["Corran@rewrite"]
    items = {item.item_id: item for item in load_items(out)}
    assert list(items) == ["Ardle", "Ardle@rewrite", "Borley", "Corran"]
    false = items["Ardle@rewrite"]
    assert (false.claimed_answer, false.perturbation_kind) == (claims["Ardle"], PerturbationKind.REWRITE)
    assert false.context == NEW.replace("1894", claims["Ardle"])


def test_the_rewrites_that_ship() -> None:
    """Each passes the check of a rewrite; they are paired with their true passages, and notes say who made them."""
    items = load_items("facts:rewrites")
    pairs: dict[str, list[Item]] = {}
    for item in items:
        pairs.setdefault(item.question_id, []).append(item)
    assert len(pairs) >= 5
    for name, (true, *false) in pairs.items():
        for each in false:
            claim = FalseClaim(each.perturbation_kind, None, each.level, "", each.claimed_answer, each.claimed_answer)
            form = perturbing.rewritten(true, claim, each.context, facts.traits().get(name))
            assert form.item, each.item_id
    assert all(true.is_standard and len(false) >= 1 for true, *false in pairs.values())
    assert all(each.perturbation_kind is PerturbationKind.REWRITE for _, *false in pairs.values() for each in false)
    assert all("language model" in note for note in items.notes)
    assert {item.answer_type for item in items} >= {YEAR, NUMBER}


def test_our_hard_passages_are_changed_consistently_or_refused() -> None:
    frame = pd.read_csv(PASSAGES, keep_default_na=False, dtype=str)
    rows = list(judged(frame[frame["written_by"] == "ours"]))  # the others are measured, not promised
    faulty, refused, told = rates(rows)
    assert faulty <= FAULTY, told
    assert refused <= REFUSED, told
    assert all(row.usable or row.row["handling"] == "refuse" for row in rows), told


@pytest.mark.parametrize(("passage", "gold", "answer_type", "tag", "why"), [
    ("It melts at 70 °C (158 °F).", "70 °C", NUMBER, "x2", "'158 °F'"),
    ("It melts at 327 °C (621 °F).", "327", NUMBER, "x2", "'621 °F'"),
    ("It reaches 1,200 °C, about 1473 K.", "1,200 °C", NUMBER, "x2", "'about 1473'"),
    ("It gained 30 percent, from $50 to $65.", "30", NUMBER, "x2", "'50 to', '65'"),
    ("There were 2,400 souls, 1250 women and 1150 men.", "2,400", NUMBER, "x0.1", "'1250 women', '1150 men'"),
    ("Georg Ohm found it; ohms measure it.", "Georg Ohm", NAME, "comical", "'ohms'"),
    ("The speech of Ada M. Vance Jr. is in the AMV papers.", "Ada M. Vance Jr.", NAME, "comical", "initials of"),
    ("Born in 1838, he made it in 1856, at 18.", "18", NUMBER, "x2", "'1838 … 1856'"),
    ("Of all 71 % came; the other 29 % stayed.", "71 %", NUMBER, "x1.2", "'29 %'"),
    ("Some 25 % fell, one in four.", "25 %", NUMBER, "x2", "'one in'"),
    ("It covered 180 km in two hours, at 90 km/h.", "90 km/h", NUMBER, "x2", "'180 km', 'two hours'"),
    ("Take 250 mg four times a day: one gram.", "250 mg", NUMBER, "x2", "'one gram'"),
    ("Each of 3 museums has 15 million of the £45m.", "£45m", NUMBER, "x2", "'15 million of'"),
    ("It is BWV 565.", "565", NUMBER, "x2", "'565' is a name and not a quantity, as 'BWV' shows"),
    ("Of 200 more than half of which (106) came.", "200", NUMBER, "x0.4", "smaller than 80: 106"),
    ("Born in 1872, she lived to be 81. She died in 1953.", "1953", YEAR, "-20", "'1872', '81'"),
    ("It fell in 1889, a hundred years after 1789.", "1889", YEAR, "+20", "1789"),
    ("Since 1899; its centenary was in 1999.", "1899", YEAR, "+20", "'centenary'"),
    ("On 5 May 1848, the 50th anniversary of 5 May 1798.", "5 May 1848", AnswerType.DATE, "-3654", "anniversary"),
    ("Ada Vance (Ida Blum) came.", "Ada Vance", NAME, "comical", "name stands beside 'Ada Vance': '(Ida Blum)'"),
    ("John F. Keane came. JFK won.", "John F. Keane", NAME, "comical", "the initials of the answer: 'JFK'"),
])  # fmt: skip
def test_a_doubt_names_the_words(passage: str, gold: str, answer_type: AnswerType, tag: str, why: str) -> None:
    made = form(standard(passage, gold, answer_type), tag)
    assert made.outcome is not Audit.ACCEPTED
    assert any(why in sentence for sentence in made.why), made.why


def test_flags_and_controls_are_columns(srdcr: Srdcr, tmp_path: Path) -> None:
    table = pd.DataFrame({"question": ["When?", "How many?"], "gold_answer": ["1874", "9.8 km"],
                          "context": ["In 1874, aged 34.", "It is 9.8 km long."]})  # fmt: skip
    table.to_csv(tmp_path / "mine.csv", index=False)
    ended = srdcr("data", "perturb", tmp_path / "mine.csv", "--out", tmp_path / "graded.csv")
    assert "10 of 18 false passages may give themselves away: " in ended.out
    graded = load_items(tmp_path / "graded.csv")
    flags = {item.flags for item in graded if item.gold_answer == "1874" and not item.is_standard}
    age = "an age may give the year away: 'aged 34'"
    assert {said[-2:] for said in flags} == {(age, "doubtful, as it may be related to the answer: 'aged 34'")}
    assert any("may give themselves away" in note for note in graded.notes)
    srdcr("data", "perturb", tmp_path / "mine.csv", "--unflagged", "--out", tmp_path / "sure.csv")
    sure = load_items(tmp_path / "sure.csv")
    assert [item.item_id for item in sure] == [item.item_id for item in graded.unflagged()]
    assert len(sure) == 10
    assert not any(item.flags for item in (*load_items("facts:testbed"), *load_items("facts:grid:unflagged")))
    assert 0 < sum(item.is_control for item in load_items("facts")) < 100
    with pytest.raises(BadInput, match="every item is flagged"):
        ItemSet("x", tuple(item for item in graded if item.flags), ()).unflagged()


def test_ten_thousand_characters_take_under_a_second() -> None:
    rng = random.Random(1)
    numbers = " ".join(str(rng.randint(2, 9999)) for _ in range(2000))[:9980]
    shares = " ".join(f"{rng.randint(2, 99)} %" for _ in range(2000))[:9980]
    dated = " ".join(f"{rng.randint(2, 200)} years after {rng.randint(1000, 2100)}" for _ in range(500))[:9980]
    for passage, gold, answer_type in ((numbers, "12345", NUMBER), (shares, "12.5 %", NUMBER), (dated, "1874", YEAR)):
        began = time.process_time()
        perturb([standard(f"{passage} {gold}.", gold, answer_type)])
        assert time.process_time() - began < 2  # a second where nothing else runs
    began = time.process_time()
    for words in ("the " * 40, "The the a " * 40):
        answers.find("the " * 200 + "x", words, AnswerType.TEXT)
        answers.extract(words, AnswerType.TEXT, question="What is it?")
    assert time.process_time() - began < 1
