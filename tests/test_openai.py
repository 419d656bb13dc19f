"""OpenAIChat: the official SDK over real HTTP against the loopback server."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.prompts import render
from srdcr_lab.records import BadInput, CallFailed, Completion, FinishReason, Message, Request
from tests.loopback.behaviour import Fault
from tests.loopback.server import Loopback

pytest_plugins = ("tests.loopback.fixture",)

GREEDY = Request(render("answer_from_memory", question="When was the bridge built?"), 16, logprobs=True)
DRAWS = replace(GREEDY, temperature=0.5, stream="knowledge", draws=tuple(range(10)), logprobs=False)
T = TypeVar("T")


def model_of(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("tested", base_url=server.openai_url, **options)


def use(model: OpenAIChat, call: Callable[[OpenAIChat], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            return await call(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def ask(server: Loopback, request: Request = GREEDY, **options: Any) -> tuple[Completion, ...]:
    return use(model_of(server, **options), lambda model: model.complete(request))


def test_greedy_answer_with_its_tokens(loopback: Loopback) -> None:
    (answer,) = ask(loopback)
    assert answer.text == "".join(answer.tokens or ())
    assert len(answer.logprobs or ()) == len(answer.tokens or ()) == answer.completion_tokens == 2
    assert all(logprob <= 0 for logprob in answer.logprobs or ())
    assert (answer.draw, answer.finish_reason) == (0, FinishReason.STOP)


def test_what_is_sent(loopback: Loopback) -> None:
    ask(loopback, replace(GREEDY, stop=("\n",)))
    (asked,) = loopback.completions
    request = replace(GREEDY, stop=("\n",))
    assert asked.body == {
        "model": "tested",
        "messages": [{"role": message.role, "content": message.content} for message in GREEDY.messages],
        "temperature": 0.0,
        "max_tokens": 16,
        "seed": request.draw_seed(0),
        "stop": ["\n"],
        "logprobs": True,
    }


# Draws ---------------------------------------------------------------------------------------------------------------


def test_draws_in_one_request_prompt_counted_once(loopback: Loopback) -> None:
    answers = ask(loopback, replace(DRAWS, draws=(7, 3, 11)))
    (asked,) = loopback.completions
    assert (asked.choices, asked.body["seed"]) == (3, DRAWS.draw_seed(7))
    assert [answer.draw for answer in answers] == [7, 3, 11]
    assert [answer.prompt_tokens > 0 for answer in answers] == [True, False, False]


@pytest.mark.parametrize(("given", "asked_for"), [(4, [10, 4, 2]), (1, [10] + [1] * 9)])
def test_server_that_gives_fewer_choices_is_asked_for_the_rest(
    loopback: Loopback, given: int, asked_for: list[int]
) -> None:
    loopback.behaviour.choices = given
    answers = ask(loopback, DRAWS)
    assert [answer.draw for answer in answers] == list(range(10))
    assert [asked.choices for asked in loopback.completions] == asked_for
    assert len({asked.body["seed"] for asked in loopback.completions}) == len(asked_for)


def test_the_size_a_server_gives_is_remembered(loopback: Loopback) -> None:
    loopback.behaviour.choices = 4
    model = model_of(loopback)

    async def twice(model: OpenAIChat) -> None:
        await model.complete(DRAWS)
        await model.complete(replace(DRAWS, stream="redraw"))

    assert model.draws_per_request == 128
    use(model, twice)
    assert model.draws_per_request == 4
    assert [asked.choices for asked in loopback.completions[3:]] == [4, 4, 2]


def test_draws_that_arrive_are_handed_on_though_another_fails(loopback: Loopback) -> None:
    loopback.behaviour.choices = 1
    arrived: list[Completion] = []

    async def call(model: OpenAIChat) -> None:
        await model.complete(replace(DRAWS, draws=(0, 1)))  # learns that one choice is given
        loopback.behaviour.faults += [Fault.SERVER_ERROR]
        await model.complete_counted(replace(DRAWS, stream="redraw"), arrived.extend)

    with pytest.raises(CallFailed, match="500"):
        use(model_of(loopback, max_retries=0), call)
    assert len(arrived) == 9


# What a model refuses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "recorded"),
    [
        ("max_tokens", ("adapted", "max_tokens", "max_completion_tokens")),
        ("n", ("adapted", "n", "1")),
        ("seed", ("dropped", "seed", "refused by the model")),
        ("stop", ("dropped", "stop", "refused by the model")),
        ("logprobs", ("dropped", "logprobs", "refused by the model")),
    ],
)
def test_a_refused_parameter_costs_one_request(
    loopback: Loopback, parameter: str, recorded: tuple[str, str, str]
) -> None:
    loopback.behaviour.refuses = frozenset({parameter})
    request = replace(DRAWS, draws=(0, 1), logprobs=True, stop=("\n",))
    model = model_of(loopback)

    async def twice(model: OpenAIChat) -> None:
        assert len(await model.complete(request)) == 2
        assert len(await model.complete(replace(request, stream="redraw"))) == 2

    use(model, twice)
    refused = [asked for asked in loopback.completions if asked.status != "200"]
    kind, name, value = recorded
    assert len(refused) == 1
    assert model.sent()[kind][name] == value
    assert any(f"refuses {parameter}" in note for note in model.sent()["notes"])


def test_refused_logprobs_withdraw_the_capability(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"logprobs"})
    model = model_of(loopback)
    (answer,) = use(model, lambda model: model.complete(GREEDY))
    assert (answer.tokens, answer.logprobs) == (None, None)
    assert not model.capabilities.logprobs
    assert "self-consistency" in model.capabilities.notes[0]


def test_refused_temperature_is_bad_input(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"temperature"})
    with pytest.raises(BadInput, match=r"openai:tested refuses temperature; SR-DCR needs T = 0 and T = 0\.5"):
        ask(loopback)


def test_a_reasoning_model_refuses_several(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"max_tokens", "logprobs", "stop"})
    assert ask(loopback, replace(GREEDY, stop=("\n",)))[0].text
    assert [asked.status for asked in loopback.completions] == ["403", "400", "400", "200"]


def test_concurrent_first_requests_all_adapt(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"max_tokens"})
    loopback.behaviour.latency_s = 0.02

    async def many(model: OpenAIChat) -> int:
        requests = [replace(GREEDY, seed=seed) for seed in range(16)]
        return len(await asyncio.gather(*map(model.complete, requests)))

    assert use(model_of(loopback), many) == 16


def test_too_long_a_prompt_is_no_refused_parameter(loopback: Loopback) -> None:
    from srdcr_lab.models import openai as module

    said = "This model's maximum context length is 8192 tokens; reduce max_tokens or the messages."
    error = _status_error(400, {"message": said, "param": "messages", "code": "context_length_exceeded"})
    assert module.OpenAIChat._refused(model_of(loopback), error, {"max_tokens": 16}) is None  # type: ignore[func-returns-value]


# What comes back -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "usable"),
    [
        ("full", True),
        ("end_marker", True),
        ("bytes", True),
        ("null", False),
        ("missing", False),
        ("short", False),
        ("wrong_types", False),
    ],
)
def test_logprobs_spell_the_text_or_are_none(loopback: Loopback, kind: Any, usable: bool) -> None:
    loopback.behaviour.logprobs = kind
    loopback.reply = lambda messages, temperature, seed: "Café Zürich, 1874 ☕"
    (answer,) = ask(loopback)
    assert answer.text == "Café Zürich, 1874 ☕"
    if usable:
        assert "".join(answer.tokens or ()) == answer.text
        assert len(answer.tokens or ()) == len(answer.logprobs or ())
        assert "<|im_end|>" not in (answer.tokens or ())
    else:
        assert (answer.tokens, answer.logprobs) == (None, None)


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("eos", FinishReason.STOP),
    ],
)
def test_finish_reasons(loopback: Loopback, finish: str, expected: FinishReason) -> None:
    loopback.behaviour.finish = finish
    (answer,) = ask(loopback)
    assert answer.finish_reason is expected
    assert (answer.text == "") == (expected is FinishReason.CONTENT_FILTER)


def test_a_refusal_is_a_result_with_its_text(loopback: Loopback) -> None:
    loopback.behaviour.refusal = "I cannot help with that."
    (answer,) = ask(loopback)
    assert (answer.text, answer.finish_reason) == ("I cannot help with that.", FinishReason.REFUSAL)


def test_a_filtered_prompt_is_a_result(loopback: Loopback) -> None:
    loopback.behaviour.filters_prompts = True
    assert [(answer.text, answer.finish_reason) for answer in ask(loopback, replace(DRAWS, draws=(0, 1)))] == [
        ("", FinishReason.CONTENT_FILTER)
    ] * 2


def test_a_length_cut_by_max_tokens(loopback: Loopback) -> None:
    (answer,) = ask(loopback, replace(GREEDY, max_tokens=1))
    assert (answer.finish_reason, answer.completion_tokens) == (FinishReason.LENGTH, 1)


@pytest.mark.parametrize("refuses", [frozenset[str](), frozenset({"stop"})])
def test_stop_strings_end_the_text_whoever_applies_them(loopback: Loopback, refuses: frozenset[str]) -> None:
    loopback.behaviour.refuses = refuses
    loopback.reply = lambda messages, temperature, seed: "1874\nQuestion: another"
    (answer,) = ask(loopback, replace(GREEDY, stop=("\n",)))
    assert (answer.text, answer.tokens, answer.finish_reason) == ("1874", ("187", "4"), FinishReason.STOP)


@pytest.mark.parametrize(
    ("total", "counts", "shares"),
    [
        (7, [3, 4], [3, 4]),
        (9, [3, 4], [5, 4]),  # end markers, reasoning: on the first
        (9, [0, 0], [5, 4]),  # no log-probabilities: evenly, remainder on the first
        (0, [3, 4], [3, 4]),  # no usage reported
        (4, [3, 4], [2, 2]),  # counts that cannot be right
    ],
)
def test_completion_tokens_are_shared_out(total: int, counts: list[int], shares: list[int]) -> None:
    from srdcr_lab.models.openai import _shares

    assert _shares(total, counts) == shares


def test_missing_usage_is_noted(loopback: Loopback) -> None:
    loopback.behaviour.usage = False
    model = model_of(loopback)
    (answer,) = use(model, lambda model: model.complete(GREEDY))
    assert (answer.prompt_tokens, answer.completion_tokens) == (0, 2)
    assert "no token usage" in model.sent()["notes"][0]


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
    model = model_of(loopback, timeout_s=0.3)
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


def test_no_call_takes_more_attempts_than_max_attempts(loopback: Loopback) -> None:
    loopback.behaviour.faults = [Fault.CUT, Fault.CUT, Fault.BROKEN_JSON] * 9
    model = model_of(loopback, max_retries=2)
    with pytest.raises(CallFailed) as failure:
        use(model, lambda model: model.complete(GREEDY))
    assert len(loopback.completions) == failure.value.unanswered_attempts == model.max_attempts == 9


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


def test_identity_and_the_record_of_what_was_sent(loopback: Loopback) -> None:
    model = model_of(loopback, label="desk")
    use(model, lambda model: model.complete(GREEDY))
    assert str(model.identity) == "openai:tested#desk"
    assert model.sent()["served_models"] == ["tested-2026-01-01"]
    assert model.sent()["requests"] == 1


def test_the_models_belief_can_be_read_from_the_logprobs(loopback: Loopback) -> None:
    from tests.loopback.replies import belief

    (answer,) = ask(loopback)
    messages = [{"role": message.role, "content": message.content} for message in GREEDY.messages]
    assert math.exp((answer.logprobs or (0.0,))[0]) == pytest.approx(belief(messages))


def test_messages_reach_the_server_unchanged(loopback: Loopback) -> None:
    odd = (
        Message("system", ""),
        Message("user", 'a"\\\n\u2028‹/passage›'),
        Message("user", "b"),
        Message("assistant", "c "),
    )
    ask(loopback, Request(odd, 8))
    assert loopback.completions[0].body["messages"] == [{"role": m.role, "content": m.content} for m in odd]


def _status_error(status: int, body: dict[str, Any]) -> Exception:
    import httpx2
    import openai

    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/"))
    return openai.APIStatusError(str(body), response=response, body=body)
