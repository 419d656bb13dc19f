"""AnthropicChat: the official SDK over real HTTP. What both adapters share is tested in test_api_faults."""

import json
from dataclasses import replace
from typing import Any

import pytest

from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.records import BadInput, Completion, FinishReason, Request, TemperatureRefused
from tests.loopback.asking import DRAWS, GREEDY, use
from tests.loopback.server import Loopback


def model_of(server: Loopback, **options: Any) -> AnthropicChat:
    return AnthropicChat("tested", base_url=server.url, **options)


def ask(server: Loopback, request: Request = GREEDY, **options: Any) -> tuple[Completion, ...]:
    return use(model_of(server, **options), lambda model: model.complete(request))


def test_answer_without_logprobs(loopback: Loopback) -> None:
    (answer,) = ask(loopback)
    assert answer.text.isdigit()
    assert (answer.prompt_tokens > 0, answer.completion_tokens) == (True, 2)
    assert (answer.tokens, answer.logprobs, answer.finish_reason) == (None, None, FinishReason.STOP)
    model = model_of(loopback)
    assert not model.capabilities.logprobs
    assert (set(model.sent()["dropped"]), model.sent()["api_version"]) == ({"seed", "logprobs", "n"}, "2023-06-01")


def test_what_is_sent(loopback: Loopback) -> None:
    system, *others = GREEDY.messages
    ask(loopback, replace(GREEDY, stop=("\n", "Question:")))
    (asked,) = loopback.completions
    assert asked.body == {
        "model": "tested", "system": system.content,
        "messages": [{"role": message.role, "content": message.content} for message in others], "temperature": 0.0,
        "max_tokens": 16, "stop_sequences": ["Question:"],
    }  # fmt: skip
    assert asked.api_version == "2023-06-01"


def test_each_draw_is_a_request(loopback: Loopback) -> None:
    answers = ask(loopback, DRAWS)
    assert [answer.draw for answer in answers] == list(range(10))
    assert all(answer.prompt_tokens for answer in answers)
    assert len(loopback.completions) == 10
    assert AnthropicChat.draws_per_request == 1


def test_white_space_stop_is_applied_here(loopback: Loopback) -> None:
    loopback.reply = lambda messages, temperature, seed: "1874\nQuestion: another"
    (answer,) = ask(loopback, replace(GREEDY, stop=("\n",)))
    assert (answer.text, answer.finish_reason) == ("1874", FinishReason.STOP)


@pytest.mark.parametrize(("finish", "expected"), [
    ("stop", FinishReason.STOP), ("stop_sequence", FinishReason.STOP), ("length", FinishReason.LENGTH),
    ("model_context_window_exceeded", FinishReason.LENGTH), ("refusal", FinishReason.REFUSAL),
])  # fmt: skip
def test_finish_reasons(loopback: Loopback, finish: str, expected: FinishReason) -> None:
    loopback.behaviour.finish = finish
    assert ask(loopback)[0].finish_reason is expected


def test_a_refused_temperature_withdraws_the_capability(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"temperature"})
    model = model_of(loopback)
    with pytest.raises(TemperatureRefused):
        use(model, lambda model: model.complete(GREEDY))
    assert not model.capabilities.temperature
    assert len(use(model, lambda model: model.complete(replace(DRAWS, temperature=None)))) == 10
    assert [asked.status for asked in loopback.completions] == ["400"] + ["200"] * 10


def test_a_model_that_takes_temperature_1_alone_is_asked_at_its_default(loopback: Loopback) -> None:
    """The words of Opus 4.8, and of earlier models that think (github.com/mnfst/modelparams.dev, issue 214)."""
    complaint = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
    loopback.behaviour.status, loopback.behaviour.body = 400, json.dumps(error).encode()
    with pytest.raises(TemperatureRefused):
        ask(loopback)


def test_temperature_beyond_its_range_is_bad_input(loopback: Loopback) -> None:
    with pytest.raises(BadInput, match=r"temperatures from 0 to 1; 1\.2 was asked for"):
        ask(loopback, replace(DRAWS, temperature=1.2))
    assert not loopback.completions


def test_check_and_a_base_url_with_its_version(loopback: Loopback) -> None:
    model = AnthropicChat("tested", base_url=f"{loopback.url}/v1/")
    use(model, lambda model: model.check())
    assert [asked.path for asked in loopback.asked] == ["/v1/models"]
