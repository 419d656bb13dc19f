"""What a published benchmark is, and how its file comes into the cache folder with its checksum."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from srdcr_lab.data.benchmarks.gathering import Gathering
from srdcr_lab.data.rows import Row
from srdcr_lab.records import BadInput
from srdcr_lab.records.files import read_json, sha256_of, whole_file, write_whole

Reader = Callable[[Sequence[Row]], Gathering]
LARGEST = 500_000_000  # bytes; no published file comes near
_TIMEOUT_S = 30
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One published file and how it becomes items.

    Where `sha256` is empty, the first fetch records one, and later reads must agree. A column ``"a|b"`` may have either
    name; `recognised` is False where the columns are too common to tell the benchmark by. `read_documents` makes items
    with several documents. `join` adds what a table of the user's holds to the rows (``NAME=FILE+TABLE``).
    """

    name: str
    meaning: str
    home: str
    licence: str
    rows: int
    url: str
    sha256: str = ""
    columns: tuple[str, ...]
    read: Reader
    read_documents: Reader | None = None
    join: Callable[[Sequence[Row], Path], None] | None = None
    recognised: bool = True


def cache_folder() -> Path:
    """Where fetched files are kept."""
    own = os.environ.get("SRDCR_DATA")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "srdcr_lab"


def place(source: Benchmark) -> Path:
    """Where the file of this benchmark is, once it is fetched."""
    return cache_folder() / source.name / source.url.rpartition("/")[2]


def cached(source: Benchmark) -> Path:
    """The file in the cache folder; bad input where it is not there or has another checksum than the known one."""
    path = place(source)
    if not path.is_file():
        raise BadInput(f"{source.name} is not here yet; run srdcr data fetch {source.name}, or {_by_hand(source)}")
    digest, known = sha256_of(path), known_checksum(source)
    if known and digest != known:
        raise BadInput(
            f"{path} has the sha256 {digest}, expected {known}; delete it and run srdcr data fetch {source.name}, "
            f"or name a copy you trust with --items {source.name}=FILE"
        )
    if not known:
        _record(source, digest)
    return path


def fetch(source: Benchmark) -> tuple[Path, str]:
    """Download the file into the cache folder; its place and the sentence to print.

    The file gets its name only when it is complete and has the known checksum; otherwise bad input says why.
    """
    target, known = place(source), known_checksum(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as part:
        with part.open("wb") as file:
            _download(source, file)
        digest = sha256_of(part)
        if known and digest != known:
            raise BadInput(
                f"{source.url} has the sha256 {digest}, expected {known}; nothing was kept: the file has changed "
                f"since, so look at {source.home}, and use a copy you trust with --items {source.name}=FILE"
            )
    if known:
        agrees = "as expected" if source.sha256 else "as recorded at the first fetch"
        return target, f"{source.name}: {target}, sha256 {agrees}"
    _record(source, digest)
    recorded = "no checksum was known beforehand, so this one was recorded and later fetches must agree"
    return target, f"{source.name}: {target}; {recorded}: sha256 {digest}"


def _download(source: Benchmark, file: BinaryIO) -> None:
    if urlsplit(source.url).scheme not in ("https", "http"):
        raise BadInput(f"{source.name}: {source.url} is no web address")
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 (scheme checked above)
            expected = answer.headers.get("Content-Length") or ""
            for chunk in iter(partial(answer.read, _CHUNK), b""):
                file.write(chunk)
                if file.tell() > LARGEST:
                    raise BadInput(f"{source.url} is larger than {LARGEST:,} bytes; {_by_hand(source)}")
    except (HTTPException, OSError) as error:
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise BadInput(f"cannot download {source.name} ({reason}); {_by_hand(source)}") from None
    if expected.isdigit() and file.tell() != int(expected):
        raise BadInput(f"the download of {source.name} broke off; run the same again, or {_by_hand(source)}")


def _by_hand(source: Benchmark) -> str:
    """What to do without a network."""
    by_hand = f"download {source.url} by hand (home: {source.home}) and put it at {place(source)}"
    return f"{by_hand}, or name your copy with --items {source.name}=FILE"


def known_checksum(source: Benchmark) -> str:
    """The published or recorded sha256; empty where none is known yet."""
    return source.sha256 or str(_recorded().get(source.url, ""))


def _recorded() -> dict[str, str]:
    """Address → sha256 of what was fetched, or put there by hand, without a published checksum."""
    path = cache_folder() / "checksums.json"
    try:
        record = read_json(path.read_bytes(), str(path)) if path.is_file() else {}
    except BadInput:
        record = None
    if not isinstance(record, dict):
        raise BadInput(f"{path} cannot be read as the record of checksums; delete it and fetch again")
    return record


def _record(source: Benchmark, digest: str) -> None:
    """Add a checksum to the record, which is replaced as a whole."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    record = json.dumps({**_recorded(), source.url: digest}, indent=2, sort_keys=True)
    write_whole(cache_folder() / "checksums.json", f"{record}\n")
