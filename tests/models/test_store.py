"""Nothing paid for is lost: what the store keeps, shares, refuses and carries elsewhere."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import recover_store

from srdcr_lab import cli
from srdcr_lab.models.spending import StoredModel
from srdcr_lab.models.store import Asked, Store
from srdcr_lab.records import BadInput, CallFailed, Completion, ModelIdentity, Request, Stopped
from srdcr_lab.study import Study
from tests.conftest import Ended, Srdcr
from tests.doubles import IDENTITY, PiecemealModel, ScriptedModel, completion, request

ROOT = Path(__file__).parents[2]
DRAWS = request("How many?", range(4))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _with_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.cli.commands, "recover-store", recover_store.recover_store)


def texts(store: Store, asked: Any = DRAWS) -> list[str]:
    return [kept.text for kept in store.get(IDENTITY, asked).values()]


def test_a_completion_comes_back_as_it_was_to_its_own_model(store: Store) -> None:
    """But for half of a surrogate pair, and for a log-probability that rounding put above 0."""
    said = Completion("1874 ±½", 2, ("1874", " ±½"), (-0.25, -1.5e-8), prompt_tokens=7, completion_tokens=2)
    odd = Completion("ab\ud83d", 0, ("ab", "\ud83d"), (1e-7, -0.2))
    store.put(IDENTITY, DRAWS, [said, odd])
    kept = store.get(IDENTITY, DRAWS)
    assert kept[2] == said
    assert kept[0].text == "ab\ufffd" == "".join(kept[0].tokens or ())
    assert kept[0].logprobs == (0.0, -0.2)
    for other in (ModelIdentity("openai", "double", "here"), ModelIdentity("hf", "double")):
        assert store.get(other, DRAWS) == {}


def test_each_reply_is_committed_when_it_arrives(store: Store, tmp_path: Path) -> None:
    """Two of four draws came before the third failed: another connection sees the two, and only two are asked again."""
    failing = PiecemealModel(2, CallFailed("the third failed"))
    with pytest.raises(CallFailed, match="third"):
        asyncio.run(StoredModel(failing, store).complete(DRAWS))
    with closing(Store(tmp_path / "store.sqlite")) as reader:
        assert sorted(reader.get(IDENTITY, DRAWS)) == [0, 1]
    answering = ScriptedModel()
    answers = asyncio.run(StoredModel(answering, store).complete(DRAWS))
    assert [asked.draws for asked in answering.asked] == [(2, 3)]
    assert [answer.draw for answer in answers] == [0, 1, 2, 3]


def test_what_cannot_be_written_stops_the_run(store: Store) -> None:
    store._db.execute("PRAGMA query_only=ON")
    with pytest.raises(Stopped, match="cannot write to the store"):
        asyncio.run(StoredModel(ScriptedModel(), store).complete(DRAWS))


def in_flight(store: Store, *requests: Request, cancelled: int = 0, fails: bool = False) -> tuple[ScriptedModel, Any]:
    """Ask for all at once; the model answers, or fails, once each has been asked and the first ones were cancelled."""

    def fail(*_: object) -> Completion:
        raise CallFailed("no reply")

    async def run() -> tuple[ScriptedModel, Any]:
        model = ScriptedModel(fail, gated=True) if fails else ScriptedModel(gated=True)
        stored = StoredModel(model, store)
        askers = [asyncio.create_task(stored.complete(each)) for each in requests]
        await asyncio.sleep(0.01)
        for asker in askers[:cancelled]:
            asker.cancel()
        await asyncio.sleep(0)
        model.gate.set()
        answers = await asyncio.gather(*askers, return_exceptions=True)
        await stored.landed()
        return model, answers[cancelled:]

    return asyncio.run(run())


def test_draws_in_flight_are_asked_once(store: Store) -> None:
    model, (first, second) = in_flight(store, DRAWS, DRAWS)
    assert [asked.draws for asked in model.asked] == [(0, 1, 2, 3)]
    assert first == second
    model, _ = in_flight(store, request("Who?", range(3)), request("Who?", range(1, 5)))
    assert [asked.draws for asked in model.asked] == [(0, 1, 2), (3, 4)]


@pytest.mark.parametrize("askers", [1, 2])
def test_a_call_whose_asker_is_cancelled_is_kept_for_who_waits(store: Store, askers: int) -> None:
    model, answers = in_flight(store, *[DRAWS] * askers, cancelled=1)
    assert len(model.asked) == 1
    assert [len(answer) for answer in answers] == [4] * (askers - 1)
    assert len(texts(store)) == 4


def test_waiters_get_the_failure_without_asking_again_and_a_later_call_may(store: Store) -> None:
    model, results = in_flight(store, DRAWS, DRAWS, fails=True)
    assert len(model.asked) == 1
    assert [str(result) for result in results] == ["no reply", "no reply"]
    assert len(asyncio.run(StoredModel(ScriptedModel(), store).complete(DRAWS))) == 4


def test_a_model_that_brings_too_little_is_not_asked_for_ever(store: Store) -> None:
    class Short(ScriptedModel):
        async def complete(self, request: Any) -> tuple[Completion, ...]:
            return (await super().complete(request))[:1]

    model = Short()
    with pytest.raises(CallFailed, match="1 of 4"):
        asyncio.run(StoredModel(model, store).complete(DRAWS))
    assert len(model.asked) == 1


_WRITER = """
import sys
from srdcr_lab.models.store import Store
from tests.doubles import IDENTITY, completion, request
store = Store(sys.argv[1])
print("open", flush=True)
for number in range(150):
    asked = request(f"Question {number}", range(3))
    store.put(IDENTITY, asked, [completion(asked, draw, sys.argv[2]) for draw in asked.draws])
    assert len(store.get(IDENTITY, asked)) == 3
