"""Bad input, by command and from Python, gets one sentence before anything is written; keys stay out of everything."""

import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import srdcr_lab as lab
from srdcr_lab.guarantee import guaranteed_rule
from srdcr_lab.models.store import Store
from srdcr_lab.protocols import Choices, DebateDesign
from srdcr_lab.study import study_of
from tests.conftest import Srdcr
from tests.loopback.behaviour import Fault
from tests.loopback.server import Loopback
from tests.scripted import ScriptedModel
from tests.simulated import simulated

ROOT = Path(__file__).parents[2]
HEADER = "question,gold_answer,context"
BRIDGE = "When was the bridge built?,1874,The bridge was built in 1874."
SENTINEL = "sentinel-0123456789abcdef"  # which looks like no provider's key

Refused = Callable[..., str]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def refused(tmp_path: Path, srdcr: Srdcr) -> Refused:
    """Run `srdcr`, and check that it refuses in one sentence and writes nothing; the sentence comes back."""

    def run(*arguments: object) -> str:
        before = snapshot(tmp_path)
        folders = sorted(path for path in tmp_path.rglob("*") if path.is_dir())
        ended = srdcr(*arguments)
        assert ended.code == 2, ended
        complaints = [line for line in ended.err.splitlines() if line.startswith("srdcr: ")]
        assert complaints == [ended.sentence]
        assert "Traceback" not in ended.err + ended.out
        assert snapshot(tmp_path) == before
        assert sorted(path for path in tmp_path.rglob("*") if path.is_dir()) == folders
        return ended.sentence.removeprefix("srdcr: ")

    return run


@pytest.mark.parametrize(("content", "says"), [
    (b"question,context\nWhen?,1874\n", "items.csv: the column gold_answer is missing; needed are"),
    (b"", "items.csv is empty; it needs the columns question, gold_answer, context"),
    (HEADER.encode() + b"\n", "items.csv has no rows"),
    (f"{HEADER}\n{BRIDGE}\n".encode() + b"Caf\xe9?,1874,1874\n", "items.csv is not UTF-8"),
    (f"{HEADER},perturbation_value\n{BRIDGE},some\n".encode(),
     "items.csv, row 1, column perturbation_value: 'some' is not a number"),
    (f"{HEADER},perturbation_kind\n{BRIDGE},offset\n".encode(),
     "items.csv, row 1, column perturbation_kind: is offset, but claimed_answer is empty; fill it"),
    (f'{HEADER}\n"When,1874\n'.encode(), "cannot read"),
])  # fmt: skip
def test_items_that_are_wrong(
    tmp_path: Path, loopback: Loopback, openai: list[object], refused: Refused, content: bytes, says: str
) -> None:
    items = tmp_path / "items.csv"
    items.write_bytes(content)
    assert says in refused("run", *openai, "--items", items, "--out", tmp_path / "out", "--strict")
    assert loopback.asked == []


@pytest.mark.parametrize(("items", "says"), [
    (
        "nonsense",
        "unknown items 'nonsense'; expected facts, facts:testbed, facts:pairs, facts:second, facts:grid, "
        "facts:options, facts:claims, facts:rewrites, facts:documents, hops, facts:public, facts:held, a benchm",
    ),
    ("facts:moon", "unknown items 'facts:moon'"), ("missing.csv", "there is no file missing.csv"),
    ("pyproject.toml", "items come as .csv, .jsonl or .parquet, not .toml"),
    ("data", "data is a folder; items are a file"),
])  # fmt: skip
def test_items_that_are_none(refused: Refused, items: str, says: str) -> None:
    assert says in refused("plan", "--model", "openai:test", "--base-url", "http://127.0.0.1:9", "--items", items)


NEARLY = {"gpt-4o": "openai:gpt-4o", "antropic:x": "anthropic:x", "ggfu:x.gguf": "gguf:x.gguf", "pokcet": "pocket"}


