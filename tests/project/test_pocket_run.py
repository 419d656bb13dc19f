"""A training run of a few steps: what it ships is whole, loads, and is the same again from the same arguments."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from srdcr_lab.models.checkpoint import check_manifest
from srdcr_lab.prompts import hashes
from tests import training_code

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TINY = ["--tokens", "7000", "--width", "32", "--layers", "1", "--world-facts", "40", "--processes", "1"]
TINY += ["--vocabulary", "2400", "--precision", "fp32"]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What two runs with the same arguments wrote."""
    train, whole = training_code.module("train"), training_code.module("questions").corpus
    folders = [tmp_path_factory.mktemp("run") / name for name in ("one", "other")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_code.module("tokenizer"), "DIGITS_SHOWN", 5_000)
        patch.setattr(train, "corpus", lambda questions, world, r: whole(questions, world, r, passages=50))
        for folder in folders:
            trainer = train.Trainer(train.parse([*TINY, "--out", str(folder)]))
            trainer.run()
            training_code.module("shipping").ship(trainer.checkpoint())
            assert trainer.materials.beliefs  # it was asked what it believes
    return folders


def manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_what_is_shipped_is_whole_and_speaks(shipped: list[Path]) -> None:
    check_manifest(shipped[0], hashes())
    assert set(manifest(shipped[0])["templates"]) == set(training_code.module("phrases").TEMPLATES)
    assert not list(shipped[0].parent.glob(".pocket-*"))
    one, other = map(manifest, shipped)
    assert one["files"] == other["files"]
    assert (one["tokens_seen"], one["steps"]) == (other["tokens_seen"], other["steps"])
    model = transformers.AutoModelForCausalLM.from_pretrained(shipped[0])
    tokenizer = transformers.AutoTokenizer.from_pretrained(shipped[0])
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Question: When?"}], add_generation_prompt=True, return_tensors="pt"
    )
    said = model.generate(**prompt, max_new_tokens=3)
    assert said.shape[1] > prompt["input_ids"].shape[1]
    assert len(tokenizer) == model.config.vocab_size == 2400
    with (shipped[0] / "exposures.csv").open(encoding="utf-8", newline="") as file:
        told = {row["question_id"]: int(row["exposures"]) for row in csv.DictReader(file)}
    questions = training_code.asked()
    assert set(told) == {one.question_id for one in questions.evaluated}
    assert {question for question, count in told.items() if not count} == questions.never_told
