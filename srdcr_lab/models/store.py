"""The store: every completion that was paid for, in one SQLite file, committed as it arrives.

A completion's key is the model's identity, the request without its draws, the stream and the draw. First write wins, so
two kernels may share a file; what a killed run had received is there when it resumes. It holds no key and no address.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from srdcr_lab.records import BadInput, Completion, FinishReason, Message, ModelIdentity, Request, Stopped

STORE_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE models (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, provider TEXT, name TEXT, label TEXT,
    fingerprint TEXT);
CREATE TABLE requests (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, canonical TEXT NOT NULL);
CREATE TABLE completions (model INTEGER, request INTEGER, stream TEXT, draw INTEGER, text TEXT NOT NULL,
    tokens TEXT, logprobs TEXT, finish_reason TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    created TEXT NOT NULL, PRIMARY KEY (model, request, stream, draw)) WITHOUT ROWID;
CREATE TABLE spending (run TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
"""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # half of a surrogate pair, which no file can hold
_COLUMNS = "draw, text, tokens, logprobs, finish_reason, prompt_tokens, completion_tokens"


class Store:
    """An open store file (``":memory:"`` for one that is forgotten).

    Raises
    ------
    BadInput
        If the file is no store, is of another version, or lies on a file system where SQLite's write-ahead log does
        not work. A file that is refused is left as it was.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._lock = threading.Lock()
        self._model_ids: dict[str, int] = {}
        self._created = self.path != ":memory:" and not Path(self.path).exists()
        try:
            self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise BadInput(self._cannot_open(error)) from None
        try:
            self._open()
        except BaseException as error:
            self.withdraw()
            if isinstance(error, sqlite3.OperationalError):
                raise BadInput(self._cannot_open(error)) from None
            if isinstance(error, sqlite3.DatabaseError):
                raise BadInput(f"{self.path} is not a store of srdcr_lab; give another file with --store") from None
            raise

    def _cannot_open(self, error: Exception) -> str:
        return f"cannot open the store {self.path} ({error}); give a writable file on a local disk with --store"

    def _open(self) -> None:
        if tables := self._tables():  # look before anything is changed: it may be somebody else's
            self._check_version(tables)
        mode = self._db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal" and self.path != ":memory:":
            raise BadInput(
                f"the file system of {self.path} does not support SQLite's write-ahead log (journal mode {mode}); "
                "put the store on a local disk with --store"
            )
        self._db.execute("PRAGMA synchronous=NORMAL")
        with self._transaction():
            if not self._tables():
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('version', ?)", (str(STORE_VERSION),))
        self._check_version(self._tables())

    def _tables(self) -> set[str]:
        return {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _check_version(self, tables: set[str]) -> None:
        if not {"meta", "completions"} <= tables:
            raise BadInput(f"{self.path} is another program's SQLite file; give another file with --store")
        version = self._db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if version is None or version[0] != str(STORE_VERSION):
            found = version[0] if version else "none"
            raise BadInput(
                f"the store {self.path} has version {found}, this srdcr_lab reads version {STORE_VERSION}; "
                "export it with the version that made it, or give another file with --store"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def withdraw(self) -> None:
        """Close, and take the file back if this object made it, nothing is in it and nobody else has it open."""
        with self._lock, closing(self._db), suppress(sqlite3.Error):
            if self._created:
                self._db.execute("PRAGMA busy_timeout=0")
                alone = self._db.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
                if alone and not ("completions" in self._tables() and self._rows("completions")):
                    Path(self.path).unlink(missing_ok=True)

    def _model_id(self, model: ModelIdentity) -> int | None:
        if model.key not in self._model_ids:
            found = self._db.execute("SELECT id FROM models WHERE key = ?", (model.key,)).fetchone()
            if found is None:
                return None
            self._model_ids[model.key] = found[0]
        return self._model_ids[model.key]

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        """Draw → completion, for those of the request's draws that are here."""
        marks = ",".join("?" * len(request.draws))
        query = (
            f"SELECT {_COLUMNS} FROM completions JOIN requests ON requests.id = request "  # noqa: S608 (marks are question marks)
            f"WHERE model = ? AND digest = ? AND stream = ? AND draw IN ({marks})"
        )
        with self._lock:
            rows = self._db.execute(
                query, (self._model_id(model), request.digest, request.stream, *request.draws)
            ).fetchall()
        return {row[0]: _completion(row) for row in rows}

    def put(self, model: ModelIdentity, request: Request, completions: Sequence[Completion]) -> None:
        """Commit completions of one request; those that are here already stay (the first write wins).

        Raises
        ------
        Stopped
            If they cannot be written (disk full): a run must not go on paying for what it cannot keep.
        """
        try:
            with self._lock:
                self._insert(model, request, completions)
        except sqlite3.Error as error:
            raise Stopped(
                f"cannot write to the store {self.path} ({error}); put that right and run the same again to go on"
            ) from None

    def _insert(self, model: ModelIdentity, request: Request, completions: Sequence[Completion]) -> None:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        if self._model_id(model) is None:
            self._db.execute(
                "INSERT OR IGNORE INTO models (key, provider, name, label, fingerprint) VALUES (?, ?, ?, ?, ?)",
                (model.key, model.provider, model.name, model.label, model.fingerprint),
            )
        model_id = self._model_id(model)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO requests (digest, canonical) VALUES (?, ?)", (request.digest, request.canonical)
            )
            (request_id,) = self._db.execute("SELECT id FROM requests WHERE digest = ?", (request.digest,)).fetchone()
            self._db.executemany(
                "INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(model_id, request_id, request.stream, *_row(completion), created) for completion in completions],
            )

    def spent(self, run: str) -> float:
        """What a run has spent so far, US dollars, in all its attempts; 0 for a run that is not known here."""
        with self._lock:
            found = self._db.execute("SELECT usd FROM spending WHERE run = ?", (run,)).fetchone()
        return float(found[0]) if found else 0.0

    def note_spent(self, run: str, usd: float) -> None:
        """Keep what a run has spent, so that a kill does not make its budget new."""
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO spending VALUES (?, ?)", (run, usd))

    def records(self) -> Iterator[dict[str, object]]:
        """Every request with its completions, sorted: the portable form, without times."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT provider, name, label, fingerprint, canonical, stream, {_COLUMNS} FROM completions "  # noqa: S608
                "JOIN models ON models.id = model JOIN requests ON requests.id = request "
                "ORDER BY provider, name, label, fingerprint, digest, stream, draw"
            ).fetchall()
        group: dict[str, object] | None = None
        drawn: list[dict[str, object]] = []
        for provider, name, label, fingerprint, canonical, stream, *rest in rows:
            head = {
                "model": {"provider": provider, "name": name, "label": label, "fingerprint": fingerprint},
                "request": json.loads(canonical),
                "stream": stream,
            }
            if group != head:
                if group is not None:
                    yield {**group, "completions": drawn}
                group, drawn = head, []
            drawn.append(_as_dict(_completion(rest)))
        if group is not None:
            yield {**group, "completions": drawn}

    def count(self, table: str = "completions") -> int:
        with self._lock:
            return self._rows(table)

    def _rows(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    def models(self) -> list[tuple[ModelIdentity, int, int, int]]:
        """(identity, completions, prompt tokens, completion tokens) of each model."""
        with self._lock:
            rows = self._db.execute(
                "SELECT provider, name, label, fingerprint, count(*), sum(prompt_tokens), sum(completion_tokens) "
                "FROM completions JOIN models ON models.id = model GROUP BY models.id ORDER BY 1, 2, 3, 4"
            ).fetchall()
        return [(ModelIdentity(*row[:4]), *row[4:]) for row in rows]

    def integrity(self) -> list[str]:
        """What is wrong with the file: SQLite's own findings, and requests whose digest does not fit their text."""
        with self._lock:
            found = [row[0] for row in self._db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            pairs = self._db.execute("SELECT digest, canonical FROM requests").fetchall()
        return found + [f"request {digest[:12]} was changed" for digest, text in pairs if not _fits(digest, text)]


def _fits(digest: str, canonical: str) -> bool:
    try:
        return request_of(json.loads(canonical)).digest == digest
    except (ValueError, KeyError, TypeError):
        return False


def request_of(content: Mapping[str, object], stream: str | None = None, draws: tuple[int, ...] = (0,)) -> Request:
    """The request behind its canonical content."""
    fields: dict[str, Any] = dict(content)
    fields["messages"] = tuple(Message(role, text) for role, text in fields["messages"])
    fields["stop"] = tuple(fields["stop"])
    if fields["temperature"] == 0:
        return Request(**fields)
    return Request(stream=stream or "any", draws=draws, **fields)


def _row(c: Completion) -> tuple[object, ...]:
    text = _HALF_CHARACTER.sub("\ufffd", c.text)
    tokens = _HALF_CHARACTER.sub("\ufffd", json.dumps(c.tokens, ensure_ascii=False)) if c.tokens is not None else None
    logprobs = json.dumps(c.logprobs) if c.logprobs is not None else None
    return (c.draw, text, tokens, logprobs, c.finish_reason.value, c.prompt_tokens, c.completion_tokens)


def _completion(row: Sequence[Any]) -> Completion:
    draw, text, tokens, logprobs, reason, prompt_tokens, completion_tokens = row
    return Completion(
        text=text,
        draw=draw,
        tokens=tuple(json.loads(tokens)) if tokens is not None else None,
        logprobs=tuple(json.loads(logprobs)) if logprobs is not None else None,
        finish_reason=FinishReason(reason),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
    )


def _as_dict(c: Completion) -> dict[str, object]:
    return {
        "draw": c.draw,
        "text": c.text,
        "tokens": c.tokens,
        "logprobs": c.logprobs,
        "finish_reason": c.finish_reason.value,
        "prompt_tokens": c.prompt_tokens,
        "completion_tokens": c.completion_tokens,
    }
