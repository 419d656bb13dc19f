"""Results in the formats of other tools: fixtures whose numbers are worked by hand."""

import json
import math
import os
import subprocess
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput
from srdcr_lab.study.exchange import write_inspect
from tests.conftest import Srdcr


def _generated(number: int, question: str, target: str, reply: str, grade: float, **more: Any) -> dict[str, Any]:
    """A line of --log_samples for a task that generates."""
    arguments = {"gen_args_0": {"arg_0": f"Question: {question}\nAnswer:", "arg_1": {"until": ["\n"]}}}
    return {
        "doc_id": number, "doc": {"question": question}, "target": target, "arguments": arguments,
        "resps": [[f" {reply}"]], "filtered_resps": [reply], "exact_match": grade,
    } | more  # fmt: skip


def _chosen(target: str, likelihoods: list[float], texts: str = "Paris Rome Oslo", **doc: str) -> dict[str, Any]:
    """A line for a task of multiple choice: a pair (log-likelihood, greedy) for each continuation."""
    prompt = "Which is the capital of Italy?\nAnswer:"
    arguments = {f"gen_args_{k}": {"arg_0": prompt, "arg_1": f" {text}"} for k, text in enumerate(texts.split())}
    pairs = [[str(each), "False"] for each in likelihoods]
    acc = float(max(range(3), key=likelihoods.__getitem__) == 1)
    return {"doc_id": 0, "doc": doc, "target": target, "arguments": arguments, "filtered_resps": pairs, "acc": acc}


def _written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_generated_answers_of_the_harness_are_closed_book(tmp_path: Path, srdcr: Srdcr) -> None:
    """One of two right by its own grade; the second filter of a document is not another question."""
    first = _generated(0, "When was the mill built?", "1874", "1874", 1.0, filter="strict")
    again = first | {"filter": "flexible", "filtered_resps": ["1900"], "exact_match": 0.0}
    second = _generated(1, "When was the bridge built?", "1900", "1912", 0.0, filter="strict")
    path = _written(tmp_path / "samples.jsonl", first, again, second)
    ended = srdcr.ok("import", f"lm-eval={path}", "--out", tmp_path / "out", "--model", "m")
    records = lab.load_run(str(tmp_path / "out")).records
    assert records["prior_answer"].tolist() == ["1874", "1912"]
    assert records["prior_correct"].tolist() == [True, False]
    assert records["self_confidence"].isna().all()
    assert "graded elsewhere" in ended.out


@pytest.mark.parametrize("chosen", [
    partial(_chosen, "1"), partial(_chosen, "Rome"), partial(_chosen, "1", texts="1 2 3"),
    partial(_chosen, "2", texts="1 2 3", answer="2"),
])  # fmt: skip
def test_the_likeliest_choice_is_the_answer_and_its_probability_the_confidence(tmp_path: Path, chosen: Any) -> None:
    path = _written(tmp_path / "samples.jsonl", chosen(likelihoods=[-2.0, -0.5, -3.0]))
    (record,) = lab.results_from(f"lm-eval={path}").records.query("method == 'few_shot'").to_dict("records")
    assert (record["gold_answer"], record["prior_answer"], record["prior_correct"]) == ("B", "B", True)
    assert record["self_confidence"] == pytest.approx(math.exp(-0.5))
    assert record["confidence_kind"] == "sequence"


def test_responses_of_clasheval_are_graded_perturbations(tmp_path: Path) -> None:
    """Its true row is followed and right; of two false ones one is followed. Confidence is exp of the mean. A row of
    an unknown data set is left out."""
    question, text = "In which year was the viaduct at Marnow opened?", "The viaduct at Marnow was opened in {}."
    rows = [(1874, "1874", "years"), (1797, "1797", "years"), (1924, "1874", "years"), (1900, "1900", "sports")]
    table = pd.DataFrame(
        {"question": question, "answer_original": "1874", "answer_mod": str(claim), "context_mod": text.format(claim),
         "prior_response": "1874", "post_response": reply, "mod_type": claim - 1874, "dataset": data_set}
        for claim, reply, data_set in rows
    ).assign(prior_logprobs=[[-0.1, -0.3]] * 4)  # fmt: skip
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
    twice = [_generated(0, "When was it built?", "1874", "1874", 1.0, filter=name) for name in ("strict", "loose")]
    unfit, empty = _chosen("7", [-2.0, -0.5, -3.0]) | {"doc_id": 1}, _generated(1, "When?", "", "1874", 1.0)
    for last, told in ((unfit, "row 3: .* do not fit together"), (empty, "row 3, column gold_answer: is empty")):
        broken = _written(tmp_path / "broken.jsonl", *twice, last)
        with pytest.raises(BadInput, match=rf"broken\.jsonl, {told}"):
            lab.results_from(f"lm-eval={broken}", strict=True)


LOGS = Path(__file__).parents[1] / "fixtures" / "inspect"


@pytest.fixture(scope="module", params=["shipped", "written anew"])
def logs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "shipped":
        return LOGS
    if not (python := os.environ.get("SRDCR_INSPECT_PYTHON")):
        pytest.skip("SRDCR_INSPECT_PYTHON names no Python with inspect-ai (.ci/run makes one)")
    folder = tmp_path_factory.mktemp("inspect")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        [python, LOGS.parents[2] / "tools" / "inspect_logs.py", folder],
        check=True,
        capture_output=True,
        env=clean,
        cwd=folder,
    )
    return folder


