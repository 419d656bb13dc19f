"""Which model gave an answer: one hash over everything in a folder that can change what the model says."""

from __future__ import annotations

import hashlib
from pathlib import Path

WEIGHTS = ("*.safetensors", "config.json", "generation_config.json")
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
)
CHAT_TEMPLATE = ("chat_template.jinja", "chat_template.json")


def fingerprint(folder: Path) -> str:
    """SHA-256, hexadecimal, over weights, tokenizer and chat template of a model folder.

    Each file counts with its name and its content, in the order of names; other files (a README, a training log) do
    not count, and neither does where the folder lies. About a second per gigabyte; nothing is cached.
    """
    patterns = WEIGHTS + TOKENIZER + CHAT_TEMPLATE
    files = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.name}\x1f{content}\x1e".encode())
    return total.hexdigest()