store.close()
"""


def test_two_processes_fill_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    complaints = [writer.communicate(timeout=60)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], complaints
    with closing(Store(path)) as store:
        assert (store.count(), store.count("requests")) == (450, 150)
        for _, _, completions in store.contents():
            assert len({kept.text for kept in completions}) == 1


def test_a_new_store_waits_for_another_process_that_makes_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, other.close)
        timer.start()
        with closing(Store(tmp_path / "store.sqlite")) as store:
            assert store.count() == 0
        timer.join()


def sentence(path: Path) -> str:
    with pytest.raises(BadInput) as refused:
        Store(path)
    return str(refused.value)


def test_another_version(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with closing(Store(path)) as store:
        store._db.execute("UPDATE meta SET value = '99'")
    assert "another version of srdcr_lab (format 99, this one reads 1)" in sentence(path)


def test_the_file_of_another_program_is_left_as_it_was(tmp_path: Path) -> None:
    notes, bookmarks = tmp_path / "notes.txt", tmp_path / "bookmarks.sqlite"
    notes.write_text("When was the bridge built?\n" * 100)
    with closing(sqlite3.connect(bookmarks)) as db:
        db.execute("CREATE TABLE bookmarks (address TEXT)")
    before = {path: path.read_bytes() for path in (notes, bookmarks)}
    assert "is not a store of srdcr_lab" in sentence(notes)
    assert "another program's" in sentence(bookmarks)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("made", [
    "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    "CREATE TRIGGER often AFTER INSERT ON requests BEGIN UPDATE requests SET id = id; END",
])  # fmt: skip
def test_a_store_that_would_run_foreign_code_is_refused(store: Store, tmp_path: Path, made: str) -> None:
    """Such a file made a study hang, or filled the memory."""
    store.put(IDENTITY, DRAWS, [completion(DRAWS, 0)])
    store._db.execute(made)
    with pytest.raises(BadInput, match="which no store of srdcr_lab has"):
        Store(tmp_path / "store.sqlite")
    with closing(Store(":memory:")) as other, pytest.raises(BadInput, match="which no store of srdcr_lab has"):
        other.merge(tmp_path / "store.sqlite")


@pytest.mark.parametrize("place", ["missing/store.sqlite", "file/store.sqlite", "folder", "/"])
def test_a_place_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert "give a writable file on a local disk with --store" in sentence(tmp_path / place)


class _WithoutWal(sqlite3.Connection):
    """A connection on a file system that cannot share memory between processes."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return super().execute(sql.replace("journal_mode=WAL", "journal_mode=DELETE"), *values)


def test_a_file_system_without_the_journal_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=_WithoutWal, **named))
    found = sentence(tmp_path / "store.sqlite")
    assert "does not support SQLite's write-ahead log (journal mode delete)" in found
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_read_only_place_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    with closing(Store(path)) as store:
        store.put(IDENTITY, DRAWS, [completion(DRAWS, 0, "12")])
    access = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and access(place, mode))
    with closing(Store(path)) as store:
        assert texts(store) == ["12"]
        with pytest.raises(Stopped, match="readonly"):
            store.put(IDENTITY, DRAWS, [completion(DRAWS, 1, "13")])


