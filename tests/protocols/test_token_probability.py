"""ClashEval's rules by hand: mean token probabilities, percentile ranks, and the pass over all items."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from srdcr_lab import Study
from srdcr_lab.data import ItemSet
from srdcr_lab.lib.definitions import by_percentile, more_probable, percentile_rank
from srdcr_lab.protocols import METHODS, Belief, Outcome
from srdcr_lab.records import BadInput, CallFailed, Completion, ConfidenceKind, Decision, Item, Missing, Request
from tests.scripted import ScriptedModel, exemplars, item, question_of, reader, setup_of

PRIOR, CONTEXT = Decision.USE_PRIOR, Decision.USE_CONTEXT
FALSE = item(1934)


def believed(text: str, *probabilities: float) -> Completion:
    """A reply of as many tokens as probabilities."""
    size = math.ceil(len(text) / len(probabilities))
    tokens = tuple(text[start : start + size] for start in range(0, len(text), size))
    return Completion(text, tokens=tokens, logprobs=tuple(map(math.log, probabilities)))


def outcome_of(prior: Completion | str, context: Completion | str, *, logprobs: bool = True) -> Outcome:
    model = ScriptedModel({"answer_from_memory": prior, "answer_with_passage": context}, logprobs=logprobs)
    return asyncio.run(METHODS["token_probability"].run(FALSE, setup_of(model, None, FALSE)))


@pytest.mark.parametrize(
    ("prior", "context", "decision"),
    [((0.9, 0.7), (0.8, 0.7), PRIOR), ((0.9, 0.5), (0.8, 0.7), CONTEXT), ((0.8, 0.6), (0.7, 0.7), CONTEXT)],
)  # 0.80 beats 0.75; 0.70 does not; a tie goes to the passage
def test_the_answer_with_the_higher_mean_probability(
    prior: tuple[float, float], context: tuple[float, float], decision: Decision
) -> None:
    outcome = outcome_of(believed("1874", *prior), believed("1934", *context))
    assert outcome.decision is decision
    assert outcome.answer.value == {PRIOR: "1874", CONTEXT: "1934"}[decision]
    assert outcome.confidence.kind is ConfidenceKind.MEAN_PROBABILITY
    assert outcome.confidence.value == pytest.approx(sum(prior) / 2)
    assert outcome.context_confidence == pytest.approx(sum(context) / 2)


def test_an_answer_that_was_not_read_is_never_the_more_probable() -> None:
    unread = believed("I do not know", 0.9, 0.9)
    assert outcome_of(unread, believed("1934", 0.1)).decision is CONTEXT
    assert outcome_of(believed("1874", 0.1), unread).decision is PRIOR
    neither = outcome_of(unread, unread)
    assert (neither.decision, neither.answer, neither.missing) == (None, None, Missing.UNPARSED)


def test_a_method_that_needs_log_probabilities_is_left_out_or_refused_without_them() -> None:
    with pytest.raises(CallFailed, match="gives no log-probabilities, which token_probability needs"):
        outcome_of("1874", "1934", logprobs=False)
    with Study(ScriptedModel(logprobs=False), ItemSet("worked", ITEMS, exemplars()), "all") as worked:
        names = {method.name for method in worked.methods}
        assert {"few_shot", "naive_debate", "sr_dcr", "golden"} <= names
        assert not names & {"token_probability", "calibrated_token_probability"}
        assert "token_probability needs log-probabilities, and scripted:scripted gives none" in worked.items.notes
    with pytest.raises(BadInput, match="token_probability needs log-probabilities, and scripted:scripted gives none"):
        Study(ScriptedModel(logprobs=False), ItemSet("worked", ITEMS, exemplars()), "few_shot,token_probability")


@pytest.mark.parametrize(
    ("value", "rank"), [(0.0, 0.0), (0.1, 0.125), (0.5, 0.5), (0.7, 0.75), (0.9, 0.875), (1.0, 1.0)]
)
def test_percentile_ranks_by_hand(value: float, rank: float) -> None:
    """Below it plus half of those equal to it, of four."""
    assert percentile_rank(value, [0.1, 0.5, 0.5, 0.9]) == rank


def test_calibration_compares_ranks_and_not_values() -> None:
    """Every context answer is more probable than every prior answer; ranked among their own kind, the first question's
    prior answer is the most probable of three, and its context answer the least probable of three."""
    beliefs = [Belief("a", 0.6, 0.90), Belief("b", 0.5, 0.95), Belief("c", 0.1, 0.99)]
    assert [more_probable(belief.prior or 0, belief.context or 0) for belief in beliefs] == [CONTEXT] * 3
    assert by_percentile(beliefs) == [PRIOR, CONTEXT, CONTEXT]  # 5/6 > 1/6; 1/2 = 1/2; 1/6 < 5/6
    # Counted twice, 0.8 would rank 0.75 of four and tie with 0.9 among the contexts; among questions it ranks
    # 3/4 of two, and 0.2 ranks 1/4.
    beliefs = [Belief("a", 0.8, 0.7), Belief("a", 0.8, 0.9), Belief("b", 0.2, 0.8)]
    ranks = [(3 / 4, 1 / 6), (3 / 4, 5 / 6), (1 / 4, 1 / 2)]
    assert by_percentile(beliefs) == [PRIOR if p > c else CONTEXT for p, c in ranks] == [PRIOR, CONTEXT, CONTEXT]
    beliefs = [Belief("a", 0.6, 0.9), Belief("b", None, 0.95), Belief("c", math.nan, math.nan), Belief("d", 0.1, None)]
    assert by_percentile(beliefs) == [PRIOR, CONTEXT, None, PRIOR]  # a: 3/4 against 1/4


def test_ranks_take_weights_by_hand() -> None:
    """c stands for three questions. With weights, a's prior answer has rank 3.5/5 (without, 3/6) and its context answer
    1.5/5 (3/6, a tie, which goes to the passage)."""
    sides = {"a": (0.5, 0.7), "b": (0.9, 0.6), "c": (0.1, 0.95)}
    assert by_percentile([Belief(name, *side) for name, side in sides.items()]) == [CONTEXT, PRIOR, CONTEXT]
    weighed = [Belief(name, *side, weight) for (name, side), weight in zip(sides.items(), (1, 1, 3), strict=True)]
    assert by_percentile(weighed) == [PRIOR, PRIOR, CONTEXT]


# In a run ------------------------------------------------------------------------------------------------------------

ITEMS = tuple(item(year, question_id=question) for question in ("qa", "qb", "qc") for year in (1874, 1934))
SURENESS = {"qa": 0.9, "qb": 0.5, "qc": 0.2}  # of the prior answer; context answers are read with 0.91 … 0.96


def believer(**script: object) -> ScriptedModel:
    def remembers(request: Request, draw: int) -> Completion:
        return believed("1874", SURENESS[question_of(request).partition("society ")[2][:2]])

    def reads(request: Request, draw: int) -> Completion:
        shown = question_of(request)
        place = next(n for n, each in enumerate(ITEMS) if each.context in shown)
        return believed(shown.partition("founded in ")[2][:4], 0.91 + place / 100)

    return reader(answer_from_memory=remembers, answer_with_passage=reads, **script)


def study(model: ScriptedModel, out: Path, methods: str, items: tuple[Item, ...] = ITEMS) -> Study:
    return Study(model, ItemSet("worked", items, exemplars()), methods, samples=0, out=out)


def test_calibrated_rows_are_settled_when_every_item_has_ended(tmp_path: Path) -> None:
    """Prior ranks 5/6, 1/2, 1/6 of three questions; context ranks 1/12, 3/12 … 11/12 of six items."""
    with study(believer(), tmp_path / "out", "token_probability,calibrated_token_probability") as worked:
        records = worked.run(progress=False).records
    plain, calibrated = (rows for _, rows in records.groupby("method", sort=False))
    assert set(plain["decision"]) == {"USE_CONTEXT"}
    decided = dict(zip(calibrated["item_id"], calibrated["decision"], strict=True))
    assert decided == {
        "qa@+0": "USE_PRIOR", "qa@+60": "USE_PRIOR",  # 5/6 beats 1/12 and 3/12
        "qb@+0": "USE_PRIOR", "qb@+60": "USE_CONTEXT",  # 1/2 beats 5/12, not 7/12
        "qc@+0": "USE_CONTEXT", "qc@+60": "USE_CONTEXT",
    }  # fmt: skip
    assert list(calibrated["final_answer"]) == ["1874"] * 3 + ["1934", "1874", "1934"]
    assert list(calibrated["correct"]) == [True, True, True, False, True, False]
    assert calibrated["missing"].isna().all()


def test_a_run_that_is_repeated_settles_alike_without_a_call(tmp_path: Path) -> None:
    methods = "calibrated_token_probability,few_shot"
    with study(believer(), tmp_path / "out", methods) as first:
        before = first.run(progress=False).records
    model = believer()
    with study(model, tmp_path / "out", methods) as second:
        again = second.run(progress=False).records
    assert model.requests == []
    changing = ["calls_paid", "cost_usd"]
    assert again.drop(columns=changing).equals(before.drop(columns=changing))
    assert list(again["method"]) == ["few_shot"] * 6 + ["calibrated_token_probability"] * 6


def test_a_failed_item_stays_an_error_and_counts_in_nobodys_rank(tmp_path: Path) -> None:
    def fails(request: Request, draw: int) -> object:
        failed = "society qc" in question_of(request)
        return CallFailed("no answer") if failed else believed("1934", 0.91)

    model = believer()
    model.script["answer_with_passage"] = fails
    with study(model, tmp_path / "out", "calibrated_token_probability") as worked:
        records = worked.run(progress=False).records.set_index("item_id")
    assert list(records.loc[["qc@+0", "qc@+60"], "missing"]) == ["error"] * 2
    assert records.loc[["qc@+0", "qc@+60"], "decision"].isna().all()
    # Two questions rank 3/4 and 1/4, four equal contexts 1/2.
    assert list(records.loc[["qa@+0", "qb@+0"], "decision"]) == ["USE_PRIOR", "USE_CONTEXT"]
