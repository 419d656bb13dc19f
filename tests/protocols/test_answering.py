"""Which prompts are sent, with which exemplars, in which streams [paper 2.2, 2.3, 4.1, B, C.1]."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from srdcr_lab.answers import counts_as, is_accepted, same_answer
from srdcr_lab.data import ItemSet
from srdcr_lab.protocols import (
    Answer,
    Cast,
    Choices,
    Setup,
    consistency_draws,
    context_answer,
    knowledge_draws,
    prior_answer,
)
from srdcr_lab.protocols.answering import is_correct
from srdcr_lab.protocols.choices import Match
from srdcr_lab.records import AnswerType, BadInput, Completion, Exemplar, Item, Request
from tests.scripted import ScriptedModel, exemplars, item, question_of, setup_of

Protocol = Callable[[Item, Setup], Coroutine[Any, Any, Any]]


def asked(
    protocol: Protocol, of: Item | None = None, *, seed: int = 0, choices: Choices | None = None
) -> list[Request]:
    """The requests of one protocol over one item."""
    model = ScriptedModel()
    asyncio.run(protocol(of or item(), setup_of(model, choices, of or item(), seed=seed)))
    return model.requests


def shown(request: Request) -> list[str]:
    """The exemplars' questions in a prompt, in order."""
    users = [m.content for m in request.messages[1:-1] if m.role == "user"]
    return [text.rpartition("Question: ")[2] for text in users]


FIRST_FOUR = [e.question for e in exemplars()[:4]]


def test_the_prior_answer_and_the_context_answer_are_one_greedy_draw() -> None:
    (request,) = asked(prior_answer)
    assert (request.temperature, request.stream, request.draws, request.logprobs) == (0.0, "greedy", (0,), True)
    assert "passage" not in question_of(request)
    assert "SENTINEL" not in request.canonical
    (request,) = asked(context_answer)
    assert (request.temperature, request.draws) == (0.0, (0,))
    assert question_of(request) == f"<passage>\n{item().context}\n</passage>\nQuestion: {item().question}"
    pool = {e.question: e for e in exemplars()}
    for user, assistant in zip(request.messages[1:-1:2], request.messages[2:-1:2], strict=True):
        exemplar = pool[user.content.rpartition("Question: ")[2]]
        assert user.content == f"<passage>\n{exemplar.context}\n</passage>\nQuestion: {exemplar.question}"
        assert (user.role, assistant.role, assistant.content) == ("user", "assistant", exemplar.answer)


def test_knowledge_is_32_draws_and_consistency_16_in_streams_of_their_own() -> None:
    (request,) = asked(knowledge_draws)
    assert (request.temperature, request.stream) == (0.5, "knowledge")
    assert request.draws == tuple(range(32))
    assert "SENTINEL" not in request.canonical
    assert asked(knowledge_draws, choices=Choices(knowledge_draws=0)) == []
    (prior,), (consistency,) = asked(prior_answer), asked(consistency_draws)
    assert consistency.messages == prior.messages
    assert (consistency.temperature, consistency.stream) == (0.5, "self_consistency")
    assert consistency.draws == tuple(range(16))
    # By stream, whatever the prompts: here the pool has four exemplars, so that both show the same ones.
    model = ScriptedModel()
    setup = Setup(Cast(*[model] * 4), Choices(), ItemSet("worked", (item(),), exemplars(4)))
    asyncio.run(knowledge_draws(item(), setup))
    asyncio.run(consistency_draws(item(), setup))
    knowledge, consistency = model.requests
    addresses = [{(r.stream, draw) for draw in r.draws} for r in (knowledge, consistency)]
    assert addresses[0] & addresses[1] == set()
    assert len(addresses[0] | addresses[1]) == 48
    seeds = {r.draw_seed(draw) for r in (knowledge, consistency) for draw in r.draws}
    assert len(seeds) == 48


def test_forms_of_a_question_are_shown_the_same_exemplars() -> None:
    forms = [asked(prior_answer, item(question_id=q), seed=seed)[0] for q in ("q1", "q2", "q3") for seed in (0, 1)]
    assert [shown(request) for request in forms] == [FIRST_FOUR] * 6
    assert len({tuple(shown(asked(context_answer, item(year))[0])) for year in (1874, 1894, 1674)}) == 1


@pytest.mark.parametrize("protocol", [knowledge_draws, context_answer])
def test_others_have_seeded_random_exemplars(protocol: Protocol) -> None:
    drawn = [shown(asked(protocol, item(question_id=f"q{i}"))[0]) for i in range(8)]
    assert all(len(set(questions)) == 4 for questions in drawn)
    assert len({tuple(questions) for questions in drawn}) > 1
    assert drawn == [shown(asked(protocol, item(question_id=f"q{i}"))[0]) for i in range(8)]
    assert drawn != [shown(asked(protocol, item(question_id=f"q{i}"), seed=1)[0]) for i in range(8)]