def test_withdraw_takes_back_only_what_is_empty_and_nobody_uses(tmp_path: Path) -> None:
    empty, used, shared = (tmp_path / name for name in ("empty", "used", "shared"))
    Store(empty).withdraw()
    kept = Store(used)
    kept.put(IDENTITY, DRAWS, [completion(DRAWS, 0)])
    kept.withdraw()
    first, second = Store(shared), Store(shared)
    first.withdraw()
    second.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["shared", "used"]


def fill(path: Path, *, backwards: bool = False) -> Store:
    store = Store(path)
    asked = [request("Where?"), request("When?"), DRAWS]
    for one in reversed(asked) if backwards else asked:
        for draw in reversed(one.draws) if backwards else one.draws:
            store.put(IDENTITY, one, [completion(one, draw)])
    return store


def test_an_export_is_sorted_and_holds_no_time(tmp_path: Path) -> None:
    exports = []
    for name, backwards in (("a", False), ("b", True)):
        with closing(fill(tmp_path / f"{name}.sqlite", backwards=backwards)) as store:
            assert store.export(tmp_path / f"{name}.jsonl") == 3
            (created,) = store._db.execute("SELECT DISTINCT created FROM completions").fetchone()
        exports.append((tmp_path / f"{name}.jsonl").read_text("utf-8"))
    assert exports[0] == exports[1]
    assert created[:10] not in exports[0]
    draws = [[c["draw"] for c in json.loads(line)["completions"]] for line in exports[0].splitlines()]
    assert sorted(draws) == [[0], [0], [0, 1, 2, 3]]


def test_merging_an_export_or_a_store_twice_adds_nothing(tmp_path: Path, store: Store) -> None:
    with closing(fill(tmp_path / "source.sqlite")) as source:
        source.export(tmp_path / "export.jsonl")
    merged = [store.merge(tmp_path / name) for name in ("export.jsonl", "source.sqlite", "export.jsonl")]
    assert merged == [(6, 0, 0), (0, 6, 0), (0, 6, 0)]
    store.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "export.jsonl").read_bytes()
    with closing(Store(tmp_path / "other.sqlite")) as other:
        other.put(IDENTITY, DRAWS, [completion(DRAWS, 0, "another text")])
    assert store.merge(tmp_path / "other.sqlite") == (0, 1, 1)


FACT = (IDENTITY.key, "refused", '["temperature"]')


def test_facts_travel_and_what_is_here_stays(tmp_path: Path, srdcr: Srdcr) -> None:
    """By export, merge of either, and recovery."""
    with closing(fill(tmp_path / "a.sqlite")) as store:
        store.remember(*FACT)
        assert "3 requests written" in srdcr("store", "export", tmp_path / "a.sqlite", tmp_path / "a.jsonl").out
        srdcr.ok("recover-store", tmp_path / "a.sqlite", tmp_path / "saved.sqlite")
    for target, source in (("b", "a.jsonl"), ("c", "a.sqlite"), ("saved", "a.jsonl")):
        srdcr.ok("store", "merge", tmp_path / f"{target}.sqlite", tmp_path / source)
        with closing(Store(tmp_path / f"{target}.sqlite")) as store:
            assert store.recall(IDENTITY.key, "refused") == '["temperature"]'
            store.remember(IDENTITY.key, "refused", "[]")
            store.merge(tmp_path / "a.jsonl")
            assert store.recall(IDENTITY.key, "refused") == "[]"


@pytest.mark.parametrize("value", ["[", "no JSON"])
def test_a_fact_that_was_changed_is_damage(tmp_path: Path, srdcr: Srdcr, value: str) -> None:
    with closing(fill(tmp_path / "store.sqlite")) as store:
        store.remember(*FACT)
        store._db.execute("UPDATE facts SET value = ?", (value,))
        with pytest.raises(BadInput, match="is damaged"):
            store.recall(IDENTITY.key, "refused")
    for command in ("check", "export", "merge"):
        ended = by_command(srdcr, command, tmp_path / "store.sqlite")
        assert (ended.code, "recover_store.py" in ended.out + ended.err) == (2, True), (command, ended)
    ended = srdcr("recover-store", tmp_path / "store.sqlite", tmp_path / "new.sqlite")
    with closing(Store(tmp_path / "new.sqlite")) as new:
        assert (new.count(), new.facts()) == (6, [])


