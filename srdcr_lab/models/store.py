"""The store: every completion that was paid for, in one SQLite file, committed as it arrives.

A completion's key is the model's identity, the request without its draws, the stream and the draw. First write wins, so
two kernels may share a file, and a resumed run finds what a killed run had received. The store holds no key and no
address. As JSON lines (`Store.export`, `Store.merge`) it can be carried to a colleague.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from srdcr_lab.models.base import whole_characters
from srdcr_lab.records import BadInput, Completion, FinishReason, Message, ModelIdentity, Request, Stopped
from srdcr_lab.records.files import whole_file

_VERSION = "1"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO meta VALUES ('version', '1');
CREATE TABLE IF NOT EXISTS
    models (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, provider TEXT, name TEXT, label TEXT,
    fingerprint TEXT);
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, canonical TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS completions (model INTEGER, request INTEGER, stream TEXT, draw INTEGER, text TEXT NOT NULL,
    tokens TEXT, logprobs TEXT, finish_reason TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
    created TEXT NOT NULL, PRIMARY KEY (model, request, stream, draw)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (run TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
"""
_FIELDS = ("draw", "text", "tokens", "logprobs", "finish_reason", "prompt_tokens", "completion_tokens")
_LISTS = ("tokens", "logprobs")  # JSON in the table, which SQLite hands to the converter
_COLUMNS = ", ".join(f'{name} AS "{name} [json]"' if name in _LISTS else name for name in _FIELDS)
sqlite3.register_converter("json", json.loads)
_JOINED = "completions JOIN models ON models.id = model JOIN requests ON requests.id = request"


