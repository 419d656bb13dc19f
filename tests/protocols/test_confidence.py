"""Every definition of self-confidence by hand [paper 2.3, 3.2, C.1], and ClashEval's rules on token probabilities."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from srdcr_lab.answers.option import claim
from srdcr_lab.data import ItemSet
from srdcr_lab.lib.definitions import (
    by_percentile,
    mean_logprob,
    mean_probability,
    percentile_ranks,
    semantic_entropy,
    sequence,
)
from srdcr_lab.protocols import METHODS, Answer, Choices, Outcome, SelfConfidence, decide, prior_answer, self_confidence
from srdcr_lab.protocols.answering import answer_logprobs
from srdcr_lab.records import (
    AnswerType,
    BadInput,
    CallFailed,
    Completion,
    ConfidenceKind,
    Decision,
    Item,
    Missing,
    Request,
    Verdict,
)
from srdcr_lab.study import Study
from tests.scripted import ScriptedModel, exemplars, finished, item, question_of, reader, setup_of
from tests.study.test_resume import PAID

KINDS = ConfidenceKind


def reply(*tokens: str, p: tuple[float, ...]) -> Completion:
    return Completion("".join(tokens), tokens=tokens, logprobs=tuple(math.log(x) for x in p))


def confidence_in(
    completion: Completion | str, kind: ConfidenceKind | str, model: ScriptedModel | None = None
) -> SelfConfidence:
    """Self-confidence of a model whose prior answer is this reply."""
    model = model or ScriptedModel()
    model.script["answer_from_memory"] = completion
    return confidence_of(model, kind)


def confidence_of(
    model: ScriptedModel, kind: ConfidenceKind | str = KINDS.SELF_CONSISTENCY, of: Item | None = None
) -> SelfConfidence:
    async def ask(of: Item) -> SelfConfidence:
        setup = setup_of(model, Choices(confidence=kind), of)
        return await self_confidence(of, await prior_answer(of, setup), setup)

    return asyncio.run(ask(of or item()))


TWO_TOKENS = reply("18", "74", p=(0.9, 0.4))


@pytest.mark.parametrize("said", [TWO_TOKENS, reply("It", " was", " 18", "74", ".", p=(0.1, 0.2, 0.9, 0.4, 0.3))])
@pytest.mark.parametrize(("kind", "value"), [
    ("mean_logprob", 0.6),  # √(0.9 · 0.4) = √0.36
    ("sequence", 0.36),  # 0.9 · 0.4
    ("mean_probability", 0.65),  # (0.9 + 0.4) / 2
])  # fmt: skip
def test_two_tokens_by_hand_and_a_sentence_around_them(kind: str, value: float, said: Completion) -> None:
    found = confidence_in(said, ConfidenceKind(kind))
    assert found.value == pytest.approx(value)
    assert found.kind == kind


def test_tokens_by_hand() -> None:
    logprobs = [math.log(p) for p in (0.8, 0.5, 0.2)]
    assert mean_logprob(logprobs) == pytest.approx(0.08 ** (1 / 3))
    assert sequence(logprobs) == pytest.approx(0.08)
    assert mean_probability(logprobs) == pytest.approx(0.5)
    assert {round(f([math.log(0.7)]), 12) for f in (mean_logprob, sequence, mean_probability)} == {0.7}
    assert all(math.isnan(f([])) for f in (mean_logprob, sequence, mean_probability)), "no token, no confidence"


def test_the_threshold_is_on_the_exponentiated_mean_and_not_on_the_log() -> None:
    found = confidence_in(reply("18", "74", p=(0.95, 0.9)), "auto")
    assert found.value == pytest.approx(math.sqrt(0.95 * 0.9))  # 0.9247, while the mean log-probability is −0.078
    assert decide(Verdict.UNREASONABLE, found.value, 0.90) is Decision.USE_PRIOR
    model = ScriptedModel()
    assert confidence_in(TWO_TOKENS, "auto", model).kind is KINDS.MEAN_LOGPROB
    assert model.calls == 1


@pytest.mark.parametrize(("tokens", "kept"), [
    (("1874",), (0,)),
    (("18", "74", "."), (0, 1)),  # a full stop
    ((" ", "18", "74"), (1, 2)),  # a leading space of its own
    ((" 18", "74"), (0, 1)),  # a leading space that belongs to a token
    (("In", " ", "1874", ",", " I", " think", "."), (2,)),  # a sentence around it
    (("It", " was", " 18", "74", "!"), (2, 3)),
    (("1874", "\n\n"), (0,)), (("**", "1874", "**"), (1,)),
    (("Answer", ":", " 1874"), (2,)),
])  # fmt: skip
def test_only_the_tokens_of_the_answer_count(tokens: tuple[str, ...], kept: tuple[int, ...]) -> None:
    logprobs = tuple(-0.1 * (i + 1) for i in range(len(tokens)))
    completion = Completion("".join(tokens), tokens=tokens, logprobs=logprobs)
    assert answer_logprobs(Answer("1874", completion), item()) == tuple(logprobs[i] for i in kept)


def named(gold: str, answer_type: AnswerType) -> Item:
    return replace(item(), gold_answer=gold, claimed_answer=gold, answer_type=answer_type)


def test_the_tokens_of_names_and_cities() -> None:
    tokens = ("Curie", ":", " Marie", " Curie")
    completion = Completion("".join(tokens), tokens=tokens, logprobs=(-4.0, -3.0, -2.0, -1.0))
    found = answer_logprobs(Answer("Marie Curie", completion), named("Marie Curie", AnswerType.NAME))
    assert found == (-2.0, -1.0)
    tokens = ("St", ".", " Louis", ".")
    completion = Completion("".join(tokens), tokens=tokens, logprobs=(-1.0, -2.0, -3.0, -4.0))
    assert answer_logprobs(Answer("St. Louis", completion), named("St. Louis", AnswerType.CITY)) == (-1.0, -2.0, -3.0)
    assert answer_logprobs(Answer("1874", Completion("1874")), item()) is None


@pytest.mark.parametrize("can", [True, False])
def test_auto_falls_back_to_self_consistency_and_says_so(can: bool) -> None:
    """A provider without log-probabilities, and one that promised them and sent none."""
    model = ScriptedModel(logprobs=can)
    found = confidence_in(Completion("1874"), "auto", model)
    assert (found.value, found.kind, len(found.draws)) == (1.0, KINDS.SELF_CONSISTENCY, 16)
    assert model.calls == 17


@pytest.mark.parametrize("kind", [KINDS.MEAN_LOGPROB, KINDS.SEQUENCE, KINDS.MEAN_PROBABILITY, KINDS.P_TRUE])
def test_a_kind_that_the_model_cannot_give_is_refused_and_never_replaced(kind: ConfidenceKind) -> None:
    with pytest.raises(BadInput, match=f"gives no log-probabilities, which the confidence {kind} needs; take"):
        confidence_in(Completion("1874"), kind, ScriptedModel({"option_answer": "true"}, logprobs=False))
    with pytest.raises(CallFailed, match=f"the reply has no usable log-probabilities for {kind}"):
        confidence_in(Completion("1874"), kind, ScriptedModel({"option_answer": Completion("true")}))


def agreeing(n: int, other: str = "1875") -> ScriptedModel:
    """The greedy answer is 1874, and so are the first n draws at T = 0.5."""

    def reply_of(request: Request, draw: int) -> str:
        return "1874" if request.temperature == 0 or draw < n else other

    model = ScriptedModel(logprobs=False)
    model.script["answer_from_memory"] = reply_of
    return model


@pytest.mark.parametrize("n", [0, 1, 14, 15, 16])
def test_self_consistency_is_the_share_of_draws_equal_to_the_greedy_answer(n: int) -> None:
    found = confidence_of(agreeing(n))
    assert (found.value, found.kind) == (n / 16, KINDS.SELF_CONSISTENCY)
    assert decide(Verdict.UNREASONABLE, found.value, 0.90) is (Decision.USE_PRIOR if n >= 15 else Decision.ABSTAIN)


def test_self_consistency_is_with_the_greedy_answer_by_its_type() -> None:
    model = ScriptedModel({"answer_from_memory": "1999"}, logprobs=False)
    assert confidence_of(model).value == 1.0
    assert confidence_of(agreeing(12, other="I do not know.")).value == 12 / 16
    assert confidence_of(agreeing(8, other="It was in 1874.")).value == 1.0
    leningrad = replace(named("Leningrad", AnswerType.CITY), aliases=("Petrograd", "St Petersburg"))
    model = agreeing(0, other="St Petersburg")
    inner = model.script["answer_from_memory"]
    model.script["answer_from_memory"] = lambda r, d: "Petrograd" if r.temperature == 0 else inner(r, d)
    assert confidence_of(model, of=leningrad).value == 0.0  # that both are right is not known to who asks


@pytest.mark.parametrize("kind", [*ConfidenceKind, "auto"])
def test_an_unread_prior_answer_is_none_to_believe_in(kind: ConfidenceKind | str) -> None:
    """Also a refusal that came without log-probabilities, which all other replies of the model have."""
    model = ScriptedModel({"verbalized_confidence": "confidence: 100"})
    found = confidence_in(Completion("I do not know."), kind, model)
    assert math.isnan(found.value)
    assert (found.kind, model.calls) == (KINDS.MEAN_LOGPROB if kind == "auto" else kind, 1)


@pytest.mark.parametrize(("said", "value"), [("*confidence: 70*", 0.7), ("confidence: 101", math.nan), ("", math.nan)])
def test_verbalized_is_asked_with_question_and_own_answer_and_nothing_else(said: str, value: float) -> None:
    """What else is read or missing: `test_what_is_read_of_a_reply`."""
    model = ScriptedModel({"verbalized_confidence": said})
    found = confidence_in("1874", KINDS.VERBALIZED, model)
    assert (found.value, found.kind) == (pytest.approx(value, nan_ok=True), KINDS.VERBALIZED)
    (request,) = model.asked("verbalized_confidence")
    assert request.messages[-1].content == f"<answer>\n1874\n</answer>\nQuestion: {item().question}"
    assert (request.temperature, len(request.messages)) == (0.0, 2)


@pytest.mark.parametrize(("said", "value"), [
    (reply("true", p=(0.8,)), 0.8), (reply("false", p=(0.8,)), 0.2),
    (reply(" Tr", "ue", ".", p=(0.6, 0.9, 0.5)), 0.6), (reply("Answer: ", "false", p=(0.3, 0.7)), 0.3),
    (reply("Perhaps.", p=(0.9,)), math.nan), (reply("Yes.", p=(0.9,)), math.nan),
])  # fmt: skip
def test_p_true_is_the_probability_of_the_first_token(said: Completion, value: float) -> None:
    found = confidence_in("1874", KINDS.P_TRUE, ScriptedModel({"option_answer": said}))
    assert found.value == pytest.approx(value, nan_ok=True)
    assert found.kind is KINDS.P_TRUE


def test_p_true_asks_for_the_claim_as_the_shipped_claims_are_asked() -> None:
    model = ScriptedModel({"option_answer": "true"})
    confidence_in("It was in 1874.", KINDS.P_TRUE, model)
    (request,) = model.asked("option_answer")
    asked = f'Is this claim true or false? The answer to the question "{item().question}" is 1874.'
    assert claim(item().question, "1874") == asked
    assert request.messages[-1].content == f"<options>\ntrue\nfalse\n</options>\nQuestion: {asked}"
    assert (request.temperature, request.logprobs) == (0.0, True)


@pytest.mark.parametrize(("sizes", "value"), [([16], 1.0), ([1] * 16, 0.0), ([8, 8], 0.75), ([2, 1, 1], 0.25)])
def test_semantic_entropy_by_hand(sizes: list[int], value: float) -> None:
    """Two equal halves of 16: H = ln 2, a quarter of ln 16. Of 4 draws 2, 1, 1: H = 1.5 ln 2 of 2 ln 2."""
    assert semantic_entropy(sizes) == pytest.approx(value)
    assert math.isnan(semantic_entropy([1])), "no two draws"


@pytest.mark.parametrize(("n", "other"), [(15, "1875"), (14, "1875"), (8, "It was in 1874."), (8, "I do not know.")])
def test_semantic_entropy_of_the_draws(n: int, other: str) -> None:
    """Spellings of one answer are one cluster; a draw that cannot be read is a cluster of its own."""
    found = confidence_of(agreeing(n, other), kind=KINDS.SEMANTIC_ENTROPY)
    sizes = {"1875": [n, 16 - n], "It was in 1874.": [16], "I do not know.": [n, *[1] * (16 - n)]}[other]
    assert (found.value, len(found.draws)) == (pytest.approx(semantic_entropy(sizes)), 16)
    assert found.value <= 1


def test_semantic_entropy_asks_for_the_draws_of_self_consistency() -> None:
    models = [agreeing(16), agreeing(16)]
    for model, kind in zip(models, (KINDS.SELF_CONSISTENCY, KINDS.SEMANTIC_ENTROPY), strict=True):
        confidence_of(model, kind=kind)
    one, other = ([(r.digest, r.stream, r.draws) for r in model.requests] for model in models)
    assert one == other


@pytest.mark.parametrize(("logprobs", "confidence"), [(False, "auto"), (True, "auto"), (False, "self_consistency")])
def test_a_run_says_what_tau_means_where_it_had_to_take_self_consistency(logprobs: bool, confidence: str) -> None:
    items = ItemSet("worked", (item(),), exemplars())
    model = ScriptedModel(logprobs=logprobs)
    results = finished(Study(model, items, "confidence_only", samples=0, tau=0.9, confidence=confidence))
    notes = [note for note in results.manifest["notes"] if "self-consistency" in note]
    assert [note.rpartition(": ")[2] for note in notes] == (
        ["τ = 0.9 now means at least 15 of 16"] if (logprobs, confidence) == (False, "auto") else []
    )


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


def test_percentile_ranks_by_hand() -> None:
    """Below it plus half of those equal to it, of four."""
    values, ranks = [0.0, 0.1, 0.5, 0.7, 0.9, 1.0], [0.0, 0.125, 0.5, 0.75, 0.875, 1.0]
    assert percentile_ranks(values, [0.9, 0.5, math.nan, 0.1, 0.5], [1] * 5).tolist() == ranks
    assert np.isnan(percentile_ranks([math.nan, 0.5], [math.nan], [1])).all()


@pytest.mark.parametrize(("questions", "priors", "contexts", "decided"), [
    # Every context answer is more probable than every prior answer; ranked among their own kind, the first question's
    # prior answer is the most probable of three, and its context answer the least probable of three.
    ("abc", [0.6, 0.5, 0.1], [0.90, 0.95, 0.99], [PRIOR, CONTEXT, CONTEXT]),  # 5/6 > 1/6; 1/2 = 1/2; 1/6 < 5/6
    # Counted twice, 0.8 would rank 0.75 of four and tie with 0.9 among the contexts; among questions it ranks 3/4 of
    # two, and 0.2 ranks 1/4. The contexts rank 1/6, 5/6, 1/2.
    ("aab", [0.8, 0.8, 0.2], [0.7, 0.9, 0.8], [PRIOR, CONTEXT, CONTEXT]),
    ("abcd", [0.6, None, math.nan, 0.1], [0.9, 0.95, math.nan, None], [PRIOR, CONTEXT, None, PRIOR]),  # a: 3/4 > 1/4
    ("", [], [], []),
])  # fmt: skip
def test_calibration_compares_ranks_and_not_values(
    questions: str, priors: list[float], contexts: list[float], decided: list[Decision | None]
) -> None:
    assert by_percentile(questions, priors, contexts) == decided


def test_ranks_take_weights_by_hand() -> None:
    """c stands for three questions. With weights, a's prior answer has rank 3.5/5 (without, 3/6) and its context answer
    1.5/5 (3/6, a tie, which goes to the passage)."""
    items = "abc", [0.5, 0.9, 0.1], [0.7, 0.6, 0.95]
    assert by_percentile(*items) == [CONTEXT, PRIOR, CONTEXT]
    assert by_percentile(*items, [1, 1, 3]) == [PRIOR, PRIOR, CONTEXT]


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
    records = finished(study(believer(), tmp_path / "out", "token_probability,calibrated_token_probability")).records
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
    before = finished(study(believer(), tmp_path / "out", methods)).records
    model = believer()
    again = finished(study(model, tmp_path / "out", methods)).records
    assert model.requests == []
    assert again.drop(columns=PAID).equals(before.drop(columns=PAID))
    assert list(again["method"]) == ["few_shot"] * 6 + ["calibrated_token_probability"] * 6


def test_a_failed_item_stays_an_error_and_counts_in_nobodys_rank(tmp_path: Path) -> None:
    def fails(request: Request, draw: int) -> object:
        failed = "society qc" in question_of(request)
        return CallFailed("no answer") if failed else believed("1934", 0.91)

    model = believer()
    model.script["answer_with_passage"] = fails
    records = finished(study(model, tmp_path / "out", "calibrated_token_probability")).records.set_index("item_id")
    assert list(records.loc[["qc@+0", "qc@+60"], "missing"]) == ["error"] * 2
    assert records.loc[["qc@+0", "qc@+60"], "decision"].isna().all()
    # Two questions rank 3/4 and 1/4, four equal contexts 1/2.
    assert list(records.loc[["qa@+0", "qb@+0"], "decision"]) == ["USE_PRIOR", "USE_CONTEXT"]
