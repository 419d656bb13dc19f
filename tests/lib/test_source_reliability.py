"""Reliability of sources without labels: worked by hand, then on reports about the shipped facts."""

import math

import pandas as pd
import pytest

from srdcr_lab.data.facts import reports
from srdcr_lab.documents import recovery, sources_as_read
from srdcr_lab.lib.source_reliability import asserted, log_odds, source_reliability, votes_of, weighted_majority
from tests.documents import item

# A and B agree on three questions, C and D err there, apart. On the fourth A stands against C and D, and B is silent.
VOTES = [
    *[(q, source, answer) for q in ("q1", "q2", "q3") for source, answer in zip("ABCD", "xxyz", strict=True)],
    ("q4", "A", "x"),
    ("q4", "C", "y"),
    ("q4", "D", "y"),
]
COLUMNS = tuple(list(column) for column in zip(*VOTES, strict=True))


def test_the_plain_majority_counts_heads() -> None:
    assert weighted_majority(*COLUMNS) == {"q1": ("x",), "q2": ("x",), "q3": ("x",), "q4": ("y",)}


def test_voters_who_all_weigh_nothing_have_one_vote_each() -> None:
    votes = (["q"] * 4, list("ABCD"), list("xxyz"))
    assert weighted_majority(*votes, dict.fromkeys("ABCD", 0.0)) == {"q": ("x",)}


def test_reliabilities_overturn_a_majority_of_bad_sources() -> None:
    """Round 0: A agrees with 3 of 4 majorities, B 3/3, C and D 1/4. L = (3 + 3 + 3 + 2) / 4 = 2.75 distinct answers, so
    the weights are 2.75 · 3/4 − 1 = 1.0625, 1.75, 0, 0: q4 goes to x. Then A 4/4, B 3/3, C 0, D 0; nothing changes."""
    found = source_reliability(*COLUMNS)
    assert found.majority == {"q1": ("x",), "q2": ("x",), "q3": ("x",), "q4": ("x",)}
    table = found.table.set_index("source")
    assert table["reliability"].to_dict() == {"A": 1.0, "B": 1.0, "C": 0.0, "D": 0.0}
    assert table["weight"].to_dict() == {"A": 1.75, "B": 1.75, "C": 0.0, "D": 0.0}
    assert table["n_checked"].to_dict() == {"A": 4, "B": 3, "C": 4, "D": 4}
    assert (found.iterations, found.converged) == (2, True)


def test_stopped_before_it_converges_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srdcr_lab.lib.source_reliability.MOST_ITERATIONS", 1)
    found = source_reliability(*COLUMNS)
    assert (found.iterations, found.converged) == (1, False)
    assert found.table["weight"].tolist() == [1.0625, 1.75, 0.0, 0.0]


def test_ties_stand_together_and_count_in_parts() -> None:
    """One against one: each is credited half, and nobody can be told apart."""
    found = source_reliability(["q1", "q1"], ["A", "B"], ["x", "y"])
    assert found.majority == {"q1": ("x", "y")}
    assert found.table["reliability"].tolist() == [0.5, 0.5]
    assert found.table["weight"].tolist() == [1.0, 1.0]


def test_an_answer_that_nobody_cross_checks_tells_nothing_of_its_source() -> None:
    found = source_reliability(["q1", "q1", "q2"], ["A", "B", "C"], ["x", "x", "y"])
    table = found.table.set_index("source")
    assert math.isnan(table.loc["C", "reliability"])
    assert (table.loc["C", "n_votes"], table.loc["C", "n_checked"]) == (1, 0)
    assert found.majority["q2"] == ("y",)


@pytest.mark.parametrize("unknown", ["", None])
def test_votes_of_unknown_sources_count_and_are_not_estimated(unknown: str | None) -> None:
    found = source_reliability(["q1", "q1", "q1"], [unknown, unknown, "A"], ["x", "x", "y"])
    assert found.table["source"].tolist() == ["A"]
    assert found.majority == {"q1": ("x",)}
    assert source_reliability(["q1"] * 3, [unknown] * 3, ["x", "y", "y"]).majority == {"q1": ("y",)}


def test_without_votes_there_is_nothing() -> None:
    found = source_reliability([], [], [])
    assert (dict(found.majority), len(found.table), found.converged) == ({}, 0, True)


def test_an_oracle_weighs_by_the_log_odds() -> None:
    """p = 0.8 among 3 answers: log(0.8 · 2 / 0.2) = log 8."""
    assert log_odds(0.8, 3) == pytest.approx(math.log(8))
    assert log_odds([1 / 3, 0.2], 3).tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    weights = dict(zip("ABCD", (2.0, 1.0, 0.9, 0.9), strict=True))
    assert weighted_majority(*COLUMNS, weights)["q4"] == ("x",)


def test_votes_of_turns_know_their_sources_and_unify_spellings() -> None:
    of = item(1874, 1874, 1901, None, sources=["Gazette", "Herald", "Gazette", "Ledger"])
    told = {"1": "1874", "2": "AD 1874", "3": "1901", "4": None}
    turns = [{"item_id": "q1", "speaker": name, "stated_answer": value} for name, value in told.items()]
    turns.append({"item_id": "q1", "speaker": "", "stated_answer": "1874"})  # an aggregator is no source
    assert votes_of([of], turns) == (("q1",) * 3, ("Gazette", "Herald", "Gazette"), ("1874", "1874", "1901"))


def test_independent_sources_are_ranked_as_they_are() -> None:
    found = pd.DataFrame([recovery(*reports(seed, lies=1)) for seed in range(2)])
    assert found["converged"].all()
    medians = found[["rank_correlation", "estimated", "plain"]].median()
    assert medians["rank_correlation"] >= 0.9
    assert medians["estimated"] > medians["plain"] + 0.03


def test_a_reader_who_never_misreads_votes_what_documents_assert() -> None:
    of = item(1874, 1901, None, sources=["A", "B", "C"])
    assert votes_of([of], asserted([of])) == (("q1", "q1"), ("A", "B"), ("1874", "1901"))


def test_sources_as_read_stand_beside_the_truth_and_a_perfect_reader() -> None:
    """The model misreads B's document of q2; B is right in both, A in one of two."""
    of = [
        item(1874, 1874, 1874, question_id="q1", sources=["A", "B", "C"]),
        item(1901, 1874, 1874, question_id="q2", sources=["A", "B", "C"]),
    ]
    turns = asserted(of)
    turns[4]["stated_answer"] = "1777"
    table = sources_as_read(of, pd.DataFrame(turns).assign(method="ra_rag")).set_index("source")
    assert table.index.tolist() == ["A", "B", "C"]
    assert table["accuracy"].tolist() == [0.5, 1.0, 1.0]
    assert table["perfect_reader"].tolist() == [0.5, 1.0, 1.0]
    assert table.loc["B", "reliability"] < 1


def test_without_sources_there_is_an_empty_table() -> None:
    of = [item(1874, 1901)]
    assert sources_as_read(of, pd.DataFrame(asserted(of)).assign(method="ra_rag")).empty
