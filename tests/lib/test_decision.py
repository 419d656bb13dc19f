"""The decision rule and the stabilised verdict, worked by hand [paper 3.1, 3.2]."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from srdcr_lab.lib.definitions import missing_reason
from srdcr_lab.lib.gating import decided
from srdcr_lab.protocols import Ruling, decide, stabilised_verdict
from srdcr_lab.records import Decision, Missing, Verdict

R, U, X = Verdict.REASONABLE, Verdict.UNREASONABLE, Verdict.UNPARSED
LETTERS = {"R": R, "U": U, "?": X}


@pytest.mark.parametrize(("path", "verdict", "r_star", "stabilised"), [
    ("RRRRRR", R, 0, True),  # one opinion from the start
    ("UUUUUU", U, 0, True), ("RUUUUU", U, 1, True),
    ("RRUURR", R, 4, True),  # the earlier R do not count: U stands between
    ("RURURU", U, 5, False),  # alternates to the end
    ("UUUUUR", R, 5, False),  # changed in the last round
    ("RR?RRR", R, 3, True),  # UNPARSED breaks the run
    ("RRRR?R", R, 5, False), ("?UUUUU", U, 1, True),
    ("RRRRR?", X, None, False),  # the last is UNPARSED, so is V*
    ("??????", X, None, False),
    ("R", R, 0, False),  # one round: r* = R − 1
    ("", X, None, False),
])  # fmt: skip
def test_stabilised_verdict(path: str, verdict: Verdict, r_star: int | None, stabilised: bool) -> None:
    assert stabilised_verdict([LETTERS[v] for v in path]) == Ruling(verdict, r_star, stabilised)


def test_r_star_counts_rounds_where_the_first_verdict_falls_in_round_1() -> None:
    assert stabilised_verdict([R, U, U, U, U], first_round=1) == Ruling(U, 2, stabilised=True)
    assert stabilised_verdict([U, U, U, U, U], first_round=1) == Ruling(U, 1, stabilised=True)


def test_r_star_is_the_earliest_round_of_the_papers_equation() -> None:
    """Every path of four rounds against the printed condition V(r) = V(r+1) = … = V(R−1), tried for every r."""
    for path in product((R, U, X), repeat=4):
        stands = [r for r in range(4) if len(set(path[r:])) == 1 and path[-1] is not X]
        ruling = stabilised_verdict(path)
        assert ruling.verdict is path[-1]
        assert ruling.r_star == (min(stands) if stands else None)
        assert ruling.stabilised == (ruling.r_star is not None and ruling.r_star < 3)


@pytest.mark.parametrize(("verdict", "confidence", "gate", "decision"), [
    (R, 0.99, True, Decision.USE_CONTEXT), (R, 0.01, True, Decision.USE_CONTEXT),
    (R, math.nan, True, Decision.USE_CONTEXT), (U, 0.91, True, Decision.USE_PRIOR),
    (U, 0.90, True, Decision.USE_PRIOR),  # Conf ≥ τ
    (U, math.nextafter(0.90, 0), True, Decision.ABSTAIN), (U, math.nan, True, Decision.ABSTAIN),
    (X, 0.99, True, Decision.ABSTAIN), (R, 0.01, False, Decision.USE_CONTEXT),
    (U, 0.01, False, Decision.USE_PRIOR), (U, math.nan, False, Decision.USE_PRIOR),
    (X, 0.99, False, Decision.ABSTAIN),
])  # fmt: skip
def test_routing(verdict: Verdict, confidence: float, gate: bool, decision: Decision) -> None:
    assert decide(verdict, confidence, 0.90, gate=gate) is decision


@pytest.mark.parametrize("confidence", [0.95, 0.5, math.nan])
@pytest.mark.parametrize("action", Decision)
def test_other_actions_than_the_papers(action: Decision, confidence: float) -> None:
    """An unreasonable or unparsed verdict leads where it is said to; to the prior answer only where Conf ≥ τ."""
    reached = Decision.ABSTAIN if action is Decision.USE_PRIOR and not confidence >= 0.9 else action
    assert decide(U, confidence, unreasonable=action) is reached
    assert decide(X, confidence, unparsed=action) is reached
    assert decide(R, confidence, unreasonable=action, unparsed=action) is Decision.USE_CONTEXT
    assert decide(X, confidence, unreasonable=action) is Decision.ABSTAIN


@pytest.mark.parametrize(("verdict", "decision", "readable", "missing"), [
    (R, Decision.USE_CONTEXT, True, None), (R, Decision.USE_CONTEXT, False, Missing.UNPARSED),
    (U, Decision.USE_PRIOR, True, None), (U, Decision.USE_PRIOR, False, Missing.UNPARSED),
    (U, Decision.ABSTAIN, False, Missing.ABSTAINED), (X, Decision.ABSTAIN, False, Missing.UNPARSED),
    (X, Decision.USE_CONTEXT, True, None), (None, Decision.USE_CONTEXT, True, None),
])  # fmt: skip
def test_why_no_answer(verdict: Verdict | None, decision: Decision, readable: bool, missing: Missing | None) -> None:
    assert missing_reason(verdict, decision, readable=readable) is missing


def test_texts_of_a_table_are_verdicts_too() -> None:
    said = ["REASONABLE", "UNREASONABLE", "UNPARSED", math.nan]
    assert [decide(each, 0.95) for each in said] == ["USE_CONTEXT", "USE_PRIOR", "ABSTAIN", "USE_CONTEXT"]
    assert decide("UNREASONABLE", 0.1, unreasonable=Decision("USE_PRIOR")) is Decision.ABSTAIN
    assert stabilised_verdict(said[:2] + said[1:2]) == Ruling(U, 1, stabilised=True)
    assert stabilised_verdict(said[:3]) == Ruling(X, None, stabilised=False)
    assert missing_reason("UNPARSED", "ABSTAIN", readable=False) is Missing.UNPARSED
    with pytest.raises(ValueError, match="'reasonable' is not a valid Verdict"):
        decide("reasonable", 0.95)


def test_the_rows_of_a_table_follow_the_same_rule() -> None:
    """Every verdict, confidence and option, with answers that are right, wrong or unread."""
    cases = product((R, U, X, None), (0.95, 0.5, math.nan), (True, False, None), (True, False, None))
    columns = ["verdict", "self_confidence", "context_correct", "prior_correct"]
    rows = pd.DataFrame(cases, columns=columns).assign(method="sr_dcr", missing=None)
    for gate, unreasonable, unparsed in product((True, False), Decision, Decision):
        options = {"gate": gate, "unreasonable": unreasonable, "unparsed": unparsed}
        for row, *found in zip(rows.itertuples(), *decided(rows, 0.9, **options), strict=True):
            decision = decide(row.verdict, row.self_confidence, 0.9, **options)
            correct = {"USE_CONTEXT": row.context_correct, "USE_PRIOR": row.prior_correct}.get(decision)
            missing = missing_reason(row.verdict, decision, readable=correct is not None)
            assert found == [decision, missing or ("right" if correct else "wrong")]
    sure = rows["self_confidence"].to_numpy() >= [[0.9], [0.4]]  # several τ at once
    decision, _ = decided(rows.assign(method="confidence_only"), [0.9, 0.4])
    assert (decision == np.where(sure, "USE_PRIOR", "USE_CONTEXT")).all()
    assert set(decided(rows.assign(missing="error"), 0.9)[1]) == {"error"}
