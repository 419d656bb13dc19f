"""What servers do to clients, and what users do to themselves: retries, slots, keys, addresses; with OpenAIChat."""

import asyncio
import gzip
import json
import logging
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import openai
import pytest

from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.api import ApiChat
from srdcr_lab.models.openai import OpenAIChat
from srdcr_lab.models.spending import StoredModel
from srdcr_lab.models.store import Store
from srdcr_lab.records import BadInput, CallFailed, Completion, Message, Request, SrdcrError, Stopped
from tests.loopback.asking import GREEDY, ask, model_of, use
from tests.loopback.behaviour import Fault
from tests.loopback.server import Loopback


@pytest.mark.parametrize(("fault", "in_vain"), [
    (Fault.RATE_LIMIT, 0), (Fault.SERVER_ERROR, 0), (Fault.GATEWAY_TIMEOUT, 1), (Fault.CUT, 1), (Fault.CUT_MID_BODY, 1),
    (Fault.HANG, 1), (Fault.DRIP, 1),
])  # fmt: skip
def test_a_fault_is_survived_and_counted(loopback: Loopback, fault: Fault, in_vain: int) -> None:
    loopback.behaviour.faults = [fault]
    model = model_of(loopback, timeout_s=0.5 if fault in (Fault.HANG, Fault.DRIP) else 60.0)
    (answer,), counted = use(model, lambda model: model.complete_counted(GREEDY))
    assert answer.text.isdigit()
    assert counted == model.sent()["unanswered_attempts"] == in_vain
    assert len(loopback.completions) == 2


@pytest.mark.parametrize(("fault", "sentence", "attempts", "in_vain"), [
    (Fault.RATE_LIMIT, "answered 429 (scripted 429)", 3, 0), (Fault.CUT, "failed or was cut, 3 times", 3, 3),
    (Fault.HANG, "no reply within 0.1 s, 3 times", 3, 3),
    (Fault.BROKEN_JSON, "If that is a web page, correct the base URL", 1, 1),
    (Fault.NOT_A_COMPLETION, "is malformed (not the JSON of a completion)", 1, 1),
    (Fault.WRONG_TYPES, "is malformed (not the JSON of a completion)", 1, 1),
])  # fmt: skip
def test_a_lasting_fault_fails_the_call_with_a_sentence(
    loopback: Loopback, fault: Fault, sentence: str, attempts: int, in_vain: int
) -> None:
    loopback.behaviour.faults = [fault] * 99
    model = model_of(loopback, max_retries=2, patience_s=0, timeout_s=0.1 if fault is Fault.HANG else 60.0)
    with pytest.raises(CallFailed) as failure:
        use(model, lambda model: model.complete(GREEDY))
    assert sentence in str(failure.value)
    assert len(loopback.completions) == attempts <= model.max_attempts == 3
    assert failure.value.unanswered_attempts == in_vain


def test_retry_after_is_honoured_and_a_rate_limit_said_once(loopback: Loopback) -> None:
    loopback.behaviour.faults, loopback.behaviour.retry_after_s = [Fault.RATE_LIMIT] * 2, 0.2
    model = model_of(loopback, max_retries=0)  # whose patience is another
    use(model, lambda model: model.complete_counted(GREEDY))
    first, second, _ = loopback.completions
    assert second.start - first.end >= 0.2
    (said,) = model.sent()["notes"]
    assert said.endswith("the server limits the rate (429); calls wait and are made again.")


def test_the_pauses_that_a_server_asks_for_end_with_the_patience(loopback: Loopback) -> None:
    loopback.behaviour.faults, loopback.behaviour.retry_after_s = [Fault.RATE_LIMIT] * 99, 0.2
    with pytest.raises(CallFailed, match="answered 429"):
        use(model_of(loopback, patience_s=0.5), lambda model: model.complete_counted(GREEDY))
    assert 2 <= len(loopback.completions) <= 3


