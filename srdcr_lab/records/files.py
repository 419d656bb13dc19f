"""Files: the shipped folders, files that are written whole, folders with one writer, strict reading of foreign JSON.

pydantic is imported only when a value is turned into one of our frozen types.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import math
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from srdcr_lab.records.vocabulary import BadInput, Stopped, must_be

if TYPE_CHECKING:
    import pandas as pd
    from pydantic_core import SchemaValidator

_PACKAGE = Path(__file__).resolve().parents[1]
_MOST_ERRORS = 1_000
LOCK = "in-use.lock"  # is in a folder while a process writes there


def as_path(given: str | Path) -> Path:
    """Check that a file system can hold this path; otherwise bad input."""
    must_be("a path", given, (str, Path), "a text or a Path")
    if given == "":
        raise BadInput("a path is an empty text; name a file or a folder")
    path = Path(given)
    try:
        str(path).encode()  # databases and tables need such names
        path.lstat()
    except (ValueError, OSError) as error:
        if isinstance(error, ValueError):
            raise BadInput(f"{str(path)!r} is not a path: it has a character that no file name can have") from None
        if error.errno == errno.ENAMETOOLONG:
            raise BadInput(f"the path {path} is too long; give a shorter one") from None
    return path


def to_write(path: str | Path, endings: Sequence[str] = ()) -> Path:
    """The path of a file to be written. A name that ends otherwise, a folder, and a file in no folder are bad input."""
    path = as_path(path)
    if endings and path.suffix.lower() not in endings:
        raise BadInput(f"{path}: expected a name that ends in {' or '.join(endings)}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise BadInput(f"{path} is a folder, or its folder does not exist; give a file in an existing folder")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Open a file beside `path` for writing. It is renamed to `path` when the block ends, and removed if that fails.

    A reader therefore never sees half a file. Of two writers at once, the one that ends last counts.
    """
    part = path.with_name(f"{path.name}.part-{uuid4().hex[:8]}")
    try:
        yield part
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a whole file (text as UTF-8), or leave the old one unchanged."""
    with whole_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """Write a table as CSV. A text that a spreadsheet would run as a formula gets a leading apostrophe, which
    `plain_cell` removes again; numbers stay, also as texts."""
    inert = frame.rename(columns=_inert)
    for place, kind in enumerate(frame.dtypes):
        if kind.kind == "O":
            inert.isetitem(place, frame.iloc[:, place].map(_inert))
    return str(inert.to_csv(index=False, lineterminator="\n"))


def _inert(cell: Any) -> Any:
    formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if formula else cell


def plain_cell(text: str) -> str:
    """Undo `csv_text` for one cell; any other text stays as it is."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def made(folder: Path) -> bool:
    """Make a folder unless it exists; True if it was made. A folder that cannot be made is bad input."""
    try:
        created = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"cannot make the folder {folder} ({reason}); give another --out") from None
    return created


@contextmanager
def one_writer(folder: Path) -> Iterator[bool]:
    """Lock a folder, made if needed, until the block ends; the value is whether it was made.

    The lock is the operating system's, so it ends with its process, however that ends. A folder made here that is empty
    at the end is removed. On a system without such locks, or if none may be written, the block runs without one.

    Raises
    ------
    Stopped
        Another process writes there; the sentence says which, where and since when. The same call works later.
    BadInput
        The folder cannot be made.
    """
    created = made(folder)
    path = folder / LOCK
    try:
        descriptor = _taken(path)
        try:
            yield created
        finally:
            if descriptor is not None:
                with suppress(OSError):
                    path.unlink()  # while it is held: nobody else can have taken it
                os.close(descriptor)
    finally:
        if created:
            with suppress(OSError):  # it holds something
                folder.rmdir()


def _taken(path: Path) -> int | None:
    """The descriptor of the locked lock file, which names its owner; None if there can be no lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return None
    try:
        import fcntl  # which not every system has

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        with os.fdopen(descriptor, errors="replace") as file:
            user = file.read(200).strip() or "another process"
        raise Stopped(f"{path.parent} is in use by {user}; run the same later, or choose another --out") from None
    except (OSError, ImportError):  # no locks here
        os.close(descriptor)
        with suppress(OSError):
            path.unlink()
        return None
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            with suppress(OSError):  # a full disk: the lock still holds
                os.truncate(descriptor, 0)
                since = datetime.now(UTC).isoformat(" ", "seconds")
                os.write(descriptor, f"process {os.getpid()} on {platform.node()} since {since}".encode())
            return descriptor
    os.close(descriptor)  # whoever had it removed it in between
    return _taken(path)


def parse_json(text: str | bytes, *, distinct_keys: bool = False) -> Any:
    """Read a JSON text that anyone may have written. Raises ValueError, with one sentence, if it is not valid JSON.

    NaN becomes None. Also refused are nesting too deep for Python, the word Infinity, numbers beyond 64 bits (no table
    can hold them) and, with `distinct_keys`, an object that has a key twice; otherwise the last value counts.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        return (_DISTINCT if distinct_keys else _DECODER).decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _integer(digits: str) -> int:
    if len(digits) < 19 or (len(digits) < 21 and -(2**63) <= int(digits) < 2**63):
        return int(digits)
    raise ValueError(f"the number {digits[:20]}… is beyond 64 bits")


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(f"the number {digits:.20} is beyond 64 bits")
    return number


