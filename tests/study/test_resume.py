"""A run that is killed, interrupted or shared asks nothing twice, and ends with the same numbers."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest

from srdcr_lab.models.store import Store
from srdcr_lab.records import Completion, Request, Stopped
from srdcr_lab.study import Study
from srdcr_lab.study.run import background_loop
from tests.conftest import Srdcr
from tests.doubles import ScriptedModel, completion
from tests.loopback.behaviour import Fault
from tests.loopback.fixture import years_of
from tests.loopback.server import Loopback

ROOT = Path(__file__).parents[2]
PAID = ["calls_paid", "cost_usd"]  # what a run that finds completions in its store pays differs, and nothing else


def arguments(server: Loopback, out: Path, *more: object) -> list[str]:
    given = ["run", "--model", "openai:test", "--base-url", server.openai_url, "--items", "facts:testbed", "--limit", 4]
    given += ["--methods", "few_shot,sr_dcr", "--samples", 6, "--concurrency", 8, "--out", out, *more]
    return [str(argument) for argument in given]


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    """`srdcr` as a process of its own, which does not outlive the test."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-m", "srdcr_lab.cli", *command], cwd=ROOT, stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(condition: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.005)


def answered(server: Loopback) -> int:
    return sum(asked.status == "200" for asked in server.completions)


def kept(out: Path, what: str = "completions") -> int:
    """How much the store of a run holds."""
    with closing(Store(out / "store.sqlite")) as store:
        return store.count(what)


def records(out: Path) -> pd.DataFrame:
    return pd.read_parquet(out / "records.parquet")


