"""What can still be read of a damaged store: each page of the file by itself, whatever else is broken.

SQLite reads a table from its root down, so one bad page hides all below it. Here no page is asked where another one
is: every page with rows is read, in the file and in its write-ahead log, and each row is checked by itself.

Source: "Database File Format", https://www.sqlite.org/fileformat2.html, sections 1.3 (header), 1.6 (pages), 2.1 (rows)
and 4 (log).
"""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from srdcr_lab.models.kept import completion_of, request_of
from srdcr_lab.records import ModelIdentity

_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13  # kinds of pages
_HEADER, _LOG_HEADER, _FRAME = 100, 32, 24  # bytes of a file's beginning, of its log's, and before each page of a log
_LONGEST_ROW = 2**26  # bytes
_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a column, by its type
_TABLES = {2: "spending", 3: "requests", 6: "models", 11: "completions"}  # by their number of columns
Row = tuple[int, list[Any]]  # rowid (0 in a table without) and columns


@dataclass(frozen=True)
class Recovered:
    """What a damaged store lacks: `lost` rows were seen, but are not whole or belong to none that is."""

    lost: int
    pages: int
    unread_pages: int


def recover(path: Path, db: sqlite3.Connection) -> Recovered:
    """Put every row of a damaged store that is whole into the empty tables of a new one."""
    good: set[tuple[object, ...]] = set()
    bad: set[tuple[object, ...]] = set()
    names: dict[tuple[str, int], object] = {}  # digest or key of a number
    with path.open("rb") as file:
        pages = Pages(path, file)
        for rowid, columns in pages.rows():
            table = _TABLES.get(len(columns), "")
            key = (table, rowid, *columns[: 4 if table == "completions" else 0])
            try:
                if (row := _row_of_table(table, rowid, columns)) is None:
                    continue
            except ValueError:
                bad.add(key)
                continue
            if names.setdefault((table, rowid), row[1]) != row[1] and rowid:
                bad.add(key)  # of two that claim one number, nobody knows which was changed
                names[table, rowid] = None
                continue
            good.add(key)
            first_or_last = "REPLACE" if table == "spending" else "IGNORE"
            db.execute(f"INSERT OR {first_or_last} INTO {table} VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
    for (table, number), name in names.items():
        if name is None:
            db.execute(f"DELETE FROM {table} WHERE id = ?", (number,))  # noqa: S608
    belongs = "model IN (SELECT id FROM models) AND request IN (SELECT id FROM requests)"
    lost = db.execute(f"DELETE FROM completions WHERE NOT ({belongs})").rowcount  # noqa: S608
    bare = "FROM requests WHERE id NOT IN (SELECT request FROM completions)"  # a store has none: its answer is lost
    damaged = bad - good
    lost += len(damaged) + len({n for (n,) in db.execute(f"SELECT id {bare}")} - {key[3] for key in damaged if key[3:]})
    db.execute(f"DELETE {bare}")
    return Recovered(lost, pages.count, len(pages.unread))


def _row_of_table(table: str, rowid: int, columns: list[Any]) -> tuple[Any, ...] | None:
    """The row as the table takes it, None if it is of no table of ours. Raises ValueError where it was changed."""
    if table == "requests":
        return rowid, request_of(*columns[1:]).digest, columns[2]
    if table == "models":
        if not all(type(name) is str for name in columns[2:]) or ModelIdentity(*columns[2:]).key != columns[1]:
            raise ValueError("the model was changed")
        return (rowid, *columns[1:])
    if table == "completions":
        model, request, stream, *rest, created = columns
        if (type(model), type(request), type(stream)) != (int, int, str):
            raise ValueError("the key was changed")
        completion_of(rest, created)
        return tuple(columns)
    if table == "spending" and type(columns[1]) is float and 0 <= columns[1] < math.inf:
        return (str(columns[0]), columns[1])
    return None


class Pages:
    """The pages of a store; `unread` are the numbers of those that could not be read whole, once `rows` has ended."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        header, log = file.read(_HEADER).ljust(_HEADER, b"\0"), _log(path)
        named = (header[16] << 8 | header[17] << 16, int.from_bytes(log[8:12], "big"))  # 65536 is written as 1
        self._file = file
        self._size = next((size for size in named if 512 <= size <= 65536 and size & (size - 1) == 0), 4096)
        self._room = self._size - (header[20] if header[20] <= 32 else 0)
        self._log = [(_integer(log, at), log[at + _FRAME : end]) for at, end in _frames(log, self._size)]
        self._latest = dict(self._log)
        self.count = file.seek(0, 2) // self._size
        self.unread = set(range(1, self.count + 1))

    def rows(self) -> Iterator[Row]:
        """Every row that can be read, those of the log last; a row may come more than once."""
        for number in range(1, self.count + 1):
            yield from self._rows(number, self._in_file(number))
        for number, page in self._log:
            yield from self._rows(number, page)

    def _in_file(self, number: int) -> bytes:
        self._file.seek((number - 1) * self._size)
        return self._file.read(self._size)

    def _rows(self, number: int, page: bytes) -> list[Row]:
        start = _HEADER if number == 1 else 0
        kind, cells = page[start], int.from_bytes(page[start + 3 : start + 5], "big")
        if kind == _INTERIOR_TABLE:
            self.unread.discard(number)
        if kind not in (_INTERIOR_INDEX, _LEAF_INDEX, _LEAF_TABLE) or cells > self._size // 4:
            return []  # no rows, or where a long row goes on, or damaged
        first = start + (12 if kind == _INTERIOR_INDEX else 8)
        rows, bad, pages = [], 0, {number}
        for place in range(first, first + 2 * cells, 2):
            try:
                rows.append(self._row(page, kind, int.from_bytes(page[place : place + 2], "big"), pages))
            except (ValueError, IndexError, struct.error):
                bad += 1
        # A page is sorted by its key. Of two rows that are not, nobody knows which one was changed.
        keys = [(rowid, [(str(type(value)), value or 0) for value in columns[:4]]) for rowid, columns in rows]
        doubted = {at + i for at, (one, other) in enumerate(pairwise(keys)) if not one < other for i in (0, 1)}
        if not bad and not doubted:
            self.unread -= pages
        return [row for at, row in enumerate(rows) if at not in doubted]

    def _row(self, page: bytes, kind: int, at: int, pages: set[int]) -> Row:
        """The row at that byte of a page; the pages that it goes on to are added to `pages`."""
        rowid, table = 0, kind == _LEAF_TABLE
        size, at = _varint(page, at + 4 if kind == _INTERIOR_INDEX else at)
        if table:
            rowid, at = _varint(page, at)
        most = self._room - 35 if table else (self._room - 12) * 64 // 255 - 23
        here = size
        if size > most:
            least = (self._room - 12) * 32 // 255 - 23
            here = least + (size - least) % (self._room - 4)
            here = here if here <= most else least
        parts, missing, following = [page[at : at + here]], size - here, page[at + here : at + here + 4]
        passed: set[int] = set()
        while missing > 0:
            number = _integer(following)
            part = self._latest.get(number) or self._in_file(number)
            if number in passed or size > _LONGEST_ROW:
                raise ValueError("no row of a store is that long")
            passed.add(number)
            following, content = part[:4], part[4 : self._room][:missing]
            parts.append(content)
            missing -= len(content)
        columns = _columns(b"".join(parts))
        pages |= passed
        return rowid, columns


def _columns(record: bytes) -> list[Any]:
    """The values of a row. Raises ValueError or IndexError where its bytes are no row."""
    end, at = _varint(record, 0)
    types = []
    while at < end:
        kind, at = _varint(record, at)
        types.append(kind)
    values: list[Any] = []
    for kind in types:
        width = _WIDTHS[kind] if kind < 12 else (kind - 12) // 2
        raw, at = record[at : at + width], at + width
        if kind == 0:
            values.append(None)
        elif kind == 7:
            values.append(struct.unpack(">d", raw)[0])
        elif kind < 10:
            values.append(kind - 8 if kind > 7 else int.from_bytes(raw, "big", signed=True))
        else:
            values.append(raw.decode() if kind % 2 else raw)
    if at != len(record):
        raise ValueError("a row is as long as its columns")
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number of one to nine bytes that begins there, and where it ends."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 127
        if data[place] < 128:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def log_is_broken(path: Path) -> bool:
    """Whether the write-ahead log holds a committed page behind a broken one: SQLite would drop both without a word.

    Another process may be writing to it, so a log that seems broken is read twice.
    """
    return all(_is_broken(_log(path)) for _ in range(2))


def _is_broken(log: bytes) -> bool:
    if len(log) < _LOG_HEADER + _FRAME:
        return False
    order = ">" if log[3] & 1 else "<"
    seed, broken = _checksum(order, (0, 0), log[:24]), False
    if seed != struct.unpack(">2I", log[24:32]):
        return True
    for at, end in _frames(log, _integer(log, 8)):
        stored = struct.unpack(">2I", log[at + 16 : at + 24])
        whole = log[at + 8 : at + 16] == log[16:24] and stored == _checksum(
            order, _checksum(order, seed, log[at : at + 8]), log[at + _FRAME : end]
        )
        if whole and broken and _integer(log, at + 4):
            return True
        seed, broken = stored, broken or not whole
    return False


def _checksum(order: str, seed: tuple[int, ...], data: bytes) -> tuple[int, ...]:
    first, second = seed
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one, other in zip(words, words, strict=True):
        first = first + one + second & 0xFFFFFFFF
        second = second + other + first & 0xFFFFFFFF
    return first, second


def _log(path: Path) -> bytes:
    log = Path(f"{path}-wal")
    return log.read_bytes() if log.is_file() else b""


def _frames(log: bytes, size: int) -> list[tuple[int, int]]:
    """Where each page of a log begins, with what is said of it, and where it ends."""
    step = _FRAME + size
    return [(at, at + step) for at in range(_LOG_HEADER, len(log) - step + 1, step)]


def _integer(data: bytes, at: int = 0) -> int:
    return int(struct.unpack_from(">I", data, at)[0])