@pytest.mark.parametrize(("given", "says"), [
    (["--tau", 1.5], "tau is a number from 0.0 to 1.0, got 1.5"),
    *((["--tau", tau], "tau is a number from 0.0 to 1.0") for tau in (-0.1, "nan")),
    (["--methods", "all,few_shot"], "unknown method 'all'; known are all (without any other), few_shot, "),
    (["--methods", "oracle"], "unknown method 'oracle'; known are all (without any other), few_shot, few_shot_"),
    (["--methods", "sr_dcr,few_shot,sr_dcr"], "name each method once; sr_dcr occurs 2 times"),
    (["--methods", ""], "name each method once"), (["--out", ""], "a path is an empty text; name a file or a folder"),
    (["--design", "triangle"], "unknown design 'triangle'; known are acvd, symmetric, acvd_fresh"),
    (["--preset", "draft"], "unknown preset 'draft'; known are paper, released"),
    (["--confidence", "high"], "confidence is one of auto, mean_logprob, "),
    (["--limit", -1], "limit is a whole number from 1 to 1,000,000,000, got -1"),
    (["--samples", -1], "samples is a whole number from 0 to 1,000, got -1"),
    (["--rounds", 0], "rounds is a whole number from 1 to 50, got 0"),
    (["--rounds", 1, "--preset", "released"], "the first verdict must fall in one of the 1 rounds"),
    (["--rounds", "six"], "'six' is not a valid integer"),
    (["--concurrency", 0], "concurrency is a whole number from 1 to 10,000, got 0"),
    *((["--budget-usd", usd], "a budget is more than 0 US dollars, got ") for usd in (0, "nan", "inf")),
    (["--model", "gpt-4o"], "unknown model 'gpt-4o'; expected pocket, hf:NAME"),
    *((["--model", said], f"(did you mean {meant}?)") for said, meant in NEARLY.items()),
    (["--model", "gguf:nowhere.gguf"], "there is no file nowhere.gguf; give the path of a GGUF file"),
    (["--model", "openai:"], "unknown model 'openai:'"), (["--model", ""], "unknown model ''"),
    (["--rounds", 1_000_000_000], "rounds is a whole number from 1 to 50, got 1000000000"),
    (["--seed", 10**30], "seed is a whole number from"), (["--rounds", "1" + "0" * 5000], "is not a valid integer"),
    (["--temperature", 1], "No such option"),
])  # fmt: skip
def test_arguments_that_are_wrong(
    tmp_path: Path, loopback: Loopback, openai: list[object], refused: Refused, given: list[object], says: str
) -> None:
    found = refused("run", *openai, "--out", tmp_path / "out", *given)
    assert says.lower() in found.lower()
    assert len(found) < 400
    assert loopback.asked == []


def test_the_program_alone_shows_its_help(srdcr: Srdcr, refused: Refused) -> None:
    ended = srdcr()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") <= 10
    assert ended.err.count("\n  srdcr run ") == 2  # examples
    assert "Missing option '--out'" in refused("run")


@pytest.mark.parametrize(("command", "page"), [
    (["run", "--items", "nowhere.csv", "--out", "out"], "docs/guide/questions.md"),
    (["run", "--model", "openai:", "--out", "out"], "docs/guide/models.md"),
    (["plan", "--methods", "nothing"], "docs/guide/methods.md"),
    (["plan", "--prompts", "nowhere"], "docs/guide/prompts.md"),
    (["data", "perturb", "facts", "--factors", "0"], "docs/guide/false-passages.md"),
    (["share", "nowhere", "study.zip"], "docs/guide/sharing.md"),
    (["plan", "--nothing"], "srdcr plan --help"),
])  # fmt: skip
def test_a_refusal_names_the_page_that_explains_it(srdcr: Srdcr, command: list[str], page: str) -> None:
    ended = srdcr(*command)
    assert (ended.code, ended.err.strip().splitlines()[-1]) == (2, f"more: {page}")
    assert "/" not in page or (ROOT / page).is_file()


