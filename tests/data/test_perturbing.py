"""Perturbations worked by hand: what is exchanged, flagged and refused, and with which sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srdcr_lab.answers.dates import SIGNED_YEAR_OFFSETS
from srdcr_lab.answers.kinds import Outcome, Traits
from srdcr_lab.data import load_items, perturb
from srdcr_lab.data.facts import traits
from srdcr_lab.data.forms import contradictions
from srdcr_lab.records import AnswerType, BadInput, Document, Level
from tests.lies import CITY, NAME, NAMES, NUMBER, TEXT, YEAR, form, lie, standard
from tests.scripted import item

DERIVED = "a word derived from the answer stands in the passage: 'curies'"
SHARED = "another person may share the surname: 'Pierre and Marie Curie came.'"


# -- mentions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "gold", "unit", "tag", "expected"),
    [
        ("In 1874 (AD 1874, eighteen seventy-four) it opened.", "1874", "", "+20",
         "In 1894 (AD 1894, eighteen ninety-four) it opened."),
        ("1,250 men, 1250 men, twelve hundred and fifty men.", "1250", "men", "x2",
         "2,500 men, 2500 men, twenty-five hundred men."),
        ("An 8.90-metre jump; a jump of 8.9 metres.", "8.90", "metres", "x1.2",
         "A 10.68-metre jump; a jump of 10.68 metres."),
        ("A dose of 5 mg in 30 min for 30 men.", "5", "mg", "x3", "A dose of 15 mg in 30 min for 30 men."),
        ("Twelve men came.", "12", "men", "x2", "Twenty-four men came."),
    ],
)  # fmt: skip
def test_every_mention_changes_in_its_own_style(passage: str, gold: str, unit: str, tag: str, expected: str) -> None:
    answer_type = YEAR if tag[0] in "+-" else NUMBER
    assert lie(standard(passage, gold, answer_type, unit=unit), tag) == expected


def test_a_person_by_every_name() -> None:
    passage = "Dr. Marie Curie came. CURIE spoke. M. Curie's work won; “Curie, Marie” it says."
    made = form(standard(passage, "Marie Curie", NAME), "comical")
    given, family = made.claim.answer.rsplit(" ", 1)
    assert made.item.context == (
        f"Dr. {given} {family} came. {family.upper()} spoke. {given[0]}. {family}'s work won; "
        f"“{family}, {given}” it says."
    )


def test_a_small_particle_gets_its_capital_at_the_head_of_a_sentence() -> None:
    one = standard("Marie Curie came. Curie spoke, and Curie won.", "Marie Curie", NAME)
    pool = ("Ruth de Mestral", "Anna de Vries", "Anne de Bont", "Ella de Kooning", "Rosa de Nijs")
    family = form(one, "significant", pool).claim.answer.partition(" ")[2]
    assert lie(one, "significant", pool).endswith(f"D{family[1:]} spoke, and {family} won.")


@pytest.mark.parametrize(
    ("passage", "gold", "answer_type", "why"),
    [
        ("In 1914–18 there was war.", "1918", YEAR, "a range with a short end is not taken apart"),
        ("In 1914–18 there was war.", "1914", YEAR, "a range with a short end is not taken apart"),
        ("Built in 1874, a child of the 1870s.", "1874", YEAR, "the passage names the decade: '1870s'"),
        ("Built in 1874, in '74 that is.", "1874", YEAR, 'the passage has the year in short: "\'74"'),
        ("Built in 1874 (MDCCCLXXIV).", "1874", YEAR, "the year in Roman numerals: 'MDCCCLXXIV'"),
        ("Marie Curie met the Joliot-Curies and Irène Joliot-Curie.", "Marie Curie", NAME, "another person's"),
        ("York, not New York.", "York", CITY, "the answer is part of another name: 'York, not New York.'"),
        ("They won 30–10.", "30", NUMBER, "'30' stands in a range or a score"),
        ("Give 10 to 20 mg.", "20", NUMBER, "'20' stands in a range or a score"),
        ("It lost two-thirds of its people.", "two", NUMBER, "'two' belongs to a fraction"),
        ("It opened long ago.", "1874", YEAR, "the passage does not state the answer 1874"),
        ("It opened in 1874. " * 101, "1874", YEAR, "the passage states the answer 1874 more than 100 times"),
        ("In the 3rd century.", "300", YEAR, "the passage does not state the answer 300"),
        ("Marie Curie met Pierre Curie.", "Marie Curie", NAME, "the surname may be another person's"),
        ("Marie Curie came; the Curie Institute stands.", "Marie Curie", NAME, "the answer stands in a longer name"),
        (
            "In Paris the Parisians came.",
            "Paris",
            CITY,
            "",  # its letters stand inside another word, or no other city is nearly it
        ),
        ("On 12 May there were 12 states.", "12", NUMBER, "'12' may belong to a date"),
        ("The 98 km (60.9 miles) are long.", "98 km", NUMBER, "the same quantity in another unit: 60.9 mi"),
        ("Up to 30 million US gallons, or 110,000 m³, of oil.", "110,000 m³", NUMBER, "another unit: 30 million gal"),
        ("Some 500 million square feet (46.5 million m²).", "46.5 million m²", NUMBER, "unit: 500 million ft²"),
        ("Of 12 states, 12 men spoke.", "12", NUMBER, "12 stands 2 times, and may count different things"),
    ],
)
def test_refused(passage: str, gold: str, answer_type: AnswerType, why: str) -> None:
    found = perturb([standard(passage, gold, answer_type)], pool=NAMES)
    assert {made.outcome for made in found.forms} == {Outcome.REFUSED}
    assert all(any(why in sentence for sentence in made.why) for made in found.forms)
    assert len(found.items) == 1  # the standard one stays


def test_the_stop_of_junior_goes_with_him_and_the_end_of_a_sentence_stays() -> None:
    """F 5: a stray full stop after "Jr."."""
    passage = (
        "Martin Luther King Jr. was born there. All met Martin Luther King Jr. He spoke, Martin Luther King, Jr.'s way."
    )
    new = form(standard(passage, "Martin Luther King Jr.", NAME), "comical").claim.answer
    assert lie(standard(passage, "Martin Luther King Jr.", NAME), "comical") == (
        f"{new} was born there. All met {new}. He spoke, {new}'s way."
    )


def test_a_sentence_end_before_a_surname_is_no_first_name() -> None:
    """F 5: "in May. Ribault" was refused as another person's surname; "Wm. Ribault" is one."""
    assert form(standard("Jean Ribault sailed in May. Ribault won.", "Jean Ribault", NAME), "comical").item is not None
    assert form(standard("Jean Ribault sailed with Wm. Ribault.", "Jean Ribault", NAME), "comical").item is None


