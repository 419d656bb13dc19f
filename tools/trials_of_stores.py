"""Trials of the store: runs that are killed, disks that are full, files that are damaged, not ours or read-only.

    python tools/trials_of_stores.py [--kills 100] [--full 20] [--damages 500] [--foreign 1] [--seed 0]

Every trial yields its name and its outcome. An outcome begins with ``held``, or with what went wrong: ``traceback``,
``hang``, ``long`` (a message of 400 characters or more), ``code`` (an exit code that does not fit), ``lost``,
``differs`` (tables that are not those of an undisturbed run), ``silent`` (damage that SQLite's integrity check finds
and ``store check`` does not). Rows have no checksum: a value that was changed into another valid one is counted as
changed, and is no fault. Numbers in an outcome are summed over all trials and printed at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import recover_store  # noqa: E402

from srdcr_lab import cli  # noqa: E402
from srdcr_lab.models import Store  # noqa: E402
from srdcr_lab.models.store import Fact, lines_of  # noqa: E402
from tests.loopback.server import Loopback  # noqa: E402

Outcome = tuple[str, str]
Completions = dict[tuple[str, str, int], str]  # request, stream, draw → all that was said
PAID = ["calls_paid", "cost_usd"]  # what a run that goes on has to pay differs from what one in one piece pays
LIMIT_S, LONGEST = 120, 400
ITEMS = ["--items", "facts:testbed", "--limit", "4", "--methods", "few_shot,sr_dcr", "--samples", "6"]


def main() -> int:
    cli.cli.add_command(recover_store.recover_store)
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 100), ("full", 20), ("damages", 500), ("foreign", 1), ("seed", 0)):
        given.add_argument(f"--{name}", type=int, default=default)
    asked = given.parse_args()
    trials = {"kills": kills(asked.kills, asked.seed), "disk full": disk_full(asked.full, asked.seed)}
    failed = 0
    trials |= {"damages": damages(asked.damages, asked.seed), "foreign": foreign(asked.foreign)}
    for kind, outcomes in trials.items():
        began, words, sums = time.monotonic(), Counter[str](), Counter[str]()
        for name, outcome in outcomes:
            words[outcome.split(":")[0]] += 1
            for number, of in re.findall(r"(\d+) ([a-z][a-z ]*)", outcome):
                sums[of.strip()] += int(number)
            if not outcome.startswith("held"):
                print(f"  {name}: {outcome}", flush=True)
        failed += words.total() - words["held"]
        parts = (", ".join(f"{number:,} {of}" for of, number in counter.items()) for counter in (words, sums))
        print(f"{kind}: {'; '.join(parts)}; {time.monotonic() - began:.0f} s", flush=True)
    return int(failed > 0)


# Kills ----------------------------------------------------------------------------------------------------------------


def kills(n: int, seed: int = 0) -> Iterator[Outcome]:
    """Kill real runs `n` times at random moments, over an API model and over the shipped local one, and resume them.

    A run that ended before it could be killed does not count. A folder is killed up to five times before it may end;
    then its tables are compared with those of a run that nobody disturbed. A completion is lost if it was there, or had
    been answered half a second before the kill, and is not in the store.
    """
    import srdcr_lab.models.local
    import srdcr_lab.models.openai  # noqa: F401 (so that each process has them)

    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="srdcr-kills-") as place, Loopback() as server:
        server.behaviour.latency_s = 0.05
        api = ["--model", "openai:test", "--base-url", server.openai_url, "--concurrency", "8"]
        for model, arguments in (("API", api), ("pocket", ["--model", "pocket"])):
            left = n - n // 2 if model == "API" else n // 2
            if not left:
                continue
            whole = Path(place) / f"whole-{model}"
            started = time.monotonic()
            code, said = _process([*arguments, *ITEMS], whole)
            length = time.monotonic() - started
            if code:
                yield f"{model} undisturbed", f"code: {code}, {said}"
                continue
            for number in range(10 * left):
                out = Path(place) / f"{model}-{number}"
                times = min(left, chance.randint(1, 5))
                killed, outcome = _killed([*arguments, *ITEMS], out, whole, times, length, chance, server)
                yield out.name, outcome
                left -= killed
                if not left:
                    break


def _killed(
    arguments: list[str], out: Path, whole: Path, times: int, length: float, chance: random.Random, server: Loopback
) -> tuple[int, str]:
    """How many of the kills landed, and what became of the run; `length` is that of an undisturbed one, in seconds."""
    kept: Completions = {}
    asked_before: list[str] = []
    lost = killed = 0
    for _ in range(times):
        server.asked.clear()
        with tempfile.TemporaryFile() as unread:
            child, begun = _started(arguments, out, unread.fileno()), time.monotonic()
        code = None
        if chance.random() < 0.8:  # when it has begun to ask
            while not (out / "store.sqlite").exists() and code is None and time.monotonic() < begun + LIMIT_S:
                code = _ended(child, 0)
                time.sleep(0.002)
        if code is None and (code := _ended(child, time.monotonic() + chance.random() * length / times)) is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            killed += 1
        killed_at = time.time()
        answered = {asked.key for asked in server.completions if asked.status == "200" and asked.end < killed_at - 0.5}
        before, kept = kept, _rows(out / "store.sqlite")
        lost += sum(kept.get(key) != said for key, said in before.items())
        while server.in_flight:
            time.sleep(0.01)
        new = {(request, stream) for request, stream, _ in kept.keys() - before.keys()}
        lost += max(0, len(answered) - len(new))
        asked_before += [asked.key for asked in server.completions if asked.status == "200"]
    server.asked.clear()
    code, said = _process(arguments, out)
    if code:
        return killed, f"code: {code} after {killed} kills, {said}"
    final = _rows(out / "store.sqlite")
    lost += sum(final.get(key) != text for key, text in kept.items())
    paid = asked_before + [asked.key for asked in server.completions if asked.status == "200"]
    again = len(paid) - len(set(paid))
    if lost:
        return killed, f"lost: {lost} completions lost after {killed} kills"
    if difference := _difference(whole, out):
        return killed, f"differs: after {killed} kills, {difference}"
    return killed, f"held: {killed} kills, 0 completions lost of {len(final)} completions, {again} asked again"


# A full disk ----------------------------------------------------------------------------------------------------------


def disk_full(n: int, seed: int = 0) -> Iterator[Outcome]:
    """Let the disk run full at `n` random sizes, then make room and resume: exit code 3, then the tables of any run.

    The disk is a small tmpfs where we may mount one, else no file may grow beyond the size.
    """
    chance = random.Random(seed)
    if not n:
        return
    with tempfile.TemporaryDirectory(prefix="srdcr-full-") as place, Loopback() as server:
        arguments = ["--model", "openai:test", "--base-url", server.openai_url, "--concurrency", "8", *ITEMS]
        whole = Path(place) / "whole"
        code, said = _process(arguments, whole)
        if code:
            yield "undisturbed", f"code: {code}, {said}"
            return
        most = max(path.stat().st_size for path in whole.iterdir())
        for number in range(n):
            size = chance.randint(4096, most + most // 4)
            folder = Path(place) / f"disk-{number}"
            folder.mkdir()
            with _small_disk(folder, size) as limit:
                code, said = _process(arguments, folder / "out", limit)
                stopped = code
                if code in (0, 2, 3) and not _fault(code, said):
                    if not limit:
                        subprocess.run(["mount", "-o", "remount,size=100m", folder], check=True)
                    code, said = _process(arguments, folder / "out")
                if fault := _fault(code, said) or (f"code: {code}, {said[-200:]}" if code else ""):
                    yield f"{size:,} bytes", fault
                elif difference := _difference(whole, folder / "out"):
                    yield f"{size:,} bytes", f"differs: {difference}"
                else:
                    yield f"{size:,} bytes", f"held: {int(stopped != 0)} stopped and resumed"


@contextlib.contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[int]:
    """A disk of that many bytes at `folder`; where none can be mounted, the bound that a process has to set itself."""
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False, capture_output=True
    ).returncode
    try:
        yield 0 if mounted else size
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


# Damage ---------------------------------------------------------------------------------------------------------------


def damages(n: int, seed: int = 0) -> Iterator[Outcome]:
    """Damage a store at random, `n` times; each command that reads it has to say so in a sentence, and exit with 2."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="srdcr-stores-") as place:
        whole, folder = Path(place) / "whole", Path(place) / "damaged"
        _fill(whole)
        known = _exported(whole / "export.jsonl")
        for number in range(n):
            name, in_log, damage = chance.choice(_DAMAGES)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole / ("log" if in_log else "file"), folder)
            damage(folder / ("store.sqlite-wal" if in_log else "store.sqlite"), chance)
            yield f"{number} {name}", _judged(folder, whole, known)