COMMANDS = ("info", "check", "export", "merge")
SAMPLED = Completion("1874", 0, ("18", "74"), (-0.5, -0.25), prompt_tokens=7, completion_tokens=2)


def by_command(srdcr: Srdcr, command: str, path: Path) -> Ended:
    """What a command makes of a store; whatever it is to write must not be there if it refuses."""
    target = path.parent / "target"
    arguments = {"export": ("store", "export", path, target), "merge": ("store", "merge", target, path)}
    ended = srdcr(*arguments.get(command, ("store", command, path)))
    assert "Traceback" not in ended.err
    assert ended.code == 0 or not target.exists()
    return ended


@pytest.mark.parametrize(("column", "value"), [
    ("tokens", "[1"), ("tokens", b"[]"), ("tokens", "[" * 100_000), ("tokens", '["1875"]'), ("text", b"\xff"),
    ("text", "1875"), ("logprobs", "[0.97, -1]"), ("logprobs", "[NaN, -1]"), ("finish_reason", "halt"),
    ("prompt_tokens", None), ("prompt_tokens", "many"), ("completion_tokens", -5), ("draw", -1), ("request", 77),
    ("model", 77), ("canonical", "{}"), ("canonical", request().canonical.encode()), ("digest", "0"),
    ("provider", b"openai"),
])  # fmt: skip
def test_a_changed_row_is_damage_to_every_command(tmp_path: Path, srdcr: Srdcr, column: str, value: object) -> None:
    """Types, ranges, text that its tokens do not spell, a model or request that is missing, a key of another text."""
    table = {"canonical": "requests", "digest": "requests", "provider": "models"}.get(column, "completions")
    with closing(Store(tmp_path / "store.sqlite")) as store:
        store.put(IDENTITY, request(), [SAMPLED])
        store._db.execute(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608
    for command in COMMANDS:
        ended = by_command(srdcr, command, tmp_path / "store.sqlite")
        assert (ended.code, "recover_store.py" in ended.out + ended.err) == (2, True), (command, ended)


def test_a_run_meets_damage_in_its_middle(items_csv: Path, tmp_path: Path) -> None:
    """Bad input, not an answer; nothing is left of a run that had not begun to pay."""
    with Study(ScriptedModel(), items_csv, "few_shot", samples=0, store=tmp_path / "store.sqlite") as study:
        study.run(progress=False)
    with closing(Store(tmp_path / "store.sqlite")) as store:
        store._db.execute("UPDATE completions SET text = X'FF' WHERE request = 3")
    again = Study(
        ScriptedModel(), items_csv, "few_shot", samples=0, store=tmp_path / "store.sqlite", out=tmp_path / "o"
    )
    with (
        again,
        pytest.raises(BadInput, match=r"is damaged \(.*draw 0: the text is not a string\); tools/recover_store.py"),
    ):
        again.run(progress=False)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("place", ["header", "middle", "cut"])
def test_a_damaged_file_is_told_and_recovered(tmp_path: Path, srdcr: Srdcr, place: str) -> None:
    """Zeroed pages, the first one too, and a file that was cut; what is saved is as it was, and whole."""
    path = tmp_path / "store.sqlite"
    with closing(Store(path)) as store:
        for number in range(60):
            asked = request(f"Question {number}? " + "Think about it. " * 400 * (number % 5 == 0), range(3))
            store.put(IDENTITY, asked, [completion(asked, draw, f"said {draw} " * 20) for draw in asked.draws])
        store.export(tmp_path / "whole.jsonl")
    size = path.stat().st_size
    if place == "cut":
        os.truncate(path, size // 2)
    else:
        with path.open("r+b") as file:
            file.seek(0 if place == "header" else size // 8192 * 4096)
            file.write(bytes(8192))
    assert {by_command(srdcr, command, path).code for command in COMMANDS} == {2}
    ended = srdcr("recover-store", path, tmp_path / "new.sqlite")
    assert (ended.code, "saved" in ended.out, "seen to be lost" in ended.out) == (1, True, True)
    assert f"go on with --store {tmp_path / 'new.sqlite'}" in ended.out
    srdcr.ok("store", "check", tmp_path / "new.sqlite")
    srdcr.ok("store", "export", tmp_path / "new.sqlite", tmp_path / "new.jsonl")
    saved, whole = ((tmp_path / name).read_text().splitlines() for name in ("new.jsonl", "whole.jsonl"))
    assert len(saved) >= (15 if place == "cut" else 40)
    assert {json.loads(line)["request"]["messages"][0][1] for line in saved} <= {
        json.loads(line)["request"]["messages"][0][1] for line in whole
    }
    assert set(whole) >= {line for line in saved if line.count('"draw"') == 3}


def test_a_schema_whose_bytes_are_no_text_is_told(tmp_path: Path, srdcr: Srdcr) -> None:
    """SQLite quotes the broken statement in its error, which then is no UTF-8."""
    path = tmp_path / "store.sqlite"
    fill(path).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE models", b"CREATE TABLE m \xceels", 1))
    for command in COMMANDS:
        ended = by_command(srdcr, command, path)
        assert (ended.code, "is damaged" in ended.err) == (2, True), ended.err


def test_recovering_a_whole_store_makes_the_same_store(tmp_path: Path, srdcr: Srdcr) -> None:
    with closing(fill(tmp_path / "store.sqlite")) as store:
        store.note_spent("run", 0.25)
        ended = srdcr("recover-store", tmp_path / "store.sqlite", tmp_path / "new.sqlite")  # all of it in the log
        assert (ended.code, "6 completions of 3 requests saved" in ended.out) == (0, True)
        store.export(tmp_path / "a.jsonl")
    with closing(Store(tmp_path / "new.sqlite")) as new:
        new.export(tmp_path / "b.jsonl")
        assert new.spent("run") == 0.25
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize("content", [b"", b"no store", b"SQLite format 3\x00" + bytes(5000)])
def test_where_nothing_can_be_recovered_nothing_is_made(tmp_path: Path, srdcr: Srdcr, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert "no completion can be read" in srdcr.refuses("recover-store", tmp_path / "file", tmp_path / "new.sqlite")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert "exists" in srdcr("recover-store", tmp_path / "file", tmp_path / "file").sentence


def test_a_completion_that_is_none_costs_its_own_row(store: Store) -> None:
    """The other draws are kept."""
    wrong = Completion("1874", 1, ("18",), (-0.5,))
    with pytest.raises(CallFailed, match="the tokens do not spell the text"):
        store.put(IDENTITY, DRAWS, [completion(DRAWS, 0), wrong, completion(DRAWS, 2)])
    assert len(texts(store)) == 2


def changed(line: bytes, **fields: object) -> bytes:
    """A line of an export with another value somewhere."""
    record = json.loads(line)
    for name, value in fields.items():
        place = next(
            part for part in (record["completions"][0], record["request"], record["model"], record) if name in part
        )
        place[name] = value
    return json.dumps(record).encode()


@pytest.mark.parametrize("fields", [
    {"draw": -1}, {"draw": 2**70}, {"draw": 1.5}, {"draw": True}, {"prompt_tokens": -1}, {"text": "\ud800"},
    {"tokens": [1], "logprobs": [-1.0]}, {"tokens": ["a"], "logprobs": [-1.0]}, {"tokens": ["Where? 0"]},
    {"tokens": ["Where? 0"], "logprobs": [0.5]}, {"tokens": ["Where? 0"], "logprobs": [None]}, {"name": 5},
    {"max_tokens": -1}, {"max_tokens": 10**30}, {"temperature": -1}, {"seed": "x"}, {"messages": [["boss", "x"]]},
    {"messages": {}}, {"stream": 7}, {"stream": "another"}, {"completions": []}, {"finish_reason": "halt"},
], ids=str)  # fmt: skip
def test_a_merge_takes_no_line_that_no_export_has(tmp_path: Path, srdcr: Srdcr, fields: dict[str, object]) -> None:
    """All sources or nothing, the line's number in the sentence."""
    with closing(fill(tmp_path / "source.sqlite")) as source:
        source.export(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_bytes().splitlines()
    greedy = next(line for line in lines if b"Where?" in line)
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join([lines[0], changed(greedy, **fields)]))
    ended = srdcr("store", "merge", tmp_path / "new.sqlite", tmp_path / "export.jsonl", tmp_path / "bad.jsonl")
    assert (ended.code, "bad.jsonl, line 2: not a record of a store export (" in ended.sentence) == (2, True)
    assert len(ended.sentence) < 400
    assert not (tmp_path / "new.sqlite").exists()


def test_no_line_of_an_export_has_more_than_32_draws(store: Store, tmp_path: Path) -> None:
    """So a line stays short enough to be merged."""
    asked = request("Who?", range(40))
    store.put(IDENTITY, asked, [completion(asked, draw) for draw in asked.draws])
    assert store.export(tmp_path / "export.jsonl") == 1
    assert [line.count('"draw"') for line in (tmp_path / "export.jsonl").read_text("utf-8").splitlines()] == [32, 8]
    with closing(Store(":memory:")) as other:
        assert other.merge(tmp_path / "export.jsonl") == (40, 0, 0)


NO_JSON = [b"[" * 100_000, b'{"model": 1e999}', b'{"a": ' * 50_000, b"\x00", b" " * 200_000]
WRONG = [{"value": "["}, {"value": 1}, {"model": None}, {"value": '"\ud800"'}, {"more": 1}]
NO_FACTS = [{"fact": "refused", "model": IDENTITY.key, "value": "[]"} | fields for fields in WRONG]


@pytest.mark.parametrize("line", [*NO_JSON, *(json.dumps(fact).encode() for fact in NO_FACTS)])
def test_a_merge_of_what_is_no_json_and_no_fact(
    tmp_path: Path, srdcr: Srdcr, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nesting and numbers that no table holds; a line without end is not read to its end."""
    monkeypatch.setattr("srdcr_lab.models.store._LONGEST_LINE", 150_000)
    (tmp_path / "bad.jsonl").write_bytes(line)
    assert "bad.jsonl, line 1: not a record of a store export (" in srdcr.refuses(
        "store", "merge", tmp_path / "new.sqlite", tmp_path / "bad.jsonl"
    )
    assert not (tmp_path / "new.sqlite").exists()


@pytest.mark.parametrize(("arguments", "said"), [
    (("check", "."), "is a folder; give the store in it, such as"),
    (("info", "."), "is a folder; give the store in it, such as"),
    (("merge", ".", "store.sqlite"), "is a folder; give the store in it, such as"),
    (("import", "store.sqlite", "."), "is a folder; give the file of replies in it"),
    (("info", "none.sqlite"), "there is no store"), (("check", "none.sqlite"), "there is no store"),
    (("merge", "new.sqlite", "missing.jsonl"), "there is no file"),
    (("export", "store.sqlite", "store.sqlite"), "would destroy"),
    (("export", "store.sqlite", "missing/export.jsonl"), "its folder does not exist"),
    (("export", "store.sqlite", "."), "is a folder"),
], ids=str)  # fmt: skip
def test_a_command_that_cannot_do_its_work_leaves_all_as_it_was(
    tmp_path: Path, srdcr: Srdcr, arguments: tuple[str, ...], said: str
) -> None:
    with closing(fill(tmp_path / "store.sqlite")) as store:
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (tmp_path / "store.sqlite").read_bytes()
    assert said in srdcr.refuses("store", arguments[0], *(tmp_path / name for name in arguments[1:]))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"store.sqlite": before}
    same = srdcr("store", "merge", tmp_path / "store.sqlite", tmp_path / "store.sqlite")
    assert "0 completions added" in same.out


def test_a_merge_tells_what_is_there_and_cannot_be_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(IDENTITY, DRAWS, [completion(DRAWS, 0)])
    store.export(exported := Path(store.path).with_name("export.jsonl"))
    monkeypatch.setattr(Store, "get", lambda *_: {})  # as where the index of a damaged file does not fit its rows
    with pytest.raises(BadInput, match=r"is damaged .*it is there and cannot be found"):
        store.merge(exported)


def test_a_merge_that_fails_leaves_nothing_behind_in_an_open_store(tmp_path: Path, store: Store) -> None:
    """Numbers of models that were taken back are given anew."""
    source = ModelIdentity("openai", "merged")
    with closing(Store(tmp_path / "source.sqlite")) as other:
        other.put(source, DRAWS, [completion(DRAWS, 0)])
        other.put(source, request("Where?"), [completion(request("Where?"), 0)])
        other.export(tmp_path / "export.jsonl")
    lines = (tmp_path / "export.jsonl").read_text("utf-8").splitlines()
    (tmp_path / "export.jsonl").write_text("\n".join([lines[0], lines[0], "{"]), "utf-8")
    with pytest.raises(BadInput, match="line 3"):
        store.merge(tmp_path / "export.jsonl")
    store.put(IDENTITY, DRAWS, [completion(DRAWS, 0)])
    store.put(IDENTITY, request("Where?"), [completion(request("Where?"), 0)])
    assert store.get(source, DRAWS) == store.get(source, request("Where?")) == {}


ELSEWHERE = Asked(IDENTITY.key, DRAWS, "b1")


def test_what_is_asked_in_a_batch_is_known_until_it_is_answered(store: Store, tmp_path: Path) -> None:
    scored = Asked(IDENTITY.key, replace(request("Who?"), scored=True), "b1")
    store.note_batch(IDENTITY.key, "b1", '{"remote": "batch_1"}')
    store.note_asked([ELSEWHERE, scored, Asked("other", DRAWS, "b2")])
    with closing(Store(tmp_path / "store.sqlite")) as later:
        assert later.batches(IDENTITY.key) == {"b1": '{"remote": "batch_1"}'}
        assert sorted(later.open_in("b1"), key=str) == sorted([ELSEWHERE, scored], key=str)
        with later.transaction():
            later.put(IDENTITY, DRAWS, [completion(DRAWS, draw) for draw in range(4)])
            later.close_asked([ELSEWHERE], answered=True)
        later.close_asked([scored], answered=False)
    store.note_batch(IDENTITY.key, "b1", None)
    assert store.batches(IDENTITY.key) == {}
    assert store.open_in("b1") == []
    assert store.asked(scored.custom_id) is None
    assert store.asked(ELSEWHERE.custom_id) == replace(ELSEWHERE, is_open=False)
    assert store.integrity() == []


def test_the_name_elsewhere_is_the_same_for_the_same_and_no_other() -> None:
    others = [replace(DRAWS, draws=(0,)), replace(DRAWS, stream="redraw"), replace(DRAWS, max_tokens=9)]
    asked = [ELSEWHERE, Asked("other", DRAWS), *(Asked(IDENTITY.key, other) for other in others)]
    names = {each.custom_id for each in asked}
    assert len(names) == len(asked)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert Asked(IDENTITY.key, replace(DRAWS, scored=True), "b9").custom_id == ELSEWHERE.custom_id


def test_what_is_asked_elsewhere_is_not_carried(store: Store, tmp_path: Path) -> None:
    store.put(IDENTITY, DRAWS, [completion(DRAWS, 0)])
    store.note_batch(IDENTITY.key, "b1", "{}")
    store.note_asked([ELSEWHERE])
    store.export(tmp_path / "out.jsonl")
    for source in ("out.jsonl", "store.sqlite"):
        with closing(Store(tmp_path / f"of {source}.sqlite")) as other:
            other.merge(tmp_path / source)
            assert other.count() == 1
            assert other.batches(IDENTITY.key) == {}
            assert other.count("elsewhere") == 0


@pytest.mark.parametrize("change", ["draws = 'x'", "draws = '5'", "canonical = '{}'"])
def test_what_was_asked_elsewhere_and_cannot_be_read_is_damage(store: Store, change: str) -> None:
    store.note_batch(IDENTITY.key, "b1", "{}")
    store.note_asked([ELSEWHERE])
    store._db.execute(f"UPDATE elsewhere SET {change}")  # noqa: S608
    with pytest.raises(BadInput, match=r"is damaged.*tools/recover_store.py"):
        store.open_in("b1")
    assert "is damaged" in store.integrity()[0]


def test_recover_saves_what_is_asked_in_batches(store: Store, tmp_path: Path) -> None:
    store.put(IDENTITY, request("Who?"), [completion(request("Who?"), 0)])
    store.note_batch(IDENTITY.key, "b1", "{}")
    store.note_asked([ELSEWHERE, Asked(IDENTITY.key, request("Who?"), "b1")])
    store._db.execute("UPDATE elsewhere SET draws = '[7]' WHERE custom_id != ?", [ELSEWHERE.custom_id])
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log still has the row as it was
    with closing(Store(tmp_path / "new.sqlite")) as new:
        recover_store.recover(new, tmp_path / "store.sqlite")
        assert new.open_in("b1") == [ELSEWHERE]
        assert list(new.batches(IDENTITY.key)) == ["b1"]
