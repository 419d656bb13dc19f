"""Properties of the answers floor on arbitrary text and on spellings put at known places."""

import unicodedata
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srdcr_lab.answers import contains_anywhere, equal, extract, find, guess_type, infer_unit, normalise
from srdcr_lab.answers.quantities import spelled_numbers
from srdcr_lab.records import AnswerType, Option

YEAR, NUMBER, NAME, CITY, TEXT, OPTION, DATE = map(AnswerType, "year number name city text option date".split())
ANY_TYPE = st.sampled_from(AnswerType)
ANY_UNIT = st.sampled_from(["", "mg", "people", "°C", "km/h", "USD"])
_FRAGMENTS = (
    '1,250|1874|5 mg|44 BC|AD|Dr.|Curie|St.|one|hundred and|-|–|½|.|The|J. R.|(|"|**|Answer:|1914–18|٣|é|e\u0301|の|$'
    "|×10^8|2:01:39| |\n|'s|of|I don't know|was|,"
)
PIECES = st.lists(st.sampled_from(_FRAGMENTS.split("|")), max_size=8)
ANY_TEXT = st.one_of(st.text(max_size=60), PIECES.map(" ".join), PIECES.map("".join))

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety"
ONES, TENS = _ONES.split(), _TENS.split()


def in_words(value: int, joint: str = " and ") -> str:
    """An independent speller, as English textbooks have it; 0 … 999,999."""
    if value < 20:
        return ONES[value]
    if value < 100:
        return TENS[value // 10] + (f"-{ONES[value % 10]}" if value % 10 else "")
    if value < 1000:
        return f"{ONES[value // 100]} hundred" + (f"{joint}{in_words(value % 100)}" if value % 100 else "")
    rest = value % 1000
    tail = f"{joint if rest < 100 else ' '}{in_words(rest, joint)}" if rest else ""
    return f"{in_words(value // 1000, joint)} thousand{tail}"


def in_script(digits: str, zero: str) -> str:
    return "".join(chr(ord(zero) + int(c)) if c.isdigit() else c for c in digits)


NUMBER_SPELLINGS = {
    "plain": str, "comma": "{:,}".format, "thin space": lambda v: f"{v:,}".replace(",", "\u2009"),
    "space": lambda v: f"{v:,}".replace(",", " "),
    "words": in_words, "words without and": lambda v: in_words(v, " "),
    "capitalised": lambda v: in_words(v).capitalize(), "Arabic-Indic": lambda v: in_script(str(v), "٠"),
    "Devanagari": lambda v: in_script(str(v), "०"), "full width": lambda v: in_script(str(v), "０"),
    "decimal": lambda v: f"{v:,}.00",
}  # fmt: skip


@given(
    st.integers(0, 999_999),
    st.sampled_from(sorted(NUMBER_SPELLINGS)),
    st.sampled_from(["mg", " mg", " people", "", ", of course"]),
)
def test_every_spelling_of_a_number_is_found_where_it_was_put(value: int, how: str, behind: str) -> None:
    surface = NUMBER_SPELLINGS[how](value)
    before = "In all there were "
    spans = find(f"{before}{surface}{behind} there; not {value + 1}.", str(value), NUMBER)
    if behind == "mg" and how.startswith(("words", "capitalised")):
        assert spans == []  # "fivemg" is no English
    else:
        assert [(s.start, s.end, s.surface) for s in spans] == [(len(before), len(before) + len(surface), surface)]


def year_in_words(year: int) -> str:
    """ "eighteen hundred", "eighteen hundred and six", "eighteen seventy-four"."""
    century, rest = divmod(year, 100)
    if rest > 9:
        return f"{in_words(century)} {in_words(rest)}"
    return f"{in_words(century)} hundred" + (f" and {in_words(rest)}" if rest else "")


YEAR_SPELLINGS = {
    "plain": str, "AD": "AD {}".format, "CE": "{} CE".format, "A.D.": "A.D. {}".format, "words": year_in_words,
    "number words": in_words, "Arabic-Indic": lambda y: in_script(str(y), "٠"),
    "full width": lambda y: in_script(str(y), "０"),
}  # fmt: skip


@given(
    st.integers(1100, 1999),
    st.sampled_from(sorted(YEAR_SPELLINGS)),
    st.sampled_from(["", ",", " and later", "–", ")", " the bridge", "'s"]),
)
def test_every_spelling_of_a_year_is_found_where_it_was_put(year: int, how: str, behind: str) -> None:
    surface = YEAR_SPELLINGS[how](year)
    before = "It was finished in ("
    spans = find(f"{before}{surface}{behind}", str(year), YEAR)
    assert [(s.start, s.end, s.surface) for s in spans] == [(len(before), len(before) + len(surface), surface)]
    assert normalise(surface, YEAR) == str(year)


MONTHS = "January February March April May June July August September October November December".split()


def ordinal(day: int) -> str:
    return f"{day}{'th' if day in (11, 12, 13) else ['th', 'st', 'nd', 'rd', *['th'] * 6][day % 10]}"


DATE_SPELLINGS: dict[str, Callable[[date], str]] = {
    "day first": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "month first": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    "ISO": lambda d: f"{d.year}-{d.month:02d}-{d.day:02d}",
    "day of month": lambda d: f"{ordinal(d.day)} of {MONTHS[d.month - 1]} {d.year}",
    "month, ordinal": lambda d: f"{MONTHS[d.month - 1]} {ordinal(d.day)}, {d.year}",
    "short month": lambda d: f"{d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    "capitals": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}".upper(),
    "two digits": lambda d: f"{d.day:02d} {MONTHS[d.month - 1]} {d.year}",
    "hyphens": lambda d: f"{d.day}-{MONTHS[d.month - 1]}-{d.year}",
    "no-break spaces": lambda d: f"{d.day}\u00a0{MONTHS[d.month - 1]}\u00a0{d.year}",
    "Arabic-Indic": lambda d: in_script(f"{d.day} {MONTHS[d.month - 1]} {d.year}", "٠"),
}
DATES = st.dates(date(1000, 1, 1), date(2199, 12, 31))


@given(
    DATES,
    st.sampled_from(sorted(DATE_SPELLINGS)),
    st.sampled_from(["", ",", ".", " and later", ")", " the bridge", "'s", ": so it is"]),
)
def test_every_spelling_of_a_date_is_found_where_it_was_put(day: date, how: str, behind: str) -> None:
    surface = DATE_SPELLINGS[how](day)
    before = "It was finished on the ("
    spans = find(f"{before}{surface}{behind}", day.isoformat(), DATE)
    assert [(s.start, s.end, s.surface) for s in spans] == [(len(before), len(before) + len(surface), surface)]
    assert normalise(surface, DATE) == day.isoformat()
    assert extract(f"It was finished on {surface}.", DATE) == day.isoformat()


@given(DATES, DATES, st.sampled_from(sorted(DATE_SPELLINGS)))
def test_another_date_is_not_found(day: date, other: date, how: str) -> None:
    assert bool(find(f"Finished on {DATE_SPELLINGS[how](other)}.", day.isoformat(), DATE)) is (day == other)


WORD = st.text(st.sampled_from("abcdeghilmnoprstuvzéüñ"), min_size=5, max_size=8).map("Z".__add__)
OTHER_SPELLINGS = {
    "same": str,
    "upper": str.upper,
    "decomposed": lambda s: unicodedata.normalize("NFD", s),
    "plain": lambda s: "".join(c for c in unicodedata.normalize("NFD", s) if not unicodedata.combining(c)),
    "line break": lambda s: s.replace(" ", "\n"),
}


@given(WORD, WORD, st.sampled_from(sorted(OTHER_SPELLINGS)), st.sampled_from([NAME, CITY, TEXT]))
def test_every_spelling_of_words_is_found_where_it_was_put(
    first: str, second: str, how: str, answer_type: AnswerType
) -> None:
    answer = f"{first} {second}"
    surface = OTHER_SPELLINGS[how](answer)
    spans = [s for s in find(f"«1 {surface}» 2", answer, answer_type) if not s.partial]
    assert [(s.start, s.end, s.surface) for s in spans] == [(3, 3 + len(surface), surface)]
    assert equal(surface, answer, answer_type)
    assert not [s for s in find(f"1 {surface}x 2 y{surface}", answer, answer_type) if not s.partial]


def test_an_answer_of_articles_alone_is_looked_for_in_one_way() -> None:
    """Each article is a word of the answer or stands between two: with both, 2ⁿ ways were tried for n of them."""
    passage = "the " * 99 + "end"
    assert not find(passage, "the " * 100, AnswerType.TEXT)
    assert [span.surface for span in find(passage, "the the", AnswerType.TEXT)][:1] == ["the the"]


@given(ANY_TEXT, ANY_TYPE, ANY_UNIT)
def test_normalising_twice_is_normalising_once(text: str, answer_type: AnswerType, unit: str) -> None:
    canonical = normalise(text, answer_type, unit)
    assert canonical is None or normalise(canonical, answer_type, unit) == canonical


# words of a reply that names two, none, or says more; by themselves they are no name
NO_NAME = frozenset("either neither or nor not who which where is was were has had instead".split())


@given(ANY_TEXT, ANY_TYPE, ANY_UNIT)
def test_a_canonical_answer_is_extracted_as_itself(text: str, answer_type: AnswerType, unit: str) -> None:
    canonical = normalise(text, answer_type, unit)
    if canonical is not None and len(canonical.split()) <= 10 and not NO_NAME & set(canonical.split()):
        offered = (Option(label=canonical, text="¶"),) if answer_type is OPTION else ()
        assert extract(canonical, answer_type, unit, offered) == canonical


@given(ANY_TEXT, ANY_TYPE, ANY_UNIT)
def test_what_is_extracted_is_an_answer(text: str, answer_type: AnswerType, unit: str) -> None:
    answer = extract(text, answer_type, unit)
    assert answer is None or normalise(answer, answer_type, unit) is not None


@given(ANY_TEXT, ANY_TEXT, ANY_TYPE, ANY_UNIT)
def test_equality_is_reflexive_and_symmetric(a: str, b: str, answer_type: AnswerType, unit: str) -> None:
    assert equal(a, b, answer_type, unit) is equal(b, a, answer_type, unit)
    assert equal(a, a, answer_type, unit) is (normalise(a, answer_type, unit) is not None)


@given(ANY_TEXT, ANY_TEXT, ANY_TYPE, ANY_UNIT)
def test_spans_are_slices_in_order_and_apart(passage: str, answer: str, answer_type: AnswerType, unit: str) -> None:
    end = 0
    for span in find(passage, answer, answer_type, unit):
        assert end <= span.start < span.end <= len(passage)
        assert passage[span.start : span.end] == span.surface
        end = span.end
    contains_anywhere(passage, answer, answer_type, unit)
    guess_type([passage, answer])
    infer_unit(passage)


@given(st.integers(0, 999_999), st.integers(0, 999_999))
def test_two_numbers_in_words_stay_two(a: int, b: int) -> None:
    assert [s.value for s in spelled_numbers(f"from {in_words(a)} to {in_words(b)}")] == [a, b]


_REPEATED = (
    "1|1,234|1.|1 234 |1:22|1,2| |a |one |hundred and |–5 |½|m/|c. |Marie |M. |saint |1914-18 |((|e\u0301|の|١"
    "|answer |i am |\u200f|the red |-|\n|Marie x |Is it so? |<think>|Answer: B. |**B** "
)


@pytest.mark.parametrize("answer_type", list(AnswerType))
@pytest.mark.parametrize("unit_of_text", _REPEATED.split("|"))
def test_a_long_text_of_one_thing_is_read(answer_type: AnswerType, unit_of_text: str) -> None:
    passage = (unit_of_text * 10_000)[:10_000]
    answers = {
        YEAR: "1919", NUMBER: "1250", NAME: "Marie Curie", CITY: "Saint Louis", OPTION: "D", DATE: "14 July 1789",
        AnswerType.YES_NO: "yes",
    }  # fmt: skip
    answer = answers.get(answer_type, "the red cat")
    assert [s.surface for s in find(f"{passage} ; {answer}.", answer, answer_type)] == [answer.removeprefix("the ")]
    for reply in (passage, f"answer: {passage}"):
        extract(reply, answer_type, choices=(Option(label="B", text=answer), Option(label="C", text="because")))
