"""Passages that are hard to make false consistently, flags that go with the rows, and texts made to be slow."""

import random
import time
from pathlib import Path

import pandas as pd
import pytest

from srdcr_lab import answers
from srdcr_lab.answers.kinds import Audit
from srdcr_lab.data import ItemSet, load_items, perturb
from srdcr_lab.records import AnswerType, BadInput
from tests.conftest import Srdcr
from tests.lies import NAME, NUMBER, YEAR, form, standard
from tools.hard_passages import FAULTY, PASSAGES, REFUSED, judged, rates

DATE = AnswerType.DATE


def test_our_hard_passages_are_changed_consistently_or_refused() -> None:
    frame = pd.read_csv(PASSAGES, keep_default_na=False, dtype=str)
    rows = list(judged(frame[frame["written_by"] == "ours"]))  # the others are measured, not promised
    faulty, refused, told = rates(rows)
    assert faulty <= FAULTY, told
    assert refused <= REFUSED, told
    assert all(row.usable or row.row["handling"] == "refuse" for row in rows), told


@pytest.mark.parametrize(("passage", "gold", "answer_type", "tag", "why"), [
    ("It melts at 70 °C (158 °F).", "70 °C", NUMBER, "x2", "'158 °F'"),
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
    ("On 5 May 1848, the 50th anniversary of 5 May 1798.", "5 May 1848", DATE, "-3654", "anniversary"),
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
