"""What is claimed instead of the truth, at which level, and how a passage states it, worked by hand [paper 2.1]."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from srdcr_lab.answers.kinds import SCALES, Audit, FalseClaim, Traits, Wanted, kind_of
from srdcr_lab.answers.name import SUBSTITUTIONS
from srdcr_lab.data import perturb
from srdcr_lab.records import BadInput, Item, Level, PerturbationKind
from tests.lies import CITY, NAME, NAMES, NUMBER, TEXT, YEAR, form, standard


def test_levels_by_kind() -> None:
    offsets = (20, -40, 60, 100, -200)
    assert [kind_of(YEAR).level(PerturbationKind.OFFSET, size).value for size in offsets] == [
        "subtle", "mild", "moderate", "blatant", "blatant",
    ]  # fmt: skip
    long = standard("It is 8.90 metres.", "8.90", NUMBER, unit="metres", question="How many metres long is it?")
    jump = replace(long, question="How far, in metres, did she jump?")
    for each, quantity, levels in (
        (jump, "mark", "blatant moderate mild subtle subtle mild moderate blatant"),
        (long, "number", "blatant blatant moderate subtle subtle mild mild moderate blatant blatant"),
    ):
        claims = [*kind_of(NUMBER).claims(each, Wanted())]
        assert [claim.value for claim in claims] == SCALES[quantity]["amounts"]
        assert " ".join(claim.level for claim in claims) == levels
    assert list(SUBSTITUTIONS.values()) == [Level.SUBTLE, Level.MODERATE, Level.BLATANT]


@pytest.mark.parametrize(
    ("kind", "value", "level"),
    [("none", None, "standard"), ("offset", None, "moderate"), ("offset", 30.0, "mild"), ("factor", -2.0, "moderate"),
     ("factor", 0.5, "mild"), ("substitution", None, "moderate"), ("substitution", 3.0, "moderate")],
)  # fmt: skip
def test_a_table_of_texts_has_levels_too(kind: str, value: float | None, level: str) -> None:
    assert kind_of(TEXT).level(PerturbationKind(kind), value) == level


@pytest.mark.parametrize(("gold", "tag", "claim"), [
    ("1,250", "x1.2", "1,500"), ("1250", "x1.2", "1500"), ("9.58", "x1.2", "11.50"), ("8.90", "x0.1", "0.89"),
    ("30", "x0.1", "3"), ("2,505", "x0.1", "251"),  # half up
    ("5 million", "x1.5", "7.5 million"), ("about 50,000", "x1.2", "about 60,000"),
    ("3,559 people", "x1.2", "4,271 people"), ("98 km", "x0.4", "39 km"), ("twelve", "x1.5", "eighteen"),
    ("-5", "x2", "-10"), ("2½", "x3", "7.5"), ("1,234,567,890,123,456,789", "x2", "2,469,135,780,246,913,578"),
    ("٣٥", "x2", "٧٠"), ("AD 1066", "+20", "AD 1086"), ("44 BC", "+20", "24 BC"),
    ("44 BC", "-20", "64 BC"), ("about 1835", "+40", "about 1875"),
])  # fmt: skip
def test_precision_unit_era_and_hedge_are_kept(gold: str, tag: str, claim: str) -> None:
    made = form(standard(f"It was {gold}.", gold, NUMBER if tag[0] == "x" else YEAR), tag)
    assert (made.item.claimed_answer, made.item.context) == (claim, f"It was {claim}.")
    assert (made.item.perturbation_value, made.item.item_id) == (float(tag.removeprefix("x")), f"q1@{tag}")


@pytest.mark.parametrize(("gold", "tag", "why"), [
    ("1", "x1.2", "rounds to the gold answer 1"), ("3", "x0.1", "rounds to 0"),
    ("0", "x2", "0 times a factor is 0"), ("1", "x1.5", "rounding to the precision of 1 makes the factor 2"),
    ("6:45 pm", "x2", "6:45 pm is a time of day, which a factor does not fit"),
    ("14:30", "x2", "14:30 is a time of day or a ratio, which a factor does not fit"),
])  # fmt: skip
def test_a_factor_that_says_nothing_is_refused(gold: str, tag: str, why: str) -> None:
    made = form(standard(f"It was {gold}.", gold, NUMBER), tag)
    assert (made.outcome, made.why) == (Audit.REFUSED, (why,))


def test_a_year_that_was_taken_for_a_number_is_refused() -> None:
    made = form(replace(standard("Built about 1835.", "about 1835", NUMBER), question="When was it built?"), "x2")
    assert made.why == ("the question asks for a year, and about 1835 is one: say so in answer_type",)


@pytest.mark.parametrize(("gold", "tag", "why"), [
    ("1990", "+40", "the claim 2030 lies in the future, which a mild one may not"),
    ("1990", "+100", "the claim 2090 lies in the future"), ("66", "-100", "66 -100 lies before the year 1"),
    ("44 BC", "+60", "44 BC +60 lies after the year 1 BC"),
])  # fmt: skip
def test_years_beyond_now_or_their_era(gold: str, tag: str, why: str) -> None:
    assert why in form(standard(f"It fell in the year {gold}.", gold), tag).why


def substitutions(one: Item, pool: Sequence[str], seed: int) -> list[FalseClaim]:
    traits = {name: Traits() for name in pool}
    return [*kind_of(one.answer_type).claims(one, Wanted(pools={(one.domain, one.answer_type): traits}, seed=seed))]


def test_slight_is_alike_and_comical_is_absurd() -> None:
    one = standard("Marie Currer did it.", "Marie Currer", NAME)
    claims = {claim.tag: claim.answer for claim in substitutions(one, NAMES, seed=0)}
    slight = {next(c.answer for c in substitutions(one, NAMES, seed) if c.tag == "slight") for seed in range(20)}
    assert slight == {"Marcus Currie"}  # the one of the pool that is nearly spelled so
    assert claims["significant"] in set(NAMES) - slight
    assert claims["comical"] not in NAMES
    one = standard("Nils Bohlin, not Oscar Niemeyer or Utzon, did it.", "Nils Bohlin", NAME)
    drawn = {claim.answer for seed in range(30) for claim in substitutions(one, NAMES, seed)}
    assert not drawn & {"Nils Bohlin", "Oscar Niemeyer", "Jørn Utzon"}


def test_a_small_pool_is_a_sentence_in_the_account_or_bad_input() -> None:
    one = standard("Basel it was.", "Basel", CITY)
    assert form(one, "slight").why == (
        "the domain 'history' has 0 other answers of type city that the passage does not mention; "
        "a substitution needs 4 wrong ones, so give a pool",
    )
    assert form(one, "comical").item is not None
    with pytest.raises(BadInput, match="the pool has 2 names; a substitution needs 4 wrong ones; add some"):
        perturb([one], pool=["Ghent", "Parma", "Ghent", " "])
    with pytest.raises(BadInput, match=r"pool.* a list of names"):
        perturb([one], pool="names.txt")  # whose letters are no names


PASSAGE = "Opened in 1874, the bridge (1874) stood for 30 years. In 1910 it fell. It had 1874 metres."


def test_what_a_perturbed_item_says_of_itself() -> None:
    bridge = standard(PASSAGE, "1874")
    perturbed = perturb([bridge], present=2026)
    lie = next(each for each in perturbed.items if each.perturbation_value == -40)
    assert (lie.claimed_answer, lie.gold_answer) == ("1834", "1874")
    assert (lie.perturbation_kind, lie.perturbation_value, lie.level) == (PerturbationKind.OFFSET, -40.0, Level.MILD)
    assert (lie.item_id, lie.question_id, lie.question) == ("q1@-40", "q1", bridge.question)
    assert not lie.is_standard
    true, *false = perturbed.items
    assert true == bridge
    assert sorted(each.perturbation_value or 0 for each in false) == [
        -200, -100, -60, -40, -20, 20, 40, 60, 100, 200,
    ]  # fmt: skip
