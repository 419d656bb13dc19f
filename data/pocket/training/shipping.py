"""Write the trained model, its exposures and its manifest, so that no reader ever loads half of it.

`python data/pocket/training/shipping.py` fits the shipped model to instructions in new words: each instruction is one
token of its own, so the model reads the new words as it read the old ones. It also writes anew which tokens no reply
may hold.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import platform
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tokenizers
import torch
import transformers
from exposures import Exposure, write_exposures
from phrases import ANSWER_SHOWN, ANSWERS_SHOWN, TEMPLATES, fixed_lines, shown_lines
from tokenizer import END, SPECIAL
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from srdcr_lab.prompts import hashes, paraphrases, sources

LABEL = "a model organism, not evidence about any large model"
NOT_ARGUMENTS = ("out", "facts", "probe_seconds", "gate", "checkpoints")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The model at one step of a run, and what it was made from."""

    arguments: argparse.Namespace
    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast
    planned: list[Exposure]
    device: str
    steps: int
    tokens: int
    seconds: float


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prompts() -> dict[str, object]:
    """What the manifest says of the prompts: hashes of the templates, of those in other words, and of the layout.

    The layout is what a role is shown besides its instructions.
    """
    users = "".join(sources()[name].partition("{% block user -%}")[2] for name in TEMPLATES)
    return {
        "templates": {name: hashes()[name] for name in TEMPLATES},
        "paraphrases": [[name, other.hashes()[name]] for other in paraphrases() for name in other.own],
        "layout": hashlib.sha256(users.encode()).hexdigest(),
    }


def suppressed(ids: Mapping[str, int]) -> list[int]:
    """The tokens that no reply may hold: what stands in prompts alone. `ids` are those of all tokens.

    A reply that held an instruction would be quoted in the prompts after it as thousands of ordinary tokens.
    """
    markers = [marker for marker in SPECIAL if marker != END]
    return sorted({ids[text] for text in (*markers, *shown_lines(), ANSWER_SHOWN, ANSWERS_SHOWN)})


def reword(folder: Path) -> None:
    """Give the instructions' tokens of a shipped model the words that the templates have now, and suppress them.

    Raises
    ------
    ValueError
        If more than words has changed: what a role is shown, or how many fixed lines there are.
    """
    path, tokens, generation = (folder / f"{name}.json" for name in ("manifest", "tokenizer", "generation_config"))
    described, tokenizer, generated = (json.loads(file.read_text("utf-8")) for file in (path, tokens, generation))
    lines = fixed_lines()
    added = [token for token in tokenizer["added_tokens"] if not token["special"]]
    if described["layout"] != prompts()["layout"] or len(added) != len(lines):
        raise ValueError("the prompts differ in more than their words; train the model anew")
    for token, line in zip(added, lines, strict=True):
        token["content"] = line
    tokens.write_text(json.dumps(tokenizer, indent=2, ensure_ascii=False), encoding="utf-8")
    generated["suppress_tokens"] = suppressed({token["content"]: token["id"] for token in tokenizer["added_tokens"]})
    generation.write_text(json.dumps(generated, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    described |= prompts() | {"files": described["files"] | {file.name: sha256(file) for file in (tokens, generation)}}
    path.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def manifest(checkpoint: Checkpoint, files: list[Path]) -> dict[str, object]:
    """What the model was made from and what it consists of."""
    arguments = {key: value for key, value in sorted(vars(checkpoint.arguments).items()) if key not in NOT_ARGUMENTS}
    return {
        "label": LABEL,
        **prompts(),
        "files": {path.name: sha256(path) for path in sorted(files)},
        "facts": {name: sha256(checkpoint.arguments.facts / name) for name in ("facts.csv", "exemplars.csv")},
        "arguments": arguments,
        "device": checkpoint.device,
        "parameters": sum(p.numel() for p in checkpoint.model.parameters()),
        "steps": checkpoint.steps,
        "tokens_seen": checkpoint.tokens,
        "minutes": round(checkpoint.seconds / 60, 1),
        "versions": {
            "python": platform.python_version(),
            "tokenizers": tokenizers.__version__,
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
    }


def ship(checkpoint: Checkpoint) -> None:
    """Everything into a temporary folder beside ``--out``, then file by file into place, the manifest last."""
    out: Path = checkpoint.arguments.out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".pocket-") as name:
        folder = Path(name)
        model = copy.deepcopy(checkpoint.model).eval().float().cpu()
        model.set_attn_implementation("sdpa")
        model.generation_config.suppress_tokens = suppressed(checkpoint.tokenizer.get_vocab())
        model.save_pretrained(folder)
        checkpoint.tokenizer.save_pretrained(folder)
        write_exposures(folder / "exposures.csv", checkpoint.planned)
        files = [path for path in folder.iterdir() if path.is_file()]
        described = json.dumps(manifest(checkpoint, files), indent=2, ensure_ascii=False) + "\n"
        (folder / "manifest.json").write_text(described, encoding="utf-8")
        for path in [*sorted(files), folder / "manifest.json"]:
            shutil.copymode(__file__, path)
            path.replace(out / path.name)
    print(f"written to {out}", flush=True)


if __name__ == "__main__":
    reword(Path(__file__).resolve().parents[1])
