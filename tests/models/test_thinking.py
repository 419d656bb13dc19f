"""Models that think: told how much, read apart from the reply, counted and paid for, in the shapes of real servers."""

import json
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab import BadInput, Results, Study
from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.api import Settings
from srdcr_lab.models.base import ROOM, received, room, settings_of
from srdcr_lab.models.openai import OpenAIChat, aligned, effort_or_template
from srdcr_lab.models.spending import Price, worst_case_usd
from srdcr_lab.models.store import Store
from srdcr_lab.records import CallFailed, Completion, FinishReason, ModelIdentity
from srdcr_lab.records.types import apart, parted
from srdcr_lab.study.waves import model_of_key
from srdcr_lab.transcripts import messages_in
from tests.conftest import Srdcr
from tests.loopback.asking import DRAWS, GREEDY, use
from tests.loopback.behaviour import Behaviour
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.loopback.shapes import NAMES, behaves_like, shape

THOUGHT = "the other side may be wrong"  # words of every fixture's thinking
LOW = ModelIdentity("openai", "tested", settings='{"reasoning":"low"}')


def items() -> pd.DataFrame:
    row = ("When was the bridge built?", "1874", "It was built in 1874.")
    return pd.DataFrame([row], columns=["question", "gold_answer", "context"])


def study(server: Loopback, out: Path, spec: str = "openai:tested", **how: Any) -> Results:
    """A study of one item, with debates of two rounds."""
    how = {"samples": 2, "rounds": 2, "base_url": server.openai_url, "out": out} | how
    with Study(spec, items(), "few_shot,sr_dcr", **how) as opened:
        return opened.run(progress=False)


def spoken_by(server: Loopback) -> str:
    return json.dumps([asked.body for asked in server.completions])


@pytest.mark.parametrize("name", NAMES)
def test_a_study_against_each_shape_of_reply(loopback: Loopback, tmp_path: Path, name: str) -> None:
    """No answer is missing, thinking is apart and counted, and nobody is shown another's."""
    loopback.behaviour = behaves_like(name)
    thinks = name != "openai"
    spec = "anthropic:tested" if name.startswith("anthropic") else "openai:tested"
    results = study(loopback, tmp_path / "out", spec, **({"reasoning": "low"} if thinks else {}))
    rows = results.records
    assert rows["error"].isna().all()
    assert rows["missing"].dropna().isin(["abstained"]).all()
    assert rows[["prior_answer", "context_answer", "self_confidence"]].notna().all(axis=None)
    assert not results.turns["text"].str.contains(THOUGHT).any()
    assert THOUGHT not in spoken_by(loopback)
    with closing(Store(tmp_path / "out" / "store.sqlite")) as store:
        kept = [completion for _, _, completions in store.contents() for completion in completions]
    assert all(THOUGHT not in completion.text and completion.text for completion in kept)
    if name not in ("llama-cpp", "ollama", "vllm"):  # which do not count them by themselves
        assert all((completion.thinking_tokens > 0) == thinks for completion in kept)
    assert all(completion.thinking_tokens <= completion.completion_tokens for completion in kept)
    assert all((THOUGHT in completion.thinking) == (thinks and "openai" not in name) for completion in kept)


def test_a_run_stops_if_thinking_leaves_its_first_replies_empty(loopback: Loopback) -> None:
    loopback.behaviour.max_characters = 0

    async def one_by_one(model: OpenAIChat) -> None:
        for _ in range(20):
            assert (await model.complete(GREEDY))[0].text == ""
        with pytest.raises(BadInput, match=r"thinking took all tokens; set --reasoning to .* so the run stops"):
            await model.complete(GREEDY)
        await model.check()  # begins anew, as the doctor does, whose replies are too short to tell
        for _ in range(21):
            await model.complete(replace(GREEDY, max_tokens=12))

    use(OpenAIChat("m", base_url=loopback.openai_url), one_by_one)