@pytest.mark.parametrize("protocol", [prior_answer, knowledge_draws, consistency_draws])
def test_all_forms_of_a_question_send_the_same_request_without_a_passage(protocol: Protocol) -> None:
    assert len({asked(protocol, item(year))[0].canonical for year in (1874, 1894, 1674)}) == 1


def test_exemplars_are_in_domain_and_never_evaluated() -> None:
    pool = (*exemplars(6, "sport"), *exemplars(5, "history"))
    setup = Setup(Cast(*[ScriptedModel()] * 4), Choices(), ItemSet("worked", (item(domain="history"),), pool))
    assert {e.domain for e in setup.random_exemplars(item(domain="history"))} == {"history"}
    assert {e.domain for e in setup.fixed_exemplars(item(domain="history"))} == {"history"}
    pool = (*exemplars(3, "sport"), *exemplars(5, "history"))
    items = ItemSet("worked", (item(domain="sport"),), pool)
    assert items.pool(item(domain="sport")) == pool
    mine = item()
    also = Exemplar(question=mine.question, answer="1874", context=mine.context, domain="history")
    with pytest.raises(BadInput, match="is also evaluated"):
        ItemSet("worked", (mine,), (*exemplars(), also))


def read(text: str, of: Item, match: Match) -> Answer:
    model = ScriptedModel({"answer_from_memory": text})
    return asyncio.run(prior_answer(of, setup_of(model, Choices(match=match), of)))


@pytest.mark.parametrize(("text", "value", "exact", "anywhere"), [
    ("1874", "1874", True, True), ("It was 1874.", "1874", True, True),
    ("1875", "1875", False, False),
    ("Either 1874 or 1875.", None, False, True),  # the released code finds the gold answer in it
    ("I do not know.", None, False, False), ("", None, False, False),
])  # fmt: skip
def test_exact_and_loose_match(text: str, value: str | None, exact: bool, anywhere: bool) -> None:
    strict, loose = read(text, item(), Match.EXACT), read(text, item(), Match.ANYWHERE)
    assert strict.value == value
    assert is_correct(strict, item(), Match.EXACT) is exact
    assert is_correct(loose, item(), Match.ANYWHERE) is anywhere


DOSE = replace(item(), gold_answer="400", answer_type=AnswerType.NUMBER, unit="mg", accepted=("500..800", "1000"))
YEAR = replace(item(), accepted=("1870..1872", "1880"))
ERA = replace(item(), accepted=("44 BC..30 BC",))
DAY = replace(item(), gold_answer="14 July 1789", answer_type=AnswerType.DATE, accepted=("1789-07-16..1789-07-18",))
NAME = replace(item(), gold_answer="Edwin Drake", answer_type=AnswerType.NAME, accepted=("James Williams",))
TEXT = replace(item(), gold_answer="iron", answer_type=AnswerType.TEXT, accepted=("a steel", "a..b"))


@pytest.mark.parametrize(("of", "value", "right"), [
    *((DOSE, value, True) for value in ("500", "650.5", "800", "1,000")),
    *((DOSE, value, False) for value in ("499", "801", "650 g", "-650")),
    *((YEAR, value, value != "1873") for value in ("1870", "1871", "1873", "1880")),
    *((ERA, value, value == "40 BC") for value in ("40 BC", "40", "45 BC")),
    *((DAY, value, "17th" in value) for value in ("July 17th, 1789", "15 July 1789")),
    *((NAME, value, value != "Williams") for value in ("james williams", "Williams")),
    *((TEXT, value, value != "aa") for value in ("Steel", "a..b", "aa")),
])  # fmt: skip
def test_accepted_values_are_right_answers(of: Item, value: str, right: bool) -> None:
    for match in Match:
        assert is_correct(Answer(value, Completion(value)), of, match) is right
    assert is_accepted(value, of) is right
    assert counts_as(value, of.gold_answer, of) is right
    assert not counts_as(value, "3", of)  # of another gold answer nothing else is accepted


def test_same_answer() -> None:
    """A vote must not add them up."""
    assert not same_answer("600", "700", DOSE)
    assert not same_answer("600", "400", DOSE)
    city = replace(item(), gold_answer="Leningrad", aliases=("Petrograd", "St Petersburg"), answer_type=AnswerType.CITY)
    assert same_answer("Petrograd", "St Petersburg", city)
    assert same_answer("Moscow", "moscow", city)
    assert not same_answer("Moscow", "Petrograd", city)
    assert not same_answer(None, None, city)
    assert is_correct(Answer("Petrograd", Completion("Petrograd")), city)
    assert not is_correct(Answer("Moscow", Completion("Moscow")), city)
