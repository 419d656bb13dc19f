"""A language model of a few kilobytes as a GGUF file: its next token depends on the last one alone.

Attention and feed-forward add nothing, so what llama.cpp computes can be computed anew in two lines (`Tiny.logprobs`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROL = ["<s>", "<|im_start|>", "<|im_end|>"]
END = CONTROL.index("<|im_end|>")
_WIDTH, _HEADS = 32, 4
_NEVER = -40.0


@dataclass(frozen=True)
class Tiny:
    path: Path
    tokens: list[str]
    embeddings: np.ndarray
    outputs: np.ndarray

    def logprobs(self, last: str) -> np.ndarray:
        """Natural log-probabilities of every token after this character, at T = 1."""
        hidden = self.embeddings[self.tokens.index(last)]
        logits = self.outputs @ (hidden / np.sqrt(np.mean(hidden**2) + 1e-5))
        return logits - np.log(np.sum(np.exp(logits)))


def tiny_gguf(path: Path, template: str = TEMPLATE, more: Callable[[GGUFWriter], object] | None = None) -> Tiny:
    """Write the file. Its tokens are bytes, and it says printable ASCII; `more` adds to its header."""
    tokens = CONTROL + _bytes()
    draw = np.random.default_rng(7).standard_normal
    embeddings, outputs = draw((len(tokens), _WIDTH), np.float32), draw((len(tokens), _WIDTH), np.float32) / 4
    embeddings[:, 0], outputs[:, 0] = 3, 0  # the first number says which tokens come at all, and how often the end
    outputs[END, 0] = 0.8
    for place, token in enumerate(tokens):
        if place != END and not (len(token) == 1 and "!" <= token <= "~"):
            outputs[place] = 0
            outputs[place, 0] = _NEVER
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL] * len(CONTROL) + [TokenType.NORMAL] * 256)
    writer.add_token_merges(["! !"])  # there has to be one, and none of its pairs is a token
    writer.add_bos_token_id(CONTROL.index("<s>"))
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)
    if template:
        writer.add_chat_template(template)
    if more:
        more(writer)
    ones, square, nothing = (
        np.ones(_WIDTH, np.float32),
        draw((_WIDTH, _WIDTH), np.float32),
        np.zeros((_WIDTH, _WIDTH), np.float32),
    )
    tensors = {"token_embd": embeddings, "output": outputs, "output_norm": ones}
    tensors |= {f"blk.0.{name}": ones for name in ("attn_norm", "ffn_norm")}
    tensors |= {f"blk.0.{name}": square for name in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up")}
    tensors |= {f"blk.0.{name}": nothing for name in ("attn_output", "ffn_down")}
    for name, tensor in tensors.items():
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Tiny(path, tokens, embeddings, outputs)


def _bytes() -> list[str]:
    """The 256 bytes as byte-level BPE spells them: printable ones as themselves, the others from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]