@pytest.mark.parametrize("name", ["vllm", "llama-cpp", "sglang", "ollama"])
def test_log_probabilities_are_those_of_the_reply(loopback: Loopback, name: str) -> None:
    """As a server without thinking gives them."""
    plain = use(OpenAIChat("m", base_url=loopback.openai_url), lambda m: m.complete(GREEDY))[0]
    loopback.behaviour = behaves_like(name)
    (reply,) = use(OpenAIChat("m", base_url=loopback.openai_url, reasoning="low"), lambda m: m.complete(GREEDY))
    assert reply.text.strip() == plain.text
    assert "".join(reply.tokens or ()) == reply.text
    assert (reply.logprobs or ())[-len(plain.logprobs or ()) :] == plain.logprobs


def test_thinking_of_several_draws_is_shared_out(loopback: Loopback) -> None:
    loopback.behaviour = behaves_like("sglang")
    draws = use(OpenAIChat("m", base_url=loopback.openai_url, reasoning="low"), lambda m: m.complete(DRAWS))
    usage = shape("sglang")["reply"]["usage"]
    assert sum(draw.thinking_tokens for draw in draws) == usage["reasoning_tokens"]
    assert sum(draw.completion_tokens for draw in draws) > 10 * usage["completion_tokens"]


def test_thinking_is_among_what_a_turn_unfolds_into(loopback: Loopback, tmp_path: Path) -> None:
    loopback.behaviour = behaves_like("lm-studio")
    loopback.behaviour.reply_shape["choices"][0]["message"]["reasoning_content"] = "<b>Hm.</b>"
    asked = {"store": tmp_path / "store.sqlite", "base_url": loopback.openai_url}
    with Study("openai:tested", items(), "sr_dcr", samples=0, rounds=2, **asked) as opened:  # type: ignore[arg-type]
        turns = opened.run(progress=False).turns
    with messages_in(tmp_path / "store.sqlite") as sent:
        assert sent
        assert [("thinking", "<b>Hm.</b>") in sent(turn) for turn in turns.itertuples()] == [True] * 6


@pytest.mark.parametrize(("level", "on"), [("none", False), ("low", True), ("high", True)])
def test_a_server_of_ones_own_is_told_in_both_words_and_given_room(loopback: Loopback, level: str, on: bool) -> None:
    model = OpenAIChat("m", base_url=loopback.openai_url, reasoning=level, extra_body={"top_k": 20})
    use(model, lambda m: m.complete(GREEDY))
    body = loopback.completions[0].body
    assert body["reasoning_effort"] == level
    assert body["chat_template_kwargs"] == {"enable_thinking": on, "thinking": on}
    assert body["max_tokens"] == GREEDY.max_tokens + ROOM[level]
    assert body["top_k"] == 20


def test_the_provider_is_told_an_effort_alone(monkeypatch: pytest.MonkeyPatch, no_keys: None) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-nobody")
    model = OpenAIChat("gpt-5.1", reasoning="high")
    assert model._settings.fields() == {"reasoning_effort": "high"}


@pytest.mark.parametrize(
    ("refused", "left"), [("reasoning_effort", "chat_template_kwargs"), ("chat_template_kwargs", "reasoning_effort")]
)
def test_what_is_refused_is_said_otherwise(loopback: Loopback, refused: str, left: str) -> None:
    loopback.behaviour.refuses = frozenset({refused})
    model = OpenAIChat("m", base_url=loopback.openai_url, reasoning="low")
    use(model, lambda m: m.complete(DRAWS))
    assert left in loopback.completions[-1].body
    assert refused not in loopback.completions[-1].body
    assert model.sent()["dropped"][refused] == "refused by the model"
    assert f"openai:m (reasoning low): refuses {refused}: --reasoning low is said by {left}." in model.sent()["notes"]


BOTH = frozenset({"reasoning_effort", "chat_template_kwargs"})


def test_a_model_that_cannot_think_does_not_when_asked_not_to(loopback: Loopback) -> None:
    loopback.behaviour.refuses = BOTH
    model = OpenAIChat("m", base_url=loopback.openai_url, reasoning="none")
    use(model, lambda m: m.complete(GREEDY))
    assert not BOTH & set(loopback.completions[-1].body)
    assert any("is said by nothing" in note for note in model.sent()["notes"])


