"""`tools/release_facts.py`: what the folder holds, its card and Croissant file, and that the field's own tools read it.

`datasets`, `mlcroissant` and lm-evaluation-harness run in an environment of their own (40 packages that nothing else
needs): SRDCR_RELEASE_PYTHON names its interpreter, as `.ci/run` does.
"""

import hashlib
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import release_facts
import yaml

from srdcr_lab.data import facts, load_items
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import folder
from tests.conftest import Srdcr

SHIPPED = folder("facts")
TABLE = pd.read_csv(SHIPPED / "facts.csv", dtype=object, keep_default_na=False)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("release") / "facts"
    assert release_facts.export(target)
    return target


def _card(exported: Path) -> tuple[dict[str, Any], str]:
    _, front, text = (exported / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(front), text


def test_questions_are_the_shipped_table_by_split(exported: Path) -> None:
    for split in ("public", "held"):
        rows = pd.read_parquet(exported / "questions" / f"{split}.parquet")
        own = TABLE[TABLE["split"] == split].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows.drop(columns="popularity").astype(object), own.drop(columns="popularity"))
        assert rows["popularity"].tolist() == pytest.approx(pd.to_numeric(own["popularity"]).tolist(), nan_ok=True)
    rows = pd.concat([pd.read_parquet(file) for file in (exported / "options").glob("*.parquet")])
    answer_of = TABLE.set_index("question_id")["gold_answer"]
    assert [row.options[row.answer] for row in rows.itertuples()] == [answer_of[name] for name in rows["question_id"]]
    assert set(rows["question_id"]) == set(TABLE.loc[TABLE["fame_band"] != "invented", "question_id"])


def test_items_come_back_as_they_are_made(exported: Path) -> None:
    (testbed,) = (exported / "testbed").iterdir()  # which is drawn from the public questions
    assert load_items(testbed, strict=True).items == load_items("facts:testbed").items
    made = {(item.question_id, item.context): item for item in load_items("facts:rewrites")}
    for split in ("public", "held"):
        for item in load_items(exported / "rewrites" / f"{split}.parquet", strict=True):
            own = made[item.question_id, item.context]
            assert replace(item, item_id=own.item_id, level=own.level) == own
    for split in ("public", "held"):
        asked = load_items(exported / "options" / f"{split}.parquet", strict=True)
        own = facts.of_split(load_items("facts:options"), split)
        assert [replace(item, item_id=item.question_id) for item in asked] == list(own)
        for name in ("pairs", "grid"):
            forms = pd.read_parquet(exported / name / f"{split}.parquet")
            own = facts.of_split(load_items(f"facts:{name}"), split)
            assert forms["claimed_answer"].tolist() == [item.claimed_answer for item in own]
            assert forms["item_id"].tolist() == [item.item_id for item in own]


def test_the_card_names_every_file_and_says_what_the_datasheet_says(exported: Path) -> None:
    front, text = _card(exported)
    files = [file for config in front["configs"] for file in config["data_files"]]
    found = {file.relative_to(exported).as_posix() for file in exported.glob("*/*.parquet")}
    assert sorted(file["path"] for file in files) == sorted(found)
    assert [config["config_name"] for config in front["configs"] if config.get("default")] == ["questions"]
    assert (front["license"], front["language"], front["size_categories"]) == ("cc-by-4.0", ["en"], ["1K<n<10K"])
    counts = re.findall(r"^\| `(\S+)` \| (\w+) \| ([\d,]+) \|", text, re.MULTILINE)
    assert {f"{config}/{split}.parquet": int(n.replace(",", "")) for config, split, n in counts} == {
        path: len(pd.read_parquet(exported / path)) for path in found
    }
    sheet = (SHIPPED / "DATASHEET.md").read_text("utf-8")
    for section in re.split(r"^## .+\n", sheet, flags=re.MULTILINE)[1:]:
        assert section.strip() in text


def _files(croissant: Path) -> dict[str, str]:
    return {file["contentUrl"]: file["sha256"] for file in json.loads(croissant.read_text("utf-8"))["distribution"]}


def _sums(root: Path, pattern: str) -> dict[str, str]:
    paths = root.glob(pattern)
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_the_croissant_file_has_the_checksum_of_every_file(exported: Path, tmp_path: Path, srdcr: Srdcr) -> None:
    assert _files(exported / "croissant.json") == _sums(exported, "*/*.parquet")
    again = "make it anew: python tools/release_facts.py data/facts/croissant.json"
    assert _files(SHIPPED / "croissant.json") == _sums(SHIPPED, "*.csv"), again
    for path in SHIPPED.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    release_facts.export(tmp_path / "croissant.json")
    assert (tmp_path / "croissant.json").read_bytes() == (SHIPPED / "croissant.json").read_bytes(), again
    said = srdcr("data", "list").out
    number, date = facts.version()
    assert f"version  {number} of {date}" in said
    assert _sums(SHIPPED, "facts.csv")["facts.csv"] in said
    assert f"srdcr-facts {number}" in _card(exported)[1]
    assert json.loads((exported / "croissant.json").read_text("utf-8"))["version"] == number


