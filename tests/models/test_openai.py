"""OpenAIChat: the official SDK over real HTTP against the loopback server. Faults and keys: test_api_faults."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srdcr_lab.models.api import ReplyError
from srdcr_lab.models.base import LOWEST
from srdcr_lab.models.openai import OpenAIChat, aligned, tokens_by_choice
from srdcr_lab.records import CallFailed, Completion, FinishReason, Message, Request, TemperatureRefused
from tests.loopback.asking import DRAWS, GREEDY, ask, model_of, use
from tests.loopback.behaviour import Fault
from tests.loopback.server import Loopback


def test_a_greedy_reply_says_how_far_ahead_each_of_its_tokens_was(loopback: Loopback) -> None:
    """Of two tokens with the probabilities p and 1 − p one is ahead by the logit of p."""
    (answer,) = ask(loopback)
    assert answer.text == "".join(answer.tokens or ())
    assert len(answer.logprobs or ()) == len(answer.tokens or ()) == answer.completion_tokens == 2
    p = math.exp((answer.logprobs or ())[0])
    assert len(answer.margins) == 2
    assert answer.margins[0] == pytest.approx(max(math.log(p / (1 - p)), 0), abs=1e-3)
    loopback.behaviour.refuses = frozenset({"top_logprobs"})
    model = model_of(loopback)
    (answer,) = use(model, lambda model: model.complete(GREEDY))
    assert (answer.margins, bool(answer.logprobs)) == (None, True)
    assert any("near ties are not seen" in note for note in model.sent()["notes"])


def test_what_is_sent(loopback: Loopback) -> None:
    request = replace(GREEDY, stop=("\n",))
    ask(loopback, request)
    (asked,) = loopback.completions
    assert asked.body == {
        "model": "tested",
        "messages": [{"role": message.role, "content": message.content} for message in GREEDY.messages],
        "temperature": 0.0, "max_tokens": 16, "seed": request.draw_seed(0), "stop": ["\n"], "logprobs": True,
        "top_logprobs": 2,
    }  # fmt: skip


def test_draws_in_one_request_prompt_counted_once(loopback: Loopback) -> None:
    answers = ask(loopback, replace(DRAWS, draws=(7, 3, 11)))
    (asked,) = loopback.completions
    assert (asked.choices, asked.body["seed"]) == (3, DRAWS.draw_seed(7))
    assert [answer.draw for answer in answers] == [7, 3, 11]
    assert [answer.prompt_tokens > 0 for answer in answers] == [True, False, False]


@pytest.mark.parametrize(("given", "asked_for"), [(4, [10, 4, 2]), (1, [10] + [1] * 9)])
def test_where_choices_are_fewer_the_rest_is_asked_for(loopback: Loopback, given: int, asked_for: list[int]) -> None:
    loopback.behaviour.choices = given
    model = model_of(loopback)
    answers = use(model, lambda model: model.complete(DRAWS))
    assert [answer.draw for answer in answers] == list(range(10))
    assert [asked.choices for asked in loopback.completions] == asked_for
    assert model.draws_per_request == given  # which is remembered
    assert len({asked.body["seed"] for asked in loopback.completions}) == len(asked_for)


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


@pytest.mark.parametrize(("parameter", "recorded"), [
    ("max_tokens", ("adapted", "max_tokens", "max_completion_tokens")), ("n", ("adapted", "n", "1")),
    ("seed", ("dropped", "seed", "refused by the model")), ("stop", ("dropped", "stop", "refused by the model")),
    ("logprobs", ("dropped", "logprobs", "refused by the model")),
    ("system", ("dropped", "system", "refused by the model")),
])  # fmt: skip
def test_a_refusal_costs_one_request(loopback: Loopback, parameter: str, recorded: tuple[str, str, str]) -> None:
    loopback.behaviour.refuses = frozenset({parameter})
    messages = (Message("system", "Be brief."), *DRAWS.messages)
    request = replace(DRAWS, draws=(0, 1), logprobs=True, stop=("\n",), messages=messages)
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


@pytest.mark.parametrize(("complaint", "parameter"), [
    ("Field 'n': Value must be between 1 <= value <= 2, but got 4", "n"),  # llama.cpp with two slots
    ("n must be at most 8", "n"), ("at most 8 choices; lower `n`", "n"), ("n_cmpl cannot be greater than 4", "n"),
    ("the maximum context length is 4096 tokens", None), ("'max_tokens' must be less than 4096", None),
    ("Multiple candidates is not enabled for this model", "n"), ("Temperature: only 1 is allowed", "temperature"),
    ("Logprobs is not enabled for models/gemini-2.5-pro", "logprobs"),
])  # fmt: skip
def test_a_server_may_refuse_a_parameter_or_bound_its_choices(complaint: str, parameter: str | None) -> None:
    response = httpx2.Response(400, request=httpx2.Request("POST", "http://127.0.0.1"))
    error = openai.BadRequestError(complaint, response=response, body=None)
    model = OpenAIChat("m", base_url="http://127.0.0.1")
    assert model._complained_of(error, {"n": 4, "max_tokens": 9, "temperature": 0.5, "logprobs": True}) == parameter


@pytest.mark.parametrize(("status", "complaint"), [
    (500, "Conversation roles must alternate user/assistant/user/assistant/..."),  # what templates of models raise
    (400, "Only user and assistant roles are supported!"), (422, "System role not supported"),
    (400, "Developer instruction is not enabled: system messages are not allowed"),
])  # fmt: skip
def test_a_server_may_refuse_system_messages_in_its_own_words(status: int, complaint: str) -> None:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1"))
    error = openai.APIStatusError(complaint, response=response, body=None)
    model = OpenAIChat("m", base_url="http://127.0.0.1")
    for role, dropped in (("system", "system"), ("user", None)):
        assert model._complained_of(error, {"messages": [{"role": role, "content": "Be brief."}]}) == dropped


def reply(usage: dict[str, int] | None = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": "19"}, "finish_reason": "stop"} | choice], "usage": usage or {}}


@pytest.mark.parametrize(("made", "sentence"), [
    ({"error": {"message": "Provider returned error", "code": 502}}, "an error in place of one"),
    (reply(finish_reason="abort"), "broken off"), (reply(error={"code": 502}), "broken off"),
    (reply(native_finish_reason="network_error", message={"content": None}), "broken off"),
])  # fmt: skip
def test_what_a_server_broke_off_is_no_answer(made: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ReplyError, match=sentence):
        OpenAIChat("m", base_url="http://127.0.0.1").read(made, GREEDY, (0,))


def test_thinking_is_paid_for_where_only_the_total_counts_it_and_read_from_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "19"}]
    made = reply({"prompt_tokens": 231, "completion_tokens": 2, "total_tokens": 619}, message={"content": parts})
    (answer,) = OpenAIChat("m", base_url="http://127.0.0.1").read(made, GREEDY, (0,))
    assert (answer.text, answer.thinking, answer.completion_tokens) == ("19", "Hm.", 388)


def test_a_refused_temperature_withdraws_the_capability_and_log_probabilities_with_it(loopback: Loopback) -> None:
    """A request that names none goes through, with several draws; one with a temperature is not sent any more."""
    loopback.behaviour.refuses = frozenset({"temperature", "logprobs"})
    model = model_of(loopback)
    with pytest.raises(TemperatureRefused):
        use(model, lambda model: model.complete(GREEDY))
    assert (model.capabilities.temperature, model.capabilities.logprobs) == (False, False)
    with pytest.raises(TemperatureRefused):
        use(model, lambda model: model.complete(DRAWS))
    answers = use(model, lambda model: model.complete(replace(DRAWS, temperature=None, logprobs=True)))
    assert [asked.status for asked in loopback.completions] == ["400", "200"]
    assert len({answer.text for answer in answers}) > 1
    assert model.sent()["dropped"].keys() == {"temperature", "logprobs"}


def test_a_temperature_that_was_taken_before_and_is_refused_now_costs_its_own_row(loopback: Loopback) -> None:
    async def both(model: OpenAIChat) -> None:
        await model.complete(GREEDY)
        loopback.behaviour.refuses = frozenset({"temperature"})
        await model.complete(DRAWS)

    model = model_of(loopback)
    with pytest.raises(CallFailed, match="refuses a temperature, although it accepted one before"):
        use(model, both)
    assert model.capabilities.temperature


@pytest.mark.parametrize(("kind", "usable"), [
    ("full", True), ("end_marker", True), ("bytes", True), ("null", False), ("missing", False), ("short", False),
    ("wrong_types", False),
])  # fmt: skip
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


@pytest.mark.parametrize(("finish", "expected"), [
    ("stop", FinishReason.STOP), ("length", FinishReason.LENGTH), ("content_filter", FinishReason.CONTENT_FILTER),
    ("eos", FinishReason.STOP),
])  # fmt: skip
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


@pytest.mark.parametrize("refuses", [frozenset[str](), frozenset({"stop"})])
def test_stop_strings_end_the_text_whoever_applies_them(loopback: Loopback, refuses: frozenset[str]) -> None:
    loopback.behaviour.refuses = refuses
    loopback.reply = lambda messages, temperature, seed: "1874\nQuestion: another"
    (answer,) = ask(loopback, replace(GREEDY, stop=("\n",)))
    assert (answer.text, answer.tokens, answer.finish_reason) == ("1874", ("187", "4"), FinishReason.STOP)


@pytest.mark.parametrize(("total", "counts", "expected"), [
    (7, [3, 4], [3, 4]),
    (9, [3, 4], [5, 4]),  # end markers, reasoning: on the first
    (9, [0, 0], [5, 4]),  # no log-probabilities: evenly, remainder on the first
    (0, [3, 4], [3, 4]),  # no usage reported
    (4, [3, 4], [2, 2]),  # counts that cannot be right
])  # fmt: skip
def test_completion_tokens_are_shared_out(total: int, counts: list[int], expected: list[int]) -> None:
    assert tokens_by_choice(total, counts) == expected


def test_missing_usage_is_noted(loopback: Loopback) -> None:
    loopback.behaviour.usage = False
    model = model_of(loopback)
    (answer,) = use(model, lambda model: model.complete(GREEDY))
    assert (answer.prompt_tokens, answer.completion_tokens) == (0, 2)
    assert "no token usage" in model.sent()["notes"][0]


def test_identity_and_the_record_of_what_was_sent(loopback: Loopback) -> None:
    model = model_of(loopback, label="desk")
    use(model, lambda model: model.complete(GREEDY))
    assert str(model.identity) == "openai:tested#desk"
    assert model.sent()["served_models"] == ["tested-2026-01-01"]
    assert model.sent()["requests"] == 1


def test_half_a_character_in_a_prompt_fails_the_call(loopback: Loopback) -> None:
    with pytest.raises(CallFailed, match="lone surrogate"):
        ask(loopback, Request((Message("user", "\ud83d"),), 8))


def entry(token: str, logprob: Any = -0.5, spelled: bytes | None = None) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode() if spelled is None else spelled)}


CUP = [entry(r"\xe2", -0.1, b"\xe2"), entry(r"\x98", -0.2, b"\x98"), entry(r"\x95", -0.3, b"\x95")]
YEAR = (("187", "4"), (-0.5, -0.5))
NONE = (None, None)


@pytest.mark.parametrize(("text", "content", "expected"), [
    ("18 74", [entry("18", -0.1), entry(" 74", -0.2)], (("18", " 74"), (-0.1, -0.2))),
    ("☕", CUP, (("", "", "☕"), (-0.1, -0.2, -0.3))),  # a character of three tokens belongs to the last
    # what follows the text is dropped, and white space before it cut off
    *(("1874", [entry("187"), entry("4"), entry(marker, -3.0)], YEAR)
      for marker in ("<|im_end|>", "</s>", "", "<end_of_turn>", "\n")),
    ("1874", [entry("\n", -9.0), entry(" 187"), entry("4")], YEAR),
    # whatever does not spell the text is given up
    *(("1874", content, NONE) for content in (
        None, "1874", [], [None], [entry("187")], [entry("think: "), entry("1874")], [entry("1874", None)],
        [entry("1874", math.nan)], [entry("1874", "−0.1")], [entry("1874", True)], [{"logprob": -0.1}],
        [{"token": 1874, "logprob": -0.1}],
    )),
    ("", [entry("<|im_end|>")], NONE),
    # a probability is no log-probability; only what rounding puts above 0 is 0
    *(("a", [entry("a", value)], NONE) for value in (0.97, 0.01, 5)),
    *(("a", [entry("a", value)], (("a",), (kept,)))
      for value, kept in ((1e-9, 0.0), (-math.inf, LOWEST), (-9999.0, LOWEST), (-1, -1.0))),
    # impossible bytes fall back on the tokens
    *(("a", [{"token": "a", "logprob": -0.5, "bytes": spelled}], (("a",), (-0.5,)))
      for spelled in ([300], ["x"], [-1])),
])  # fmt: skip
def test_tokens_by_hand(text: str, content: Any, expected: tuple[Any, Any]) -> None:
    assert aligned(text, content) == expected


@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), cuts=st.sets(st.integers(1, 79)))
def test_any_split_of_the_bytes_spells_the_text(text: str, cuts: set[int]) -> None:
    spelled = text.encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(spelled)), len(spelled)]
    pieces = [spelled[a:b] for a, b in pairwise(edges)]
    tokens, logprobs = aligned(text, [entry("?", -0.5, piece) for piece in pieces])
    assert "".join(tokens) == text
    assert len(tokens) == len(logprobs) == len(pieces)


@given(st.text(max_size=10), st.lists(st.tuples(st.text(max_size=5), st.floats(-10, 0)), max_size=6))
def test_what_is_given_always_spells_the_text(text: str, pieces: list[tuple[str, float]]) -> None:
    tokens, logprobs = aligned(text, [{"token": token, "logprob": value} for token, value in pieces])
    assert (tokens is None) == (logprobs is None)
    assert tokens is None or "".join(tokens) == text