def test_epochs_of_a_log_are_draws_and_its_scores_grades(logs: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    """The first epoch is the answer: of "The year 1874" the last two tokens, of "It was 1912." its only one."""
    ended = srdcr("import", f"inspect={logs / 'years.eval'}", "--out", tmp_path / "out")
    assert "years.eval: graded by includes" in ended.out
    results = lab.load_run(str(tmp_path / "out"))
    assert results.label == "elsewhere:mockllm/model; graded elsewhere"
    rows = results.questions.set_index("question_id")
    assert rows["question"].tolist() == ["When was the mill built?", "When was the bridge built?"]
    assert rows["domain"].tolist() == ["mills", "general"]
    assert rows["prior_answer"].tolist() == ["1874", "1912"]
    assert rows["prior_correct"].tolist() == [True, False]
    assert rows["self_confidence"].tolist() == pytest.approx([math.exp(-0.2), math.exp(-1.0)])
    assert rows["n_samples"].tolist() == [2, 2]
    assert rows["knowledge_category"].tolist() == ["HIGHLY_KNOWN", "HIGHLY_KNOWN"]


def test_options_of_a_log_are_read_as_its_scorer_did(logs: Path) -> None:
    rows = lab.results_from(f"inspect={logs / 'options.eval'}", model="m").questions.set_index("question_id")
    assert rows.loc["italy", ["gold_answer", "prior_answer", "prior_correct"]].tolist() == ["B", "B", True]
    assert rows.loc["italy", "self_confidence"] == pytest.approx(math.exp(-0.2))
    assert rows.loc["norway", ["prior_answer", "prior_correct"]].isna().all()


def _sample(key: str, **more: Any) -> dict[str, Any]:
    """A sample of the published structure: answered 1874, and right."""
    output = {"choices": [], "completion": "It was 1874."}
    scores = {"match": {"value": "C", "answer": "1874"}}
    return {
        "id": key,
        "epoch": 1,
        "input": f"When was {key}?",
        "target": "1874",
        "output": output,
        "scores": scores,
    } | more


def _log(path: Path, *samples: dict[str, Any], header: str = "header.json") -> Path:
    about = {"version": 2, "status": "success", "eval": {"task": "mine", "model": "openai/x"}}
    if path.suffix == ".json":
        path.write_text(json.dumps(about | {"samples": samples}), encoding="utf-8")
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr(header, json.dumps(about))
        for sample in samples:
            log.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


@pytest.mark.parametrize(
    ("name", "header"), [("a.json", ""), ("a.eval", "header.json"), ("a.eval", "_journal/start.json")]
)
def test_a_log_is_a_zip_or_json_whole_or_unfinished(tmp_path: Path, name: str, header: str) -> None:
    """One is right, one wrong, one gave no answer."""
    wrong, none = ({"match": {"value": value, "answer": None}} for value in (0, "N"))
    samples = _sample("A"), _sample("B", scores=wrong), _sample("C", scores=none)
    path = _log(tmp_path / name, *samples, header=header)
    rows = lab.results_from(f"inspect={path}").records.set_index("question_id")
    assert rows["prior_correct"].tolist() == [True, False, pd.NA]
    assert rows["model"].unique().tolist() == ["elsewhere:openai/x"]


def test_a_passage_in_the_metadata_makes_it_an_answer_with_the_passage(tmp_path: Path) -> None:
    told = {"context": "It was in 1900.", "claimed_answer": "1900", "answer_type": "year"}
    asked = _sample("A", metadata=told, target=["1874", "MDCCCLXXIV"], scores=None)
    results = lab.results_from(f"inspect={_log(tmp_path / 'a.eval', asked)}")
    (row,) = results.records.to_dict("records")
    assert (row["level"], row["context_answer"], row["correct"]) == ("moderate", "1874", True)
    assert results.label == "elsewhere:openai/x"  # no score, so the grade is ours


def test_an_export_of_ours_is_refused(tmp_path: Path) -> None:
    write_inspect(lab.load_run("pocket/years"), tmp_path / "own.eval")
    with pytest.raises(BadInput, match=r"own\.eval is an export of srdcr_lab; open the results folder"):
        lab.results_from(f"inspect={tmp_path / 'own.eval'}")


def test_samples_that_cannot_be_read_are_left_out_and_named(tmp_path: Path) -> None:
    path = _log(
        tmp_path / "a.eval", _sample("A"), _sample("B", error={"message": "no"}),
        _sample("C", scores={"match": {"value": 0.5}}), _sample("D", choices=["x", "y"], target=["A", "B"]),
    )  # fmt: skip
    results = lab.results_from(f"inspect={path}")
    assert results.records["question_id"].unique().tolist() == ["A"]
    notes = " ".join(results.manifest["notes"])
    for told in ("B: ended in an error", "C: its score 0.5 is neither", "D: has several right options"):
        assert f"a.eval, sample {told}" in notes
    with pytest.raises(BadInput, match=r"a\.eval, sample B: ended in an error; run it again; 2 more rows"):
        lab.results_from(f"inspect={path}", strict=True)


@pytest.mark.parametrize("content", [b"", b"PK", b"[]", b'{"eval":{"task":1},"samples":[{"epoch":""}]}'])
@pytest.mark.parametrize("ending", ["eval", "json"])
def test_another_file_is_no_log(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"a\.(eval|json)( is no log of Inspect AI|: not valid JSON)"):
        lab.results_from(f"inspect={path}")