def test_a_level_that_cannot_be_had_is_bad_input(loopback: Loopback, tmp_path: Path) -> None:
    loopback.behaviour.refuses = BOTH
    with pytest.raises(BadInput, match=r"^openai:tested \(reasoning low\) refuses \w+ \(.*\); change --reasoning low"):
        study(loopback, tmp_path / "out", reasoning="low")
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_value_that_is_not_among_the_models_is_bad_input() -> None:
    """Else gpt-5, which cannot do without, would think at its default under the name of none."""
    said = "unsupported_value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low'"
    for complaint, fault in ((said, "Supported values are"), ("Unrecognized request argument", None)):
        settings = Settings(replace(LOW, settings=settings_of("none")), partial(effort_or_template, own_server=False))
        with pytest.raises(BadInput, match=fault) if fault else nullcontext():
            assert "said by nothing" in settings.refused("reasoning_effort", settings.fields(), complaint)


def test_a_refused_field_of_the_users_is_bad_input(loopback: Loopback) -> None:
    error = {"message": "Unknown parameter: 'top_k'.", "param": "top_k", "code": "unknown_parameter"}
    loopback.behaviour = Behaviour(body=json.dumps({"error": error}).encode(), status=400)
    model = OpenAIChat("m", base_url=loopback.openai_url, extra_body={"top_k": 20})
    with pytest.raises(BadInput, match=r"refuses top_k .*; change --extra-body, or leave it out"):
        use(model, lambda m: m.complete(GREEDY))


def test_claude_decides_by_itself_or_is_given_a_budget(loopback: Loopback) -> None:
    """Before 4.6 there is no adaptive thinking; from 4.7 on no budget."""
    use(AnthropicChat("c", base_url=loopback.url, reasoning="medium"), lambda m: m.complete(GREEDY))
    body = loopback.completions[-1].body
    assert (body["thinking"]["type"], body["output_config"]) == ("adaptive", {"effort": "medium"})
    assert body["max_tokens"] == GREEDY.max_tokens + ROOM["medium"]
    loopback.behaviour.refuses = frozenset({"adaptive"})
    use(AnthropicChat("c", base_url=loopback.url, reasoning="medium"), lambda m: m.complete(GREEDY))
    body = loopback.completions[-1].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": ROOM["medium"]}
    assert "output_config" not in body
    use(AnthropicChat("c", base_url=loopback.url, reasoning="none"), lambda m: m.complete(GREEDY))
    assert loopback.completions[-1].body["thinking"] == {"type": "disabled"}


def test_a_claude_that_always_thinks_is_not_taken_for_one_that_does_not(loopback: Loopback) -> None:
    loopback.behaviour.refuses = frozenset({"disabled"})
    with pytest.raises((BadInput, CallFailed), match=r"refuses thinking .*; change --reasoning none"):
        use(AnthropicChat("c", base_url=loopback.url, reasoning="none"), lambda m: m.complete(GREEDY))


@pytest.mark.parametrize(("how", "fault"), [
    ({"reasoning": "much"}, "--reasoning is 'much'; expected none, low, medium, high"),
    ({"reasoning": {"jury": "low"}}, "--reasoning is .*jury.*; expected none"),
    ({"extra_body": {"temperature": 1}}, "--extra-body sets temperature, which a study sets by itself"),
    ({"extra_body": {"reasoning_effort": "low"}}, "--extra-body sets reasoning_effort, .*: --reasoning"),
    ({"extra_body": [1]}, r"--extra-body is \[1\]; expected a JSON object"),
    ({"extra_body": {"a": float("nan")}}, "--extra-body is .*; expected a JSON object"),
    ({"extra_body": {"a": {1, 2}}}, "--extra-body is .*; expected a JSON object"),
    ({"extra_body": {"api_key": "sk-abcdefgh12345678"}}, "--extra-body holds what looks like a key"),
    ({"reasoning": "low", "extra_body": {"chat_template_kwargs": {}}},
     "--extra-body sets chat_template_kwargs, and so does --reasoning"),
])  # fmt: skip
def test_settings_that_cannot_be_had_are_told_in_a_sentence(how: dict[str, Any], fault: str, no_keys: None) -> None:
    with pytest.raises(BadInput, match=fault) as error:
        Study("openai:m", items(), base_url="http://127.0.0.1:9/v1", **how)
    assert len(str(error.value)) < 400
    assert "sk-abc" not in str(error.value)


