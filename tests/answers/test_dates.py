"""Dates to the day, worked by hand: found, moved by days; as a type of a table of one's own."""

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab import answers, load_items
from srdcr_lab.answers.kinds import Audit, kind_of
from srdcr_lab.data import perturb
from srdcr_lab.data.perturbing import contradictions
from srdcr_lab.records import AnswerType, Level
from tests.answers.test_answers import surfaces
from tests.lies import form, standard

DATE = AnswerType.DATE


def test_an_alias_is_another_date_and_distance_is_of_days() -> None:
    assert answers.equal("25 October 1917", "7 November 1917", DATE, aliases=["25 October 1917"])
    assert kind_of(DATE).distance("1789-07-14", "1789-07-21") == pytest.approx(math.log(8))


def test_where_a_passage_states_a_date() -> None:
    passage = (
        "On 14 July 1789 (1789-07-14; July 14th, 1789; the fourteenth of July 1789; 14 Jul 1789). Each 14 July, or "
        "July 14. Not 14 July 1790, 114 July 1789, 4 July 1789, July 1789, the 14 july; "
        "13–14 July 1789 and July 14–16, 1789 are ranges."
    )
    assert surfaces(passage, "14 July 1789", DATE) == [
        "14 July 1789", "1789-07-14", "July 14th, 1789", "fourteenth of July 1789", "14 Jul 1789", "[14 July]",
        "[July 14]", "[14 July 1789]", "[July 14]",
    ]  # fmt: skip


BASTILLE = "On 14 July 1789 (July 14th, 1789) the prison fell. An 8-gun tower held out."


def test_every_mention_moves_in_its_own_layout() -> None:
    made = form(standard(BASTILLE, "July 14, 1789", DATE), "+28")
    assert made.item.context == "On 11 August 1789 (August 11th, 1789) the prison fell. An 8-gun tower held out."
    assert (made.item.claimed_answer, made.item.perturbation_value) == ("August 11, 1789", 28.0)
    assert (made.outcome, made.claim.canonical, made.item.item_id) == (Audit.ACCEPTED, "1789-08-11", "q1@+28")
    forms = perturb([standard(BASTILLE, "14 July 1789", DATE)], present=2026).forms
    assert [(made.claim.tag, made.claim.level) for made in forms] == [
        ("+7", Level.SUBTLE), ("-7", Level.SUBTLE), ("+28", Level.MILD), ("-28", Level.MILD),
        ("+364", Level.MODERATE), ("-364", Level.MODERATE), ("+3654", Level.BLATANT), ("-3654", Level.BLATANT),
        ("+36526", Level.BLATANT), ("-36526", Level.BLATANT),
    ]  # fmt: skip
    assert [made.claim.answer for made in forms[4:]] == [
        "13 July 1790", "15 July 1788", "16 July 1799", "13 July 1779", "16 July 1889", "12 July 1689",
    ]  # fmt: skip


@pytest.mark.parametrize(("passage", "gold", "tag", "why"), [
    ("It fell in July 1789.", "14 July 1789", "+7", "the passage does not state the answer 14 July 1789"),
    ("It fell on 14–16 July 1789.", "14 July 1789", "+7", "a range of days is not taken apart"),
    ("On 5 May 9950.", "5 May 9950", "+36526", "5 May 9950 +36526 days lies outside the years 1 to 9999"),
    ("On 5 May 150.", "5 May 150", "-36526", "would not be read as"),
    ("It fell on 14 July 1789; on 20 July 1789 it burnt.", "14 July 1789", "+7",
     "past another date of the passage: 1789-07-20"),
    ("It fell on 14 July 1789; by 1795 it was gone.", "14 July 1789", "+3654",
     "moved past another year of the passage: 1795"),
    ("It fell on 14 July 1789, in the 1780s.", "14 July 1789", "+3654", "the passage names the decade: '1780s'"),
    ("It fell on 14 July 1789, in the 18th century.", "14 July 1789", "+36526",
     "the passage names the century: '18th century'"),
    ("It fell on 14 July 1789, in the summer.", "14 July 1789", "-28", "a feast or season in the same sentence"),
    ("It fell on 24 December 1789, on Christmas Eve.", "24 December 1789", "+7", "a feast or season"),
])  # fmt: skip
def test_refused(passage: str, gold: str, tag: str, why: str) -> None:
    made = form(standard(passage, gold, DATE), tag)
    assert made.outcome is Audit.REFUSED
    assert any(why in sentence for sentence in made.why)


def test_every_claim_is_on_the_weekday_of_the_truth() -> None:
    passage = "It fell on Tuesday, 14 July 1789."
    made = perturb([standard(passage, "14 July 1789", DATE)], present=2026).items
    assert len(made) == 1 + 10
    assert not [sentence for lie in made if not lie.is_standard for sentence in contradictions(lie)]
    wrong = replace(made.items[1], claimed_answer="15 July 1789", context=passage.replace("14", "15"))
    assert contradictions(wrong) == ["15 July 1789 was a Wednesday and no Tuesday"]
    one = standard("On 7 November 1917 (25 October 1917).", "7 November 1917", DATE, aliases=("25 October 1917",))
    assert "an alias states another date" in form(one, "+7").why[0]


@pytest.mark.parametrize(("passage", "tag", "why"), [
    ("It fell on 14 July 1789. On 20 July 1789 it burnt.", "+7", "past another date of the passage: 1789-07-20"),
    ("It fell on 14 July 1789; each 14 July is a feast.", "+7", "'14 July' occurs without its year"),
    ("It fell on 14 July 1789, aged 419.", "+7", "an age may give the date away: 'aged 419'"),
    ("It fell on 14 July 1789, three days on.", "+7", "a duration may give the date away: 'three days'"),
    ("It fell on 14 July 1789; on 15 July 1789 it burnt.", "-7", "is close to the truth: 1789-07-15"),
    ("It fell on 14 July 1789, in a hot July.", "+28", "names the month by itself: 'July'"),
    ("It fell on 14 July 1789; 1789 was a bad year.", "+364", "names the year by itself: 1789"),
    ("It fell on 14 July 1989.", "+36526", "the claim 2089-07-15 lies in the future"),
])  # fmt: skip
def test_flagged(passage: str, tag: str, why: str) -> None:
    gold = "14 July 1989" if "1989" in passage else "14 July 1789"
    made = form(standard(passage, gold, DATE), tag)
    assert made.outcome is Audit.FLAGGED
    assert why in made.why[0]


ROWS = [
    ("bastille", "On which day did the Bastille fall?", "14 July 1789", "The Bastille fell on July 14th, 1789."),
    ("october", "On which day was the Winter Palace taken?", "1917-11-07", "It was taken on 7 November 1917."),
    ("moon", "On which day did men land on the moon?", "20 July 1969", "They landed on 20 July 1969, a Sunday."),
    ("wall", "On which day did the Berlin Wall open?", "9 Nov 1989", "It opened on November 9, 1989."),
]


def test_a_table_of_dates(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["question_id", "question", "gold_answer", "context"])
    frame.to_csv(tmp_path / "my.csv", index=False)
    frame.assign(answer_type="date").to_csv(tmp_path / "told.csv", index=False)
    guessed, told = (load_items(tmp_path / name).items for name in ("my.csv", "told.csv"))
    assert {each.answer_type for each in guessed} == {DATE}
    assert [each.gold_answer for each in guessed] == [each.gold_answer for each in told]
