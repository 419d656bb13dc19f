"""The guarantee of the final answer: its test, its rules and weights by hand, and a small run of its simulation."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bench.final_answers import EDGES, FALSE_SHARES, fitted_alike, found_at
from srdcr_lab import guarantee
from srdcr_lab.guarantee import NO_SETTING, STAKES, Rule, excess_p_value, guaranteed_rule, rule_grid
from srdcr_lab.records import BadInput, Decision
from srdcr_lab.thresholds import STARTS, accept
from tests.simulated import frame, simulated

RECORDS = simulated(80)
PAPER = Rule(0.9, Decision.USE_PRIOR, Decision.ABSTAIN)


def debated(n: int, *, believes: float = 1.0, confidence: float = 0.95, prior: bool = True) -> pd.DataFrame:
    """n questions of one domain, each with a true passage, believed, and a false one, of which a share is."""
    rows = []
    for q in range(n):
        for false in (False, True):
            believed = not false or (q + 0.5) / n < believes
            rows.append(
                {
                    "item_id": f"q{q}-{false}", "question_id": f"q{q}", "method": "sr_dcr", "model": "m",
                    "design": "acvd", "level": "mild" if false else "standard",
                    "verdict": "REASONABLE" if believed else "UNREASONABLE", "self_confidence": confidence,
                    "context_correct": not false, "prior_correct": prior, "missing": None,
                    "correct": None, "p_unreasonable": None,
                }
            )  # fmt: skip
    return frame(*rows)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_p_value_of_right_answers_by_hand(alpha: float) -> None:
    """Each right answer multiplies a stake b by 1 + b α/(1 − α); an unanswered question changes nothing."""
    grown = np.mean([(1 + b * alpha / (1 - alpha)) ** 30 for b in STAKES])
    excess = np.r_[np.full(30, -alpha), np.zeros(12)]
    assert excess_p_value(excess, alpha) == pytest.approx(1 / grown)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("n", [5, 20, 60])
def test_at_the_edge_no_level_is_passed_too_often(alpha: float, n: int) -> None:
    """Of n answers, each wrong with probability α, exactly: P(p ≤ t) ≤ t for every t that p can be."""
    wrong = np.arange(n + 1)
    p = excess_p_value((np.arange(n) < wrong[:, None]) - alpha, alpha)
    for level in p:
        assert binom.pmf(wrong, n, alpha)[p <= level].sum() <= level + 1e-12


def test_every_sequence_begins_at_a_start_and_answers_ever_more() -> None:
    rules, sequences = rule_grid()
    assert len(set(rules)) == len(rules)
    assert PAPER in rules
    assert sorted(np.concatenate(sequences))[-2:] == [len(rules) - 2, len(rules) - 1]
    assert [rules[places[0]].tau for places in sequences] == [*STARTS, *STARTS, None, None]
    for places in sequences:
        taus = [rules[i].tau for i in places]
        assert taus == sorted(taus, key=lambda tau: -(tau or 0))


def test_the_papers_rule_is_what_the_run_decided() -> None:
    found = guaranteed_rule(RECORDS)
    tests = found.tests.set_index(["tau", "unreasonable", "unparsed"])
    assert set(found.tests["kappa"]) == {0.5}, "no verdict has a probability"
    ran = RECORDS[RECORDS["method"] == "sr_dcr"]
    row = tests.loc[(0.9, Decision.USE_PRIOR, Decision.ABSTAIN)]
    assert (row["n_answered"], row["n_wrong"]) == (ran["correct"].count(), (~ran["correct"].dropna()).sum())


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_risk_at_a_share_of_false_passages_by_hand(share: float) -> None:
    """At τ > 0.95 the 10 true passages are answered rightly and the 4 false ones that are believed wrongly."""
    tests = guaranteed_rule(debated(10, believes=0.4), false_share=share).tests
    row = tests[tests["tau"] == 0.96].iloc[0]
    covered = (1 - share) + 0.4 * share
    assert row["coverage"] == pytest.approx(covered)
    assert row["risk"] == pytest.approx(0.4 * share / covered)


def test_a_graded_verdict_may_attain_what_the_word_does_not() -> None:
    """The judge says Reasonable of every passage, with P(UNREASONABLE) = 0.2 for the false ones and 0.05 for the true:
    at κ = 0.1 it catches every lie, and memory answers."""
    rows = debated(80).assign(p_unreasonable=lambda table: np.where(table["level"] == "standard", 0.05, 0.2))
    found = guaranteed_rule(rows)
    assert found.rule == Rule(0.9, Decision.USE_PRIOR, Decision.ABSTAIN, 0.1)
    assert str(found.rule).startswith("τ = 0.9, κ = 0.1, ")
    assert found.risk.value == 0
    assert guaranteed_rule(debated(80)).rule is None


def test_a_question_counts_once_however_many_forms_it_has() -> None:
    once = debated(40, believes=0.1)
    often = pd.concat([once.assign(item_id=once["item_id"] + f"-{i}") for i in range(5)])
    p = [guaranteed_rule(rows, 0.2).tests["p_value"] for rows in (once, often)]
    assert p[1].to_numpy() == pytest.approx(p[0].to_numpy())


def test_questions_with_one_kind_of_passage_are_put_together_in_pairs() -> None:
    rows = debated(40)
    true_of_some = (rows["level"] == "standard") == rows["question_id"].isin([f"q{q}" for q in range(22)])
    found = guaranteed_rule(rows[true_of_some])
    assert found.sizes == {"n": 36, "n_questions": 18, "n_left_out": 4, "n_error": 0}
    assert "(on 18 questions (4 more lack a passage of a kind)" in found.sentence


def test_of_the_rules_that_pass_the_one_that_answers_most_is_taken() -> None:
    """The judge catches every lie, and memory is right: all is answered from τ = 0.95 down. The sequence that begins at
    0.97 fails there, as half is answered."""
    found = guaranteed_rule(debated(60, believes=0.0), alpha=0.1, delta=0.1)
    assert (found.coverage.value, found.risk.value) == (1.0, 0.0)
    assert 0 < found.risk.high < 0.1
    assert found.rule == PAPER
    assert "120 of 120 items answered, 0 wrong" in found.sentence
    assert "at most 0.1 of the answers given" in found.sentence
    tests = found.tests
    assert tests.loc[tests["accepted"], "tested"].all()
    refused, never = (tests[~tests["accepted"] & (tests["tested"] == tried)] for tried in (True, False))
    assert refused["p_value"].min() > never["p_value"].min(), "what no sequence reaches is not accepted at any p"


def test_where_nothing_attains_it_the_sentence_says_what_would() -> None:
    few = guaranteed_rule(debated(20, believes=0.0))
    assert few.rule is None
    assert f"{NO_SETTING} 0.1 with" in few.sentence
    assert 40 < few.n_needed < 80
    assert f"{few.n_needed} questions would suffice in 80% of studies." in few.sentence
    fooled = guaranteed_rule(debated(200, believes=1.0, confidence=0.1))
    assert fooled.n_needed is None
    assert "The lowest risk seen is 0.500, for which no number of questions would suffice." in fooled.sentence


@pytest.mark.parametrize(("options", "rows", "said"), [
    ({"taus": (0.5, 0.7)}, RECORDS, "each start is one of the taus"),
    ({"starts": np.array([0.31, 0.9])}, RECORDS, "each start is one of the taus"),
    ({"alpha": "0.1"}, RECORDS, "alpha is a number from 0 to 1, got '0.1'"),
    ({"alpha": 0}, RECORDS, "alpha lies between 0 and 1, got 0"),
    ({"delta": 1}, RECORDS, "delta lies between 0 and 1"),
    ({"false_share": 1.2}, RECORDS, "a share of false passages lies in"),
    ({"false_share": math.nan}, RECORDS, "a share of false passages lies in"),
    ({}, RECORDS[RECORDS["method"] == "few_shot"], "got rows at all"),
    ({}, simulated(4, designs=("acvd", "symmetric")), "of 2 runs, models or designs"),
    ({}, RECORDS[RECORDS["level"] == "standard"], "too few questions: none has true and false passages"),
])  # fmt: skip
def test_what_cannot_be_done_is_a_sentence(options: dict[str, object], rows: pd.DataFrame, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        guaranteed_rule(rows, **options)


@pytest.mark.parametrize("edge", EDGES)
def test_where_every_rule_is_too_risky_few_studies_find_one(edge: str) -> None:
    assert found_at(edge, 50)[1] > 0.05


def _items_as_units(rows: pd.DataFrame, weights: dict[bool, float]) -> object:
    return _UNITS(rows.assign(question_id=rows["question_id"] * 100 + rows["form"]), weights)


_UNITS = guarantee._units
FAULTS = {
    "δ is not shared among the sequences": (
        "accept", lambda p, delta, sequences: accept(p, delta * len(sequences), sequences),
        "memory right where the passage is wrong"),
    "an excess shifted by 0.01": (
        "excess_p_value", lambda excess, alpha: excess_p_value(excess - 0.01, alpha), "risk 0.021 of many answers"),
    "forms of a question as if they were independent": ("_units", _items_as_units, "ten forms of a question, alike"),
    "equal halves, whatever the share of false passages": (
        "half_weights", lambda share: {True: 0.5, False: 0.5}, "wrong on false passages"),
    "no test": (
        "excess_p_value", lambda excess, alpha: 1.0 * (excess.mean(axis=-1) > 0), "ten forms of a question, alike"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_procedure_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, planted, edge = FAULTS[fault]
    monkeypatch.setattr(guarantee, name, planted)
    assert found_at(edge, 50)[1] < 0.01


@pytest.mark.parametrize("population", ["risk falls with τ", "risk up and down, graded verdicts"])
def test_the_simulation_chooses_as_the_procedure_does(population: str) -> None:
    assert fitted_alike(population, FALSE_SHARES[0], 10) == 10
