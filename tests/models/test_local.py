"""The local adapter on tiny random models made here: a Llama and a GPT-2 over a byte-level BPE trained on a few lines.

Exactness is checked against plain forward passes over prompt and reply, without cache, batch or padding. Samples are
compared between batches as text; that is safe where no u lies within rounding of an edge of its distribution function,
which the test checks for the draws it compares.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    SuppressTokensLogitsProcessor,
)

from srdcr_lab.models import checkpoint, decoding, local
from srdcr_lab.models.base import fold_system
from srdcr_lab.models.checkpoint import ChatFormat, computes_in, fingerprint, number_type
from srdcr_lab.models.decoding import DecodingRow, Draw, Pick, Sample, choose, ends_of_triples, inverse_cdf, uniforms
from srdcr_lab.models.load import model_of_spec
from srdcr_lab.models.local import Call, LocalChat
from srdcr_lab.records import BadInput, CallFailed, Completion, FinishReason, Message, Request
from srdcr_lab.records.types import cut
from srdcr_lab.study import Study

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE
CORPUS = [
    "In which year was the bridge opened? It was opened in 1874, and rebuilt in 1902.",
    "Who wrote the novel? Élodie Müller wrote the novel in Zürich; the price was 12 €.",
    "Answer the question from memory. Reply with the answer alone, in its shortest form: a year, a number, a name.",
    "The debate goes on: I am certain. final decision: REASONABLE or UNREASONABLE 😀 naïve café",
]


def make_tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<eos>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")
    fast.add_special_tokens({"additional_special_tokens": special[1:]})
    fast.chat_template = template
    return fast


def save(
    folder: Path, model_of: Any, config_of: Any, *, template: str | None = TEMPLATE, dtype: Any = torch.float32,
    **sizes: Any,
) -> Path:  # fmt: skip
    """A model with random weights; these are nearly uniform: some tokens are made likelier than others."""
    torch.manual_seed(1)
    tokenizer = make_tokenizer(template)
    config = config_of(vocab_size=len(tokenizer), eos_token_id=0, bos_token_id=0, tie_word_embeddings=False, **sizes)
    model = model_of(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(12)
    model.to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "max_position_embeddings": 512}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2}


def save_llama(folder: Path, template: str | None = TEMPLATE, dtype: Any = torch.float32, **changes: int) -> Path:
    return save(folder, LlamaForCausalLM, LlamaConfig, template=template, dtype=dtype, **(SIZES | changes))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Beside other work, threads that wait by spinning take longer than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def llama(llama_folder: Path) -> LocalChat:
    return LocalChat(str(llama_folder), threads=1)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> LocalChat:
    folder = tmp_path_factory.mktemp("gpt2")
    save(folder, GPT2LMHeadModel, GPT2Config, n_embd=64, n_layer=2, n_head=4, n_positions=512)
    return LocalChat(str(folder), threads=1)


SYSTEM = Message("system", CORPUS[2])
SHOTS = tuple(
    message
    for year in (1874, 1902, 1850)
    for message in (Message("user", f"In which year was bridge {year % 7} opened?"), Message("assistant", str(year)))
)


def greedy(question: str, *, shots: bool = False, max_tokens: int = 8, **changes: object) -> Request:
    messages = (SYSTEM, *(SHOTS if shots else ()), Message("user", question))
    return Request(messages=messages, max_tokens=max_tokens, logprobs=True, **changes)


def sampled(question: str, draws: int, *, stream: str = "knowledge", shots: bool = False, **changes: object) -> Request:
    messages = (SYSTEM, *(SHOTS if shots else ()), Message("user", question))
    options = {"max_tokens": 6, "temperature": 0.5, "logprobs": True} | changes
    return Request(messages=messages, stream=stream, draws=tuple(range(draws)), **options)


def ask(model: LocalChat, *requests: Request) -> list[tuple[Completion, ...]]:
    async def together() -> list[tuple[Completion, ...]]:
        return await asyncio.gather(*(model.complete(request) for request in requests))

    return asyncio.run(together())


MIX = [
    greedy(f"{'Tell me more about this. ' * (n % 5)}Who wrote novel {n}?", shots=n % 3 == 0, max_tokens=4 + n % 7)
    for n in range(20)
]


def test_bfloat16_equals_a_plain_forward_pass_of_that_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As near as that type allows: it holds two to three digits, and another order of summing changes the last one."""
    model = LocalChat(str(save_llama(tmp_path, dtype=torch.bfloat16)), threads=1, dtype="bfloat16")
    assert {each.dtype for each in model.decoder._model.parameters()} == {torch.bfloat16}
    samples = []
    completion = model.completion

    def noted(call: Call, draw: Draw, sample: Sample) -> Completion:
        samples.append((call.prompt, sample))
        return completion(call, draw, sample)

    monkeypatch.setattr(model, "completion", noted)
    ask(model, *MIX[:10])
    ask(model, *MIX[10:])
    assert model.sent()["shared_prefix_tokens"] > 0
    for prompt, sample in samples:
        tokens = [pick.token for pick in sample.picks]
        logprobs = torch.log_softmax(plain_logits(model, (*prompt, *tokens)).float(), dim=-1)[len(prompt) - 1 :]
        chosen = logprobs[:-1].gather(1, torch.tensor(tokens)[:, None])[:, 0]
        np.testing.assert_allclose([pick.logprob for pick in sample.picks], chosen, atol=0.1)
        assert (logprobs[:-1].max(dim=1).values - chosen).max() < 0.1  # greedy, but for ties


