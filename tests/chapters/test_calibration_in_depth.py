"""Variants of confidence by hand, and recalibration against scikit-learn."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from srdcr_lab import calibration_in_depth as on
from srdcr_lab.confidence import compared_at
from srdcr_lab.lib.definitions import mean_logprob, mean_probability, sequence
from srdcr_lab.protocols import Answer
from srdcr_lab.protocols.answering import answer_logprobs
from srdcr_lab.records import AnswerType, Completion
from tests.scripted import item

TOKENS, PROBABILITIES = ["In ", "18", "74", "."], [0.5, 0.9, 0.4, 0.8]


def reply(**changes: object) -> dict[str, object]:
    usual = {"question_id": "q", "stream": "greedy", "draw": 0, "text": "In 1874.", "answer": "1874", "correct": True}
    return {**usual, "tokens": TOKENS, "logprobs": np.log(PROBABILITIES), **changes}


def test_by_hand() -> None:
    variants = on.confidence_variants(pd.DataFrame([reply()]), {"q": item()})
    found = variants.set_index(["counted", "confidence_kind"])["confidence"]
    assert found["answer", "mean_logprob"] == pytest.approx(math.sqrt(0.9 * 0.4))
    assert found["answer", "sequence"] == pytest.approx(0.36)
    assert found["answer", "mean_probability"] == pytest.approx(0.65)
    assert found["reply", "sequence"] == pytest.approx(0.5 * 0.9 * 0.4 * 0.8)
    assert found["reply", "mean_probability"] == pytest.approx(0.65)
    assert found["first"].tolist() == pytest.approx([0.5] * 3)


@pytest.mark.parametrize(("text", "tokens", "value", "answer_type"), [
    ("In 1874.", TOKENS, "1874", "year"), ("1874", ["18", "74"], "1874", "year"),
    ("2 km, or 2000 m", ["2 km", ", or ", "2000", " m"], "2000", "number"),
    (" Rome \n", [" ", "Rome", " \n"], "Rome", "city"),
    ("It was Marie Curie, born Skłodowska.", ["It was ", "Marie", " Curie", ", born Skłodowska."], "Curie", "name"),
    ("no idea", ["no", " idea"], None, "year"),
])  # fmt: skip
def test_answer_tokens_are_those_of_protocol(text: str, tokens: list[str], value: str | None, answer_type: str) -> None:
    """The confidence that a run computes, from the same reply."""
    logprobs = tuple(np.log(np.linspace(0.3, 0.9, len(tokens))))
    completion = Completion(text=text, tokens=tuple(tokens), logprobs=logprobs)
    asked = replace(item(), answer_type=AnswerType(answer_type), unit="m" if answer_type == "number" else "")
    chosen = answer_logprobs(Answer(value, completion), asked)
    row = reply(text=text, tokens=tokens, logprobs=logprobs, answer=value)
    found = on.confidence_variants(pd.DataFrame([row]), {"q": asked}).set_index(["counted", "confidence_kind"])
    assert found.loc[("answer", "mean_logprob"), "n_tokens"] == len(chosen)
    for kind, mean in (("mean_logprob", mean_logprob), ("sequence", sequence), ("mean_probability", mean_probability)):
        assert found.loc[("answer", kind), "confidence"] == pytest.approx(mean(chosen))


def test_two_kinds_by_hand_and_two_of_which_no_question_has_both() -> None:
    """Four questions have both; the second and the fourth are on other sides of 0.9."""
    kinds = pd.DataFrame({"a": [0.95, 0.92, 0.5, 0.1, 0.9], "b": [0.99, 0.80, 0.6, 0.91, None]})
    row = compared_at(kinds, 0.9).iloc[0]
    assert (row["first"], row["second"], row["n"], row["n_flipped"], row["flipped"]) == ("a", "b", 4, 2, 0.5)
    assert row["spearman"] == pytest.approx(spearmanr(kinds["a"][:4], kinds["b"][:4]).statistic)
    assert row["low"] <= row["spearman"] <= row["high"]
    assert 0 < row["flipped_low"] < 0.5 < row["flipped_high"] < 1
    row = compared_at(pd.DataFrame({"a": [None, 0.5], "b": [0.5, None]}, dtype=float)).iloc[0]
    assert row["n"] == 0
    assert row[["spearman", "flipped", "flipped_low"]].isna().all()


def test_agreement_with_the_greedy_answer() -> None:
    draws = [reply(stream="self_consistency", draw=i, answer=answer) for i, answer in enumerate(["1874", "1875", None])]
    items = {"q": replace(item(), aliases=("1875",))}  # both are right, which a confidence may not know
    assert on.agreement_matrix(pd.DataFrame([reply(), *draws]), items).loc["q"].tolist() == [True, False, False]
    assert on.agreement_matrix(pd.DataFrame([reply(answer=None), *draws]), items).empty


def test_without_a_greedy_answer_the_first_draw_is_shown_and_has_no_confidence() -> None:
    draws = [reply(stream="self_consistency", draw=i, tokens=None, logprobs=None) for i in (1, 0)]
    variants = on.confidence_variants(pd.DataFrame(draws), {"q": item()})
    assert set(variants["confidence_kind"]) == {"mean_logprob", "sequence", "mean_probability"}
    assert len(variants) == 9
    assert variants["confidence"].isna().all()


@pytest.mark.parametrize(("said", "agrees"), [
    (["1875", "1874", "in 1874"], [False, True, True]),
    (["1875", "1874"], [True, False]),  # of equals the one drawn first
    ([None, "1874"], [False, True]),
])  # fmt: skip
def test_without_a_greedy_answer_draws_agree_with_most_frequent_one(said: list[str | None], agrees: list[bool]) -> None:
    draws = [reply(stream="self_consistency", draw=i, answer=answer) for i, answer in enumerate(said)]
    assert on.agreement_matrix(pd.DataFrame(draws[::-1]), {"q": item()}).loc["q"].tolist() == agrees


@pytest.mark.parametrize("agreeing", [0, 5, 6, 7])
def test_fewer_draws_by_enumeration(agreeing: int) -> None:
    draws = np.arange(7) < agreeing
    found = on.consistency_by_draws([draws], tau=0.8).set_index("size")
    for size in (2, 4, 6):
        shares = [draws[list(subset)].mean() for subset in combinations(range(7), size)]
        flipped = np.mean([(share >= 0.8) != (draws.mean() >= 0.8) for share in shares])
        assert found.loc[size, "flipped"] == pytest.approx(flipped)
        assert found.loc[size, "difference"] == pytest.approx(np.mean(np.abs(np.array(shares) - draws.mean())))


def test_fifteen_of_sixteen() -> None:
    """What τ = 0.90 means for 16 draws, and for 8: all of them."""
    found = on.consistency_by_draws(np.ones((3, 16))).set_index("size").loc[[8, 16]]
    assert found["least_agreeing"].tolist() == [8, 15]
    assert found["flipped"].tolist() == pytest.approx([0, 0])
    assert on.consistency_by_draws(np.ones((3, 16)), tau=1.01).set_index("size").loc[8, "least_agreeing"] == 9
    with np.errstate(all="raise"):
        assert set(on.consistency_by_draws(np.ones((0, 0)))["n"]) == {0}


def drawn(seed: int = 0, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and outcomes for which they are too high."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1, n)
    return confidence, (rng.random(n) < confidence**3).astype(float)


def test_platt_against_scikit_learn() -> None:
    """Its sigmoid calibration of a classifier whose decision function is the confidence."""

    class Confidence(LogisticRegression):
        def decision_function(self, X):  # type: ignore[no-untyped-def]  # noqa: N803
            return X[:, 0]

    confidence, target = drawn()
    fitted = FrozenEstimator(Confidence().fit(confidence[:, None], target))
    theirs = CalibratedClassifierCV(fitted, method="sigmoid", ensemble=False, cv=2).fit(confidence[:, None], target)
    expected = theirs.predict_proba(confidence[:, None])[:, 1]
    assert on._platt(confidence, target)(confidence) == pytest.approx(expected, abs=1e-4)


def test_isotonic_against_scikit_learn() -> None:
    confidence, target = drawn(3)
    assert on._isotonic(confidence, target)(confidence) == pytest.approx(IsotonicRegression().fit_transform(*drawn(3)))


def test_no_question_teaches_its_own() -> None:
    """Of each question one row is right and one wrong, at the same confidence: in one fold they say nothing of it."""
    confidence, target = np.repeat(np.linspace(0.1, 0.9, 20), 2), np.tile([1.0, 0.0], 20)
    own = on.recalibrated(confidence, target, "isotonic", np.repeat(np.arange(20), 2))
    assert own == pytest.approx(np.full(40, 0.5))
    assert set(on.recalibrated(confidence, target, "isotonic")) != {0.5}


def test_missing_ones_stay_missing() -> None:
    confidence, target = drawn(9, 40)
    values = np.append(confidence, [math.nan, 0.5])
    found = on.recalibrated(values, [*target, True, None])
    assert np.isnan(found).tolist() == [False] * 40 + [True, True]
    assert found[:40] == pytest.approx(on.recalibrated(confidence, target))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_one_class_or_too_few_have_no_recalibration(n: int) -> None:
    assert np.isnan(on.recalibrated([0.5] * n, [True] * n)).all()