@pytest.mark.parametrize(
    ("passage", "gold", "answer_type", "tag", "why"),
    [
        ("Henry Ford built it. Fordism began.", "Henry Ford", NAME, "comical", "derived from the answer"),
        ("Florence is old. A Florentine painted.", "Florence", CITY, "comical", "derived from the answer"),
        ("It has 5,000 people, 12 per square mile.", "5000", NUMBER, "x2", "a density may depend on the number"),
        ("It has 5,000 people at a density of 9/km².", "5000", NUMBER, "x2", "a density may depend on the number"),
        ("It has 5,000 people in 2,100 households.", "5000", NUMBER, "x2", "a part of it may depend on the number"),
        ("It has 5,000 people, almost twice as many as then.", "5000", NUMBER, "x2", "a multiple may depend"),
        ("Born in Rome, she won in 1874 when she was 21.", "1874", YEAR, "+20", "an age may give the year away"),
    ],
    ids=lambda value: f"F 5: {value}",
)  # fmt: skip
def test_what_depends_on_the_answer_and_stays_is_flagged(
    passage: str, gold: str, answer_type: AnswerType, tag: str, why: str
) -> None:
    made = form(standard(passage, gold, answer_type, unit="people" if answer_type is NUMBER else ""), tag)
    assert made.outcome is Outcome.FLAGGED
    assert any(why in sentence for sentence in made.why)


def test_an_article_before_a_year_follows_how_it_is_spoken() -> None:
    assert lie(standard("A 1783 treaty and an 1889 one.", "1783"), "+20") == "An 1803 treaty and an 1889 one."
    assert lie(standard("An 1803 treaty.", "1803"), "-20") == "A 1783 treaty."


