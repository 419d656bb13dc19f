"""The pocket model's tokenizer: byte-pair pieces for words, two-digit pieces for numbers, one token a fixed line.

A space belongs to the word after it (▁word), and a text that begins with a word is read as if a space stood before it;
before a number a space stands alone. So a name and a year are the same tokens in a passage and at the start of an
answer: copying is repeating. (A decoded reply that begins with a word therefore begins with a space.)
Accents are removed and typographic quotes and dashes made plain; a character that is still unknown is ``<unk>``.
The texts of a completion's tokens, decoded one by one, concatenate to its decoded text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, BOS, END, USER, ASSISTANT, UNKNOWN = "<pad>", "<s>", "<|end|>", "<|user|>", "<|assistant|>", "<unk>"
SPECIAL = (PAD, BOS, END, USER, ASSISTANT, UNKNOWN)
SPACE = "▁"
PIECE = r"▁?[A-Za-z]+|[0-9]{1,2}|\n|[^A-Za-z0-9\n]"
PLAIN = {
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "–": "-",
    "—": "-",
    "\u00a0": " ",
    "…": "...",
    "ß": "ss",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "æ": "ae",
    "Æ": "Ae",
    "œ": "oe",
    "ð": "d",
    "Ð": "D",
    "þ": "th",
    "Þ": "Th",
    "đ": "d",
    "Đ": "D",
    "ı": "i",
}

DIGITS_SHOWN = 50_000  # times that every two-digit number is shown, so that each becomes one piece

# What stands in a message is text, also where it looks like one of our markers.
_CONTENT = "{{- message.content | replace('<|', '< |') | replace('<s>', '< s>') -}}"
CHAT_TEMPLATE = (
    "{{- '<s>' -}}{%- for message in messages -%}"
    "{%- if message.role == 'user' -%}{{- '<|user|>' -}}"
    "{%- elif message.role == 'assistant' -%}{{- '<|assistant|>' -}}{%- endif -%}"
    + _CONTENT
    + "{%- if message.role == 'assistant' -%}{{- '<|end|>' -}}{%- endif -%}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def train_tokenizer(texts: Iterable[str], fixed_lines: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A tokenizer of ``vocabulary`` entries in all, learned from ``texts``.

    Raises
    ------
    ValueError
        If not every two-digit number became one piece (then ``texts`` are too many for the repetition used here).
    """
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    plain = [normalizers.Replace(old, new) for old, new in PLAIN.items()]
    tokenizer.normalizer = normalizers.Sequence(
        [
            *plain,
            normalizers.NFD(),
            normalizers.StripAccents(),
            normalizers.Replace(" ", SPACE),
            normalizers.Prepend(SPACE),
            normalizers.Replace(Regex(f"^{SPACE}(?=[^A-Za-z])"), ""),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.Fuse()])
    alphabet = [chr(code) for code in range(33, 127)] + [SPACE, "\n"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(fixed_lines),
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    digits = " ".join(f"{number:02d}" for number in range(100))
    tokenizer.train_from_iterator([*[digits] * DIGITS_SHOWN, *texts], trainer)
    missing = [f"{number:02d}" for number in range(100) if tokenizer.token_to_id(f"{number:02d}") is None]
    if missing:
        raise ValueError(f"no piece for {missing}")
    tokenizer.add_tokens([AddedToken(line, special=False, normalized=False) for line in fixed_lines])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=END,
        pad_token=PAD,
        unk_token=UNKNOWN,
        additional_special_tokens=[USER, ASSISTANT],
        padding_side="left",
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def word_pieces(tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """The letter pieces of the vocabulary as text, spaces included."""
    backend = tokenizer.backend_tokenizer
    ordinary = (piece for piece in backend.get_vocab(with_added_tokens=False) if piece not in SPECIAL)
    return sorted(piece.replace(SPACE, " ") for piece in ordinary if piece.replace(SPACE, "").isalpha())