class Store:
    """An open store file (``":memory:"`` for one that is forgotten).

    Raises `BadInput` if the file is no store, is of another version, or lies on a file system where SQLite's
    write-ahead log does not work. A file that is refused is left as it was.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._lock = threading.RLock()
        self._created = self.path != ":memory:" and not Path(self.path).exists()
        try:
            self._db = sqlite3.connect(
                self.path,
                timeout=60,
                isolation_level=None,
                check_same_thread=False,
                detect_types=sqlite3.PARSE_COLNAMES,
            )
            try:
                self._open()
            except BaseException:
                self.withdraw()
                raise
        except sqlite3.OperationalError as error:
            raise BadInput(
                f"cannot open the store {self.path} ({error}); give a writable file on a local disk with --store"
            ) from None
        except sqlite3.DatabaseError:
            raise BadInput(f"{self.path} is not a store of srdcr_lab; give another file with --store") from None

    def _open(self) -> None:
        if tables := self._tables():  # look before anything is changed: it may be somebody else's
            if not {"meta", "completions"} <= tables:
                raise BadInput(f"{self.path} is another program's SQLite file; give another file with --store")
            version = dict(self._rows("SELECT key, value FROM meta")).get("version", "none")
            if version != _VERSION:
                raise BadInput(
                    f"the store {self.path} has version {version}, this srdcr_lab reads version {_VERSION}; "
                    "export it with the version that made it, or give another file with --store"
                )
        mode = self._db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal" and self.path != ":memory:":
            raise BadInput(
                f"the file system of {self.path} does not support SQLite's write-ahead log (journal mode {mode}); "
                "put the store on a local disk with --store"
            )
        self._db.execute("PRAGMA synchronous=NORMAL")
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)

    def _tables(self) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

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
        """Close, and delete the file if this object made it, nothing is in it and nobody else has it open."""
        with self._lock, closing(self._db), suppress(sqlite3.Error):
            if self._created:
                self._db.execute("PRAGMA busy_timeout=0")
                alone = self._db.execute("PRAGMA journal_mode=DELETE").fetchone()[0] == "delete"
                if alone and not ("completions" in self._tables() and self.count()):
                    Path(self.path).unlink(missing_ok=True)

    def get(self, model: ModelIdentity, request: Request) -> dict[int, Completion]:
        """Draw → completion, for those of the request's draws that are here."""
        marks = ",".join("?" * len(request.draws))
        query = (
            f"SELECT {_COLUMNS} FROM {_JOINED} "  # noqa: S608 (marks are question marks)
            f"WHERE models.key = ? AND digest = ? AND stream = ? AND draw IN ({marks})"
        )
        rows = self._rows(query, model.key, request.digest, request.stream, *request.draws)
        return {row[0]: _completion(*row) for row in rows}

    def put(self, model: ModelIdentity, request: Request, completions: Sequence[Completion]) -> None:
        """Commit completions of one request; those that are here already stay (the first write wins).

        Raises `Stopped` if they cannot be written (disk full): a run must not go on paying for what it cannot keep.
        """
        created = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(request.stream, *_row(c), created, model.key, request.digest) for c in completions]
        try:
            with self._lock, self._transaction():
                self._db.execute(
                    "INSERT OR IGNORE INTO models (key, provider, name, label, fingerprint) VALUES (?, ?, ?, ?, ?)",
                    (model.key, model.provider, model.name, model.label, model.fingerprint),
                )
                self._db.execute(
                    "INSERT OR IGNORE INTO requests (digest, canonical) VALUES (?, ?)",
                    (request.digest, request.canonical),
                )
                self._db.executemany(
                    "INSERT OR IGNORE INTO completions SELECT models.id, requests.id, ?, ?, ?, ?, ?, ?, ?, ?, ? "
                    "FROM models, requests WHERE models.key = ? AND digest = ?",
                    rows,
                )
        except sqlite3.Error as error:
            raise Stopped(
                f"cannot write to the store {self.path} ({error}); put that right and run the same again to go on"
            ) from None

    def spent(self, run: str) -> float:
        """What a run has spent so far, US dollars, in all its attempts; 0 for a run that is not known here."""
        rows = self._rows("SELECT usd FROM spending WHERE run = ?", run)
        return float(rows[0][0]) if rows else 0.0

    def note_spent(self, run: str, usd: float) -> None:
        """Keep what a run has spent, so that a run that is killed and resumed does not get its budget anew."""
        self._rows("INSERT OR REPLACE INTO spending VALUES (?, ?)", run, usd)

    def count(self, table: str = "completions") -> int:
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    def models(self) -> list[tuple[ModelIdentity, int, int, int]]:
        """(identity, completions, prompt tokens, completion tokens) of each model."""
        rows = self._rows(
            "SELECT provider, name, label, fingerprint, count(*), sum(prompt_tokens), sum(completion_tokens) "
            "FROM completions JOIN models ON models.id = model GROUP BY models.id ORDER BY 1, 2, 3, 4"
        )
        return [(ModelIdentity(*row[:4]), *row[4:]) for row in rows]

    def integrity(self) -> list[str]:
        """What is wrong with the file: SQLite's own findings, and requests whose digest does not fit their text."""
        faults = [finding for (finding,) in self._rows("PRAGMA integrity_check") if finding != "ok"]
        pairs = self._rows("SELECT digest, canonical FROM requests")
        return faults + [f"request {digest[:12]} was changed" for digest, text in pairs if not _fits(digest, text)]

    def contents(self) -> Iterator[tuple[ModelIdentity, Request, list[Completion]]]:
        """Every request with its completions, sorted."""
        rows = self._rows(
            f"SELECT provider, name, label, fingerprint, canonical, stream, {_COLUMNS} FROM {_JOINED} "  # noqa: S608
            "ORDER BY provider, name, label, fingerprint, digest, stream, draw"
        )
        for (*model, canonical, stream), group in groupby(rows, key=itemgetter(slice(6))):
            completions = [_completion(*row[6:]) for row in group]
            draws = tuple(completion.draw for completion in completions)
            yield ModelIdentity(*model), _request(json.loads(canonical), stream, draws), completions

    def export(self, target: Path) -> int:
        """Write every request with its completions as JSON lines, sorted and without times; return their number.

        A target that is a store is bad input: completions that were paid for are not overwritten.
        """
        if target.is_file() and _is_sqlite(target):
            raise BadInput(f"{target} is a store, which an export would destroy; give another target")
        lines = 0
        try:
            with whole_file(target) as part, part.open("w", encoding="utf-8") as file:
                for model, request, completions in self.contents():
                    record = {
                        "model": asdict(model),
                        "request": json.loads(request.canonical),
                        "stream": request.stream,
                        "completions": [asdict(completion) for completion in completions],
                    }
                    file.write(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n")
                    lines += 1
        except OSError as error:
            raise BadInput(f"cannot write {target} ({error.strerror}); give another target") from None
        return lines

    def merge(self, source: Path) -> int:
        """Add what another store or an export holds; what is here already stays. Returns the completions added.

        Where a line is no record of an export, that is bad input and nothing is added.
        """
        if not source.is_file():
            raise BadInput(f"there is no file {source} to merge")
        if _is_sqlite(source):
            with closing(Store(source)) as other:
                contents = list(other.contents())
        else:
            contents = list(_exported(source))
        before = self.count()
        for model, request, completions in contents:
            self.put(model, request, completions)
        return self.count() - before


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


def _exported(path: Path) -> Iterator[tuple[ModelIdentity, Request, list[Completion]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line.decode("utf-8"))
                completions = [_completion(*(fields[name] for name in _FIELDS)) for fields in record["completions"]]
                draws = tuple(completion.draw for completion in completions)
                request = _request(record["request"], record["stream"], draws)
                yield ModelIdentity(**record["model"]), request, completions
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadInput(f"{path}, line {number}: no record of a store export ({error})") from None


def _fits(digest: str, canonical: str) -> bool:
    try:
        return _request(json.loads(canonical), "any").digest == digest
    except (ValueError, KeyError, TypeError):
        return False


def _request(content: Mapping[str, Any], stream: str, draws: tuple[int, ...] = (0,)) -> Request:
    """The request of its canonical content, with the address of its completions."""
    fields = dict(content)
    fields["messages"] = tuple(Message(role, text) for role, text in fields["messages"])
    fields["stop"] = tuple(fields["stop"])
    if fields["temperature"] == 0:
        return Request(**fields)
    return Request(stream=stream, draws=draws, **fields)


def _row(c: Completion) -> tuple[object, ...]:
    """A completion as the table holds it: tokens and log-probabilities as JSON."""
    text = whole_characters(c.text)
    tokens = None if c.tokens is None else whole_characters(json.dumps(c.tokens, ensure_ascii=False))
    logprobs = None if c.logprobs is None else json.dumps(c.logprobs)
    return (c.draw, text, tokens, logprobs, c.finish_reason.value, c.prompt_tokens, c.completion_tokens)


def _completion(
    draw: Any, text: Any, tokens: Any, logprobs: Any, finish_reason: Any, prompt_tokens: Any, completion_tokens: Any
) -> Completion:
    """A completion of plain values. Raises ValueError or TypeError where they are none."""
    if not isinstance(text, str):
        raise ValueError("the text of a completion is no text")
    tokens = None if tokens is None else tuple(map(str, tokens))
    logprobs = None if logprobs is None else tuple(map(float, logprobs))
    finish = FinishReason(finish_reason)
    return Completion(text, int(draw), tokens, logprobs, finish, int(prompt_tokens), int(completion_tokens))
