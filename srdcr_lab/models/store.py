"""The store: every completion that was paid for, in one SQLite file, committed as it arrives.

A completion's key is the model's identity, the request without its draws, the stream and the draw. First write wins, so
two kernels may share a file, and a resumed run finds what a killed run had received. The store holds no key and no
address. As JSON lines (`Store.export`, `Store.merge`) it can be carried to a colleague.

It also knows what was asked elsewhere (`Asked`): in a provider's batch, or by another program. That belongs to whoever
asked, and is not carried to colleagues and other stores.

A file may be damaged: whatever is read from it is checked, and damage is bad input, never a completion.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, filterfalse, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal

from srdcr_lab.models.base import log_probability, whole_characters
from srdcr_lab.records import BadInput, CallFailed, FinishReason, SrdcrError, Stopped
from srdcr_lab.records.files import as_path, as_plain, from_json, from_plain, parse_json, to_write, whole_file
from srdcr_lab.records.types import GREEDY, Completion, Message, ModelIdentity, Request

Kept = tuple[ModelIdentity, Request, list[Completion]]  # the completions of one request and stream
COMPLETION_COLUMNS = (
    "draw, text, tokens, logprobs, finish_reason, prompt_tokens, completion_tokens, thinking, thinking_tokens, margins"
)
INSERT = {
    "model": "INSERT OR IGNORE INTO models (key, provider, name, label, fingerprint, settings) "
    "VALUES (?, ?, ?, ?, ?, ?)",
    "request": "INSERT OR IGNORE INTO requests (digest, canonical) VALUES (?, ?)",
    "completion": f"INSERT OR IGNORE INTO completions (model, request, stream, {COMPLETION_COLUMNS}, created) "  # noqa: S608
    "SELECT models.id, requests.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? "
    "FROM models, requests WHERE models.key = ? AND digest = ?",
    "fact": "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)",
    "asked": "INSERT OR REPLACE INTO elsewhere VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
}
_LONGEST_LINE = 2**23  # bytes; decoding takes up to 75 times as much memory
_DRAWS_A_LINE = 32  # of an export: a request with more has several lines, so that none of them is too long


@dataclass(frozen=True)
class _Content:
    """The fields of `Request.canonical`."""

    max_tokens: int
    temperature: int | float | None  # with an int as it was written, so that the digest stays
    stop: tuple[str, ...]
    logprobs: bool
    seed: int
    messages: tuple[tuple[Literal["system", "user", "assistant"], str], ...]

    def request(self, stream: str | None, draws: tuple[int, ...]) -> Request:
        """The request of these draws (default: of its own stream). Raises ValueError if nobody can ask it."""
        if not (0 < self.max_tokens < 2**63 > abs(self.seed) and 0 <= (self.temperature or 0) < math.inf):
            raise ValueError(f"{self.max_tokens} tokens at temperature {self.temperature} cannot be asked for")
        fields = vars(self) | {"messages": tuple(Message(role, text) for role, text in self.messages)}
        return Request(stream=stream or (GREEDY if self.temperature == 0 else "any"), draws=draws, **fields)


@dataclass(frozen=True)
class Fact:
    """A finding about the model of this key: a JSON text under a name."""

    model: str
    fact: str
    value: str

    def checked(self) -> Fact:
        """The fact. Raises ValueError unless all are texts and its value is JSON."""
        if not all(type(part) is str for part in vars(self).values()):
            raise ValueError("a fact about a model is no text")
        parse_json(str(self.value).encode())
        return self


@dataclass(frozen=True)
class Asked:
    """A request, with some of its draws, that was asked elsewhere: in a provider's batch, or by another program.

    `model` is a model's key. `batch` is our name of the batch, as in the fact ``batch NAME`` about the model; empty for
    a line given to another program. Once it is answered, it is no longer open.
    """

    model: str
    request: Request
    batch: str = ""
    is_open: bool = True

    @property
    def custom_id(self) -> str:
        """Its name elsewhere, the same whenever the same is asked. OpenAI takes 64 characters, Anthropic those that
        match ``^[a-zA-Z0-9_-]{1,64}$`` (https://platform.claude.com/docs/en/api/messages/batches/create)."""
        address = self.model, self.request.digest, self.request.stream, list(self.request.draws)
        return f"srdcr-{hashlib.sha256(json.dumps(address).encode()).hexdigest()[:48]}"

    def row(self) -> tuple[object, ...]:
        """The row of the table. The request's text is in another table once there are completions of it."""
        asked, text = self.request, self.request.canonical if self.is_open else None
        place = self.model, asked.digest, asked.stream, json.dumps(asked.draws)
        return (self.custom_id, *place, int(asked.scored), self.batch, text)

    @classmethod
    def of(cls, row: Sequence[Any], canonical: Any = None) -> Asked:
        """The reverse of `row`; `canonical` is the text of a request whose row lacks it. Raises ValueError if the row
        cannot be read.
        """
        _, model, _, stream, draws, scored, batch, text = row
        request = request_of(text or canonical, stream, tuple(parse_json(draws)))
        return cls(model, replace(request, scored=scored == 1), batch, text is not None)


@dataclass(frozen=True)
class _Line:
    """A line of an export."""

    model: ModelIdentity
    request: _Content
    stream: str
    completions: tuple[Completion, ...]


_VERSION = "1"
_SCHEMA = Path(__file__).with_name("store.sql").read_text("utf-8")
_TABLES = {"meta", "models", "requests", "completions", "spending", "facts", "elsewhere"}
_SAVES = "tools/recover_store.py of the repository saves what can still be read, if anything"  # of a damaged store
_BATCH = "batch "  # how the names of facts about batches under way begin
_GET = (
    f"SELECT {COMPLETION_COLUMNS} FROM models JOIN requests JOIN completions ON model = models.id "  # noqa: S608
    "AND request = requests.id AND stream = ? AND draw BETWEEN ? AND ? WHERE models.key = ? AND digest = ?"
)
_GET_ALIKE = _GET.replace("draw", "group_concat(draw)", 1) + COMPLETION_COLUMNS.replace("draw,", " GROUP BY")
# Of what SQLite complains of, this is the machine's: full, locked, read-only … Anything else is damage.
_MACHINE = ("BUSY", "LOCKED", "FULL", "IOERR", "READONLY", "CANTOPEN", "NOMEM", "PERM", "AUTH", "PROTOCOL", "NOLFS")
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # an error about a damaged schema quotes it, whatever its bytes


class Store:
    """An open store file (``":memory:"`` for a temporary one).

    Raises `BadInput` if the file is not a store, is damaged, is of another version, or lies on a file system on which
    SQLite's write-ahead log does not work. A refused file is not changed. Methods raise `BadInput` if they meet damage,
    and `Stopped` if the file cannot be reached (disk full, locked for a minute).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(as_path(path))
        self._lock = threading.RLock()
        self._ready = False
        self._created = self.path != ":memory:" and not Path(self.path).exists()
        try:
            self.is_read_only = not self._created and self.path != ":memory:" and not _may_be_written(Path(self.path))
            where = f"{Path(self.path).absolute().as_uri()}?mode=ro&immutable=1" if self.is_read_only else self.path
            self._db = sqlite3.connect(
                where, timeout=60, isolation_level=None, check_same_thread=False, uri=self.is_read_only
            )
            try:
                self._open()
            except BaseException:
                self.withdraw()
                raise
        except _UNREADABLE as error:
            raise self._trouble(error, "open") from None
        self._ready = True

    def _open(self) -> None:
        tables = self._tables()
        if tables:  # look before anything is changed: it may be somebody else's
            if not {"meta", "completions"} <= tables:
                raise BadInput(f"{self.path} is another program's SQLite file; give another file with --store")
            version = dict(self._rows("SELECT key, value FROM meta")).get("version", "none")
            lacks = "".join(f" without the table {name}" for name in sorted(_TABLES - tables)[:1])
            if version != _VERSION or lacks:
                raise BadInput(
                    f"the store {self.path} is of another version of srdcr_lab (format {version}{lacks}, this one "
                    f"reads {_VERSION}); export it with the version that made it, or give another file with --store"
                )
        if more := self._rows("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')"):
            kind, name = more[0]  # these run as soon as rows are read or written, for as long as they like
            raise BadInput(f"{self.path} has a {kind} {name!r:.60}, which no store of srdcr_lab has; give another file")
        if self.is_read_only:
            return
        if (mode := self._write_ahead()) != "wal" and self.path != ":memory:":
            unfit = f"the file system of {self.path} does not support SQLite's write-ahead log (journal mode {mode})"
            raise BadInput(f"{unfit}; put the store on a local disk with --store")
        self._rows("PRAGMA synchronous=NORMAL")
        self._rows("PRAGMA cell_size_check=ON")  # a damaged page is noticed when it is read
        if not tables:
            with self.transaction():
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)

    def _write_ahead(self) -> str:
        """Ask for the write-ahead log; the journal mode then. Here SQLite itself does not wait for other processes."""
        until = time.monotonic() + 60
        while True:
            try:
                return str(self._db.execute("PRAGMA journal_mode=WAL").fetchone()[0])
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.1)

    def _tables(self) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except _UNREADABLE as error:
                raise self._trouble(error, "read") from None

    def _trouble(self, error: Exception, doing: str) -> SrdcrError:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
        if name.startswith(_MACHINE) or isinstance(error, sqlite3.ProgrammingError):
            cannot = f"cannot {doing if self._ready else 'open'} the store {self.path} ({error})"
            if self._ready:
                return Stopped(f"{cannot}; fix that and run the same command again to resume")
            return BadInput(f"{cannot}; give a writable file on a local disk with --store")
        if name == "NOTADB":
            fault = f"{self.path} is not a store of srdcr_lab, or its beginning is damaged"
            return BadInput(f"{fault}; give another file ({_SAVES})")
        return self._damaged(error)

    def _damaged(self, what: object) -> BadInput:
        return BadInput(f"the store {self.path} is damaged ({what}); {_SAVES}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep everything that is put or merged inside the block, or nothing."""
        with self._lock:
            nested = self._db.in_transaction
            if nested:
                yield
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._trouble(error, "write to") from None
            finally:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")

    def _write(self, change: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self.transaction():
            self._db.executemany(change, rows)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def withdraw(self) -> None:
        """Close, and delete the file if this object made it, it is empty, and nobody else has it open."""
        unused = False
        with self._lock, closing(self._db), suppress(sqlite3.Error, SrdcrError):
            if self._created:
                self._db.execute("PRAGMA busy_timeout=0")
                alone = self._db.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
                unused = alone and not ("completions" in self._tables() and self.count())
        if unused:  # Windows deletes no open file
            Path(self.path).unlink(missing_ok=True)

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        """Draw → completion, for those of the request's draws that the store holds."""
        first, last, wanted = min(request.draws), max(request.draws), set(request.draws)
        query = _GET if first == last else _GET_ALIKE  # draws repeat each other
        completions: dict[int, Completion] = {}
        for draws, *kept in self._rows(query, request.stream, first, last, model.key, request.digest):
            try:
                text, *others = _completion_of(*kept)
                found = wanted.intersection(map(int, str(draws).split(",")))
            except ValueError as error:
                raise self._damaged(f"{model}, request {request.digest[:12]}, draw {draws}: {error}") from None
            completions |= {draw: Completion(text, draw, *others) for draw in found}
        return completions

    def put(self, model: ModelIdentity, request: Request, completions: Sequence[Completion]) -> int:
        """Commit completions of one request; existing ones stay (the first write wins). Returns how many were new.

        Raises `Stopped` if they cannot be written (disk full): a run must not go on paying for what it cannot keep. A
        malformed completion (its tokens do not spell its text) is a failed call; the others are kept.
        """
        now, rows, refused = _now(), [], ""
        for completion in completions:
            try:
                rows.append((request.stream, *row_of(completion), now, model.key, request.digest))
            except ValueError as error:
                refused = f"{model} gave a completion that cannot be kept: {error}"
        with self.transaction():
            self._db.execute(INSERT["model"], (model.key, *astuple(model)))
            self._db.execute(INSERT["request"], (request.digest, request.canonical))
            added = self._db.executemany(INSERT["completion"], rows).rowcount
        if refused:
            raise CallFailed(refused)
        return added

    def spent(self, run: str) -> float:
        """What a run has spent so far in all its attempts, in US dollars; 0 for an unknown run."""
        rows = self._rows("SELECT usd FROM spending WHERE run = ?", run)
        usd = rows[0][0] if rows else 0.0
        if not (isinstance(usd, float) and 0 <= usd < math.inf):
            raise self._damaged(f"a run has spent {usd!r:.40}")
        return usd

    def note_spent(self, run: str, usd: float) -> None:
        """Record what a run has spent, so that a killed and resumed run does not get its budget again."""
        self._write("INSERT OR REPLACE INTO spending VALUES (?, ?)", [(run, usd)])

    def remember(self, model: str, name: str, value: str) -> None:
        """Record a finding about the model of this key, a JSON text; a later value replaces an earlier one."""
        self._write(INSERT["fact"], [(*astuple(Fact(model, name, value).checked()), _now())])

    def recall(self, model: str, name: str) -> str | None:
        """The finding about a model under a name; None if there is none."""
        return next((fact.value for fact in self.facts(model) if fact.fact == name), None)

    def facts(self, model: str | None = None) -> list[Fact]:
        """All findings about a model, or about every model, sorted."""
        every = "SELECT model, name, value FROM facts WHERE ?1 IS NULL OR model = ?1 ORDER BY model, name"
        try:
            return [Fact(*row).checked() for row in self._rows(every, model)]
        except ValueError as error:
            raise self._damaged(error) from None

    def batches(self, model: str) -> dict[str, str]:
        """Batches of the model of this key that are under way: our name → what is known about it, a JSON text."""
        return {fact.fact.removeprefix(_BATCH): fact.value for fact in self.facts(model) if _is_batch(fact)}

    def note_batch(self, model: str, name: str, value: str | None) -> None:
        """Record what is known about a batch, a JSON text; None: it is over."""
        if value is None:
            self._write("DELETE FROM facts WHERE model = ? AND name = ?", [(model, f"{_BATCH}{name}")])
        else:
            self.remember(model, f"{_BATCH}{name}", value)

    def note_asked(self, asked: Iterable[Asked]) -> None:
        """Record what is asked elsewhere; a later note of the same replaces an earlier one."""
        self._write(INSERT["asked"], (each.row() for each in asked))

    def close_asked(self, asked: Iterable[Asked], *, answered: bool) -> None:
        """These are no longer asked elsewhere: they were answered and stay known, or will not be answered."""
        change = "UPDATE elsewhere SET canonical = NULL" if answered else "DELETE FROM elsewhere"
        self._write(f"{change} WHERE custom_id = ?", ((each.custom_id,) for each in asked))

    def asked(self, custom_id: str) -> Asked | None:
        """What was asked elsewhere under this name, answered or not; None if nothing was."""
        return next(self._asked("WHERE custom_id = ?", custom_id), None)

    def open_in(self, batch: str) -> list[Asked]:
        """What was asked in a batch and is not answered yet."""
        return [*self._asked("WHERE batch = ? AND e.canonical IS NOT NULL", batch)]

    def _asked(self, where: str, *values: object) -> Iterator[Asked]:
        query = f"SELECT e.*, r.canonical FROM elsewhere e LEFT JOIN requests r ON r.digest = e.digest {where}"  # noqa: S608
        for *row, text in self._rows(query, *values):
            try:
                yield Asked.of(row, text)
            except (ValueError, TypeError) as error:
                raise self._damaged(error) from None

    def count(self, table: str = "completions") -> int:
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    def models(self) -> list[tuple[ModelIdentity, int, int, int]]:
        """(identity, completions, prompt tokens, completion tokens) of each model."""
        found: dict[ModelIdentity, tuple[int, ...]] = {}
        for model, _, completions in self.contents():
            counts = ((1, each.prompt_tokens, each.completion_tokens) for each in completions)
            found[model] = tuple(map(sum, zip(found.get(model, (0, 0, 0)), *counts, strict=True)))
        return [(model, n, prompt, completion) for model, (n, prompt, completion) in found.items()]

    def integrity(self) -> list[str]:
        """What is wrong with the file: SQLite's own findings, otherwise the first row that cannot be read."""
        try:
            if faults := [fault for (fault,) in self._rows("PRAGMA integrity_check(20)") if fault != "ok"]:
                return faults
            deque(chain(self.contents(), self.facts(), self._asked("")), maxlen=0)  # reads them all
        except SrdcrError as error:
            return [str(error)]
        return []

    def places(self, model: str) -> set[tuple[str, str, int]]:
        """Digest, stream and draw of every completion of the model of this key."""
        query = (
            "SELECT digest, stream, draw FROM completions JOIN requests ON requests.id = request "
            "JOIN models ON models.id = model WHERE models.key = ?"
        )
        return set(self._rows(query, model))

    def contents(self, digests: Collection[str] | None = None) -> Iterator[Kept]:
        """Every request, or those of some digests, with its completions, sorted. Raises `BadInput` at the first that
        cannot be read."""
        those = "SELECT id FROM requests WHERE digest IN (SELECT value FROM json_each(?))"
        by_key = f"WHERE model IN (SELECT id FROM models) AND request IN ({those}) "  # noqa: S608
        where, values = ("", ()) if digests is None else (by_key, (json.dumps([*digests]),))
        query = (
            f"SELECT model, request, stream, {COMPLETION_COLUMNS} FROM completions "  # noqa: S608
            "LEFT JOIN models ON models.id = model LEFT JOIN requests ON requests.id = request "
            f"{where}ORDER BY provider, name, label, fingerprint, settings, digest, stream, draw"
        )
        named = "SELECT id, provider, name, label, fingerprint, ifnull(settings, '') FROM models"
        readable = (row for row in self._rows(named) if all(type(name) is str for name in row[1:]))
        models = {place: ModelIdentity(*names) for place, *names in readable}
        try:
            for (model, request, stream), rows in groupby(self._db.execute(query, values), itemgetter(0, 1, 2)):
                try:
                    completions = [completion_of(row[3:]) for row in rows]
                    digest, text = self._rows("SELECT digest, canonical FROM requests WHERE id = ?", request)[0]
                    asked = request_of(text, stream, tuple(each.draw for each in completions))
                    if asked.digest != digest:
                        raise ValueError("its key does not fit its text")
                    yield models[model], asked, completions
                except (ValueError, LookupError) as error:
                    raise self._damaged(f"model {model}, request {request}, {stream}: {error}") from None
        except _UNREADABLE as error:
            raise self._trouble(error, "read") from None

    def export(self, target: Path) -> int:
        """Write every request with its completions as JSON lines, sorted and without times, then the facts about the
        models; return the number of requests.

        A target that is a store is bad input: paid completions are not overwritten.
        """
        if target.is_file() and _is_sqlite(target):
            raise BadInput(f"{target} is a store, which an export would destroy; give another target")
        requests = 0
        with whole_file(to_write(target)) as part, part.open("w", encoding="utf-8") as file:
            for requests, (model, request, completions) in enumerate(self.contents(), start=1):  # noqa: B007
                record = {"model": as_plain(model), "request": request.content, "stream": request.stream}
                others = _JSON.encode(record).removeprefix("{")
                for start in range(0, len(completions), _DRAWS_A_LINE):
                    draws = ", ".join(map(_exported, completions[start : start + _DRAWS_A_LINE]))
                    file.write(f'{{"completions": [{draws}], {others}\n')
            for fact in filterfalse(_is_batch, self.facts()):
                file.write(_JSON.encode(as_plain(fact)) + "\n")
        return requests

    def merge(self, source: Path) -> tuple[int, int, int]:
        """Add what another store or an export holds; existing completions stay. Returns the numbers of completions
        added, of those that were here already, and of these that have another text here.

        If one row or line of it is damaged, that is bad input and nothing is added.
        """
        added = known = unlike = 0
        with self.transaction(), ExitStack() as stack:
            other = stack.enter_context(closing(Store(source))) if _is_sqlite(as_file(source, "file")) else None
            records: Iterator[Kept | Fact] = chain(other.contents(), other.facts()) if other else lines_of(source)
            for kept in records:
                if not isinstance(kept, Fact):
                    model, request, completions = kept
                    added += (new := self.put(*kept))
                    if new < len(completions):
                        known += len(completions) - new
                        here = self.get(model, request)
                        if lost := [each.draw for each in completions if each.draw not in here]:
                            raise self._damaged(f"{model}, draw {lost[0]}: it is there and cannot be found")
                        unlike += sum(here[each.draw].text != each.text for each in completions)
                elif not _is_batch(kept) and self.recall(kept.model, kept.fact) is None:
                    self.remember(kept.model, kept.fact, kept.value)
        return added, known, unlike


def as_file(path: Path, kind: str = "store") -> Path:
    """An existing store or export; otherwise bad input."""
    if path.is_dir():
        such_as = "" if kind == "file of replies" else f", such as {path / 'store.sqlite'}"
        raise BadInput(f"{path} is a folder; give the {kind} in it{such_as}")
    if not path.is_file():
        raise BadInput(f"there is no {kind} {path}")
    return path


def _may_be_written(path: Path) -> bool:
    """Whether SQLite can open it as usual; without its log, a store can be read in a place that is read-only."""
    log = Path(f"{path}-wal")
    writable = all(os.access(place, os.W_OK) for place in (path, path.absolute().parent))
    return writable or (log.exists() and log.stat().st_size > 0)


def _is_batch(fact: Fact) -> bool:
    return fact.fact.startswith(_BATCH)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def checked(c: Completion) -> Completion:
    """The completion, if it is one that a model can have given. Raises ValueError, which says what is wrong."""
    if not type(c.text) is type(c.thinking) is str:
        raise ValueError("the text is not a string")
    for count in (c.draw, c.prompt_tokens, c.completion_tokens, c.thinking_tokens):
        if type(count) is not int or not 0 <= count < 2**63:
            raise ValueError(f"draw or number of tokens is {count!r:.40}; expected a whole number, 0 or more")
    if c.tokens is None and c.logprobs is None:
        return c
    tokens, logprobs = c.tokens or (), c.logprobs or ()
    if len(tokens) != len(logprobs):
        raise ValueError(f"{len(tokens)} tokens have {len(logprobs)} log-probabilities; expected one for each")
    if not all(type(token) is str for token in tokens) or "".join(tokens) != c.text:
        raise ValueError("the tokens do not spell the text")
    margins = None if c.margins is None else tuple(c.margins)
    numbers = [each for each in margins or () if type(each) in (int, float) and 0 <= each < math.inf]
    if margins is not None and not len(numbers) == len(margins) == len(tokens):
        raise ValueError(f"the margins of {len(tokens)} tokens are {margins!r:.60}; expected a number ≥ 0 for each")
    return replace(c, tokens=tuple(tokens), logprobs=tuple(map(log_probability, logprobs)), margins=margins)


def row_of(completion: Completion) -> tuple[object, ...]:
    """A completion as the table holds it, lists as JSON. Raises ValueError if it is malformed."""
    c = checked(completion)
    parts = c.tokens, c.logprobs, c.margins
    tokens, logprobs, margins = (None if part is None else whole_characters(_JSON.encode(part)) for part in parts)
    text, thinking = whole_characters(c.text), whole_characters(c.thinking) or None
    counts = c.prompt_tokens, c.completion_tokens, thinking, c.thinking_tokens or None
    return (c.draw, text, tokens, logprobs, c.finish_reason.value, *counts, margins)


_SAID = attrgetter(*(field.name for field in fields(Completion) if field.name != "draw"))


def _exported(completion: Completion) -> str:
    """A completion as the JSON text of an export."""
    before, after = _around_draw(*_SAID(completion))
    return f"{before}{completion.draw}{after}"


@lru_cache(maxsize=64)  # the draws of a request repeat each other
def _around_draw(text: str, *others: Any) -> tuple[str, str]:
    before, key, after = _JSON.encode(as_plain(Completion(text, 0, *others))).partition('"draw": ')
    return before + key, after.removeprefix("0")


def completion_of(row: Sequence[Any]) -> Completion:
    """The reverse of `row_of`. Raises ValueError if the row is not a completion."""
    draw, *kept = row
    text, *others = _completion_of(*kept)
    completion = Completion(text, draw, *others)
    return completion if type(draw) is int and draw >= 0 else checked(completion)


@lru_cache(maxsize=64)  # the draws of a request repeat each other
def _completion_of(*kept: Any) -> tuple[Any, ...]:
    """The fields of a completion, but for its draw."""
    text, tokens, logprobs, finish, prompt_tokens, completion_tokens, thinking, thinking_tokens, margins = kept
    tokens, logprobs, margins = (None if part is None else _list(part) for part in (tokens, logprobs, margins))
    counts = prompt_tokens, completion_tokens, thinking or "", thinking_tokens or 0
    return tuple(_SAID(checked(Completion(text, 0, tokens, logprobs, FinishReason(finish), *counts, margins))))


def _list(text: Any) -> Any:
    values = parse_json(text) if type(text) is str else None
    if type(values) is not list:
        raise ValueError("tokens or log-probabilities are not a list")
    return values


def request_of(canonical: Any, stream: str | None = None, draws: tuple[int, ...] = (0,)) -> Request:
    """The request of its canonical text, with the address of its completions. Raises ValueError if it cannot be
    read."""
    text = str(canonical)  # whatever a damaged store holds
    try:
        request = from_json(_Content, text, "request").request(stream, draws)
    except BadInput as error:
        raise ValueError(f"its request cannot be read ({error})") from None
    vars(request)["canonical"] = text  # which need not be made again
    return request  # type: ignore[no-any-return]


def lines_of(path: Path) -> Iterator[Kept | Fact]:
    """The content of an export. Bad input names the line that is not a record."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), start=1):
            try:
                if len(line) == _LONGEST_LINE:
                    raise ValueError(f"it has {_LONGEST_LINE:,} bytes or more")
                record = parse_json(line.decode("utf-8"))
                if isinstance(record, dict) and "fact" in record:
                    yield from_plain(Fact, record, "record").checked()
                    continue
                read = from_plain(_Line, record, "record")
                completions = [checked(completion) for completion in read.completions]
                request = read.request.request(read.stream, tuple(each.draw for each in completions))
            except (ValueError, BadInput) as error:
                damaged = "; tools/recover_store.py of the repository saves a damaged store" if number == 1 else ""
                raise BadInput(f"{path}, line {number}: not a record of a store export ({error}){damaged}") from None
            yield read.model, request, completions