def test_a_number_without_its_unit_beside_another_is_refused() -> None:
    made = form(standard("There were 12 states and 12 flags.", "12", NUMBER, unit="states"), "x2")
    assert made.why == ("'12' stands without its unit and may count something else: 'ere 12 states and 12 flags.'",)


def test_an_alias_that_says_it_in_another_unit_is_refused() -> None:
    one = standard("Take 1.5 mg (1500 micrograms).", "1.5", NUMBER, unit="mg", aliases=("1500 micrograms",))
    assert "an alias states another number: 'Take 1.5 mg (1500 micrograms).'" in form(one, "x2").why


@pytest.mark.parametrize(
    ("passage", "gold", "tag", "why"),
    [
        ("In 1881 it was shown. It was rare in the 1890s.", "1881", "+20", "past another year of the passage: '1890s'"),
        ("Jochi (1185–1226) led them.", "1226", "+100", "a lifetime from the claim: 1185"),
        ("Of all 40% came, as 30% had not.", "40%", "x0.8", "a share in the same sentence"),
        ("He had 80 g. The most was 12 g, they say.", "80 g", "x0.1", "past another number of the passage: 12"),
        ("It won six prizes: gold, silver, bronze, tin, lead and iron.", "six", "x2", "a list in its sentence"),
        ("Seven sacks. He had five tackles and two fumbles.", "seven", "x2", "two other numbers add up to it: two"),
    ],
)
def test_what_a_passage_only_implies_is_flagged(passage: str, gold: str, tag: str, why: str) -> None:
    made = form(standard(passage, gold, YEAR if tag[0] in "+-" else NUMBER), tag)
    assert made.outcome is Outcome.FLAGGED
    assert any(why in sentence for sentence in made.why), made.why


def test_a_speed_without_a_unit_of_its_own_has_that_of_its_passage() -> None:
    made = form(standard("It ran 90 kilometres per hour (56 mph).", "90", NUMBER), "x1.5")
    assert made.why[0].startswith("the passage states the same quantity in another unit: 56 mph")


@pytest.mark.parametrize(
    ("passage", "level"), [("In 100% oxygen it burnt.", Level.ABSURD), ("Prices were up 100%.", Level.MILD)]
)
def test_a_share_is_no_more_than_the_whole(passage: str, level: Level) -> None:
    assert form(standard(passage, "100%", NUMBER, unit="%"), "x2").claim.level is level


@pytest.mark.parametrize(
    ("passage", "gold", "tag"),
    [
        ("It opened in 1881. Plague was rife in the 19th century.", "1881", "+20"),
        ("It was sold in 1981 to 20th Century Fox.", "1981", "-100"),
        ("Up 10% from 2013, they said.", "10%", "x0.8"),
        ("It will be the largest by 2050.", "2050", "-20"),
    ],
)
def test_what_does_not_speak_against_a_claim_is_no_refusal(passage: str, gold: str, tag: str) -> None:
    assert form(standard(passage, gold, YEAR if tag[0] in "+-" else NUMBER), tag).item is not None


def test_the_year_of_an_event_is_no_count() -> None:
    made = form(standard("At the 1996 General Conference it ended.", "1996", NUMBER), "x2")
    assert "may belong to a date" in made.why[0]


def test_a_possessive_is_written_as_the_new_name_takes_it() -> None:
    for passage, expected in (
        ("Nantes' old streets.", "{}'s old streets."),
        ("'In Nantes' he said.", "'In {}' he said."),
    ):
        one = standard(passage, "Nantes", CITY)
        for made in perturb([one], pool=("Rouen", "Reims", "Lyon", "Dijon", "Toulon")).forms:
            if made.item is not None and not made.claim.answer.endswith("s"):
                assert made.item.context == expected.format(made.claim.answer)
                break
        else:
            pytest.fail("no form was made")


def test_a_range_is_not_turned_round() -> None:
    one = standard("It ran 1874–1904.", "1874")
    assert form(one, "+20").item is not None
    assert form(one, "+40").why == ("the range would run backwards: 'It ran 1874–1904.'",)


