"""What can still be read of a damaged store: each page of the file by itself, whatever else is broken.

    python tools/recover_store.py FILE NEW     every row of FILE that is whole goes into NEW; exit code 1: some are lost

SQLite reads a table from its root down, so one bad page hides all below it. Here, in a copy, every page that holds rows
becomes the root of a table in turn, and SQLite reads that table; each row is checked by itself (`store.checked`), and
taken where its numbers lead to one model and one request.

Source: "Database File Format", https://www.sqlite.org/fileformat2.html, sections 1.3 (header), 1.6 (pages), 2.6 (the
table of tables) and 4 (log).
"""

from __future__ import annotations

import math
import shutil
import sqlite3
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from srdcr_lab import cli
from srdcr_lab.commands import DONE, PATH, SOME_FAILED, echo, open_store
from srdcr_lab.models import Store
from srdcr_lab.models.store import INSERT, Asked, Fact, as_file, completion_of, request_of
from srdcr_lab.records import BadInput, ModelIdentity, SrdcrError

_INTERIOR_INDEX, _LEAF_INDEX, _LEAF_TABLE = 2, 10, 13  # kinds of pages with rows
_LONGEST_ROW = 2**26  # bytes
_LOG_HEADER, _FRAME = 32, 24  # bytes of a log's beginning, and before each of its pages
# Tables into which all rows of a store fit, those with a number and those without; what a row lacks is NULL.
_TABLES = """
CREATE TABLE numbered (id INTEGER PRIMARY KEY, a, b, c, d, e, f);
CREATE TABLE keyed (a, b, c, d, e, f, g, h, i, j, k, l, m, n, PRIMARY KEY (a, b, c, d)) WITHOUT ROWID;
"""
_NEWEST = (
    "INSERT INTO facts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
    "SET value = excluded.value, created = excluded.created WHERE excluded.created > created"
)
_SPENT_MOST = "INSERT INTO spending VALUES (?1, ?2) ON CONFLICT DO UPDATE SET usd = max(usd, ?2)"