def test_packed_weights_compute_the_same(tmp_path: Path) -> None:
    folder = str(save_llama(tmp_path, dtype=torch.bfloat16))
    plain, packed = (checkpoint.load(folder, dtype="bfloat16")[1] for _ in range(2))
    decoding.pack_linear(packed)
    torch.testing.assert_close(packed.lm_head.weight, plain.lm_head.weight)
    ids = torch.arange(3, 60)[None]
    torch.testing.assert_close(packed(ids).logits, plain(ids).logits, atol=0.05, rtol=0.05)


def test_the_type_is_that_of_the_weights_where_the_device_computes_in_it(
    tmp_path: Path, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = save_llama(tmp_path, dtype=torch.bfloat16)
    for able, chosen in ((False, "float32"), (True, "bfloat16")):
        monkeypatch.setattr(checkpoint, "computes_in", lambda *_, told=able: told)
        assert number_type(str(small)) == chosen
        assert number_type(str(llama_folder)) == "float32"  # bfloat16 would round its weights
        assert number_type(str(small), dtype="float32") == "float32"
        assert LocalChat(str(small), threads=1).sent()["dtype"] == chosen


@pytest.mark.parametrize(("able", "expected"), [({"amx_bf16": True}, True), ({"avx2": True}, False)])
def test_a_cpu_computes_in_bfloat16_where_it_has_instructions_for_it(
    able: dict[str, bool], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able, raising=False)
    assert computes_in("bfloat16", "cpu") is expected
    assert not computes_in("float16", "cpu")


def test_a_type_other_than_float32_is_part_of_who_a_model_is(tmp_path: Path) -> None:
    folder = save_llama(tmp_path, dtype=torch.bfloat16)
    full, small = (model_of_spec(f"hf:{folder}", dtype=dtype).identity for dtype in ("float32", "bfloat16"))
    assert full.key == full.fingerprint == fingerprint(folder)
    assert (small.fingerprint, small.settings) == (full.fingerprint, '{"dtype":"bfloat16"}')
    assert small.key != full.key
    assert str(small) == f"{full} (dtype bfloat16)"
    assert LocalChat(str(folder), threads=1, dtype="bfloat16").identity.settings == small.settings


def test_a_study_says_in_every_row_and_in_its_notes_which_type_it_computed_in(tmp_path: Path) -> None:
    folder = save_llama(tmp_path / "tiny", dtype=torch.bfloat16, max_position_embeddings=4096)
    model = LocalChat(str(folder), threads=1, dtype="bfloat16")
    with Study(model, "facts:testbed", "few_shot", limit=2, samples=0, out=tmp_path / "run") as study:
        results = study.run(progress=False)
    assert set(results.records["model"]) == {"hf:tiny (dtype bfloat16)"}
    assert results.manifest["sent"]["hf:tiny (dtype bfloat16)"]["dtype"] == "bfloat16"
    assert any("moves log-probabilities of this type" in note for note in results.manifest["notes"])


def test_a_scored_request_says_the_same_and_how_likely_it_was(llama: LocalChat) -> None:
    """Of a request that needs no log-probabilities, as a judge's."""
    plain = replace(greedy("Who wrote novel 1?"), logprobs=False)
    (needed,), (scored,), (bare,) = ask(llama, greedy("Who wrote novel 1?"), replace(plain, scored=True), plain)
    assert (scored.text, scored.tokens) == (needed.text, needed.tokens)
    assert scored.logprobs == pytest.approx(needed.logprobs, abs=1e-4)
    assert (bare.text, bare.tokens) == (needed.text, None)


def plain_logits(model: LocalChat, ids: tuple[int, ...]) -> torch.Tensor:
    whole = model.decoder._model
    with torch.inference_mode():
        logits = whole(torch.tensor([ids])).logits[0]
    named = whole.generation_config.suppress_tokens
    return SuppressTokensLogitsProcessor(named)(None, logits) if named else logits


def plain_greedy(model: LocalChat, request: Request) -> tuple[str, list[float], list[float]]:
    """Text, log-probabilities and margins of greedy decoding by whole forward passes, one a token."""
    prompt = model._format.prompt_ids(request.messages)
    reply: list[int] = []
    logprobs: list[float] = []
    margins: list[float] = []
    while len(reply) < request.max_tokens:
        last = torch.log_softmax(plain_logits(model, (*prompt, *reply))[-1], dim=-1)
        token = int(last.argmax())
        if token in model._format.end_ids:
            break
        reply.append(token)
        logprobs.append(float(last[token]))
        margins.append(float(last[token] - last.topk(2).values[1]))
    return model._format.decode(reply), logprobs, margins


def is_plain(model: LocalChat, asked: Request, answer: Completion) -> None:
    """The answer is that of whole forward passes."""
    text, logprobs, _ = plain_greedy(model, asked)
    assert answer.text == text
    np.testing.assert_allclose(answer.logprobs, logprobs, atol=1e-4)


@pytest.mark.parametrize("which", ["llama", "gpt2"])
def test_greedy_equals_a_plain_forward_pass_alone_and_in_a_batch(which: str, request: pytest.FixtureRequest) -> None:
    model: LocalChat = request.getfixturevalue(which)
    together = [answer for (answer,) in ask(model, *MIX)]
    for asked, answer in zip(MIX, together, strict=True):
        text, logprobs, margins = plain_greedy(model, asked)
        ((alone,),) = ask(model, asked)
        assert answer.text == alone.text == text
        assert "".join(answer.tokens) == text
        np.testing.assert_allclose(answer.logprobs, logprobs, atol=1e-4)
        np.testing.assert_allclose(alone.logprobs, logprobs, atol=1e-4)
        np.testing.assert_allclose(answer.margins, margins, atol=2e-4)


def debate(turns: int, about: int) -> list[Request]:
    """Requests that grow, as those of a debate do: each begins with the one before it."""
    said = [f" Turn {turn}: I am certain of novel {about}." for turn in range(turns)]
    return [greedy(f"Who wrote novel {about}?{''.join(said[:end])}", max_tokens=3) for end in range(1, turns + 1)]


@pytest.mark.parametrize(("kept_tokens", "computes_most"), [(2000, 1.15), (150, 3.0), (7, 6.0)])
def test_growing_prompts_are_computed_once_where_memory_allows_and_rightly_where_not(
    llama_folder: Path, kept_tokens: int, computes_most: float
) -> None:
    size = 512  # bytes a token: 2 layers of keys and values, 2 heads of width 16, float32
    model = LocalChat(str(llama_folder), threads=1, kept_bytes=kept_tokens * size)
    assert model.sent()["kept_gb_at_most"] == kept_tokens * size / 1e9
    debates = [debate(6, about) for about in range(4)]
    for now in zip(*debates, strict=True):
        for asked, (answer,) in zip(now, ask(model, *now), strict=True):
            is_plain(model, asked, answer)
    sent = model.sent()
    prompts = [model._format.prompt_ids(asked.messages) for turns in debates for asked in turns]
    distinct = {prompt[:end] for prompt in prompts for end in range(1, len(prompt) + 1)}
    assert sent["prefill_tokens"] <= computes_most * len(distinct)
    assert sent["prefill_tokens"] + sent["shared_prefix_tokens"] == sum(map(len, prompts))
    assert sum(map(len, model.decoder._beginnings._sorted)) <= kept_tokens


def test_of_prompts_that_wait_the_one_with_least_to_compute_goes_first(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_GATHER_S", 0.2)
    model = LocalChat(str(llama_folder), threads=1, max_batch_tokens=1)
    (first, second), others = debate(2, 1), [debate(2, about)[1] for about in (2, 3)]
    ask(model, first)
    started: list[tuple[int, ...]] = []
    start = model.decoder.start
    monkeypatch.setattr(model.decoder, "start", lambda calls: started.extend(p for p, _ in calls) or start(calls))
    ask(model, *others, second)
    asked = [second, *others]
    assert started == [model._format.prompt_ids(each.messages) for each in asked]


def test_a_sliding_window_is_decoded_exactly_without_shared_prefixes(tmp_path: Path) -> None:
    """Attention sees the last 24 tokens alone, so its cache forgets."""
    save(tmp_path, MistralForCausalLM, MistralConfig, sliding_window=24, **SIZES)
    model = LocalChat(str(tmp_path), threads=1)
    assert not model.decoder.pads_anywhere
    requests = [*MIX[:8], sampled("Who wrote the novel?", 4)]
    for asked, answers in zip(requests[:8], ask(model, *requests), strict=False):
        is_plain(model, asked, answers[0])


def test_one_prefill_serves_all_draws_and_requests_of_a_prompt(llama_folder: Path) -> None:
    model = LocalChat(str(llama_folder), threads=1)
    question = "Who wrote the novel?"
    ask(model, greedy(question), sampled(question, 32), sampled(question, 16, stream="self_consistency"))
    assert model.sent()["prefill_tokens"] == len(model._format.prompt_ids(greedy(question).messages))
    assert model.sent()["decode_steps"] <= 8


def plain_sample(model: LocalChat, request: Request, draw: int) -> str:
    """Text of one draw by whole forward passes; no u is so near an edge that it could fall over."""
    prompt = model._format.prompt_ids(request.messages)
    seed = np.array([request.draw_seed(draw, bits=63)], dtype=np.uint64)
    reply: list[int] = []
    for step in range(request.max_tokens):
        logits = plain_logits(model, (*prompt, *reply))[-1].double().numpy() / request.temperature
        weights = np.exp(logits - logits.max())
        cdf = np.cumsum(weights / weights.sum())
        u = float(uniforms(seed, np.array([step], dtype=np.uint64))[0])
        assert np.abs(cdf[:-1] - u).min() > 1e-6  # else a rounding difference may flip a sample: other questions
        token = int(np.argmax(cdf > u))
        if token in model._format.end_ids:
            break
        reply.append(token)
    return model._format.decode(reply)


def test_a_sample_is_the_same_alone_in_a_batch_and_computed_plainly(llama: LocalChat) -> None:
    requests = [sampled(f"Who wrote novel {n}?", 6, shots=n % 2 == 0) for n in range(4)]
    together = ask(llama, *MIX, *requests)[len(MIX) :]
    for asked, answers in zip(requests, together, strict=True):
        assert [answer.text for answer in answers] == [plain_sample(llama, asked, draw) for draw in asked.draws]
        assert [alone.text for alone in ask(llama, asked)[0]] == [answer.text for answer in answers]


@pytest.mark.parametrize("wrong_at", [None, 0, 2, 4])
def test_of_a_guess_the_right_tokens_are_kept_and_nothing_else_changes(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch, wrong_at: int | None
) -> None:
    requests = [greedy(f"Who wrote novel {n}?", shots=n % 2 == 0, max_tokens=20 + n) for n in range(5)]
    requests += [sampled("Who wrote the novel?", 3, max_tokens=20), greedy("Who wrote the novel?", max_tokens=3)]
    said: dict[tuple[int, ...], list[int]] = {}

    def told(row: DecodingRow, most: int) -> tuple[int, ...]:
        guess = said[row.prompt][len(row.picks) :][:most]
        if wrong_at is not None and wrong_at < len(guess):
            guess[wrong_at] = (guess[wrong_at] + 1) % 300
        return tuple(guess)

    def kept(call: Call, draw: Draw, sample: Sample) -> Completion:
        said.setdefault(call.prompt, [pick.token for pick in sample.picks])
        return LocalChat.completion(plain, call, draw, sample)

    plain = LocalChat(str(llama_folder), threads=1)
    monkeypatch.setattr(plain, "completion", kept)
    monkeypatch.setattr(DecodingRow, "continued", lambda row, most: ())
    answers = ask(plain, *requests)
    monkeypatch.setattr(DecodingRow, "continued", told)
    guessing = LocalChat(str(llama_folder), threads=1)
    for answer, again in zip(answers, ask(guessing, *requests), strict=True):
        assert [(each.text, each.tokens) for each in again] == [(each.text, each.tokens) for each in answer]
        for one, other in zip(answer, again, strict=True):
            np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-4)
    rows = guessing.sent()["decode_rows"] / plain.sent()["decode_rows"]
    assert rows == pytest.approx(1.0) if wrong_at == 0 else rows < 0.8


def test_what_follows_the_last_three_tokens_in_the_prompt_is_the_guess() -> None:
    prompt = (7, 8, 1, 2, 3, 4, 5, 6, 8, 1)
    after = ends_of_triples(prompt)
    draw = Draw(seed=1, temperature=0.0, max_new=5)
    picks = [Pick(token, 0.0, 1.0) for token in (2, 3)]
    assert DecodingRow(prompt, after, [draw], picks[:1]).continued(9) == (3, 4, 5)  # four may follow, one by the step
    assert DecodingRow(prompt, after, [draw], picks).continued(1) == (4,)
    assert DecodingRow(prompt, after, [draw], picks).continued(0) == ()
    assert DecodingRow(prompt, after, [draw], picks[::-1]).continued(9) == ()


def test_what_an_earlier_reply_said_is_guessed(llama_folder: Path) -> None:
    chat, asked = LocalChat(str(llama_folder), threads=1), greedy("Who wrote novel 3?", max_tokens=40)
    first, steps = ask(chat, asked), chat.sent()["decode_steps"]
    assert [each.text for each in ask(chat, asked)[0]] == [each.text for each in first[0]]
    assert chat.sent()["decode_steps"] - steps < steps / 3


@pytest.mark.parametrize("question", ["Who wrote the novel?", "Who wrote novel 7?", "Where is the bridge?"])
def test_long_samples_that_split_and_are_joined_equal_plain_ones(llama: LocalChat, question: str) -> None:
    asked = sampled(question, 5, max_tokens=40, temperature=1.0)

    async def with_late_company() -> tuple[Completion, ...]:
        first = asyncio.create_task(llama.complete(asked))
        others = []
        for request in MIX:
            await asyncio.sleep(0.003)
            others.append(asyncio.create_task(llama.complete(request)))
        await asyncio.gather(*others)
        return await first

    plain = [plain_sample(llama, asked, draw) for draw in asked.draws]
    assert [answer.text for answer in asyncio.run(with_late_company())] == plain


def test_suppressed_tokens_are_never_said_as_transformers_has_it(
    llama: LocalChat, llama_folder: Path, tmp_path: Path
) -> None:
    """Greedy as `generate`, samples as plain ones; ids that there are not are passed over. It is another model."""
    asked, draws = greedy("Who wrote the novel?"), sampled("Who wrote the novel?", 24, temperature=1.0)
    prompt = torch.tensor([llama._format.prompt_ids(asked.messages)])
    options = {"max_new_tokens": 8, "do_sample": False, "return_dict_in_generate": True, "output_scores": True}
    said = llama.decoder._model.generate(prompt, **options).sequences[0, prompt.shape[1] :].tolist()
    folder = shutil.copytree(llama_folder, tmp_path / "suppressing")
    config = folder / "generation_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"suppress_tokens": [*said, -1, 100_000]}))
    model = LocalChat(str(folder), threads=1)
    ((answer,), answers), ((unbound,),) = ask(model, asked, draws), ask(llama, asked)
    generated = model.decoder._model.generate(prompt, **options)
    tokens = generated.sequences[0, prompt.shape[1] :]
    assert answer.text == model._format.decode(tokens.tolist()) != unbound.text
    assert not {*said} & {*tokens.tolist()}
    scores = torch.log_softmax(torch.stack(generated.scores)[:, 0], dim=-1)
    np.testing.assert_allclose(answer.logprobs, scores.gather(1, tokens[:, None])[:, 0], atol=1e-4)
    assert [each.text for each in answers] == [plain_sample(model, draws, draw) for draw in draws.draws]
    assert model.identity.fingerprint != llama.identity.fingerprint
    assert model.decoder.pads_anywhere  # what is impossible before and after is no difference


def test_a_draw_does_not_depend_on_the_other_draws_asked_for(llama: LocalChat) -> None:
    whole = sampled("Who wrote the novel?", 8)
    ((fifth, second),) = ask(llama, replace(whole, draws=(5, 2)))
    (answers,) = ask(llama, whole)
    assert (fifth.draw, second.draw) == (5, 2)
    assert (fifth.text, second.text) == (answers[5].text, answers[2].text)


def test_streams_and_seeds_differ(llama: LocalChat) -> None:
    question = "Who wrote the novel?"
    knowledge, consistency, seeded = (
        [answer.text for answer in answers]
        for answers in ask(
            llama, sampled(question, 8), sampled(question, 8, stream="self_consistency"), sampled(question, 8, seed=1)
        )
    )
    assert knowledge != consistency
    assert knowledge != seeded


def test_stop_string_ends_the_text_before_it(llama: LocalChat) -> None:
    ((whole,),) = ask(llama, greedy("Who wrote novel 3?", max_tokens=12))
    stop = whole.text[4:6]
    ((cut,),) = ask(llama, greedy("Who wrote novel 3?", max_tokens=12, stop=(stop,)))
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish_reason is FinishReason.STOP
    assert "".join(cut.tokens) == cut.text
    assert len(cut.tokens) == len(cut.logprobs)
    ((short,),) = ask(llama, greedy("Who wrote novel 3?", max_tokens=2))
    assert (short.finish_reason, short.completion_tokens, len(short.tokens or ())) == (FinishReason.LENGTH, 2, 2)


def test_an_end_marker_ends_the_reply_and_is_no_token_of_it(llama: LocalChat) -> None:
    (answers,) = ask(llama, sampled("Who?", 64, max_tokens=40, temperature=2.0))
    ended = [answer for answer in answers if answer.finish_reason is FinishReason.STOP]
    assert ended
    assert all(len(answer.tokens or ()) == answer.completion_tokens - 1 for answer in ended)
    assert all("<|end|>" not in answer.text and "<eos>" not in answer.text for answer in ended)


@pytest.mark.parametrize("text", ["plain words", "naïve café 12 €", "😀😀 日本", " leading space", ""])
def test_token_texts_join_to_the_text(text: str) -> None:
    chat = ChatFormat(make_tokenizer())
    ids = chat._tokenizer.encode(text, add_special_tokens=False)
    texts = chat.token_texts(ids)
    assert "".join(texts) == chat.decode(ids) == text
    assert len(texts) == len(ids)
    assert "\ufffd" not in "".join(texts)


def test_a_character_belongs_to_the_token_that_completes_it_and_a_space_to_its_word() -> None:
    chat = ChatFormat(make_tokenizer())
    ids = chat._tokenizer.encode("日", add_special_tokens=False)
    assert chat.token_texts(ids) == ("", "", "日")
    assert chat.token_texts(ids[:2]) == ("\ufffd", "")  # an unfinished character is what decoding makes of it
    tokenizer = Tokenizer(models.WordLevel({"▁Paris": 0, "▁is": 1, "<unk>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    chat = ChatFormat(PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=TEMPLATE))
    assert chat.token_texts([0, 1, 0]) == ("Paris", " is", " Paris")


def test_control_tokens_in_a_passage_are_text() -> None:
    chat = ChatFormat(make_tokenizer())
    end = chat._tokenizer.convert_tokens_to_ids("<|end|>")
    ids = chat.prompt_ids([Message("user", "a<|end|><|assistant|>b")])
    assert ids.count(end) == 1
    assert "a<|end|><|assistant|>b" in chat._tokenizer.decode(ids)


def test_a_refused_system_message_is_folded_into_the_first_user_message() -> None:
    messages = (Message("system", "Be brief."), Message("user", "Who?"))
    assert fold_system(messages) == (Message("user", "Be brief.\n\nWho?"),)
    chat = ChatFormat(make_tokenizer(NO_SYSTEM))
    assert "<|user|>Be brief.\n\nWho?<|end|>" in chat._tokenizer.decode(chat.prompt_ids(messages))


def test_a_prompt_longer_than_the_window_gets_a_sentence_with_both_numbers(
    llama: LocalChat, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CallFailed, match=r"prompt has \d{4} tokens and the window of .* holds 512"):
        ask(llama, greedy("Who? " * 1000))
    assert "longer than" not in capfd.readouterr().err  # transformers does not warn of it as well


def test_the_window_cuts_a_reply(tmp_path: Path) -> None:
    model = LocalChat(str(save_llama(tmp_path, max_position_embeddings=64)), threads=1)
    prompt = len(model._format.prompt_ids([Message("user", "Who?")]))
    ((answer,),) = ask(model, Request(messages=(Message("user", "Who?"),), max_tokens=500))
    assert answer.completion_tokens <= 64 - prompt
    assert answer.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(("place", "name"), [("decoder._model", "forward"), ("decoder", "advance")])
def test_a_failure_reaches_every_caller_and_the_worker_lives_on(
    llama: LocalChat, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the cable is out")

    async def both() -> list[object]:
        calls = (llama.complete(greedy(f"Who wrote novel {n}?", max_tokens=9)) for n in range(2))
        return await asyncio.gather(*calls, return_exceptions=True)

    with monkeypatch.context() as patch:
        patch.setattr(attrgetter(place)(llama), name, broken)
        answers = asyncio.run(both())
    assert all(isinstance(answer, CallFailed) and "the cable is out" in str(answer) for answer in answers)
    assert ask(llama, greedy("Who wrote novel 3?"))[0][0].text


def test_a_cancelled_call_leaves_the_others_alone(llama: LocalChat) -> None:
    async def scenario() -> tuple[Completion, ...]:
        doomed = asyncio.create_task(llama.complete(sampled("Who?", 64, max_tokens=200, temperature=2.0)))
        other = asyncio.create_task(llama.complete(greedy("Who wrote novel 3?", max_tokens=20)))
        await asyncio.sleep(0.02)
        doomed.cancel()
        return await other

    (answer,) = asyncio.run(scenario())
    assert answer.text == plain_greedy(llama, greedy("Who wrote novel 3?", max_tokens=20))[0]


def test_closing_fails_what_waits_and_a_later_call_works(llama_folder: Path) -> None:
    model = LocalChat(str(llama_folder), threads=1)

    async def closed_in_mid_call() -> None:
        call = asyncio.create_task(model.complete(sampled("Who?", 64, max_tokens=400, temperature=2.0)))
        await asyncio.sleep(0.02)
        await model.aclose()
        with pytest.raises(CallFailed, match="closed"):
            await call

    asyncio.run(closed_in_mid_call())
    assert ask(model, greedy("Who wrote novel 3?"))[0][0].text


def test_a_small_memory_bound_changes_nothing(llama_folder: Path, llama: LocalChat) -> None:
    bounded = LocalChat(str(llama_folder), threads=1, max_batch_tokens=200)
    requests = [*MIX[:6], sampled("Who wrote the novel?", 6)]
    assert [a.text for answers in ask(bounded, *requests) for a in answers] == [
        a.text for answers in ask(llama, *requests) for a in answers
    ]


def test_fingerprint_follows_weights_and_template_and_nothing_else(
    llama: LocalChat, llama_folder: Path, tmp_path: Path
) -> None:
    assert llama.identity.fingerprint == fingerprint(llama_folder)
    assert str(llama.identity) == f"hf:{llama_folder.name}"  # and nothing else of this machine
    folder = shutil.copytree(llama_folder, tmp_path / "copy")
    assert fingerprint(folder) == fingerprint(llama_folder)
    (folder / "README.md").write_text("about")
    assert fingerprint(folder) == fingerprint(llama_folder)
    (folder / "chat_template.jinja").write_text(NO_SYSTEM)
    other_template = fingerprint(folder)
    assert other_template != fingerprint(llama_folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert fingerprint(folder) not in {other_template, fingerprint(llama_folder)}


def test_what_cannot_be_loaded(llama_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled/pytorch_model.bin").write_bytes(b"pickle")
    silent = save_llama(tmp_path / "silent", None)
    for place, options, sentence in (
        ("./nowhere/at/all", {}, r"no model folder \./nowhere/at/all"),
        ("nobody/no-such-model", {}, "neither a folder here nor a model"),
        (str(tmp_path / "pickled"), {}, "safetensors"),
        (str(llama_folder), {"dtype": "int8"}, r"^dtype must be auto, float32, bfloat16 or float16, not 'int8'$"),
        (str(silent), {}, "no chat template"),
    ):
        with pytest.raises(BadInput, match=sentence):
            LocalChat(place, **options)


def test_uniforms_are_keyed_by_seed_and_step() -> None:
    seeds = np.arange(20_000, dtype=np.uint64)
    first, second = (uniforms(seeds, np.full(20_000, step, dtype=np.uint64)) for step in (0, 1))
    assert 0 <= first.min() < first.max() < 1
    assert abs(first.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.03
    assert np.array_equal(first, uniforms(seeds, np.zeros(20_000, dtype=np.uint64)))


def test_inverse_distribution_function_by_hand() -> None:
    logits = torch.log(torch.tensor([[0.2, 0.0, 0.3, 0.5]]))
    u = np.array([[0.0, 0.1999, 0.2001, 0.4999, 0.5001, 0.9999]])
    assert inverse_cdf(logits, torch.tensor([[1.0]]), u).tolist() == [[0, 0, 2, 2, 3, 3]]
    # T = 0.5 squares the probabilities: 0.04, 0, 0.09, 0.25 of 0.38, with edges at 0.105 and 0.342
    u = np.array([[0.104, 0.107, 0.341, 0.343]])
    assert inverse_cdf(logits, torch.tensor([[0.5]]), u).tolist() == [[0, 2, 2, 3]]


def test_greedy_takes_the_first_of_equals_and_no_number_fails_the_call() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0]])
    ((chosen,),) = choose(logits, [DecodingRow((), {}, [Draw(seed=1, temperature=0.0, max_new=1)])])
    assert chosen[0] == 1
    with pytest.raises(FloatingPointError, match="finite"):
        choose(torch.full((1, 3), torch.nan), [DecodingRow((), {}, [Draw(seed=1, temperature=0.5, max_new=1)])])


def test_tokens_after_a_cut_are_left_out() -> None:
    assert cut(("18", "", "74", " and", " more"), range(9), 0, 6)[0] == ("18", "", "74", " a")
    assert cut(("18", "", "74"), range(9), 0, 2)[0] == ("18",)
    assert cut(("18",), range(9), 0, 0)[0] == ()
