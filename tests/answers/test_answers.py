"""The answers floor: worked tables per type. Each row is one spelling and what it must be read as."""

import pytest

from srdcr_lab.answers import (
    contains_anywhere,
    counts_as,
    equal,
    extract,
    extract_option,
    find,
    guess_type,
    infer_unit,
    normalise,
)
from srdcr_lab.records import AnswerType, Item, Option

YEAR, NUMBER, NAME, CITY, TEXT, DATE, YES_NO = map(AnswerType, "year number name city text date yes_no".split())

CANONICAL = {
    (YEAR, ""): [
        ("1874", "1874"), ("1874.", "1874"), ("in 1874", "1874"), ("c. 1066", "1066"), ("ca. 1066", "1066"),
        ("AD 1066", "1066"), ("A.D. 1066", "1066"), ("1066 CE", "1066"), ("1066 A.D.", "1066"), ("476", "476"),
        ("44 BC", "-44"), ("44 B.C.", "-44"), ("44 BCE", "-44"), ("-44", "-44"), ("−44", "-44"),
        ("10,000 BC", "-10000"),
        ("nineteen seventy-four", "1974"), ("eighteen hundred and six", "1806"), ("two thousand and four", "2004"),
        ("twenty twenty-one", "2021"), ("١٩٨٤", "1984"), ("１８７４", "1874"), ("१९४७", "1947"), ("1874年", "1874"),
        ("Answer: 1874", "1874"), ("**1874**", "1874"), ("c.1066", "1066"),
        ("1920s", None), ("3rd century", None), ("the 19th", None), ("1914–1918", None), ("1,874", None), ("0", None),
        ("1874.5", None), ("1500 metres", None), ("", None), ("  \n", None), ("a king", None), ("unknown", None),
        ("$1874", None),
    ],
    (NUMBER, ""): [
        ("1,250", "1250"), ("1250", "1250"), ("1 250", "1250"), ("1\u2009250", "1250"), ("1\u202f250", "1250"),
        ("twelve hundred and fifty", "1250"), ("one thousand two hundred fifty", "1250"), ("a hundred and one", "101"),
        ("١٢٥٠", "1250"), ("١٬٢٥٠", "1250"), ("१२५०", "1250"), ("１，２５０", "1250"), ("1,25,000", None),
        ("1250.50", "1250.5"), ("1,250.50", "1250.5"), ("1.250,50", None), ("1.250.000", None), ("1'250", None),
        ("12,5", "12.5"), ("6:45pm", "6:45 pm"), ("06:45 A.M.", "6:45 am"), ("40:03 AM", "40:03"), ("6:45x", None),
        ("1.250", "1.25"), ("0.1", "0.1"), (".5", "0.5"), ("2½", "2.5"), ("½", "0.5"), ("007", "7"), ("-0.0", "0"),
        ("-5", "-5"), ("−5", "-5"), ("minus five", "-5"), ("(−5)", "-5"), ("-$5", "-5 USD"),
        ("1.5e6", "1500000"), ("3 × 10^8", "300000000"), ("3×10⁸", "300000000"), ("6.02e23", "6" + "02" + "0" * 21),
        ("1.2 million", "1200000"), ("two million", "2000000"), ("$1.2 billion", "1200000000 USD"),
        ("a dozen", "12"), ("about 50,000", "50000"), ("~50", "50"), ("3,559 people", "3559"), ("12%", "12 %"),
        ("12 per cent", "12 %"), ("1" * 61, None),
        ("2:01:39", "2:01:39"), ("02:01:39", "2:01:39"), ("3:1", "3:1"), ("10.5 s", "10.5 s"),
        ("9.58 seconds", "9.58 s"),
        ("1/2", None), ("24/7", None), ("1,2,3", None), ("3.2.1", None), ("3rd", None), ("1920s", None), ("B52", None),
        ("COVID-19", None), ("5 to 10", None), ("5–10", None), ("two and a half", None), ("", None), ("many", None),
        ("I don't know", None),
    ],
    (NUMBER, "mg"): [
        ("5", "5"), ("5 mg", "5"), ("5mg", "5"), ("5 MG", "5"), ("5 milligrams", "5"), ("five milligrams", "5"),
        ("5.0 mg", "5"), ("5 mg daily", "5"), ("5 mg per day", "5"), ("5 tablets", "5"), ("2.5 × 10^1 mg", "25"),
        ("5 g", "5 g"), ("5 µg", "5 mcg"), ("5 μg", "5 mcg"), ("5 mg/kg", "5 mg/kg"), ("5 %", "5 %"),
    ],
    (NAME, ""): [
        ("Marie Curie", "marie curie"), ("MARIE  CURIE.", "marie curie"), ("Dr. Marie Curie", "marie curie"),
        ("Curie, Marie", "marie curie"),
        ("J.R.R. Tolkien", "j. r. r. tolkien"), ("J. R. R. Tolkien", "j. r. r. tolkien"),
        ("JRR Tolkien", "j. r. r. tolkien"),
        ("Sir Isaac Newton", "isaac newton"), ("M. R. James", "m. r. james"), ("Malcolm X", "malcolm x"),
        ("Ada Lovelace (1815–1852)", "ada lovelace"), ("Louis XIV", "louis xiv"),
        ("Martin Luther King, Jr.", "martin luther king jr"), ("Martin Luther King Junior", "martin luther king jr"),
        ("Søren Kierkegaard", "soren kierkegaard"), ("Sinéad O’Connor", "sinead oconnor"),
        ("Jean-Paul Sartre", "jean paul sartre"),
        ("Jonas Salk, M.D.", "jonas salk"), ("老子", "老子"), ("Лев Толстой", "лев толстои"),
        ("It was Marie Curie who did", None), ("?!", None),
    ],
    (CITY, ""): [
        ("St. Louis", "saint louis"), ("Saint Louis", "saint louis"), ("São Paulo", "sao paulo"),
        ("City of London", "london"),
        ("the city of Paris", "paris"), ("Mexico City", "mexico city"), ("Ft. Worth", "fort worth"),
        ("Paris, France", "paris, france"), (",", None),
    ],
    (TEXT, ""): [
        ("The Who", "who"), ("a cat, the hat!", "cat hat"), ("The", "the"), ("Café", "cafe"), ("C++", "c++"),
        ("50%", "50%"), ("42.7 years", "42.7 years"),
        ("May 30, 1994", "may 30 1994"), ("हिन्दी भाषा", "हिन्दी भाषा"), ("«True.»", "true"), ("unknown", None),
        ("the unknown", None), ("…", None),
    ],
    (DATE, ""): [
        ("14 July 1789", "1789-07-14"), ("July 14, 1789", "1789-07-14"), ("1789-07-14", "1789-07-14"),
        ("14th of July 1789", "1789-07-14"), ("the 14th of July, 1789", "1789-07-14"),
        ("July 14th, 1789.", "1789-07-14"), ("July the 14th, 1789", "1789-07-14"), ("14 Jul. 1789", "1789-07-14"),
        ("14-Jul-1789", "1789-07-14"), ("14 JULY 1789", "1789-07-14"), ("july 14 1789", "1789-07-14"),
        ("the fourteenth of July 1789", "1789-07-14"), ("twenty-first of July 1789", "1789-07-21"),
        ("Tuesday, 14 July 1789", "1789-07-14"), ("on Tuesday 14 July 1789", "1789-07-14"),
        ("c. 14 July 1789", "1789-07-14"), ("Answer: 14 July 1789", "1789-07-14"), ("4 Sept 476", "0476-09-04"),
        ("١٤ July ١٧٨٩", "1789-07-14"), ("29 February 1904", "1904-02-29"),
        ("July 1789", None), ("1789", None), ("14 July", None), ("14/7/1789", None), ("14 July 89", None),
        ("31 April 1789", None), ("29 February 1900", None), ("32 July 1789", None), ("15 March 44 BC", None),
        ("14 July 432 BC", None), ("14–16 July 1789", None), ("July 14–16, 1789", None), ("14 or 16 July 1789", None),
        ("14 July 1789 – 26 August 1789", None), ("14 July 1,789", None), ("1789-07-14T12:00", None),
        ("1789-13-14", None), ("14 July 1789 in Paris", None), ("unknown", None), ("", None),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer_type", "unit", "text", "canonical"),
    [(*kind, *case) for kind, cases in CANONICAL.items() for case in cases],
)
def test_an_answer_has_one_canonical_form_or_none(
    answer_type: AnswerType, unit: str, text: str, canonical: str | None
) -> None:
    assert normalise(text, answer_type, unit) == canonical


@pytest.mark.parametrize(("a", "b", "answer_type", "unit", "same"), [
    ("1,250", "1250.0", NUMBER, "", True), ("0.1", "0.10", NUMBER, "", True), ("1250", "1251", NUMBER, "", False),
    ("5 g", "5 mg", NUMBER, "mg", False), ("1 g", "1000 mg", NUMBER, "mg", False), ("5", "5 mg", NUMBER, "", True),
    ("5 g", "5 mg", NUMBER, "", False), ("3559", "3,559 people", NUMBER, "", True),
    ("6:45 pm", "6:45 am", NUMBER, "", False), ("6:45 p.m.", "6:45 PM", NUMBER, "", True),
    ("6:45", "6:45 pm", NUMBER, "", True), ("6:45 am", "6:45 pm", NUMBER, "pm", False),
    ("3,559 residents", "3,559", NUMBER, "people", True), ("3,559 km", "3,559", NUMBER, "people", False),
    ("5 pounds", "5", NUMBER, "lb", True), ("5 pounds", "5", NUMBER, "GBP", True),
    ("5 pounds", "£5", NUMBER, "", True), ("100 degrees", "100", NUMBER, "°F", True),
    ("100 °C", "100", NUMBER, "°F", False), ("44 BC", "44", YEAR, "", False), ("AD 44", "44", YEAR, "", True),
    ("Paris, France", "Paris", CITY, "", True), ("Paris, Texas", "Paris, France", CITY, "", False),
    ("Springfield, Illinois, USA", "Springfield, Illinois", CITY, "", True),
    ("Springfield, Illinois, USA", "Springfield, Missouri, USA", CITY, "", False),
    ("H. Melville", "Herman Melville", NAME, "", True), ("Vincent Willem van Gogh", "Vincent van Gogh", NAME, "", True),
    ("J. Tolkien", "John Ronald Reuel Tolkien", NAME, "", True), ("P. Curie", "Marie Curie", NAME, "", False),
    ("Curie", "Marie Curie", NAME, "", False), ("J. C. Bach", "Johann Sebastian Bach", NAME, "", False),
    ("George H. W. Bush", "George W. Bush", NAME, "", False),
    ("Martin Luther King", "Martin Luther King Jr", NAME, "", False),
    ("Pope John II", "Pope John Paul II", NAME, "", False), ("Louis XIV", "Louis Charles XIV", NAME, "", False),
    ("29 feet 2.5 inches", "350.5 inches", NUMBER, "metres", True), ("", "", TEXT, "", False),
    ("unknown", "unknown", TEXT, "", False), ("14 July 1789", "July 14th, 1789", DATE, "", True),
    ("14 July 1789", "15 July 1789", DATE, "", False), ("July 1789", "July 1789", DATE, "", False),
    ("パリ", "バリ", CITY, "", False), ("ﾊﾟﾘ", "パリ", CITY, "", True), ("மாலை", "மூலை", TEXT, "", False),
    ("П. И. Чайковский", "Пётр Ильич Чайковский", NAME, "", True), ("王 明", "王伟 明", NAME, "", False),
])  # fmt: skip
def test_equality(a: str, b: str, answer_type: AnswerType, unit: str, same: bool) -> None:
    """No unit is converted (an alias may say so), and a unit on one side alone does not disagree."""
    assert equal(a, b, answer_type, unit) is same


@pytest.mark.parametrize(("text", "value"), [
    ("29 ft 2.5 in", "350.5 inch"), ("29 feet, 2 1/2 inches", "350.5 inch"), ("29 feet 2½ inches", "350.5 inch"),
    ("He jumped 29 ft 2½ in then.", "350.5 inch"), ("-6 feet 2 inches", "-74 inch"),
    ("29 feet 2 in 1968", None), ("29 feet and 2 yards", None), ("Nine feet 21 inches", None),
    ("2.5 feet, 2 inches", None),
])  # fmt: skip
def test_feet_and_inches_are_one_length(text: str, value: str | None) -> None:
    assert extract(text, NUMBER) == value


def test_a_city_elsewhere_is_another_one() -> None:
    """Where an alias says what the city lies in."""
    item = Item(
        item_id="a", question_id="a", domain="d", question="Where?", gold_answer="Hamilton", claimed_answer="Hamilton",
        context="", answer_type=CITY, aliases=("Hamilton, Ontario",), accepted=("Hamilton, Canada",),
    )  # fmt: skip
    right = ["Hamilton", "Hamilton, Ontario", "Hamilton, Ontario, Canada", "Hamilton, Canada"]
    assert [name for name in (*right, "Hamilton, Bermuda") if counts_as(name, "Hamilton", item)] == right
    assert not equal("Hamilton, Bermuda", "Hamilton", CITY, aliases=item.aliases)


def test_aliases_and_yes_or_no_are_equal() -> None:
    assert equal("1 g", "1000 mg", NUMBER, "mg", aliases=["1 gram"])
    assert not equal("1000 mg", "2000 mg", NUMBER, "mg", aliases=["1 gram"])
    assert equal("Bombay", "Mumbai", CITY, aliases=["Bombay"])
    assert equal("True", "yes", YES_NO)
    assert equal("No, it is not.", "false", YES_NO)
    assert not equal("yes", "no", YES_NO)
    assert [span.surface for span in find("No, there is no record.", "no", YES_NO)] == ["No"]  # whose tokens are sure
    assert [s.surface for s in find("Mumbai, once Bombay", "Mumbai", CITY, aliases=["Bombay"])] == ["Mumbai", "Bombay"]


@pytest.mark.parametrize(("reply", "answer_type", "answer"), [
    ("1874", YEAR, "1874"), ("It was completed in 1874.", YEAR, "1874"),
    ("It was completed on 12 May 1874.", YEAR, "1874"), ("1874. Yes, 1874!", YEAR, "1874"),
    ("The fire of 476 destroyed it, in 476.", YEAR, "476"), ("Between 1874 and 1875", YEAR, None),
    ("1914–18", YEAR, None), ("1874\n1875", YEAR, None),
    ("1874\n\nIt opened after the fire of 1870.", YEAR, "1874"), ("It has 12 floors", YEAR, None),
    ("Final answer: **1874**.", YEAR, "1874"), ("It burnt in 1870.\nAnswer: 1874", YEAR, "1874"),
    ("Answer: 1874\nAnswer: 1875", YEAR, None), ("I don't know", YEAR, None),
    ("I'm not sure, but possibly 1874", YEAR, None), ("There are 1,250 people.", NUMBER, "1250"),
    ("There are 12 towers and 7 gates.", NUMBER, None), ("It is one of the 12 towers.", NUMBER, "12"),
    ("The answer is Marie Curie.", NAME, "Marie Curie"), ('"Marie Curie"\nShe won twice.', NAME, "Marie Curie"),
    ("It was Marie Curie who discovered it", NAME, "Marie Curie"), ("I cannot answer that.", NAME, None),
    ("Unknown.", NAME, None), ("Paris, France", CITY, "Paris, France"), ("- Paris", CITY, "Paris"),
    ("In Paris", CITY, "Paris"), ("Author: Marie Curie", NAME, "Marie Curie"),
    ("The answer is **Marie Curie**", NAME, "Marie Curie"),
    ("one two three four five six seven eight nine ten eleven", TEXT, None), ("a red door", TEXT, "a red door"),
    ("", TEXT, None), ("北京。我很确定。", CITY, "北京"), ("東京！ そうです。", CITY, "東京！"),
    ("It fell on July 14, 1789.", DATE, "1789-07-14"), ("Final answer: **14 July 1789**.", DATE, "1789-07-14"),
    ("14 July 1789\nThe king was told on 15 July 1789.", DATE, "1789-07-14"),
    ("It fell on 14 July 1789, a Tuesday; 1789-07-14 it was.", DATE, "1789-07-14"),
    ("Between 14 July 1789 and 26 August 1789.", DATE, None), ("From 14 to 16 July 1789.", DATE, None),
    ("In July 1789.", DATE, None), ("I don't know, perhaps 14 July 1789", DATE, None),
])  # fmt: skip
def test_extraction_is_strict(reply: str, answer_type: AnswerType, answer: str | None) -> None:
    assert extract(reply, answer_type) == answer


@pytest.mark.parametrize(("reply", "answer"), [
    ("Yes", "yes"), ("no.", "no"), ("**No**", "no"), ("True", "yes"), ("FALSE.", "no"), ("Yes it is.", "yes"),
    ("No, there is no record of it.", "no"), ("Yes: the tower is of 1500. There is no doubt.", "yes"),
    ("The answer is yes.", "yes"), ("One is of 1500.\nAnswer: no", "no"), ("<think>No.</think>Yes", "yes"),
    ("Is the tower the older one? No.", "no"), ("The tower is of 1500. So, yes.", "yes"),
    ("There is no record of it.", None), ("No one knows.", None), ("No. 5 is the older one.", None),
    ("Not true.", None), ("yes or no", None), ("Yes and no.", None), ("Yes. Actually, no.", None),
    ("Answer: yes\nAnswer: no", None), ("I don't know. Yes?", None), ("Is it yes, no, or unknown?", None), ("", None),
])  # fmt: skip
def test_yes_or_no_is_read_where_it_is_the_answer(reply: str, answer: str | None) -> None:
    assert extract(reply, YES_NO, question="Is the tower older than the bridge?") == answer


def test_the_unit_asked_for_picks_among_numbers() -> None:
    assert extract("Adults take 500 mg every 6 hours.", NUMBER, "mg") == "500"
    assert extract("As of 2010 there were 3,559 people.", NUMBER, "people") == "3559"
    assert extract("It is 5 mg, given on day 3.", NUMBER, "mg") == "5"
    for unit, *several in (("mg", "500 mg or 250 mg every 6 hours", "5-10 mg", "5 to 10 mg"), ("kg", "5 kg 300 g"),
                           ("min", "1 minute 40.91 seconds"), ("hours", "2 hours and 15 minutes")):  # fmt: skip
        assert {extract(said, NUMBER, unit) for said in several} == {None}
    units = {"5 milligrams": ("5", "mg"), "3,559 people": ("3559", "people"), "12": ("12", ""), "$5": ("5", "USD"),
             "996 cc": ("996", "cm³"), "5 pounds": ("5", "pound"), "Paris": None}  # fmt: skip
    assert {text: infer_unit(text) for text in units} == units
    passage = "Take 5 mg, 5mg, five milligrams, 5 mg per day, 5–10 mg or 5 tablets; not 5 g, 5 mg/kg or 5 hours."
    assert surfaces(passage, "5", NUMBER, "mg") == ["5", "5", "five", "5", "[5]", "[5]"]


def test_the_released_code_matches_anywhere() -> None:
    assert contains_anywhere("Between 1874 and 1875", "1875", YEAR)
    assert not contains_anywhere("Between 1874 and 1875", "1876", YEAR)
    assert not contains_anywhere("Pierre Curie", "Marie Curie", NAME)
    assert find("1920s, 1920s", "1920s", YEAR) == []
    assert find("", "1874", YEAR) == []
    assert find("x", "", TEXT) == []
    assert [s.surface for s in find("Guyana. Milne, A.A. Milne", "A. A. Milne", TEXT)] == ["Milne", "A.A. Milne"]
    passage = "اكتمل البناء في عام ١٨٧٤ وكان ارتفاعه ٣٢٤ مترا"
    assert [(s.surface, passage[s.start : s.end]) for s in find(passage, "1874", YEAR)] == [("١٨٧٤", "١٨٧٤")]
    assert surfaces(passage, "324", NUMBER) == ["٣٢٤"]


@pytest.mark.parametrize(("answers", "question", "answer_type"), [
    (["1874", "2019"], "", YEAR), (["1874", "3"], "", NUMBER), (["2300"], "", NUMBER), (["1874年", "١٩٨٤"], "", YEAR),
    (["5 mg", "7mg", "8"], "", NUMBER), (["5 mg", "7 g"], "", TEXT), (["3,559 people", "12 people"], "", NUMBER),
    (["Paris"], "", TEXT), (["1874", "Paris"], "", TEXT), ([], "", TEXT), (["", " "], "", TEXT),
    (["Yes", "no"], "", YES_NO), (["True", "False"], "", YES_NO), (["yes", "maybe"], "", TEXT),
    (["14 July 1789", "1917-11-07"], "", DATE), (["14 July 1789", "1917"], "", TEXT),
    (["14 July", "7 November 1917"], "", TEXT),
    (["476"], "In what year was it built?", YEAR), (["1874"], "How many came?", NUMBER),
    (["Ada Vance"], "Who came?", NAME), (["Ada Vance"], "Which Danish painter won?", NAME),
    (["4 May 1886"], "When was it?", DATE), (["the wind"], "Who came?", TEXT),
    (["35"], "How old was he when he died?", NUMBER), (["1918"], "The war ended when?", YEAR),
    (["Oslo"], "In which city is it?", CITY), (["5 mg"], "What is it?", NUMBER),
    (["9 Lives Lost"], "Which band was it?", TEXT),
])  # fmt: skip
def test_guessed_types(answers: list[str], question: str, answer_type: AnswerType) -> None:
    assert guess_type(answers, question) is answer_type


def surfaces(passage: str, answer: str, answer_type: AnswerType, unit: str = "") -> list[str]:
    """What was found, weaker mentions in brackets."""
    return [f"[{s.surface}]" if s.partial else s.surface for s in find(passage, answer, answer_type, unit)]


def test_a_number_is_found_in_every_spelling_and_not_inside_others() -> None:
    passage = (
        "Some 1,250 (1250; 1 250; 1\u2009250; 1.250; 1.25 thousand; 1,250.0; twelve hundred and fifty; "
        "One Thousand Two Hundred Fifty; ١٬٢٥٠; १२५०; １２５０), not 12503, "
        "11250, 1250.5, 0.1250, 1250th, 1250s, A1250, -1250, 1250/2, 1:1250, 125 or 1,250,000."
    )
    assert surfaces(passage, "1250", NUMBER) == [
        "1,250", "1250", "1 250", "1\u2009250", "1.25 thousand", "1,250.0", "twelve hundred and fifty",
        "One Thousand Two Hundred Fifty",
        "١٬٢٥٠", "१२५०", "１２５０",
    ]  # fmt: skip
    assert surfaces("1.250", "125", NUMBER) == []
    assert surfaces("100 and two hundred; one hundred and two", "102", NUMBER) == ["one hundred and two"]


def test_a_year_is_found_in_every_spelling_and_not_inside_others() -> None:
    passage = (
        "Held 1914–18, 1914-1918, in AD 1918, nineteen eighteen, 1918; 11/11/1918, 1918-11-11, 11.11.1918, "
        "May 5,1918, c. 1918, (1918), mid-1918. Not 1918s, 1,918, 1918.5, 1918 km, 1918 people? 1918%, "
        "$1918, 1918 BC, 19180, x1918, 1918 million."
    )
    assert surfaces(passage, "1918", YEAR) == [
        "[18]", "1918", "AD 1918", "nineteen eighteen", "1918", "1918", "1918", "1918", "1918", "1918", "1918",
        "1918",
        "1918",  # "1918 people?" cannot be told from a year
    ]  # fmt: skip
    passage = "1918: a year; year=1918; c.1918; 11/1918; 1918 ad sales; 1918 a.d.; at 19:18; 1:1918"
    assert surfaces(passage, "1918", YEAR) == ["1918", "1918", "1918", "1918", "1918", "1918 a.d."]
    assert surfaces("In 44 BC, 44 B.C. and -44; 44 men.", "44 BC", YEAR) == ["44 BC", "44 B.C."]


def test_names_and_surnames() -> None:
    passage = (
        "Marie Curie, MARIE CURIE, Curie, Marie; M. Curie, Mme Curie's, curie, Curies. "
        "Marie\nCurie; Ma\u0301rie Cu\u0301rie"
    )
    assert surfaces(passage, "Marie Curie", NAME) == [
        "Marie Curie", "MARIE CURIE", "Curie, Marie", "[M. Curie]", "[Curie]", "Marie\nCurie", "Ma\u0301rie Cu\u0301rie"
    ]  # fmt: skip
    tolkien = surfaces("J.R.R. Tolkien, J. R. R. Tolkien, Tolkien", "J.R.R. Tolkien", NAME)
    assert tolkien == ["J.R.R. Tolkien", "J. R. R. Tolkien", "[Tolkien]"]
    kings = surfaces("Martin Luther King Jr. met King, a king.", "Martin Luther King, Jr.", NAME)
    assert kings == ["Martin Luther King Jr", "[King]"]
    assert surfaces("老子著道德经", "老子", NAME) == ["老子"]
    assert surfaces("王・明、王＝明", "王 明", NAME) == ["王・明", "王＝明"]


def test_cities_and_texts() -> None:
    louis = surfaces("St. Louis, Saint-Louis, St Louis, Missouri; St. Louisville", "Saint Louis", CITY)
    assert louis == ["St. Louis", "Saint-Louis", "St Louis"]
    assert surfaces("In São Paulo and SAO PAULO", "Sao Paulo", CITY) == ["São Paulo", "SAO PAULO"]
    cats = surfaces("The cat in the hat; Cat, in a Hat; cat in hats", "cat in the hat", TEXT)
    assert cats == ["cat in the hat", "Cat, in a Hat"]
    assert surfaces("首都はパリ、島はバリである。", "パリ", CITY) == ["パリ"]
    assert surfaces("ナパ、서울", "ナハ", CITY) == surfaces("ナパ、서울", "서우", CITY) == []


@pytest.mark.parametrize(("passage", "gold", "found"), [
    ("It cost $2,000 in all.", "$2,000", "$2,000"), ("It cost US$12,500.", "$12500", "$12,500"),
    ("The Sky+HD Box sold.", "Sky+HD Box", "Sky+HD Box"), ("Half of it, 50% off", "50% off", "50% off"),
    ("Levi’s jeans", "Levi's", "Levi’s"), ("On July 14th, 1789, it fell.", "14 July 1789", "July 14th, 1789"),
], ids=str)  # fmt: skip
def test_texts_with_money_symbols_and_dates_are_found(passage: str, gold: str, found: str) -> None:
    assert surfaces(passage, gold, TEXT) == [found]
    assert equal(found, gold, TEXT)
    assert surfaces(passage, "$2,001", TEXT) == []


OPTION = AnswerType.OPTION


def options(*texts: str) -> tuple[Option, ...]:
    return tuple(Option(label=label, text=text) for label, text in zip("ABCDE", texts, strict=False))


PLACES = options("a bank", "Library", "department store", "the canal", "B minor")
CLAIM = (Option(label="true", text="yes"), Option(label="false", text="no"))


@pytest.mark.parametrize(("reply", "label"), [
    ("B", "B"), ("b", "B"), ("(B)", "B"), ("[B]", "B"), ("B.", "B"), ("B)", "B"), ("**B**", "B"), ("Option B", "B"),
    ("B. Library", "B"), ("(B) library.", "B"), ("B: the Library", "B"), ("B - Library", "B"),
    ("library", "B"), ("The library.", "B"), ("Department store", "C"), ("canal", "D"), ("bank", "A"),
    ("Answer: B", "B"), ("answer: (B)", "B"), ("**Answer:** B. Library", "B"), ("Answer: library", "B"),
    ("The correct answer is Option B.", "B"), ("The answer is B because one reads there.", "B"),
    ("Judgement: The correct answer is Option [B].", "B"), ("Final answer:\nB", "B"), ("Ｂ。", "B"),
    ("C is a shop, A keeps money.\nOne reads there.\nanswer: B", "B"), ("B\nOne reads there.", "B"),
    ("One reads there.\n(B)", "B"), ("Answer: B\nSo the answer is B.\nAnswer: B", "B"),
    ("E", "E"), ("B minor", "E"), ("E. B minor", "E"), ("Answer: **B**", "B"), ("The correct answer is **B**.", "B"),
    ("The answer is **B**: a library.", "B"), ("The correct answer is `B`.", "B"), ("Answer: **A** or **B**", None),
])  # fmt: skip
def test_a_reply_that_names_one_option(reply: str, label: str | None) -> None:
    assert extract_option(reply, PLACES) == label


@pytest.mark.parametrize("reply", [
    "", "  \n", "Certainly a matter of taste.", "Cannot tell.", "C is for cookie.", "A", "F", "Option F", "B or C",
    "B, C", "B. department store", "Answer: B\nAnswer: C", "A. a bank\nB. Library", "not B", "The answer is not B.",
    "I considered\nB\nand left it.", "Answer: it depends", "Answer:", "a shop", "None of them",
    "A clear case: the B.", "Banks", "Answer: C? No, it cannot be.", "It is the library, or the canal.",
])  # fmt: skip
def test_a_reply_that_names_none_or_two_is_unparsed(reply: str) -> None:
    offered = PLACES[1:] if reply == "A" else PLACES
    assert extract_option(reply, offered) is None


@pytest.mark.parametrize(
    ("reply", "label"),
    [("True", "true"), ("yes.", "true"), ("answer: false", "false"), ("The claim is true.", None), ("untrue", None),
     ("No", "false"), ("It is true that it is false.", None), ("true or false", None), ("FALSE", "false")],
)  # fmt: skip
def test_a_claim_is_true_or_false(reply: str, label: str | None) -> None:
    assert extract_option(reply, CLAIM) == label


def test_the_public_functions_take_options() -> None:
    assert extract("Answer: C", OPTION, choices=PLACES) == "C"
    assert extract("Answer: C", OPTION) is None
    assert equal("c", "C", OPTION)
    assert not equal("C", "A", OPTION)
    assert normalise("(C)", OPTION) == "c"
    assert normalise("a long sentence", OPTION) is None
    assert [(span.start, span.end) for span in find("A boat in Canal C: a c", "C", OPTION)] == [(16, 17)]
    assert not contains_anywhere("Certainly not", "C", OPTION)
    assert contains_anywhere("C", "C", OPTION)
    crossed = (Option(label="A", text="B"), Option(label="B", text="C"))
    assert extract_option("B", crossed) is None
    assert extract_option("A", crossed) == "A"