def salvage(path: Path, copy: Path, into: sqlite3.Connection) -> int:
    """Put every row of a damaged store that is whole into the empty tables of a new one, by way of a `copy`.

    Returns how many rows were seen to be lost: completions that are damaged, or without their model or request, and
    requests without a completion.
    """
    models: dict[Any, set[str]] = defaultdict(set)  # number → key; of two rows with one number, one was changed
    requests: dict[Any, set[str]] = defaultdict(set)  # number → digest
    saved: set[tuple[Any, ...]] = set()
    damaged: set[tuple[Any, ...]] = set()
    pages = _copied(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.text_factory = partial(str, encoding="utf-8", errors="replace")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
        db.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
        for number, name, *columns, settings in _rows(db, "numbered", pages[_LEAF_TABLE]):
            named = [*columns, settings or ""]  # which earlier versions did not have
            if columns[1] is None and _is_request(name, columns[0]):
                requests[number].add(name)
                into.execute(INSERT["request"], (name, columns[0]))
            elif all(type(column) is str for column in named) and ModelIdentity(*named).key == name:
                models[number].add(name)
                into.execute(INSERT["model"], (name, *named))
        for row in _rows(db, "keyed", pages[_LEAF_INDEX]):
            model, request, stream, draw, *said, created, thinking, thinking_tokens, margins = row
            said += thinking, thinking_tokens, margins
            if type(request) is float and stream is None and 0 <= request < math.inf:
                into.execute(_SPENT_MOST, (model, request))
            if said[0] is None and _is_whole(Fact(*row[:3]).checked):
                into.execute(_NEWEST, row[:4])
            if _is_asked(row[:8]):  # open ones; of those that are answered there are completions
                into.execute(INSERT["asked"].replace("REPLACE", "IGNORE"), row[:8])
            if created is None:  # of another table, or of an index
                continue
            fitting = [*product(models[model], requests[request])]
            is_whole = len(fitting) == 1 and type(stream) is str and _is_whole(completion_of, (draw, *said))
            if is_whole:  # its number may have been changed into that of a request which such a draw cannot be of
                (text,) = into.execute("SELECT canonical FROM requests WHERE digest = ?", fitting[0][1:]).fetchone()
                is_whole = _is_whole(request_of, text, stream, (draw,))
            if is_whole:
                into.execute(INSERT["completion"], (stream, draw, *said, created, *fitting[0]))
            (saved if is_whole else damaged).add(row[:4])
    unanswered = into.execute("DELETE FROM requests WHERE id NOT IN (SELECT request FROM completions)").rowcount
    return len(damaged - saved) + unanswered


def _is_whole(read: Any, *columns: object) -> bool:
    try:
        read(*columns)
    except ValueError:
        return False
    return True


def _is_request(digest: object, canonical: object) -> bool:
    """Whether the text of a request has this digest."""
    with suppress(ValueError):
        return request_of(canonical).digest == digest
    return False


def _is_asked(row: Sequence[Any]) -> bool:
    """Whether a row says what was asked elsewhere; its name is computed from the rest."""
    with suppress(ValueError, TypeError, AttributeError):
        return Asked.of(row).row() == (*row,)
    return False


def _rows(db: sqlite3.Connection, table: str, pages: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The rows of these pages, some of them twice: where one cannot be read, those after it are read from the end."""
    for number in pages:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (number, table))
        db.execute("PRAGMA writable_schema=RESET")
        for order in ("ASC", "DESC"):
            with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
                yield from db.execute(f"SELECT * FROM {table} ORDER BY 1 {order}")  # noqa: S608
                break


def _copied(path: Path, copy: Path) -> dict[int, list[int]]:
    """Make a database of all pages of a store and of its log; return the numbers of those with rows, by kind.

    Pages of the log that lie beyond the file stand in their place too, since long rows are read on there.
    """
    beside = Path(f"{path}-wal")
    log = beside.read_bytes() if beside.is_file() else b""
    with path.open("rb") as file:
        header = file.read(18).ljust(18, b"\0")
    named = (header[16] << 8 | header[17] << 16, int.from_bytes(log[8:12]))  # 65536 is written as 1
    size = next((size for size in named if 512 <= size <= 65536 and size & (size - 1) == 0), 4096)
    with closing(sqlite3.connect(copy)) as db:
        db.executescript(f"PRAGMA synchronous=OFF; PRAGMA page_size={size}; {_TABLES}")
    step = _FRAME + size
    begins = range(_LOG_HEADER, len(log) - step + 1, step)
    frames = [(int.from_bytes(log[at : at + 4]), log[at + _FRAME : at + step]) for at in begins]
    pages: dict[int, list[int]] = defaultdict(list)
    with path.open("rb") as file, copy.open("r+b") as image:
        first = image.read(size)
        image.seek(0)
        shutil.copyfileobj(file, image)
        count = max(-(-image.tell() // size), 3)
        beyond = {number: page for number, page in frames if count < number <= count + len(frames)}
        image.seek(0)
        behind = [image.read(size), *(page for _, page in frames)]
        image.seek(count * size)
        image.writelines(beyond.get(number, bytes(size)) for number in range(count + 1, max(beyond, default=0) + 1))
        image.writelines(page.ljust(size, b"\0") for page in behind)
        count = image.tell() // size
        image.seek(0)
        image.write(first[:28] + count.to_bytes(4) + first[32:])
        for number in range(2, count + 1):
            page = image.read(size)
            if page[0] == _INTERIOR_INDEX:
                image.seek(-size, 1)
                image.write(page := _as_leaf(page))
            pages[page[0]].append(number)
    return pages


def _as_leaf(page: bytes) -> bytes:
    """An inner page of an index as a leaf with the same rows, which begin behind the number of a page below."""
    cells = page[12 : 12 + 2 * int.from_bytes(page[3:5])]
    places = [int.from_bytes(cells[at : at + 2]) + 4 & 0xFFFF for at in range(0, len(cells), 2)]
    begins = bytes([_LEAF_INDEX]) + page[1:8] + struct.pack(f">{len(places)}H", *places)
    return begins + page[len(begins) :]


def recover(new: Store, source: Path) -> tuple[int, bool]:
    """Fill a new store with all that can be read of another. Bad input if that is nothing.

    Returns how many rows were seen to be lost, and whether the other is damaged at all.
    """
    with TemporaryDirectory(dir=Path(new.path).parent) as place, new.transaction():
        lost = salvage(as_file(source), Path(place) / "pages.sqlite", new._db)
        if not new.count():
            raise BadInput(f"no completion can be read in {source}; run the study again with a new --store")
        copy = Path(place) / "store.sqlite"
        for end in ("", "-wal"):  # opened in a copy: SQLite would write to it
            if Path(f"{source}{end}").exists():
                shutil.copyfile(f"{source}{end}", f"{copy}{end}")
        try:
            with closing(Store(copy)) as other:
                return lost, bool(other.integrity())
        except SrdcrError:
            return lost, True


@click.command("recover-store")
@click.argument("file", type=PATH)
@click.argument("target", metavar="NEW", type=PATH)
def recover_store(file: Path, target: Path) -> int:
    """Save what can be read of a damaged store FILE into NEW, a new store. Exit code 1 where some rows are lost."""
    if target.exists():
        raise BadInput(f"{target} exists; give a new file, into which the rows are saved")
    with open_store(target, create=True) as new:
        lost, damaged = recover(new, file)
        echo(f"{target}: {new.count():,} completions of {new.count('requests'):,} requests saved")
    echo(f"{lost:,} rows were seen to be lost" + "; what unreadable pages held besides is not counted" * damaged)
    echo(f"go on with --store {target}: a run asks only for what is missing there")
    return SOME_FAILED if lost or damaged else DONE


if __name__ == "__main__":
    cli.cli.add_command(recover_store)
    cli.main(["recover-store", *sys.argv[1:]])
