"""Results in the formats of other tools: fixtures whose numbers are worked by hand, and what an Inspect log holds.

The log is also read by Inspect itself, in an environment of its own (it cannot share our lock): SRDCR_INSPECT_PYTHON
names its interpreter, as `.ci/run` does.
"""

import json
import math
import os
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import BadInput, CallFailed, Request
from srdcr_lab.study import exchange
from srdcr_lab.study.exchange import write_inspect
from tests.conftest import Srdcr
from tests.scripted import UNREASONABLE, ScriptedModel, by_round, finished, question_of


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
        [python, LOGS.parents[2] / "tools" / "inspect_logs.py", folder], check=True, capture_output=True, env=clean,
        cwd=folder,
    )  # fmt: skip
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
        "id": key, "epoch": 1, "input": f"When was {key}?", "target": "1874", "output": output, "scores": scores,
    } | more  # fmt: skip


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
    assert (row["level"], row["context_answer"], row["correct"]) == ("mild", "1874", True)
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


HOSTILE = "\x1b[31mred\x1b[0m \u202eevil\u202c \x9b2J \u200b<script>window.attacked=1</script>"
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _answers(request: Request, draw: int) -> str:
    if "Oak" in question_of(request):
        raise CallFailed("the server said no")
    return "I cannot say." if "Yew" in question_of(request) else question_of(request).partition("built in ")[2][:4]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> lab.Results:
    """Ash truly and falsely told, Yew whose context answer cannot be read, Oak whose calls fail."""
    rows = [
        {"item_id": f"{name}/{claim}", "question_id": name, "question": f"When was {name} built?",
         "gold_answer": "1874", "claimed_answer": claim, "context": f"{HOSTILE} It was built in {claim}.",
         "answer_type": "year"}
        for name, claim in (("Ash", "1874"), ("Ash", "1934"), ("Yew", "1874"), ("Oak", "1874"))
    ]  # fmt: skip
    script = {
        "answer_with_passage": _answers,
        "critic": f"1874. {HOSTILE}",
        "judge": by_round(["final decision: REASONABLE", *[UNREASONABLE] * 5]),
    }
    out = tmp_path_factory.mktemp("runs") / "hostile"
    return finished(lab.Study(ScriptedModel(script), pd.DataFrame(rows), "few_shot,sr_dcr", samples=2, out=out))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for key, each in value.items():
                yield key
                yield from _texts(each)