def test_a_refusal_reads_no_weights(tmp_path: Path) -> None:
    """A method that does not fit the items is refused before torch is imported; a plan and a run offline need no
    weights either, since they ask no model."""
    (tmp_path / "asked.csv").write_text('question,gold_answer,options\n"Is it so?",yes,yes|no\n')
    (tmp_path / "told.csv").write_text("question,gold_answer,context\nWhen was it built?,1874,It was built in 1874.\n")
    code = (
        "import sys; from srdcr_lab import cli\n"
        "for words in sys.argv[1:]:\n"
        "    try: cli.main(words.split())\n"
        "    except SystemExit as end: print('exit', end.code)\n"
        "print(sorted({'torch', 'transformers', 'openai', 'anthropic', 'nbclient'} & set(sys.modules)))\n"
    )
    refused = f"run --items asked.csv --out {tmp_path / 'out'}"
    program = [sys.executable, "-c", code, refused, "plan --items told.csv", "run --offline --items told.csv --out off"]
    ended = subprocess.run(
        program, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    lines = ended.stdout.splitlines()
    assert ended.stderr.startswith("srdcr: few_shot needs items with ")
    assert [line for line in lines if line.startswith("exit")] == ["exit 2", "exit 0", "exit 1"]
    assert lines[-1] == "[]"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["file", "file/inside"])
def test_a_folder_that_cannot_be(tmp_path: Path, openai: list[object], refused: Refused, place: str) -> None:
    (tmp_path / "file").touch()
    assert "give another --out" in refused("run", *openai, "--out", tmp_path / place)


@pytest.mark.parametrize(("place", "says"), [
    ("x" * 5000, "is too long; give a shorter one"), ("a/" * 3000, "is too long; give a shorter one"),
    ("a\0b", "is not a path: it has a character"), ("\udcff", "is not a path: it has a character"),
])  # fmt: skip
@pytest.mark.parametrize("command", [
    ("run", "--model", "openai:x", "--out"), ("plan", "--model", "openai:x", "--items"), ("data", "check"),
    ("data", "perturb"), ("data", "perturb", "items.csv", "--audit"), ("store", "info"), ("share", "out"), ("replay",),
    ("notebooks", "--out"),
])  # fmt: skip
def test_a_path_that_no_file_system_holds(refused: Refused, command: tuple[str, ...], place: str, says: str) -> None:
    """Exit code 2 and one sentence under 400 characters, wherever a path enters."""
    found = refused(*command, place)
    assert says in found
    assert len(found) < 400
    assert found.isprintable()