@pytest.mark.parametrize(("name", "words"), [
    ("file", "is a file; name a new folder"), ("full", "is a folder that holds something; name a new folder"),
    ("none/here", "make it first"), ("full/croissant.json", "there is no facts.csv beside it"),
])  # fmt: skip
def test_a_target_that_cannot_be_written_gets_a_sentence(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput, match=words):
        release_facts.export(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


READ = """
import json, sys
import datasets, mlcroissant
folder, shipped = sys.argv[1:]
told = {"datasets": {}, "croissant": {}, "issues": []}
for config in datasets.get_dataset_config_names(folder):
    for split, rows in datasets.load_dataset(folder, config).items():
        told["datasets"][f"{config}-{split}"] = len(rows)
told["default"] = datasets.load_dataset(folder, split="held")["question_id"][:]
told["parquet"] = len(datasets.load_dataset("parquet", data_files=folder + "/grid/*.parquet", split="train"))
for place in (folder, shipped):
    described = mlcroissant.Dataset(place + "/croissant.json")
    told["issues"] += [*described.metadata.ctx.issues.errors, *described.metadata.ctx.issues.warnings]
    for records in described.metadata.record_sets:
        told["croissant"][records.id] = sum(1 for _ in described.records(records.id))
option = next(iter(mlcroissant.Dataset(folder + "/croissant.json").records("options-public")))
told["option"] = [text.decode() for text in option["options-public/options"]]
print(json.dumps(told))
"""


def _elsewhere(arguments: list[str], place: Path) -> str:
    """What a command of the other environment says, offline and with its caches in a folder of its own."""
    python = os.environ.get("SRDCR_RELEASE_PYTHON")
    if not python:
        pytest.skip("SRDCR_RELEASE_PYTHON names no Python with datasets, mlcroissant and lm-eval (.ci/run makes one)")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(place / "hf"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, check=False, env=clean, cwd=place)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_datasets_and_mlcroissant_read_it(exported: Path, tmp_path: Path) -> None:
    told = json.loads(_elsewhere(["-c", READ, str(exported), str(SHIPPED)], tmp_path).splitlines()[-1])
    files = [(f"{file.parent.name}-{file.stem}", pd.read_parquet(file)) for file in exported.glob("*/*.parquet")]
    rows = {name: len(table) for name, table in files}
    assert told["datasets"] == rows
    assert told["default"] == TABLE.loc[TABLE["split"] == "held", "question_id"].tolist()
    assert told["parquet"] == rows["grid-public"] + rows["grid-held"]
    assert told["issues"] == []
    shipped = {path.stem.replace("facts", "questions"): len(pd.read_csv(path)) for path in SHIPPED.glob("*.csv")}
    assert told["croissant"] == rows | shipped
    assert told["option"] == dict(files)["options-public"]["options"].iloc[0].tolist()


def test_lm_evaluation_harness_asks_the_questions(exported: Path, tmp_path: Path) -> None:
    tasks = ["srdcr_facts_options", "srdcr_facts_options_cloze"]
    options = {
        "--model": "hf", "--model_args": f"pretrained={folder('pocket')}", "--include_path": f"{exported}/lm_eval",
        "--tasks": ",".join(tasks), "--limit": "40", "--device": "cpu", "--output_path": f"{tmp_path}/out",
    }  # fmt: skip
    _elsewhere(["-m", "lm_eval", *(word for pair in options.items() for word in pair), "--log_samples"], tmp_path)
    (results,) = (tmp_path / "out").rglob("results_*.json")
    accuracy = json.loads(results.read_text("utf-8"))["results"]
    rows = pd.read_parquet(exported / "options" / "public.parquet").head(40)
    for task in tasks:
        (samples,) = (tmp_path / "out").rglob(f"samples_{task}_2*.jsonl")
        seen = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
        assert [sample["doc"]["question_id"] for sample in seen] == rows["question_id"].tolist()
        assert [int(sample["target"]) for sample in seen] == rows["answer"].tolist()
        choices = [argument["arg_1"].strip() for argument in seen[0]["arguments"].values()]
        assert choices == (list("ABCD") if task == tasks[0] else rows["options"].iloc[0].tolist())
        assert accuracy[task]["acc,none"] == pytest.approx(sum(sample["acc"] for sample in seen) / 40)
    assert accuracy[tasks[1]]["acc,none"] > 0.5  # the shipped model was told these; by chance it would be 0.25