@pytest.mark.parametrize(("arguments", "fault"), [
    (["--extra-body", '{"top_k": '], "expected a JSON object"),
    (["--extra-body", 'judge={"seed": 1}'], "--extra-body sets seed"),
    (["--reasoning", "jugde=low"], "--reasoning is 'jugde=low'; expected none, low, medium, high"),
    (["--reasoning", "judge="], "--reasoning is ''"),
    (["--reasoning", "low", "--reasoning", "high"], "low and high: two of these are for the same roles"),
    (["--model", "pocket", "--base-url", "http://localhost:9/v1"], "cannot be asked at an address"),
    (["--model", "pocket", "--reasoning", "low"], "--reasoning is for a model behind a server, not for pocket"),
])  # fmt: skip
def test_in_a_shell_they_are_exit_code_2(arguments: list[str], fault: str, no_keys: None, srdcr: Srdcr) -> None:
    ended = srdcr("plan", "--model", "openai:m", "--items", "facts", "--limit", "1", *arguments)
    assert (ended.code, fault in ended.err) == (2, True), ended.err


def test_a_model_that_is_open_is_not_told_anew() -> None:
    with pytest.raises(BadInput, match="pocket is open already: give its reasoning"):
        Study(lab.load_model("pocket"), items(), reasoning="low")


def test_each_role_has_settings_of_its_own(no_keys: None) -> None:
    how = {"reasoning": {"answerer": "none", "judge": "high"}, "extra_body": {"critic": {"top_k": 1}}}
    with Study("openai:m", items(), offline=True, **how) as opened:
        models = opened.asked()["models"]
    assert models["answerer"]["settings"] == '{"reasoning":"none"}'
    assert models["judge"]["settings"] == '{"reasoning":"high"}'
    assert models["critic"]["settings"] == '{"extra_body":{"top_k":1}}'
    assert "settings" not in models["defender"]


def test_settings_are_part_of_the_name_and_of_the_key() -> None:
    other = replace(LOW, settings=settings_of("low", {"top_k": 20}))
    assert str(LOW) == "openai:tested (reasoning low)"
    assert str(other) == 'openai:tested (extra_body {"top_k": 20}, reasoning low)'
    assert len({LOW.key, other.key, replace(LOW, settings="").key}) == 3
    for named in (LOW, other, replace(LOW, name="a|b", label="desk"), replace(LOW, name="a|b", settings="")):
        assert model_of_key(named.key) == named
    assert settings_of(None, {"b": 1, "a": 2}) == settings_of(None, {"a": 2, "b": 1})
    assert settings_of() == settings_of(None, {}) == ""


def test_a_run_with_other_settings_is_another_run(loopback: Loopback, tmp_path: Path) -> None:
    loopback.behaviour = behaves_like("llama-cpp")
    results = study(loopback, tmp_path / "out", reasoning="low", samples=0)
    assert set(results.records["model"]) == {"openai:tested (reasoning low)"}
    assert results.manifest["asked"]["models"]["judge"]["settings"] == '{"reasoning":"low"}'
    asked = len(loopback.completions)
    study(loopback, tmp_path / "out", reasoning="low", samples=0)
    assert len(loopback.completions) == asked
    with pytest.raises(BadInput, match="holds a run with other arguments"):
        study(loopback, tmp_path / "out", reasoning="none", samples=0)
    with pytest.raises(BadInput, match="holds a run with other arguments"):
        study(loopback, tmp_path / "out", samples=0)
    study(loopback, tmp_path / "other", reasoning="none", samples=0, store=tmp_path / "out" / "store.sqlite")
    assert len(loopback.completions) == 2 * asked  # nothing is taken from the other level's completions


