"""Results in the formats of other tools: fixtures whose numbers are worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput
from tests.conftest import Srdcr


def _generated(number: int, question: str, target: str, reply: str, grade: float, **more: Any) -> dict[str, Any]:
    """A line of --log_samples for a task that generates."""
    arguments = {"gen_args_0": {"arg_0": f"Question: {question}\nAnswer:", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": number, "doc": {"question": question}, "target": target, "arguments": arguments,
        "resps": [[f" {reply}"]], "filtered_resps": [reply], "exact_match": grade,
    } | more  # fmt: skip


def _chosen(target: str, likelihoods: list[float]) -> dict[str, Any]:
    """A line for a task of multiple choice: a pair (log-likelihood, greedy) for each continuation."""
    texts = ["Paris", "Rome", "Oslo"]
    prompt = "Which is the capital of Italy?\nAnswer:"
    arguments = {f"gen_args_{k}": {"arg_0": prompt, "arg_1": f" {text}"} for k, text in enumerate(texts)}
    pairs = [[str(each), "False"] for each in likelihoods]
    acc = float(max(range(3), key=likelihoods.__getitem__) == 1)
    return {"doc_id": 0, "doc": {}, "target": target, "arguments": arguments, "filtered_resps": pairs, "acc": acc}


def _written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_generated_answers_of_the_harness_are_closed_book(tmp_path: Path, srdcr: Srdcr) -> None:
    """One of two right by its own grade; the second filter of a document is not another question."""
    first = _generated(0, "When was the mill built?", "1874", "1874", 1.0, filter="strict")
    again = first | {"filter": "flexible", "filtered_resps": ["1900"], "exact_match": 0.0}
    second = _generated(1, "When was the bridge built?", "1900", "1912", 0.0, filter="strict")
    path = _written(tmp_path / "samples.jsonl", first, again, second)
    ended = srdcr("import", f"lm-eval={path}", "--out", tmp_path / "out", "--model", "m")
    assert ended.code == 0
    records = lab.load_run(str(tmp_path / "out")).records
    assert records["prior_answer"].tolist() == ["1874", "1912"]
    assert records["prior_correct"].tolist() == [True, False]
    assert records["self_confidence"].isna().all()
    assert "graded elsewhere" in ended.out


@pytest.mark.parametrize("target", ["1", "Rome"])
def test_the_likeliest_choice_is_the_answer_and_its_probability_the_confidence(tmp_path: Path, target: str) -> None:
    path = _written(tmp_path / "samples.jsonl", _chosen(target, [-2.0, -0.5, -3.0]))
    (record,) = lab.results_from(f"lm-eval={path}").records.query("method == 'few_shot'").to_dict("records")
    assert (record["gold_answer"], record["prior_answer"], record["prior_correct"]) == ("B", "B", True)
    assert record["self_confidence"] == pytest.approx(math.exp(-0.5))
    assert record["confidence_kind"] == "sequence"


def test_responses_of_clasheval_are_graded_perturbations(tmp_path: Path) -> None:
    """Its true row is followed and right; of two false ones one is followed. Confidence is exp of the mean."""
    question, text = "In which year was the viaduct at Marnow opened?", "The viaduct at Marnow was opened in {}."
    rows = [(1874, "1874"), (1797, "1797"), (1924, "1874")]
    table = pd.DataFrame(
        {"question": question, "answer_original": "1874", "answer_mod": str(claim), "context_mod": text.format(claim),
         "prior_response": "1874", "post_response": reply, "mod_degree": claim - 1874, "dataset": "years"}
        for claim, reply in rows
    ).assign(prior_logprobs=[[-0.1, -0.3]] * 3)  # fmt: skip
    table.to_parquet(tmp_path / "responses.parquet")
    records = lab.results_from(f"clasheval={tmp_path / 'responses.parquet'}").records.query("method == 'few_shot'")
    assert records["perturbation_kind"].tolist() == ["none", "offset", "offset"]
    assert records["perturbation_value"].tolist()[1:] == [-77, 50]
    assert records["context_correct"].tolist() == [True, False, True]
    assert records["self_confidence"].tolist() == pytest.approx([math.exp(-0.2)] * 3)


def test_another_file_is_a_sentence_with_its_columns(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("question,gold_answer\nWhen?,1874\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"own\.csv is not in the format lm-eval: it lacks the column doc_id; its columns are quest"
    ):
        lab.results_from(f"lm-eval={tmp_path / 'own.csv'}")
    with pytest.raises(BadInput, match=r"own\.csv is not in the format clasheval: it lacks the column answer_original"):
        lab.results_from(f"clasheval={tmp_path / 'own.csv'}")
    broken = _written(tmp_path / "broken.jsonl", _chosen("7", [-2.0, -0.5, -3.0]))
    with pytest.raises(BadInput, match=r"broken\.jsonl, row 1: .* do not fit together"):
        lab.results_from(f"lm-eval={broken}")
