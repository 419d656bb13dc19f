"""Write the trained model, its exposures and its manifest, so that no reader ever loads half of it."""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import tokenizers
import torch
import transformers
from exposures import write_exposures
from phrases import TEMPLATES

from srdcr_lab.prompts import hashes

if TYPE_CHECKING:
    from train import Trainer

LABEL = "a model organism, not evidence about any large model"
NOT_ARGUMENTS = ("out", "facts", "probe_seconds", "gate", "checkpoints")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest(trainer: Trainer, files: list[Path]) -> dict[str, object]:
    """What the model was made from and what it consists of."""
    arguments = {key: value for key, value in sorted(vars(trainer.arguments).items()) if key not in NOT_ARGUMENTS}
    return {
        "label": LABEL,
        "templates": {name: hashes()[name] for name in TEMPLATES},
        "files": {path.name: sha256(path) for path in sorted(files)},
        "facts": {name: sha256(trainer.arguments.facts / name) for name in ("facts.csv", "exemplars.csv")},
        "arguments": arguments,
        "device": trainer.device,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "steps": trainer.step,
        "tokens_seen": trainer.clock.tokens,
        "minutes": round(trainer.clock.seconds / 60, 1),
        "versions": {
            "python": platform.python_version(),
            "tokenizers": tokenizers.__version__,
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
    }


def ship(trainer: Trainer) -> None:
    """Everything into a temporary folder beside ``--out``, then file by file into place, the manifest last."""
    out: Path = trainer.arguments.out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".pocket-") as name:
        folder = Path(name)
        model = copy.deepcopy(trainer.model).eval().float().cpu()
        model.set_attn_implementation("sdpa")
        model.save_pretrained(folder)
        trainer.tokenizer.save_pretrained(folder)
        write_exposures(folder / "exposures.csv", trainer.planned)
        files = [path for path in folder.iterdir() if path.is_file()]
        described = json.dumps(manifest(trainer, files), indent=2, ensure_ascii=False) + "\n"
        (folder / "manifest.json").write_text(described, encoding="utf-8")
        for path in [*sorted(files), folder / "manifest.json"]:
            shutil.copymode(__file__, path)
            path.replace(out / path.name)
    print(f"written to {out}", flush=True)
