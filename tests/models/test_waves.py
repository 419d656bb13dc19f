"""A study in waves: through batch APIs, and through files that other engines answer. Its tables are those of a run."""

import asyncio
import json
import shlex
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import pytest

from srdcr_lab.models import batches
from srdcr_lab.models.anthropic import AnthropicChat
from srdcr_lab.models.base import API
from srdcr_lab.models.spending import StoredModel
from srdcr_lab.records import BadInput, BudgetExhausted, Request, Stopped
from srdcr_lab.records.types import Place
from srdcr_lab.study import Study
from srdcr_lab.study.study import write_requests
from tests.conftest import Ended, Srdcr
from tests.loopback.fixture import priced
from tests.loopback.server import Loopback
from tests.scripted import ScriptedModel, finished
from tests.study.test_resume import PAID, kept

# Two questions, each true and false; of two rounds, which take five waves.
SMALL: dict[str, Any] = {"items": "facts:testbed", "limit": 4, "samples": 6, "rounds": 2}
Sent = list[list[Request]]


def study(server: Loopback, out: Path | None = None, model: str = "openai:test", **changed: Any) -> Study:
    url = server.openai_url if model.startswith("openai") else server.url
    return Study(model, **SMALL | {"base_url": url, "out": out} | changed)


def tables(server: Loopback, out: Path, **how: Any) -> list[pd.DataFrame]:
    results = finished(study(server, out, **how))
    return [results.records.drop(columns=PAID), results.turns, results.samples]