# -- dependent statements --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "gold", "answer_type", "why"),
    [
        ("In 1874, aged 34, he did it.", "1874", YEAR, "an age may give the year away: 'aged 34'"),
        ("Built in 1874, it stood thirty years.", "1874", YEAR, "a duration may give the year away: 'thirty years'"),
        ("Built in 1874; a century later it fell.", "1874", YEAR, "a duration may give the year away: 'a century'"),
        ("1874 was marked by its centenary.", "1874", YEAR, "an anniversary may give the year away: 'centenary'"),
        ("On Friday 13 May 1874.", "1874", YEAR, "a weekday may give the year away: 'Friday'"),
        ("In 1874. He was born in 1840.", "1874", YEAR, "the claim is moved past another year of the passage: 1840"),
        ("In 1874; in 1875 it fell.", "1874", YEAR, "another year of the passage is close to the truth: 1875"),
        ("The 98 km (60 min) are long.", "98 km", NUMBER,
         "a second figure stands in brackets behind it: 'km (60 min)'"),
        ("1,250 men, 51% of us, fell.", "1,250", NUMBER,
         "a share in the same sentence may give the number away: '51%'"),
        ("Of 1,250 men, 1,245 came.", "1,250", NUMBER, "a number close to it stands in the passage: 1,245"),
        ("Marie Curie came; Marie won.", "Marie Curie", NAME, "the given name stands by itself: 'marie'"),
        ("Pierre and Marie Curie came.", "Marie Curie", NAME, SHARED),
        ("Of 1,250 men the 1,250th won.", "1,250", NUMBER, "the number stands there as an ordinal: '1,250th'"),
        ("She, Curie, came.", "Marie Curie", NAME, "the passage has the surname alone"),
        ("Marie Curie, of the Curies.", "Marie Curie", NAME, DERIVED),
        ("The Basel Zoo is old.", "Basel", CITY, "the answer stands in a longer name: 'The Basel Zoo is old.'"),
    ],
)  # fmt: skip
def test_flagged(passage: str, gold: str, answer_type: AnswerType, why: str) -> None:
    tag = {YEAR: "-150", NUMBER: "x2"}.get(answer_type, "comical")
    made = form(standard(passage, gold, answer_type), tag)
    assert (made.outcome, made.why) == (Outcome.FLAGGED, (why,))


@pytest.mark.parametrize(
    ("passage", "gold", "tag", "why"),
    [
        ("In 1874, late in the 19th century.", "1874", "-150", "the passage names the century: '19th century'"),
        ("On 29 February 1872.", "1872", "-150", "29 February does not exist in 1722"),
        ("In 1874; he was born in 1840.", "1874", "-150", "the claim is moved past another year of the passage: 1840"),
        ("Of 1,250 men half fell, 625.", "1,250", "x2", "a share or a multiple gives the number away: 'half' and 625"),
        ("1,250 came: 800 men, 450 boys.", "1,250", "x2", "two other numbers add up to it: 450 and 800"),
        ("The 800 men and 450 boys made 1,250.", "800", "x2", "with another number it adds up to a third: 450"),
        ("She won 15 medals, eight of them gold.", "15 medals", "x0.4", "that must be smaller than 6 medals: eight"),
        ("She won 15 medals, eight of them gold.", "eight", "x2", "a number that must be greater than sixteen: 15"),
        ("It has 1,294 people, down from 1,418.", "1,294", "x2", "a number that must be greater than 2,588: 1,418"),
        ("Seven men came.", "seven", "x1.2", "rounding to the precision of seven makes the factor 1.14"),
        ("Five men came.", "five", "x0.2", "one is singular: verbs and nouns would disagree"),
    ],
)  # fmt: skip
def test_what_contradicts_its_own_passage_is_refused(passage: str, gold: str, tag: str, why: str) -> None:
    """E: 27 forms contradicted their passage, 14 of them unflagged; a factor was rounded from 0.2 to 0.25."""
    made = form(standard(passage, gold, YEAR if tag[0] in "+-" else NUMBER), tag)
    assert made.item is None
    assert any(why in sentence for sentence in made.why)


def test_a_part_that_still_fits_its_whole_is_flagged() -> None:
    made = form(standard("She won 15 medals, eight of them gold.", "15 medals", NUMBER), "x2")
    assert (made.outcome, made.why) == (Outcome.FLAGGED, ("a part or a whole of it stays as it is: eight",))


