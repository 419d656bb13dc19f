"""Properties of every perturbation, over passages put together from spellings of the answer and other matter."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Audit
from srdcr_lab.answers.quantities import quantities
from srdcr_lab.data import Perturbed, perturb
from srdcr_lab.data.perturbing import Form
from srdcr_lab.records import AnswerType, Item
from tests.answers.test_answers_properties import DATE_SPELLINGS, DATES, NUMBER_SPELLINGS, YEAR_SPELLINGS, in_words
from tests.lies import restored, standard

YEAR, NUMBER, NAME, CITY, DATE = map(AnswerType, "year number name city date".split())
FEWER = settings(max_examples=40)
NAMES = ("Marie Curie", "Jørn Utzon", "Tove Jansson", "George de Mestral", "L. L. Zamenhof", "Ole Kirk Christiansen")
CITIES = ("Basel", "St. Louis", "Córdoba", "The Hague", "Buenos Aires", "Cortina d'Ampezzo", "Łódź")
MATTER = st.sampled_from(
    "The bridge stood for 30 years.|It had 57 arches (half of them blind).|In 1914–18 it was closed.|Ten men fell."
    "|A 1,874-metre tunnel, then 5 km of road.|In the 3rd century a ford lay here.|Now “a 7th one” is planned — why?"
    "|كان الجسر طويلا.|橋は1204年に。|He, aged 34, and Pierre went on.|It cost $9.99 a day in the '20s.".split("|")
)
FRAMES = st.sampled_from(
    ["It was {} then.", "“{}”, they say;", "A {} (or so).", "By {}, all was done.", "سنة {} هنا.", "An {}-fold thing."]
)


@st.composite
def passages(draw: st.DrawFn, spellings: st.SearchStrategy[str]) -> str:
    """One to three spellings of the answer in frames, with other matter before, between and behind."""
    pieces = [draw(MATTER)]
    for surface in draw(st.lists(spellings, min_size=1, max_size=3)):
        pieces += [draw(FRAMES).format(surface), *draw(st.lists(MATTER, max_size=2))]
    return " ".join(pieces)


@st.composite
def items(draw: st.DrawFn) -> Item:
    answer_type = draw(st.sampled_from([YEAR, NUMBER, NAME, CITY, DATE]))
    if answer_type is DATE:
        day = draw(DATES)
        surfaces = [DATE_SPELLINGS[how](day) for how in sorted(DATE_SPELLINGS)]
        return standard(draw(passages(st.sampled_from(surfaces))), draw(st.sampled_from(surfaces)), DATE)
    if answer_type is YEAR:
        year = draw(st.integers(1100, 1999))
        spelled = st.sampled_from([YEAR_SPELLINGS[how](year) for how in sorted(YEAR_SPELLINGS)])
        return standard(draw(passages(spelled)), str(year), YEAR)
    if answer_type is NUMBER:
        value, unit = draw(st.integers(1, 99_999)), draw(st.sampled_from(["", "mg", "people"]))
        surfaces = [NUMBER_SPELLINGS[how](value) for how in sorted(NUMBER_SPELLINGS)]
        spelled = st.sampled_from([f"{surface} {unit}".strip() for surface in surfaces])
        return standard(draw(passages(spelled)), draw(st.sampled_from([str(value), f"{value:,}"])), NUMBER, unit=unit)
    name = draw(st.sampled_from(NAMES if answer_type is NAME else CITIES))
    spelled = st.sampled_from([name, name.upper(), *([name.split()[-1], f"Dr {name}"] if answer_type is NAME else [])])
    return standard(draw(passages(spelled)), name, answer_type)


def perturbed(one: Item, seed: int = 0) -> Perturbed:
    pool = {NAME: NAMES, CITY: CITIES}.get(one.answer_type)
    return perturb([one], pool=pool, seed=seed, present=2026)


def usable(found: Perturbed) -> list[tuple[Form, Item]]:
    return [(form, form.item) for form in found.forms if form.item is not None]


@FEWER
@given(items())
def test_undoing_a_perturbation_restores_the_passage(one: Item) -> None:
    for form, lie in usable(perturbed(one)):
        assert lie.context != one.context
        assert restored(lie.context, form.changes) == one.context


@FEWER
@given(items())
def test_no_spelling_of_the_gold_answer_is_left_as_text(one: Item) -> None:
    """Without `find`: the spellings themselves are looked for, as whole words."""
    if one.unit:
        return  # "5 km" may stay where 5 mg was the answer
    value: Any = one.gold_answer
    if one.answer_type in (YEAR, NUMBER):
        value = int(value.replace(",", ""))
    if one.answer_type is DATE:
        value = date.fromisoformat(answers.normalise(value, DATE) or "")
    spellings: dict[AnswerType, Any] = {YEAR: YEAR_SPELLINGS, NUMBER: NUMBER_SPELLINGS, DATE: DATE_SPELLINGS}
    for _, lie in usable(perturbed(one)):
        for how in spellings.get(one.answer_type, {"as it is": str}).values():
            surface = how(value)
            assert not re.search(rf"(?<![\w.,])(?<!\d ){re.escape(surface)}(?![\w-]|[.,:]\d| \d)", lie.context, re.I)


@FEWER
@given(items())
def test_every_attempt_is_accounted_for(one: Item) -> None:
    found = perturbed(one)
    assert len(found.forms) == {YEAR: 10, NUMBER: 10, NAME: 3, CITY: 3, DATE: 10}[one.answer_type]
    for form in found.forms:
        assert (form.item is None) is (form.outcome is Audit.REFUSED)
        assert bool(form.why) is (form.outcome is not Audit.ACCEPTED)
    assert [each for each in found.items if not each.is_standard] == [lie for _, lie in usable(found)]


DECIMALS = st.decimals(min_value="0.1", max_value="9999", places=2).filter(lambda value: value > 0)


@FEWER
@given(DECIMALS | st.integers(1, 10**7).map(Decimal), st.sampled_from(["", " mg", " metres", " people"]))
def test_precision_and_unit_are_kept(value: Decimal, unit: str) -> None:
    one = standard(f"They found {value:,}{unit} there.", f"{value:,}{unit}", NUMBER, unit=unit.strip())
    for form, lie in usable(perturbed(one)):
        number = lie.claimed_answer.removesuffix(unit)
        assert lie.claimed_answer.endswith(unit)
        assert len(number.partition(".")[2]) == len(str(value).partition(".")[2])
        assert f"found {lie.claimed_answer} there" in lie.context
        wanted = value * Decimal(str(form.claim.value))
        assert abs(Decimal(number.replace(",", "")) - wanted) <= Decimal("0.5") * Decimal(1).scaleb(
            int(value.as_tuple().exponent)
        )


@FEWER
@given(st.integers(2, 20_000))
def test_number_words_stay_number_words(value: int) -> None:
    one = standard(f"There were {in_words(value)} people.", str(value), NUMBER, unit="people")
    for _, lie in usable(perturbed(one)):
        assert not any(char.isdigit() for char in lie.context)
        assert [q.value for q in quantities(lie.context)] == [lie.claimed_answer.replace(",", "")]