def test_a_server_may_ask_for_a_pause_until_a_date(loopback: Loopback) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    loopback.behaviour.faults, loopback.behaviour.retry_after_s = [Fault.RATE_LIMIT], at
    ask(loopback, max_retries=0)
    assert loopback.completions[1].start - loopback.completions[0].end > 0.9


def test_a_run_stops_if_its_first_replies_are_empty(loopback: Loopback) -> None:
    loopback.behaviour.body = b'{"model": "m", "choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'

    async def all_then_one(model: OpenAIChat) -> None:
        await asyncio.gather(*(model.complete(replace(GREEDY, seed=seed, max_tokens=40)) for seed in range(20)))
        with pytest.raises(BadInput, match=r"the replies are empty. None of the first 20 calls"):
            await model.complete(GREEDY)  # is not sent

    use(model_of(loopback), all_then_one)
    assert len(loopback.completions) == 20


def test_a_run_stops_if_none_of_its_first_calls_is_answered(loopback: Loopback) -> None:
    loopback.behaviour.body = b"<html>Welcome</html>"
    requests = [replace(GREEDY, seed=seed) for seed in range(20)]

    async def all_at_once(model: OpenAIChat) -> list[object]:
        lost = await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
        with pytest.raises(BadInput, match="so the run stops"):
            await model.complete(GREEDY)  # is not sent
        return list(lost)

    *failed, last = sorted(use(model_of(loopback), all_at_once), key=lambda each: type(each) is BadInput)
    assert {type(each) for each in failed} == {CallFailed}
    assert (type(last), len(loopback.completions)) == (BadInput, 20)
    assert str(last).endswith("None of the first 20 calls brought a text, so the run stops.")