def _no_number(name: str) -> None:
    if name != "NaN":  # many programs write a missing value so
        raise ValueError(f"{name} is not a JSON number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(distinct := dict(pairs)) < len(pairs):
        raise ValueError(f"{Counter(key for key, _ in pairs).most_common(1)[0][0]!r} occurs twice; give each key once")
    return distinct


# Made only once: making a decoder takes as long as reading a row of a store.
_READ: dict[str, Any] = {"parse_int": _integer, "parse_float": _finite, "parse_constant": _no_number}
_DECODER, _DISTINCT = json.JSONDecoder(**_READ), json.JSONDecoder(**_READ, object_pairs_hook=_distinct)


def read_json(text: str | bytes, where: str, expected: str = "", *, distinct_keys: bool = False) -> Any:
    """`parse_json`, with an error as bad input that names `where` (a file, line or cell) and what was `expected`."""
    try:
        return parse_json(text, distinct_keys=distinct_keys)
    except ValueError as error:
        raise BadInput(f"{where}: not valid JSON ({error})" + (f"; expected {expected}" if expected else "")) from None


# Fields that files of earlier versions do not have, and one that no file has.
_LATER = ("settings", "thinking", "thinking_tokens", "margins", "accepted", "flags", "is_control", "hops", "traits")


def as_plain(value: Any) -> dict[str, Any]:
    """The fields of a record without empty ones of `_LATER`, so that files stay as they were; dump it with ``asdict``
    as `default` if some are records."""
    held = ((name, getattr(value, name)) for name in value.__dataclass_fields__)  # `fields` makes them anew each time
    return {name: part for name, part in held if part or name not in _LATER}


def from_plain(kind: Any, value: object, where: str, *, extra: Literal["forbid", "ignore"] = "forbid") -> Any:
    """The reverse of `as_plain`: turn a value read from JSON into `kind`, one of our frozen dataclasses.

    Types are strict. Further fields are refused, or with `extra` ignored; every field except those of `_LATER` must be
    there, even with a default: a file without it is of another version. A class with `keeps_defaults` may lack any
    field that has a default, so it can gain fields. Bad input names `where` and the field.
    """
    try:
        return from_json(kind, json.dumps(value), where, extra=extra)
    except RecursionError:
        raise BadInput(f"{where}: it is nested too deeply") from None


def from_json(kind: Any, text: Any, where: str, *, extra: Literal["forbid", "ignore"] = "forbid") -> Any:
    """`from_plain` of a JSON text, which may also hold NaN and infinities."""
    from pydantic_core import ValidationError

    try:
        return _validator(kind).validate_json(text, strict=True, extra=extra)
    except ValidationError as errors:
        if errors.error_count() > _MOST_ERRORS:  # all would be built to show the first
            raise BadInput(f"{where}: more than {_MOST_ERRORS:,} fields are not as expected") from None
        error = errors.errors(include_url=False)[0]
    except BadInput as fault:  # of the class's own checks
        raise BadInput(f"{where}: {fault}") from None
    # each step with a comma before it; entries of a list count from 1
    path = "".join(f", {step + 1 if isinstance(step, int) else step}" for step in error["loc"])
    got = "" if error["type"] == "missing" else f", got {error['input']!r:.80}"
    raise BadInput(f"{where}{path}: {error['msg'].replace('Input should be', 'expected')}{got}")


@cache
def _validator(kind: Any) -> SchemaValidator:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_without_defaults(TypeAdapter(kind).core_schema))


def _without_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_defaults(part) for part in schema]
    if not isinstance(schema, dict) or schema.get("name") in _LATER or hasattr(schema.get("cls"), "keeps_defaults"):
        return schema
    if schema.get("type") == "default":
        return _without_defaults(schema["schema"])
    first_error = {"fail_fast": True} if schema.get("type") in ("list", "tuple") else {}
    return {name: _without_defaults(part) for name, part in schema.items()} | first_error


def rows_beside(module: str, name: str) -> list[dict[str, str]]:
    """The rows of the CSV file `name` that lies beside a module, whose `__file__` is given."""
    with Path(module).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_decoded_size(path: Path, most: int = 4 << 30) -> None:
    """Raise `BadInput` if a file is not Parquet, or if its values take more than `most` bytes in memory: a dictionary
    can repeat one value many times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        written = pq.read_metadata(path.absolute())  # a relative path may be a URI
        groups = [written.row_group(number) for number in range(written.num_row_groups)]
        columns = [written.schema.column(place) for place in range(written.num_columns)]
        least = max((group.total_byte_size for group in groups), default=0)
        for place, column in enumerate(columns):
            least += max(8, column.length) * sum(group.column(place).num_values for group in groups)
        # As dictionaries no value is repeated in memory. Those in lists cannot be read so: half a GiB of them at once.
        flat = [column.path for column in columns if "." not in column.path]
        inner = [place for place, column in enumerate(columns) if "." in column.path]
        of_lists = (sum(group.column(place).total_uncompressed_size for place in inner) for group in groups)
        rows = max(1, min(10_000, min(most, 1 << 29) // max([1, *of_lists])))
        with pq.ParquetFile(path.absolute(), read_dictionary=flat) as file:
            sizes = (sum(map(_decoded_size, batch.columns)) for batch in file.iter_batches(batch_size=rows))
            if least > most or any(size > most for size in accumulate(sizes)):
                raise BadInput(f"{path.name} holds more than {most >> 20:,} MiB, too much for a table; make it smaller")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"cannot read {path} as parquet: {error}") from None


def _decoded_size(array: Any) -> int:
    """Bytes of an array, each value of a dictionary as often as it occurs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.DictionaryArray) and not pa.types.is_primitive(array.dictionary.type):
        return pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    return int(array.nbytes)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal; takes about a second a gigabyte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder(name: str) -> Path:
    """Path of the shipped folder ``name`` (``"facts"``, ``"pocket"``), in a checkout or in the installed wheel."""
    for candidate in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / "data" / name):
        if candidate.is_dir():
            return candidate
    raise BadInput(f"this installation has no data/{name}; reinstall srdcr-lab, or work in a clone of its repository")
