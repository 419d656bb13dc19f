"""Choices of τ by hand, against MAPIE, and in a small simulation (bench/guarantees.py); their promises in words."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapie.risk_control import BinaryClassificationController, precision
from mapie.risk_control.fwer_control import FWERFixedSequenceTesting, control_fwer
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from bench.guarantees import POPULATIONS, simulate
from bench.transfer import _rows as transfer_rows
from srdcr_lab import thresholds as on
from srdcr_lab.confidence import precision_steps
from srdcr_lab.preference import PASSAGE_ENDS
from srdcr_lab.records import BadInput

# Ten questions: above 0.9 all right, 0.8 one of two, below that all wrong.
STEPS = precision_steps([0.95] * 6 + [0.8] * 2 + [0.3] * 2, [True] * 6 + [True, False] + [False] * 2)
FEWER = settings(max_examples=25)
QUESTIONS = st.lists(st.tuples(st.integers(0, 10).map(lambda k: k / 10), st.booleans()), min_size=1, max_size=60)


def known(n_right: int, n_wrong: int, confidence: float = 0.93):  # type: ignore[no-untyped-def]
    """Questions of one confidence."""
    return precision_steps([confidence] * (n_right + n_wrong), [True] * n_right + [False] * n_wrong)


@pytest.mark.parametrize("choose", [on.naive_threshold, on.learn_then_test])
def test_nothing_attains_it(choose) -> None:  # type: ignore[no-untyped-def]
    choice = choose(known(0, 50))
    assert (choice.tau, choice.above.coverage.value) == (None, 0)
    assert choice.guarantee.startswith("no threshold attains this")


@pytest.mark.parametrize(("options", "says"), [
    ({"alpha": 0.0}, "alpha lies between 0 and 1"), ({"alpha": 1.0}, "alpha lies"), ({"delta": -0.1}, "delta lies"),
    ({"starts": (0.91,)}, "each start is one of the taus"), ({"starts": ()}, "each start is one of the taus"),
])  # fmt: skip
def test_a_choice_out_of_range_is_bad_input(options: dict[str, Any], says: str) -> None:
    for choose in (on.learn_then_test, *([on.naive_threshold] if "alpha" in options else [])):
        with pytest.raises(BadInput, match=says):
            choose(STEPS, **options)


def test_naive_threshold_by_hand() -> None:
    """One wrong of eight at 0.8 is 0.125; three of ten below."""
    assert on.naive_threshold(STEPS, alpha=0.10).tau == 0.95
    assert on.naive_threshold(STEPS, alpha=0.125).tau == 0.8
    assert on.naive_threshold(STEPS, alpha=0.30).tau == 0.3


def test_p_values_by_hand() -> None:
    """None wrong of six: 0.9⁶. One of eight: 0.9⁸ + 8 × 0.1 × 0.9⁷."""
    tests = on.risk_tests(STEPS, taus=(0.9, 0.8, 0.99), starts=(0.9,)).set_index("tau")
    assert tests.loc[0.9, "p_value"] == pytest.approx(0.9**6)
    assert tests.loc[0.8, "p_value"] == pytest.approx(0.9**8 + 8 * 0.1 * 0.9**7)
    assert (tests.loc[0.99, "p_value"], tests.loc[0.99, "n_above"]) == (1, 0)


@FEWER
@given(QUESTIONS, st.sampled_from([0.1, 0.3]))
def test_p_values_question_by_question(questions: list[tuple[float, bool]], alpha: float) -> None:
    confidence, right = (np.array(part) for part in zip(*questions, strict=True))
    for row in on.risk_tests(precision_steps(confidence, right), alpha=alpha).itertuples():
        above = right[confidence >= row.tau]
        assert row.p_value == pytest.approx(binom.cdf((~above).sum(), above.size, alpha) if above.size else 1)


def test_how_many_it_takes() -> None:
    """One τ at δ = 0.1: 0.9²² ≤ 0.1 < 0.9²¹. The sentence says so."""
    alone = partial(on.learn_then_test, taus=(0.9,), starts=(0.9,))
    assert alone(known(22, 0)).tau == 0.9
    choice = alone(known(21, 0))
    assert choice.tau is None
    assert "at least 22 questions above τ" in choice.guarantee


def test_from_a_start_downwards_until_a_test_fails() -> None:
    """60 right at 0.93, 100 wrong at 0.72, 3,000 right below: the order stops at 0.7 and never sees those."""
    steps = precision_steps([0.93] * 60 + [0.72] * 100 + [0.2] * 3000, [True] * 60 + [False] * 100 + [True] * 3000)
    assert on.learn_then_test(steps, starts=(0.9,)).tau == 0.75


def test_the_smallest_accepted() -> None:
    tests = on.risk_tests(known(300, 10, 0.85))
    choice = on.learn_then_test(known(300, 10, 0.85))
    assert choice.tau == tests.loc[tests["accepted"], "tau"].min() == min(on.TAUS)


CONFIDENCE = [0.9, 0.8, 0.7, 0.6] * 2
RIGHT = [True, True, False, False, True, False, True, True]
DOMAINS = ["a"] * 4 + ["b"] * 4


def test_transfer_matrix_by_hand() -> None:
    """On a the risk is 0 down to 0.8; on b it is 0 at 0.9 only, and 1/4 over all."""
    table = on.transfer(CONFIDENCE, RIGHT, DOMAINS, partial(on.naive_threshold, alpha=0.2))
    cells = table[~table["chosen_on"].str.startswith("all but")].set_index(["chosen_on", "applied_to"])
    assert cells["tau"].to_dict() == {("a", "a"): 0.8, ("a", "b"): 0.8, ("b", "a"): 0.9, ("b", "b"): 0.9}
    assert cells["risk"].to_dict() == {("a", "a"): 0, ("a", "b"): 0.5, ("b", "a"): 0, ("b", "b"): 0}
    assert cells["coverage"].to_dict() == {("a", "a"): 0.5, ("a", "b"): 0.5, ("b", "a"): 0.25, ("b", "b"): 0.25}
    assert cells.loc[("a", "b"), "guarantee"] == "no guarantee: τ was chosen on a and is used on b, which may differ"
    assert cells["same_questions"].tolist() == [True, False, False, True]
    low, high = proportion_confint(1, 2, method="jeffreys")
    assert cells.loc[("a", "b"), ["risk_low", "risk_high"]].tolist() == pytest.approx([low, high])


def test_no_threshold_to_transfer() -> None:
    found = on.transfer(CONFIDENCE, [False] * 8, DOMAINS, on.naive_threshold).tail(2)
    assert found["tau"].isna().all()
    assert found["n_above"].tolist() == [0, 0]
    assert found["guarantee"].str.startswith("no threshold attains this").all()


@pytest.mark.parametrize(("n_right", "n_wrong", "said"), [
    (20, 0, "even if none of them is wrong (3 tests share δ)"),
    (41, 2, "even if none of them is wrong (3 tests share δ); above τ = 0.97 there are 43, 2 of them wrong"),
])  # fmt: skip
def test_without_a_threshold_the_sentence_says_what_it_takes_and_what_is_there(
    n_right: int, n_wrong: int, said: str
) -> None:
    """43 above τ are more than the 33 that would do if none were wrong."""
    guarantee = on.learn_then_test(known(n_right, n_wrong, 0.99)).guarantee
    assert guarantee.endswith(f"takes at least 33 questions above τ, {said}")


def test_the_answer_begins_with_what_is_guaranteed_or_that_nothing_is() -> None:
    assert on.promise(on.learn_then_test(known(60, 1)), 0.1, 0.1) == (
        "Guaranteed: at confidence 0.00 or more, at most 0.1 of the answers from memory to further questions like "
        "these are wrong (1 of 61 wrong here, 0.02 [0.00, 0.07]); a τ chosen in this way breaks that promise "
        "with probability 0.1 at most."
    )
    assert on.promise(on.learn_then_test(known(6, 1)), 0.1, 0.1).startswith("No τ is guaranteed: risk ≤ 0.1 with")


def answers(*rows: tuple[str, str, str | None, bool | None]) -> pd.DataFrame:
    """Records of one question a row: level, claim, context answer, whether that is right."""
    columns = ["level", "claimed_answer", "context_answer", "context_correct"]
    table = pd.DataFrame(rows, columns=columns).astype({"context_correct": "boolean"})
    names = [f"q{place}" for place in range(len(rows))]
    return table.assign(item_id=names, question_id=names, answer_type="year", gold_answer="1900", method="sr_dcr",
                        model="m", final_answer=None, prior_answer=None, perturbation_kind="offset",
                        perturbation_value=20.0)  # fmt: skip


def test_answers_to_passages_end_in_one_of_four_ways() -> None:
    """Of four false passages one answer each: the claim, the truth, another year, none."""
    false = [("mild", "1920", said, said == "1900") for said in ("1920", "1900", "1950")]
    records = answers(("standard", "1900", "1900", True), *false, ("mild", "1920", None, None))
    table = on.passages_by_level(records).set_index(["level", "end"])["share"]
    names = list(PASSAGE_ENDS)
    assert table["standard"].to_dict() == dict(zip(names, (1, 0, 0, 0), strict=True))
    assert table["all levels"].to_dict() == dict.fromkeys(names, 0.25)
    assert on.followed(records).value == 0.25
    assert "0.25 [" in on.not_covered(records)
    assert "This run has none" in on.not_covered(records.iloc[:1])


def drawn(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(8, 1, n)
    return confidence, rng.random(n) < confidence**0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_same_tests_are_accepted_from_the_same_p_values(seed: int) -> None:
    tests = on.risk_tests(precision_steps(*drawn(seed)), starts=(max(on.TAUS),))
    same = control_fwer(tests["p_value"], 0.1, FWERFixedSequenceTesting(n_starts=1))
    assert np.flatnonzero(tests["accepted"]).tolist() == list(same)


@pytest.mark.parametrize("seed", range(3))
def test_what_mapie_accepts_the_exact_test_accepts(seed: int) -> None:
    """Its Hoeffding–Bentkus p-values bound ours from above: it finds a part of our thresholds."""
    confidence, right = drawn(seed)
    controller = BinaryClassificationController(
        predict_function=lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]), risk=precision, target_level=0.9,
        confidence_level=0.9, list_predict_params=np.array(on.TAUS), fwer_method="bonferroni",
    )  # fmt: skip
    controller.calibrate(confidence[:, None], right.astype(int))
    tests = on.risk_tests(precision_steps(confidence, right))
    ours = set(tests.loc[tests["p_value"] <= 0.1 / len(tests), "tau"])
    theirs = {float(tau) for tau in np.ravel(controller.valid_predict_params)}
    assert theirs
    assert theirs <= ours


DRAWS = 100


@pytest.fixture(scope="module")
def kept():  # type: ignore[no-untyped-def]
    return {population.name: simulate(population, DRAWS) for population in POPULATIONS}


@pytest.mark.parametrize("name", [population.name for population in POPULATIONS])
def test_tested_thresholds_keep_their_promise(kept, name: str) -> None:  # type: ignore[no-untyped-def]
    guaranteed = [of for method, of in kept[name].items() if method.startswith("Learn-then-Test")]
    assert len(guaranteed) == 3
    assert all(of.p_value > 0.05 for of in guaranteed)


@pytest.mark.parametrize("name", [population.name for population in POPULATIONS])
def test_the_threshold_that_looks_best_does_not(kept, name: str) -> None:  # type: ignore[no-untyped-def]
    assert kept[name]["naive"].p_value < 1e-6


def test_the_promise_is_not_kept_by_never_choosing(kept) -> None:  # type: ignore[no-untyped-def]
    assert kept["calibrated"]["Learn-then-Test"].chosen > DRAWS / 3


def _unshared(p_value, delta, sequences, accept=on.accept):  # type: ignore[no-untyped-def]
    return accept(p_value, delta * len(sequences), sequences)


def _unstopped(p_value, delta, sequences):  # type: ignore[no-untyped-def]
    return np.isin(np.arange(p_value.size), np.concatenate(sequences)) & (p_value <= delta / len(sequences))


@pytest.mark.parametrize(
    ("fault", "method"),
    [(_unshared, "Learn-then-Test"), (_unstopped, "Learn-then-Test, from 0.97 alone")],
    ids=["δ is not shared among the starts", "a sequence does not stop"],
)
def test_a_fault_of_the_procedure_breaks_the_promise(fault, method: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(on, "accept", fault)
    assert simulate(POPULATIONS[-1], 200, methods=(method,))[method].p_value < 0.01


def test_the_transfer_matrix_has_intervals_and_one_row_for_a_domain_without_threshold() -> None:
    """Domain a: 40 sure and right questions; b: two, on which nothing can be promised."""
    questions = pd.DataFrame(
        {
            "self_confidence": [0.95] * 40 + [0.9, 0.95],
            "prior_correct": [True] * 41 + [False],
            "domain": ["a"] * 40 + ["b"] * 2,
        }
    )
    rows = {str(row["name"]): row for row in transfer_rows("run", questions)}
    assert rows["run: τ by Learn-then-Test on a, risk on b"]["measured"] == 0.5
    assert "2 of 2 above τ" in str(rows["run: τ by Learn-then-Test on a, risk on b"]["detail"])
    assert "no threshold attains this" in str(rows["run: τ by Learn-then-Test on b"]["detail"])
    assert "run: τ by Learn-then-Test on b, risk on a" not in rows
