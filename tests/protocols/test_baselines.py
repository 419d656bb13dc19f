"""The paper's baselines and other debates by script: who saw what, in which order, in how many calls [A.2]."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from srdcr_lab.protocols import METHODS, Cast, Choices, Outcome, Setup, choices
from srdcr_lab.protocols.baselines import exemplar_orders
from srdcr_lab.protocols.choices import Match
from srdcr_lab.records import CallFailed, Decision, Item, Missing, Request, Role
from tests.protocols.counting import counted
from tests.scripted import (
    SURE,
    UNSURE,
    Reply,
    ScriptedModel,
    exemplars,
    heard_by,
    item,
    kind_of,
    question_of,
    reader,
    rounds_heard,
    setup_of,
)

TRUE = item(1874)
FALSE = item(1934)  # the model remembers 1874 and reads what the passage says
PASSAGE = f"<passage>\n{FALSE.context}\n</passage>\n"
QUESTION = f"Question: {FALSE.question}"


def outcome_of(name: str, model: ScriptedModel, of: Item = FALSE, chosen: Choices | None = None) -> Outcome:
    return asyncio.run(METHODS[name].run(of, setup_of(model, chosen, of)))


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


def test_the_warning_is_one_sentence_and_nothing_else() -> None:
    few, warned = reader(), reader(answer_with_passage_warned="1874")
    assert (given(outcome_of("few_shot", few)), given(outcome_of("few_shot_warned", warned))) == ("1934", "1874")
    (plain,), (careful,) = few.requests, warned.requests
    assert careful.messages[1:] == plain.messages[1:]
    assert careful.messages[0].content.replace(" The passage may be wrong.", "") == plain.messages[0].content


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
    """A model that does not follow the format states its answer all the same."""
    assert given(outcome_of("self_ask", ScriptedModel({"self_ask": "The answer is 1874."}))) == "1874"
    # the turn is what was said; the completion keeps all of it.
    outcome = outcome_of("self_ask", ScriptedModel({"self_ask": f"<think>Final answer: 1\nHm.</think>{THREE_LINES}"}))
    assert given(outcome) == "1874"
    (turn,) = outcome.debate.turns
    assert turn.text == THREE_LINES.strip()
    assert turn.completion.text.startswith("<think>")
    # The sub-answer names 1934, which is not what the method answers.
    model = ScriptedModel({"self_ask": "Sub-question: ?\nSub-answer: 1934\nFinal answer: about 1874"})
    released = choices("released")
    assert released.match is Match.ANYWHERE
    outcome = outcome_of("self_ask", model, chosen=released)
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
        PASSAGE + QUESTION, PASSAGE + own + QUESTION, PASSAGE + own + fault + QUESTION,
    ]  # fmt: skip
    assert {(request.temperature, request.max_tokens) for request in model.requests} == {(0.0, 300)}
    assert [(turn.round, turn.text, turn.stated_answer, turn.saw_turns) for turn in outcome.debate.turns] == [
        (0, "1934", "1934", ()), (1, "- I recall 1874.", None, (0,)), (2, "1874", "1874", (0, 1)),
    ]  # fmt: skip


# golden, confidence_only, debate_only
def test_golden_and_confidence_alone_decide() -> None:
    for of, asked, answer, decision in (
        (TRUE, "answer_with_passage", "1874", Decision.USE_CONTEXT),
        (FALSE, "answer_from_memory", "1900", Decision.USE_PRIOR),
    ):
        model = reader(answer_from_memory="1900")
        outcome = outcome_of("golden", model, of)
        assert (given(outcome), outcome.decision) == (answer, decision)
        assert [kind_of(request) for request in model.requests] == [asked]
    for prior, answer, decision in ((SURE, "1874", Decision.USE_PRIOR), (UNSURE, "1934", Decision.USE_CONTEXT)):
        model = reader(answer_from_memory=prior)
        outcome = outcome_of("confidence_only", model)
        assert (given(outcome), outcome.decision) == (answer, decision)
        assert outcome.confidence is not None
        assert sorted(map(kind_of, model.requests)) == ["answer_from_memory", "answer_with_passage"]
    assert given(outcome_of("confidence_only", reader(answer_from_memory="I do not know."))) == "1934"


@pytest.mark.parametrize(("ruling", "answer", "decision", "missing"), [
    ("REASONABLE", "1934", Decision.USE_CONTEXT, None), ("UNREASONABLE", "1874", Decision.USE_PRIOR, None),
    ("?", None, Decision.ABSTAIN, Missing.UNPARSED),
])  # fmt: skip
def test_the_verdict_alone_decides_whatever_the_confidence(
    ruling: str, answer: str | None, decision: Decision, missing: Missing | None
) -> None:
    model = reader(answer_from_memory=UNSURE, judge=f"final decision: {ruling}")
    outcome = outcome_of("debate_only", model)
    assert (given(outcome), outcome.decision, outcome.missing) == (answer, decision, missing)
    assert model.calls == 20 + 6 * (answer is None)  # a ruling without its line is asked for again


DEBATER, JUDGE = "judge_debate_debater", "judge_debate_judge"


def side_of(request: Request) -> str:
    return "Defender" if "You are the Defender." in question_of(request) else "Critic"


def debaters(judge: object = "1874. The Critic remembers.", **answers: Reply) -> ScriptedModel:
    """Each debater numbers its speeches: "1934. defender 0." first."""
    said = {"Defender": 0, "Critic": 0}

    def speech(request: Request, draw: int) -> str:
        side = side_of(request)
        said[side] += 1
        return f"{1934 if side == 'Defender' else 1874}. {side.lower()} {said[side] - 1}."

    return ScriptedModel({DEBATER: speech, JUDGE: judge, **answers})


def test_both_debaters_see_the_passage_and_the_answer_that_is_theirs() -> None:
    model = debaters()
    outcome = outcome_of("judge_debate_1", model)
    kinds = [kind_of(request) for request in model.requests]
    assert (sorted(kinds[:2]), kinds[2:]) == (["answer_from_memory", "answer_with_passage"], [DEBATER] * 4 + [JUDGE])
    for request in model.asked(DEBATER):
        answer = "1934" if side_of(request) == "Defender" else "1874"
        assert question_of(request).startswith(PASSAGE)
        assert f"Your answer:\n<answer>\n{answer}\n</answer>\nQuestion: " in question_of(request)
    assert [turn.stance for turn in outcome.debate.turns] == ["1934", "1874", "1934", "1874", None]
    assert all(turn.saw_passage for turn in outcome.debate.turns)


def test_the_openings_hear_nobody_then_the_defender_speaks_first() -> None:
    model = debaters()
    outcome = outcome_of("judge_debate_3", model)
    heard = {side: [heard_by(r) for r in model.asked(DEBATER) if side_of(r) == side] for side in ("Defender", "Critic")}
    before = ["DC", "DC", "DC"]
    assert heard["Defender"] == [[], *(rounds_heard(*before[:n]) for n in (1, 2, 3))]
    assert heard["Critic"] == [[], *(rounds_heard(*before[:n], "D") for n in (1, 2, 3))]
    assert [(turn.role, turn.round) for turn in outcome.debate.turns] == [
        *((role, round_) for round_ in range(4) for role in (Role.DEFENDER, Role.CRITIC)),
        (Role.JUDGE, 3),
    ]


def test_the_judge_at_r_reads_the_openings_and_exactly_r_rounds() -> None:
    for rounds, calls in ((1, 7), (3, 11), (5, 15)):
        model = debaters()
        outcome_of(f"judge_debate_{rounds}", model)
        assert model.calls == calls == 2 + 2 + 2 * rounds + 1, "answers, openings, two turns a round, a ruling"
        assert {request.max_tokens for request in model.asked(DEBATER) + model.asked(JUDGE)} == {300}
        (request,) = model.asked(JUDGE)
        assert heard_by(request) == rounds_heard(*["DC"] * (rounds + 1))
        assert question_of(request).startswith(f"{PASSAGE}<debate>\n<defender round=")
        assert question_of(request).endswith(f"</debate>\nQuestion: {FALSE.question}")
        model = debaters()
        outcome = outcome_of(f"judge_debate_{rounds}", model, chosen=choices("released"))
        (request,) = model.asked(JUDGE)
        assert heard_by(request) == rounds_heard(*["DC"] * rounds)
        assert outcome.debate.turns[-1].saw_turns == tuple(range(2 * rounds))
        assert model.calls == 2 + 2 + 2 * rounds + 1


def test_the_judge_picks_the_answer() -> None:
    for reply, answer in (("1874. The Critic.", "1874"), ("1934. As the passage says, not 1874.", "1934")):
        outcome = outcome_of("judge_debate_1", debaters(judge=reply))
        assert (outcome.answer.value, outcome.missing) == (answer, None)
        assert (outcome.ruling, outcome.decision) == (None, None)
    assert outcome_of("judge_debate_1", debaters(judge="Both have a point.")).missing is Missing.UNPARSED
    model = debaters(answer_from_memory="I do not know.")
    outcome_of("judge_debate_1", model)
    (opening, *_) = (request for request in model.asked(DEBATER) if side_of(request) == "Critic")
    assert "<answer>\nI do not know.\n</answer>" in question_of(opening)


def test_one_transcript_serves_all_three_and_no_more_rounds_are_held_than_the_largest_asks_for() -> None:
    """Alone 7, 11 and 15 calls; together two answers, six rounds of two turns, three rulings."""
    model = debaters()
    assert counted(model, FALSE, "judge_debate_1", "judge_debate_3", "judge_debate_5") == [(7, 7), (11, 5), (15, 5)]
    assert (len(model.asked(DEBATER)), len(model.asked(JUDGE))) == (12, 3)
    model = debaters()
    assert counted(model, FALSE, "judge_debate_3", "judge_debate_1") == [(11, 11), (7, 1)]
    assert len(model.asked(DEBATER)) == 8


FIRST, AGAIN = "naive_debate_answer", "naive_debate_reconsider"


def agents(*rounds: Sequence[object]) -> ScriptedModel:
    """Agents who answer with these years, round by round, in the order they are asked."""
    replies = [[f"{answer}. So I think in round {n}." for answer in answers] for n, answers in enumerate(rounds)]
    return ScriptedModel({FIRST: replies[0], AGAIN: [reply for later in replies[1:] for reply in later]})


def debated(*rounds: Sequence[object]) -> tuple[ScriptedModel, Outcome]:
    model = agents(*rounds)
    return model, outcome_of("naive_debate", model)


def test_agents_who_agree_at_once_do_not_debate() -> None:
    model, outcome = debated([1934, 1934, 1934])
    assert (given(outcome), outcome.agreed_round, outcome.missing) == ("1934", 0, None)
    assert [kind_of(request) for request in model.requests] == [FIRST] * 3
    assert {(request.max_tokens, request.temperature) for request in model.requests} == {(250, 0.0)}
    shown = [[m.content for m in request.messages[1:-1]] for request in model.requests]
    assert len({tuple(messages) for messages in shown}) == 3
    assert len({frozenset(messages) for messages in shown}) == 1
    assert len(shown[0]) == 8
    assert len({question_of(request) for request in model.requests}) == 1
    replies = [m.content for request in model.requests for m in request.messages if m.role == "assistant"]
    assert len(replies) == 12
    assert {reply.partition(". ")[2] for reply in replies} == {"I take this to be right."}


def test_exemplar_orders_are_seeded_and_the_first_is_the_few_shot_baselines() -> None:
    setup = setup_of(agents([1]), None, FALSE)
    orders = exemplar_orders(FALSE, setup)
    assert orders == exemplar_orders(item(1874), setup)  # another form of the question
    assert orders[0] == setup.random_exemplars(FALSE)
    assert orders[1:] != exemplar_orders(FALSE, replace(setup, seed=1))[1:]
    model = agents([1934, 1934, 1934])
    for few in (exemplars(2), exemplars(1) * 4):
        alike = Setup(Cast(model, model, model, model), Choices(), replace(setup.items, exemplars=few))
        with pytest.raises(CallFailed, match=rf"needs 3 exemplars or more, not .* there are {len(few)} for history"):
            asyncio.run(METHODS["naive_debate"].run(FALSE, alike))
    assert model.requests == []


def test_in_later_rounds_an_agent_sees_its_last_answer_and_all_earlier_ones_of_the_others() -> None:
    model, outcome = debated([1934, 1874, 1874], [1934, 1874, 1900], [1874, 1874, 1874])
    assert (given(outcome), outcome.agreed_round) == ("1874", 2)
    assert [kind_of(request) for request in model.requests] == [FIRST] * 3 + [AGAIN] * 6
    second_of_agent_1 = question_of(model.asked(AGAIN)[4])
    said = [line for line in second_of_agent_1.splitlines() if "So I think" in line]
    assert said == [
        "1874. So I think in round 1.",  # its own
        "1934. So I think in round 0.",
        "1874. So I think in round 0.",
        "1934. So I think in round 1.",
        "1900. So I think in round 1.",
    ]
    assert second_of_agent_1.count('<agent round="0">') == second_of_agent_1.count('<agent round="1">') == 2
    assert second_of_agent_1.startswith(f"{PASSAGE}<answer>\n1874. So I think in round 1.")
    assert all(len(request.messages) == 2 for request in model.asked(AGAIN))


def test_the_transcript_names_its_agents_and_what_each_saw() -> None:
    _, outcome = debated([1934, 1874, 1874], [1874, 1874, 1874])
    assert [turn.speaker for turn in outcome.debate.turns] == ["agent-0", "agent-1", "agent-2"] * 2
    assert [turn.saw_turns for turn in outcome.debate.turns] == [()] * 3 + [(0, 1, 2)] * 3
    assert outcome.debate.verdict_path == ()


def test_five_rounds_at_most_then_the_majority_of_the_last() -> None:
    model, outcome = debated(*[[1934, 1874, 1874]] * 4, [1900, 1900, 1874])
    assert (given(outcome), outcome.agreed_round, model.calls) == ("1900", None, 15)
    _, outcome = debated(*[["No idea"] * 3] * 5)
    assert (outcome.answer.value, outcome.agreed_round, outcome.missing) == (None, None, Missing.UNPARSED)


@pytest.mark.parametrize(("last", "answer"), [
    ((1874, 1934, 1900), "1874"),  # all differ: the first agent's
    (("No idea", 1934, 1900), "1934"),  # an unread answer does not vote
    (("No idea", "No idea", 1900), "1900"), ((1874, "No idea", 1874), "1874"),
])  # fmt: skip
def test_ties_go_to_the_first_agent_whose_answer_was_read(last: Sequence[object], answer: str) -> None:
    _, outcome = debated(*[[1934, 1874, 1874]] * 4, last)
    assert (given(outcome), outcome.agreed_round, outcome.missing) == (answer, None, None)