@pytest.mark.parametrize(
    ("content", "says"),
    [(content, "is not the manifest of a run") for content in ("{", "[]", "null", "{}")]
    + [('{"schema_version": 99}', "is of schema version 99")],
)
def test_a_manifest_that_is_none(
    tmp_path: Path, openai: list[object], refused: Refused, content: str, says: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text(content)
    assert says in refused("run", *openai, "--out", tmp_path / "out")


@pytest.mark.parametrize(("model", "variable"), [("openai:gpt-4o", "OPENAI"), ("anthropic:claude-x", "ANTHROPIC")])
@pytest.mark.usefixtures("no_keys")
def test_no_key(tmp_path: Path, refused: Refused, model: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # where an SDK may look for a login
    assert f"{variable}_API_KEY" in refused("run", "--model", model, "--out", tmp_path / "out")


@pytest.mark.usefixtures("no_keys", "quick_retries")
def test_a_server_that_is_not_there(tmp_path: Path, refused: Refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    run = ["run", "--model", "openai:test", "--base-url", f"http://127.0.0.1:{port}/v1"]
    found = refused(*run, "--out", tmp_path / "out", "--store", tmp_path / "store.sqlite")
    assert f"the server at 127.0.0.1:{port} could not be reached" in found


@pytest.mark.parametrize("exists", [False, True])
def test_an_unknown_model(
    tmp_path: Path, loopback: Loopback, openai: list[object], refused: Refused, exists: bool
) -> None:
    """Known only when the first completion is asked for: what was written by then is taken back."""
    loopback.behaviour.models = ("another",)
    if exists:
        (tmp_path / "out").mkdir()
    run = ["run", *openai, "--out", tmp_path / "out", "--limit", 4]
    assert "knows no such model" in refused(*run)
    assert "knows no such model" in refused(*run, "--store", tmp_path / "store.sqlite")


def test_a_key_that_is_revoked_in_mid_run_loses_nothing(
    tmp_path: Path, loopback: Loopback, openai: list[object], items_csv: Path, srdcr: Srdcr,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)

    def revoked(*_: object) -> str:
        if len(loopback.completions) > 20:
            loopback.behaviour.key = "the right one"
        return "1874. I am certain."

    loopback.reply = revoked
    run = ["run", *openai, "--items", items_csv, "--samples", 0, "--concurrency", 4, "--out", tmp_path / "out"]
    assert "was refused" in srdcr.refuses(*run)
    answered = {asked.key for asked in loopback.completions if asked.status == "200"}
    assert len(answered) > 10
    kept = Store(tmp_path / "out" / "store.sqlite")
    assert kept.count() >= len(answered) - 4
    kept.close()
    assert not list((tmp_path / "out").glob("*.parquet*"))
    assert json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "stopped"
    loopback.behaviour.key, loopback.reply = None, lambda *_: "1874. I am certain."
    before = len(loopback.completions)
    srdcr.ok(*run)
    again = [asked for asked in loopback.completions[before:] if asked.key in answered]
    assert len(again) <= 4


def test_keys_are_nowhere(
    tmp_path: Path, loopback: Loopback, items_csv: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of every kind, the server quoting the key that it refuses, and an address with a password in it."""
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    monkeypatch.setattr("srdcr_lab.models.api.ApiChat.check", _unchecked)
    address = loopback.openai_url.replace("//", f"//user:{SENTINEL}@")
    out = tmp_path / "out"
    run = ["run", "--model", "openai:test", "--base-url", address, "--items", items_csv, "--samples", 2, "--out", out]
    faults = [Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.CUT, Fault.CUT_MID_BODY, Fault.BROKEN_JSON]
    loopback.behaviour.faults = [*faults, Fault.NOT_A_COMPLETION, Fault.WRONG_TYPES] * 12
    said = [srdcr(*run)]
    assert said[-1].code in (0, 1)
    loopback.behaviour.faults, loopback.behaviour.key = [], "the right one"
    said.append(srdcr(*run[:-1], tmp_path / "second"))
    assert said[-1].code == 2
    loopback.behaviour.key, loopback.behaviour.models = None, ("another",)
    said.append(srdcr(*run[:-1], tmp_path / "third"))
    assert said[-1].code == 2
    loopback.behaviour.models = ()
    said += [
        srdcr("plan", *run[1:-2]),
        srdcr(*run),
        srdcr("store", "export", out / "store.sqlite", out / "export.jsonl"),
    ]
    said.append(srdcr("store", "info", out / "store.sqlite"))
    assert [ended.code for ended in said[3:]] == [0, 0, 0, 0]
    for ended in said:
        assert SENTINEL not in ended.out + ended.err
    written = snapshot(tmp_path)
    assert len(written) >= 8
    assert [name for name, content in written.items() if SENTINEL.encode() in content] == []
    assert any(asked.status == "200" for asked in loopback.completions)


async def _unchecked(_: object) -> None:
    """A server that takes the key when it is asked for its models, and refuses it later."""


ODD = [
    None, 5, -1, 2.5, math.nan, math.inf, 10**30, True, "", "nope", "a\x00b", b"x", [], ["nope"], [None], [5], (), {},
    {"a": 1}, object(), Path("/"), pd.DataFrame(),
]  # fmt: skip
ARGUMENTS = [
    "model", "items", "methods", "defender", "critic", "judge", "preset", "design", "rounds", "tau", "samples",
    "confidence", "prompts", "strict", "limit", "seed", "concurrency", "base_url", "patience_s", "reasoning",
    "extra_body", "budget_usd", "store", "batch", "offline", "out", "questions",
]  # fmt: skip
ITEMS = lab.load_items("facts:testbed").limit(2)
RECORDS = simulated(12, ("acvd",)).query("method == 'sr_dcr'")


def _with(kind: Any, name: str, odd: Any) -> Any:
    return kind(**{name: odd})


CALLS: dict[str, Callable[[Any], Any]] = {
    "load_items": lab.load_items,
    "load_model": lab.load_model,
    "load_run": lab.load_run,
    "load_runs": lab.load_runs,
    "load_repeats": lab.load_repeats,
    "results_from": lab.results_from,
    "perturb": lab.perturb,
    "perturb, pool": lambda odd: lab.perturb(ITEMS, pool=odd),
    "perturb, offsets": lambda odd: lab.perturb(ITEMS, offsets=odd),
    "perturb, factors": lambda odd: lab.perturb(ITEMS, factors=odd),
    "load_items, seed": lambda odd: lab.load_items("facts:claims", seed=odd),
    "load_items, year_offsets": lambda odd: lab.load_items("facts:testbed", year_offsets=odd),
    "load_model, base_url": lambda odd: lab.load_model("openai:x", base_url=odd),
    "load_model, concurrency": lambda odd: lab.load_model("openai:x", base_url="http://127.0.0.1:9", concurrency=odd),
    "perturb, traits": lambda odd: lab.perturb(ITEMS, traits=odd),
    "perturb, present": lambda odd: lab.perturb(ITEMS, present=odd),
    "results_from, method": lambda odd: lab.results_from(pd.DataFrame({"question": ["a"]}), method=odd),
    "ItemSet.limit": ITEMS.limit,
    "study_of": study_of,
    "Study.repeats": lambda odd: next(lab.Study("pocket", ITEMS).repeats(odd)),
    "guaranteed_rule": lambda odd: guaranteed_rule(odd),
    **{
        f"guaranteed_rule, {name}": lambda odd, name=name: guaranteed_rule(RECORDS, **{name: odd})
        for name in ("alpha", "delta", "false_share", "taus", "starts")
    },
    **{f"DebateDesign, {each.name}": partial(_with, DebateDesign, each.name) for each in fields(DebateDesign)},
    **{f"Choices, {each.name}": partial(_with, Choices, each.name) for each in fields(Choices)},
    "Store": lambda odd: Store(odd).close(),
}


def planned(**arguments: Any) -> None:
    with lab.Study(**({"model": "pocket", "items": ITEMS, "methods": "few_shot"} | arguments)) as study:
        study.plan()


def refused_or_done(call: Callable[[], Any]) -> int:
    """1 where a sentence came; any other error is raised."""
    try:
        call()
    except lab.SrdcrError:
        return 1
    return 0


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_odd_argument_of_a_study(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    n_refused = sum(refused_or_done(lambda odd=odd: planned(**{name: odd})) for odd in ODD)  # type: ignore[misc]
    assert n_refused >= 5


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_of_a_function(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sum(refused_or_done(lambda odd=odd: CALLS[name](odd)) for odd in ODD) >= 5  # type: ignore[misc]


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert len(lab.load_items("facts:testbed", seed=np.int64(0)).limit(np.int64(4))) == 4
    assert DebateDesign(rounds=np.int64(3)).rounds == 3
    assert lab.perturb(ITEMS, offsets=[np.int64(20)])


def test_a_change_of_the_working_directory_moves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with lab.Study(ScriptedModel(), ITEMS, "few_shot", samples=0, out="results", store="completions.sqlite") as study:
        monkeypatch.chdir(tmp_path / "elsewhere")
        study.run(progress=False)
        results = lab.load_run("../results")
    monkeypatch.chdir(tmp_path)
    assert len(results.records) == len(ITEMS)
    assert {"results", "completions.sqlite"} <= {path.name for path in tmp_path.iterdir()}
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_hundred_thousand_methods_are_refused_at_once() -> None:
    with pytest.raises(lab.BadInput, match="few_shot occurs 100,000 times"):
        lab.Study("pocket", ITEMS, ["few_shot"] * 100_000)


def test_an_argument_that_a_study_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"a study has no argument 'desing'.*design"):
        lab.Study("pocket", ITEMS, desing="acvd")
    with pytest.raises(TypeError, match=r"a study has no argument 'limt' \(did you mean limit\?\)"):
        lab.open_study(run="pocket", limt=3)
    with pytest.raises(lab.BadInput, match=r"'self_consistancy' is no kind .* \(did you mean self_consistency\?\)"):
        lab.confidence.measured(lab.load_run("pocket"), "self_consistancy")
    shared = lab.Asking(concurrency=2, offline=True)
    assert lab.Study("pocket", ITEMS, asking=shared, concurrency=3).asking == lab.Asking(concurrency=3, offline=True)
    monkeypatch.setenv("SRDCR_OFFLINE", "False")
    assert lab.Asking().offline is False


def test_a_number_of_questions_is_drawn_of_what_the_other_arguments_load() -> None:
    items = lab.Study("pocket", "facts:testbed", questions=30, preset=Choices(year_offsets=(7,))).items
    assert {item.perturbation_value for item in items if item.answer_type == "year"} == {None, 7.0, -7.0}