def same_numbers(out: Path, other: Path) -> None:
    pd.testing.assert_frame_equal(records(out).drop(columns=PAID), records(other).drop(columns=PAID))
    for table in ("turns.parquet", "samples.parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(out / table), pd.read_parquet(other / table))
    assert (out / "summary.csv").read_text() == (other / "summary.csv").read_text()


@pytest.fixture
def few_years(tmp_path: Path) -> tuple[str, Path]:
    """Items as a file: a process of its own need not make the testbed."""
    return "--items", years_of("facts:testbed", tmp_path, 40)


def test_killed_and_resumed(loopback: Loopback, tmp_path: Path, srdcr: Srdcr, few_years: tuple[str, Path]) -> None:
    loopback.behaviour.latency_s = 0.05
    command = arguments(loopback, tmp_path / "out", *few_years)
    with started(*command) as process:
        wait_until(lambda: answered(loopback) >= 30)
        process.kill()
        process.wait()
        wait_until(lambda: loopback.in_flight == 0)
    before = Counter(asked.key for asked in loopback.completions)
    assert not (tmp_path / "out" / "records.parquet").exists()
    stored = kept(tmp_path / "out", "requests")
    assert stored >= 30 - 8  # what was answered; some of it may still have been on its way
    loopback.behaviour.latency_s = 0.0
    srdcr.ok(*command)
    again = sum(asked.key in before for asked in loopback.completions) - sum(before.values())
    assert again <= 8  # concurrency: only what was in flight
    assert again == len(before) - stored  # and nothing of what the store has
    srdcr.ok(*arguments(loopback, tmp_path / "undisturbed", *few_years))
    same_numbers(tmp_path / "out", tmp_path / "undisturbed")


def test_two_processes_one_store(loopback: Loopback, tmp_path: Path, srdcr: Srdcr, few_years: tuple[str, Path]) -> None:
    loopback.behaviour.latency_s = 0.05
    store, outs = tmp_path / "shared.sqlite", [tmp_path / "a", tmp_path / "b"]
    with started(*arguments(loopback, outs[0], "--store", store, *few_years)) as other:
        wait_until(lambda: answered(loopback) >= 1)
        ended = srdcr(*arguments(loopback, outs[1], "--store", store, *few_years))  # this process, while the other runs
        _, err = other.communicate(timeout=600)
        assert (other.returncode, ended.code) == (0, 0), err + ended.err
    same_numbers(*outs)
    with closing(Store(store)) as opened:
        assert opened.count("requests") == len({asked.key for asked in loopback.completions})
        assert opened.integrity() == []


def test_a_finished_run_whose_tables_change_says_so(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    command = arguments(loopback, tmp_path / "out")
    assert "are not those that were here" not in srdcr.ok(*command).out + srdcr.ok(*command).out
    summary = tmp_path / "out/summary.csv"
    summary.write_text(summary.read_text().replace("overall", "Overall"))
    assert "are not those that were here" in srdcr.ok(*command).out


def test_the_same_folder_again_asks_nothing(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    command = arguments(loopback, tmp_path / "out")
    srdcr.ok(*command)
    asked, first = len(loopback.completions), records(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/run.json").read_text())
    del manifest["asked"]["choices"]["design"]["repair"]  # as if designs had not had this factor then
    (tmp_path / "out/run.json").write_text(json.dumps(manifest))
    assert "0 completions asked for, the others shared or from the store" in srdcr.ok(*command).out
    assert len(loopback.completions) == asked
    second = records(tmp_path / "out")
    pd.testing.assert_frame_equal(first.drop(columns=PAID), second.drop(columns=PAID))
    assert second["calls_paid"].sum() == 0
    assert first["calls_paid"].sum() > 0


def test_replies_of_several_models_are_told(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    store = ("--store", tmp_path / "store.sqlite")
    srdcr.ok(*arguments(loopback, tmp_path / "a", *store))
    loopback.behaviour.version = "B"
    assert "test-2026-01-01, test-B" in srdcr.ok(*arguments(loopback, tmp_path / "b", *store, "--methods", "rci")).out
    assert json.loads((tmp_path / "b/run.json").read_text())["sent"]["openai:test"]["served_models"][1:] == ["test-B"]


def test_a_finished_run_that_is_resumed_keeps_what_was_sent_and_noted(
    loopback: Loopback, tmp_path: Path, srdcr: Srdcr
) -> None:
    def manifest() -> dict[str, Any]:
        read: dict[str, Any] = json.loads((tmp_path / "out/run.json").read_text())
        return read

    command = arguments(loopback, tmp_path / "out", "--rounds", 1, "--limit", 2)
    loopback.behaviour.faults = [Fault.RATE_LIMIT]
    srdcr.ok(*command)
    first = manifest()
    assert first["sent"]["openai:test"]["requests"] > 0
    srdcr.ok(*command)
    assert (manifest()["sent"], manifest()["notes"]) == (first["sent"], first["notes"])
    own: dict[str, Any] = {"limit": 2, "rounds": 1, "samples": 0, "base_url": loopback.openai_url}
    with Study("openai:test", "facts:testbed", "few_shot", out=tmp_path / "own", **own) as study:
        study.run(progress=False)
        sent = study.run(progress=False).manifest["sent"]["openai:test"]
    assert sent["requests"] == 3  # a prior answer, which two forms share, and two context answers


def test_a_finished_run_stays_so_when_it_cannot_be_resumed(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    """Its tables are whole, so it can still be read; what is to be done about the store is said."""
    command = arguments(loopback, tmp_path / "out", "--rounds", 1, "--limit", 2)
    srdcr.ok(*command)
    before = (tmp_path / "out/run.json").read_bytes()
    store = tmp_path / "out/store.sqlite"
    content = bytearray(store.read_bytes())
    content[4096 * 2 :] = bytes(len(content) - 4096 * 2)
    store.write_bytes(content)
    for refused in (srdcr(*command), srdcr("share", tmp_path / "out", tmp_path / "run.zip")):
        assert refused.code == 2
        assert "tools/recover_store.py" in refused.sentence
    assert (tmp_path / "out/run.json").read_bytes() == before


def test_failed_rows_say_why_and_are_asked_again(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    command = arguments(loopback, tmp_path / "out", "--rounds", 1)
    loopback.behaviour.faults = [Fault.NOT_A_COMPLETION] * 8
    ended = srdcr(*command)
    assert ended.code == 1
    failed = records(tmp_path / "out").query("error.notna()")
    assert f"{len(failed)} of {len(records(tmp_path / 'out'))} rows carry an error" in ended.out
    assert failed["error"].str.contains("malformed").all()
    answered_before = {asked.key for asked in loopback.completions if asked.status == "200"}
    before = len(loopback.completions)
    srdcr.ok(*command)
    assert answered_before.isdisjoint(asked.key for asked in loopback.completions[before:])
    assert records(tmp_path / "out")["error"].isna().all()


def test_a_stop_keeps_what_came_and_what_is_in_flight(items_csv: Path, tmp_path: Path) -> None:
    """One call finds the account used up while others still wait for their answers: those are billed, so kept. There
    are no tables, but the completions, and a folder that resumes."""

    class Slow(ScriptedModel):
        async def complete(self, request: Request) -> tuple[Completion, ...]:
            self.asked.append(request)
            if len(self.asked) == 10:
                raise Stopped("the account is used up")
            await asyncio.sleep(0.05)  # still on its way when the tenth is refused
            return tuple(completion(request, draw, "1874. I am certain.") for draw in request.draws)

    model = Slow()
    with Study(model, items_csv, samples=0, out=tmp_path / "out") as study:
        with pytest.raises(Stopped, match="used up"):
            study.run(progress=False)
        assert json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "stopped"
        assert not list((tmp_path / "out").glob("*.parquet*"))
        asked = len(model.asked)
        assert kept(tmp_path / "out", "requests") == asked - 1
        assert len(study.run(progress=False).records) == 6
        before = {request.digest for request in model.asked[:asked]} - {model.asked[9].digest}
        assert before.isdisjoint(request.digest for request in model.asked[asked:])


def test_a_full_disk_ends_the_asking(items_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("srdcr_lab.study.results._ROWS_A_GROUP", 1)
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)

    class OnlyTheBridge(ScriptedModel):
        async def complete(self, request: Request) -> tuple[Completion, ...]:
            if "When was the bridge built?" not in request.messages[-1].content:
                await asyncio.Event().wait()
            return await super().complete(request)

    model = OnlyTheBridge(lambda request, draw: completion(request, draw, "1874. I am certain."))
    with Study(model, items_csv, samples=0, out=tmp_path / "out") as study:
        with pytest.raises(OSError, match="No space left"):
            study.run(progress=False)
        assert asyncio.run_coroutine_threadsafe(_tasks(), background_loop()).result(5) == []
    assert not list((tmp_path / "out").glob("*.parquet*"))


async def _tasks() -> list[str]:
    """What still runs in the background."""
    await asyncio.sleep(0)
    return [str(task) for task in asyncio.all_tasks() - {asyncio.current_task()}]


def test_without_a_key_offline_a_colleague_gets_the_same(loopback: Loopback, tmp_path: Path, srdcr: Srdcr) -> None:
    srdcr.ok(*arguments(loopback, tmp_path / "mine"))
    srdcr.ok("store", "export", tmp_path / "mine" / "store.sqlite", tmp_path / "completions.jsonl")
    srdcr.ok("store", "merge", tmp_path / "theirs.sqlite", tmp_path / "completions.jsonl")
    asked = len(loopback.asked)
    offline = arguments(loopback, tmp_path / "theirs", "--offline", "--store", tmp_path / "theirs.sqlite")
    address = offline.index("--base-url")
    del offline[address : address + 2]
    srdcr.ok(*offline)
    assert len(loopback.asked) == asked
    same_numbers(tmp_path / "mine", tmp_path / "theirs")


def test_interrupted_without_a_folder_the_study_itself_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Study, "_ask", Mock(side_effect=KeyboardInterrupt))
    with Study(ScriptedModel(), "facts:testbed", limit=2) as study, pytest.raises(Stopped) as stopped:
        study.run(progress=False)
    assert str(stopped.value) == "interrupted; what was received is kept, run this study again"


@pytest.mark.parametrize("told", ["--offline", "SRDCR_OFFLINE"])
def test_offline_what_is_missing_is_an_error_of_its_rows(
    loopback: Loopback, tmp_path: Path, srdcr: Srdcr, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("SRDCR_OFFLINE", "1" if told == "SRDCR_OFFLINE" else "")
    ended = srdcr(*arguments(loopback, tmp_path / "out", *([told] if told == "--offline" else [])))
    assert ended.code == 1
    assert loopback.asked == []
    rows = records(tmp_path / "out")
    assert len(rows) == 8
    assert rows["error"].str.contains("offline, and the store has no such completion").all()
    assert set(rows["missing"]) == {"error"}
    assert rows["final_answer"].isna().all()
