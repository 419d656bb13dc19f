"""The claims of section 4: each rule on both sides, each number by hand where it is not another measure's."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from srdcr_lab import claims as on
from srdcr_lab.claims import CLAIMS, Claim, Denominator, Evidence, check_claims, claims_table
from srdcr_lab.lib.comparison import compare
from srdcr_lab.lib.sentences import Relation, Standing
from srdcr_lab.lib.statistics import Estimate
from tests.chapters.test_preference import row
from tests.simulated import frame, simulated

RECORDS = simulated(120, ("acvd", "symmetric"))


@pytest.fixture(scope="module")
def checklist() -> pd.DataFrame:
    return check_claims(RECORDS)


def test_a_claim_is_supported_where_its_whole_interval_is() -> None:
    claim = Claim("x", "", "", "", Evidence, (), Relation.ABOVE, 0.7)
    assert claim.standing(Evidence(estimate=Estimate(0.8, 0.71, 0.9, 10), n=10)) is Standing.SUPPORTED
    assert claim.standing(Evidence(estimate=Estimate(0.8, 0.6, 0.9, 10), n=10)) is Standing.INCONCLUSIVE
    assert claim.standing(Evidence(estimate=Estimate(0.8, 0.71, 0.9, 9), n=9)) is Standing.TOO_FEW


def test_every_claim_has_a_number_where_everything_was_run(checklist: pd.DataFrame) -> None:
    table = checklist
    assert list(table["claim"]) == [claim.key for claim in CLAIMS for _ in claim.denominators]
    assert not table.duplicated(["claim", "denominator"]).any()
    assert table.loc[table["value"].isna(), "claim"].tolist() == []
    assert (table["n"] >= table["n_questions"]).all()
    inside = (table["low"] <= table["value"] + 1e-9) & (table["value"] <= table["high"] + 1e-9)
    assert table.loc[~inside, "claim"].tolist() == []


def test_what_was_not_run_is_not_measured_and_says_so() -> None:
    table = check_claims(RECORDS[RECORDS["method"] == "few_shot"]).set_index("claim")
    assert table.loc["4.4a2", "standing"].tolist() == ["Supported"] * 2
    not_run = ["Not measured", 0, "SR-DCR was not run"]
    assert table.loc["4.4f", ["standing", "n", "note"]].to_numpy().tolist() == [not_run] * 2


def test_what_rests_on_arguments_is_not_tested_where_debaters_repeat_themselves(checklist: pd.DataFrame) -> None:
    def said(method: str, design: str | None, *texts: str) -> list[dict[str, object]]:
        return [{"model": "simulated", "item_id": "q", "question_id": "q", "method": method, "design": design,
                 "role": "critic", "speaker": "", "position": place, "text": text}
                for place, text in enumerate(texts)]  # fmt: skip

    turns = pd.DataFrame([*said("sr_dcr", "acvd", "a", "b"), *said("judge_debate_5", None, "a", "a", "a")])
    table = check_claims(RECORDS.assign(run="one"), turns=turns).drop(columns="run")
    silent = table[table["standing"] == "Not tested"]
    assert sorted(set(silent["claim"])) == ["4.3a", "4.3b", "4.3e", "4.3f", "4.3g"]
    assert set(silent["note"]) == {"its debaters mostly repeat themselves"}
    assert silent["value"].equals(checklist.loc[silent.index, "value"]), "the number stays"
    assert table.drop(index=silent.index).equals(checklist.drop(index=silent.index))
    one = RECORDS.assign(run="one")
    several = pd.concat([one, one.assign(model="n"), RECORDS.assign(run="two")], ignore_index=True)
    apart = check_claims(several, turns=turns.assign(run="one")).query("standing == 'Not tested'")
    assert apart[["run", "model"]].drop_duplicates().values.tolist() == [["one", "simulated"]]


def answered(question: str, offset: float, method: str, right: bool | None) -> dict[str, object]:
    return row(question, offset, "1890", {True: "1900", False: "1800", None: None}[right], method=method)


def test_gap_by_hand() -> None:
    rows = [answered(q, 0, "few_shot", True) for q in "abcd"] + [answered(q, 20, "few_shot", q == "a") for q in "abcd"]
    assert on.gap(frame(*rows), "few_shot").estimate.value == pytest.approx(1 - 1 / 4)


def test_a_contrast_of_levels_by_hand() -> None:
    """Subtle: A 0 of 2, B 2 of 2. Blatant: A 1 of 2, B 1 of 2. −1 − 0."""
    blatant = {"level": "blatant"}
    rows = [answered(q, 20, m, m == "b") for q in "pq" for m in "ab"]
    rows += [answered(q, 200, m, q == "r") | blatant for q in "rs" for m in "ab"]
    found = on.accuracy_difference(frame(*rows), "a", "b", "subtle-blatant")
    assert found.estimate.value == pytest.approx(-1)


def test_prior_bias_contrast_by_hand() -> None:
    """True passages of questions it gets wrong: A keeps to its prior answer once in four, B twice: 1/4 − ½ · 2/4."""
    rows = [row(q, 0, "1890", "1890" if q in kept else "1900", method=m)
            for m, kept in (("a", "w"), ("b", "wx")) for q in "wxyz"]  # fmt: skip
    found = on.bias_contrast(frame(*rows), "a", "b", 0.5)
    assert (found.estimate.value, found.n) == (pytest.approx(0), 4)


def test_prior_preference_change_by_hand() -> None:
    """On false passages both answered: A keeps to the prior on 1 of 3, B on 2 of 3; d has no answer of A's."""
    answers = {
        "a": {"p": "1890", "q": "1920", "r": "1920", "d": None},
        "b": {"p": "1890", "q": "1890", "r": "1920", "d": "1890"},
    }
    rows = [row(q, 20, "1890", final, method=m) for m, given in answers.items() for q, final in given.items()]
    found = on.prior_preference_change(frame(*rows), "a", "b")
    assert (found.estimate.value, found.n) == (pytest.approx(-1 / 3), 3)


