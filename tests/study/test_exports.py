"""Results in the formats of other tools: what an Inspect log holds.

The log is also read by Inspect itself, in an environment of its own (it cannot share our lock): SRDCR_INSPECT_PYTHON
names its interpreter, as `.ci/run` does.
"""

import json
import os
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.records import CallFailed, Request
from srdcr_lab.study import exchange
from tests.conftest import Srdcr
from tests.scripted import UNREASONABLE, ScriptedModel, by_round, finished, question_of

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


def _log(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
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
    header, samples, summaries = _log(log)
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
    _, samples, summaries = _log(log)
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
    header, _, _ = _log(log)
    scores = {score["name"]: score["metrics"] for score in header["results"]["scores"]}
    for row in results.summary.itertuples():
        for name in ("accuracy", "selective_accuracy", "coverage"):
            told = scores[row.method].get(f"{row.condition} {name}", {"value": None})["value"]
            assert told == pytest.approx(getattr(row, name)) if pd.notna(getattr(row, name)) else told is None


def test_nothing_hostile_is_left_in_any_text(log: Path) -> None:
    texts = list(_texts(json.loads(json.dumps(_log(log)))))
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
    _, samples, _ = _log(log)
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
    (("inspect", ".", "out.eval"), "holds no run"),
    (("sql", "DIR", "out"), "'sql' is not 'inspect'"),
])  # fmt: skip
def test_bad_arguments_are_sentences(arguments: tuple[str, ...], told: str, results: lab.Results, srdcr: Srdcr) -> None:
    assert told in srdcr.refuses("export", *(str(results.folder) if each == "DIR" else each for each in arguments))
