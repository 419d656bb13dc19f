"""The paper's baselines against scripts of replies by hand: who saw what, in which order, in how many calls [A.2]."""

from __future__ import annotations

import asyncio

import pytest

from srdcr_lab.protocols import METHODS, Outcome, choices
from srdcr_lab.protocols.choices import Match
from srdcr_lab.records import Decision, Item, Missing, Role
from tests.scripted import SURE, UNSURE, ScriptedModel, item, kind_of, question_of, reader, setup_of

TRUE, FALSE = item(1874), item(1934)  # the model remembers 1874 and reads what the passage says
PASSAGE = f"<passage>\n{FALSE.context}\n</passage>\n"
QUESTION = f"Question: {FALSE.question}"


def outcome_of(name: str, model: ScriptedModel, of: Item = FALSE) -> Outcome:
    return asyncio.run(METHODS[name].run(of, setup_of(model, None, of)))


def given(outcome: Outcome) -> str | None:
    return outcome.answer.value if outcome.answer and outcome.missing is None else None


# few_shot, zero_shot


def test_few_shot_shows_four_exemplars_and_zero_shot_none() -> None:
    for name, shots in (("few_shot", 4), ("zero_shot", 0)):
        model = reader()
        assert given(outcome_of(name, model)) == "1934"
        (request,) = model.requests
        assert kind_of(request) == "answer_with_passage"
        assert [message.role for message in request.messages] == ["system", *["user", "assistant"] * shots, "user"]
        assert question_of(request) == PASSAGE + QUESTION
        assert (request.temperature, request.max_tokens) == (0.0, 32)
    assert outcome_of("zero_shot", reader(answer_with_passage="Perhaps.")).missing is Missing.UNPARSED


# self_ask

THREE_LINES = "Sub-question: Who founded it?\nSub-answer: A baker, in 1934.\nFinal answer: 1874"


def test_self_ask_is_one_call_of_400_tokens_and_answers_on_the_last_line() -> None:
    model = ScriptedModel({"self_ask": THREE_LINES})
    outcome = outcome_of("self_ask", model)
    assert given(outcome) == "1874"
    (request,) = model.requests
    assert question_of(request) == PASSAGE + QUESTION
    assert (request.temperature, request.max_tokens) == (0.0, 400)
    (turn,) = outcome.debate.turns
    assert (turn.role, turn.text, turn.stated_answer, turn.saw_passage) == (Role.AGENT, THREE_LINES, "1874", True)


@pytest.mark.parametrize(
    "reply", ["Sub-question: ?\nSub-answer: 1874", "Final answer: 1874\nI hope so.", "Final answer:", ""]
)
def test_self_ask_without_its_last_line_is_unparsed(reply: str) -> None:
    assert outcome_of("self_ask", ScriptedModel({"self_ask": reply})).missing is Missing.UNPARSED


def test_self_ask_is_read_without_its_lines_and_without_its_thinking() -> None:
    """F 2: a model that does not follow the format states its answer all the same."""
    assert given(outcome_of("self_ask", ScriptedModel({"self_ask": "The answer is 1874."}))) == "1874"
    # F 2: the turn is what was said; the completion keeps all of it.
    outcome = outcome_of("self_ask", ScriptedModel({"self_ask": f"<think>Final answer: 1\nHm.</think>{THREE_LINES}"}))
    assert given(outcome) == "1874"
    (turn,) = outcome.debate.turns
    assert turn.text == THREE_LINES.strip()
    assert turn.completion.text.startswith("<think>")
    # The sub-answer names 1934, which is not what the method answers.
    model = ScriptedModel({"self_ask": "Sub-question: ?\nSub-answer: 1934\nFinal answer: about 1874"})
    setup = setup_of(model, choices("released"), FALSE)
    assert setup.choices.match is Match.ANYWHERE
    outcome = asyncio.run(METHODS["self_ask"].run(FALSE, setup))
    assert outcome.answer.text == "about 1874"


# astute

MEMORY = "The baker opened his shop in 1870.\nFinal answer: 1870"