def test_highly_known_counts_questions_once_and_by_confidence() -> None:
    rows = [row(q, offset, "1900", "1900", self_confidence=c, confidence_kind="mean_logprob", knowledge_category=k)
            for q, c, k in (("a", 0.95, "HIGHLY_KNOWN"), ("b", 0.92, "UNKNOWN"), ("c", 0.5, "UNKNOWN"))
            for offset in (0, 20)]  # fmt: skip
    above, below = on.share_highly_known(frame(*rows), 0.9), on.share_highly_known(frame(*rows), 0, 0.7)
    assert (above.estimate.value, above.n, below.estimate.value, below.n) == (0.5, 2, 0.0, 1)


def test_the_least_over_the_offsets_needs_every_offset() -> None:
    """Ahead of few-shot by 1 on every question at 20, behind by 1 at 200: the least is −1, and so is its high end."""
    rows = [answered(f"{q}{o}", o, m, (m == "sr_dcr") == (o == 20)) for q in range(20) for o in (20, 200)
            for m in ("sr_dcr", "few_shot")]  # fmt: skip
    rows += [answered(f"{q}300", 300, "few_shot", True) for q in range(20)]  # where SR-DCR was not run
    found = on.least_over_strata(frame(*rows), "sr_dcr")
    assert found.estimate.value == -1
    assert found.estimate.high < 0


def test_each_denominator_by_hand() -> None:
    """A answers 4 of 8 false passages, all right; B answers all, 6 right. Of all items A is behind by a quarter,
    of the answered ones ahead by a quarter."""
    rows = [answered(q, 20, "a", True if q in "pqrs" else None) for q in "pqrstuvw"]
    rows += [answered(q, 20, "b", q not in "pq") for q in "pqrstuvw"]
    table = frame(*rows)
    assert on.accuracy_difference(table, "a", "b", "perturbed").estimate.value == pytest.approx(-0.25)
    assert on.accuracy_difference(table, "a", "b", "perturbed", Denominator.ANSWERED).estimate.value == pytest.approx(
        0.25
    )


def test_the_worse_half_by_hand() -> None:
    """True and false, A .75 and .5, B 1 and .25: their worse halves .5 − .25. Always abstaining gains nothing."""
    share = {("a", 0): "pqr", ("a", 20): "pq", ("b", 0): "pqrs", ("b", 20): "p"}
    rows = [answered(q, offset, m, q in right) for (m, offset), right in share.items() for q in "pqrs"]
    rows += [answered(q, offset, "c", None) for offset in (0, 20) for q in "pqrs"]
    assert (found := on.worse_half(frame(*rows), "a", "b")).estimate.value == pytest.approx(0.25)
    assert found.n == 8
    assert on.worse_half(frame(*rows), "c", "b").estimate.value == pytest.approx(-0.25)


def test_ahead_of_every_other_method_needs_all_of_them_and_behind_one_is_enough(monkeypatch: Any) -> None:
    """The low end is the least one, of a method that was not run −1; the high end is as wide as the number of methods
    asks. Neither golden nor a method that the paper does not have counts."""
    rng = np.random.default_rng(0)
    share_right = {"sr_dcr": 0.6, "few_shot": 0.4, "rci": 0.58, "golden": 1.0, "astute": 1.0, "vote_20": 1.0}
    rows = [answered(f"q{i}", 20, m, bool(rng.random() < p)) for i in range(200) for m, p in share_right.items()]
    table = frame(*rows)
    found = on.best_of_others(table, "sr_dcr")
    leads = [on.accuracy_difference(table, "sr_dcr", other, "perturbed") for other in ("few_shot", "rci")]
    assert found.estimate.value == min(lead.estimate.value for lead in leads)
    assert found.estimate.low == -1.0 < min(lead.estimate.low for lead in leads)
    assert found.estimate.high > min(lead.estimate.high for lead in leads)
    assert "RCI (n = " in found.note
    monkeypatch.setattr(on, "IN_PAPER", {*share_right} - {"astute", "vote_20"})
    found = on.best_of_others(table, "sr_dcr")
    assert found.estimate.low == min(lead.estimate.low for lead in leads)


def test_a_claim_does_not_hold_against_the_exact_test() -> None:
    """Five questions for A and none for B, of 30: p = 2 / 2⁵ = .0625, so 0 is in the interval."""
    rows = [answered(f"q{i}", 20, m, m == "a" or i >= 5) for i in range(30) for m in "ab"]
    found, other = on.accuracy_difference(frame(*rows), "a", "b", "perturbed"), compare(frame(*rows), "a", "b")
    assert other.p_value == pytest.approx(0.0625)
    assert found.estimate.low == other.difference.low == 0
    rows += [answered(f"r{i}", 20, m, m == "a") for i in range(2) for m in "ab"]
    assert on.accuracy_difference(frame(*rows), "a", "b", "perturbed").estimate.low > 0


def test_more_calls_by_hand() -> None:
    rows = frame(*(row(q, 0, "1", "1", method=m, calls_alone=c) for q in "ab" for m, c in (("a", 21), ("b", 20))))
    found = on.more_calls(rows, "a", "b")
    assert found.estimate == (1, 1, 1, 2)


def test_the_checklist_as_html_is_escaped(checklist: pd.DataFrame) -> None:
    table = checklist.head(2).copy()
    table["text"] = "<script>alert(1)</script>"
    html = claims_table(table)
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(1)") == len(table)