_FOREIGN = (
    "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    "ALTER TABLE facts RENAME TO f; CREATE VIEW facts AS SELECT * FROM f",
    "CREATE TRIGGER t AFTER INSERT ON completions BEGIN DELETE FROM completions; END",
)


def foreign(n: int) -> Iterator[Outcome]:
    """Stores that hold what no store holds, are refused and stay as they are; one on a read-only disk is read, and is
    not written; and a study in a child that was forked after its parent ran one comes to its end."""
    if not n:
        return
    with tempfile.TemporaryDirectory(prefix="srdcr-foreign-") as place:
        whole = Path(place) / "whole"
        _fill(whole)
        run = ["--model", "openai:test", *ITEMS, "--store"]
        for number, statements in enumerate(_FOREIGN):
            file = Path(shutil.copy(whole / "file/store.sqlite", Path(place) / f"{number}.sqlite"))
            with contextlib.closing(sqlite3.connect(file)) as db:
                db.executescript(statements)
            before = file.read_bytes()
            for command in (
                ["store", "info", file],
                ["store", "check", file],
                ["store", "export", file, file.with_suffix(".jsonl")],
                ["store", "merge", file.with_suffix(".new"), file],
                ["run", *run, file, "--offline", "--out", file.with_suffix(".out")],
            ):
                code, said = _srdcr(*command)
                fault = _fault(code, said) or ("" if code == 2 else f"code: {code}, {said[-200:]}")
                fault = fault or ("" if file.read_bytes() == before else "changed: the file is not as it was")
                yield f"{statements[:40]} ({' '.join(map(str, command[:2]))})", fault or "held"
        disk = Path(place) / "disk"
        disk.mkdir()
        with _small_disk(disk, 100 << 20) as limit:
            if limit:
                yield "read-only disk", "held: 1 not tried, since nothing can be mounted here"
            else:
                shutil.copy(whole / "file/store.sqlite", disk)
                subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
                for name, out, wanted in (("offline", Path(place) / "read", 0), ("online", Path(place) / "asked", 2)):
                    offline = ["--offline"] if name == "offline" else ["--base-url", "http://127.0.0.1:9/v1"]
                    code, said = _srdcr("run", *run, disk / "store.sqlite", *offline, "--out", out)
                    fault = _fault(code, said) or ("" if code == wanted else f"code: {code}, {said[-200:]}")
                    if not (fault or wanted) and (difference := _difference(whole / "run", out)):
                        fault = f"differs: {difference}"
                    yield f"read-only disk, {name}", fault or "held"
        code, said = _process([*run, str(whole / "file/store.sqlite"), "--offline"], Path(place) / "child")
        fault = _fault(code, said) or (f"code: {code}, {said[-200:]}" if code else "")
        yield "forked child", fault or _difference(whole / "run", Path(place) / "child") or "held"