def test_room_to_think_is_reserved_and_planned(no_keys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    price = Price(0.0, 1.0, "a test")
    assert worst_case_usd(GREEDY, price, room(LOW)) == worst_case_usd(GREEDY, price) + ROOM["low"]
    assert room(replace(LOW, settings='{"extra_body":{"a":1}}')) == 0
    priced(monkeypatch, tmp_path, "openai:m,1,2")
    tables = []
    for level in (None, "low"):
        with Study("openai:m", items(), "few_shot", samples=0, offline=True, reasoning=level) as opened:
            tables.append(opened.plan().table.set_index("methods").loc["the whole run"])
    plain, thinking = tables
    assert thinking["completion_tokens_from"] == plain["completion_tokens_from"]
    more = ROOM["low"] * plain["calls_to"]
    assert thinking["completion_tokens_to"] == plain["completion_tokens_to"] + more
    assert thinking["cost_usd_to"] == pytest.approx(plain["cost_usd_to"] + 2e-6 * more)


@pytest.mark.parametrize(("text", "thinking", "said"), [
    ("1874", "", "1874"), ("<think>\nNot 1875.\n</think>\n\n1874", "Not 1875.", "1874"),
    ("Not 1875.\n</think>\n\n1874", "Not 1875.", "1874"),  # the template opens it in the prompt
    ("<think>Not 18", "Not 18", ""), ("[THINK]Not 1875.[/THINK]1874", "Not 1875.", "1874"),
    ("◁think▷Not 1875.◁/think▷1874", "Not 1875.", "1874"),
    ("<seed:think>Not 1875.</seed:think>1874", "Not 1875.", "1874"),
    ("<|begin_of_thought|>Not 1875.<|end_of_thought|>1874", "Not 1875.", "1874"),
    ("<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>1874", "Hm.", "1874"),
    ("I [think] that 3 < 4", "", "I [think] that 3 < 4"),
])  # fmt: skip
def test_thinking_in_a_text_is_told_from_what_it_says(text: str, thinking: str, said: str) -> None:
    assert parted(text) == (thinking, said)


def test_tokens_and_log_probabilities_stay_with_the_reply() -> None:
    tokens = ("<think>", "Not", " 1875", "</think>", "\n\n", "18", "74")
    whole = Completion("".join(tokens), tokens=tokens, logprobs=tuple(-0.1 * n for n in range(7)), completion_tokens=7)
    reply = received(whole)
    assert (reply.text, reply.thinking, reply.thinking_tokens) == ("1874", "Not 1875", 5)
    assert (reply.tokens, reply.logprobs) == (("18", "74"), (-0.5, pytest.approx(-0.6)))
    assert apart(reply) is reply
    twice = apart(replace(whole, thinking="Not 1875"))  # llama.cpp's deepseek-legacy says it in both places
    assert twice.thinking == "Not 1875"


def test_the_last_place_of_a_reply_is_its_own() -> None:
    """Thinking names the answer before the reply does."""
    pieces = [("18", -1.0), ("74", -1.0), ("</think>", -1.0), ("18", -0.1), ("74", -0.2), ("<|im_end|>", -3.0)]
    content = [{"token": token, "logprob": value} for token, value in pieces]
    assert aligned("1874", content, "1874") == (("18", "74"), (-0.1, -0.2))
    assert aligned("1874", content) == (("18", "74"), (-1.0, -1.0))
    assert aligned("1874", content[:3], "1874") == (("18", "74"), (-1.0, -1.0))
    assert aligned("1874", [*content[:3], {"token": "Hm", "logprob": -1.0}, content[5]], "1874") == (None, None)


THOUGHT_OVER = Completion("1874", 0, ("18", "74"), (-0.5, -0.25), FinishReason.STOP, 7, 12, "Not 1875.", 10)


def test_a_store_keeps_thinking_and_who_thought_and_an_export_has_no_fields_for_none(tmp_path: Path) -> None:
    plain = replace(LOW, settings="")
    with closing(Store(tmp_path / "store.sqlite")) as store, closing(Store(":memory:")) as other:
        store.put(LOW, GREEDY, [THOUGHT_OVER])
        store.put(plain, GREEDY, [Completion("1874")])
        assert store.get(LOW, GREEDY) == {0: THOUGHT_OVER}
        assert store.get(plain, GREEDY) == {0: Completion("1874")}
        store.export(tmp_path / "store.jsonl")
        other.merge(tmp_path / "store.jsonl")
        assert [*other.contents()] == [*store.contents()]
    lines = map(json.loads, (tmp_path / "store.jsonl").read_text().splitlines())
    (line,) = (line for line in lines if "settings" not in line["model"])
    assert not {"thinking", "thinking_tokens", "margins"} & set(line["completions"][0])
