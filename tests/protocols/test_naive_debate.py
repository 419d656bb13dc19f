"""Three agents who see each other's answers: what each is shown, when they stop, and who wins a tie [A.2]."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from srdcr_lab.protocols import METHODS, Outcome, Setup
from srdcr_lab.protocols.baselines import exemplar_orders
from srdcr_lab.records import CallFailed, Missing
from tests.scripted import ScriptedModel, exemplars, item, kind_of, question_of, setup_of

FALSE = item(1934)
FIRST, AGAIN = "naive_debate_answer", "naive_debate_reconsider"


def agents(*rounds: Sequence[object]) -> ScriptedModel:
    """Agents who answer with these years, round by round, in the order they are asked."""
    replies = [[f"{answer}. So I think in round {n}." for answer in answers] for n, answers in enumerate(rounds)]
    return ScriptedModel({FIRST: replies[0], AGAIN: [reply for later in replies[1:] for reply in later]})


def held(model: ScriptedModel, setup: Setup | None = None) -> Outcome:
    return asyncio.run(METHODS["naive_debate"].run(FALSE, setup or setup_of(model, None, FALSE)))


def answer_of(outcome: Outcome) -> str | None:
    return outcome.answer.value if outcome.answer else None


def test_agents_who_agree_at_once_do_not_debate() -> None:
    model = agents([1934, 1934, 1934])
    outcome = held(model)
    assert (answer_of(outcome), outcome.agreed_round, outcome.missing) == ("1934", 0, None)
    assert [kind_of(request) for request in model.requests] == [FIRST] * 3
    assert {(request.max_tokens, request.temperature) for request in model.requests} == {(250, 0.0)}
    held(model)
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


def test_in_later_rounds_an_agent_sees_its_last_answer_and_all_earlier_ones_of_the_others() -> None:
    model = agents([1934, 1874, 1874], [1934, 1874, 1900], [1874, 1874, 1874])
    outcome = held(model)
    assert (answer_of(outcome), outcome.agreed_round) == ("1874", 2)
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
    assert second_of_agent_1.startswith(
        f"<passage>\n{FALSE.context}\n</passage>\n<answer>\n1874. So I think in round 1."
    )
    assert all(len(request.messages) == 2 for request in model.asked(AGAIN))


def test_the_transcript_names_its_agents_and_what_each_saw() -> None:
    outcome = held(agents([1934, 1874, 1874], [1874, 1874, 1874]))
    assert [turn.speaker for turn in outcome.debate.turns] == ["agent-0", "agent-1", "agent-2"] * 2
    assert [turn.saw_turns for turn in outcome.debate.turns] == [()] * 3 + [(0, 1, 2)] * 3
    assert outcome.debate.verdict_path == ()


def test_five_rounds_at_most_then_the_majority_of_the_last() -> None:
    model = agents(*[[1934, 1874, 1874]] * 4, [1900, 1900, 1874])
    outcome = held(model)
    assert (answer_of(outcome), outcome.agreed_round) == ("1900", None)
    assert model.calls == 15
    outcome = held(agents(*[["No idea"] * 3] * 5))
    assert (answer_of(outcome), outcome.agreed_round, outcome.missing) == (None, None, Missing.UNPARSED)


@pytest.mark.parametrize(
    ("last", "answer"),
    [
        ((1874, 1934, 1900), "1874"),  # all differ: the first agent's
        (("No idea", 1934, 1900), "1934"),  # an unread answer does not vote
        (("No idea", "No idea", 1900), "1900"),
        ((1874, "No idea", 1874), "1874"),
    ],
)
def test_ties_go_to_the_first_agent_whose_answer_was_read(last: Sequence[object], answer: str) -> None:
    outcome = held(agents(*[[1934, 1874, 1874]] * 4, last))
    assert (answer_of(outcome), outcome.agreed_round, outcome.missing) == (answer, None, None)


def test_too_few_exemplars_for_three_orders_is_a_sentence() -> None:
    model = agents([1934, 1934, 1934])
    setup = setup_of(model, None, FALSE)
    few = replace(setup, items=replace(setup.items, exemplars=exemplars(2)))
    with pytest.raises(CallFailed, match=r"naive_debate needs 3 exemplars or more .* there are 2 for history"):
        held(model, few)
    assert model.requests == []