@pytest.mark.parametrize(
    ("question", "gold", "unit", "absurd"),
    [
        ("In what time did she run the 400 metres?", "47.60", "seconds", {0.1, 0.2, 0.4, 0.8, 1.5, 2, 3, 5, 10}),
        ("How many kilograms was the clean and jerk?", "263.5", "kilograms", {0.1, 0.2, 0.4, 1.2, 1.5, 2, 3, 5, 10}),
        ("What share of the votes was it?", "51", "%", {2, 3, 5, 10}),
        ("How many stones did he lift?", "51", "stones", set[float]()),
        ("How far, in metres, did he throw the hammer?", "210", "metres", set[float]()),  # the truth is beyond it too
    ],
)
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


def test_the_shipped_facts_have_limits_of_their_own() -> None:
    known = traits()["news-mayflower-passengers"]
    (false,) = (each for each in load_items("facts:grid") if each.item_id == "news-mayflower-passengers@x5")
    assert (known.at_most, false.level) == (210, Level.ABSURD)
    said = contradictions(replace(false, level=Level.BLATANT), known)
    assert said == ["beyond what is possible: at most 210, and it is 510"]


@pytest.mark.parametrize(
    ("passage", "gold", "tag", "why"),
    [
        ("In 1985 a helicopter came.", "1985", "-100", "an anachronism in 1885: 'helicopter'"),
        ("In 1957 the Soviet Union sent it up.", "1957", "+40", "an anachronism in 1997: 'Soviet'"),
        ("In 1957 the Soviet Union sent it up.", "1957", "+20", ""),
        ("In 1857 the Soviets' town was built.", "1857", "-60", ""),  # the true year is outside the row itself
        ("President F. W. de Klerk came in 1990.", "1990", "-100", "President F. did not live in both years"),
        ("Elizabeth I came in 1588.", "1588", "-100", "Elizabeth I did not live in both years"),
        ("Elizabeth I came in 1588.", "1588", "-60", ""),
        ("The General Assembly met in 1946.", "1946", "-100", ""),
        ("After World War II they met in 1949.", "1949", "-100", "an anachronism in 1849: 'World War'"),
        ("In Super Bowl V, in 1971, he played.", "1971", "-100", ""),
    ],
)  # fmt: skip
def test_an_anachronism_is_absurd_and_a_ruler_of_another_century_flagged(
    passage: str, gold: str, tag: str, why: str
) -> None:
    """A helicopter in 1785, the Soviet Union in 2017."""
    made = form(standard(passage, gold, YEAR), tag)
    assert made.item is not None
    assert "; ".join(made.why) == why
    assert (made.claim.level is Level.ABSURD) is why.startswith("an anachronism")
    if made.claim.level is Level.ABSURD:  # whoever writes such a passage and calls it anything else is told
        assert contradictions(made.item) == []
        assert contradictions(replace(made.item, level=Level.MILD)) == [why]


@pytest.mark.parametrize(
    ("passage", "gold", "unit", "tag", "outcome"),
    [
        ("At the referendum 98.8 per cent said yes.", "98.8", "per cent", "x0.4", Outcome.REFUSED),
        ("At the referendum 98.8 per cent said yes.", "98.8", "per cent", "x0.8", Outcome.ACCEPTED),
        ("Of the milk 98.8 per cent was sold.", "98.8", "per cent", "x0.4", Outcome.ACCEPTED),
        ("They won 45 seats.", "45", "seats", "x0.4", Outcome.FLAGGED),
        ("They won 45 seats.", "45", "seats", "x0.8", Outcome.ACCEPTED),
        ("They had 45 seats.", "45", "seats", "x0.4", Outcome.ACCEPTED),
    ],
)
def test_a_vote_is_not_turned_round(passage: str, gold: str, unit: str, tag: str, outcome: Outcome) -> None:
    """39.53 per cent for secession, and drums are beaten."""
    assert form(standard(passage, gold, NUMBER, unit=unit), tag).outcome is outcome


@pytest.mark.parametrize(
    ("gold", "accepted", "tag", "why"),
    [
        ("400", ("400..800",), "x1.5", "the claim 600 counts as right, as the column accepted says"),
        ("400", ("600",), "x1.5", "the claim 600 counts as right, as the column accepted says"),
        ("400", ("700..800",), "x1.5", ""),
        ("1874", ("1894",), "+20", "the claim 1894 counts as right, as the column accepted says"),
    ],
)
def test_an_accepted_value_is_no_claim(gold: str, accepted: tuple[str, ...], tag: str, why: str) -> None:
    """E: ten times the folic acid is a real dose."""
    kind = YEAR if tag[0] == "+" else NUMBER
    assert "; ".join(form(standard(f"It was {gold} then.", gold, kind, accepted=accepted), tag).why) == why


