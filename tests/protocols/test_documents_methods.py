"""Concatenation, MADAM-RAG and RA-RAG by script: who saw what, in which order, how many calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from srdcr_lab.models.spending import metered
from srdcr_lab.protocols import METHODS, Choices, Outcome
from srdcr_lab.records import AnswerType, CallFailed, Debate, Item, Missing, Request, Role
from tests.documents import documents, in_turn, item, says_what_it_reads, shown
from tests.scripted import ScriptedModel, kind_of, question_of, setup_of, stored_setup

Reply = str | Callable[[Request, int], str]


def ran(method: str, of: Item, **script: Reply | Exception) -> tuple[ScriptedModel, Outcome]:
    model = ScriptedModel(script)
    return model, asyncio.run(METHODS[method].run(of, setup_of(model, None, of)))


def held(outcome: Outcome) -> Debate:
    assert outcome.debate is not None
    return outcome.debate


# Concatenation -------------------------------------------------------------------------------------------------------


def test_concatenation_is_one_call_that_sees_every_document_in_order() -> None:
    model, outcome = ran("concatenate", item(1874, 1901, None), documents_together="Two say so.\nanswers: 1874")
    assert model.calls == 1
    assert shown(model.requests[0]) == [1, 2, 3]
    assert question_of(model.requests[0]).splitlines()[-1] == "Question: When was the hall q1 opened?"
    assert (outcome.values, outcome.missing) == (("1874",), None)
    (turn,) = held(outcome).turns
    assert (turn.role, turn.stated_answer, turn.saw_passage, turn.saw_turns) == (Role.AGENT, "1874", True, ())


@pytest.mark.parametrize(
    ("reply", "values", "missing"),
    [
        ("answers: 1874 | 1901", ("1874", "1901"), None),
        ("**Answers:** 1874 | AD 1874", ("1874",), None),  # one year, twice
        ("answers: none", (), Missing.ABSTAINED),
        ("answers:", (), Missing.UNPARSED),
        ("answers: perhaps", (), Missing.UNPARSED),
        ("1874", (), Missing.UNPARSED),
        ("answers: 1874\nI hope this helps.", (), Missing.UNPARSED),
    ],
)
def test_the_last_line_holds_the_answers_or_there_are_none(
    reply: str, values: tuple[str, ...], missing: Missing | None
) -> None:
    _, outcome = ran("concatenate", item(1874, 1901), documents_together=reply)
    assert (outcome.values, outcome.missing) == (values, missing)
    assert held(outcome).turns[0].text == reply  # the raw reply stays


def test_texts_are_kept_as_written_and_told_apart_as_texts_are() -> None:
    of = replace(item(1874, 1901), answer_type=AnswerType.TEXT, gold_answer="American football")
    _, outcome = ran("concatenate", of, documents_together='answers: "American football" | the American Football | AFL')
    assert outcome.values == ("American football", "AFL")


# MADAM-RAG -----------------------------------------------------------------------------------------------------------


def test_agents_open_from_their_own_document_and_then_hear_the_others_last_replies() -> None:
    of = item(1874, 1901, None)
    model, outcome = ran("madam_rag", of, document_agent=says_what_it_reads, documents_aggregator="answers: 1874")
    agents = model.asked("document_agent")
    assert [shown(request) for request in agents] == [[1], [2], [3]] * 2
    assert ["<agent" in question_of(request) for request in agents] == [False] * 3 + [True] * 3
    heard = question_of(agents[4])
    assert heard.count("<agent") == 2
    assert '<agent document="1">\n1874. My document says so.\n</agent>' in heard
    assert '<agent document="3">\nUnknown. My document is about geese.\n</agent>' in heard
    assert [(turn.round, turn.role.value, turn.speaker, turn.saw_turns) for turn in held(outcome).turns] == [
        (0, "agent", "1", ()), (0, "agent", "2", ()), (0, "agent", "3", ()), (0, "aggregator", "", (0, 1, 2)),
        (1, "agent", "1", (1, 2)), (1, "agent", "2", (0, 2)), (1, "agent", "3", (0, 1)),
        (1, "aggregator", "", (4, 5, 6)),
    ]  # fmt: skip
    assert [turn.stated_answer for turn in held(outcome).turns[:3]] == ["1874", "1901", None]


def test_the_aggregator_sees_replies_and_no_document() -> None:
    model, _ = ran("madam_rag", item(1874, 1901), document_agent=says_what_it_reads, documents_aggregator="answers: 1")
    for request in model.asked("documents_aggregator"):
        assert shown(request) == []
        assert question_of(request).count("<agent document=") == 2


def test_madam_rag_ends_when_answers_are_unchanged_or_after_three_rounds() -> None:
    """(2 agents + 1 aggregator) × 2 rounds."""
    model, outcome = ran(
        "madam_rag", item(1874, 1901), document_agent=says_what_it_reads, documents_aggregator="answers: 1874 | 1901"
    )
    assert (model.calls, outcome.agreed_round, outcome.values) == (6, 1, ("1874", "1901"))
    years = iter(range(1800, 1900))
    model, outcome = ran(
        "madam_rag",
        item(1874, 1901),
        document_agent=lambda request, draw: f"{next(years)}. I have changed my mind.",
        documents_aggregator="answers: 1874",
    )
    assert (model.calls, outcome.agreed_round) == (9, None)
    assert max(turn.round for turn in held(outcome).turns) == 2
    model, outcome = ran(
        "madam_rag", item(1874), document_agent=says_what_it_reads, documents_aggregator="answers: 1874"
    )
    assert (model.calls, outcome.agreed_round, outcome.values) == (2, 0, ("1874",))
    with pytest.raises((CallFailed, ExceptionGroup)):
        ran("madam_rag", item(1874, 1901), document_agent=CallFailed("cut off"))


def test_the_final_aggregate_is_that_of_the_round_that_converged() -> None:
    """Agent 2 gives in, in round 1; round 2 changes nothing. The aggregates differ, and the last one counts."""

    def agent(request: Request, draw: int) -> str:
        first = "<agent" not in question_of(request)
        return "1901. My document says so." if shown(request) == [2] and first else "1874. So it is."

    aggregates = in_turn("answers: 1901", "answers: none", "answers: 1874")
    model, outcome = ran("madam_rag", item(1874, 1901), document_agent=agent, documents_aggregator=aggregates)
    assert (model.calls, outcome.agreed_round, outcome.values) == (9, 2, ("1874",))


def test_fifty_documents_are_asked_all_at_once() -> None:
    """Each agent waits until all fifty have been asked."""
    of = item(*range(1801, 1851))

    class Waiting(ScriptedModel):
        barrier: asyncio.Barrier

        async def complete(self, request: Request):
            if kind_of(request) == "document_agent" and "<agent" not in question_of(request):
                await self.barrier.wait()
            return await super().complete(request)

    async def bounded() -> Outcome:
        model = Waiting({"document_agent": says_what_it_reads, "documents_aggregator": "answers: 1801"})
        model.barrier = asyncio.Barrier(50)
        return await asyncio.wait_for(METHODS["madam_rag"].run(of, setup_of(model, None, of)), timeout=60)

    assert len(held(asyncio.run(bounded())).turns) == 2 * 51


@pytest.mark.parametrize(("method", "calls"), [("concatenate", 1), ("ra_rag", 50)])
def test_fifty_documents_are_all_read(method: str, calls: int) -> None:
    of = item(*[1874] * 26, *range(1901, 1925))
    model, outcome = ran(method, of, documents_together="answers: 1874", document_agent=says_what_it_reads)
    assert (model.calls, outcome.values) == (calls, ("1874",))
    assert sorted(place for request in model.requests for place in shown(request)) == list(range(1, 51))


@pytest.mark.parametrize("method", ["concatenate", "ra_rag"])
def test_one_document_is_enough(method: str) -> None:
    model, outcome = ran(method, item(1874), documents_together="answers: 1874", document_agent=says_what_it_reads)
    assert (model.calls, outcome.values) == (1, ("1874",))


# RA-RAG: one item by itself ------------------------------------------------------------------------------------------


def test_ra_rag_asks_each_document_once_and_counts_votes() -> None:
    model, outcome = ran("ra_rag", item(1874, 1901, 1874, None), document_agent=says_what_it_reads)
    assert (model.calls, outcome.values, outcome.missing) == (4, ("1874",), None)
    assert [shown(request) for request in model.requests] == [[1], [2], [3], [4]]
    _, outcome = ran("ra_rag", item(1874, 1901, None), document_agent=says_what_it_reads)
    assert outcome.values == ("1874", "1901")
    _, outcome = ran("ra_rag", item(None, None), document_agent=says_what_it_reads)
    assert (outcome.values, outcome.missing, outcome.answer) == ((), Missing.ABSTAINED, None)


def test_madam_rag_and_ra_rag_share_their_openings() -> None:
    of = item(1874, 1901)
    model = ScriptedModel({"document_agent": says_what_it_reads, "documents_aggregator": "answers: 1874"})

    async def both() -> list[tuple[int, int]]:
        setup, counts = stored_setup(model, Choices(), of), []
        for name in ("madam_rag", "ra_rag"):
            with metered() as meter:
                await METHODS[name].run(of, setup)
            counts.append((meter.calls_alone, meter.calls_paid))
        return counts

    # the agents repeat themselves, so the aggregator's second prompt is its first
    assert asyncio.run(both()) == [(6, 5), (2, 0)]


# What no speaker is told ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["concatenate", "madam_rag", "ra_rag", "dialectical"])
def test_kinds_sources_and_published_answers_are_in_no_prompt(method: str) -> None:
    of = replace(
        item(1874), documents=tuple(replace(each, source="GAZETTE", answer="ANSWER") for each in documents(1874))
    )
    model, _ = ran(
        method,
        of,
        documents_together="answers: 1874",
        document_agent="1874. So it is.",
        documents_aggregator="answers: 1874",
        proponent_thesis='{"answer": "1874", "chain_of_thought": ["So it is."]}',
        devils_advocate='{"challenges": []}',
        documents_judge="answers: 1874",
    )
    sent = "".join(question_of(request) for request in model.requests)
    assert not [word for word in ("GAZETTE", "ANSWER", "correct", "misinfo") if word in sent]