@pytest.mark.parametrize("asked", ["1e300", "inf", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_no_server_makes_anybody_wait_for_days(loopback: Loopback, asked: str) -> None:
    """One SDK waits as long as a server asks, up to fifty days."""
    loopback.behaviour.faults, loopback.behaviour.retry_after_s = [Fault.RATE_LIMIT], asked
    ask(loopback)
    loopback.behaviour.faults = [Fault.RATE_LIMIT]
    use(AnthropicChat("tested", base_url=loopback.url), lambda model: model.complete(GREEDY))
    assert len(loopback.completions) == 4


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

    model = model_of(loopback, concurrency=1)
    assert use(model, call) == 1
    assert model.sent()["unanswered_attempts"] == 1  # the one that was sent


def test_concurrency_is_bounded_and_first_come_first_served(loopback: Loopback) -> None:
    loopback.behaviour.latency_s = 0.02

    async def many(model: OpenAIChat) -> None:
        await asyncio.gather(*(model.complete(replace(GREEDY, seed=seed)) for seed in range(20)))

    use(model_of(loopback, concurrency=4), many)
    expected = [replace(GREEDY, seed=seed).draw_seed(0) for seed in range(20)]
    order = [expected.index(asked.body["seed"]) for asked in loopback.completions]
    assert loopback.most_in_flight == 4
    assert all(abs(place - seed) < 4 for place, seed in enumerate(order))


def test_one_model_serves_two_event_loops_also_once_it_was_closed(loopback: Loopback) -> None:
    model = model_of(loopback)
    first, second = use(model, lambda model: model.complete(GREEDY)), asyncio.run(model.complete(GREEDY))
    assert first == second


ODD = [
    *(b"", b"{", b"\xff\xfe", b"null", b"5", b"[]", b"NaN", b'{"choices": {}, "content": {}}'),
    *(b"[" * 100_000, b'{"choices": ' * 100_000),
    b'{"choices": [{"message": {"content": "1874"}}], "content": [], "usage": {"prompt_tokens": %d}}' % 2**70,
    b'{"choices": [{"message": {"content": "1874"}, "finish_reason": []}], "content": [5], "model": 5}',
    b'{"choices": [{"message": {"content": "%s"}}], "content": "x"}' % (100_001 * b"x"),
]


@pytest.mark.parametrize("adapter", [OpenAIChat, AnthropicChat])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_whatever_one_reply_is_it_costs_its_own_call(loopback: Loopback, adapter: type[ApiChat], status: int) -> None:
    loopback.behaviour.status = status
    url = loopback.openai_url if adapter is OpenAIChat else loopback.url

    async def each(model: ApiChat) -> None:
        for body in ODD:
            loopback.behaviour.body = body
            with pytest.raises(CallFailed, match=r"is malformed \(.+\)|answered [45]00 \("):
                await model.complete(GREEDY)

    use(adapter("tested", base_url=url, max_retries=0), each)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_reply_with_the_key_is_not_kept(loopback: Loopback, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, key := "Zq8mysecretkeyvalue0123456789")
    loopback.behaviour.body = json.dumps({"choices": [{"message": {"content": f"{'.' * 20}{key}"}}]}).encode()
    model = model_of(loopback) if variable.startswith("OPENAI") else AnthropicChat("tested", base_url=loopback.url)
    with pytest.raises(CallFailed, match="repeats your key") as said:
        use(model, lambda model: model.complete(GREEDY))
    assert key[:8] not in str(said.value)


@pytest.mark.parametrize(
    ("usage", "expected"), [({"prompt_tokens": -5}, 0), ({"prompt_tokens": 2**62}, 0), ({"prompt_tokens": 7}, 7)]
)
def test_token_counts_that_cannot_be_are_none(loopback: Loopback, usage: dict[str, int], expected: int) -> None:
    loopback.behaviour.body = json.dumps({"choices": [{"message": {"content": "1874"}}], "usage": usage}).encode()
    assert ask(loopback)[0].prompt_tokens == expected


def test_a_reply_is_unpacked_as_far_as_its_bound(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srdcr_lab.models.api.MOST_BYTES", 2**20)
    loopback.behaviour.body = gzip.compress(bytes(2**26))
    loopback.behaviour.headers = {"Content-Encoding": "gzip"}
    tracemalloc.start()
    try:
        with pytest.raises(CallFailed, match=r"is malformed \(longer than 1 MB\)"):
            ask(loopback)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("status", "said"), [(200, "longer than 2 MB"), (400, "answered 400")])
def test_an_endless_reply_comes_to_an_end(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    monkeypatch.setattr("srdcr_lab.models.api.MOST_BYTES", 2**21)
    loopback.behaviour.faults, loopback.behaviour.status = [Fault.ENDLESS] * 3, status
    with pytest.raises(CallFailed, match=said):
        ask(loopback, max_retries=0)


def test_escape_sequences_of_a_server_reach_no_message_and_no_table(loopback: Loopback) -> None:
    loopback.behaviour.body = json.dumps({"error": {"message": "\x1b[2Jgone\u202e"}}).encode()
    loopback.behaviour.status = 400
    with pytest.raises(CallFailed, match=r"answered 400 \(gone\)"):
        ask(loopback)


def test_control_characters_and_halves_of_characters_stop_at_the_store(loopback: Loopback) -> None:
    stored = StoredModel(model_of(loopback), Store(":memory:"))
    loopback.reply = lambda messages, temperature, seed: "\x1b[31m18\u202e74\r\n\tor\x00 \x9b so\x1b[0m"
    (answer,) = asyncio.run(stored.complete(GREEDY))
    assert answer.text == "1874\n\tor  so" == "".join(answer.tokens or ())
    loopback.reply = lambda messages, temperature, seed: "1874 \ud83d"
    (answer,) = asyncio.run(stored.complete(replace(GREEDY, logprobs=False)))
    assert answer.text == "1874 \ufffd"


def test_once_a_call_was_answered_a_refusal_costs_its_own_call(loopback: Loopback) -> None:
    """A gateway that says 404 now and then ends no run."""

    async def call(model: OpenAIChat) -> None:
        await model.complete(GREEDY)
        loopback.behaviour.models = ("another",)
        with pytest.raises(CallFailed, match="knows no such model"):
            await model.complete(replace(GREEDY, seed=1))

    use(model_of(loopback), call)


async def asked_while_away(
    loopback: Loopback, model: OpenAIChat, calls: int, away: int = 503
) -> list[asyncio.Task[Any]]:
    """Calls that found the server away, behind a gateway that answers so, and ask again."""
    await model.complete(GREEDY)
    loopback.behaviour.away = away
    requests = [replace(GREEDY, seed=seed) for seed in range(1, calls + 1)]
    waiting = [asyncio.create_task(model.complete(request)) for request in requests]
    while len(loopback.turned_away) < 2 * calls:
        await asyncio.sleep(0.01)
    return waiting


@pytest.mark.parametrize(("away", "hides"), [(503, False), (502, True)])
def test_an_outage_is_waited_out_and_said_once(
    loopback: Loopback, caplog: pytest.LogCaptureFixture, away: int, hides: bool
) -> None:
    """Who waits can be cancelled."""
    loopback.behaviour.hides_status = hides

    async def call(model: OpenAIChat) -> None:
        first, *others = await asked_while_away(loopback, model, 8, away)
        first.cancel()
        assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], asyncio.CancelledError)
        loopback.behaviour.away = None
        assert all([(await task)[0].text for task in others])

    model = model_of(loopback, max_retries=0)
    use(model, call)
    assert model.sent()["unanswered_attempts"] in (0, 1)  # the cancelled call may have been asking just then
    said = f"openai:tested: the server does not answer any more ({away}); its calls wait, 300 s at most."
    assert model.sent()["notes"] == [said]
    assert [record.levelname for record in caplog.records if record.name == "srdcr_lab.models.api"] == ["WARNING"]


@pytest.mark.parametrize("away", [520, 504])
def test_attempts_that_may_be_billed_are_not_made_more_often_in_an_outage(loopback: Loopback, away: int) -> None:
    async def without_retries(model: OpenAIChat) -> None:
        await model.complete(GREEDY)
        loopback.behaviour.away = away
        await model.complete(replace(GREEDY, seed=1))

    with pytest.raises(CallFailed, match=rf"answered {away} \(away\)"):
        use(model_of(loopback, max_retries=0, patience_s=5), without_retries)
    assert loopback.turned_away == ["POST"]


def test_a_server_that_is_started_again_is_waited_for(loopback: Loopback) -> None:
    """The connection is refused, and nothing was sent."""

    async def call(model: OpenAIChat) -> tuple[tuple[Completion, ...], int]:
        await model.complete(GREEDY)
        await asyncio.to_thread(loopback.__exit__, None, None, None)
        late = asyncio.create_task(model.complete_counted(replace(GREEDY, seed=1)))
        while not model.sent()["notes"]:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(loopback.__enter__)
        return await late

    (answer,), in_vain = use(model_of(loopback), call)
    assert answer.text.isdigit()
    assert in_vain <= 1  # the connection that was open when the server ended


@pytest.mark.parametrize("patience_s", [0.0, 0.05])
def test_patience_has_an_end(loopback: Loopback, patience_s: float) -> None:

    async def call(model: OpenAIChat) -> None:
        await model.complete(GREEDY)
        loopback.behaviour.away = 503
        for seed in (1, 2):  # the second call does not wait anew
            with pytest.raises(CallFailed, match="answered 503"):
                await model.complete(replace(GREEDY, seed=seed))

    use(model_of(loopback, max_retries=0, patience_s=patience_s), call)
    assert loopback.turned_away.count("POST") >= 2


def test_a_server_that_never_answered_is_not_waited_for(loopback: Loopback) -> None:
    """It is refused at once."""
    loopback.behaviour.away = 503
    with pytest.raises(CallFailed, match="answered 503"):
        ask(loopback, max_retries=0)
    assert loopback.turned_away == ["POST"]


def test_the_log_of_requests_holds_no_secret(loopback: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = loopback.openai_url.replace("http://", "http://user:secret-word@")
    use(OpenAIChat("tested", base_url=url), lambda model: model.complete(GREEDY))
    assert "/v1/chat/completions" in caplog.text
    assert "secret-word" not in caplog.text


def test_a_server_of_ones_own_needs_no_key(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", loopback.openai_url)
    assert use(OpenAIChat("tested"), lambda model: model.complete(GREEDY))


@pytest.mark.parametrize("call", [lambda model: model.complete(GREEDY), lambda model: model.check()])
def test_a_key_is_sent_and_a_refused_one_is_bad_input_and_not_repeated(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, call: Callable[[OpenAIChat], Awaitable[Any]]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    loopback.behaviour.key = "sk-wrong-0123456789"
    use(model_of(loopback), call)  # a key that is right is sent
    loopback.behaviour.key = "sk-right-0123456789"
    with pytest.raises(BadInput, match="the key in OPENAI_API_KEY was refused") as refusal:
        use(model_of(loopback), call)
    assert "sk-" not in str(refusal.value)
    assert "0123456789" not in f"{refusal.value!r}{refusal.value.__cause__!r}"


def test_an_unknown_model_is_told_the_name_that_the_server_lists(loopback: Loopback) -> None:
    async def call(model: OpenAIChat) -> None:
        await model.check()
        await model.complete(GREEDY)

    loopback.behaviour.models = ("another", "tested-2")
    with pytest.raises(BadInput, match=r"check the model's name \(did you mean tested-2\?\) and the base URL"):
        use(model_of(loopback), call)


def test_check_takes_one_request_and_is_content_with_any_answer(loopback: Loopback) -> None:
    use(model_of(loopback), lambda model: model.check())
    assert [asked.path for asked in loopback.asked] == ["/v1/models"]
    use(OpenAIChat("tested", base_url=f"{loopback.url}/no/such/path"), lambda model: model.check())


def test_unreachable_server_is_bad_input_without_credentials(no_keys: None, quick_retries: None) -> None:
    model = OpenAIChat("tested", base_url="http://user:secret-word@127.0.0.1:9/v1")
    with pytest.raises(BadInput, match=r"the server at 127\.0\.0\.1:9 could not be reached") as error:
        use(model, lambda model: model.check())
    assert "secret-word" not in f"{error.value}{model.sent()}"


@pytest.mark.parametrize(("option", "value"), [
    ("base_url", "localhost:8000/v1"), ("base_url", "http://host:x/v1"), ("base_url", "http://host:99999/v1"),
    ("base_url", "http://host/v1?version=1"),
    ("concurrency", 0),
])  # fmt: skip
def test_options_that_cannot_be_meant(no_keys: None, option: str, value: Any) -> None:
    with pytest.raises(BadInput, match="openai:tested"):
        OpenAIChat("tested", **({"base_url": "http://127.0.0.1:9/v1"} | {option: value}))


@pytest.mark.parametrize(("status", "code"), [(402, None), (429, "insufficient_quota")])
def test_an_account_that_is_used_up_stops_the_run(no_keys: None, status: int, code: str | None) -> None:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions"))
    refusal = openai.APIStatusError("no credit", response=response, body={"message": "no credit", "code": code})
    error = OpenAIChat("double", base_url="http://127.0.0.1/v1").translated(refusal)
    assert isinstance(error, Stopped)
    assert "top it up and run the same command again" in str(error)


@pytest.mark.parametrize(
    ("status", "said"), [(401, "asks for a key (401: no"), (403, "refuses without a key (403: no")]
)
def test_a_server_that_wants_a_key_is_bad_input_where_none_is_set(no_keys: None, status: int, said: str) -> None:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions"))
    refusal = openai.APIStatusError("no", response=response, body=None)
    error = OpenAIChat("m", base_url="http://127.0.0.1/v1").translated(refusal)
    assert isinstance(error, BadInput)
    assert said in str(error)
    assert str(error).endswith("and none is set; put it into OPENAI_API_KEY.")


@pytest.mark.parametrize("key", ["sk-“abc”", "sk-abc\n", " sk-abc", "sk-é"])
def test_a_key_that_can_be_none_is_told_at_once(loopback: Loopback, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a key ended in a traceback, or in a server that could not be reached."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(BadInput, match="OPENAI_API_KEY holds a character that no key has"):
        model_of(loopback)
    assert OpenAIChat("tested", base_url=loopback.openai_url, takes_key=False).address  # as of a GGUF file


CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
PICTURE = {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
SPACES = {"role": "assistant", "content": " \n"}
OPENAI = {"choices": [{"message": CALLED, "finish_reason": "stop"}], "usage": {"completion_tokens": 40}}
ANTHROPIC = {
    "content": [{"type": "tool_use", "name": "search"}],
    "stop_reason": "tool_use",
    "usage": {"output_tokens": 40},
}


@pytest.mark.parametrize(("of", "reply", "named"), [
    (OpenAIChat, OPENAI, "tool_calls"),
    (OpenAIChat, OPENAI | {"choices": [{"message": PICTURE, "finish_reason": "stop"}]}, "image_url"),
    (OpenAIChat, OPENAI | {"choices": [{"message": SPACES, "finish_reason": "stop"}]}, "40 tokens that are no text"),
    (AnthropicChat, ANTHROPIC, "tool_use"),
])  # fmt: skip
def test_a_reply_without_text_is_named_and_not_kept(
    loopback: Loopback, tmp_path: Any, of: type[ApiChat], reply: dict[str, Any], named: str
) -> None:
    """A tool call is no thinking: what stood in the store as an empty answer was never asked for again."""
    loopback.behaviour.body = json.dumps(reply).encode()
    model = of("tested", base_url=loopback.openai_url)
    with closing(Store(tmp_path / "store.sqlite")) as store:
        with pytest.raises(CallFailed, match=rf"replied without text \({named}\); such a reply is not kept"):
            use(model, lambda model: StoredModel(model, store).complete(GREEDY))
        assert store.count() == 0
        assert model.sent()["unanswered_attempts"] == 1
        loopback.behaviour.body = None
        use(of("tested", base_url=loopback.openai_url), lambda model: StoredModel(model, store).complete(GREEDY))
        assert store.count() == 1


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_redirect_is_not_followed_and_its_target_is_named(loopback: Loopback, elsewhere: bool) -> None:
    with Loopback() as other:
        loopback.behaviour.body, loopback.behaviour.status = b"", 307
        loopback.behaviour.headers = {"Location": f"{other.url}/v1/messages" if elsewhere else "/v1/messages?key=x"}
        with pytest.raises(SrdcrError) as raised:
            ask(loopback, max_retries=0)
        target = other.url if elsewhere else loopback.url
        assert f"redirects to {target}/v1/messages, and nothing is sent there" in str(raised.value)
        assert not other.asked
        assert len(loopback.completions) == 1


def test_a_second_reply_to_one_request_is_not_taken_for_the_next() -> None:
    """A server that repeats itself would shift every later answer by one, and nobody would see it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            asked = json.loads(await reader.readexactly(length))["messages"][-1]["content"]
            reply = json.dumps({"choices": [{"message": {"content": asked}, "finish_reason": "stop"}]}).encode()
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            writer.write(2 * (head + b"content-length: %d\r\n\r\n%s" % (len(reply), reply)))

    async def ask_ten() -> tuple[list[str], dict[str, Any]]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = "http://127.0.0.1:{1}/v1".format(*server.sockets[0].getsockname())
        model = OpenAIChat("tested", base_url=address, concurrency=1)
        texts = [(await model.complete(Request((Message("user", str(i)),), 16)))[0].text for i in range(10)]
        await model.aclose()
        server.close()
        return texts, model.sent()

    texts, sent = asyncio.run(ask_ten())
    assert texts == [*"0123456789"]
    assert any("more than one reply to a request" in note for note in sent["notes"])
