"""What servers do to clients, and what users do to themselves: retries, slots, keys, addresses; with OpenAIChat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx2
import openai
import pytest

from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.records import BadInput, CallFailed, Completion, Request, Stopped
from tests.loopback.asking import GREEDY, use
from tests.loopback.behaviour import Fault
from tests.loopback.server import Loopback


def model_of(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("tested", base_url=server.openai_url, **options)


def ask(server: Loopback, request: Request = GREEDY, **options: Any) -> tuple[Completion, ...]:
    return use(model_of(server, **options), lambda model: model.complete(request))


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "in_vain"),
    [
        (Fault.RATE_LIMIT, 0),
        (Fault.SERVER_ERROR, 0),
        (Fault.GATEWAY_TIMEOUT, 1),
        (Fault.CUT, 1),
        (Fault.CUT_MID_BODY, 1),
        (Fault.BROKEN_JSON, 1),
        (Fault.NOT_A_COMPLETION, 1),
        (Fault.WRONG_TYPES, 1),
        (Fault.HANG, 1),
        (Fault.DRIP, 1),
    ],
)
def test_a_fault_is_survived_and_counted(loopback: Loopback, fault: Fault, in_vain: int) -> None:
    loopback.behaviour.faults = [fault]
    model = model_of(loopback, timeout_s=2.0 if fault in (Fault.HANG, Fault.DRIP) else 60.0)
    (answer,), counted = use(model, lambda model: model.complete_counted(GREEDY))
    assert answer.text.isdigit()
    assert counted == model.sent()["unanswered_attempts"] == in_vain
    assert len(loopback.completions) == 2


@pytest.mark.parametrize(
    ("fault", "sentence", "attempts", "in_vain"),
    [
        (Fault.RATE_LIMIT, "answered 429 (scripted 429)", 3, 0),
        (Fault.CUT, "failed or was cut, 3 times", 3, 3),
        (Fault.BROKEN_JSON, "was malformed 3 times", 3, 3),
        (Fault.HANG, "no reply within 0.1 s, 3 times", 3, 3),
    ],
)
def test_a_lasting_fault_fails_the_call_with_a_sentence(
    loopback: Loopback, fault: Fault, sentence: str, attempts: int, in_vain: int
) -> None:
    loopback.behaviour.faults = [fault] * 99
    with pytest.raises(CallFailed) as failure:
        ask(loopback, max_retries=2, timeout_s=0.1)
    assert sentence in str(failure.value)
    assert len(loopback.completions) == attempts
    assert failure.value.unanswered_attempts == in_vain


def test_no_request_takes_more_attempts_than_max_attempts(loopback: Loopback) -> None:
    loopback.behaviour.faults = [
        Fault.CUT,
        Fault.BROKEN_JSON,
        Fault.CUT,
        Fault.BROKEN_JSON,
        Fault.BROKEN_JSON,
        Fault.CUT,
    ]
    model = model_of(loopback, max_retries=2)
    with pytest.raises(CallFailed, match="malformed 3 times") as failure:
        use(model, lambda model: model.complete(GREEDY))
    assert len(loopback.completions) == failure.value.unanswered_attempts == model.max_attempts == 5


def test_retries_are_not_granted_anew_after_a_malformed_reply(loopback: Loopback) -> None:
    loopback.behaviour.faults = [Fault.CUT, Fault.CUT, Fault.BROKEN_JSON, Fault.CUT]
    with pytest.raises(CallFailed, match="failed or was cut"):
        ask(loopback, max_retries=2)
    assert len(loopback.completions) == 4


def test_retry_after_is_honoured(loopback: Loopback) -> None:
    loopback.behaviour.faults, loopback.behaviour.retry_after_s = [Fault.RATE_LIMIT], 0.2
    ask(loopback)
    first, second = loopback.completions
    assert second.start - first.end >= 0.2


def test_a_cancelled_call_frees_its_slot(loopback: Loopback) -> None:
    loopback.behaviour.faults = [Fault.HANG]

    async def call(model: OpenAIChat) -> int:
        hanging = asyncio.create_task(model.complete(GREEDY))
        while not loopback.completions:
            await asyncio.sleep(0.01)
        hanging.cancel()
        await asyncio.wait([hanging])
        assert hanging.cancelled()
        return len(await model.complete(GREEDY))

    assert use(model_of(loopback, concurrency=1), call) == 1


def test_closed_and_used_again(loopback: Loopback) -> None:
    async def call(model: OpenAIChat) -> None:
        await model.aclose()
        await model.complete(GREEDY)
        await model.aclose()
        await model.complete(GREEDY)

    use(model_of(loopback), call)


def test_concurrency_is_bounded_and_first_come_first_served(loopback: Loopback) -> None:
    loopback.behaviour.latency_s = 0.02

    async def many(model: OpenAIChat) -> None:
        await asyncio.gather(*(model.complete(replace(GREEDY, seed=seed)) for seed in range(20)))

    use(model_of(loopback, concurrency=4), many)
    expected = [replace(GREEDY, seed=seed).draw_seed(0) for seed in range(20)]
    order = [expected.index(asked.body["seed"]) for asked in loopback.completions]
    assert loopback.most_in_flight == 4
    assert all(abs(place - seed) < 4 for place, seed in enumerate(order))


def test_one_model_serves_two_event_loops(loopback: Loopback) -> None:
    model = model_of(loopback)
    first, second = asyncio.run(model.complete(GREEDY)), asyncio.run(model.complete(GREEDY))
    assert first == second


# What the user has to act on -----------------------------------------------------------------------------------------


def test_the_log_of_requests_holds_no_secret(loopback: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = loopback.openai_url.replace("http://", "http://user:secret-word@")
    use(OpenAIChat("tested", base_url=url), lambda model: model.complete(GREEDY))
    assert "/v1/chat/completions" in caplog.text
    assert "secret-word" not in caplog.text


def test_missing_key_is_named(no_keys: None) -> None:
    with pytest.raises(BadInput, match="set the environment variable OPENAI_API_KEY"):
        OpenAIChat("gpt-4o")


def test_a_server_of_ones_own_needs_no_key(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", loopback.openai_url)
    assert use(OpenAIChat("tested"), lambda model: model.complete(GREEDY))


@pytest.mark.parametrize("call", [lambda model: model.complete(GREEDY), lambda model: model.check()])
def test_refused_key_is_bad_input_and_not_repeated(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, call: Callable[[OpenAIChat], Awaitable[Any]]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    loopback.behaviour.key = "sk-right-0123456789"
    with pytest.raises(BadInput, match="the key in OPENAI_API_KEY was refused") as refusal:
        use(model_of(loopback), call)
    assert "sk-" not in str(refusal.value)
    assert "0123456789" not in f"{refusal.value!r}{refusal.value.__cause__!r}"


def test_the_right_key_is_sent(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right-0123456789")
    loopback.behaviour.key = "sk-right-0123456789"
    assert ask(loopback)


def test_unknown_model_is_bad_input(loopback: Loopback) -> None:
    loopback.behaviour.models = ("another",)
    with pytest.raises(BadInput, match=r"openai:tested: 127\.0\.0\.1:\d+ knows no such model or path"):
        ask(loopback)


def test_check_takes_one_request_and_is_content_with_any_answer(loopback: Loopback) -> None:
    use(model_of(loopback), lambda model: model.check())
    assert [asked.path for asked in loopback.asked] == ["/v1/models"]
    use(OpenAIChat("tested", base_url=f"{loopback.url}/no/such/path"), lambda model: model.check())


def test_unreachable_server_is_bad_input_without_credentials(no_keys: None, quick_retries: None) -> None:
    model = OpenAIChat("tested", base_url="http://user:secret-word@127.0.0.1:9/v1?token=abc")
    with pytest.raises(BadInput, match=r"the server at 127\.0\.0\.1:9 could not be reached") as error:
        use(model, lambda model: model.check())
    assert "secret-word" not in f"{error.value}{model.sent()}"


@pytest.mark.parametrize(
    ("option", "value"), [("base_url", "localhost:8000/v1"), ("base_url", "http://host:x/v1"), ("concurrency", 0)]
)
def test_options_that_cannot_be_meant(no_keys: None, option: str, value: Any) -> None:
    with pytest.raises(BadInput, match="openai:tested"):
        OpenAIChat("tested", **({"base_url": "http://127.0.0.1:9/v1"} | {option: value}))


@pytest.mark.parametrize(("status", "code"), [(402, None), (429, "insufficient_quota")])
def test_an_account_that_is_used_up_stops_the_run(no_keys: None, status: int, code: str | None) -> None:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions"))
    refusal = openai.APIStatusError("no credit", response=response, body={"message": "no credit", "code": code})
    error = OpenAIChat("double", base_url="http://127.0.0.1/v1")._translated(refusal)
    assert isinstance(error, Stopped)
    assert "top it up and run the same again" in str(error)
