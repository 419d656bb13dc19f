"""SR-DCR as a filter of documents, by script: what is let through, what is read after that, how many calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from srdcr_lab.protocols import METHODS, Choices, Outcome, choices
from srdcr_lab.records import Decision, Item, Missing, Request
from tests.documents import item, shown
from tests.scripted import REASONABLE, SURE, UNREASONABLE, UNSURE, ScriptedModel, question_of, setup_of


def judge_of(rulings: Mapping[int, str]) -> Callable[[Request, int], str]:
    """Rules by the year that the defender names."""
    return lambda request, draw: next(
        ruling for year, ruling in rulings.items() if f"{year}. My" in question_of(request)
    )


def defends(request: Request, draw: int) -> str:
    return f"{question_of(request).partition('opened in ')[2][:4]}. My passage says so."


def ran(of: Item, chosen: Choices | None = None, **script: object) -> tuple[ScriptedModel, Outcome]:
    model = ScriptedModel({"defender": defends, "documents_together": "answers: 1874", **script})
    return model, asyncio.run(METHODS["sr_dcr_per_document"].run(of, setup_of(model, chosen, of)))


def test_documents_found_reasonable_are_read_together() -> None:
    rulings = {1874: REASONABLE, 1901: UNREASONABLE, 1850: REASONABLE}
    model, outcome = ran(item(1874, 1901, 1850), judge=judge_of(rulings))
    (reading,) = model.asked("documents_together")
    assert question_of(reading).count("<document") == 2
    assert shown(reading) == [1, 3]
    assert (outcome.values, outcome.decision) == (("1874",), Decision.USE_CONTEXT)


@pytest.mark.parametrize(("documents", "rounds", "calls"), [(2, 1, 10), (2, 6, 40), (1, 1, 6), (50, 1, 202)])
def test_calls_are_a_debate_a_document_and_two(documents: int, rounds: int, calls: int) -> None:
    """For each document its context answer and 3 calls a round; the prior answer, and the reading."""
    model, outcome = ran(item(*range(1874, 1874 + documents)), choices(rounds=rounds), judge=REASONABLE)
    assert (model.calls, outcome.values) == (calls, ("1874",))


def test_each_document_is_debated_as_the_passage() -> None:
    model, outcome = ran(item(1874, 1901), choices(rounds=1), judge=REASONABLE)
    assert [shown(request) for request in model.asked("defender")] == [[1], [2]]
    assert [shown(request) for request in model.asked("critic")] == [[], []]
    assert [(turn.round, turn.role.value, turn.speaker, turn.saw_turns) for turn in outcome.debate.turns] == [
        (0, "defender", "1", ()), (0, "critic", "1", ()), (0, "judge", "1", (0, 1)), (0, "defender", "2", ()),
        (0, "critic", "2", ()), (0, "judge", "2", (2, 3)), (1, "agent", "", ()),
    ]  # fmt: skip
    model, _ = ran(item(1874), choices(design="symmetric"), judge=REASONABLE)
    assert all(shown(request) == [1] for request in model.asked("critic"))


def test_nothing_let_through_answers_from_a_sure_memory_or_abstains() -> None:
    model, outcome = ran(item(1901, 1850), judge=UNREASONABLE, answer_from_memory=SURE)
    assert model.asked("documents_together") == []
    assert (outcome.values, outcome.decision, outcome.missing) == (("1874",), Decision.USE_PRIOR, None)
    assert outcome.confidence is not None
    assert model.calls == 2 * 19 + 1
    model, _ = ran(item(1901, 1850), choices(design="own_answers"), judge=UNREASONABLE, answer_from_memory=SURE)
    assert model.calls == 2 * 18 + 1  # nobody is told an answer
    _, outcome = ran(item(1901, 1850), judge=UNREASONABLE, answer_from_memory=UNSURE)
    assert (outcome.values, outcome.decision, outcome.missing) == ((), Decision.ABSTAIN, Missing.ABSTAINED)
    # One of two rejected: the rule of section 3.2; not one verdict read: UNPARSED.
    rulings = {1901: "Hard to say.", 1850: UNREASONABLE}
    assert ran(item(1901, 1850), judge=judge_of(rulings), answer_from_memory=SURE)[1].values == ("1874",)
    _, outcome = ran(item(1901, 1850), judge="Hard to say.", answer_from_memory=SURE)
    assert (outcome.values, outcome.missing) == ((), Missing.UNPARSED)
