"""Another answer in the style of a mention, worked by hand, and properties over every spelling that `find` knows."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srdcr_lab.answers import equal, find, normalise
from srdcr_lab.answers.kinds import kind_of
from srdcr_lab.answers.quantities import in_words, spelled_numbers
from srdcr_lab.records import AnswerType
from tests.answers.test_answers_properties import DATE_SPELLINGS, DATES, NUMBER_SPELLINGS, YEAR_SPELLINGS

YEAR, NUMBER, NAME, DATE = map(AnswerType, "year number name date".split())
MARIE, DAY = "Marie Skłodowska Curie", "1789-07-14"
WRITTEN = {
    NUMBER: [
        ("1,250", "1250", "1500", "1,500"), ("1250", "1250", "12500", "12500"), ("1,250", "1250", "125", "125"),
        ("850", "850", "8500", "8,500"), ("1 250", "1250", "12500", "12 500"),
        ("1\u2009250", "1250", "1500", "1\u2009500"), ("12,5", "12.5", "15", "15,0"), ("9.58", "9.58", "11.5", "11.50"),
        ("8.9", "8.9", "10.68", "10.68"), (".5", "0.5", "0.75", ".75"), ("2½", "2.5", "3.75", "3.75"),
        ("5 million", "5000000", "6000000", "6 million"), ("1.2 million", "1200000", "960000", "0.96 million"),
        ("3.2×10^8", "320000000", "640000000", "6.4×10^8"), ("−5", "-5", "-10", "−10"),
        ("minus five", "-5", "-10", "minus ten"), ("US$5", "5", "6", "US$6"), ("١٬٢٥٠", "1250", "1500", "١٬٥٠٠"),
        ("１２", "12", "18", "１８"), ("twelve", "12", "18", "eighteen"),
        ("Twelve hundred and fifty", "1250", "1500", "Fifteen hundred"),
        ("one thousand two hundred fifty", "1250", "2505", "two thousand five hundred and five"),
        ("THIRTY-THREE", "33", "66", "SIXTY-SIX"), ("a hundred and six", "106", "127", "one hundred and twenty-seven"),
        ("a dozen", "12", "18", "eighteen"), ("twelve", "12", "14.4", None),
    ],
    YEAR: [
        ("1874", "1874", "1894", "1894"), ("AD 1066", "1066", "966", "AD 966"), ("1066 CE", "1066", "1086", "1086 CE"),
        ("44 BC", "-44", "-24", "24 BC"), ("10,000 BC", "-10000", "-9980", "9,980 BC"),
        ("١٨٧٤", "1874", "1894", "١٨٩٤"), ("nineteen seventy-four", "1974", "1934", "nineteen thirty-four"),
        ("eighteen hundred and six", "1806", "1826", "eighteen hundred and twenty-six"),
        ("Eighteen hundred", "1800", "1900", "Nineteen hundred"),
        ("1874", "1874", "-5", None), ("44 BC", "-44", "16", None),  # it keeps its era
    ],
    NAME: [
        ("Marie Skłodowska Curie", MARIE, "Jørn Utzon", "Jørn Utzon"),
        ("MARIE SKŁODOWSKA CURIE", MARIE, "Jørn Utzon", "JØRN UTZON"), ("Curie", MARIE, "Jørn Utzon", "Utzon"),
        ("CURIE", MARIE, "George de Mestral", "DE MESTRAL"),
        ("Skłodowska Curie", MARIE, "George de Mestral", "de Mestral"),
        ("M. S. Curie", MARIE, "Ole Kirk Christiansen", "O. K. Christiansen"),
        ("Curie, Marie Skłodowska", MARIE, "Martin Luther King", "King, Martin Luther"),
    ],
    DATE: [
        ("14 July 1789", DAY, "1789-08-04", "4 August 1789"), ("04 July 1789", DAY, "1789-08-05", "05 August 1789"),
        ("July 14th, 1789", DAY, "1789-07-22", "July 22nd, 1789"), ("14 Jul. 1789", DAY, "1789-05-11", "11 May 1789"),
        ("JULY 14TH, 1789", DAY, "1789-08-03", "AUGUST 3RD, 1789"), ("14 Jul. 1789", DAY, "1789-09-11", "11 Sep. 1789"),
        ("Fourteenth of July, 1789", DAY, "1789-07-21", "Twenty-first of July, 1789"),
        ("1789-07-14", DAY, "0999-01-02", "0999-01-02"), ("14 July", DAY, "1799-06-13", "13 June"),
        ("١٤ July ١٧٨٩", DAY, "1789-07-21", "٢١ July ١٧٨٩"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer_type", "surface", "answer", "new", "written"),
    [(kind, *case) for kind, cases in WRITTEN.items() for case in cases],
)
def test_another_answer_in_the_style_of_the_first_or_none(
    answer_type: AnswerType, surface: str, answer: str, new: str, written: str | None
) -> None:
    assert kind_of(answer_type).respell(surface, answer, new) == written


@given(st.integers(1, 999_999), st.integers(1, 999_999), st.sampled_from(sorted(NUMBER_SPELLINGS)))
def test_what_is_written_is_the_new_number_and_goes_back(value: int, new: int, how: str) -> None:
    surface = NUMBER_SPELLINGS[how](value)
    written = kind_of(NUMBER).respell(surface, str(value), str(new))
    assert normalise(written, NUMBER) == str(new)
    if len(str(new)) == len(str(value)) and "words" not in how and how != "capitalised":
        assert written == NUMBER_SPELLINGS[how](new)
        assert kind_of(NUMBER).respell(written, str(new), str(value)) == surface


@given(st.integers(1100, 1999), st.integers(1100, 1999), st.sampled_from(sorted(YEAR_SPELLINGS)))
def test_what_is_written_is_the_new_year(year: int, new: int, how: str) -> None:
    written = kind_of(YEAR).respell(YEAR_SPELLINGS[how](year), str(year), str(new))
    assert normalise(written, YEAR) == str(new)
    assert [span.surface for span in find(f"Built in {written}.", str(new), YEAR)] == [written]


@given(DATES, DATES, st.sampled_from(sorted(DATE_SPELLINGS)))
def test_what_is_written_is_the_new_date_in_the_same_layout(day: date, new: date, how: str) -> None:
    surface = DATE_SPELLINGS[how](day)
    written = kind_of(DATE).respell(surface, day.isoformat(), new.isoformat())
    assert normalise(written, DATE) == new.isoformat()
    if how not in ("two digits", "short month"):  # "14" and "May" do not tell
        assert written == DATE_SPELLINGS[how](new)
        assert kind_of(DATE).respell(written, new.isoformat(), day.isoformat()) == surface


@given(st.integers(0, 10**12) | st.integers(1000, 3000), st.sampled_from(["thousands", "hundreds", "pairs"]))
def test_words_are_read_back(value: int, grouping: str) -> None:
    words = in_words(value, grouping)
    if grouping == "pairs" and 1010 <= value <= 2999:
        assert equal(words, str(value), YEAR)
    else:
        assert [number.value for number in spelled_numbers(words)] == [value]
