"""Context and prior preference, biases and slopes: worked by hand, and a second way."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import LogisticRegression

from srdcr_lab import preference as on
from srdcr_lab.debates import prior_preference_by_round
from srdcr_lab.lib.groups import with_matches
from srdcr_lab.records import BadInput
from tests.simulated import frame, simulated

HIGH, UNKNOWN = "HIGHLY_KNOWN", "UNKNOWN"


def row(question: str, offset: float, prior: str | None, final: str | None, **more: Any) -> dict[str, Any]:
    """A few-shot row of a question whose gold answer is 1900."""
    false = offset != 0
    return {
        "model": "m", "method": "few_shot", "design": None, "item_id": f"{question}@{offset:+g}", "domain": "years",
        "question_id": question, "answer_type": "year", "gold_answer": "1900", "claimed_answer": f"{1900 + offset:g}",
        "perturbation_kind": "offset" if false else "none", "perturbation_value": offset if false else np.nan,
        "level": "subtle" if false else "standard", "knowledge_category": HIGH, "prior_answer": prior,
        "prior_correct": None if prior is None else prior == "1900", "context_answer": final, "final_answer": final,
        "correct": None if final is None else final == "1900", "verdict": None, "verdict_path": None, "rounds": None,
        "self_confidence": 0.95, "tau": 0.9,
    } | more  # fmt: skip


ROWS = frame(
    row("a", 20, "1900", "1920"),  # follows the claim
    row("b", -20, "1900", "1900"),  # keeps to its prior answer
    row("c", 20, "1900", None),  # no answer
    row("d", 20, "1920", "1920"),  # its prior answer is the claim: tells nothing
    row("e", 20, None, "1920", knowledge_category=UNKNOWN),  # no prior answer: still follows the claim
    row("f", 200, "1900", "2100"),  # follows a claim in the future
    row("g", 0, "1890", "1890"),  # a true passage, prior wrong, keeps to it
    row("h", 0, "1890", "1900"),  # a true passage, prior wrong, follows the passage
)


def test_context_preference_by_hand() -> None:
    table = on.context_preference(ROWS, ("stratum",))
    main = table[~table["prior_is_claim"]].set_index("stratum")
    assert list(main.index) == ["offset 20", "offset 200"]
    assert main["n"].tolist() == [3, 1]  # a, b, e; f
    assert main["share"].tolist() == pytest.approx([2 / 3, 1.0])
    assert main["n_missing"].tolist() == [1, 0]  # c
    apart = table[table["prior_is_claim"]]  # d
    assert apart[["stratum", "n", "share"]].to_numpy().tolist() == [["offset 20", 1, 1.0]]


def test_two_spellings_of_the_only_gold_answer_are_one_answer() -> None:
    pair = row("a", 20, "Kyiv", "Kiev", prior_correct=True, correct=True, answer_type="city", gold_answers=["Kyiv"])
    rows = frame(pair, pair | {"gold_answers": ["Kyiv", "Lviv"]}, pair | {"correct": False}, pair | {"correct": None})
    assert with_matches(rows)["final_is_prior"].tolist() == [True, False, False, False]


def test_every_category_has_a_cell_even_an_empty_one() -> None:
    table = on.context_preference(ROWS, ("stratum", "knowledge_category")).set_index(["stratum", "knowledge_category"])
    assert table.loc[("offset 20", UNKNOWN), "n"].item() == 1
    empty = table.loc[("offset 200", "MAYBE_KNOWN")]
    assert empty["n"] == 0
    assert math.isnan(empty["share"])


def test_signed_offsets_stand_apart_and_future_years_are_flagged() -> None:
    table = on.context_preference(ROWS, ("offset", "future"))
    found = table[table["n"] > 0].set_index(["offset", "future", "prior_is_claim"])["n"].to_dict()
    assert found == {(-20, False, False): 1, (20, False, False): 2, (200, True, False): 1, (20, False, True): 1}


def test_context_answers_stand_in_where_few_shot_was_not_run() -> None:
    other = ROWS.assign(method="sr_dcr", design="acvd", final_answer=None)
    pd.testing.assert_frame_equal(on.context_preference(other, ("stratum",)), on.context_preference(ROWS, ("stratum",)))


def test_questions_weigh_alike_where_one_has_more_passages() -> None:
    """Question a follows one of two lies, question b its only one: 2/3 of the passages, 3/4 of the questions."""
    rows = frame(row("a", 20, "1900", "1920"), row("a", -20, "1900", "1900"), row("b", 20, "1900", "1920"))
    plain, alike = (on.context_preference(rows, (), questions_alike=each).iloc[0] for each in (False, True))
    assert (plain["share"], alike["share"]) == pytest.approx((2 / 3, 3 / 4))
    assert alike["n_questions"] == 2


def test_a_curve_for_each_kind_of_answer() -> None:
    number = {"answer_type": "number", "gold_answer": "3", "claimed_answer": "6", "correct": True}
    years = [row(f"y{n}", 20, "1900", "1920") for n in range(12)]
    rows = frame(*years, *(row(f"z{n}", 20, "3", "3", **number) for n in range(3)))
    table = on.preference_by(rows, "level", panel="kind")
    table = table[table["n"] > 0].set_index("kind")
    assert table.loc["years", ["level", "share"]].tolist() == ["subtle", 1.0]
    assert table.loc["numbers", ["level", "share"]].tolist() == ["all together", 0.0]


def test_endings_by_hand() -> None:
    """False, without d: a, e and f follow, b is right, c has no answer. True: g keeps its wrong year, h is right."""
    table = on.endings_by(ROWS).set_index(["condition", "ending"])["share"]
    assert table["true passages"].to_dict() == {on.RIGHT: 0.5, on.FOLLOWED: 0.0, on.OTHER: 0.5, on.MISSING: 0.0}
    assert table["false passages"].to_dict() == pytest.approx(
        {on.FOLLOWED: 0.6, on.RIGHT: 0.2, on.OTHER: 0.0, on.MISSING: 0.2}
    )


def test_a_difference_between_categories_by_hand() -> None:
    """Of 10 Highly-Known questions none is followed, of 12 Unknown ones every one, in two passages each."""
    known = [row(f"h{n}", 20, "1900", "1900") for n in range(10)]
    unknown = [
        row(f"u{n}", offset, "1800", f"{1900 + offset}", knowledge_category=UNKNOWN)
        for n in range(12)
        for offset in (20, 40)
    ]
    found, low, high, n = on.difference(frame(*known, *unknown), "knowledge_category", HIGH, UNKNOWN)
    assert (found, n) == (-1.0, 10)
    assert low < -0.5 > high - 0.5
    assert on.difference(frame(*known), "knowledge_category", HIGH, UNKNOWN).n == 0


def run(records: pd.DataFrame, years: pd.DataFrame | None = None) -> Any:
    """As much of `Results` as the chapter reads."""
    parts = {} if years is None else {"years": run(years)}
    return SimpleNamespace(label="m", records=records, part=parts.get)


def test_a_run_and_its_part_of_years_are_one_table_without_doubles() -> None:
    years = frame(row("a", 20, "1900", "1920"), row("a", 40, "1900", "1940"))
    rows = on.of_results(run(ROWS, years))
    assert len(rows) == len(ROWS) + 1
    both = on.years_beside(rows[rows["question_id"] == "b"], run(ROWS, years.assign(model="other")))
    assert both["model"].tolist() == ["m", "other", "other"]


def test_the_answer_has_three_sentences_and_a_run_of_true_passages_has_none() -> None:
    box = on.answer(run(simulated(60)))
    assert box.count("<li>") == 3
    with pytest.raises(BadInput, match="no answers to false passages; srdcr run"):
        on.answer(run(ROWS[ROWS["level"] == "standard"]))


def test_biases_by_hand() -> None:
    """Context: a, b, c, f have a right prior and a false passage; a and f follow, c has no answer. Prior: g of g, h."""
    table = on.biases(ROWS).set_index("bias")
    assert table["n"].tolist() == [4, 2]
    assert table["share"].tolist() == pytest.approx([2 / 4, 1 / 2])
    assert table["n_missing"].tolist() == [1, 0]


def test_questions_weigh_alike_in_a_bias_and_an_unread_prior_answer_in_none() -> None:
    """Of a's three false passages all are followed, of b's one none: half, whether a has three passages or one."""
    rows = frame(
        *(row("a", offset, "1900", str(1900 + offset)) for offset in (20, 50, 100)), row("b", 20, "1900", "1900")
    )
    context = on.biases(rows).set_index("bias").loc["context"]
    assert (context["share"], context["n"], context["n_questions"]) == (0.5, 4, 2)
    by_domain = on.biases(rows.assign(domain="years"), by=("domain",)).set_index("bias").loc["context"]
    assert by_domain[["share", "low", "high"]].tolist() == context[["share", "low", "high"]].tolist()
    unread = frame(row("a", 0, None, "1900"), row("b", 20, None, "1920"))
    assert on.biases(unread)["n"].tolist() == [0, 0]


def test_prior_preference_of_judge_debates_by_hand() -> None:
    records = frame(
        *(row(q, 20, "1900", "1900", method="judge_debate_1") for q in "ab"),
        row("a", 20, "1900", "1920", method="judge_debate_5"),
        row("b", 20, "1900", "1900", method="judge_debate_5"),
    )
    table = prior_preference_by_round(records)
    assert table[["debate", "round", "n", "share"]].to_numpy().tolist() == [
        ["judge_debate", 1, 2, 1.0],
        ["judge_debate", 5, 2, 0.5],
    ]


def debated(question: str, path: str) -> dict[str, Any]:
    """A debate over a passage that the context answer follows."""
    ruled = {"method": "sr_dcr", "design": "acvd", "verdict_path": path, "verdict": "x", "rounds": len(path)}
    return row(question, 20, "1900", None, **({"context_answer": "1920"} | ruled))


def test_prior_preference_of_a_debate_is_what_each_rounds_verdict_leads_to() -> None:
    """Round 0: U U, both prior. Round 1: R and U. Round 2: R and ?, which leads to no answer. A debate that stopped
    early keeps its last verdict."""
    table = prior_preference_by_round(frame(debated("a", "URR"), debated("b", "UU?")))
    assert table["debate"].unique().tolist() == ["acvd"]
    assert table["share"].tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert table["n_missing"].tolist() == [0, 0, 1]
    table = prior_preference_by_round(frame(debated("a", "UURR"), debated("b", "UU")))
    assert table["share"].tolist() == pytest.approx([1.0, 1.0, 0.5, 0.5])


def test_the_slope_is_sklearns() -> None:
    rng = np.random.default_rng(2)
    x = rng.choice([0.2, 0.4, 0.6, 1.0, 2.0], 200)
    y, clusters = rng.random(200) < 1 / (1 + np.exp(-(0.8 - 1.1 * x))), rng.integers(0, 60, 200)
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x[:, None], y)
    found = on.logistic_slope(x, y, clusters)
    assert found["slope"] == pytest.approx(other.coef_[0, 0], abs=1e-4)
    assert found["odds_ratio"] == pytest.approx(math.exp(found["slope"]))
    of_questions = t(len(set(clusters)) - 1)
    assert on.logistic_slope(x, clusters < 4, clusters)["note"].startswith("only 4 questions with the rarer outcome")
    error = (found["high"] - found["low"]) / 2 / of_questions.ppf(0.975)
    assert found["p_value"] == pytest.approx(2 * of_questions.sf(abs(found["slope"]) / error))


@pytest.mark.parametrize(("x", "y", "note"), [
    ([0.2, 0.4, 0.6], [1, 1, 1], "every claim was followed"),
    ([0.2, 0.4, 0.6], [0, 0, 0], "no claim was followed"),
    ([0.2, 0.4, 0.6, 1.0], [1, 1, 0, 0], "the offset separates the outcomes"),
    ([0.4, 0.4, 0.4], [1, 0, 1], "one offset only"), ([0.2, 0.4], [1, 0], "fewer than 3 questions"),
])  # fmt: skip
def test_where_there_is_no_slope_a_note_says_why(x: list[float], y: list[int], note: str) -> None:
    found = on.logistic_slope(x, y, range(len(x)))
    assert math.isnan(found["slope"])
    assert found["note"] == note


def test_the_slope_of_two_offsets_is_the_difference_of_their_log_odds_per_100_years() -> None:
    """20 years off 3 of 4 claims are followed, 220 years off 1 of 4: (logit 1/4 − logit 3/4) / 2 hundred years."""
    followed = {20: (True, True, True, False), 220: (True, False, False, False)}
    rows = [
        row(f"{offset}/{i}", sign * offset, "1900", f"{1900 + sign * offset}" if follows else "1900")
        for offset, answers in followed.items()
        for i, (follows, sign) in enumerate(zip(answers, (1, -1, 1, -1), strict=True))
    ]
    table = on.offset_slopes(frame(*rows)).set_index("knowledge_category")
    assert table.loc["all", ["n", "n_questions"]].tolist() == [8, 8]
    assert table.loc["all", "slope"] == pytest.approx((math.log(1 / 3) - math.log(3)) / 2, abs=1e-6)
    assert table.loc["all", "slope"] == table.loc[HIGH, "slope"]


def test_without_a_false_passage_the_tables_are_empty_and_can_be_filtered() -> None:
    records = simulated()
    true = records[records["level"] == "standard"]
    for table in (on.context_preference(true), prior_preference_by_round(true)):
        assert list(table[~table["prior_is_claim"]].columns) == list(table.columns)
        assert table.empty


def test_pairs_of_the_future_and_the_past_are_one_question_moved_as_far_either_way() -> None:
    """Followed or not, by question (with its gold year) and offset; None: no answer."""
    asked = {
        ("a", 1960): {100: False, -100: True, 200: False, -200: True, 20: True, -20: True},  # +20 is 1980
        ("b", 1970): {100: True, -100: True, 200: False},  # −200 was not asked
        ("c", 1700): {200: False, -200: True},  # 1900: no future
        ("d", 1990): {100: None, -100: True},  # no answer
        ("e", 1990): {100: False, -100: True},  # memory says what the backward passage claims
    }
    rows = []
    for (name, gold), followed in asked.items():
        for offset, did in followed.items():
            claim, prior = str(gold + offset), "1890" if name == "e" else "1500"
            final = None if did is None else claim if did else prior
            rows.append(row(name, offset, prior, final, gold_answer=str(gold), claimed_answer=claim, level="blatant"))
    found = on.future_against_past(frame(*rows))
    assert (found.n, found.difference.n, found.n_unpaired) == (3, 2, 2)  # b's +200, and e's −100 is the prior answer
    assert (found.mean_a, found.mean_b) == (1 / 3, 1.0)
    assert found.difference.value == pytest.approx(-2 / 3)
    assert on.future_against_past(frame(*[each for each in rows if each["question_id"] == "c"])).n == 0