def test_a_multiple_that_no_number_goes_with_is_no_flag() -> None:
    assert form(standard("Give 6 mg; if need be, twice that.", "6 mg", NUMBER), "x2").outcome is Outcome.ACCEPTED


def test_a_century_that_the_claim_lies_in_too_is_no_flag() -> None:
    assert form(standard("In 1874, late in the 19th century.", "1874"), "-20").outcome is Outcome.ACCEPTED


# -- other scripts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "gold", "answer_type", "tag", "expected"),
    [
        ("افتتح الجسر عام ١٨٧٤ في المدينة.", "1874", YEAR, "+20", "افتتح الجسر عام ١٨٩٤ في المدينة."),
        ("נפתח בשנת 1874.", "1874", YEAR, "+20", "נפתח בשנת 1894."),
        ("橋は1874年に開通した。", "1874", YEAR, "-60", "橋は1814年に開通した。"),
        ("पुल १,२५० मीटर लंबा है।", "1250", NUMBER, "x2", "पुल २,५०० मीटर लंबा है।"),
    ],
)
def test_other_scripts(passage: str, gold: str, answer_type: AnswerType, tag: str, expected: str) -> None:
    assert lie(standard(passage, gold, answer_type), tag) == expected


def test_a_city_in_a_script_without_spaces() -> None:
    pool = ("大阪", "京都", "札幌", "神戸", "奈良")
    one = standard("展覧会は東京で開かれた。", "東京", CITY)
    assert lie(one, "significant", pool).replace(form(one, "significant", pool).claim.answer, "東京") == one.context


@pytest.mark.parametrize(
    ("passage", "why"),
    [
        ("In 1874, others say 1899.", ("the passage would still state another gold answer, '1899': '1899'",)),
        ("In 1874.", ()),
    ],
)
def test_a_passage_that_states_another_right_answer_is_refused(passage: str, why: tuple[str, ...]) -> None:
    assert form(standard(passage, "1874", other_gold_answers=("1899",)), "-40").why == why


def test_a_claim_that_is_another_right_answer_is_refused() -> None:
    made = form(standard("In 1874.", "1874", other_gold_answers=("1894",)), "+20")
    assert made.why == ("the claim 1894 is another gold answer, '1894'",)


# -- tables ----------------------------------------------------------------------------------------------------------


def test_what_is_left_out_says_why() -> None:
    rows = [
        standard("In the 3rd century.", "3rd century", TEXT, item_id="a", question_id="a"),
        replace(item(1934), item_id="b", question_id="b"),
        standard("In 1874.", "1874", item_id="c", question_id="c"),
        standard("It was 1874.", "1874", item_id="d", question_id="c"),
        standard("In 1874.", "1874", item_id="e", question_id="e", documents=(Document(document_id="1", text="1874"),)),
        standard("", "1874", item_id="f", question_id="f"),
        standard("In 1874.", "1874", item_id="g", question_id="c"),
    ]
    found = perturb(rows)
    assert [(row.item_id, row.why) for row in found.left_out] == [
        ("a", "an answer of type text is not perturbed; year, number, name, city and date are"),
        ("b", "its passage is perturbed already"),
        ("d", "another passage of the question c is perturbed; give each its own question_id"),
        ("e", "it has no single passage"),
        ("f", "it has no single passage"),
        ("g", "its question and passage stand in 'c' already; delete one of the two rows"),
    ]
    assert [form.claim.value for form in found.forms] == list(SIGNED_YEAR_OFFSETS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"offsets": ()}, "offsets are whole years from 1 to 5000"),
        ({"offsets": (0, 20)}, "offsets are whole years from 1 to 5000"),
        ({"factors": (1.0,)}, "factors are numbers from 0.001 to 1000 other than 1"),
        ({"factors": (-2.0,)}, "factors are numbers from 0.001 to 1000 other than 1"),
    ],
)
def test_offsets_and_factors_that_make_no_sense(options: dict[str, tuple[float, ...]], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        perturb([item()], **options)
