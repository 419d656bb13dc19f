"""Local generation against a prompt-by-prompt `generate` loop, on the same work in the same process.

Work: 60 questions, for each a greedy answer (4 fixed exemplars) and 32 draws at T = 0.5 (4 seeded exemplars) of at most
8 tokens, log-probabilities included. The loop calls transformers' own `generate` twice a question, with the 32 draws as
one call (`num_return_sequences`), which is the faster way to use it; it runs over every fifth question, and its time is
scaled to all. One thread; the pocket model where it exists, otherwise a random Llama of its size.
"""

from __future__ import annotations

import asyncio
import csv
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from srdcr_lab.models.local import LocalChat
from srdcr_lab.prompts import render
from srdcr_lab.records import BadInput, Message, Request
from srdcr_lab.records.files import folder

QUESTIONS, DRAWS, MAX_TOKENS, TARGET = 60, 32, 8, 5.0
EVERY = 5
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def rows() -> list[dict[str, object]]:
    """One row: `measured` is the loop's seconds divided by ours, the median of three turns."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as spare:
            source, which = _model_folder(Path(spare))
            requests = work()
            ask(LocalChat(str(source), threads=1), requests[:4])  # warm up
            turns = [(loop_seconds(source, requests), our_seconds(source, requests)) for _ in range(3)]
    finally:
        torch.set_num_threads(threads)
    loop, ours = sorted(turns, key=lambda turn: turn[0] / turn[1])[1]
    return [
        {
            "name": "local generation, against a prompt-by-prompt generate loop",
            "measured": loop / ours,
            "target": f"≥ {TARGET:g} ×",
            "holds": loop / ours >= TARGET,
            "unit": "times as fast",
            "detail": f"{which}; {QUESTIONS} × (1 greedy + {DRAWS} draws): loop {loop:.2f} s, ours {ours:.2f} s",
        }
    ]


def work() -> list[Request]:
    """The requests of a study's first step, as the templates make them."""
    pool, facts = (_read(folder("facts") / name) for name in ("exemplars.csv", "facts.csv"))
    generator = random.Random(0)
    requests = []
    for fact in generator.sample(facts, min(QUESTIONS, len(facts))):
        alike = [exemplar for exemplar in pool if exemplar["domain"] == fact["domain"]]
        fixed, seeded = _prompt(fact, alike[:4]), _prompt(fact, generator.sample(alike, min(4, len(alike))))
        requests.append(Request(messages=fixed, max_tokens=MAX_TOKENS, logprobs=True))
        requests.append(
            Request(
                messages=seeded,
                max_tokens=MAX_TOKENS,
                logprobs=True,
                temperature=0.5,
                stream="knowledge",
                draws=tuple(range(DRAWS)),
            )
        )
    return requests


def our_seconds(source: Path, requests: Sequence[Request]) -> float:
    model = LocalChat(str(source), threads=1)  # a new one: nothing kept from an earlier turn
    start = time.perf_counter()
    ask(model, requests)
    return time.perf_counter() - start


def ask(model: LocalChat, requests: Sequence[Request]) -> None:
    async def together() -> None:
        await asyncio.gather(*(model.complete(request) for request in requests))
        await model.aclose()

    asyncio.run(together())


def loop_seconds(source: Path, requests: Sequence[Request]) -> float:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source).eval()
    model.generation_config.pad_token_id = tokenizer.eos_token_id
    chosen = [request for place, request in enumerate(requests) if place // 2 % EVERY == 0]
    start = time.perf_counter()
    for request in chosen:
        turns = [{"role": message.role, "content": message.content} for message in request.messages]
        prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        sampling = (
            {"do_sample": True, "temperature": request.temperature, "top_k": 0, "num_return_sequences": DRAWS}
            if request.temperature
            else {"do_sample": False}
        )
        with torch.inference_mode():
            out = model.generate(
                **prompt, max_new_tokens=MAX_TOKENS, output_logits=True, return_dict_in_generate=True, **sampling
            )
            tokens = out.sequences[:, prompt["input_ids"].shape[1] :]
            torch.stack(out.logits, dim=1).log_softmax(-1).gather(2, tokens[:, : len(out.logits), None])
        tokenizer.batch_decode(tokens, skip_special_tokens=True)
    return (time.perf_counter() - start) * len(requests) / len(chosen)


def _prompt(fact: dict[str, str], exemplars: Sequence[dict[str, str]]) -> tuple[Message, ...]:
    shots = [({"question": exemplar["question"]}, exemplar["gold_answer"]) for exemplar in exemplars]
    return render("answer_from_memory", shots=shots, question=fact["question"])


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _model_folder(spare: Path) -> tuple[Path, str]:
    try:
        pocket = folder("pocket")
    except BadInput:
        pocket = spare / "none"
    if any(pocket.glob("*.safetensors")):
        return pocket, "pocket model"
    return _random_model(spare), "random model of the pocket model's size"


def _random_model(target: Path) -> Path:
    """A Llama of width 128 with 4 layers, whose replies are about as varied as a trained model's."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<eos>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [fact[column] for fact in _read(folder("facts") / "facts.csv") for column in ("question", "context")]
    backend.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", extra_special_tokens=special[1:])
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(target)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=2048,
            eos_token_id=0,
            bos_token_id=0,
            tie_word_embeddings=False,
        )
    )
    with torch.no_grad():
        model.lm_head.weight.mul_(20)
    model.save_pretrained(target)
    return target


if __name__ == "__main__":
    print(rows()[0])