def same(left: Sequence[pd.DataFrame], right: Sequence[pd.DataFrame]) -> None:
    for one, other in zip(left, right, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Waves are answered live, request by request; what each held."""
    waves: Sent = []

    async def ask(live: StoredModel, wave: list[Request], **_: Any) -> dict[Place, str]:
        waves.append(wave)
        await asyncio.gather(*map(live.complete, wave))
        return {}

    monkeypatch.setattr(batches, "ask_batch", ask)
    return waves


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are looked at without a pause, and those that the server made are listed at once."""
    monkeypatch.setattr(batches, "PAUSE_S", 0.0)
    monkeypatch.setattr(batches, "_GRACE_S", 0.0)


def test_a_wave_holds_all_that_every_protocol_waits_for(
    loopback: Loopback, tmp_path: Path, sent: Sent, items_csv: Path
) -> None:
    """Of three items: prior answer, knowledge draws and context answer; both openings; then each round's Critic beside
    the ruling on the round before it, and the Defender."""
    how = {"items": items_csv, "rounds": 4}
    made = tables(loopback, tmp_path / "waves", batch=True, **how)
    assert list(map(len, sent)) == [3 * 3, 3 * 2, *[3 * 2, 3] * 3, 3]
    asked = Counter((r.digest, r.stream, draw) for wave in sent for r in wave for draw in r.draws)
    assert set(asked.values()) == {1}
    same(made, tables(loopback, tmp_path / "live", **how))
    paid = [pd.read_parquet(tmp_path / name / "records.parquet")["calls_paid"].sum() for name in ("waves", "live")]
    assert paid[0] == paid[1] > 0  # the rows that use a batch pay for it


@pytest.mark.parametrize("methods", ["few_shot,sr_dcr", "naive_debate,astute"])
def test_the_plan_counts_the_waves(loopback: Loopback, tmp_path: Path, sent: Sent, methods: str) -> None:
    with study(loopback, tmp_path / "waves", methods=methods, batch=True) as opened:
        least, most = opened.plan().waves or (0, 0)
        opened.run(progress=False)
    assert least <= len(sent) <= most
    # of the debate at most one more: the last ruling asked for its line again, an earlier one beside the next round
    assert (least, most) == {"few_shot,sr_dcr": (5, 6), "naive_debate,astute": (2, 5)}[methods]


def test_same_prompt_for_fewer_and_for_more_draws_is_asked_once(loopback: Loopback, tmp_path: Path, sent: Sent) -> None:
    """Self-consistency takes seven draws where MAD takes three of the same."""
    tables(loopback, tmp_path, items="facts:options", limit=2, methods="self_consistency,mad", batch=True, samples=0)
    asked = Counter((r.digest, r.stream, draw) for wave in sent for r in wave for draw in r.draws)
    assert set(asked.values()) == {1}
    assert all(len({(r.digest, r.stream) for r in wave}) == len(wave) for wave in sent)


def test_a_model_that_runs_here_answers_within_each_wave(
    loopback: Loopback, tmp_path: Path, sent: Sent, items_csv: Path
) -> None:
    """Its rulings wait for no wave, so the last is that of the last Defender."""
    judge = ScriptedModel()
    made = tables(loopback, tmp_path / "waves", items=items_csv, judge=judge, batch=True)
    assert len(sent) == 4
    assert judge.calls == 3 * 2
    same(made, tables(loopback, tmp_path / "live", items=items_csv, judge=ScriptedModel()))


def test_the_models_of_a_wave_are_asked_side_by_side(
    loopback: Loopback, tmp_path: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge rules on a round while the Critic speaks in the next."""
    ask, names = batches.ask_batch, list[str]()

    async def noted(live: StoredModel, *asked: Any, **how: Any) -> dict[Place, str]:
        names.append(f"{live.identity} begins")
        failed = await ask(live, *asked, **how)
        names.append(f"{live.identity} ends")
        return failed

    monkeypatch.setattr(batches, "ask_batch", noted)
    made = tables(loopback, tmp_path / "waves", judge=AnthropicChat("judge", base_url=loopback.url), batch=True)
    third = names[4:8]  # two waves before it asked one model
    assert {name.rpartition(" ")[2] for name in third[:2]} == {"begins"}
    assert {name.rpartition(" ")[0] for name in third} == {"openai:test", "anthropic:judge"}
    same(made, tables(loopback, tmp_path / "live", judge=AnthropicChat("judge", base_url=loopback.url)))
    monkeypatch.setitem(API, "another", ("AnotherChat", False, 1))
    for judge in ("anthropic:judge", "another:judge"):  # whose key would be sent to the one address
        with pytest.raises(BadInput, match="one --base-url cannot serve two providers"):
            study(loopback, judge=judge)


def test_repeats_share_their_waves(loopback: Loopback, tmp_path: Path, sent: Sent) -> None:
    with study(loopback, tmp_path / "waves", batch=True) as opened:
        seeds = [repeat.run(progress=False).manifest["asked"]["seed"] for repeat in opened.repeats(2)]
    assert (seeds, len(sent)) == ([0, 1], 5)
    same(tables(loopback, tmp_path / "live", store=tmp_path / "waves/store.sqlite", offline=True),
         tables(loopback, tmp_path / "again"))  # fmt: skip


@pytest.mark.parametrize(("fails", "said"), [(0, "the provider let it expire"), (4, None)])
def test_a_request_that_failed_in_its_batch_is_an_error_of_rows_until_the_next_run(
    loopback: Loopback, tmp_path: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch, fails: int, said: str | None
) -> None:
    """Also one of which nothing is said at all: it is not asked for ever."""
    ask = batches.ask_batch

    async def failing(live: StoredModel, wave: list[Request], **how: Any) -> dict[Place, str]:
        lost = wave[-1:] if len(sent) == fails else []
        await ask(live, [request for request in wave if request not in lost], **how)
        return {place: said for request in lost for place in request.places.values() if said}

    monkeypatch.setattr(batches, "ask_batch", failing)
    failed = tables(loopback, tmp_path / "waves", batch=True)[0]
    assert 0 < failed["error"].notna().sum() < len(failed)
    assert failed["error"].dropna().str.contains(said or "openai:test: no reply came in its batch").all()
    asked = len(sent)
    monkeypatch.setattr(batches, "ask_batch", ask)
    made = tables(loopback, tmp_path / "waves", batch=True)
    assert len(sent[asked]) == 1
    same(made, tables(loopback, tmp_path / "live"))


def test_when_the_budget_is_used_up_the_run_stops_and_goes_on(
    loopback: Loopback, tmp_path: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, left = batches.ask_batch, [2]

    async def costly(*asked: Any, **how: Any) -> dict[Place, str]:
        left[0] -= 1
        if left[0] < 0:
            raise BudgetExhausted("the budget of $1 is used up")
        return await ask(*asked, **how)

    monkeypatch.setattr(batches, "ask_batch", costly)
    with study(loopback, tmp_path / "waves", batch=True) as opened, pytest.raises(BudgetExhausted, match="used up"):
        opened.run(progress=False)
    rows = pd.read_parquet(tmp_path / "waves/records.parquet")
    assert rows["error"].str.contains("the budget of $1 is used up", regex=False).all()
    left[0] = 99
    same(tables(loopback, tmp_path / "waves", batch=True), tables(loopback, tmp_path / "live"))


def test_plan_says_price_waves_and_wait(srdcr: Srdcr, loopback: Loopback) -> None:
    said = srdcr("plan", "--model", "openai:gpt-4o-mini", "--limit", 2, "--rounds", 2, "--batch").out
    assert "In batches: 5–6 waves, one after the other, of 24 hours at most each: 6 days at worst" in said
    costs = []
    for batch in (False, True):
        with study(loopback, model="openai:gpt-4o-mini", batch=batch) as opened:
            costs.append(opened.plan().table[["cost_usd_from", "cost_usd_to"]])
    pd.testing.assert_frame_equal(costs[1], costs[0] / 2)


@pytest.mark.parametrize(
    ("model", "refuses"), [("openai:test", "nothing"), ("openai:test", "temperature"), ("anthropic:test", "nothing")]
)
def test_batches_make_the_tables_of_a_live_run(
    loopback: Loopback, tmp_path: Path, at_once: None, monkeypatch: pytest.MonkeyPatch, model: str, refuses: str
) -> None:
    priced(monkeypatch, tmp_path, "test,1,2")
    loopback.behaviour.refuses = frozenset({refuses})
    how = {"model": model, "samples": 0, "rounds": 1} | (
        {"confidence": "verbalized"} if model == "anthropic:test" else {}
    )
    made = tables(loopback, tmp_path / "waves", batch=True, **how)
    live = len([asked for asked in loopback.completions if asked.status == "200"])
    assert live <= 4  # one of each form
    charged = pd.read_parquet(tmp_path / "waves/records.parquet")["cost_usd"].sum()
    assert charged == pytest.approx(json.loads((tmp_path / "waves/run.json").read_text())["spent_usd"])
    assert loopback.batches.twice == []
    same(made, tables(loopback, tmp_path / "live", **how))
    with study(loopback, batch=True, **how) as opened:
        once, again = (opened.run(progress=False).records for _ in range(2))
    assert (once["cost_usd"].sum(), again["cost_usd"].sum()) == (pytest.approx(charged), 0)


def test_a_confidence_that_a_server_cannot_give_is_known_before_a_wave_is_paid(
    loopback: Loopback, tmp_path: Path, at_once: None
) -> None:
    loopback.behaviour.logprobs = "null"
    opened = study(loopback, tmp_path / "out", batch=True, confidence="mean_logprob")
    with opened, pytest.raises(BadInput, match="gives no log-probabilities"):
        opened.run(progress=False)
    assert loopback.batches.batches == []


def test_interrupted_in_a_wave_and_resumed(
    loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As by Ctrl-C, once the first batch is under way."""

    def interrupt() -> None:
        while not loopback.batches.batches:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with (
        study(loopback, tmp_path / "out", batch=True) as opened,
        pytest.raises(Stopped, match="run the same command again"),
    ):
        opened.run()
    assert "wave 1, for 4 items: 8 requests (18 draws) to openai:test; waiting since" in capsys.readouterr().err
    monkeypatch.setattr(batches, "PAUSE_S", 0.0)
    made = tables(loopback, tmp_path / "out", batch=True)
    assert loopback.batches.twice == []
    assert len(loopback.batches.batches) == 5
    same(made, tables(loopback, tmp_path / "live"))


def answered(server: Loopback, lines: Path, replies: Path) -> None:
    """What a harness of one's own does: send each line to a server, and write down what it says."""
    with replies.open("w", encoding="utf-8") as file:
        for line in lines.read_text("utf-8").splitlines():
            asked = json.loads(line)
            reply = httpx2.post(f"{server.url}{asked['url']}", json=asked["body"], trust_env=False)
            said = {"status_code": reply.status_code, "request_id": "1", "body": reply.json()}
            record = {"id": "1", "custom_id": asked["custom_id"], "response": said, "error": None}
            file.write(json.dumps(record) + "\n")


class Harness:
    """A folder with a study, and files between it and a server."""

    def __init__(self, srdcr: Srdcr, server: Loopback, place: Path) -> None:
        self.srdcr, self.server, self.place = srdcr, server, place
        self.folder, self.lines, self.replies = place / "study", place / "lines.jsonl", place / "replies.jsonl"

    @property
    def options(self) -> list[object]:
        return ["--model", "openai:test", "--items", "facts:testbed", "--limit", 4, "--samples", 6, "--rounds", 2]

    def ask(self, *more: object) -> Ended:
        return self.srdcr("requests", self.folder, "--out", self.lines, *more)

    def answer(self) -> Ended:
        answered(self.server, self.lines, self.replies)
        return self.take()

    def take(self) -> Ended:
        return self.srdcr("store", "import", self.folder, self.replies)


@pytest.fixture
def harness(srdcr: Srdcr, loopback: Loopback, tmp_path: Path) -> Harness:
    return Harness(srdcr, loopback, tmp_path)


@pytest.fixture(scope="module")
def first_wave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study whose first wave is answered, and is not in the store yet."""
    place = tmp_path_factory.mktemp("first")
    with Loopback() as server:
        with study(server, place / "study", batch=True) as opened:
            write_requests(opened, place / "lines.jsonl")
        answered(server, place / "lines.jsonl", place / "replies.jsonl")
    return place


@pytest.fixture
def waiting(first_wave: Path, harness: Harness) -> Harness:
    shutil.copytree(first_wave, harness.place, dirs_exist_ok=True)
    return harness


def test_a_study_by_files_alone(harness: Harness, loopback: Loopback, tmp_path: Path) -> None:
    """Options are said once; each command says the next; the last writes the tables of a live run."""
    ended = harness.ask(*harness.options)
    assert ended.out.startswith(f"{harness.lines}: 8 requests with 18 draws, for 4 items\n")
    assert f"srdcr store import {harness.folder} REPLIES" in ended.out
    assert sorted(path.name for path in harness.folder.iterdir()) == ["items.json", "run.json", "store.sqlite"]
    first = [json.loads(line) for line in harness.lines.read_text().splitlines()]
    assert {(line["method"], line["url"], line["body"]["model"]) for line in first} == {
        ("POST", "/v1/chat/completions", "test")
    }
    waves = 0
    while harness.lines.stat().st_size:
        waves += 1
        assert harness.answer().code == 0
        ended = harness.ask()
        assert ended.code == 0
    assert waves == 5
    command = shlex.split(ended.out.strip().rpartition(": ")[2])
    assert command == ["srdcr", "run", "--offline", "--out", str(harness.folder)]
    harness.srdcr.ok(*command[1:])
    live = finished(study(loopback, tmp_path / "live"))
    made = pd.read_parquet(harness.folder / "records.parquet").drop(columns=PAID)
    pd.testing.assert_frame_equal(made, pd.read_parquet(tmp_path / "live/records.parquet").drop(columns=PAID))
    assert (harness.folder / "summary.csv").read_text() == (live.folder / "summary.csv").read_text()
    again = harness.srdcr("run", "--offline", *harness.options, "--out", harness.folder)  # as a run that resumes
    assert again.code == 0


def test_replies_taken_twice_change_nothing(waiting: Harness) -> None:
    waiting.replies.write_text(f"{waiting.replies.read_text()}\n\n")  # as an editor leaves a file
    assert "18 completions added" in waiting.take().out
    ended = waiting.take()
    assert (ended.code, "0 completions added" in ended.out, "18 were here already" in ended.out) == (0, True, True)


def changed(lines: list[str], place: int, **fields: Any) -> list[str]:
    return [*lines[:place], json.dumps(json.loads(lines[place]) | fields), *lines[place + 1 :]]


def other_model(lines: list[str]) -> list[str]:
    record = json.loads(lines[2])
    record["response"]["body"]["model"] = "test-large"
    return [*lines[:2], json.dumps(record), *lines[3:]]


@pytest.mark.parametrize(("spoil", "line", "said"), [
    (lambda lines: [*lines, "{"], 9, "not valid JSON"),
    (lambda lines: [*lines[:3], "[1]", *lines[3:]], 4, "wrote no line None"),
    (lambda lines: changed(lines, 1, custom_id="srdcr-of-another-study"), 2, "wrote no line 'srdcr-of-another"),
    (other_model, 3, "a reply of the model 'test-large', and 'test' was asked"),
    (lambda lines: changed(lines, 0, response={"body": {"choices": []}}), 1, "not a chat completion"),
    (lambda lines: changed(lines, 0, response={"status_code": 200, "body": None}), 1, "not a chat completion"),
])  # fmt: skip
def test_a_line_that_does_not_belong_is_refused_with_the_whole_file(
    waiting: Harness, spoil: Callable[[list[str]], list[str]], line: int, said: str
) -> None:
    waiting.replies.write_text("\n".join(spoil(waiting.replies.read_text().splitlines())))
    ended = waiting.take()
    assert ended.code == 2
    assert f"{waiting.replies.name}, line {line}: " in ended.sentence
    assert said in ended.sentence
    assert len(ended.sentence) < 400
    assert kept(waiting.folder) == 0


@pytest.mark.parametrize(("fault", "said"), [
    ({"response": None, "error": {"code": "batch_expired", "message": "too late"}}, "too late"),
    ({"response": {"status_code": 429, "body": {"error": {"message": "slow down"}}}}, "slow down"),
    ({"response": {"status_code": 400, "body": None}, "error": "no room"}, "no room"),
    ({"response": {"status_code": 400}, "error": {"error": {"message": "too long"}}}, "too long"),
])  # fmt: skip
def test_a_line_with_an_error_is_left_for_the_next_wave(waiting: Harness, fault: dict[str, Any], said: str) -> None:
    """As OpenAI's batch API writes it, or its proxies, or vLLM."""
    waiting.replies.write_text("\n".join(changed(waiting.replies.read_text().splitlines(), 0, **fault)))
    lost = json.loads(waiting.lines.read_text().splitlines()[0])
    ended = waiting.take()
    assert ended.code == 1
    (line,) = (line for line in ended.out.splitlines() if line.startswith("line 1: "))
    assert said in line
    assert "1 line brought an error and no reply; the next wave asks for them again" in ended.out
    waiting.ask()
    assert lost in [json.loads(line) for line in waiting.lines.read_text().splitlines()]


def test_an_engine_that_refuses_temperature_is_asked_without(harness: Harness, loopback: Loopback) -> None:
    """The refusal is remembered, as of a server: answers are then the most frequent of draws at its default."""
    loopback.behaviour.refuses = frozenset({"temperature"})
    harness.ask(*harness.options)
    assert harness.answer().code == 1
    harness.ask()
    bodies = [json.loads(line)["body"] for line in harness.lines.read_text().splitlines()]
    assert not any("temperature" in body for body in bodies)
    assert {body.get("n") for body in bodies} == {6, 16}  # knowledge draws, and prior and context answers
    assert harness.answer().code == 0


def test_an_engine_that_ignores_n_is_asked_for_one_draw_a_line(harness: Harness, loopback: Loopback) -> None:
    loopback.behaviour.choices = 1
    harness.ask(*harness.options)
    assert "2 lines brought fewer draws than were asked for; srdcr requests --draws 1" in harness.answer().out
    harness.ask("--draws", 1)
    bodies = [json.loads(line)["body"] for line in harness.lines.read_text().splitlines()]
    assert len(bodies) == 2 * 5 + 6  # draws that are missing, and openings
    assert all("n" not in body for body in bodies)
    again = harness.ask()  # which remembers how many draws a line may hold
    assert again.code == 0
    assert [json.loads(line)["body"] for line in harness.lines.read_text().splitlines()] == bodies


def test_a_reply_without_text_is_named_and_left_for_the_next_wave(waiting: Harness) -> None:
    lines = waiting.replies.read_text().splitlines()
    reply = json.loads(lines[0])
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
    for choice in reply["response"]["body"]["choices"]:
        choice["message"] = called
    waiting.replies.write_text("\n".join([json.dumps(reply), *lines[1:]]))
    taken = waiting.take()
    assert "line 1: openai:test replied without text (tool_calls)" in taken.out
    waiting.ask()
    assert reply["custom_id"] in waiting.lines.read_text()


@pytest.mark.parametrize(("more", "said"), [
    (["--model", "anthropic:test"], "anthropic:test takes no such lines; name the model that your engine runs as"),
    (["--model", "pocket"], "pocket runs on this machine, and cannot be asked in batches or by file"),
])  # fmt: skip
def test_a_model_that_takes_no_lines(harness: Harness, more: list[object], said: str) -> None:
    ended = harness.ask(*more, "--limit", 2)
    assert (ended.code, said in ended.sentence) == (2, True)
    assert not harness.folder.exists()
    if "pocket" in more:
        assert "pocket runs on this machine" in harness.srdcr("run", "--batch", "--out", harness.folder).sentence


def test_another_study_and_its_store_are_not_overwritten(waiting: Harness) -> None:
    ended = waiting.ask("--model", "openai:test", "--limit", 3)
    assert (ended.code, "holds a run with other arguments" in ended.sentence) == (2, True)
    ended = waiting.srdcr("requests", waiting.folder, "--out", waiting.folder / "store.sqlite")
    assert (ended.code, "is also read here" in ended.sentence) == (2, True)
    assert kept(waiting.folder, "elsewhere") == 8


def test_a_folder_is_replayed_without_its_options(srdcr: Srdcr, loopback: Loopback, tmp_path: Path) -> None:
    """Of any run: what --offline takes from the store, it also takes from run.json."""
    tables(loopback, tmp_path / "out", design="acvd,symmetric", rounds=2, tau=0.5)
    before = (tmp_path / "out/summary.csv").read_text()
    (tmp_path / "out/summary.csv").unlink()
    srdcr.ok("run", "--offline", "--out", tmp_path / "out")
    assert (tmp_path / "out/summary.csv").read_text() == before
    assert "other arguments" in srdcr.refuses("run", "--offline", "--rounds", 2, "--out", tmp_path / "out")
    tables(loopback, tmp_path / "other", store=tmp_path / "elsewhere.sqlite")
    before = (tmp_path / "other/summary.csv").read_text()
    offline = ("run", "--offline", "--out", tmp_path / "other")
    assert "name it: --store FILE, store=FILE" in srdcr.refuses(*offline, "--repeats", 2)
    small = ("--model", "openai:test", "--items", "facts:testbed", "--limit", 4, "--samples", 6, "--rounds", 2)
    assert "holds nothing of the run in" in srdcr.refuses(*offline, *small)
    assert (tmp_path / "other/summary.csv").read_text() == before
    srdcr.ok(*offline, "--store", tmp_path / "elsewhere.sqlite")
    assert "there is no study in" in srdcr.refuses("run", "--offline", "--out", tmp_path / "new")