def _exported(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Header, samples and their summaries."""
    with zipfile.ZipFile(path) as log:
        names = [name for name in log.namelist() if name.startswith("samples/")]
        read = [json.loads(log.read(name)) for name in ("header.json", *names, "summaries.json")]
    assert names == [f"samples/{sample['id']}_epoch_1.json" for sample in read[1:-1]]
    return read[0], read[1:-1], read[-1]


@pytest.fixture(scope="module")
def log(results: lab.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "out.eval"
    assert exchange.write_inspect(results, path).startswith(f"{path}: 8 samples")
    return path


def test_a_log_has_a_sample_for_each_row_with_its_debate_in_order(results: lab.Results, log: Path) -> None:
    header, samples, summaries = _exported(log)
    assert [sample["metadata"]["item_id"] for sample in samples] == [*results.records["item_id"]]
    assert [summary["id"] for summary in summaries] == header["eval"]["dataset"]["sample_ids"]
    assert header["eval"]["model"] == "scripted:scripted"
    assert header["eval"]["model_roles"]["judge"] == {"model": "scripted:scripted"}
    (debate,) = (s for s in samples if s["id"] == "sr_dcr (acvd) Ash∕1934")
    turns = results.turns[results.turns["item_id"] == "Ash/1934"]
    assert len(turns) == 18
    assert [m["metadata"]["position"] for m in debate["messages"][1:]] == [*range(18)]
    names = [message["content"].split(":**")[0].strip("* ") for message in debate["messages"][1:6]]
    rounds = ["Defender, round 0", "Critic, round 0", "Judge, round 0", "Critic, round 1", "Defender, round 1"]
    assert names == rounds
    defender, critic, judge = (message["metadata"] for message in debate["messages"][1:4])
    assert (defender["saw_passage"], critic["saw_passage"], judge["saw_turns"]) == (True, False, [0, 1])


def test_missing_answers_are_kept_apart_from_wrong_ones(log: Path) -> None:
    _, samples, summaries = _exported(log)
    shown = {s["id"]: (s["scores"]["correct"]["value"], s["scores"]["correct"].get("reason")) for s in samples}
    assert shown["few_shot Ash∕1874"] == ("C", None)
    assert shown["few_shot Ash∕1934"] == ("I", None)
    assert shown["few_shot Yew∕1874"] == ("N", "unparsed")
    assert shown["few_shot Oak∕1874"] == ("N", "error")
    failed = [(sample["id"], sample["error"]["message"]) for sample in samples if sample["error"]]
    assert failed == [(f"{name} Oak∕1874", "the server said no") for name in ("few_shot", "sr_dcr (acvd)")]
    assert [summary["error"] for summary in summaries if summary["error"]] == ["the server said no"] * 2
    (debate,) = (sample for sample in samples if sample["id"] == "sr_dcr (acvd) Ash∕1934")
    assert {name: score["value"] for name, score in debate["scores"].items()} == {
        "correct": "C", "verdict": "UNREASONABLE", "decision": "USE_PRIOR", "knowledge_category": "HIGHLY_KNOWN",
        "self_confidence": pytest.approx(0.99, abs=1e-3),
    }  # fmt: skip


def test_metrics_are_those_of_the_summary(results: lab.Results, log: Path) -> None:
    header, _, _ = _exported(log)
    scores = {score["name"]: score["metrics"] for score in header["results"]["scores"]}
    for row in results.summary.itertuples():
        for name in ("accuracy", "selective_accuracy", "coverage"):
            told = scores[row.method].get(f"{row.condition} {name}", {"value": None})["value"]
            assert told == pytest.approx(getattr(row, name)) if pd.notna(getattr(row, name)) else told is None


def test_nothing_hostile_is_left_in_any_text(log: Path) -> None:
    texts = list(_texts(json.loads(json.dumps(_exported(log)))))
    assert not [text for text in texts if UNSEEN.search(text)]
    assert any("red evil" in text and "<script>" in text for text in texts)  # which a viewer has to escape


def test_an_export_made_again_is_the_same_file(results: lab.Results, log: Path) -> None:
    again = log.with_name("again.eval")
    exchange.write_inspect(results, again)
    with zipfile.ZipFile(log) as one, zipfile.ZipFile(again) as other:
        assert [(entry.filename, entry.CRC, entry.date_time) for entry in one.infolist()] == [
            (entry.filename, entry.CRC, entry.date_time) for entry in other.infolist()
        ]


READ = """
import json, sys
from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, read_eval_log_samples
path = sys.argv[1]
log = read_eval_log(path)
samples = list(read_eval_log_samples(path))
frame, evals = samples_df(path), evals_df(path)
print(json.dumps({
    "status": log.status, "model": log.eval.model, "roles": {k: v.model for k, v in log.eval.model_roles.items()},
    "ids": [s.id for s in samples], "messages": {s.id: [m.text for m in s.messages] for s in samples},
    "values": {s.id: s.scores["correct"].value for s in samples},
    "reasons": {s.id: s.scores["correct"].reason for s in samples},
    "errors": [s.id for s in samples if s.error], "summaries": len(read_eval_log_sample_summaries(path)),
    "accuracy": {s.name: s.metrics["overall accuracy"].value for s in log.results.scores},
    "score_correct": frame["score_correct"].astype(str).tolist(), "method": frame["metadata_method"].tolist(),
    "evals": len(evals), "headline": float(evals["score_headline_value"].iloc[0]), "frame": len(frame),
}))
"""


def test_inspect_reads_the_log_with_its_own_api(results: lab.Results, log: Path) -> None:
    python = os.environ.get("SRDCR_INSPECT_PYTHON")
    if not python:
        pytest.skip("SRDCR_INSPECT_PYTHON names no Python with inspect-ai, pandas and pyarrow (.ci/run makes one)")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", READ, str(log)], capture_output=True, text=True, check=False, env=clean)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    _, samples, _ = _exported(log)
    records = results.records
    assert (told["status"], told["model"], told["evals"]) == ("success", "scripted:scripted", 1)
    assert told["roles"] == dict.fromkeys(("defender", "critic", "judge"), "scripted:scripted")
    assert sorted(told["ids"]) == sorted(sample["id"] for sample in samples)
    assert told["messages"] == {s["id"]: [m["content"] for m in s["messages"]] for s in samples}
    grades = records["correct"].map({True: "C", False: "I"}).fillna("N")
    assert Counter(told["values"].values()) == Counter(told["score_correct"]) == Counter(grades)
    assert Counter(filter(None, told["reasons"].values())) == Counter(records["missing"].dropna())
    assert len(told["errors"]) == 2
    assert told["summaries"] == told["frame"] == len(records)
    assert Counter(told["method"]) == Counter(records["method"])
    overall = results.summary.query("condition == 'overall'").set_index("method")["accuracy"]
    assert told["accuracy"] == pytest.approx(overall.to_dict())


def test_no_key_leaves(results: lab.Results, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "The passage says so")  # as if a reply quoted it
    assert "the value of SOME_API_KEY" in srdcr.refuses("export", "inspect", results.folder, tmp_path / "out.eval")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("arguments", "told"), [
    (("inspect", "DIR", "out.zip"), "expected a name that ends in .eval"),
    (("inspect", ".", "out.eval"), "holds no run"), (("sql", "DIR", "out"), "'sql' is not 'inspect'"),
])  # fmt: skip
def test_bad_arguments_are_sentences(arguments: tuple[str, ...], told: str, results: lab.Results, srdcr: Srdcr) -> None:
    assert told in srdcr.refuses("export", *(str(results.folder) if each == "DIR" else each for each in arguments))