def test_astute_consolidates_what_it_remembered_with_the_passage() -> None:
    consolidated = "Both name a baker. They differ in the year; the passage is the later source.\nFinal answer: 1934"
    model = ScriptedModel({"astute_memory": MEMORY, "astute_answer": consolidated})
    outcome = outcome_of("astute", model)
    assert given(outcome) == "1934"
    remember, answer = model.requests
    assert [kind_of(request) for request in model.requests] == ["astute_memory", "astute_answer"]
    assert question_of(remember) == QUESTION  # no passage
    reply = MEMORY.replace("answer:", "answer∶")  # which nobody can mistake for the line that ends the second reply
    assert question_of(answer) == f"{PASSAGE}<reply>\n{reply}\n</reply>\n{QUESTION}"
    assert {(request.temperature, request.max_tokens) for request in model.requests} == {(0.0, 400)}
    assert [(turn.saw_passage, turn.saw_turns) for turn in outcome.debate.turns] == [(False, ()), (True, (0,))]
    assert outcome.debate.turns[0].stated_answer is None
    model = ScriptedModel({"astute_memory": MEMORY, "astute_answer": "Final answer: 1934\nI hope so."})
    assert outcome_of("astute", model).missing is Missing.UNPARSED


# rci


def test_rci_answers_then_criticises_then_improves() -> None:
    model = reader(rci_critique="- I recall 1874.", rci_improve="1874")
    outcome = outcome_of("rci", model)
    assert given(outcome) == "1874"
    assert [kind_of(request) for request in model.requests] == ["answer_with_passage", "rci_critique", "rci_improve"]
    own, fault = "<answer>\n1934\n</answer>\n", "<critique>\n- I recall 1874.\n</critique>\n"
    assert [question_of(request) for request in model.requests] == [
        PASSAGE + QUESTION,
        PASSAGE + own + QUESTION,
        PASSAGE + own + fault + QUESTION,
    ]
    assert {(request.temperature, request.max_tokens) for request in model.requests} == {(0.0, 300)}
    outcome = outcome_of("rci", reader(rci_critique="- I recall 1874.", rci_improve="1874"))
    assert [(turn.round, turn.text, turn.stated_answer, turn.saw_turns) for turn in outcome.debate.turns] == [
        (0, "1934", "1934", ()),
        (1, "- I recall 1874.", None, (0,)),
        (2, "1874", "1874", (0, 1)),
    ]


# golden, confidence_only, debate_only


def test_golden_reads_true_passages_and_remembers_where_they_are_false() -> None:
    for of, asked, answer, decision in (
        (TRUE, "answer_with_passage", "1874", Decision.USE_CONTEXT),
        (FALSE, "answer_from_memory", "1900", Decision.USE_PRIOR),
    ):
        model = reader(answer_from_memory="1900")
        outcome = outcome_of("golden", model, of)
        assert (given(outcome), outcome.decision) == (answer, decision)
        assert [kind_of(request) for request in model.requests] == [asked]


def test_confidence_alone_decides() -> None:
    for prior, answer, decision in ((SURE, "1874", Decision.USE_PRIOR), (UNSURE, "1934", Decision.USE_CONTEXT)):
        model = reader(answer_from_memory=prior)
        outcome = outcome_of("confidence_only", model)
        assert (given(outcome), outcome.decision) == (answer, decision)
        assert outcome.confidence is not None
        assert sorted(map(kind_of, model.requests)) == ["answer_from_memory", "answer_with_passage"]
    assert given(outcome_of("confidence_only", reader(answer_from_memory="I do not know."))) == "1934"


@pytest.mark.parametrize(
    ("ruling", "answer", "decision", "missing"),
    [
        ("REASONABLE", "1934", Decision.USE_CONTEXT, None),
        ("UNREASONABLE", "1874", Decision.USE_PRIOR, None),
        ("?", None, Decision.ABSTAIN, Missing.UNPARSED),
    ],
)
def test_the_verdict_alone_decides_whatever_the_confidence(
    ruling: str, answer: str | None, decision: Decision, missing: Missing | None
) -> None:
    model = reader(answer_from_memory=UNSURE, judge=f"final decision: {ruling}")
    outcome = outcome_of("debate_only", model)
    assert (given(outcome), outcome.decision, outcome.missing) == (answer, decision, missing)
    assert model.calls == 20 + 6 * (answer is None)  # a ruling without its line is asked for again