def _fill(whole: Path) -> None:
    """A study over the loopback server; its store in one file, and once more with all of it in the write-ahead log."""
    with Loopback() as server:
        arguments = ["--model", "openai:test", "--base-url", server.openai_url, *ITEMS]
        code, said = _srdcr("run", *arguments, "--out", whole / "run")
    for name in ("file", "log"):
        (whole / name).mkdir()
    source = whole / "run/store.sqlite"
    if code or _srdcr("store", "export", source, whole / "export.jsonl")[0]:
        raise RuntimeError(said)
    shutil.copy(source, whole / "file")
    with contextlib.closing(Store(whole / "store.sqlite")) as store:
        for kept in lines_of(whole / "export.jsonl"):
            if not isinstance(kept, Fact):
                store.put(*kept)
        for path in whole.glob("store.sqlite*"):
            shutil.copy(path, whole / "log")
    (whole / "log/store.sqlite-shm").unlink()


def _judged(folder: Path, whole: Path, known: Completions) -> str:
    """What each command makes of the damaged store, in a copy of its own."""
    codes: dict[str, int] = {}
    run = ["run", "--model", "openai:test", *ITEMS, "--offline", "--out"]
    for name, command in {
        "check": ["store", "check", "STORE"],
        "info": ["store", "info", "STORE"],
        "export": ["store", "export", "STORE", "export.jsonl"],
        "merge": ["store", "merge", "merged.sqlite", "STORE"],
        "into": ["store", "merge", "STORE", str(whole / "export.jsonl")],
        "run": [*run, "out", "--store", "STORE"],
        "recover": ["recover-store", "STORE", "recovered.sqlite"],
        "recheck": ["store", "check", "recovered.sqlite"],
        "again": ["store", "export", "recovered.sqlite", "recovered.jsonl"],
    }.items():
        if codes.get("recover") == 2 and name in ("recheck", "again"):
            continue
        work = folder / ("recover" if name in ("recheck", "again") else name)
        if not work.exists():
            work.mkdir()
            for path in folder.glob("store.sqlite*"):
                shutil.copy(path, work)
        places = {"STORE": "store.sqlite", **{word: word for word in ("export.jsonl", "merged.sqlite", "out")}}
        places |= {word: word for word in ("recovered.sqlite", "recovered.jsonl")}
        given = [str(work / places[word]) if word in places else word for word in command]
        codes[name], said = _srdcr(*given)
        if fault := _fault(codes[name], said):
            return f"{fault} ({name})"
        if name == "recheck" and codes[name]:
            return f"silent: recover made a store in which check finds damage ({said.strip()[-300:]})"
        if codes[name] == 2 and any((work / word).exists() for word in ("export.jsonl", "merged.sqlite", "out")):
            return f"left: {name} left something behind"
    found = {name: _exported(folder / name) for name in ("export/export.jsonl", "recover/recovered.jsonl")}
    changed = sum(known.get(key) != said for rows in found.values() for key, said in rows.items())
    if codes["check"] == 0 and not _is_sound(folder / "store.sqlite"):
        return "silent: SQLite's integrity check finds damage that check does not"
    saved = len(found["recover/recovered.jsonl"])
    noticed = int(codes["check"] == 2)
    return f"held: {saved} saved of {len(known)} completions, {changed} changed, {noticed} noticed by check"


