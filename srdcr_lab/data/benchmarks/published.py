"""What a published benchmark is: its home, licence, file, checksum and columns, and the function that reads it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from srdcr_lab.records import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from srdcr_lab.data.items import ItemSet
    from srdcr_lab.records import Exemplar


Reader = Callable[["pd.DataFrame", str, "tuple[Exemplar, ...]"], "ItemSet"]
Joiner = Callable[["pd.DataFrame", str, Path], "pd.DataFrame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One published file and how it becomes items.

    `sha256` is empty where no checksum is known to us; then the first fetch records one, and later reads must agree.
    A column written ``"a|b"`` may have either name; `recognised` is False where the columns are too common to tell the
    benchmark by. `join` adds what a table of the user's holds to the published rows (``NAME=FILE+TABLE``).
    """

    name: str
    meaning: str
    home: str
    licence: str
    rows: int
    url: str
    file: str
    sha256: str
    columns: tuple[str, ...]
    read: Reader
    join: Joiner | None = None
    recognised: bool = True


def needed_columns(frame: pd.DataFrame, source: Benchmark, path: Path) -> None:
    """Raise `BadInput` where a published column is missing, or every row."""
    found = set(map(str, frame.columns))
    absent = [column for column in source.columns if not found & set(column.split("|"))]
    if absent:
        raise BadInput(
            f"{path}: the column {absent[0].replace('|', ' or ')} is missing; {source.name} as published has "
            f"{', '.join(column.replace('|', ' or ') for column in source.columns)}, found {', '.join(sorted(found))}"
        )
    if frame.empty:
        raise BadInput(f"{path} has no rows")


def has_columns_of(frame: pd.DataFrame, source: Benchmark) -> bool:
    """True where a table looks like this benchmark."""
    found = set(map(str, frame.columns))
    return source.recognised and all(found & set(column.split("|")) for column in source.columns)


# -- bring a published file into the cache folder, and mind its checksum whenever it is read

LARGEST = 500_000_000  # bytes; no published file comes near
_TIMEOUT_S = 30
_CHUNK = 1 << 20


def cache_folder() -> Path:
    """Where fetched files lie."""
    own = os.environ.get("SRDCR_DATA")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "srdcr_lab"


def place(source: Benchmark) -> Path:
    """Where the file of this benchmark lies, once it is here."""
    return cache_folder() / source.name / source.file


def by_hand(source: Benchmark) -> str:
    """What to do without a network."""
    return (
        f"download {source.url} by hand (home: {source.home}) and put it at {place(source)}, "
        f"or name your copy with --items {source.name}=FILE"
    )


def cached(source: Benchmark) -> Path:
    """The file in the cache folder, with the checksum it must have.

    Raises
    ------
    BadInput
        If it is not there, or is another file than the one known.
    """
    path = place(source)
    if not path.is_file():
        raise BadInput(f"{source.name} is not here yet; run srdcr data fetch {source.name}, or {by_hand(source)}")
    found = _digest(path)
    known = known_checksum(source)
    if known and found != known:
        raise BadInput(
            f"{path} has the sha256 {found}, expected {known}; delete it and run srdcr data fetch {source.name}, "
            f"or name a copy you trust with --items {source.name}=FILE"
        )
    if not known:
        _record(source, found)
    return path


def known_checksum(source: Benchmark) -> str:
    """The published or recorded sha256; empty where none is known yet."""
    return source.sha256 or str(_recorded().get(source.url, ""))


def fetch(source: Benchmark) -> tuple[Path, str]:
    """Download the file into the cache folder; its place and the sentence to print.

    Nothing half-written stays: the file appears under its name only when complete and checked.

    Raises
    ------
    BadInput
        Without a network, or where the checksum is not the known one.
    """
    target = place(source)
    known = known_checksum(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".fetching-")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in _download(source):
                file.write(chunk)
        found = _digest(partial)
        if known and found != known:
            raise BadInput(
                f"{source.url} has the sha256 {found}, expected {known}; nothing was kept: the file has changed since, "
                f"so look at {source.home}, and use a copy you trust with --items {source.name}=FILE"
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    if source.sha256:
        return target, f"{source.name}: {target}, sha256 as expected"
    if known:
        return target, f"{source.name}: {target}, sha256 as recorded at the first fetch"
    _record(source, found)
    return target, (
        f"{source.name}: {target}; no checksum was known beforehand, so this one was recorded and later fetches must "
        f"agree: sha256 {found}"
    )


def _download(source: Benchmark) -> Iterator[bytes]:
    if urlsplit(source.url).scheme not in ("https", "http"):
        raise BadInput(f"{source.name}: {source.url} is no web address")
    size = 0
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (scheme checked above)
            expected = answer.headers.get("Content-Length") or ""
            while chunk := answer.read(_CHUNK):
                size += len(chunk)
                if size > LARGEST:
                    raise BadInput(f"{source.url} is larger than {LARGEST:,} bytes; {by_hand(source)}")
                yield chunk
    except (HTTPException, OSError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise BadInput(f"cannot download {source.name} ({reason}); {by_hand(source)}") from None
    if expected.isdigit() and size != int(expected):
        raise BadInput(f"the download of {source.name} broke off; run the same again, or {by_hand(source)}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksums() -> Path:
    return cache_folder() / "checksums.json"


def _recorded() -> dict[str, str]:
    path = _checksums()
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        found = None
    if not isinstance(found, dict):
        raise BadInput(f"{path} cannot be read as the record of checksums; delete it and fetch again")
    return found


def _record(source: Benchmark, digest: str) -> None:
    """Add a checksum to the record; the record is replaced as a whole."""
    path = _checksums()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".checksums-{os.getpid()}.json")
    partial.write_text(json.dumps({**_recorded(), source.url: digest}, indent=2, sort_keys=True) + "\n", "utf-8")
    partial.replace(path)