def _is_sound(store: Path) -> bool:
    with contextlib.closing(sqlite3.connect(store)) as db:
        try:
            return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        except sqlite3.Error:
            return False


def _zeroed(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        pages = max(1, path.stat().st_size // 4096)
        file.seek(4096 * chance.randrange(pages) if chance.random() < 0.5 else chance.randrange(path.stat().st_size))
        file.write(bytes(chance.choice((512, 4096, 8192))))


def _flipped(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 3, 30, 300))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _overwritten(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(chance.randrange(path.stat().st_size))
        file.write(chance.randbytes(chance.choice((16, 600, 5000))))


def _truncated(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _swapped(path: Path, chance: random.Random) -> None:
    content, size = bytearray(path.read_bytes()), 4096
    one, other = (size * chance.randrange(max(1, len(content) // size)) for _ in range(2))
    content[one : one + size], content[other : other + size] = content[other : other + size], content[one : one + size]
    path.write_bytes(content)


def _begun_anew(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(chance.randbytes(chance.choice((16, 100, 4096))) + content[4096:])


_VALUES: dict[str, tuple[Any, ...]] = {
    "text": (b"\xff\xfe", b"1874", 5, None, "1875"),
    "tokens": ("[1", "[1]", "{}", "null", b"[]", 5, "[" * 100_000, '["1874", "1875"]'),
    "logprobs": ("[NaN]", "[1e999]", "[0.97]", "[]", "7", b"\x00", '["-1"]', "[" * 100_000),
    "finish_reason": ("halt", b"stop", None),
    "prompt_tokens": (-1, "many", None, 2.5, b"7"),
    "completion_tokens": (-5, "few", None),
    "draw": (-1, 2**62, 1.5),
    "stream": ("other", b"greedy"),
    "model": (77,),
    "request": (7777,),
}


def _wrong_value(path: Path, chance: random.Random) -> None:
    column = chance.choice(list(_VALUES))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        rows = db.execute("SELECT model, request, stream, draw FROM completions").fetchall()
        db.execute("PRAGMA writable_schema=ON")  # else NULL is refused
        db.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
        db.execute("PRAGMA writable_schema=RESET")
        where = "WHERE model = ? AND request = ? AND stream = ? AND draw = ?"
        key = chance.choice(rows)
        db.execute(f"UPDATE completions SET {column} = ? {where}", (chance.choice(_VALUES[column]), *key))  # noqa: S608


def _wrong_beside(path: Path, chance: random.Random) -> None:
    statements = (
        "UPDATE requests SET canonical = '{' WHERE id = 3",
        "UPDATE requests SET canonical = replace(canonical, 'a', 'b') WHERE id = 3",
        "UPDATE requests SET canonical = X'FF00' WHERE id = 2",
        "UPDATE requests SET canonical = replace(hex(zeroblob(50000)), '0', '[') WHERE id = 2",
        "UPDATE requests SET digest = 'x' WHERE id = 4",
        "UPDATE models SET name = X'FF'",
        "UPDATE models SET key = 'x'",
        "UPDATE models SET provider = 5",
        "UPDATE meta SET value = X'00'",
        "DELETE FROM meta",
        "DELETE FROM models",
        "DELETE FROM requests WHERE id = 5",
        "DROP TABLE spending",
        "DROP TABLE requests",
        "ALTER TABLE completions DROP COLUMN tokens",
        "ALTER TABLE models RENAME COLUMN name TO title",
    )
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(chance.choice(statements))


_DAMAGES: tuple[tuple[str, bool, Callable[[Path, random.Random], None]], ...] = (
    *((damage.__name__.strip("_"), False, damage) for damage in (_zeroed, _flipped, _flipped, _overwritten)),
    *((damage.__name__.strip("_"), False, damage) for damage in (_truncated, _swapped, _begun_anew)),
    ("wrong value", False, _wrong_value),
    ("wrong value", False, _wrong_value),
    ("wrong beside", False, _wrong_beside),
    *((f"log {damage.__name__.strip('_')}", True, damage) for damage in (_zeroed, _flipped, _overwritten, _truncated)),
)


# What they share ------------------------------------------------------------------------------------------------------


def _fault(code: int, said: str) -> str:
    """What is wrong with how a command ended, empty for nothing."""
    if code not in (0, 1, 2, 3) or "Traceback (" in said:
        return f"{'hang' if code == -signal.SIGALRM else 'traceback'}: {code}, {said.strip()[-300:]}"
    longest = max((line for line in said.splitlines() if line.startswith("srdcr: ")), key=len, default="")
    return f"long: {longest[:200]}" if len(longest) >= LONGEST else ""


def _srdcr(*arguments: object) -> tuple[int, str]:
    """Exit code and output of a command in this process; it is stopped after `LIMIT_S`."""

    def late(*_: object) -> None:
        raise TimeoutError("hang")

    said, before = io.StringIO(), signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            cli.main([str(argument) for argument in arguments])
    except SystemExit as ended:
        return int(ended.code or 0), said.getvalue()
    except TimeoutError:
        return -signal.SIGALRM, said.getvalue()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    raise RuntimeError("main exits")


def _started(arguments: list[str], out: Path, said: int, file_size: int = 0) -> int:
    """`srdcr run` in a process of its own, which need not import everything again; its id. It writes to `said`."""
    if child := os.fork():
        return child
    code = 70
    try:
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        if file_size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
        cli.main(["run", *arguments, "--out", str(out)])
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _ended(child: int, until: float) -> int | None:
    """The exit code of a process; None if it has not ended by then."""
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(0.005)


def _process(arguments: list[str], out: Path, file_size: int = 0) -> tuple[int, str]:
    with tempfile.TemporaryFile() as said:
        child = _started(arguments, out, said.fileno(), file_size)
        code = _ended(child, time.monotonic() + LIMIT_S)
        if code is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            code = -signal.SIGALRM
        said.seek(0)
        return code, said.read().decode("utf-8", "replace")


def _rows(store: Path) -> Completions:
    """What a store holds, read by SQLite alone; nothing where there is no store yet."""
    if not store.exists():
        return {}
    with contextlib.closing(sqlite3.connect(store)) as db:
        try:
            rows = db.execute(
                "SELECT digest, stream, draw, text, tokens, finish_reason, prompt_tokens, completion_tokens "
                "FROM completions JOIN requests ON requests.id = request"
            ).fetchall()
        except sqlite3.OperationalError:  # its tables are not made yet
            return {}
    return {(digest, stream, draw): repr(said) for digest, stream, draw, *said in rows}


def _exported(path: Path) -> Completions:
    if not path.exists():
        return {}
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {
        (json.dumps(record["request"], sort_keys=True) + record["model"]["name"], record["stream"], said["draw"]): repr(
            said
        )
        for record in records
        for said in record.get("completions", ())  # other lines are facts about a model
    }


def _difference(whole: Path, out: Path) -> str:
    """The first difference between the tables of two runs; fractions of a local model may differ by 1e-5."""
    import pandas as pd

    for table in ("records", "turns", "samples"):
        one, other = (pd.read_parquet(folder / f"{table}.parquet") for folder in (whole, out))
        drop = [name for name in PAID if name in one]
        try:
            pd.testing.assert_frame_equal(one.drop(columns=drop), other.drop(columns=drop), rtol=0, atol=1e-5)
        except AssertionError as error:
            return f"{table}: {' '.join(str(error).split())[:200]}"
    return "" if (whole / "summary.csv").read_bytes() == (out / "summary.csv").read_bytes() else "summary.csv"


if __name__ == "__main__":
    sys.exit(main())
